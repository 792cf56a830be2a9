/** A cluster-scoped kind of a drawn operator: its controller, what people do to its objects, and how they are at rest. */
import {
  type Client,
  conditions,
  type Context,
  type ControllerOptions,
  defineResource,
  type KubeObject,
  type ObjectOf,
  type Operator,
  type OtherCluster,
} from 'kubeloop'
import { ConfigMap, Secret } from 'kubeloop/kinds'
import { conditionList } from 'kubeloop/schema'
import * as z from 'zod'

export const Zone = defineResource({
  group: 'drawn.example',
  version: 'v1',
  kind: 'Zone',
  cluster: true,
  spec: z.object({ value: z.string() }),
  status: z.object({ conditions: conditionList }),
})
type Zone = ObjectOf<typeof Zone>

/** Where kinds other than the own one are watched. */
export interface Place {
  readonly cluster?: OtherCluster | 'own'
}

/** What people did to a zone. */
export interface KnownZone {
  /** When something happened after which it must be reconciled, by the clock of the world. */
  dueMs: number
  /** Whether its object may have been deleted while its namespace was not selected, which no event reports. */
  isUnseen?: boolean
}

/** The object that a zone owns; kinds with namespaces are watched here in each drawing. */
const partOf = (name: string) => ({ namespace: 'a', name: `zone-${name}` })

/**
 * Adds the controller of zones. Secrets name them, in namespaces that the keys of zones do not have. `begin`: called
 * with the key of a run; the result ends it.
 */
export function addZones(
  app: Operator,
  options: ControllerOptions<KubeObject>,
  secrets: Place,
  clientIn: (context: Context) => Client,
  begin: (key: string) => () => void,
): void {
  app.controllerFor(Zone, { ...options as ControllerOptions<Zone>, name: 'zone' })
    .owns(ConfigMap)
    .watches(Secret, ({ metadata }) => [metadata], secrets)
    .reconcile(async (zone, context) => {
      const { metadata: { name }, spec: { value } } = zone
      const end = begin(name)
      try {
        const client = clientIn(context)
        await client.apply(ConfigMap, { metadata: partOf(name), data: { value } }, { owner: zone })
        const condition = { type: 'Zoned', status: 'True', reason: 'Done', message: value } as const
        const now = context.clock.now()
        await client.setStatus(Zone, zone, {
          conditions: conditions.setCondition(zone.status?.conditions, condition, now),
        })
      } finally {
        end()
      }
    })
}

/** Creates, changes or deletes a zone, or deletes what it owns. `number` decides. */
export async function playZone(
  client: Client,
  known: Map<string, KnownZone>,
  { name, number, nowMs, isWatched }: {
    readonly name: string
    readonly number: number
    readonly nowMs: number
    /** Whether the namespace of what it owns is selected. */
    readonly isWatched: boolean
  },
  sent: (write: Promise<unknown>) => Promise<boolean>,
): Promise<void> {
  const zone = await client.get(Zone, { name })
  if (zone && number % 5 === 0) {
    if (await client.delete(Zone, { name })) known.set(name, { dueMs: nowMs })
    return
  }
  const own = known.get(name)
  if (zone && number % 5 === 1) {
    if (await client.delete(ConfigMap, partOf(name)) && own) {
      Object.assign(own, isWatched ? { dueMs: nowMs } : { isUnseen: true })
    }
    return
  }
  const spec = { value: `v${number}` }
  known.set(name, { dueMs: nowMs })
  const write = zone
    ? client.patch(Zone, { name }, { merge: { spec } })
    : client.create(Zone, { metadata: { name, labels: { passes: 'yes' } }, spec })
  // Before the operator has installed the definition there is none.
  if (await sent(write)) return
  if (own) known.set(name, own)
  else known.delete(name)
}

/** Returns what is wrong with a zone at rest. `isSoon`: whether its last run was as soon as it must be. */
export async function judgedZone(
  client: Client,
  name: string,
  known: KnownZone | undefined,
  isSoon: boolean,
): Promise<readonly string[]> {
  const [zone, part] = [await client.get(Zone, { name }), await client.get(ConfigMap, partOf(name))]
  if (!zone || !known) return part ? [`zone ${name}: an object of one that is gone`] : []
  const wrong: string[] = []
  const { spec: { value }, status, metadata: { uid } } = zone
  const message = status?.conditions?.find(({ type }) => type === 'Zoned')?.message
  if (message !== value) wrong.push(`zone ${name}: its status has ${message}, not ${value}`)
  if (part?.data?.['value'] !== value && (part || !known.isUnseen)) {
    wrong.push(`zone ${name}: its object has ${part?.data?.['value']}`)
  }
  if (part && !part.metadata.ownerReferences?.some((each) => each.uid === uid)) wrong.push(`zone ${name}: no owner`)
  if (!isSoon) wrong.push(`zone ${name}: it needed a run at ${known.dueMs}, and did not have it soon`)
  return wrong
}
