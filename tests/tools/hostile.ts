/** Hostile inputs: valid ones with a few changes, so that most of them get past the first check. */
import fc from 'fast-check'

/** Texts that parsers, paths, logs and objects of JavaScript trip over. */
export const ODD_TEXTS: readonly string[] = [
  ...['', ' ', '__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length', 'then', 'toJSON', '\0', '\ud800'],
  ...['\u2028', '\r\n', '\x1b[31m', '..', '../../x', '/', '%', '%2e%2e', '%00', '#', '?', '*', '$(x)', '${x}', '\\'],
  ...['-', '-1', '1e999', '9223372036854775808', 'null', 'é', '😀', 'a'.repeat(300), '{', ']', '"', "'", ',', '=', '&'],
]
/** Values of a wrong type or size. */
const ODD_VALUES: readonly unknown[] = [
  ...[null, true, 0, -1, 1.5, 1e308, 2 ** 53, -(2 ** 31) - 1, [], {}, [null], [[]], { a: null }, [{}], ...ODD_TEXTS],
  ...[Array(300).fill('a'), Object.fromEntries([['__proto__', { polluted: true }]]), 'x'.repeat(20_000)],
]

/** Which place is changed, how, and with what. */
interface Change {
  readonly at: number
  readonly how: 'replace' | 'drop' | 'double' | 'wrap' | 'deep' | 'rename' | 'cut' | 'insert' | 'copy'
  readonly value: unknown
  readonly text: string
}

const CHANGE: fc.Arbitrary<Change> = fc.record({
  at: fc.nat(100_000),
  how: fc.constantFrom('replace', 'replace', 'drop', 'double', 'wrap', 'deep', 'rename', 'cut', 'insert', 'copy'),
  value: fc.oneof(fc.constantFrom(...ODD_VALUES), fc.jsonValue({ maxDepth: 2 })),
  text: fc.constantFrom(...ODD_TEXTS),
})

/** Returns JSON values like this one, with up to `max` changes. */
export function mutated<T>(value: T, max = 2): fc.Arbitrary<unknown> {
  return fc.array(CHANGE, { minLength: 1, maxLength: max, size: 'max' }).map((changes) =>
    changes.reduce<unknown>((before, change) => changed(before, change), value)
  )
}

/** Returns how many values a value has, itself included. */
function places(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce<number>((sum, each) => sum + places(each), 1)
}

function changed(value: unknown, change: Change): unknown {
  let at = change.at % places(value)
  const parts: unknown[] = []
  const collect = (each: unknown): void => {
    parts.push(each)
    if (typeof each === 'object' && each !== null) Object.values(each).forEach(collect)
  }
  collect(value)
  const other = parts[(change.at * 31 + 7) % parts.length]
  const walk = (each: unknown): unknown => {
    if (at-- === 0) return altered(each, change, other)
    if (typeof each !== 'object' || each === null) return each
    if (Array.isArray(each)) return each.map(walk).filter((item) => item !== DROPPED)
    const entries = Object.entries(each).map(([key, child]): [string, unknown] => {
      const renames = at === 0 && change.how === 'rename'
      return [renames ? change.text : key, walk(child)]
    })
    return Object.fromEntries(entries.filter(([, child]) => child !== DROPPED))
  }
  const result = walk(value)
  return result === DROPPED ? null : result
}

const DROPPED = Symbol('dropped')
const DEEP = 200

function altered(value: unknown, { at, how, value: odd, text }: Change, other: unknown): unknown {
  switch (how) {
    case 'replace':
      return odd
    case 'drop':
      return DROPPED
    case 'copy':
      return other
    case 'double':
      if (Array.isArray(value)) return [...value, ...value]
      return typeof value === 'string' ? value + value : [value, value]
    case 'wrap':
      return at % 2 === 0 ? [value] : Object.fromEntries([[text, value]])
    case 'deep':
      return Array.from({ length: DEEP }).reduce<unknown>((inner) => at % 2 === 0 ? [inner] : { a: inner }, value)
    case 'cut':
      return typeof value === 'string' ? value.slice(0, at % (value.length + 1)) : odd
    case 'insert': {
      if (typeof value !== 'string') return odd
      const place = at % (value.length + 1)
      return value.slice(0, place) + text + value.slice(place)
    }
    case 'rename':
      return value
  }
}

/** Returns texts like these: cut, doubled, with odd parts in between. */
export function mutatedText(...texts: readonly string[]): fc.Arbitrary<string> {
  const edit = fc.record({
    at: fc.nat(100_000),
    drop: fc.constantFrom(0, 0, 1, 3, 50),
    text: fc.oneof(fc.constantFrom(...ODD_TEXTS), fc.string({ unit: 'binary', maxLength: 3 })),
    from: fc.option(fc.nat(100_000), { freq: 4 }),
  })
  return fc.tuple(fc.constantFrom(...texts), fc.array(edit, { minLength: 1, maxLength: 3 })).map(([text, edits]) =>
    edits.reduce((before, { at, drop, text, from }) => {
      const place = at % (before.length + 1)
      const piece = from === null ? text : before.slice(from % (before.length + 1)).slice(0, 40)
      return before.slice(0, place) + piece + before.slice(place + drop)
    }, text)
  )
}

/** Returns bytes like these: cut, with wrong ones in between, or with a part of them twice. */
export function mutatedBytes(bytes: Uint8Array): fc.Arbitrary<Uint8Array> {
  const edit = fc.tuple(
    fc.nat(1_000_000),
    fc.uint8Array({ maxLength: 4 }),
    fc.constantFrom('set', 'put', 'cut', 'copy'),
  )
  return fc.array(edit, { minLength: 1, maxLength: 4 }).map((edits) =>
    edits.reduce((before, [at, wrong, how]) => {
      const place = at % (before.length + 1)
      const rest = before.subarray(place + (how === 'set' ? wrong.length : 0))
      const piece = how === 'copy' ? before.subarray(place, place + 1 + at % 40) : wrong
      return how === 'cut'
        ? before.subarray(0, place)
        : Uint8Array.from([...before.subarray(0, place), ...piece, ...rest])
    }, bytes)
  )
}
