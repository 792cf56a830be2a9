/** Stores the keys whose delay is not over, and returns them when they are due. */
import { Heap } from '../async/heap.ts'

interface Delayed<K> {
  readonly key: K
  readonly dueMs: number
  /** Breaks ties: keys with equal times leave in the order of their adds. */
  readonly order: number
}

interface Delay<K> {
  /** The earliest time of the plain adds; Infinity if all adds are retries. */
  plainMs: number
  /** Whether one of the adds is a retry. */
  retried: boolean
  priority: number
  /** The valid entry in the heap; older entries of the key are skipped. */
  entry: Delayed<K>
}

/**
 * Each key is stored once, with the earliest of its times and the highest of its priorities. The times of retries are
 * kept apart from the times of plain adds, so that a retry can be cancelled.
 */
export class DelayedKeys<K> {
  readonly #delays = new Map<K, Delay<K>>()
  readonly #heap = new Heap<Delayed<K>>((a, b) => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order))
  #order = 0

  get size(): number {
    return this.#delays.size
  }

  /** The number of entries in the heap, replaced ones included. At most `2 * size + 64` after each call. */
  get entries(): number {
    return this.#heap.size
  }

  keys(): Iterable<K> {
    return this.#delays.keys()
  }

  /** Adds a key. `retry`: a rate limiter chose the time. */
  add(key: K, dueMs: number, priority: number, retry: boolean): void {
    const delay = this.#delays.get(key)
    if (!delay) {
      const entry = this.#push(key, dueMs)
      this.#delays.set(key, { plainMs: retry ? Infinity : dueMs, retried: retry, priority, entry })
      return
    }
    delay.priority = Math.max(delay.priority, priority)
    if (retry) delay.retried = true
    else delay.plainMs = Math.min(delay.plainMs, dueMs)
    if (dueMs < delay.entry.dueMs) delay.entry = this.#push(key, dueMs)
    this.#dropReplaced()
  }

  /** Cancels the retry of a key. Returns whether there was one. */
  cancelRetry(key: K): boolean {
    const delay = this.#delays.get(key)
    if (!delay?.retried) return false
    delay.retried = false
    if (delay.plainMs === Infinity) this.#delays.delete(key)
    else if (delay.plainMs > delay.entry.dueMs) delay.entry = this.#push(key, delay.plainMs)
    this.#dropReplaced()
    return true
  }

  remove(key: K): void {
    if (this.#delays.delete(key)) this.#dropReplaced()
  }

  /** Returns when a waiting retry of the key is due; undefined if there is none. */
  retryDueMs(key: K): number | undefined {
    const delay = this.#delays.get(key)
    return delay?.retried ? delay.entry.dueMs : undefined
  }

  /** Returns when the next key is due. */
  nextDueMs(): number | undefined {
    return this.#next()?.dueMs
  }

  /** Removes and returns the next key that is due, with its priority. */
  takeDue(nowMs: number): { readonly key: K; readonly priority: number } | undefined {
    const next = this.#next()
    if (!next || next.dueMs > nowMs) return undefined
    this.#heap.pop()
    const { priority } = this.#delays.get(next.key)!
    this.#delays.delete(next.key)
    return { key: next.key, priority }
  }

  clear(): void {
    this.#heap.clear()
    this.#delays.clear()
  }

  /** Returns the first valid entry, and drops the replaced entries before it. */
  #next(): Delayed<K> | undefined {
    for (let next = this.#heap.peek(); next !== undefined; next = this.#heap.peek()) {
      if (this.#delays.get(next.key)?.entry === next) return next
      this.#heap.pop()
    }
    return undefined
  }

  #push(key: K, dueMs: number): Delayed<K> {
    const entry = { key, dueMs, order: this.#order++ }
    this.#heap.push(entry)
    return entry
  }

  /** Limits the number of replaced entries: earlier adds and cancelled retries leave them behind. */
  #dropReplaced(): void {
    if (this.#heap.size <= 2 * this.#delays.size + 64) return
    this.#heap.clear()
    for (const { entry } of this.#delays.values()) this.#heap.push(entry)
  }
}
