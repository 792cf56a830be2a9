/** Marks objects that were read without some of their fields: a whole write would delete those on the server. */

/**
 * An ordinary field of the object, so that every copy has it: a spread, structuredClone and JSON. It is seen where such
 * an object is printed. No request has it: see {@link withoutMarks}.
 */
const PARTIAL = 'kubeloop.partial'
const TEXT = `"${PARTIAL}":true`
/** With one comma, as a field of JSON. */
const FIELD = /"kubeloop\.partial":true,|,?"kubeloop\.partial":true/g

/** Marks an object in place: it has metadata only, or a cache's `strip` removed fields. */
export function markPartial<T extends object>(object: T): T {
  return Object.assign(object, { [PARTIAL]: true })
}

/** Tests whether an object was read without some of its fields. Its copies keep the mark; parts of it have none. */
export function isPartial(object: object): boolean {
  return PARTIAL in object
}

/** Removes the marks from the JSON of a request, at any depth. In a string its quotes are escaped, so it stays. */
export function withoutMarks(json: string): string {
  return json.includes(TEXT) ? json.replace(FIELD, '') : json
}

/** Copies the symbols of an object to its deep copy, such as the texts of its numbers. */
export function copyMarks<T>(from: unknown, to: T): T {
  if (typeof from !== 'object' || from === null) return to
  for (const mark of Object.getOwnPropertySymbols(from)) {
    ;(to as Record<symbol, unknown>)[mark] = (from as Record<symbol, unknown>)[mark]
  }
  return to
}
