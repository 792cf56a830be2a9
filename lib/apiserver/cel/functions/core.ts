/** The operators and conversions of CEL. */
import {
  CelError,
  concatenate,
  display,
  Duration,
  equal,
  findEntry,
  goNumber,
  isMap,
  ListValue,
  type MapValue,
  NONE,
  Optional,
  optionalOf,
  Timestamp,
  typeNameOf,
  TypeValue,
  Uint,
  type Value,
} from '../values.ts'
import type { Row } from './table.ts'
import { durationText, parseDuration, parseTimestamp, timestampText } from './time.ts'

const MAX_INT = 2n ** 63n - 1n
const MIN_INT = -(2n ** 63n)
const MAX_UINT = 2n ** 64n - 1n

function int(value: bigint): bigint {
  if (value > MAX_INT || value < MIN_INT) throw new CelError('integer overflow')
  return value
}

function uint(value: bigint): Uint {
  if (value > MAX_UINT || value < 0n) throw new CelError('unsigned integer overflow')
  return new Uint(value)
}

function nonZero(divisor: bigint, operation: string): bigint {
  if (divisor === 0n) throw new CelError(operation)
  return divisor
}

function badConversion(value: Value, to: string): CelError {
  return new CelError(`type conversion error from '${typeNameOf(value)}' to '${to}'`)
}

type Time = Duration | Timestamp

function sum(Result: new (nanos: bigint) => Time): (a: Time, b: Time) => Time {
  return (a, b) => new Result(a.nanos + b.nanos)
}

function difference(Result: new (nanos: bigint) => Time): (a: Time, b: Time) => Time {
  return (a, b) => new Result(a.nanos - b.nanos)
}

function arithmetic(): Row[] {
  const ints = (name: string, run: (a: bigint, b: bigint) => bigint): Row[] => [
    [name, '(int, int) -> int', (a, b) => int(run(a, b))],
    [name, '(uint, uint) -> uint', (a: Uint, b: Uint) => uint(run(a.value, b.value))],
  ]
  return [
    ...ints('_+_', (a, b) => a + b),
    ...ints('_-_', (a, b) => a - b),
    ...ints('_*_', (a, b) => a * b),
    ...ints('_/_', (a, b) => a / nonZero(b, 'division by zero')),
    ...ints('_%_', (a, b) => a % nonZero(b, 'modulus by zero')),
    ['_+_', '(double, double) -> double', (a, b) => a + b],
    ['_-_', '(double, double) -> double', (a, b) => a - b],
    ['_*_', '(double, double) -> double', (a, b) => a * b],
    ['_/_', '(double, double) -> double', (a, b) => a / b],
    ['-_', '(int) -> int', (a: bigint) => int(-a)],
    ['-_', '(double) -> double', (a) => -a],
    ['_+_', '(string, string) -> string', (a, b) => a + b],
    ['_+_', '(bytes, bytes) -> bytes', (a, b) => new Uint8Array([...a, ...b])],
    ['_+_', '(list<A>, list<A>) -> list<A>', concatenate],
    ['_+_', '(duration, duration) -> duration', sum(Duration)],
    ['_+_', '(duration, timestamp) -> timestamp', sum(Timestamp)],
    ['_+_', '(timestamp, duration) -> timestamp', sum(Timestamp)],
    ['_-_', '(duration, duration) -> duration', difference(Duration)],
    ['_-_', '(timestamp, timestamp) -> duration', difference(Duration)],
    ['_-_', '(timestamp, duration) -> timestamp', difference(Timestamp)],
  ]
}

type Comparable = bigint | number | string | boolean

/** Returns the primitive by which a value is ordered. */
function order(value: Value): Comparable {
  if (value instanceof Uint) return value.value
  if (value instanceof Duration || value instanceof Timestamp) return value.nanos
  if (value instanceof Uint8Array) return String.fromCharCode(...value)
  return value as Comparable
}

export function isLess(a: Value, b: Value): boolean {
  return order(a) < order(b)
}

const ORDERED = ['bool', 'int', 'uint', 'double', 'string', 'bytes', 'timestamp', 'duration']
const NUMBERS = ['int', 'uint', 'double']

function comparisons(): Row[] {
  const operators: Readonly<Record<string, (a: Comparable, b: Comparable) => boolean>> = {
    '_<_': (a, b) => a < b,
    '_<=_': (a, b) => a <= b,
    '_>_': (a, b) => a > b,
    '_>=_': (a, b) => a >= b,
  }
  const pairs = [
    ...ORDERED.map((type) => `${type}, ${type}`),
    ...NUMBERS.flatMap((a) => NUMBERS.filter((b) => a !== b).map((b) => `${a}, ${b}`)),
  ]
  return Object.entries(operators).flatMap(([name, test]) =>
    pairs.map((types): Row => [name, `(${types}) -> bool`, (a, b) => test(order(a), order(b))])
  )
}

