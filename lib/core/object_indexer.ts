/** Defines indexes: values without a connection, which replicas and tests share. */
import type { KubeObject } from './objects.ts'
import type { ResourceOf } from './resource.ts'

/** An index of a kind: maps an object to its keys. */
export interface Index<T extends KubeObject> {
  readonly resource: ResourceOf<T>
  readonly keys: (object: T) => string | readonly string[] | undefined
}

/**
 * Defines an index of a kind: the keys of an object are a string, several, or none.
 *
 * @example
 * ```ts
 * import { defineIndex } from 'kubeloop'
 * import { Pod } from 'kubeloop/kinds'
 * const podsByNode = defineIndex(Pod, (pod) => pod.spec?.nodeName)
 * ```
 */
export function defineIndex<T extends KubeObject>(
  resource: ResourceOf<T>,
  keys: (object: NoInfer<T>) => string | readonly string[] | undefined,
): Index<T> {
  return { resource, keys }
}

/** Called with an object for which the function of an index threw. Must not throw. */
export type IndexErrorHandler = (object: KubeObject, error: unknown) => void

/** Returns the keys of an object as a list. If the index's function throws, it is empty, and `onError` is called. */
export function indexKeys<T extends KubeObject>(
  index: Index<T>,
  object: T,
  onError?: IndexErrorHandler,
): readonly string[] {
  try {
    const keys = index.keys(object) ?? []
    // Spread within the try: a field of a wrong type is not iterable.
    return typeof keys === 'string' ? [keys] : [...keys]
  } catch (error) {
    onError?.(object, error)
    return []
  }
}
