/** How many different Events there may be about one topic: a token bucket each, the least recently used forgotten. */

interface TopicState {
  readonly tokens: number
  readonly atMs: number
  /** Whether the last one asked was turned away. */
  readonly exhausted: boolean
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
  readonly #topics = new Map<string, TopicState>()

  constructor(options: SpamFilterOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#topics.size
  }

  /** Takes a token of the topic, if there is one. */
  take(topic: string, nowMs: number): Admission {
    const { burst, refillMs, max } = this.#options
    const before = this.#topics.get(topic)
    const tokens = before ? Math.min(burst, before.tokens + (nowMs - before.atMs) / refillMs) : burst
    const passes = tokens >= 1
    this.#topics.delete(topic)
    if (this.#topics.size >= max) this.#topics.delete(this.#topics.keys().next().value!)
    this.#topics.set(topic, { tokens: passes ? tokens - 1 : tokens, atMs: nowMs, exhausted: !passes })
    if (passes) return 'passes'
    return before?.exhausted ? 'turned away' : 'exhausted'
  }
}
