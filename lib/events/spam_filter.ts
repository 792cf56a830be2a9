/** How many different Events there may be about one topic: a token bucket each, the least recently used forgotten. */
import { BoundedMap } from '../async/bounded_map.ts'
import { TokenBucket } from '../async/token_bucket.ts'

interface TopicState {
  readonly bucket: TokenBucket
  /** Whether the last one asked was turned away. */
  exhausted: boolean
}

export interface SpamFilterOptions {
  /** How many may come at once. */
  readonly burst: number
  /** How long until one more may. */
  readonly refillMs: number
  /** How many topics are remembered. */
  readonly max: number
}

/** `exhausted`: the first that is turned away since one passed. */
export type Admission = 'passes' | 'exhausted' | 'turned away'

export class SpamFilter {
  readonly #options: SpamFilterOptions
  /** In the order of their use. */
  readonly #topics: BoundedMap<string, TopicState>

  constructor(options: SpamFilterOptions) {
    this.#options = options
    this.#topics = new BoundedMap(options.max)
  }

  get size(): number {
    return this.#topics.size
  }

  /** Takes a token of the topic, if there is one. */
  take(topic: string, nowMs: number): Admission {
    const state = this.#topics.get(topic) ?? { bucket: new TokenBucket(this.#options), exhausted: false }
    this.#topics.set(topic, state)
    const wasExhausted = state.exhausted
    state.exhausted = !state.bucket.take(nowMs)
    if (!state.exhausted) return 'passes'
    return wasExhausted ? 'turned away' : 'exhausted'
  }
}
