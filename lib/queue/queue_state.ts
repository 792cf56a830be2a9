/**
 * What a work queue knows, without a clock and without waiting. It promises:
 *
 * - stingy: a key that waits is in the queue once, however often it is added;
 * - exclusive: a key that is being worked on is not handed out; if it was added meanwhile, once more when it is done;
 * - urgent first: higher priorities leave first, and within one the keys in the order in which they came. A key that is
 *   added again keeps the higher priority, and goes behind those that have it already when it is raised;
 * - fair: no key waits for ever behind more urgent ones, see {@link Aging};
 * - delayed keys become due in the order of their times, and from then on their priority counts.
 */
import { DelayedKeys } from './delayed_keys.ts'
import { PriorityOrder } from './priority_order.ts'
import { AGAIN, KeyTable, WAITING, WORKING } from './key_table.ts'
import { append, NONE, type SlotList, slotList, unlink } from './slot_list.ts'

/**
 * What keeps a stream of urgent keys from starving the others, and a backlog from delaying the urgent ones: once the key
 * that waits longest, of all priorities, has waited for `patienceMs`, it gets every `every`-th hand-out.
 *
 * - A key that has waited for `patienceMs` is handed out at the latest with the `(m + 1) * every`-th hand-out from then
 *   on, where m keys came before it and wait still. Keys that come later never delay it, whatever their priority.
 * - A key with h keys to go before it by priority is handed out at the latest with the
 *   `h + 1 + ceil((h + 1) / (every - 1))`-th hand-out, however many keys have waited too long.
 *
 * A key waits from when it could be handed out: its delay is over, and it is not in work.
 */
export interface Aging {
  /**
   * Up to then the order by priority is strict; in a queue without metrics, keys that are added within eight hand-outs may
   * count as added with the first of them. Default: 1000; Infinity: always.
   */
  readonly patienceMs?: number
  /** A whole number, at least 2. Default: 8. */
  readonly every?: number
}

/** What is known of a key in work. */
export interface Turn {
  /** The priority that it was handed out with. */
  readonly priority: number
  readonly takenMs: number
}

export class QueueState<K> {
  readonly #delayed = new DelayedKeys<K>()
  #table: KeyTable<K> = new KeyTable<K>()
  /** Those that wait. */
  #order: PriorityOrder = new PriorityOrder(this.#table)
  /** Those in work: handed out, and not done. */
  #working: SlotList = slotList()
  readonly #patienceMs: number
  readonly #every: number
  /** Hand-outs by priority since the last one by age; it stops counting when the next one may go by age. */
  #byPriority = 0

  /** @throws RangeError when the aging is none. */
  constructor({ patienceMs = 1000, every = 8 }: Aging = {}) {
    if (!(patienceMs >= 0)) {
      throw new RangeError(`Cannot make a queue: aging.patienceMs is ${patienceMs}, and must be 0 or more`)
    }
    if (!Number.isInteger(every) || every < 2) {
      throw new RangeError(`Cannot make a queue: aging.every is ${every}, and must be a whole number from 2 on`)
    }
    this.#patienceMs = patienceMs
    this.#every = every
  }

  /** Keys that wait to be handed out; neither delayed ones nor those in work. */
  get length(): number {
    return this.#order.size
  }

  get processing(): number {
    return this.#working.size
  }

  get delayed(): number {
    return this.#delayed.size
  }

  /** Keys that there is room for; what a burst needed is given back when nothing waits or is in work any more. */
  get capacity(): number {
    return this.#table.capacity
  }

  /** Whether no key waits and none is in work; delayed keys do not count. */
  get idle(): boolean {
    return this.#table.size === 0
  }

  /** Whether the next {@link take} depends on the time. */
  get asksForTime(): boolean {
    return this.#byPriority >= this.#every - 1 && this.#order.oldest !== this.#order.first
  }

  /** Adds a key; answers whether that makes one more turn, rather than being part of one that is to come. */
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
   * Adds a key at an instant; `retry` says that a rate limiter chose it. A plain add meanwhile does not cancel it: both
   * happen, as in client-go.
   */
  addAt(key: K, dueMs: number, priority: number, retry: boolean): void {
    this.#delayed.add(key, dueMs, priority, retry)
  }

  /** Takes a delay back that was a retry, and answers whether there was one; delays that were asked for stay. */
  cancelRetry(key: K): boolean {
    return this.#delayed.size > 0 && this.#delayed.cancelRetry(key)
  }

  /** When a key comes due for which a retry waits; undefined where none does. */
  retryDueMs(key: K): number | undefined {
    return this.#delayed.size > 0 ? this.#delayed.retryDueMs(key) : undefined
  }

  /** Adds the delayed keys whose time has come, at most `max` of them; answers how many turns that makes. */
  promote(nowMs: number, max: number = Infinity): number {
    let turns = 0
    for (let count = 0; count < max; count++) {
      const due = this.#delayed.takeDue(nowMs)
      if (!due) break
      if (this.add(due.key, due.priority, nowMs)) turns++
    }
    return turns
  }

  /** When {@link promote} has something to do next. */
  nextDueMs(): number | undefined {
    return this.#delayed.nextDueMs()
  }

  /** The key that {@link take} would hand out at that time, and when its turn was added. */
  peek(nowMs: number): { readonly key: K; readonly addedMs: number } | undefined {
    const slot = this.#next(nowMs)
    return slot === NONE ? undefined : { key: this.#table.keyOf(slot), addedMs: this.#table.addedMs[slot]! }
  }

  /** Hands the next key out; it counts as in work until {@link done}. The time matters where {@link asksForTime} says so. */
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

  /** Ends the work on a key; if it was added meanwhile, it waits again. Does nothing for a key that is not in work. */
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
    table.delete(slot)
    if (table.size === 0 && table.large) this.#letGo()
  }

  /** The turn of a key in work. */
  turnOf(key: K): Turn | undefined {
    const slot = this.#table.slotOf(key)
    return slot === undefined || this.#table.status[slot] === WAITING ? undefined : this.#turn(slot)
  }

  /** The turns of the keys in work, that which began first at first. */
  *turns(): Generator<Turn> {
    for (const slot of this.#workingSlots()) yield this.#turn(slot)
  }

  /** The turns to come by priority: keys that wait, and keys in work that were added meanwhile. */
  depths(): Map<number, number> {
    const depths = new Map(this.#order.depths())
    for (const slot of this.#workingSlots()) {
      const priority = this.#table.priority[slot]!
      if (this.#table.status[slot] === AGAIN) depths.set(priority, (depths.get(priority) ?? 0) + 1)
    }
    return depths
  }

  /** Drops the delayed keys, as shutting down does. */
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

  /** Gives the memory back that a burst needed. */
  #letGo(): void {
    this.#table = new KeyTable()
    this.#order = new PriorityOrder(this.#table)
    this.#working = slotList()
  }
}
