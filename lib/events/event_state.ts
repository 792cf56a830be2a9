/**
 * What an event recorder knows, without a clock and without sending. It promises:
 *
 * - equal occurrences are one Event with a count, and its note is never another's;
 * - each occurrence is in a count that is written or waits to be, or was reported as dropped: nothing disappears. A count that was
 *   refused may be made up for by a later one;
 * - an Event has one write under way at most, and those that wait are written in the order in which they came to wait;
 * - bounded: see {@link EventLimits}. To make room, an Event goes of which the server knows all, the longest silent first; if
 *   there is none, repetitions are dropped before notes are.
 */
import { BoundedMap } from '../async/bounded_map.ts'
import { type EventBody, identityOf, namespaceOf, type Occurrence, topicOf } from './event.ts'
import { SpamFilter } from './spam_filter.ts'
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
  /** How many Events are remembered to count their repetitions. Default: 4096, as in client-go. */
  readonly series: number
  /** How many Events may wait to be created. Default: 1000, as in client-go. */
  readonly queue: number
  /** How many different Events there may be at once about one object for one reason. Default: 25, as client-go's spam filter. */
  readonly burst: number
  /** How long until one more may be. Default: 5 minutes, as client-go's spam filter. */
  readonly refillMs: number
}

export const DEFAULT_LIMITS: EventLimits = { series: 4096, queue: 1000, burst: 25, refillMs: 5 * 60_000 }

/**
 * Why occurrences were dropped: too many different ones about an object, too many waiting to be created, too many to remember,
 * refused as they were, forbidden, tried in vain, or still there when the recorder's time was over.
 */
export type DropCause = 'rate' | 'queue' | 'memory' | 'refused' | 'forbidden' | 'failed' | 'stopped'

export const DROP_CAUSES: readonly DropCause[] = [
  'rate',
  'queue',
  'memory',
  'refused',
  'forbidden',
  'failed',
  'stopped',
]

/** What became of an occurrence. `exhausted`: the first one that the allowance of its object turned away. */
export type Recorded = 'new' | 'repeated' | 'exhausted' | 'dropped'

/** A write that is under way until {@link EventState.settle}. */
export interface Job {
  readonly id: string
  readonly write: Write
  readonly event: EventBody
}

/** A missing right may be given later. */
export const DENIED_MS: number = 5 * 60_000
const MAX_DENIALS = 1024

/** Waiting counts are looked through at most so often. */
const SWEEP_MS = 1000

export class EventState {
  readonly #limits: EventLimits
  readonly #onDrop: (cause: DropCause, count: number) => void
  readonly #allowances: SpamFilter
  /** The longest silent first. */
  readonly #series = new Map<string, Series>()
  /** What is to be written, in that order; none of it is being sent. */
  readonly #ready = new Set<string>()
  readonly #sending = new Set<string>()
  /** Until when nobody asks again for a right that is missing, by verb and namespace. */
  readonly #denied = new BoundedMap<string, number>(MAX_DENIALS)
  /** How many series the server does not have. */
  #missing = 0
  #sweepMs = Infinity
  #flushed = false

  constructor(limits: EventLimits, onDrop: (cause: DropCause, count: number) => void) {
    this.#limits = limits
    this.#onDrop = onDrop
    this.#allowances = new SpamFilter({ burst: limits.burst, refillMs: limits.refillMs, max: limits.series })
  }

  /** How many Events and how many allowances are remembered. */
  get size(): { readonly series: number; readonly allowances: number } {
    return { series: this.#series.size, allowances: this.#allowances.size }
  }

  /** Whether nothing is ready to be written, and nothing is being. */
  get idle(): boolean {
    return this.#ready.size === 0 && this.#sending.size === 0
  }

  /** When {@link sweep} may have something to do, by the monotonic clock. */
  get sweepMs(): number {
    return this.#sweepMs
  }

  /** Takes an occurrence. `make` is called for one that becomes a new Event. */
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
    const admission = this.#allowances.take(topicOf(what), now.monotonicMs)
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

  /** The next write, if one may be sent now. It is under way until it is settled. */
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

  /** Takes the answer to a write; returns how many occurrences are lost by it. */
  settle({ id, write }: Job, answer: Answer, cause: DropCause, nowMs: number): number {
    this.#sending.delete(id)
    const series = this.#series.get(id)
    return series ? this.#answer(id, series, write, answer, cause, nowMs) : 0
  }

  /** Drops what needs this right in this namespace without a request, for five minutes. */
  deny(verb: Write['kind'], namespace: string, nowMs: number): void {
    this.#denied.set(`${verb} ${namespace}`, nowMs + DENIED_MS)
  }

  /** Readies the counts that are due, and forgets what has finished. */
  sweep(nowMs: number): void {
    if (nowMs < this.#sweepMs) return
    this.#sweepMs = Infinity
    for (const [id, series] of this.#series) {
      if (isFinished(series, nowMs)) this.#put(id, undefined)
      else this.#schedule(id, nowMs)
    }
  }

  /** From now on, counts do not wait until they are due. */
  flush(nowMs: number): void {
    this.#flushed = true
    for (const id of this.#series.keys()) this.#schedule(id, nowMs)
  }

  /** Forgets everything; what was not written is dropped. Nothing may be under way. */
  abandon(): void {
    let left = 0
    for (const series of this.#series.values()) left += unwritten(series)
    if (left > 0) this.#onDrop('stopped', left)
    this.#series.clear()
    this.#ready.clear()
    this.#missing = 0
    this.#sweepMs = Infinity
  }

  /** Sees to it that a series is written, or looked at again, when its time has come. */
  #schedule(id: string, nowMs: number): void {
    const series = this.#series.get(id)!
    if (this.#sending.has(id) || this.#ready.has(id)) return
    const waits = unwritten(series) > 0
    if (waits && (series.dueMs <= nowMs || this.#flushed)) this.#ready.add(id)
    else this.#sweepMs = Math.min(this.#sweepMs, toSweep(waits ? series.dueMs : series.heardMs + FINISH_MS))
  }

  #answer(id: string, series: Series, write: Write, answer: Answer, cause: DropCause, nowMs: number): number {
    const { series: left, lost } = step(series, write, answer, nowMs)
    this.#put(id, left)
    if (left) this.#schedule(id, nowMs)
    // Tried in vain for too long: the server never refused it.
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

/** Many that are due one after the other are looked through together. */
function toSweep(ms: number): number {
  return Math.ceil(ms / SWEEP_MS) * SWEEP_MS
}
