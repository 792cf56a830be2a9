/**
 * Owner references: who an object belongs to, and with whom it goes.
 *
 * @see https://kubernetes.io/docs/concepts/overview/working-with-objects/owners-dependents/
 */
import type { KubeObject, OwnerReference } from './objects.ts'

/** The reference that makes `owner` the controller of an object: deletion of the owner waits for it. */
export function controllerReference(owner: KubeObject): OwnerReference {
  const { apiVersion, kind, metadata } = owner
  if (!metadata.uid) {
    throw new TypeError(`Cannot own an object by ${kind} "${metadata.name}": it has no uid, so it was not read from a server`)
  }
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true, blockOwnerDeletion: true }
}

/** The owner that controls an object, if any: there is at most one. */
export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((reference) => reference.controller)
}

/** The group of an apiVersion: owners are matched by group and kind, so that a new version keeps them. */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/')
  return slash < 0 ? '' : apiVersion.slice(0, slash)
}

/** Whether a reference means this kind, in whatever version. */
export function refersTo(reference: OwnerReference, resource: { readonly group: string; readonly kind: string }): boolean {
  return reference.kind === resource.kind && groupOf(reference.apiVersion) === resource.group
}

/**
 * The owner references of an object with `owner` as its controller, in place of an earlier reference to the same owner:
 * one of its uid, or of its name and kind in whatever version. Throws when another one controls it, or where the API
 * forbids it: an owner must be in the object's namespace, or cluster-scoped.
 */
export function withController(
  existing: readonly OwnerReference[] | undefined,
  owner: KubeObject,
  object: { readonly what: string; readonly namespace: string | undefined },
): readonly OwnerReference[] {
  const cannot = `Cannot make ${owner.kind} "${owner.metadata.name}" own ${object.what}`
  if (owner.metadata.namespace && owner.metadata.namespace !== object.namespace) {
    const where = object.namespace ? `in namespace "${object.namespace}"` : 'cluster-scoped'
    const mismatch = `the owner is in namespace "${owner.metadata.namespace}" and the object is ${where}`
    throw new TypeError(`${cannot}: ${mismatch}; owners do not reach across namespaces`)
  }
  const reference = controllerReference(owner)
  const references = existing ?? []
  const controller = references.find((other) => other.controller && !isSameOwner(other, reference))
  if (controller) throw new TypeError(`${cannot}: ${controller.kind} "${controller.name}" controls it already`)
  // In its place, so that an object that is owned already stays equal to itself.
  const at = references.findIndex((other) => isSameOwner(other, reference))
  const others = references.filter((other) => !isSameOwner(other, reference))
  return at < 0 ? [...others, reference] : others.toSpliced(at, 0, reference)
}

function isSameOwner(a: OwnerReference, b: OwnerReference): boolean {
  return a.uid === b.uid || (a.name === b.name && a.kind === b.kind && groupOf(a.apiVersion) === groupOf(b.apiVersion))
}
