/**
 * The state of an event recorder, without I/O and without a clock. It guarantees:
 *
 * - equal occurrences become one Event with a count;
 * - each occurrence is in a count that is written or waits to be written, or is reported as dropped. A later count may
 *   replace a refused one;
 * - an Event has at most one write in flight, and waiting writes are sent first in, first out;
 * - memory is bounded, see {@link EventLimits}. When it is full, the fully written Event that was recorded longest ago
 *   is forgotten; if there is none, a waiting repetition is dropped before a new Event.
 */
import { BoundedMap } from '../async/bounded_map.ts'
import { TokenBucket } from '../async/token_bucket.ts'
import { type EventBody, identityOf, namespaceOf, type Occurrence, topicOf } from './event.ts'
import {
  again,
  type Answer,
  begin,
  FINISH_MS,
  isFinished,
  type Moment,
  type Series,
  step,
  unwritten,
  type Write,
  writeOf,
} from './series.ts'

/** The limits within which Events are counted, kept and sent. */
export interface EventLimits {
  /** The max number of stored Events, which count their repetitions. Default: 4096, as in client-go. */
  readonly series: number
  /** The max number of Events that wait to be created. Default: 1000, as in client-go. */
  readonly queue: number
  /** The burst of different Events for one object and reason. Default: 25, as in client-go's spam filter. */
  readonly burst: number
  /**
   * The time in milliseconds after which one more Event is allowed. Default: 5 minutes, as in client-go's spam filter.
   */
  readonly refillMs: number
}

export const DEFAULT_LIMITS: EventLimits = { series: 4096, queue: 1000, burst: 25, refillMs: 5 * 60_000 }

/**
 * Why occurrences were dropped: `rate`: too many different ones for an object; `queue`: too many wait to be created;
 * `memory`: too many are stored; `refused`: invalid; `forbidden`: a right is missing; `failed`: too many tries;
 * `stopped`: not written when the recorder ended.
 */
export type DropCause = 'rate' | 'queue' | 'memory' | 'refused' | 'forbidden' | 'failed' | 'stopped'

/** Each cause, as the compiler checks. */
export const DROP_CAUSES: Readonly<Record<DropCause, 0>> = {
  rate: 0,
  queue: 0,
  memory: 0,
  refused: 0,
  forbidden: 0,
  failed: 0,
  stopped: 0,
}

/** The result of recording. `exhausted`: the first occurrence that the spam filter rejected. */
export type Recorded = 'new' | 'repeated' | 'exhausted' | 'dropped'

/** A write that is in flight until {@link EventState.settle}. */
export interface Job {
  readonly id: string
  readonly write: Write
  readonly event: EventBody
}

/** How long a missing right is not tried again. */
export const DENIED_MS: number = 5 * 60_000
const MAX_DENIALS = 1024

/** The min interval between two sweeps. */
const SWEEP_MS = 1000

export class EventState {
  readonly #limits: EventLimits
  readonly #onDrop: (cause: DropCause, count: number) => void
  readonly #spamFilter: SpamFilter
  /** In the order of their last occurrence. */
  readonly #series = new Map<string, Series>()
  /** The series to write, in order; none of them has a write in flight. */
  readonly #ready = new Set<string>()
  readonly #sending = new Set<string>()
  /** Until when a missing right is not tried again, by verb and namespace. */
  readonly #denied = new BoundedMap<string, number>(MAX_DENIALS)
  /** The number of series that the server does not have. */
  #missing = 0
  #sweepMs = Infinity
  #flushed = false

  constructor(limits: EventLimits, onDrop: (cause: DropCause, count: number) => void) {
    this.#limits = limits
    this.#onDrop = onDrop
    this.#spamFilter = new SpamFilter({ burst: limits.burst, refillMs: limits.refillMs, max: limits.series })
  }

