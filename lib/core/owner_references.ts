/** Owner references on drafts: for `edit`, `createOrUpdate` and objects to be created. `apply` has its `owner` option. */
import { formatKey, type KubeObject, type OwnerReference } from './objects.ts'
import { type HasOwners, type Owned, withController, withoutOwner, withOwner } from './owners.ts'

export { AlreadyOwned, controllerOf } from './owners.ts'

/** What can be owned: a draft, or an object that is yet to be created. */
export interface Ownable {
  readonly kind?: string
  readonly metadata: {
    readonly name?: string | undefined
    readonly namespace?: string | undefined
    /** Not readonly, so that what was read is refused: it is shared. */
    ownerReferences?: OwnerReference[] | undefined
  }
}

/**
 * Makes `owner` the one that controls the draft: it goes with its owner, and `owns` finds it. An earlier reference to the same
 * owner, in whatever version, is replaced.
 *
 * @throws AlreadyOwned when another one controls it.
 * @throws TypeError when the owner is in another namespace, or has one and the draft has none, or was not read from a server.
 */
export function setController(
  draft: Ownable,
  owner: KubeObject,
  options: { readonly blockOwnerDeletion?: boolean } = {},
): void {
  draft.metadata.ownerReferences = [...withController(draft.metadata.ownerReferences, owner, ownedOf(draft), options)]
}

/** Makes `owner` one of the draft's owners, beside others: it goes when all of them have gone. Throws as {@link setController}. */
export function setOwner(
  draft: Ownable,
  owner: KubeObject,
  options: { readonly blockOwnerDeletion?: boolean } = {},
): void {
  draft.metadata.ownerReferences = [...withOwner(draft.metadata.ownerReferences, owner, ownedOf(draft), options)]
}

/** Takes an owner away. @throws TypeError when it does not own the draft. */
export function removeOwner(draft: Ownable, owner: KubeObject): void {
  const left = withoutOwner(draft.metadata.ownerReferences, owner)
  if (!left) {
    throw new TypeError(
      `Cannot take ${owner.kind} "${owner.metadata.name}" from ${ownedOf(draft).what}: it is not among its owners`,
    )
  }
  draft.metadata.ownerReferences = [...left]
}

/** Whether `owner` is among an object's owners: this very one, by its uid, and no namesake. */
export function hasOwner(object: HasOwners, owner: KubeObject): boolean {
  return object.metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) ?? false
}

function ownedOf({ kind = 'an object', metadata }: Ownable): Owned {
  const { name, namespace } = metadata
  return { what: name ? `${kind} "${formatKey({ name, namespace })}"` : kind, namespace }
}