function index(list: ListValue, at: Value): Value {
  const position = at instanceof Uint ? at.value : at
  const value = typeof position === 'bigint' || Number.isInteger(position) ? list.items[Number(position)] : undefined
  if (value === undefined) throw new CelError(`index out of bounds: ${display(at)}`)
  return value
}

function entry(map: MapValue, key: Value): Value {
  const value = map.get(key)
  if (value === undefined) throw new CelError(`no such key: ${display(key)}`)
  return value
}

/** Returns the entry or item at a key, as an optional. */
function find(value: Value, key: Value): Optional {
  const list = value instanceof Optional ? value.value : value
  if (!(list instanceof ListValue)) return findEntry(value, key)
  return optionalOf(typeof key === 'bigint' ? list.items[Number(key)] : undefined)
}

const containers: readonly Row[] = [
  ['_[_]', '(list<A>, int) -> A', index],
  ['_[_]', '(map<K, V>, K) -> V', entry],
  ['_[_]', '(optional<list<V>>, int) -> optional<V>', find],
  ['_[_]', '(optional<map<K, V>>, K) -> optional<V>', find],
  ['_[?_]', '(list<V>, int) -> optional<V>', find],
  ['_[?_]', '(optional<list<V>>, int) -> optional<V>', find],
  ['_[?_]', '(map<K, V>, K) -> optional<V>', find],
  ['_[?_]', '(optional<map<K, V>>, K) -> optional<V>', find],
  ['@in', '(A, list<A>) -> bool', (a: Value, list: ListValue) => list.items.some((each) => equal(each, a))],
  ['@in', '(A, map<A, B>) -> bool', (key: Value, map: MapValue) => map.get(key) !== undefined],
  ['cel.@mapInsert', '(map<K, V>, K, V) -> map<K, V>'],
  ['cel.@mapInsert', '(map<K, V>, map<K, V>) -> map<K, V>'],
]

const logic: readonly Row[] = [
  ['_==_', '(A, A) -> bool', equal],
  ['_!=_', '(A, A) -> bool', (a, b) => !equal(a, b)],
  ['!_', '(bool) -> bool', (a) => !a],
  ['_&&_', '(bool, bool) -> bool'],
  ['_||_', '(bool, bool) -> bool'],
  ['_?_:_', '(bool, A, A) -> A'],
  ['@not_strictly_false', '(bool) -> bool'],
]

function toInt(value: Value): bigint {
  if (value instanceof Uint) return int(value.value)
  if (value instanceof Timestamp) return floorDivide(value.nanos, 1_000_000_000n)
  if (typeof value === 'number') {
    if (!(value > -(2 ** 63) && value < 2 ** 63)) throw new CelError('integer overflow')
    return BigInt(Math.trunc(value))
  }
  const text = String(value)
  if (!/^[+-]?\d+$/.test(text)) throw badConversion(value, 'int')
  const result = BigInt(text.replace('+', ''))
  if (result > MAX_INT || result < MIN_INT) throw badConversion(value, 'int')
  return result
}

function floorDivide(a: bigint, b: bigint): bigint {
  const result = a / b
  return a % b < 0n ? result - 1n : result
}

function toUint(value: Value): Uint {
  if (typeof value === 'bigint') return uint(value)
  if (typeof value === 'number') {
    if (!(value >= 0 && value < 2 ** 64)) throw new CelError('unsigned integer overflow')
    return new Uint(BigInt(Math.trunc(value)))
  }
  if (!/^\d+$/.test(String(value)) || BigInt(String(value)) > MAX_UINT) throw badConversion(value, 'uint')
  return new Uint(BigInt(String(value)))
}

function toDouble(text: string): number {
  const special = /^([+-]?)(?:inf(?:inity)?|(nan))$/i.exec(text)
  if (special) return special[2] ? NaN : special[1] === '-' ? -Infinity : Infinity
  const value = Number(text)
  if (!/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text) || !Number.isFinite(value)) {
    throw badConversion(text, 'double')
  }
  return value
}

function toBool(text: string): boolean {
  if (/^(?:1|t|T|TRUE|true|True)$/.test(text)) return true
  if (/^(?:0|f|F|FALSE|false|False)$/.test(text)) return false
  throw badConversion(text, 'bool')
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    // The exception adds nothing to the fact that the bytes are no text.
    throw new CelError('invalid UTF-8 in bytes, cannot convert to string')
  }
}

