/**
 * The state of a work queue, without I/O and without a clock. It guarantees:
 *
 * - deduplication: a waiting key is in the queue once, no matter how often it is added;
 * - exclusion: a key in work is not handed out; if it was added meanwhile, it is handed out once more when it is done;
 * - priority: higher priorities leave first; within a priority, first in, first out. A key that is added again keeps
 *   its higher priority; a key whose priority is raised goes behind the keys that already have that priority;
 * - fairness: no key waits for ever behind keys of higher priority, see {@link Aging};
 * - delayed keys become due in the order of their times; from then on their priority counts.
 */
import { DelayedKeys } from './delayed_keys.ts'
import {
  AGAIN,
  append,
  KeyTable,
  NONE,
  PriorityOrder,
  type SlotList,
  slotList,
  unlink,
  WAITING,
  WORKING,
} from './priority_order.ts'

/**
 * Prevents starvation: a stream of urgent keys cannot block the others, and a backlog cannot block urgent keys. When
 * the oldest waiting key, of all priorities, has waited for `patienceMs`, it gets every `every`-th hand-out.
 *
 * - A key that has waited for `patienceMs` is handed out at the latest with the `(m + 1) * every`-th hand-out from then
 *   on, if m older keys still wait. Later keys never delay it, whatever their priority.
 * - A key with h keys before it by priority is handed out at the latest with the
 *   `h + 1 + ceil((h + 1) / (every - 1))`-th hand-out, no matter how many keys have waited for `patienceMs`.
 *
 * The waiting time starts when the key could be handed out: its delay is over, and it is not in work.
 */
export interface Aging {
  /**
   * Until a key has waited this long, the order by priority is strict. In a queue without metrics, keys that are added
   * within eight hand-outs may count as added with the first of them. Default: 1000. Infinity: the order is always
   * strict.
   */
  readonly patienceMs?: number
  /** An integer, at least 2. Default: 8. */
  readonly every?: number
}

/** A key in work. */
export interface Turn {
  /** The priority with which it was handed out. */
  readonly priority: number
  readonly takenMs: number
}

export class QueueState<K> {
  readonly #delayed = new DelayedKeys<K>()
  #table: KeyTable<K> = new KeyTable<K>()
  /** The waiting keys. */
  #order: PriorityOrder = new PriorityOrder(this.#table)
  /** The keys in work: handed out, and not done. */
  readonly #working: SlotList = slotList()
  readonly #patienceMs: number
  readonly #every: number
  /** Hand-outs by priority since the last hand-out by age, counted up to `every - 1`. */
  #byPriority = 0

  /** @throws RangeError if `aging` is invalid. */
  constructor({ patienceMs = 1000, every = 8 }: Aging = {}) {
    if (!(patienceMs >= 0)) {
      throw new RangeError(`Cannot make a queue: aging.patienceMs is ${patienceMs}, and must be 0 or more`)
    }
    if (!Number.isInteger(every) || every < 2) {
      throw new RangeError(`Cannot make a queue: aging.every is ${every}, and must be an integer, 2 or more`)
    }
    this.#patienceMs = patienceMs
    this.#every = every
  }

  /** The number of waiting keys, without delayed keys and keys in work. */
  get length(): number {
    return this.#order.size
  }

  get processing(): number {
    return this.#working.size
  }

  get delayed(): number {
    return this.#delayed.size
  }

  /** The number of keys that fit without growing. It shrinks when the queue becomes idle. */
  get capacity(): number {
    return this.#table.capacity
  }

  /** Whether no key waits or is in work; delayed keys do not count. */
  get idle(): boolean {
    return this.#table.size === 0
  }

  /** Whether the next {@link take} depends on the time. */
  get needsTime(): boolean {
    return this.#byPriority >= this.#every - 1 && this.#order.oldest !== this.#order.first
  }

  /** Adds a key. Returns whether that makes a new turn; false if the key joins a turn that is already waiting. */
  add(key: K, priority: number, nowMs: number): boolean {
    const table = this.#table
    const known = table.slotOf(key)
    if (known !== undefined && table.status[known] !== WORKING) {
      if (priority <= table.priority[known]!) return false
      if (table.status[known] === WAITING) this.#order.raise(known, priority)
      else table.priority[known] = priority
      return false
    }
    const slot = known ?? table.add(key)
    table.priority[slot] = priority
    table.addedMs[slot] = nowMs
    table.status[slot] = known === undefined ? WAITING : AGAIN
    if (known === undefined) this.#order.enter(slot)
    return true
  }

  /**
   * Adds a key at a later time. `retry`: a rate limiter chose the time. An immediate add does not cancel the delayed
   * one: both happen, as in client-go.
   */
  addAt(key: K, dueMs: number, priority: number, retry: boolean): void {
    this.#delayed.add(key, dueMs, priority, retry)
  }

