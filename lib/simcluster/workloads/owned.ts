/** Finds the dependents of a workload by their owner and its selector, as the controllers of a cluster do. */
import {
  type Client,
  defineIndex,
  type HasOwners,
  type Index,
  isReason,
  type KubeObject,
  owners,
  selectors,
} from 'kubeloop'
import type { ResourceOf } from 'kubeloop/parts'
import { Job, Pod, ReplicaSet, type V1Job, type V1LabelSelector, type V1Pod, type V1ReplicaSet } from 'kubeloop/kinds'

/** The key of objects without a controller. No uid is like it. */
const ORPHANS = 'orphans'

const byOwner = (object: HasOwners): string => owners.controllerOf(object)?.uid ?? ORPHANS

/** Pods by the uid of their controller. */
export const podsByOwner: Index<V1Pod> = defineIndex(Pod, byOwner)
/** ReplicaSets by the uid of their controller. */
export const setsByOwner: Index<V1ReplicaSet> = defineIndex(ReplicaSet, byOwner)
/** Jobs by the uid of their controller. */
export const jobsByOwner: Index<V1Job> = defineIndex(Job, byOwner)

/** An object with a selector of its dependents. */
export interface Selecting extends KubeObject {
  readonly metadata: KubeObject['metadata'] & { readonly namespace: string }
  readonly spec?: { readonly selector?: V1LabelSelector }
}

/** Returns whether a workload selects an object. A selector without terms selects nothing here. */
function selects({ spec }: Selecting, { metadata }: KubeObject): boolean {
  const { matchLabels = {}, matchExpressions = [] } = spec?.selector ?? {}
  if (Object.keys(matchLabels).length + matchExpressions.length === 0) return false
  return selectors.parseLabelSelector({ matchLabels, matchExpressions })(metadata.labels)
}

/**
 * Resolves with the dependents of a workload. Adopts objects that it selects and nothing controls, and releases those
 * that it does not select any more.
 */
export async function claim<T extends KubeObject>(client: Client, index: Index<T>, owner: Selecting): Promise<T[]> {
  const { uid, namespace, deletionTimestamp } = owner.metadata
  const claimed: T[] = []
  for (const object of await client.lookup(index, uid)) {
    if (selects(owner, object) || object.metadata.deletionTimestamp) claimed.push(object)
    else if (!deletionTimestamp) await setOwners(client, index.resource, object, withoutOwner(object, uid))
  }
  if (deletionTimestamp) return claimed
  for (const object of await client.lookup(index, ORPHANS, { namespace })) {
    if (object.metadata.deletionTimestamp || !selects(owner, object)) continue
    const { apiVersion, kind, metadata: { name } } = owner
    const reference = { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }
    const references = [...(object.metadata.ownerReferences ?? []), reference]
    const adopted = await setOwners(client, index.resource, object, references)
    if (adopted) claimed.push(adopted)
  }
  return claimed
}

/** Resolves with the keys of the workloads that may adopt an object. */
export async function adopters<T extends Selecting>(
  client: Client,
  resource: ResourceOf<T>,
  object: KubeObject,
): Promise<T[]> {
  const { namespace = '' } = object.metadata
  if (owners.controllerOf(object)) return []
  return (await client.list(resource, { namespace })).filter((each) => selects(each, object))
}

function withoutOwner({ metadata }: KubeObject, uid: string): readonly object[] {
  return metadata.ownerReferences?.filter((each) => each.uid !== uid) ?? []
}

/** Replaces the owner references of this version of an object. Resolves with undefined if it has changed. */
async function setOwners<T extends KubeObject>(
  client: Client,
  resource: ResourceOf<T>,
  { metadata }: T,
  ownerReferences: readonly object[],
): Promise<T | undefined> {
  const { resourceVersion } = metadata
  return await client.patch(resource, { metadata }, { merge: { metadata: { ownerReferences } } }, { resourceVersion })
    .catch((error: unknown) => {
      if (isReason(error, 'Conflict', 'NotFound')) return undefined
      throw error
    })
}
