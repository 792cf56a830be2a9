/**
 * Computes lists of owner references, by which objects are deleted with their owners. The functions of the public
 * `owners`, which change drafts, are in `owner_references.ts`.
 *
 * @see https://kubernetes.io/docs/concepts/overview/working-with-objects/owners-dependents/
 */
import type { KubeObject, OwnerReference } from './objects.ts'

/**
 * Returns the reference that makes `owner` the controller of an object. A foreground deletion of the owner waits for
 * the object.
 */
function controllerReference(owner: KubeObject): OwnerReference {
  const { apiVersion, kind, metadata } = owner
  if (!metadata.uid) {
    throw new TypeError(
      `Cannot own an object by ${kind} "${metadata.name}": it has no uid, so it was not read from a server`,
    )
  }
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true, blockOwnerDeletion: true }
}

/** An object with owner references. */
export interface HasOwners {
  readonly metadata: { readonly ownerReferences?: readonly OwnerReference[] | undefined }
}

/** Returns the controller of an object, if any. There is at most one. */
export function controllerOf(object: HasOwners): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((reference) => reference.controller)
}

/** Splits an apiVersion. The core group is empty. */
export function splitApiVersion(apiVersion: string): { readonly group: string; readonly version: string } {
  const slash = apiVersion.indexOf('/')
  return { group: apiVersion.slice(0, Math.max(slash, 0)), version: apiVersion.slice(slash + 1) }
}

/** Tests whether a reference names this kind, in any version, or an object is of it. */
export function refersTo(
  reference: Pick<OwnerReference, 'apiVersion' | 'kind'>,
  resource: { readonly group: string; readonly kind: string },
): boolean {
  return reference.kind === resource.kind && splitApiVersion(reference.apiVersion).group === resource.group
}

/** The object has another controller, and an object has at most one. */
export class AlreadyOwned extends Error {
  override readonly name = 'AlreadyOwned'
  /** The present controller. */
  readonly controller: OwnerReference

  constructor(message: string, controller: OwnerReference) {
    super(message)
    this.controller = controller
  }
}

/** The object that gets an owner. */
export interface Owned {
  /** Its name in messages. */
  readonly what: string
  /** None for a cluster-scoped object. */
  readonly namespace: string | undefined
}

/**
 * Returns the owner references with `owner` as the controller. Replaces an earlier reference to the same owner: one
 * with its uid, or with its name and kind in any version.
 *
 * @throws AlreadyOwned if it has another controller.
 * @throws TypeError if the owner is namespaced and in another namespace than the object.
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

/** Returns the owner references with `owner` as an owner that is not the controller. */
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

/** Returns the owner references without `owner`, by uid or name and kind. `undefined` if it does not own the object. */
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

/** Keeps the position, so that an object with this owner stays equal. */
function withReference(existing: readonly OwnerReference[] = [], reference: OwnerReference): readonly OwnerReference[] {
  const at = existing.findIndex((other) => isSameOwner(other, reference))
  const others = existing.filter((other) => !isSameOwner(other, reference))
  return at < 0 ? [...others, reference] : others.toSpliced(at, 0, reference)
}

function isSameOwner(a: OwnerReference, b: OwnerReference): boolean {
  return a.uid === b.uid || (a.name === b.name && refersTo(a, { ...splitApiVersion(b.apiVersion), kind: b.kind }))
}
