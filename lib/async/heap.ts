/** A binary heap: push and pop in O(log n), the smallest element first. */

export class Heap<T> {
  readonly #items: T[] = []
  readonly #before: (a: T, b: T) => boolean

  /** `before(a, b)` returns whether `a` is popped before `b`. */
  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before
  }

  get size(): number {
    return this.#items.length
  }

  /** Returns the element that {@link pop} would remove. */
  peek(): T | undefined {
    return this.#items[0]
  }

  /** Iterates all elements, in no particular order. */
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

  /** Inserts an item at the root and moves it down to its place. */
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
