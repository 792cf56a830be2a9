/** Map functions: from a changed object to the keys to reconcile. */
import { keyOf, type Keys, type KubeObject, type ObjectKey, type OwnerReference } from '../core/objects.ts'
import { refersTo } from '../core/owners.ts'
import type { AnyResource } from '../core/resource.ts'
import type { Delta } from '../cache/store.ts'
import type { Call } from './bounded_call.ts'

/**
 * Returns the keys to reconcile after a change of an object. For an update it is called twice, with the new object and
 * the old one (`event.old`), and each key is queued once, as in controller-runtime's EnqueueRequestsFromMapFunc. If it
 * throws, rejects, or does not settle within a minute, it is called again with back-off and the object's newest event.
 * Updates of one object that wait for a slow function are joined: it is called for the newest states and the oldest.
 *
 * @example
 * ```ts
 * import type { KeyMapper } from 'kubeloop'
 * const namespaceOf: KeyMapper = ({ metadata }, _call, event) =>
 *   event.kind === 'deleted' ? [] : [{ name: metadata.namespace ?? '' }]
 * ```
 */
export type KeyMapper = (
  object: KubeObject,
  call: Call,
  event: Delta,
) => Keys<ObjectKey>

/** A mapper that reads only the object. */
export type ObjectKeyMapper = (object: KubeObject, call?: Call) => readonly ObjectKey[]

/** Returns the object's own key. */
export const ownKey: ObjectKeyMapper = (object): readonly ObjectKey[] => [keyOf(object)]

/** Returns a mapper to the key of the object's controller, if that has this kind, in any version. */
export function controllerKey(owner: AnyResource): ObjectKeyMapper {
  return ({ metadata }) => {
    const reference = metadata.ownerReferences?.find((reference) => reference.controller && refersTo(reference, owner))
    return reference ? ownerKey(owner, reference, metadata.namespace) : []
  }
}

/** Returns a mapper to the keys of all owners of this kind, in any version, controlling or not. */
export function ownerKeys(owner: AnyResource): ObjectKeyMapper {
  return ({ metadata }) => {
    const references = metadata.ownerReferences?.filter((reference) => refersTo(reference, owner)) ?? []
    return references.flatMap((reference) => ownerKey(owner, reference, metadata.namespace))
  }
}

/** Returns the owner's key. A cluster-scoped object cannot have an owner in a namespace. */
function ownerKey(owner: AnyResource, { name }: OwnerReference, namespace: string | undefined): ObjectKey[] {
  if (owner.scope === 'Cluster') return [{ name }]
  return namespace ? [{ namespace, name }] : []
}
