/** The checks that every operator may have. */
import { isReason, messageOf } from '../../core/errors.ts'
import type { Cache } from '../../cache/cache.ts'
import type { HealthCheck } from './health.ts'

/** Healthy as long as this process answers at all. */
export const ping: HealthCheck = () => {}

/**
 * Healthy when every kind that is declared has its first list, and none is refused since: by RBAC, for who we are, or because
 * the kind is gone. The error names the kinds; why is in its cause, as a server's words may tell more than a probe should. A watch
 * that breaks and mends itself is no failure: a restart of the API server would take every replica out of its service. What is
 * optional is no failure either.
 */
export function cachesSynced(caches: readonly Cache[]): HealthCheck {
  return () => {
    const informers = caches.flatMap((cache) => [...cache.informers()])
    const bad = informers.filter(({ isSynced, optional, failure }) => !optional && (!isSynced || isRefused(failure)))
    if (bad.length === 0) return
    const reasons = bad.flatMap((
      { title, failure },
    ) => (failure === undefined ? [] : [`${title}: ${messageOf(failure)}`]))
    throw new Error(`not synced: ${bad.map(({ title }) => title).join(', ')}`, {
      cause: reasons.length > 0 ? reasons.join('; ') : undefined,
    })
  }
}

function isRefused(failure: unknown): boolean {
  return isReason(failure, 'Forbidden') || isReason(failure, 'Unauthorized') || isReason(failure, 'NotFound')
}

/** Healthy unless this process believes to lead without a lease that stands. */
export function leaderHealthy(elector: { checkHealthy(): void }): HealthCheck {
  return () => elector.checkHealthy()
}
