/**
 * What the garbage collector does with an object, decided from the object and what is known of its owners and dependents.
 *
 * @see https://kubernetes.io/docs/concepts/architecture/garbage-collection/
 */
import type { KubeObject } from 'kubeloop'
import type { OwnerReference } from '../core/objects.ts'

/** How an owner stands: it exists, is gone, or waits for its dependents to go first. */
export type OwnerState = 'present' | 'absent' | 'waiting'

export type Plan =
  | { readonly do: 'nothing' }
  /** Delete it, its own dependents first if `foreground`. */
  | { readonly do: 'delete'; readonly foreground: boolean }
  /** Owners that are gone or going leave the references of an object that has another one. */
  | { readonly do: 'forgetOwners'; readonly uids: readonly string[] }
  /** It waited long enough: this finalizer goes. */
  | { readonly do: 'finish'; readonly finalizer: string }
  /** It goes without its dependents: they lose the reference, then this finalizer goes. */
  | { readonly do: 'orphan' }

export const FOREGROUND = 'foregroundDeletion'
export const ORPHAN = 'orphan'

/** `blocking`: how many dependents with blockOwnerDeletion there still are. */
export function plan(object: KubeObject, ownerStates: readonly OwnerState[], blocking: number): Plan {
  const { deletionTimestamp, finalizers = [], ownerReferences = [] } = object.metadata
  if (deletionTimestamp) {
    if (finalizers.includes(ORPHAN)) return { do: 'orphan' }
    if (finalizers.includes(FOREGROUND) && blocking === 0) return { do: 'finish', finalizer: FOREGROUND }
    return { do: 'nothing' }
  }
  if (ownerReferences.length === 0) return { do: 'nothing' }
  const states = ownerReferences.map((_, i): OwnerState => ownerStates[i] ?? 'present')
  const gone = ownerReferences.filter((_, i) => states[i] !== 'present').map(({ uid }) => uid)
  if (states.includes('present')) return gone.length > 0 ? { do: 'forgetOwners', uids: gone } : { do: 'nothing' }
  // Only owners that are gone or wait for it are left.
  return { do: 'delete', foreground: states.includes('waiting') }
}

/** Whether an owner that waits in the foreground waits for this reference. */
export function stateOfOwner(owner: KubeObject | undefined, reference: OwnerReference): OwnerState {
  if (!owner || owner.metadata.uid !== reference.uid) return 'absent'
  const waits = owner.metadata.deletionTimestamp !== undefined && owner.metadata.finalizers?.includes(FOREGROUND)
  return waits && reference.blockOwnerDeletion ? 'waiting' : 'present'
}
