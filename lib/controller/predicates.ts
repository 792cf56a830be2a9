/** Predicates: tests that decide which changes cause a reconcile. */
import { jsonEqual } from '../core/equal.ts'
import { messageOf } from '../core/errors.ts'
import { formatKey, keyOf, type KubeObject } from '../core/objects.ts'
import { parseLabelSelector } from '../core/selectors.ts'
import type { PartEnvironment } from '../observe/environment.ts'
import { RateLimitedLog } from '../observe/log.ts'
import type { Delta } from '../cache/store.ts'
import { isThenable } from './bounded_call.ts'

/**
 * Returns whether a change causes a reconcile. `before` is undefined for a new object and for a deleted one; `change`
 * distinguishes them: `when: (now, before, change) => change.kind !== 'deleted'`.
 */
export type Predicate<T extends KubeObject = KubeObject> = (now: T, before: T | undefined, change: Delta<T>) => boolean

/** A predicate for objects of any kind. Generic, so that {@link and} accepts it beside a predicate of one kind. */
type Comparison = <T extends KubeObject>(now: T, before: T | undefined) => boolean

/**
 * Passes changes of the spec (of `metadata.generation`), not those of status, labels or annotations. Objects without a
 * generation always pass, and so does the begin of a deletion.
 */
export const generationChanged: Comparison = (now, before): boolean =>
  before === undefined ||
  now.metadata.generation === undefined ||
  now.metadata.generation !== before.metadata.generation ||
  now.metadata.deletionTimestamp !== before.metadata.deletionTimestamp

/** Passes updates that change a label, and all other events. */
export const labelsChanged: Comparison = (now, before): boolean =>
  before === undefined || !jsonEqual(now.metadata.labels ?? {}, before.metadata.labels ?? {})

/** Passes updates that change an annotation, and all other events. */
export const annotationsChanged: Comparison = (now, before): boolean =>
  before === undefined || !jsonEqual(now.metadata.annotations ?? {}, before.metadata.annotations ?? {})

/**
 * Passes updates with a new resourceVersion, and all other events. Objects without one (metrics.k8s.io) always pass.
 */
export const resourceVersionChanged: Comparison = (now, before): boolean =>
  before === undefined || !now.metadata.resourceVersion ||
  now.metadata.resourceVersion !== before.metadata.resourceVersion

/**
 * Passes objects whose labels match: `app=web,tier in (a, b)`, or `{ app: 'web' }`. An update passes if the object
 * matches now or matched before, so the change that leaves the selector is the last to pass.
 *
 * @throws TypeError if the selector is invalid.
 */
export function matchesLabels(selector: string | Readonly<Record<string, string>>): Comparison {
  const matches = parseLabelSelector(selector)
  return (now, before) => matches(now.metadata.labels) || (before !== undefined && matches(before.metadata.labels))
}

/** Passes changes that all predicates pass; stops at the first that does not. */
export function and<T extends KubeObject>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (now, before, change) => predicates.every((predicate) => predicate(now, before, change))
}

/** Passes changes that at least one predicate passes; stops at the first that does. */
export function or<T extends KubeObject>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (now, before, change) => predicates.some((predicate) => predicate(now, before, change))
}

/**
 * Passes changes that the predicate does not. The predicates above pass new and deleted objects, so `not` drops those.
 */
export function not<T extends KubeObject>(predicate: Predicate<T>): Predicate<T> {
  return (now, before, change) => !predicate(now, before, change)
}

/**
 * Returns a predicate that never throws. If `when` throws, the change passes and the error is logged at a limited rate:
 * an unneeded reconcile is better than a missed one.
 */
export function guardedPredicate(when: Predicate | undefined, parts: PartEnvironment): (delta: Delta) => boolean {
  if (!when) return () => true
  const limitedLog = new RateLimitedLog(parts.clock, parts.log)
  return (delta) => {
    try {
      const passes: unknown = when(delta.object, delta.kind === 'updated' ? delta.old : undefined, delta)
      if (isThenable(passes)) throw new TypeError('it returned a promise; a predicate cannot wait')
      return passes as boolean
    } catch (error) {
      const what = `${delta.object.kind} "${formatKey(keyOf(delta.object))}"`
      limitedLog.error(`A predicate failed for ${what}, so the event passes: ${messageOf(error)}`, { error })
      return true
    }
  }
}
