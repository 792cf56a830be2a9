/** What a controller with a finalizer hears of its own kind, whatever its user's predicates say. */
import { jsonEqual } from '../core/equal.ts'
import type { KubeObject } from '../core/objects.ts'
import { finalizerPlan } from './finalizer_plan.ts'
import type { Predicate } from './predicates.ts'

/** Lets pass whatever is being deleted and waits for us, beside what `when` lets pass: nobody else could let it go. */
export function orWaiting(when: Predicate | undefined, finalizer: string): Predicate | undefined {
  return when && ((now, before, change) => waits(now, change.kind, finalizer) || when(now, before, change))
}

/**
 * The same for the controller's own kind, and no run for the change that our finalizer alone made: the run that wrote it goes on with
 * the object as it is then, and a second one at once would count as the next try where that one failed.
 */
export function ownChanges(when: Predicate | undefined, finalizer: string): Predicate {
  return (now, before, change) =>
    waits(now, change.kind, finalizer) ||
    (!(before && isAddition(now, before, finalizer)) && (when?.(now, before, change) ?? true))
}

function waits(now: KubeObject, change: string, finalizer: string): boolean {
  return change !== 'deleted' && finalizerPlan(now, finalizer).kind === 'clean'
}

/** Whether nothing but our finalizer is new. */
function isAddition(now: KubeObject, before: KubeObject, finalizer: string): boolean {
  if (!now.metadata.finalizers?.includes(finalizer) || before.metadata.finalizers?.includes(finalizer)) return false
  return jsonEqual(without(now, finalizer), without(before, finalizer))
}

/** What remains besides the finalizer and what every write changes. */
function without(object: KubeObject, finalizer: string): object {
  const { resourceVersion: _version, managedFields: _fields, ...metadata } = object.metadata as
    & KubeObject['metadata']
    & {
      readonly managedFields?: unknown
    }
  return {
    ...object,
    metadata: { ...metadata, finalizers: (metadata.finalizers ?? []).filter((each) => each !== finalizer) },
  }
}
