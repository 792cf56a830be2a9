/** Marks objects that were read without some of their fields: a whole write would delete those on the server. */

/**
 * A registered symbol, because several bundles contain this module. Enumerable, because updates are most often made by
 * a spread, which copies it. JSON, `Object.keys` and `for in` skip symbols.
 */
const PARTIAL = Symbol.for('kubeloop.partial')

/** Marks an object in place: it has metadata only, or a cache's `strip` removed fields. */
export function markPartial<T extends object>(object: T): T {
  return Object.assign(object, { [PARTIAL]: true })
}

/**
 * Tests whether an object was read without some of its fields. Copies by a spread, {@link draft} or {@link copyMarks}
 * keep the mark.
 */
export function isPartial(object: object): boolean {
  return PARTIAL in object
}

/** Copies the marks of an object to its deep copy, which has no symbols. */
export function copyMarks<T>(from: unknown, to: T): T {
  if (typeof from !== 'object' || from === null) return to
  for (const mark of Object.getOwnPropertySymbols(from)) {
    ;(to as Record<symbol, unknown>)[mark] = (from as Record<symbol, unknown>)[mark]
  }
  return to
}
