/** Exponential delays with jitter, as numbers: the caller waits. */

export interface BackoffOptions {
  /** The first delay. */
  readonly baseMs: number
  /** The longest delay, before jitter. */
  readonly maxMs: number
  /** How much of the delay may be added at random. Default 0. */
  readonly jitter?: number
}

/** The delay before try `attempt` (0 is the first retry): `baseMs * 2^attempt`, capped, plus jitter. Never overflows. */
export function backoffMs(attempt: number, options: BackoffOptions, random: () => number): number {
  const { baseMs, maxMs, jitter = 0 } = options
  // 2^1000 is still a number; Infinity * 0 would not be.
  const base = Math.min(baseMs * 2 ** Math.min(attempt, 1000), maxMs)
  return base * (1 + jitter * random())
}
