/**
 * Decides what the garbage collector does with an object, from its owners and dependents.
 *
 * @see https://kubernetes.io/docs/concepts/architecture/garbage-collection/
 */
import type { KubeObject } from 'kubeloop'
import type { OwnerReference } from '../core/objects.ts'

/** The state of an owner: it exists, does not exist, or waits for the deletion of its dependents. */
export type OwnerState = 'present' | 'absent' | 'waiting'

export type Plan =
  | { readonly do: 'nothing' }
  /**
   * Delete the object. `unblock`: before that, its references stop to block their owners, as one of its dependents is
   * being deleted in the foreground, and may be among those owners.
   */
  | { readonly do: 'delete'; readonly propagation: 'Background' | 'Foreground' | 'Orphan'; readonly unblock: boolean }
  /** Remove references to owners that are absent or waiting, because another owner is present. */
  | { readonly do: 'forgetOwners'; readonly uids: readonly string[] }
  /** Remove this finalizer; before `orphan`, the owner reference from all dependents. */
  | { readonly do: 'finish'; readonly finalizer: string }

const FOREGROUND = 'foregroundDeletion'
export const ORPHAN = 'orphan'

/** Returns the next step. `ownerStates` are in the order of the references. */
export function plan(
  { metadata }: KubeObject,
  ownerStates: readonly OwnerState[],
  dependents: readonly KubeObject[],
): Plan {
  const { uid, deletionTimestamp, finalizers = [], ownerReferences = [] } = metadata
  if (deletionTimestamp) {
    if (finalizers.includes(ORPHAN)) return { do: 'finish', finalizer: ORPHAN }
    const blocks = (each: OwnerReference): boolean => each.uid === uid && each.blockOwnerDeletion === true
    const isBlocked = dependents.some((each) => each.metadata.ownerReferences?.some(blocks))
    return finalizers.includes(FOREGROUND) && !isBlocked ? { do: 'finish', finalizer: FOREGROUND } : { do: 'nothing' }
  }
  if (ownerReferences.length === 0) return { do: 'nothing' }
  const gone = ownerReferences.filter((_, i) => ownerStates[i] !== 'present').map(({ uid }) => uid)
  if (ownerStates.includes('present')) return gone.length > 0 ? { do: 'forgetOwners', uids: gone } : { do: 'nothing' }
  // All owners are absent or waiting.
  if (ownerStates.includes('waiting') && dependents.length > 0) {
    return { do: 'delete', propagation: 'Foreground', unblock: dependents.some(isWaiting) }
  }
  const given = finalizers.includes(ORPHAN) ? 'Orphan' : finalizers.includes(FOREGROUND) ? 'Foreground' : 'Background'
  return { do: 'delete', propagation: given, unblock: false }
}

function isWaiting({ metadata: { deletionTimestamp, finalizers = [] } }: KubeObject): boolean {
  return deletionTimestamp !== undefined && finalizers.includes(FOREGROUND)
}

export function stateOfOwner(owner: KubeObject | undefined, reference: OwnerReference): OwnerState {
  if (!owner || owner.metadata.uid !== reference.uid) return 'absent'
  return isWaiting(owner) ? 'waiting' : 'present'
}
