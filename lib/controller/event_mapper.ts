/**
 * Maps events to keys with a function that may be slow, fail, or never settle.
 *
 * Events are mapped in order; updates of one object that wait for their turn are joined. An event whose mapping fails
 * is parked and retried with back-off: later events of the same object wait for it, those of other objects do not.
 */
import { messageOf } from '../core/errors.ts'
import { formatMs } from '../core/duration.ts'
import { formatKey, keyOf, type KubeObject, type Named, type ObjectKey } from '../core/objects.ts'
import { nextTurn, turnBudgetOf } from '../async/clock.ts'
import type { PartEnvironment } from '../observe/environment.ts'
import { RateLimitedLog } from '../observe/log.ts'
import { exponentialLimiter } from '../queue/rate_limiter.ts'
import { WorkQueue } from '../queue/work_queue.ts'
import type { Delta } from '../cache/store.ts'
import { boundedCall, type CallLimits, isThenable } from './bounded_call.ts'
import { type KeyMapper, ownKey } from './handlers.ts'
import { FailedEvents, joinStates } from './failed_events.ts'
import { LOW_PRIORITY, type SourceFailure } from './source.ts'

export interface EventMapperOptions extends PartEnvironment {
  readonly map: KeyMapper
  /** Returns what queues a key of an event: called for events that have keys, and then once with each key. */
  readonly adderOf: (delta: Delta, priority: number) => (key: string) => void
  /** Stops all mapping. */
  readonly signal: AbortSignal
}

const BACKOFF = { baseMs: 100, maxMs: 30_000 } as const
/** A map function that has not settled after a minute counts as failed. */
const MAX_MAP_MS = 60_000
/** The maximum number of objects named in {@link EventMapper.failures}. */
const MAX_NAMED = 3
/** More keys of an event are queued in the lane, in turns of the event loop: all objects of a kind can be 100,000. */
const MAX_AT_ONCE = 1000
/** A look at the clock takes longer than a key. */
const KEYS_A_LOOK = 100

type Keys = Iterable<string> & { readonly length: number }
type Answer = Keys | Promise<Keys>

/** An event in the lane, or several joined ones. */
interface Turn {
  delta: Delta
  states: readonly KubeObject[]
}

/** States whose mapping failed, and the last error. */
interface Unmapped {
  readonly failed: readonly KubeObject[]
  readonly error: unknown
}

export class EventMapper {
  readonly #options: EventMapperOptions
  readonly #limits: CallLimits
  /**
   * What is being mapped, and what waits for it: keys must not overtake each other. Not a chain of promises: each error
   * would walk all of it for its stack, which takes minutes if the keys of 50,000 objects cannot be mapped.
   */
  readonly #lane = new Set<() => Promise<void> | void>()
  /** The last event of each object that waits for its turn. */
  readonly #waiting = new Map<string, Turn>()
  readonly #parked = new FailedEvents()
  /** Retries of parked objects. */
  readonly #retries: WorkQueue<string>
  readonly #limitedLog: RateLimitedLog
  /** Callers of {@link drained} that wait until no event is parked. */
  #onEmpty: (() => void)[] = []

  constructor(options: EventMapperOptions) {
    this.#options = options
    this.#limits = { what: 'The map function', maxMs: MAX_MAP_MS, clock: options.clock, signal: options.signal }
    this.#retries = new WorkQueue({ clock: options.clock, limiter: exponentialLimiter(BACKOFF) })
    this.#limitedLog = new RateLimitedLog(options.clock, options.log)
  }

  /**
   * Whether no event is being mapped or waits for its turn. As in a queue, events that wait for a retry do not count.
   */
  get idle(): boolean {
    return this.#lane.size === 0 && this.#retries.idle
  }

  /** The parked objects, each with its error. */
  get failures(): readonly string[] {
    const named: string[] = []
    for (const { delta, why } of this.#parked.values()) {
      if (named.length === MAX_NAMED) return [...named, `the keys of ${this.#parked.size - MAX_NAMED} more objects`]
      named.push(`the keys of ${nameOf(delta.object)} (${why})`)
    }
    return named
  }

