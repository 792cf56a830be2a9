/** Predicates as they are called: what a user's function throws must not cost an event. */
import { messageOf } from '../core/errors.ts'
import { formatKey, keyOf } from '../core/objects.ts'
import type { Clock } from '../async/clock.ts'
import type { Log } from '../observe/log.ts'
import type { Delta } from '../cache/store.ts'
import type { Predicate } from './predicates.ts'
import { andMore, RateLimitedLog } from '../observe/rate_limited_log.ts'

/** Never throws. A predicate that does lets pass, and says so now and then: a reconcile too many is better than one too few. */
export function guarded(
  when: Predicate | undefined,
  parts: { readonly clock: Clock; readonly log: Log },
): (delta: Delta) => boolean {
  if (!when) return () => true
  const { clock, log } = parts
  const sparse = new RateLimitedLog(clock)
  return (delta) => {
    try {
      return when(delta.object, delta.kind === 'updated' ? delta.old : undefined, delta)
    } catch (error) {
      const what = `${delta.object.kind} "${formatKey(keyOf(delta.object))}"`
      sparse.line((left) =>
        log.error(`A predicate threw for ${what}, which passes: ${messageOf(error)}${andMore(left)}`, { error })
      )
      return true
    }
  }
}
