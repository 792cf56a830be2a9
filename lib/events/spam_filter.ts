/** Limits the different Events of a topic: one token bucket per topic, the least recently used are forgotten. */
import { BoundedMap } from '../async/bounded_map.ts'
import { TokenBucket } from '../async/token_bucket.ts'

interface TopicState {
  readonly bucket: TokenBucket
  /** Whether the last request was rejected. */
  exhausted: boolean
}

export interface SpamFilterOptions {
  /** The size of each bucket. */
  readonly burst: number
  /** The time until a token is added. */
  readonly refillMs: number
  /** The max number of topics. */
  readonly max: number
}

/** `exhausted`: the first rejected request after an accepted one. */
export type Admission = 'passes' | 'exhausted' | 'rejected'

export class SpamFilter {
  readonly #options: SpamFilterOptions
  /** The least recently used first. */
  readonly #topics: BoundedMap<string, TopicState>

  constructor(options: SpamFilterOptions) {
    this.#options = options
    this.#topics = new BoundedMap(options.max)
  }

  get size(): number {
    return this.#topics.size
  }

  /** Takes a token of the topic if there is one. */
  take(topic: string, nowMs: number): Admission {
    const state = this.#topics.get(topic) ?? { bucket: new TokenBucket(this.#options), exhausted: false }
    this.#topics.set(topic, state)
    const wasExhausted = state.exhausted
    state.exhausted = !state.bucket.take(nowMs)
    if (!state.exhausted) return 'passes'
    return wasExhausted ? 'rejected' : 'exhausted'
  }
}
