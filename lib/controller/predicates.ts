/** Which changes are worth a reconcile. */
import { jsonEqual } from '../core/equal.ts'
import type { KubeObject } from '../core/objects.ts'
import { parseLabelSelector } from '../core/selectors.ts'
import type { Delta } from '../cache/store.ts'

/**
 * `before` is undefined for an object that is new, and for one that was deleted; `change` tells them apart:
 * `when: (now, before, change) => change.kind !== 'deleted'`.
 */
export type Predicate<T extends KubeObject = KubeObject> = (now: T, before: T | undefined, change: Delta<T>) => boolean

/** For objects of whatever kind, from their two states. Generic, so that {@link and} takes it beside a predicate of one kind. */
type Comparison = <T extends KubeObject>(now: T, before: T | undefined) => boolean

/**
 * Only changes of the spec (of `metadata.generation`), not those of status, labels or annotations.
 * Kinds without a generation always pass, and so does a deletion that begins.
 */
export const generationChanged: Comparison = (now, before): boolean =>
  before === undefined ||
  now.metadata.generation === undefined ||
  now.metadata.generation !== before.metadata.generation ||
  now.metadata.deletionTimestamp !== before.metadata.deletionTimestamp

/** Of updates, only those of a label. */
export const labelsChanged: Comparison = (now, before): boolean =>
  before === undefined || !jsonEqual(now.metadata.labels ?? {}, before.metadata.labels ?? {})

/** Of updates, only those of an annotation. */
export const annotationsChanged: Comparison = (now, before): boolean =>
  before === undefined || !jsonEqual(now.metadata.annotations ?? {}, before.metadata.annotations ?? {})

/** Of updates, only those that changed something at all. Objects without a version, as servers of metrics give them, pass. */
export const resourceVersionChanged: Comparison = (now, before): boolean =>
  before === undefined || !now.metadata.resourceVersion ||
  now.metadata.resourceVersion !== before.metadata.resourceVersion

/**
 * Objects whose labels match: `app=web,tier in (a, b)`, or `{ app: 'web' }`. An update passes when the object matches now or did
 * before, so that one that leaves the selector is heard of once more. Throws a TypeError for what is no selector.
 */
export function matchesLabels(selector: string | Readonly<Record<string, string>>): Comparison {
  const matches = parseLabelSelector(selector)
  return (now, before) => matches(now.metadata.labels) || (before !== undefined && matches(before.metadata.labels))
}

/** What passes all of them; the first that does not let pass is the last that is asked. */
export function and<T extends KubeObject>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (now, before, change) => predicates.every((predicate) => predicate(now, before, change))
}

/** What passes one of them; the first that lets pass is the last that is asked. */
export function or<T extends KubeObject>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (now, before, change) => predicates.some((predicate) => predicate(now, before, change))
}

/** What does not pass. Deletions and new objects pass the predicates of this file, so `not` of one keeps them out. */
export function not<T extends KubeObject>(predicate: Predicate<T>): Predicate<T> {
  return (now, before, change) => !predicate(now, before, change)
}
