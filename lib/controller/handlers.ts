/** Whose keys a change of an object concerns. */
import { keyOf, type KubeObject, type ObjectKey, type OwnerReference } from '../core/objects.ts'
import { refersTo } from '../core/owners.ts'
import type { AnyResource } from '../core/resource.ts'
import type { Call } from './bounded_call.ts'

/** Of an update it is asked twice, for the object as it is and as it was. An answer that takes longer than a minute is none. */
export type KeyMapper = (object: KubeObject, call: Call) => Iterable<ObjectKey> | Promise<Iterable<ObjectKey>>

/** The object's own key. */
export const ownKey: KeyMapper = (object) => [keyOf(object)]

/** The key of the object's controller, if that is of this kind, in whatever version. */
export function controllerKey(owner: AnyResource): KeyMapper {
  return ({ metadata }) => {
    const reference = metadata.ownerReferences?.find((reference) => reference.controller && refersTo(reference, owner))
    return reference ? ownerKey(owner, reference, metadata.namespace) : []
  }
}

/** The keys of all the object's owners of this kind, in whatever version, the controlling one or not. */
export function ownerKeys(owner: AnyResource): KeyMapper {
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
