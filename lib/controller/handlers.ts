/** Whose keys a change of an object concerns. */
import { keyOf, type KubeObject, type ObjectKey, type OwnerReference } from '../core/objects.ts'
import { refersTo } from '../core/owners.ts'
import type { AnyResource } from '../core/resource.ts'
import type { Delta } from '../cache/store.ts'
import type { Call } from './bounded_call.ts'

/**
 * Returns the keys that a change of an object concerns. For an update it is called twice, with the object as it is and as it was
 * (`event.old`), and each key is queued once, as controller-runtime's EnqueueRequestsFromMapFunc does. One that throws, rejects, or
 * does not answer within a minute is called again with back-off, then with the newest event of the object.
 *
 * @example
 * ```ts
 * import type { KeyMapper } from 'kubeloop'
 * const namespaceOf: KeyMapper = ({ metadata }, _call, event) => (event.kind === 'deleted' ? [] : [{ name: metadata.namespace ?? '' }])
 * ```
 */
export type KeyMapper = (
  object: KubeObject,
  call: Call,
  event: Delta,
) => Iterable<ObjectKey> | Promise<Iterable<ObjectKey>>

/** A mapper that looks at nothing but the object. */
export type ObjectKeyMapper = (object: KubeObject, call?: Call) => readonly ObjectKey[]

/** Returns the object's own key. */
export const ownKey: ObjectKeyMapper = (object): readonly ObjectKey[] => [keyOf(object)]

/** Returns a mapper to the key of the object's controller, if that is of this kind, in whatever version. */
export function controllerKey(owner: AnyResource): ObjectKeyMapper {
  return ({ metadata }) => {
    const reference = metadata.ownerReferences?.find((reference) => reference.controller && refersTo(reference, owner))
    return reference ? ownerKey(owner, reference, metadata.namespace) : []
  }
}

/** Returns a mapper to the keys of all the object's owners of this kind, in whatever version, the controlling one or not. */
export function ownerKeys(owner: AnyResource): ObjectKeyMapper {
  return ({ metadata }) => {
    const references = metadata.ownerReferences?.filter((reference) => refersTo(reference, owner)) ?? []
    return references.flatMap((reference) => ownerKey(owner, reference, metadata.namespace))
  }
}

/** Owners do not reach across namespaces: what is cluster-scoped has no owner in one, whatever it says. */
function ownerKey(owner: AnyResource, { name }: OwnerReference, namespace: string | undefined): ObjectKey[] {
  if (owner.scope === 'Cluster') return [{ name }]
  return namespace ? [{ namespace, name }] : []
}
