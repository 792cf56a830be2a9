/** Counts the steps of a synchronous work: one whose number grows with the square of its input is too slow. */

/** Returns how many entries of maps and sets were read one after the other during the work. */
export function entriesRead(work: () => void): number {
  let count = 0
  const restore = [Map.prototype, Set.prototype].map((prototype: Iterable<unknown>) => {
    const original = prototype[Symbol.iterator]
    prototype[Symbol.iterator] = function* (this: Iterable<unknown>) {
      for (const entry of { [Symbol.iterator]: () => original.call(this) }) {
        count++
        yield entry
      }
    }
    return () => void (prototype[Symbol.iterator] = original)
  })
  try {
    work()
  } finally {
    for (const each of restore) each()
  }
  return count
}
