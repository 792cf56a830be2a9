/**
 * From changes to keys, by a function that may take its time, fail, or never answer. Changes are mapped in their order. One whose
 * mapping fails steps aside, and is tried again with back-off until it works; later changes of the same object wait behind it,
 * those of others go on.
 */
import { messageOf } from '../core/errors.ts'
import { formatMs } from '../core/duration.ts'
import { formatKey, keyOf, type KubeObject, type ObjectKey } from '../core/objects.ts'
import { type Clock, nextTurn, turnBudgetOf } from '../async/clock.ts'
import { type Log, safeLog } from '../observe/log.ts'
import { exponentialLimiter } from '../queue/rate_limiter.ts'
import { WorkQueue } from '../queue/work_queue.ts'
import type { Delta } from '../cache/store.ts'
import { boundedCall, type CallLimits, isThenable } from './bounded_call.ts'
import { type KeyMapper, ownKey } from './handlers.ts'
import { FailedEvents } from './failed_events.ts'
import { LOW_PRIORITY } from './source.ts'
import { andMore, RateLimitedLog } from '../observe/rate_limited_log.ts'

export interface EventMapperOptions {
  readonly map: KeyMapper
  /** Hears of the keys of each change, each key once. */
  readonly tell: (keys: Iterable<string>, delta: Delta, priority: number) => void
  readonly clock: Clock
  readonly log: Log
  /** Ends all mapping. */
  readonly signal: AbortSignal
}

const BACKOFF = { baseMs: 100, maxMs: 30_000 } as const
/** A map function that has not answered after a minute is treated like one that failed. */
const MAX_MAP_MS = 60_000
/** How many are named where it is said what is missing. */
const MAX_NAMED = 3

type Keys = readonly string[]
type Answer = Keys | Promise<Keys>

/** States that could not be mapped, and why the last of them could not. */
interface Tried {
  readonly failed: readonly KubeObject[]
  readonly error: unknown
}

export class EventMapper {
  readonly #options: EventMapperOptions
  readonly #limits: CallLimits
  /** Changes that are being mapped or wait for it, in order: keys must not overtake one another. */
  #lane: Promise<void> = Promise.resolve()
  #inLane = 0
  readonly #parked = new FailedEvents()
  /** When which parked object is tried again. */
  readonly #retries: WorkQueue<string>
  readonly #sparse: RateLimitedLog
  /** Those who wait until nothing is parked. */
  #onEmpty: (() => void)[] = []

  constructor(options: EventMapperOptions) {
    this.#options = { ...options, log: safeLog(options.log) }
    this.#limits = { what: 'The map function', maxMs: MAX_MAP_MS, clock: options.clock, signal: options.signal }
    this.#retries = new WorkQueue({ clock: options.clock, limiter: exponentialLimiter(BACKOFF) })
    this.#sparse = new RateLimitedLog(options.clock)
  }

  /** Whether no change is being mapped or waits for its turn; those that wait for their next try do not count, as in a queue. */
  get idle(): boolean {
    return this.#inLane === 0 && this.#retries.idle
  }

  /** What has stepped aside, and why. */
  get failures(): readonly string[] {
    const named: string[] = []
    for (const { delta, why } of this.#parked.values()) {
      if (named.length === MAX_NAMED) return [...named, `the keys of ${this.#parked.size - MAX_NAMED} more objects`]
      named.push(`the keys of ${nameOf(delta.object)} (${why})`)
    }
    return named
  }

