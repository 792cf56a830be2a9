/** Prepares an object of the server for a store: metadata only, stripped, without managedFields, frozen. */
import { cloneJson, deepFreeze } from '../core/clone.ts'
import type { KubeObject } from '../core/objects.ts'
import { markPartial } from '../core/partial.ts'
import type { AnyResource } from '../core/resource.ts'
import { readAs } from '../client/codec.ts'

/** How objects are stored; the fields are those of `InformerOptions`. */
export interface StoredForm {
  readonly resource: AnyResource
  readonly strip?: ((object: KubeObject) => void) | undefined
  readonly freeze?: boolean | undefined
  /** Called with the object for which the strip function threw. Must not throw. */
  readonly onStripError?: ((object: KubeObject, error: unknown) => void) | undefined
}

/** Prepares an object in place. If the strip function throws, it is kept as that has left it. */
export function prepareObject(object: KubeObject, { resource, strip, freeze, onStripError }: StoredForm): void {
  readAs(resource, object)
  dropManagedFields(object)
  if (strip) stripped(object, strip, (error) => onStripError?.(object, error))
  if (freeze) deepFreeze(object)
}

/** Metadata that a strip function cannot remove: the cache, owners, finalizers, predicates and selectors read it. */
const KEPT = [
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'labels',
  'ownerReferences',
  'finalizers',
] as const

/**
 * Strips an object and marks it as partial, so that it is not written back as if it were complete. The mark is set also
 * if the function throws, as it may have removed some fields before.
 */
function stripped(object: KubeObject, strip: (object: KubeObject) => void, onError: (error: unknown) => void): void {
  const { apiVersion, kind, metadata } = object
  // A copy, as the function may change what is in a list of them.
  const kept = cloneJson(Object.fromEntries(KEPT.map((field) => [field, metadata[field]])))
  try {
    // An async function is assignable, and its unhandled rejection would end the process.
    const result: unknown = strip(object)
    if (result instanceof Promise) result.catch(onError)
  } catch (error) {
    onError(error)
  }
  // A status, an owner and an Event of the object need its kind.
  const partial = Object.assign(markPartial(object) as { metadata: object }, { apiVersion, kind })
  Object.assign(partial.metadata ??= {}, kept)
}

/**
 * Removes managedFields. They do not become [], because an update with [] erases those of the server. The metadata is
 * copied, because V8 turns an object with a deleted property into a hash table, which is six times slower and 330 bytes
 * larger.
 */
function dropManagedFields(object: { metadata: KubeObject['metadata'] & { readonly managedFields?: unknown } }): void {
  if (object.metadata.managedFields === undefined) return
  const { managedFields: _, ...metadata } = object.metadata
  object.metadata = metadata
}
