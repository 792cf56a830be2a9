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
    throw new TypeError(
      `Cannot own an object by ${kind} "${metadata.name}": it has no uid, so it was not read from a server`,
    )
  }
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true, blockOwnerDeletion: true }
}

/** What is looked at to see whose an object is. */
export interface HasOwners {
  readonly metadata: { readonly ownerReferences?: readonly OwnerReference[] | undefined }
}

/** The owner that controls an object, if any: there is at most one. */
export function controllerOf(object: HasOwners): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((reference) => reference.controller)
}

/** The group of an apiVersion: owners are matched by group and kind, so that a new version keeps them. */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/')
  return slash < 0 ? '' : apiVersion.slice(0, slash)
}

/** Whether a reference means this kind, in whatever version. */
export function refersTo(
  reference: OwnerReference,
  resource: { readonly group: string; readonly kind: string },
): boolean {
  return reference.kind === resource.kind && groupOf(reference.apiVersion) === resource.group
}

/** Another object controls it, and an object has one controller at most. */
export class AlreadyOwned extends Error {
  override readonly name = 'AlreadyOwned'
  /** The controller that it has. */
  readonly controller: OwnerReference

  constructor(message: string, controller: OwnerReference) {
    super(message)
    this.controller = controller
  }
}

/** The object that is to be owned, as far as it must be known. */
export interface Owned {
  /** As messages name it. */
  readonly what: string
  /** None for a cluster-scoped object. */
  readonly namespace: string | undefined
}

/**
 * The owner references of an object with `owner` as its controller, in place of an earlier reference to the same owner:
 * one of its uid, or of its name and kind in whatever version.
 *
 * @throws AlreadyOwned when another one controls it.
 * @throws TypeError where the API forbids it: an owner must be in the object's namespace, or cluster-scoped.
 */
export function withController(
  existing: readonly OwnerReference[] | undefined,
  owner: KubeObject,
  object: Owned,
  { blockOwnerDeletion = true }: { readonly blockOwnerDeletion?: boolean } = {},
): readonly OwnerReference[] {
  checkPlace(owner, object)
  const reference = { ...controllerReference(owner), blockOwnerDeletion }
  const controller = existing?.find((other) => other.controller && !isSameOwner(other, reference))
  if (controller) {
    throw new AlreadyOwned(
      `${cannotOwn(owner, object)}: ${controller.kind} "${controller.name}" controls it already`,
      controller,
    )
  }
  return withReference(existing, reference)
}

/** The same with `owner` as one of its owners: it goes when all of them have gone. A controller is one no longer. */
export function withOwner(
  existing: readonly OwnerReference[] | undefined,
  owner: KubeObject,
  object: Owned,
  { blockOwnerDeletion }: { readonly blockOwnerDeletion?: boolean } = {},
): readonly OwnerReference[] {
  checkPlace(owner, object)
  const { apiVersion, kind, name, uid } = controllerReference(owner)
  return withReference(existing, {
    apiVersion,
    kind,
    name,
    uid,
    ...(blockOwnerDeletion === undefined ? {} : { blockOwnerDeletion }),
  })
}

/** The same without `owner`, and without a namesake that it had before. `undefined` when it does not own the object. */
export function withoutOwner(
  existing: readonly OwnerReference[] | undefined,
  owner: KubeObject,
): readonly OwnerReference[] | undefined {
  const reference = {
    apiVersion: owner.apiVersion,
    kind: owner.kind,
    name: owner.metadata.name,
    uid: owner.metadata.uid,
  }
  const left = existing?.filter((other) => !isSameOwner(other, reference))
  return left?.length === existing?.length ? undefined : left
}

function checkPlace(owner: KubeObject, object: Owned): void {
  const { namespace } = owner.metadata
  if (!namespace || namespace === object.namespace) return
  const where = object.namespace ? `in namespace "${object.namespace}"` : 'cluster-scoped'
  const mismatch = `the owner is in namespace "${namespace}" and the object is ${where}`
  throw new TypeError(`${cannotOwn(owner, object)}: ${mismatch}; owners do not reach across namespaces`)
}

function cannotOwn(owner: KubeObject, object: Owned): string {
  return `Cannot make ${owner.kind} "${owner.metadata.name}" own ${object.what}`
}

/** In its place, so that an object that is owned already stays equal to itself. */
function withReference(existing: readonly OwnerReference[] = [], reference: OwnerReference): readonly OwnerReference[] {
  const at = existing.findIndex((other) => isSameOwner(other, reference))
  const others = existing.filter((other) => !isSameOwner(other, reference))
  return at < 0 ? [...others, reference] : others.toSpliced(at, 0, reference)
}

function isSameOwner(a: OwnerReference, b: OwnerReference): boolean {
  return a.uid === b.uid || (a.name === b.name && a.kind === b.kind && groupOf(a.apiVersion) === groupOf(b.apiVersion))
}