  /** At once and in place, where nothing waits and the function answers at once. */
  take(delta: Delta): void {
    // An object's own name is known, and never another: it waits for nothing.
    if (this.#options.map === ownKey && this.#tell([nameKey(delta)], delta)) return
    const waits = this.#inLane > 0 || (this.#parked.size > 0 && this.#parked.get(nameKey(delta)) !== undefined)
    const first = waits ? [] : [this.#call(delta.object, delta)]
    // An update may have moved the object from one owner to another: both want to know.
    if (!waits && delta.kind === 'updated') first.push(this.#call(delta.old, delta))
    const [now, before] = first
    if (now && !(now instanceof Promise) && !(before instanceof Promise)) {
      const keys = before ? [...now, ...before] : now
      if (this.#tell(keys.length > 1 ? new Set(keys) : keys, delta)) return
    }
    this.#inLane++
    this.#lane = this.#lane.then(() => this.#mapInTurn(delta, first)).finally(() => this.#inLane--)
  }

  /** Whether the keys were taken; a sink that throws is asked again in turn, as a map function that throws is. */
  #tell(keys: Iterable<string>, delta: Delta): boolean {
    try {
      this.#options.tell(keys, delta, priorityOf(delta))
      return true
    } catch {
      return false
    }
  }

  /** Settles when everything taken so far was told, or has stepped aside. */
  get tried(): Promise<void> {
    return this.#lane
  }

  /** Tries again what has stepped aside, until the signal is aborted. */
  async retry(): Promise<void> {
    const { signal } = this.#options
    try {
      while (!signal.aborted) {
        const key = await this.#retries.get(signal)
        if (key === undefined) return
        await this.#mapParked(key)
        await nextTurn()
      }
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      await this.#retries.shutDown()
      this.#tellIfEmpty()
    }
  }

  /** Settles when everything taken so far was told, also what has stepped aside; or when the signal was aborted. */
  async drained(): Promise<void> {
    await this.#lane
    if (this.#parked.size > 0 && !this.#options.signal.aborted) {
      await new Promise<void>((resolve) => void this.#onEmpty.push(resolve))
    }
  }

  async #mapInTurn(delta: Delta, first: readonly Answer[]): Promise<void> {
    const budget = turnBudgetOf(this.#options.clock)
    // A lane of answers that are there already goes on without a turn of the event loop.
    if (budget.isSpent) await budget.turn()
    if (this.#options.signal.aborted) return
    const key = nameKey(delta)
    const states = delta.kind === 'updated' ? [delta.object, delta.old] : [delta.object]
    if (this.#parked.get(key)) return this.#park(key, delta, states, '')
    const { failed, error } = await this.#mapAll(delta, states, priorityOf(delta), first)
    if (failed.length === 0 || this.#options.signal.aborted) return
    this.#park(key, delta, failed, messageOf(error))
    this.#logFailure(delta, error, this.#retries.retry(key), 1)
  }

  /** Tells the keys of those states that can be mapped, and answers with those that cannot. */
  async #mapAll(
    delta: Delta,
    states: readonly KubeObject[],
    priority: number,
    first: readonly Answer[],
  ): Promise<Tried> {
    const keys = new Set<string>()
    const failed: KubeObject[] = []
    let error: unknown
    for (const [i, state] of states.entries()) {
      try {
        for (const key of await (first[i] ?? this.#call(state, delta))) keys.add(key)
      } catch (thrown) {
        failed.push(state)
        error = thrown
      }
    }
    try {
      if (keys.size > 0 && !this.#options.signal.aborted) this.#options.tell(keys, delta, priority)
    } catch (thrown) {
      return { failed: states, error: thrown }
    }
    return { failed, error }
  }

  async #mapParked(key: string): Promise<void> {
    const parked = this.#parked.get(key)
    if (parked) {
      const { failed, error } = await this.#mapAll(parked.delta, parked.states, parked.priority, [])
      if (this.#options.signal.aborted) return
      this.#parked.mapped(
        key,
        parked.states.filter((state) => !failed.includes(state)),
        failed.length > 0 ? messageOf(error) : '',
      )
      if (failed.length > 0) {
        this.#logFailure(parked.delta, error, this.#retries.retry(key), this.#retries.failures(key))
      } // A change that came while it was tried, and waited behind it.
      else if (this.#parked.get(key)) this.#retries.add(key)
    }
    if (!this.#parked.get(key)) this.#retries.forget(key)
    this.#retries.done(key)
    this.#tellIfEmpty()
  }

  #park(key: string, delta: Delta, states: readonly KubeObject[], why: string): void {
    const givenUp = this.#parked.add(key, { states, delta, priority: priorityOf(delta), why })
    if (!givenUp) return
    const what = `Too many deleted objects wait for their map function: ${
      nameOf(givenUp.delta.object)
    } is given up (${givenUp.why})`
    this.#sparse.line((left) => this.#options.log.error(`${what}${andMore(left)}`))
  }

  /** Once at first, then ever more rarely, and not for every object when all fail. */
  #logFailure({ object }: Delta, error: unknown, waitMs: number, attempt: number): void {
    if ((attempt & (attempt - 1)) !== 0) return
    const text = `Cannot map ${nameOf(object)} to keys: ${messageOf(error)} (retry ${attempt} in ${formatMs(waitMs)})`
    this.#sparse.line((left) => this.#options.log.error(`${text}${andMore(left)}`, { attempt, waitMs, error }))
  }

  #tellIfEmpty(): void {
    if (this.#parked.size === 0 || this.#options.signal.aborted) {
      for (const resolve of this.#onEmpty.splice(0)) resolve()
    }
  }

  /** Whatever goes wrong is a rejection, so that it is dealt with in its turn. A generator may fail while it is read. */
  #call(object: KubeObject, event: Delta): Answer {
    return boundedCall((call) => {
      const keys = this.#options.map(object, call, event)
      return isThenable(keys) ? Promise.resolve(keys).then(formatAll) : formatAll(keys)
    }, this.#limits)
  }
}

/** The first list and updates without news can wait. */
function priorityOf(delta: Delta): number {
  if (delta.kind === 'added') return delta.initial ? LOW_PRIORITY : 0
  return delta.kind === 'updated' && delta.object.metadata.resourceVersion === delta.old.metadata.resourceVersion
    ? LOW_PRIORITY
    : 0
}

function formatAll(keys: Iterable<ObjectKey>): Keys {
  // Not Array.from, which takes one key instead of a list for an empty list.
  return [...keys].map((key) => formatKey(keyOf(key)))
}

function nameKey({ object }: Delta): string {
  return formatKey(keyOf(object))
}

function nameOf(object: KubeObject): string {
  return `${object.kind} "${formatKey(keyOf(object))}"`
}
