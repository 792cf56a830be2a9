/**
 * Marks objects that have less than the server's: their metadata alone, or what a cache's `strip` has left. To write one of
 * them whole would delete the rest on the server.
 */

/**
 * A registered symbol, because bundles that use this module share it. An enumerable property, because a spread copies it, and
 * with it what an update is most often made of; JSON, `Object.keys` and `for in` leave symbols out.
 */
const PARTIAL = Symbol.for('kubeloop.partial')

/** Marks an object; changes it in place. */
export function markPartial<T extends object>(object: T): T {
  return Object.assign(object, { [PARTIAL]: true })
}

/** Whether an object, or a copy made by a spread, {@link draft} or {@link copyMarks}, has less than the server's. */
export function isPartial(object: object): boolean {
  return PARTIAL in object
}

/** Carries what is known of an object on to its deep copy: deep copies leave symbols out. */
export function copyMarks<T>(from: unknown, to: T): T {
  if (typeof from !== 'object' || from === null) return to
  for (const mark of Object.getOwnPropertySymbols(from)) {
    ;(to as Record<symbol, unknown>)[mark] = (from as Record<symbol, unknown>)[mark]
  }
  return to
}
