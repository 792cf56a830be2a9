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

/** Returns the keys of an object as a list. */
export function indexKeys<T extends KubeObject>(index: Index<T>, object: T): readonly string[] {
  const keys = index.keys(object)
  return keys === undefined ? [] : typeof keys === 'string' ? [keys] : keys
}
