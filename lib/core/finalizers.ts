/** Finalizers on drafts: for `edit`, `createOrUpdate` and objects to be created. A controller's `finalize` does this by itself. */

/** What can have finalizers: a draft, or an object that is yet to be created. */
export interface Finalizable {
  readonly metadata: {
    /** Not readonly, so that what was read is refused: it is shared. */
    finalizers?: string[] | undefined
  }
}

/** Adds a finalizer, at the end. Returns whether it was missing. */
export function add({ metadata }: Finalizable, finalizer: string): boolean {
  const { finalizers = [] } = metadata
  if (finalizers.includes(finalizer)) return false
  metadata.finalizers = [...finalizers, finalizer]
  return true
}

/** Removes a finalizer, however often it is there. Returns whether it was. */
export function remove({ metadata }: Finalizable, finalizer: string): boolean {
  const { finalizers = [] } = metadata
  const left = finalizers.filter((each) => each !== finalizer)
  if (left.length === finalizers.length) return false
  metadata.finalizers = left
  return true
}

/** Returns whether an object has a finalizer. */
export function has(
  { metadata }: { readonly metadata: { readonly finalizers?: readonly string[] | undefined } },
  finalizer: string,
): boolean {
  return metadata.finalizers?.includes(finalizer) ?? false
}
