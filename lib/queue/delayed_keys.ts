/**
 * The keys whose time has not come, each once: the earliest of the times that were asked for counts, and the highest of
 * the priorities. A time that a rate limiter chose is kept apart from those that were asked for, so that it can be taken
 * back.
 */
import { Heap } from '../async/heap.ts'

interface Delayed<K> {
  readonly key: K
  readonly dueMs: number
  /** Breaks ties: equal times leave in the order in which they were asked for. */
  readonly order: number
}

/** What was asked for of one key. */
interface Wish<K> {
  /** The earliest time that was asked for; Infinity when a limiter chose all of them. */
  askedMs: number
  /** Whether a limiter chose one. */
  retried: boolean
  priority: number
  /** Its entry in the heap; others of the key in there were replaced, and are skipped. */
  entry: Delayed<K>
}

export class DelayedKeys<K> {
  readonly #wishes = new Map<K, Wish<K>>()
  readonly #heap = new Heap<Delayed<K>>((a, b) => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order))
  #order = 0

  get size(): number {
    return this.#wishes.size
  }

  /** Entries of the heap: of the keys, and those that were replaced and not dropped yet. At most `2 * size + 64` after a call. */
  get entries(): number {
    return this.#heap.size
  }

  /** `retry` says that a rate limiter chose the time. */
  add(key: K, dueMs: number, priority: number, retry: boolean): void {
    const wish = this.#wishes.get(key)
    if (!wish) {
      const entry = this.#push(key, dueMs)
      this.#wishes.set(key, { askedMs: retry ? Infinity : dueMs, retried: retry, priority, entry })
      return
    }
    wish.priority = Math.max(wish.priority, priority)
    if (retry) wish.retried = true
    else wish.askedMs = Math.min(wish.askedMs, dueMs)
    if (dueMs < wish.entry.dueMs) wish.entry = this.#push(key, dueMs)
    this.#dropReplaced()
  }

  /** Takes the time back that a limiter chose; answers whether there was one. */
  cancelRetry(key: K): boolean {
    const wish = this.#wishes.get(key)
    if (!wish?.retried) return false
    wish.retried = false
    if (wish.askedMs === Infinity) this.#wishes.delete(key)
    else if (wish.askedMs > wish.entry.dueMs) wish.entry = this.#push(key, wish.askedMs)
    this.#dropReplaced()
    return true
  }

  /** When a key is due for which a limiter chose a time; undefined for others. */
  retryDueMs(key: K): number | undefined {
    const wish = this.#wishes.get(key)
    return wish?.retried ? wish.entry.dueMs : undefined
  }

  /** When the next key is due. */
  nextDueMs(): number | undefined {
    return this.#next()?.dueMs
  }

  /** Takes the next key that is due by now, with its priority. */
  takeDue(nowMs: number): { readonly key: K; readonly priority: number } | undefined {
    const next = this.#next()
    if (!next || next.dueMs > nowMs) return undefined
    this.#heap.pop()
    const { priority } = this.#wishes.get(next.key)!
    this.#wishes.delete(next.key)
    return { key: next.key, priority }
  }

  clear(): void {
    this.#heap.clear()
    this.#wishes.clear()
  }

  /** The first entry that counts; what was replaced before it is dropped. */
  #next(): Delayed<K> | undefined {
    for (let next = this.#heap.peek(); next !== undefined; next = this.#heap.peek()) {
      if (this.#wishes.get(next.key)?.entry === next) return next
      this.#heap.pop()
    }
    return undefined
  }

  #push(key: K, dueMs: number): Delayed<K> {
    const entry = { key, dueMs, order: this.#order++ }
    this.#heap.push(entry)
    return entry
  }

  /** A key that is asked for ever earlier, or whose retries are taken back, leaves old entries behind; they must not become a crowd. */
  #dropReplaced(): void {
    if (this.#heap.size <= 2 * this.#wishes.size + 64) return
    this.#heap.clear()
    for (const { entry } of this.#wishes.values()) this.#heap.push(entry)
  }
}
