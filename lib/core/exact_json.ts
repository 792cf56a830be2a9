/**
 * JSON with exact integers. A double has 53 bits, an int64 of the API has 64: JSON.parse reads 9007199254740993 as
 * 9007199254740992. The texts of such integers are kept beside the object, for a later write. All other numbers are
 * doubles in the API server, too, which prints them so that JSON.parse reads them exactly.
 *
 * @see https://github.com/kubernetes/apimachinery/blob/master/pkg/util/json/json.go
 */

/** Maps the double to the text, or to '' if two integers of one object became the same double. */
type Texts = ReadonlyMap<number, string>

/** Registered and enumerable, as for partial objects: bundles share it, spreads copy it. */
const TEXTS = Symbol.for('kubeloop.number-texts')

/** An integer of at least 16 digits; shorter ones are exact. */
const LONG_INTEGER = /[[,:]\s*-?\d{16}/

/** Parses as JSON.parse does. Integers that a double may not represent keep their texts. */
export function parseExact(text: string): unknown {
  if (!LONG_INTEGER.test(text)) return JSON.parse(text)
  const found: (readonly [number, string])[] = []
  const value: unknown = parseWithSource(text, (number, source) => {
    if (isUnsafe(number)) found.push([number, source])
  })
  return found.length > 0 && typeof value === 'object' ? Object.assign(value!, { [TEXTS]: textsOf(found) }) : value
}

/**
 * Parses as {@link parseExact}, for objects that are written one by one: each object of the list that `listOf` returns
 * keeps the texts of its own integers.
 */
export function parseExactList(text: string, listOf: (value: unknown) => readonly unknown[] | undefined): unknown {
  if (!LONG_INTEGER.test(text)) return JSON.parse(text)
  const found: (readonly [number, string])[] = []
  /** For each array, how many integers were found up to the end of each item. */
  const ends = new Map<unknown, number[]>()
  const value: unknown = parseWithSource(text, (number, source) => {
    if (isUnsafe(number)) found.push([number, source])
  }, (array) => {
    const counts = ends.get(array)
    if (counts) counts.push(found.length)
    else ends.set(array, [found.length])
  })
  const list = found.length > 0 ? listOf(value) ?? [] : []
  const counts = ends.get(list)
  for (const [at, item] of list.entries()) {
    const own = found.slice(counts?.[at - 1] ?? 0, counts?.[at])
    if (own.length > 0 && typeof item === 'object') Object.assign(item!, { [TEXTS]: textsOf(own) })
  }
  return value
}

function textsOf(found: readonly (readonly [number, string])[]): Texts {
  const texts = new Map<number, string>()
  for (const [number, source] of found) texts.set(number, (texts.get(number) ?? source) === source ? source : '')
  return texts
}

/** Tests whether {@link stringifyExact} can write the object's numbers as the server has them. */
export function isExact(object: object): boolean {
  return TEXTS in object || !hasUnsafe(object)
}

/**
 * Returns the JSON of a whole object, with each number as it was read. `known`: an object that was read with the same
 * numbers. Throws a TypeError that begins with `Cannot ${action}` if an integer may have been rounded, for NaN,
 * Infinity and an invalid Date: they become null, to the server a field that is not set and gets its default; and for a
 * Promise, a Map or a Set, which become {}: an apply or a status would remove all that it has.
 */
export function stringifyExact(body: object, action: string, known: object = body): string {
  const texts = (known as { readonly [TEXTS]?: Texts })[TEXTS]
  const text = JSON.stringify(body)
  if (!texts && !/[[,:](-?\d{16}|null|{})/.test(text)) return text
  return JSON.stringify(body, function (this: Readonly<Record<string, unknown>>, key, value: unknown) {
    // An invalid Date is null here, and a Promise or a Map has no fields.
    const isLost = value === null ? this[key] : Symbol.toStringTag in Object(value)
    if (typeof value !== 'number' && !isLost) return value
    const cannot = `Cannot ${action}: "${key}" is `
    if (isLost || !Number.isFinite(value)) {
      throw new TypeError(`${cannot}${this[key]}; give a valid one, or leave the field out`)
    }
    const source = texts?.get(value as number)
    if (source) return rawJson(source)
    // A number that was not read is the caller's own.
    if (source === undefined && (texts || !isUnsafe(value as number))) return value
    const rounded = 'an integer beyond 2^53, which JavaScript may have rounded when it was read'
    throw new TypeError(`${cannot}${rounded}; leave it as client.live.get or edit reads it, or send a patch`)
  })
}

/**
 * Returns a value after JSON and back: without undefined fields, with `toJSON` applied. Throws a TypeError for NaN, as
 * above, and for undefined and null.
 */
export function asJson(value: unknown, action: string): unknown {
  if (!value) throw new TypeError(`Cannot ${action}: it is ${value}`)
  return JSON.parse(stringifyExact(value, action, { [TEXTS]: new Map<number, string>() }))
}

/** Returns what {@link stringifyExact} takes as `known` for a body with numbers of two objects. */
export function withNumbersOf(...objects: readonly [object, object]): object {
  const found = objects.flatMap((object) => [...(object as { readonly [TEXTS]?: Texts })[TEXTS] ?? []])
  return found.length > 0 ? { [TEXTS]: textsOf(found) } : {}
}

/** Tests for an integer in the range of int64 that several int64 values round to. */
function isUnsafe(number: number): boolean {
  return Number.isInteger(number) && !Number.isSafeInteger(number) && Math.abs(number) <= 2 ** 63
}

function hasUnsafe(value: unknown): boolean {
  if (typeof value === 'number') return isUnsafe(value)
  return typeof value === 'object' && value !== null && Object.values(value).some(hasUnsafe)
}

type Reviver = (this: unknown, key: string, value: unknown, context: { readonly source: string }) => unknown

/**
 * Parses, and calls `onNumber` with each number and its text, and `onItem` with the array after each of its items.
 * Node, Bun and Deno implement the proposal; TypeScript has no types for it.
 */
function parseWithSource(
  text: string,
  onNumber: (number: number, source: string) => void,
  onItem?: (array: unknown) => void,
): unknown {
  const reviver: Reviver = function (_key, value, { source }) {
    if (typeof value === 'number') onNumber(value, source)
    if (onItem && Array.isArray(this)) onItem(this)
    return value
  }
  return (JSON.parse as (text: string, reviver: Reviver) => unknown)(text, reviver)
}

function rawJson(text: string): unknown {
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text)
}
