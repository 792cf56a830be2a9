/** A binary heap: push and pop in O(log n), the least element first. */

export class Heap<T> {
  readonly #items: T[] = []
  readonly #before: (a: T, b: T) => boolean

  /** `before(a, b)` says whether `a` leaves first. */
  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before
  }

  get size(): number {
    return this.#items.length
  }

  /** The element that {@link pop} would take. */
  peek(): T | undefined {
    return this.#items[0]
  }

  /** All elements, in no particular order. */
  [Symbol.iterator](): IterableIterator<T> {
    return this.#items.values()
  }

  push(item: T): void {
    const items = this.#items
    let at = items.length
    items.push(item)
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!this.#before(item, items[parent]!)) break
      items[at] = items[parent]!
      at = parent
    }
    items[at] = item
  }

  pop(): T | undefined {
    const items = this.#items
    if (items.length <= 1) return items.pop()
    const top = items[0]
    this.#sink(items.pop()!)
    return top
  }

  clear(): void {
    this.#items.length = 0
  }

  /** Puts an item in at the root and lets it sink to its place. */
  #sink(item: T): void {
    const items = this.#items
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= items.length) break
      if (child + 1 < items.length && this.#before(items[child + 1]!, items[child]!)) child++
      if (!this.#before(items[child]!, item)) break
      items[at] = items[child]!
      at = child
    }
    items[at] = item
  }
}