const same = (value: Value): Value => value

const conversions: readonly Row[] = [
  ['dyn', '(A) -> dyn', same],
  ['type', '(A) -> type', (value: Value) => new TypeValue(typeNameOf(value))],
  ['bool', '(bool) -> bool', same],
  ['bool', '(string) -> bool', toBool],
  ['bytes', '(bytes) -> bytes', same],
  ['bytes', '(string) -> bytes', (text) => new TextEncoder().encode(text)],
  ['double', '(double) -> double', same],
  ['double', '(int) -> double', Number],
  ['double', '(string) -> double', toDouble],
  ['double', '(uint) -> double', (value: Uint) => Number(value.value)],
  ['duration', '(duration) -> duration', same],
  ['duration', '(int) -> duration', (nanos) => new Duration(nanos)],
  ['duration', '(string) -> duration', parseDuration],
  ['int', '(int) -> int', same],
  ['int', '(double) -> int', toInt],
  ['int', '(duration) -> int', (value: Duration) => value.nanos],
  ['int', '(string) -> int', toInt],
  ['int', '(timestamp) -> int', toInt],
  ['int', '(uint) -> int', toInt],
  ['string', '(string) -> string', same],
  ['string', '(bool) -> string', String],
  ['string', '(bytes) -> string', decode],
  ['string', '(double) -> string', (value) => goNumber(value, 6)],
  ['string', '(duration) -> string', durationText],
  ['string', '(int) -> string', String],
  ['string', '(timestamp) -> string', timestampText],
  ['string', '(uint) -> string', (value: Uint) => String(value.value)],
  ['timestamp', '(timestamp) -> timestamp', same],
  ['timestamp', '(int) -> timestamp', (seconds) => new Timestamp(seconds * 1_000_000_000n)],
  ['timestamp', '(string) -> timestamp', parseTimestamp],
  ['uint', '(uint) -> uint', same],
  ['uint', '(double) -> uint', toUint],
  ['uint', '(int) -> uint', toUint],
  ['uint', '(string) -> uint', toUint],
]

function sizes(): Row[] {
  const length = (value: Value): bigint => {
    if (typeof value === 'string') return BigInt([...value].length)
    if (value instanceof Uint8Array) return BigInt(value.length)
    return BigInt(value instanceof ListValue ? value.items.length : (value as MapValue).size)
  }
  return ['bytes', 'list<A>', 'map<A,B>', 'string'].flatMap((type): Row[] => [
    ['size', `(${type}) -> int`, length],
    ['size', `${type}.() -> int`, length],
  ])
}

function unwrap(optional: Optional): Value {
  if (optional.value === undefined) throw new CelError('optional.none() dereference')
  return optional.value
}

const ZERO = (value: Value): boolean => {
  if (value === null || value === false || value === '' || value === 0n || value === 0) return true
  if (value instanceof ListValue) return value.items.length === 0
  return typeof value === 'object' && isMap(value) && value.size === 0
}

const optionals: readonly Row[] = [
  ['optional.of', '(V) -> optional<V>', (value) => new Optional(value)],
  [
    'optional.ofNonZeroValue',
    '(V) -> optional<V>',
    (value) => ZERO(value) ? NONE : new Optional(value),
  ],
  ['optional.none', '() -> optional<V>', () => NONE],
  ['value', 'optional<V>.() -> V', unwrap],
  ['hasValue', 'optional<V>.() -> bool', (optional: Optional) => optional.value !== undefined],
  ['or', 'optional<V>.(optional<V>) -> optional<V>'],
  ['orValue', 'optional<V>.(V) -> V'],
  ['optional.unwrap', '(list<optional<V>>) -> list<V>', unwrapped],
  ['unwrapOpt', 'list<optional<V>>.() -> list<V>', unwrapped],
  ['first', 'list<V>.() -> optional<V>', ({ items }: ListValue) => optionalOf(items[0])],
  ['last', 'list<V>.() -> optional<V>', ({ items }: ListValue) => optionalOf(items.at(-1))],
]

function unwrapped({ items }: ListValue): ListValue {
  return new ListValue(
    items.flatMap((each) => each instanceof Optional && each.value !== undefined ? [each.value] : []),
  )
}

export const CORE: readonly Row[] = [
  ...logic,
  ...arithmetic(),
  ...comparisons(),
  ...containers,
  ...conversions,
  ...sizes(),
  ...optionals,
]
