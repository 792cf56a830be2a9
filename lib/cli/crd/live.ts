/** `kubeloop crd FILE --against live`: finds stored objects that do not fit the operator's definitions. */
import { isReason, messageOf } from '../../core/errors.ts'
import { formatKey, keyOf, type KubeObject } from '../../core/objects.ts'
import { CRD, type CustomResourceDefinition, type Resource } from '../../core/resource.ts'
import { internals, type JsonObject } from 'kubeloop/apiserver'
import type { Cluster } from 'kubeloop'
import { forEachStored, goneVersion, narrowingOf, resourceOf, storedVersions } from '../../crds/stored_objects.ts'

const REMEDY = 'each apply would fail (metadata.managedFields); define it with served: false'

interface StoredCrd extends KubeObject {
  readonly spec: CustomResourceDefinition['spec']
  readonly status?: { readonly storedVersions?: readonly string[] }
}

/**
 * Checks the stored objects of a kind as a server with this definition would check a write, its CEL rules included, and
 * calls `report` with a line for each problem. A kind that the cluster does not have has no objects.
 * Resolves with the numbers of stored objects, and of those that do not fit.
 *
 * @throws Error if the cluster does not answer, or the rights are missing.
 */
export async function checkStored(
  crd: CustomResourceDefinition,
  { api, client }: Pick<Cluster, 'api' | 'client'>,
  report: (line: string) => void,
): Promise<{ readonly name: string; readonly seen: number; readonly unfit: number }> {
  const { name } = crd.metadata
  // By their keys: an object may be read in several versions.
  const [seen, unfit] = [new Set<string>(), new Set<string>()]
  const result = () => ({ name, seen: seen.size, unfit: unfit.size })
  try {
    const live = (await api.get({ resource: CRD, name })) as StoredCrd
    const all = storedVersions(crd, live)
    const unread = all.find((each) =>
      each.served === undefined && live.status?.storedVersions?.includes(each.theirs.name) && narrowingOf(each)
    )
    if (unread) {
      const which = `${unread.theirs.name}, whose schema becomes narrower`
      throw new Error(`they may be stored as ${which}, and it must be served to read them`)
    }
    const versions = all.filter(({ served }, at, all) =>
      served !== undefined && all.findIndex((each) => each.served?.name === served.name) === at
    )
    for (const { served, ours } of versions) {
      const judge = await internals.objectCheckOf(ours as unknown as JsonObject)
      const of = crd.spec.conversion ? ` ${ours.name}` : ''
      await forEachStored(client.pages(resourceOf(crd, served!.name) as Resource<KubeObject>), (object) => {
        const key = formatKey(keyOf(object))
        const gone = goneVersion(object, crd)
        const problems = [
          ...judge(object as unknown as JsonObject),
          ...(gone === undefined ? [] : [`${gone}, in which it was written, is not defined any more: ${REMEDY}`]),
        ]
        seen.add(key)
        if (problems.length > 0) unfit.add(key)
        for (const problem of problems) report(`${crd.spec.names.kind}${of} "${key}": ${problem}`)
      })
    }
    return result()
  } catch (error) {
    // One without a name comes from a server that has no definitions at all.
    if (isReason(error, 'NotFound') && error.status.details?.name) return result()
    const rights = 'it needs the rights to get customresourcedefinitions and to list the kind'
    const remedy = isReason(error, 'Forbidden') || isReason(error, 'Unauthorized') ? `; ${rights}` : ''
    throw new Error(`Cannot check the stored objects of ${name}: ${messageOf(error)}${remedy}`, { cause: error })
  }
}
