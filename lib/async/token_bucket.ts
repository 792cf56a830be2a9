/** Token buckets: a burst at once, and one more token in each interval. */

export interface TokenBucketOptions {
  /** The tokens that the bucket holds, and starts with. */
  readonly burst: number
  /** How long until a token comes back. */
  readonly refillMs: number
}

/** A bucket without a clock: each call passes the monotonic time in milliseconds, which must not go back. */
export class TokenBucket {
  readonly #burst: number
  readonly #refillMs: number
  /** The tokens at `#atMs`; negative if tokens were reserved. */
  #tokens: number
  #atMs = -Infinity

  constructor({ burst, refillMs }: TokenBucketOptions) {
    this.#burst = this.#tokens = burst
    this.#refillMs = refillMs
  }

  /** Takes a token. Returns false, and changes nothing, if there is none. */
  take(nowMs: number): boolean {
    const tokens = this.#tokensAt(nowMs)
    if (tokens < 1) return false
    this.#tokens = tokens - 1
    this.#atMs = nowMs
    return true
  }

  /** Takes a token in any case. Returns how many milliseconds to wait until it is there: 0 if it is there now. */
  reserve(nowMs: number): number {
    this.#tokens = this.#tokensAt(nowMs) - 1
    this.#atMs = nowMs
    return this.#tokens >= 0 ? 0 : -this.#tokens * this.#refillMs
  }

  #tokensAt(nowMs: number): number {
    return Math.min(this.#burst, this.#tokens + (nowMs - this.#atMs) / this.#refillMs)
  }
}
