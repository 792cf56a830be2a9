/**
 * What a work queue knows, without a clock and without waiting. It promises what client-go's workqueue does:
 *
 * - fair: keys leave in the order in which they came;
 * - stingy: a key that waits is in the queue once, however often it is added;
 * - exclusive: a key that is being worked on is not handed out; if it was added meanwhile, once more when it is done;
 * - delayed keys become due in the order of their times; a second delay for the same key keeps the earlier one.
 */
import { Heap } from '../async/heap.ts'

interface Delayed<K> {
  readonly key: K
  readonly dueMs: number
  /** Breaks ties: equal times leave in the order in which they were asked for. */
  readonly order: number
}

export class QueueState<K> {
  /** Keys to hand out, from #head on. Every key in here is dirty and not processing. */
  #ready: K[] = []
  #head = 0
  /** Keys that need work: those in #ready and those to come back when they are done. */
  readonly #dirty = new Set<K>()
  /** Keys that were handed out and are not done. */
  readonly #processing = new Set<K>()
  readonly #delayed = new Heap<Delayed<K>>((a, b) => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order))
  /** The entry that counts for a delayed key; others of it in the heap were replaced by an earlier one, and are skipped. */
  readonly #delayOf = new Map<K, Delayed<K>>()
  #order = 0

  /** Keys that wait to be handed out; neither delayed ones nor those in work. */
  get length(): number {
    return this.#ready.length - this.#head
  }

  get processing(): number {
    return this.#processing.size
  }

  get delayed(): number {
    return this.#delayOf.size
  }

  /** Whether no key waits and none is in work; delayed keys do not count. */
  get idle(): boolean {
    return this.#dirty.size === 0 && this.#processing.size === 0
  }

  add(key: K): void {
    if (this.#dirty.has(key)) return
    this.#dirty.add(key)
    if (!this.#processing.has(key)) this.#ready.push(key)
  }

  /** Adds a key at an instant. A plain add meanwhile does not cancel it: both happen, as in client-go. */
  addAt(key: K, dueMs: number): void {
    const known = this.#delayOf.get(key)
    if (known && known.dueMs <= dueMs) return
    const entry = { key, dueMs, order: this.#order++ }
    this.#delayOf.set(key, entry)
    this.#delayed.push(entry)
    this.#dropReplaced()
  }

  /** Moves every delayed key whose time has come to the ready ones. */
  promote(nowMs: number): void {
    for (let next = this.#delayed.peek(); next !== undefined && next.dueMs <= nowMs; next = this.#delayed.peek()) {
      this.#delayed.pop()
      if (this.#delayOf.get(next.key) !== next) continue
      this.#delayOf.delete(next.key)
      this.add(next.key)
    }
  }

  /** When {@link promote} has something to do next. */
  nextDueMs(): number | undefined {
    for (let next = this.#delayed.peek(); next !== undefined; next = this.#delayed.peek()) {
      if (this.#delayOf.get(next.key) === next) return next.dueMs
      this.#delayed.pop()
    }
    return undefined
  }

  /** Hands the next key out; it counts as in work until {@link done}. */
  take(): K | undefined {
    if (this.length === 0) return undefined
    const key = this.#ready[this.#head]!
    this.#head++
    this.#cutConsumed()
    this.#dirty.delete(key)
    this.#processing.add(key)
    return key
  }

  /** Ends the work on a key; if it was added meanwhile, it waits again. */
  done(key: K): void {
    if (this.#processing.delete(key) && this.#dirty.has(key)) this.#ready.push(key)
  }

  /** Drops the delayed keys, as shutting down does. */
  dropDelayed(): void {
    this.#delayed.clear()
    this.#delayOf.clear()
  }

  /** Lets go of keys that were handed out: all at once when none waits, else when they are the larger part. */
  #cutConsumed(): void {
    if (this.#head === this.#ready.length) this.#ready = []
    else if (this.#head > 1024 && this.#head * 2 > this.#ready.length) this.#ready = this.#ready.slice(this.#head)
    else return
    this.#head = 0
  }

  /** A key that is asked for ever earlier leaves its old entries behind until their time; they must not become a crowd. */
  #dropReplaced(): void {
    if (this.#delayed.size <= 2 * this.#delayOf.size + 64) return
    this.#delayed.clear()
    for (const entry of this.#delayOf.values()) this.#delayed.push(entry)
  }
}