  /** The number of stored series and of topics in the spam filter. */
  get size(): { readonly series: number; readonly topics: number } {
    return { series: this.#series.size, topics: this.#spamFilter.size }
  }

  /** Whether no write is ready or in flight. */
  get idle(): boolean {
    return this.#ready.size === 0 && this.#sending.size === 0
  }

  /** When {@link sweep} is due, by the monotonic clock. */
  get sweepMs(): number {
    return this.#sweepMs
  }

  /** Records an occurrence. `make` is called to create a new Event. */
  record(what: Occurrence, make: () => EventBody, now: Moment): Recorded {
    const id = identityOf(what)
    const known = this.#series.get(id)
    if (known && !isFinished(known, now.monotonicMs)) {
      this.#series.delete(id)
      this.#series.set(id, again(known, now))
      this.#schedule(id, now.monotonicMs)
      return 'repeated'
    }
    if (this.#isDenied('create', namespaceOf(what.regarding), now.monotonicMs)) return this.#drop('forbidden')
    if (this.#missing >= this.#limits.queue) return this.#drop('queue')
    const admission = this.#spamFilter.take(topicOf(what), now.monotonicMs)
    if (admission !== 'passes') {
      this.#drop('rate')
      return admission === 'exhausted' ? 'exhausted' : 'dropped'
    }
    this.#put(id, undefined)
    if (this.#series.size >= this.#limits.series && !this.#makeRoom()) return this.#drop('memory')
    this.#put(id, begin(make(), now))
    this.#schedule(id, now.monotonicMs)
    return 'new'
  }

  /** Returns the next write, if one may be sent now. It is in flight until it is settled. */
  take(nowMs: number): Job | undefined {
    for (const id of this.#ready) {
      this.#ready.delete(id)
      const series = this.#series.get(id)
      const write = series && writeOf(series)
      if (!write) continue
      if (this.#isDenied(write.kind, write.namespace, nowMs)) {
        this.#answer(id, series, write, 'refused', 'forbidden', nowMs)
        continue
      }
      this.#sending.add(id)
      return { id, write, event: series.event }
    }
    return undefined
  }

  /** Handles the answer to a write. Returns the number of occurrences that are dropped because of it. */
  settle({ id, write }: Job, answer: Answer, cause: DropCause, nowMs: number): number {
    this.#sending.delete(id)
    const series = this.#series.get(id)
    return series ? this.#answer(id, series, write, answer, cause, nowMs) : 0
  }

  /** Drops writes with this verb in this namespace without a request, for five minutes. */
  deny(verb: Write['kind'], namespace: string, nowMs: number): void {
    this.#denied.set(`${verb} ${namespace}`, nowMs + DENIED_MS)
  }

  /** Schedules the counts that are due, and forgets finished series. */
  sweep(nowMs: number): void {
    if (nowMs < this.#sweepMs) return
    this.#sweepMs = Infinity
    for (const [id, series] of this.#series) {
      if (isFinished(series, nowMs)) this.#put(id, undefined)
      else this.#schedule(id, nowMs)
    }
  }

  /** From now on, all counts are due at once. */
  flush(nowMs: number): void {
    this.#flushed = true
    for (const id of this.#series.keys()) this.#schedule(id, nowMs)
  }

  /** Counts everything that was not written as dropped. No write may be in flight, and none may follow. */
  abandon(): void {
    let left = 0
    for (const series of this.#series.values()) left += unwritten(series)
    if (left > 0) this.#onDrop('stopped', left)
  }

  /** Schedules the next write of a series, or its next sweep. */
  #schedule(id: string, nowMs: number): void {
    const series = this.#series.get(id)!
    if (this.#sending.has(id) || this.#ready.has(id)) return
    const waits = unwritten(series) > 0
    if (waits && (series.dueMs <= nowMs || this.#flushed)) this.#ready.add(id)
    else this.#sweepMs = Math.min(this.#sweepMs, sweepTime(waits ? series.dueMs : series.lastMonotonicMs + FINISH_MS))
  }

  #answer(id: string, series: Series, write: Write, answer: Answer, cause: DropCause, nowMs: number): number {
    const { series: left, lost } = step(series, write, answer, nowMs)
    this.#put(id, left)
    if (left) this.#schedule(id, nowMs)
    // After too many tries the cause is `failed`, because the server never refused the write.
    if (lost > 0) this.#onDrop(answer === 'refused' ? cause : 'failed', lost)
    return lost
  }

  #put(id: string, series: Series | undefined): void {
    if (this.#series.get(id)?.standing.kind === 'missing') this.#missing--
    if (series?.standing.kind === 'missing') this.#missing++
    if (series) this.#series.set(id, series)
    else if (this.#series.delete(id)) this.#ready.delete(id)
  }

  #makeRoom(): boolean {
    let repetitions: string | undefined
    let note: string | undefined
    for (const [id, series] of this.#series) {
      if (this.#sending.has(id)) continue
      if (unwritten(series) === 0) {
        this.#put(id, undefined)
        return true
      }
      if (series.standing.kind === 'stored') repetitions ??= id
      else note ??= id
    }
    const victim = repetitions ?? note
    if (victim === undefined) return false
    this.#onDrop('memory', unwritten(this.#series.get(victim)!))
    this.#put(victim, undefined)
    return true
  }

  #isDenied(verb: Write['kind'], namespace: string, nowMs: number): boolean {
    return nowMs < (this.#denied.get(`${verb} ${namespace}`) ?? -Infinity)
  }

  #drop(cause: DropCause): 'dropped' {
    this.#onDrop(cause, 1)
    return 'dropped'
  }
}

/** Rounds up, so that one sweep handles many series that are due one after the other. */
function sweepTime(ms: number): number {
  return Math.ceil(ms / SWEEP_MS) * SWEEP_MS
}

interface TopicState {
  readonly bucket: TokenBucket
  /** Whether the last request was rejected. */
  exhausted: boolean
}

interface SpamFilterOptions {
  /** The size of each bucket. */
  readonly burst: number
  /** The time until a token is added. */
  readonly refillMs: number
  readonly max: number
}

/** `exhausted`: the first rejected request after an accepted one. */
type Admission = 'passes' | 'exhausted' | 'rejected'

/** Limits the different Events of a topic: one token bucket per topic, the least recently used are forgotten. */
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
