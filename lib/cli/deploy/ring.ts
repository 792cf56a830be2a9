/** Builds what the sharder of kubernetes-controller-sharding needs to distribute the objects of an operator. */
import type { OperatorDescription } from '../../operator/description/description.ts'
import { kindsOf, ringOf } from '../../operator/sharding/ring.ts'
import type { AnyResource } from '../../core/resource.ts'
import { boundRole } from '../../rights/account.ts'
import { placesIn } from '../../rights/likely.ts'
import { rightsOn, rulesOf } from '../../rights/rules.ts'

/** The account of the engine's own manifests. */
const SHARDER = { name: 'sharder', namespace: 'sharding-system' } as const

const groupResource = ({ group, plural }: AnyResource) => ({ group, resource: plural })

/**
 * Returns the ControllerRing, and the role by which the sharder lists and labels the objects of its kinds, with a
 * binding; nothing for an operator that is not sharded.
 *
 * @throws TypeError if a ring cannot distribute what the operator reconciles.
 */
export function ringObjects(description: OperatorDescription, labels: Readonly<Record<string, string>>): object[] {
  const { sharding } = description.options
  if (!sharding?.ring) return []
  const ring = ringOf(description)
  const kinds = kindsOf(ring)
  const places = [...new Set(kinds.flatMap(placesIn(description, undefined)))].sort()
  const { everywhere: rules } = rulesOf(
    kinds.flatMap(({ group, plural }) => rightsOn(undefined, group, plural, ['list', 'patch'])),
  )
  const metadata = { name: `sharding:controllerring:${sharding.ring}`, labels }
  const only = { key: 'kubernetes.io/metadata.name', operator: 'In', values: places }
  return [
    {
      apiVersion: 'sharding.timebertt.dev/v1alpha1',
      kind: 'ControllerRing',
      metadata: { name: sharding.ring, labels },
      spec: {
        resources: ring.map(({ resource, controlled }) => ({
          ...groupResource(resource),
          ...(controlled.length > 0 && { controlledResources: controlled.map(groupResource) }),
        })),
        ...(!places.includes(undefined) && { namespaceSelector: { matchExpressions: [only] } }),
      },
    },
    ...boundRole('Cluster', metadata, rules, SHARDER),
  ]
}