  /** The parked objects, which are mapped again, and their last errors. */
  get failing(): readonly SourceFailure[] {
    return Array.from(this.#parked.values(), ({ delta: { object }, error }) => ({ object, error }))
  }

  /** Maps an event. Does so synchronously if no event waits and the function is synchronous. */
  take(delta: Delta): void {
    // An object's own key never changes, so it does not need to wait.
    if (this.#options.map === ownKey && this.#report([eventKey(delta)], delta)) return
    const waits = this.#lane.size > 0 || (this.#parked.size > 0 && this.#parked.get(eventKey(delta)) !== undefined)
    const first = waits ? [] : [this.#call(delta.object, delta)]
    // An update may move the object from one owner to another: both are reconciled.
    if (!waits && delta.kind === 'updated') first.push(this.#call(delta.old, delta))
    const [now, before] = first
    if (now && !(now instanceof Promise) && !(before instanceof Promise)) {
      const length = now.length + (before?.length ?? 0)
      const keys = before ? [...now, ...before] : now
      if (length <= MAX_AT_ONCE && this.#report(length > 1 ? new Set(keys) : keys, delta)) return
    }
    const states = delta.kind === 'updated' ? [delta.object, delta.old] : [delta.object]
    const turn: Turn = { delta, states }
    if (waits) {
      const last = this.#waiting.get(eventKey(delta))
      if (last && join(last, turn)) return
      this.#waiting.set(eventKey(delta), turn)
    }
    this.#enter(() => this.#mapInTurn(turn, first))
  }

  #enter(step: () => Promise<void> | void): void {
    this.#lane.add(step)
    if (this.#lane.size === 1) void this.#mapLane()
  }

  async #mapLane(): Promise<void> {
    for (const step of this.#lane) {
      await step()
      this.#lane.delete(step)
    }
  }

  /** Returns whether the keys were queued. If the sink throws, the event is mapped again in its turn. */
  #report(keys: Iterable<string>, delta: Delta): boolean {
    try {
      let add: ((key: string) => void) | undefined
      for (const key of keys) (add ??= this.#options.adderOf(delta, priorityOf(delta)))(key)
      return true
    } catch {
      return false
    }
  }

  /** Resolves when the keys of all events so far are queued, or the events are parked. */
  get tried(): Promise<void> {
    return new Promise((resolve) => this.#lane.size > 0 ? this.#enter(resolve) : resolve())
  }

  /** Retries parked events until the signal is aborted. */
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
      this.#notifyIfEmpty()
    }
  }

  /** Resolves when the keys of all events so far are queued, parked ones included, or the signal is aborted. */
  async drained(): Promise<void> {
    await this.tried
    if (this.#parked.size > 0 && !this.#options.signal.aborted) {
      await new Promise<void>((resolve) => void this.#onEmpty.push(resolve))
    }
  }

  async #mapInTurn(turn: Turn, first: readonly Answer[]): Promise<void> {
    const budget = turnBudgetOf(this.#options.clock)
    // Without this, a lane of settled results would block the event loop.
    if (budget.isSpent) await budget.turn()
    if (this.#options.signal.aborted) return
    const { delta, states } = turn
    const key = eventKey(delta)
    if (this.#waiting.get(key) === turn) this.#waiting.delete(key)
    if (this.#parked.get(key)) return this.#park(key, delta, states, '', undefined)
    const { failed, error } = await this.#mapAll(delta, states, priorityOf(delta), first)
    if (failed.length === 0 || this.#options.signal.aborted) return
    this.#park(key, delta, failed, messageOf(error), error)
    this.#logFailure(delta, error, this.#retries.retry(key), 1)
  }

  /** Queues the keys of the states that can be mapped. Resolves to the states that cannot. */
  async #mapAll(
    delta: Delta,
    states: readonly KubeObject[],
    priority: number,
    first: readonly Answer[],
  ): Promise<Unmapped> {
    const { adderOf, clock, signal } = this.#options
    const budget = turnBudgetOf(clock)
    const added = new Set<string>()
    const failed: KubeObject[] = []
    let add: ((key: string) => void) | undefined
    let error: unknown
    for (const [i, state] of states.entries()) {
      try {
        for (const key of await (first[i] ?? this.#call(state, delta))) {
          if (signal.aborted) break
          if (added.has(key)) continue
          add ??= adderOf(delta, priority)
          add(key)
          added.add(key)
          if (added.size % KEYS_A_LOOK === 0 && budget.isSpent) await budget.turn()
        }
      } catch (thrown) {
        failed.push(state)
        error = thrown
      }
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
        parked,
        parked.states.filter((state) => !failed.includes(state)),
        failed.length > 0 ? messageOf(error) : '',
        error,
      )
      if (failed.length > 0) {
        this.#logFailure(parked.delta, error, this.#retries.retry(key), this.#retries.failures(key))
      } else if (this.#parked.get(key)) {
        // An event arrived during the try, and waits behind it.
        this.#retries.add(key)
      }
    }
    if (!this.#parked.get(key)) this.#retries.forget(key)
    this.#retries.done(key)
    this.#notifyIfEmpty()
  }

  #park(key: string, delta: Delta, states: readonly KubeObject[], why: string, error: unknown): void {
    const dropped = this.#parked.add(key, { states, delta, priority: priorityOf(delta), why, error })
    if (!dropped) return
    const what = `Too many deleted objects wait for a retry of their map function: ${
      nameOf(dropped.delta.object)
    } is dropped (${dropped.why})`
    this.#limitedLog.error(what)
  }

  /** Logs failures 1, 2, 4, 8, … of an object, at a limited rate for all objects. */
  #logFailure({ object }: Delta, error: unknown, waitMs: number, attempt: number): void {
    if ((attempt & (attempt - 1)) !== 0) return
    const text = `Cannot map ${nameOf(object)} to keys: ${messageOf(error)} (retry ${attempt} in ${formatMs(waitMs)})`
    this.#limitedLog.error(text, { attempt, waitMs, error })
  }

  #notifyIfEmpty(): void {
    if (this.#parked.size === 0 || this.#options.signal.aborted) {
      for (const resolve of this.#onEmpty.splice(0)) resolve()
    }
  }

  /**
   * Returns the keys of a state. Each error, also of a generator, is a rejection that is handled in the event's turn.
   */
  #call(object: KubeObject, event: Delta): Answer {
    return boundedCall((call) => {
      const keys = this.#options.map(object, call, event)
      return isThenable(keys) ? Promise.resolve(keys).then(formatAll) : formatAll(keys)
    }, this.#limits)
  }
}

/** Returns a low priority for objects of the first list and for updates that change nothing. */
function priorityOf(delta: Delta): number {
  if (delta.kind === 'added') return delta.initial ? LOW_PRIORITY : 0
  return delta.kind === 'updated' && delta.object.metadata.resourceVersion === delta.old.metadata.resourceVersion
    ? LOW_PRIORITY
    : 0
}

/** Adds an update to one that waits. Other events stay apart, as a map function may look at their kind. */
function join(waiting: Turn, { delta, states }: Turn): boolean {
  if (waiting.delta.kind !== 'updated' || delta.kind !== 'updated') return false
  waiting.delta = { ...delta, old: waiting.delta.old }
  waiting.states = joinStates(states, waiting.states)
  return true
}

function formatAll(keys: Iterable<Named<ObjectKey>>): Keys {
  // Not Array.from: it takes a single key for an empty list.
  const all = [...keys]
  if (all.length <= MAX_AT_ONCE) return all.map((key) => formatKey(keyOf(key)))
  return {
    length: all.length,
    *[Symbol.iterator]() {
      for (const key of all) yield formatKey(keyOf(key))
    },
  }
}

function eventKey({ object }: Delta): string {
  return formatKey(keyOf(object))
}

function nameOf(object: KubeObject): string {
  return `${object.kind} "${formatKey(keyOf(object))}"`
}