  /** Cancels the retry of a key; other delays stay. Returns whether there was one. */
  cancelRetry(key: K): boolean {
    return this.#delayed.size > 0 && this.#delayed.cancelRetry(key)
  }

  /** Yields the keys that wait, that are in work, and that are delayed; some of them twice. */
  *keys(): Generator<K> {
    yield* this.#table.keys()
    yield* this.#delayed.keys()
  }

  /** Removes the turn to come and the delayed adds of a key. A key in work stays in work. */
  remove(key: K): void {
    this.#delayed.remove(key)
    const table = this.#table
    const slot = table.slotOf(key)
    if (slot === undefined || table.status[slot] === WORKING) return
    if (table.status[slot] === AGAIN) {
      table.status[slot] = WORKING
      return
    }
    this.#order.leave(slot)
    this.#delete(slot)
  }

  /** Returns when a waiting retry of the key is due; undefined if there is none. */
  retryDueMs(key: K): number | undefined {
    return this.#delayed.size > 0 ? this.#delayed.retryDueMs(key) : undefined
  }

  /** Adds the delayed keys that are due, at most `max` of them. Returns the number of new turns. */
  promote(nowMs: number, max: number = Infinity): number {
    let turns = 0
    for (let count = 0; count < max; count++) {
      const due = this.#delayed.takeDue(nowMs)
      if (!due) break
      if (this.add(due.key, due.priority, nowMs)) turns++
    }
    return turns
  }

  /** Returns when the next delayed key is due. */
  nextDueMs(): number | undefined {
    return this.#delayed.nextDueMs()
  }

  /** Returns the key that {@link take} would hand out, and when its turn was added. */
  peek(nowMs: number): { readonly key: K; readonly addedMs: number } | undefined {
    const slot = this.#next(nowMs)
    return slot === NONE ? undefined : { key: this.#table.keyOf(slot), addedMs: this.#table.addedMs[slot]! }
  }

  /** Hands out the next key, which is in work until {@link done}. `nowMs` matters only if {@link needsTime} is true. */
  take(nowMs: number): K | undefined {
    const table = this.#table
    const slot = this.#next(nowMs)
    if (slot === NONE) return undefined
    if (slot !== this.#order.first) this.#byPriority = 0
    else if (this.#byPriority < this.#every - 1) this.#byPriority++
    this.#order.leave(slot)
    table.status[slot] = WORKING
    table.turnPriority[slot] = table.priority[slot]!
    table.takenMs[slot] = nowMs
    append(table.byAge, this.#working, slot)
    return table.keyOf(slot)
  }

  /** Ends the work on a key. If it was added meanwhile, it waits again. Does nothing for a key that is not in work. */
  done(key: K): void {
    const table = this.#table
    const slot = table.slotOf(key)
    if (slot === undefined || table.status[slot] === WAITING) return
    unlink(table.byAge, this.#working, slot)
    if (table.status[slot] === AGAIN) {
      table.status[slot] = WAITING
      this.#order.enter(slot)
      return
    }
    this.#delete(slot)
  }

  turnOf(key: K): Turn | undefined {
    const slot = this.#table.slotOf(key)
    return slot === undefined || this.#table.status[slot] === WAITING ? undefined : this.#turn(slot)
  }

  /** Yields the turns of the keys in work, the oldest first. */
  *turns(): Generator<Turn> {
    for (const slot of this.#workingSlots()) yield this.#turn(slot)
  }

  /** Returns the turns to come by priority: waiting keys, and keys in work that were added meanwhile. */
  depths(): Map<number, number> {
    const depths = new Map(this.#order.depths())
    for (const slot of this.#workingSlots()) {
      const priority = this.#table.priority[slot]!
      if (this.#table.status[slot] === AGAIN) depths.set(priority, (depths.get(priority) ?? 0) + 1)
    }
    return depths
  }

  /** Drops the delayed keys, for the shutdown. */
  dropDelayed(): void {
    this.#delayed.clear()
  }

  #next(nowMs: number): number {
    const { oldest, first } = this.#order
    if (oldest === first || this.#byPriority < this.#every - 1) return first
    return nowMs - this.#table.addedMs[oldest]! >= this.#patienceMs ? oldest : first
  }

  #turn(slot: number): Turn {
    return { priority: this.#table.turnPriority[slot]!, takenMs: this.#table.takenMs[slot]! }
  }

  *#workingSlots(): Generator<number> {
    for (let slot = this.#working.head; slot !== NONE; slot = this.#table.byAge.after[slot]!) yield slot
  }

  #delete(slot: number): void {
    this.#table.delete(slot)
    // Frees the memory of a burst.
    if (this.#table.size > 0 || !this.#table.large) return
    this.#table = new KeyTable()
    this.#order = new PriorityOrder(this.#table)
  }
}
