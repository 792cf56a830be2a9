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
  /** Delete the object; if `foreground`, its dependents first. */
  | { readonly do: 'delete'; readonly foreground: boolean }
  /** Remove references to owners that are absent or waiting, because another owner is present. */
  | { readonly do: 'forgetOwners'; readonly uids: readonly string[] }
  /** Remove this finalizer: no dependent blocks the deletion any more. */
  | { readonly do: 'finish'; readonly finalizer: string }
  /** Remove the owner reference from all dependents, then remove the orphan finalizer. */
  | { readonly do: 'orphan' }

const FOREGROUND = 'foregroundDeletion'
export const ORPHAN = 'orphan'

/** Returns the next step. `blocking` is the number of remaining dependents with blockOwnerDeletion. */
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
  // All owners are absent or waiting.
  return { do: 'delete', foreground: states.includes('waiting') }
}

/** Returns the state of the owner that a reference names. It waits only for references with blockOwnerDeletion. */
export function stateOfOwner(owner: KubeObject | undefined, reference: OwnerReference): OwnerState {
  if (!owner || owner.metadata.uid !== reference.uid) return 'absent'
  const waits = owner.metadata.deletionTimestamp !== undefined && owner.metadata.finalizers?.includes(FOREGROUND)
  return waits && reference.blockOwnerDeletion ? 'waiting' : 'present'
}
