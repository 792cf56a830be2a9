/**
 * Finalizers on drafts: for `edit`, `createOrUpdate` and objects to be created. A controller with `finalize` needs none
 * of this.
 */

/** An object that can get finalizers: a draft, or an object before its creation. */
export interface Finalizable {
  readonly metadata: {
    /** Mutable, so that the compiler refuses objects of the cache, which are shared. */
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

/** Removes every occurrence of a finalizer. Returns whether there was one. */
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
