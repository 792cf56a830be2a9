/**
 * JSON whose integers survive. A double has 53 bits, an int64 of the API has 64: JSON.parse makes 9007199254740992 of
 * 9007199254740993. The texts of such integers are kept beside the object that has them, for the write that may follow.
 * All other numbers are doubles in the API server, too, and printed so that JSON.parse reads them exactly.
 *
 * @see https://github.com/kubernetes/apimachinery/blob/master/pkg/util/json/json.go
 */

/** By the double that JSON.parse makes: the text, or '' where two integers of one object became the same double. */
type Texts = ReadonlyMap<number, string>

/** As for partial objects: shared by bundles, copied by spreads. */
const TEXTS = Symbol.for('kubeloop.number-texts')

/** An integer of at least 16 digits; shorter ones are exact. */
const LONG_INTEGER = /[[,:]\s*-?\d{16}/

/** Parses as JSON.parse does. An object with integers that a double may not represent remembers their texts. */
export function parseExact(text: string): unknown {
  if (!LONG_INTEGER.test(text)) return JSON.parse(text)
  const texts = new Map<number, string>()
  const value: unknown = parseWithSource(text, (number, source) => {
    if (isUnsafe(number)) texts.set(number, (texts.get(number) ?? source) === source ? source : '')
  })
  return texts.size > 0 && typeof value === 'object' ? Object.assign(value!, { [TEXTS]: texts }) : value
}

/** Whether an object has its numbers as the server has them, as far as {@link stringifyExact} can write them. */
export function isExact(object: object): boolean {
  return TEXTS in object || !hasUnsafe(object)
}

/**
 * The JSON of an object that is written whole, with each number as it was read. `known` is an object beside it that was read with
 * the same numbers. Throws a TypeError that begins with `Cannot ${action}` for an integer that may have been rounded.
 */
export function stringifyExact(body: object, action: string, known: object = body): string {
  const texts = (known as { readonly [TEXTS]?: Texts })[TEXTS]
  const text = JSON.stringify(body)
  if (!texts && !LONG_INTEGER.test(text)) return text
  return JSON.stringify(body, (key, value: unknown) => {
    if (typeof value !== 'number') return value
    const source = texts?.get(value)
    if (source) return rawJson(source)
    // A number that was not among those that were read is the caller's own.
    if (source === undefined && (texts || !isUnsafe(value))) return value
    const rounded = `"${key}" is an integer beyond 2^53, which JavaScript may have rounded when it was read`
    throw new TypeError(`Cannot ${action}: ${rounded}; leave it as client.live.get or edit reads it, or send a patch`)
  })
}

/** An integer that an int64 may be, and that stands for more than one of them. */
function isUnsafe(number: number): boolean {
  return Number.isInteger(number) && !Number.isSafeInteger(number) && Math.abs(number) <= 2 ** 63
}

function hasUnsafe(value: unknown): boolean {
  if (typeof value === 'number') return isUnsafe(value)
  return typeof value === 'object' && value !== null && Object.values(value).some(hasUnsafe)
}

type Reviver = (this: unknown, key: string, value: unknown, context: { readonly source: string }) => unknown

/** Calls `onNumber` with each number and its text. Node, Bun and Deno have both halves of the proposal; TypeScript has neither. */
function parseWithSource(text: string, onNumber: (number: number, source: string) => void): unknown {
  const reviver: Reviver = (_key, value, { source }) => {
    if (typeof value === 'number') onNumber(value, source)
    return value
  }
  return (JSON.parse as (text: string, reviver: Reviver) => unknown)(text, reviver)
}

function rawJson(text: string): unknown {
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text)
}
