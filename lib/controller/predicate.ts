/** Which changes are worth a reconcile. */
import type { KubeObject } from '../core/objects.ts'

/** `before` is undefined for an object that is new, and for one that was deleted. */
export type Predicate<T extends KubeObject = KubeObject> = (now: T, before: T | undefined) => boolean

/**
 * Only changes of the spec (of `metadata.generation`), not those of status, labels or annotations.
 * Kinds without a generation always pass, and so does a deletion that begins.
 */
export const generationChanged: Predicate = (now, before) =>
  before === undefined ||
  now.metadata.generation === undefined ||
  now.metadata.generation !== before.metadata.generation ||
  now.metadata.deletionTimestamp !== before.metadata.deletionTimestamp
