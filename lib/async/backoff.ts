/** Computes exponential back-off delays with jitter. */

export interface BackoffOptions {
  /** The first delay. */
  readonly baseMs: number
  /** The maximum delay, before jitter. */
  readonly maxMs: number
  /** The maximum random addition, as a factor of the delay. Default: 0. */
  readonly jitter?: number
}

/**
 * As client-go's reflector: 800 ms doubling to 30 s, plus up to 100 % jitter, so that many clients do not return at
 * once.
 */
export const SERVER_BACKOFF: BackoffOptions = { baseMs: 800, maxMs: 30_000, jitter: 1 }

/** Returns the delay before retry `attempt` (0 is the first): `baseMs * 2^attempt`, at most `maxMs`, plus jitter. */
export function backoffMs(attempt: number, options: BackoffOptions, random: () => number): number {
  const { baseMs, maxMs, jitter = 0 } = options
  // 2^1000 is finite; Infinity * 0 would be NaN.
  const base = Math.min(baseMs * 2 ** Math.min(attempt, 1000), maxMs)
  return base * (1 + jitter * random())
}
