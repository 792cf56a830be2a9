/**
 * `owners`: changes the owner references of drafts, for `edit`, `createOrUpdate` and objects to be created. `apply` has
 * its `owner` option.
 */
import { formatKey, type KubeObject, type OwnerReference } from './objects.ts'
import { type HasOwners, type Owned, withController, withoutOwner, withOwner } from './owners.ts'

export { AlreadyOwned, controllerOf } from './owners.ts'

/** An object that can get an owner: a draft, or an object before its creation. */
export interface Ownable {
  readonly kind?: string
  readonly metadata: {
    readonly name?: string | undefined
    readonly namespace?: string | undefined
    /** Mutable, so that the compiler refuses objects of the cache, which are shared. */
    ownerReferences?: OwnerReference[] | undefined
  }
}

/**
 * Makes `owner` the controller of the draft: the draft is deleted with its owner, and `owns` maps it to the owner.
 * Replaces an earlier reference to the same owner, of any apiVersion.
 *
 * @throws AlreadyOwned if it has another controller.
 * @throws TypeError if the owner is in another namespace, or has one and the draft has none, or was not read from a
 * server.
 */
export function setController(
  draft: Ownable,
  owner: KubeObject,
  options: { readonly blockOwnerDeletion?: boolean } = {},
): void {
  draft.metadata.ownerReferences = [...withController(draft.metadata.ownerReferences, owner, ownedOf(draft), options)]
}

/** Adds `owner` to the draft's owners: the draft is deleted after all of them. Throws as {@link setController}. */
export function setOwner(
  draft: Ownable,
  owner: KubeObject,
  options: { readonly blockOwnerDeletion?: boolean } = {},
): void {
  draft.metadata.ownerReferences = [...withOwner(draft.metadata.ownerReferences, owner, ownedOf(draft), options)]
}

/** Removes an owner. @throws TypeError if it does not own the draft. */
export function removeOwner(draft: Ownable, owner: KubeObject): void {
  const left = withoutOwner(draft.metadata.ownerReferences, owner)
  if (!left) {
    throw new TypeError(
      `Cannot remove the owner ${owner.kind} "${owner.metadata.name}" of ${
        ownedOf(draft).what
      }: it is not among its owners`,
    )
  }
  draft.metadata.ownerReferences = [...left]
}

/** Tests whether `owner` is among an object's owners, by its uid. */
export function hasOwner(object: HasOwners, owner: KubeObject): boolean {
  return object.metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) ?? false
}

function ownedOf({ kind = 'an object', metadata }: Ownable): Owned {
  const { name, namespace } = metadata
  return { what: name ? `${kind} "${formatKey({ name, namespace })}"` : kind, namespace }
}
