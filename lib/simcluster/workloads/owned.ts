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
import type { Ownable } from '../../core/owner_references.ts'
import { unlessRefused } from './pod_changes.ts'

/** The key of objects without a controller. No uid is like it. */
const ORPHANS = 'orphans'

export const byOwner = (object: HasOwners): string => owners.controllerOf(object)?.uid ?? ORPHANS

export const podsByOwner: Index<V1Pod> = defineIndex(Pod, byOwner)
export const setsByOwner: Index<V1ReplicaSet> = defineIndex(ReplicaSet, byOwner)
export const jobsByOwner: Index<V1Job> = defineIndex(Job, byOwner)

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

/** Resolves with the dependents of a workload: adopts what it selects and nothing controls, and releases the others. */
export async function claim<T extends KubeObject>(client: Client, index: Index<T>, owner: Selecting): Promise<T[]> {
  const { uid, namespace, deletionTimestamp } = owner.metadata
  /** Changes the owner references of this version of an object. Resolves with undefined if it has changed. */
  const edit = (object: T, change: (draft: Ownable, owner: KubeObject) => void): Promise<T | undefined> => {
    const { name, resourceVersion, ownerReferences = [] } = object.metadata
    const metadata = { name, namespace, ownerReferences: [...ownerReferences] }
    change({ metadata }, owner)
    const merge = { metadata: { ownerReferences: metadata.ownerReferences } }
    const write = client.patch(index.resource, object, { merge }, { resourceVersion })
    return unlessRefused(write, (error) => isReason(error, 'Conflict', 'NotFound'))
  }
  const claimed: T[] = []
  for (const object of await client.lookup(index, uid)) {
    if (selects(owner, object) || object.metadata.deletionTimestamp) claimed.push(object)
    else if (!deletionTimestamp) await edit(object, owners.removeOwner)
  }
  if (deletionTimestamp) return claimed
  for (const object of await orphansOf(client, index, owner)) {
    const adopted = object.metadata.deletionTimestamp ? undefined : await edit(object, owners.setController)
    if (adopted) claimed.push(adopted)
  }
  return claimed
}

/** Resolves with what a workload selects and nothing controls. */
export async function orphansOf<T extends KubeObject>(client: Client, index: Index<T>, owner: Selecting): Promise<T[]> {
  const { namespace } = owner.metadata
  return (await client.lookup(index, ORPHANS, { namespace })).filter((each) => selects(owner, each))
}

export async function adopters<T extends Selecting>(
  client: Client,
  resource: ResourceOf<T>,
  object: KubeObject,
): Promise<T[]> {
  const { namespace = '' } = object.metadata
  if (owners.controllerOf(object)) return []
  return (await client.list(resource, { namespace })).filter((each) => selects(each, object))
}
