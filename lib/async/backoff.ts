/** Exponential delays with jitter, as numbers: the caller waits. */

export interface BackoffOptions {
  /** The first delay. */
  readonly firstMs: number
  /** The longest delay, before jitter. */
  readonly mostMs: number
  /** How much of the delay may be added at random. Default 0. */
  readonly jitter?: number
}

/** The delay before try `attempt` (0 is the first retry): `firstMs * 2^attempt`, capped, plus jitter. Never overflows. */
export function backoffMs(attempt: number, options: BackoffOptions, random: () => number): number {
  const { firstMs, mostMs, jitter = 0 } = options
  // 2^1000 is still a number; Infinity * 0 would not be.
  const base = Math.min(firstMs * 2 ** Math.min(attempt, 1000), mostMs)
  return base * (1 + jitter * random())
}
