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
  /** Remove this finalizer: no dependent blocks the deletion any more. */
  | { readonly do: 'finish'; readonly finalizer: string }
  /** Remove the owner reference from all dependents, then remove the orphan finalizer. */
  | { readonly do: 'orphan' }

const FOREGROUND = 'foregroundDeletion'
export const ORPHAN = 'orphan'

/** The remaining dependents of an object. */
export interface Dependents {
  readonly count: number
  /** How many have blockOwnerDeletion. */
  readonly blocking: number
  /** How many are being deleted in the foreground. */
  readonly waiting: number
}

/** Returns the next step. */
export function plan(object: KubeObject, ownerStates: readonly OwnerState[], dependents: Dependents): Plan {
  const { deletionTimestamp, finalizers = [], ownerReferences = [] } = object.metadata
  if (deletionTimestamp) {
    if (finalizers.includes(ORPHAN)) return { do: 'orphan' }
    if (finalizers.includes(FOREGROUND) && dependents.blocking === 0) return { do: 'finish', finalizer: FOREGROUND }
    return { do: 'nothing' }
  }
  if (ownerReferences.length === 0) return { do: 'nothing' }
  const states = ownerReferences.map((_, i): OwnerState => ownerStates[i] ?? 'present')
  const gone = ownerReferences.filter((_, i) => states[i] !== 'present').map(({ uid }) => uid)
  if (states.includes('present')) return gone.length > 0 ? { do: 'forgetOwners', uids: gone } : { do: 'nothing' }
  // All owners are absent or waiting.
  if (states.includes('waiting') && dependents.count > 0) {
    return { do: 'delete', propagation: 'Foreground', unblock: dependents.waiting > 0 }
  }
  const given = finalizers.includes(ORPHAN) ? 'Orphan' : finalizers.includes(FOREGROUND) ? 'Foreground' : 'Background'
  return { do: 'delete', propagation: given, unblock: false }
}

/** Returns whether an object waits for the deletion of its dependents. */
export function isWaiting({ metadata: { deletionTimestamp, finalizers = [] } }: KubeObject): boolean {
  return deletionTimestamp !== undefined && finalizers.includes(FOREGROUND)
}

/** Returns the state of the owner that a reference names. */
export function stateOfOwner(owner: KubeObject | undefined, reference: OwnerReference): OwnerState {
  if (!owner || owner.metadata.uid !== reference.uid) return 'absent'
  return isWaiting(owner) ? 'waiting' : 'present'
}
