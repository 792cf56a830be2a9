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
  const ints = (name: string, id: string, run: (a: bigint, b: bigint) => bigint): Row[] => [
    [name, '(int, int) -> int', `${id}_int64`, (a, b) => int(run(a, b))],
    [name, '(uint, uint) -> uint', `${id}_uint64`, (a: Uint, b: Uint) => uint(run(a.value, b.value))],
  ]
  const doubles = (name: string, id: string, run: (a: number, b: number) => number): Row => [
    name,
    '(double, double) -> double',
    `${id}_double`,
    run,
  ]
  return [
    ...ints('_+_', 'add', (a, b) => a + b),
    ...ints('_-_', 'subtract', (a, b) => a - b),
    ...ints('_*_', 'multiply', (a, b) => a * b),
    ...ints('_/_', 'divide', (a, b) => a / nonZero(b, 'division by zero')),
    ...ints('_%_', 'modulo', (a, b) => a % nonZero(b, 'modulus by zero')),
    doubles('_+_', 'add', (a, b) => a + b),
    doubles('_-_', 'subtract', (a, b) => a - b),
    doubles('_*_', 'multiply', (a, b) => a * b),
    doubles('_/_', 'divide', (a, b) => a / b),
    ['-_', '(int) -> int', 'negate_int64', (a: bigint) => int(-a)],
    ['-_', '(double) -> double', 'negate_double', (a) => -a],
    ['_+_', '(string, string) -> string', 'add_string', (a, b) => a + b],
    ['_+_', '(bytes, bytes) -> bytes', 'add_bytes', (a, b) => new Uint8Array([...a, ...b])],
    ['_+_', '(list<A>, list<A>) -> list<A>', 'add_list', concatenate],
    ['_+_', '(duration, duration) -> duration', 'add_duration_duration', sum(Duration)],
    ['_+_', '(duration, timestamp) -> timestamp', 'add_duration_timestamp', sum(Timestamp)],
    ['_+_', '(timestamp, duration) -> timestamp', 'add_timestamp_duration', sum(Timestamp)],
    ['_-_', '(duration, duration) -> duration', 'subtract_duration_duration', difference(Duration)],
    ['_-_', '(timestamp, timestamp) -> duration', 'subtract_timestamp_timestamp', difference(Duration)],
    ['_-_', '(timestamp, duration) -> timestamp', 'subtract_timestamp_duration', difference(Timestamp)],
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

const ORDERED: readonly (readonly [type: string, id: string])[] = [
  ['bool', 'bool'],
  ['int', 'int64'],
  ['uint', 'uint64'],
  ['double', 'double'],
  ['string', 'string'],
  ['bytes', 'bytes'],
  ['timestamp', 'timestamp'],
  ['duration', 'duration'],
]
const NUMBERS = ORDERED.slice(1, 4)

function comparisons(): Row[] {
  const operators: readonly (readonly [string, string, (a: Comparable, b: Comparable) => boolean])[] = [
    ['_<_', 'less', (a, b) => a < b],
    ['_<=_', 'less_equals', (a, b) => a <= b],
    ['_>_', 'greater', (a, b) => a > b],
    ['_>=_', 'greater_equals', (a, b) => a >= b],
  ]
  return operators.flatMap(([name, word, test]) => {
    const run = (a: Value, b: Value): boolean => test(order(a), order(b))
    return [
      ...ORDERED.map(([type, id]): Row => [name, `(${type}, ${type}) -> bool`, `${word}_${id}`, run]),
      ...NUMBERS.flatMap(([a, x]) =>
        NUMBERS.filter(([b]) => a !== b).map(([b, y]): Row => [name, `(${a}, ${b}) -> bool`, `${word}_${x}_${y}`, run])
      ),
    ]
  })
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
  ['_[_]', '(list<A>, int) -> A', 'index_list', index],
  ['_[_]', '(map<K, V>, K) -> V', 'index_map', entry],
  ['_[_]', '(optional<list<V>>, int) -> optional<V>', 'optional_list_index_int', find],
  ['_[_]', '(optional<map<K, V>>, K) -> optional<V>', 'optional_map_index_value', find],
  ['_[?_]', '(list<V>, int) -> optional<V>', 'list_optindex_optional_int', find],
  ['_[?_]', '(optional<list<V>>, int) -> optional<V>', 'optional_list_optindex_optional_int', find],
  ['_[?_]', '(map<K, V>, K) -> optional<V>', 'map_optindex_optional_value', find],
  ['_[?_]', '(optional<map<K, V>>, K) -> optional<V>', 'optional_map_optindex_optional_value', find],
  ['@in', '(A, list<A>) -> bool', 'in_list', (a: Value, list: ListValue) => list.items.some((each) => equal(each, a))],
  ['@in', '(A, map<A, B>) -> bool', 'in_map', (key: Value, map: MapValue) => map.get(key) !== undefined],
  ['cel.@mapInsert', '(map<K, V>, K, V) -> map<K, V>', '@mapInsert_map_key_value'],
  ['cel.@mapInsert', '(map<K, V>, map<K, V>) -> map<K, V>', '@mapInsert_map_map'],
]

const logic: readonly Row[] = [
  ['_==_', '(A, A) -> bool', 'equals', equal],
  ['_!=_', '(A, A) -> bool', 'not_equals', (a, b) => !equal(a, b)],
  ['!_', '(bool) -> bool', 'logical_not', (a) => !a],
  ['_&&_', '(bool, bool) -> bool', 'logical_and'],
  ['_||_', '(bool, bool) -> bool', 'logical_or'],
  ['_?_:_', '(bool, A, A) -> A', 'conditional'],
  ['@not_strictly_false', '(bool) -> bool', 'not_strictly_false'],
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
  ['dyn', '(A) -> dyn', 'to_dyn', same],
  ['type', '(A) -> type', 'type', (value: Value) => new TypeValue(typeNameOf(value))],
  ['bool', '(bool) -> bool', 'bool_to_bool', same],
  ['bool', '(string) -> bool', 'string_to_bool', toBool],
  ['bytes', '(bytes) -> bytes', 'bytes_to_bytes', same],
  ['bytes', '(string) -> bytes', 'string_to_bytes', (text) => new TextEncoder().encode(text)],
  ['double', '(double) -> double', 'double_to_double', same],
  ['double', '(int) -> double', 'int64_to_double', Number],
  ['double', '(string) -> double', 'string_to_double', toDouble],
  ['double', '(uint) -> double', 'uint64_to_double', (value: Uint) => Number(value.value)],
  ['duration', '(duration) -> duration', 'duration_to_duration', same],
  ['duration', '(int) -> duration', 'int64_to_duration', (nanos) => new Duration(nanos)],
  ['duration', '(string) -> duration', 'string_to_duration', parseDuration],
  ['int', '(int) -> int', 'int64_to_int64', same],
  ['int', '(double) -> int', 'double_to_int64', toInt],
  ['int', '(duration) -> int', 'duration_to_int64', (value: Duration) => value.nanos],
  ['int', '(string) -> int', 'string_to_int64', toInt],
  ['int', '(timestamp) -> int', 'timestamp_to_int64', toInt],
  ['int', '(uint) -> int', 'uint64_to_int64', toInt],
  ['string', '(string) -> string', 'string_to_string', same],
  ['string', '(bool) -> string', 'bool_to_string', String],
  ['string', '(bytes) -> string', 'bytes_to_string', decode],
  ['string', '(double) -> string', 'double_to_string', (value) => goNumber(value, 6)],
  ['string', '(duration) -> string', 'duration_to_string', durationText],
  ['string', '(int) -> string', 'int64_to_string', String],
  ['string', '(timestamp) -> string', 'timestamp_to_string', timestampText],
  ['string', '(uint) -> string', 'uint64_to_string', (value: Uint) => String(value.value)],
  ['timestamp', '(timestamp) -> timestamp', 'timestamp_to_timestamp', same],
  ['timestamp', '(int) -> timestamp', 'int64_to_timestamp', (seconds) => new Timestamp(seconds * 1_000_000_000n)],
  ['timestamp', '(string) -> timestamp', 'string_to_timestamp', parseTimestamp],
  ['uint', '(uint) -> uint', 'uint64_to_uint64', same],
  ['uint', '(double) -> uint', 'double_to_uint64', toUint],
  ['uint', '(int) -> uint', 'int64_to_uint64', toUint],
  ['uint', '(string) -> uint', 'string_to_uint64', toUint],
]

function sizes(): Row[] {
  const length = (value: Value): bigint => {
    if (typeof value === 'string') return BigInt([...value].length)
    if (value instanceof Uint8Array) return BigInt(value.length)
    return BigInt(value instanceof ListValue ? value.items.length : (value as MapValue).size)
  }
  return (['bytes', 'list<A>', 'map<A, B>', 'string'] as const).flatMap((type): Row[] => {
    const word = type.replace(/<.*/, '')
    return [
      ['size', `(${type}) -> int`, `size_${word}`, length],
      ['size', `${type.replace(' ', '')}.() -> int`, `${word}_size`, length],
    ]
  })
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
  ['optional.of', '(V) -> optional<V>', 'optional_of', (value) => new Optional(value)],
  [
    'optional.ofNonZeroValue',
    '(V) -> optional<V>',
    'optional_ofNonZeroValue',
    (value) => ZERO(value) ? NONE : new Optional(value),
  ],
  ['optional.none', '() -> optional<V>', 'optional_none', () => NONE],
  ['value', 'optional<V>.() -> V', 'optional_value', unwrap],
  ['hasValue', 'optional<V>.() -> bool', 'optional_hasValue', (optional: Optional) => optional.value !== undefined],
  ['or', 'optional<V>.(optional<V>) -> optional<V>', 'optional_or_optional'],
  ['orValue', 'optional<V>.(V) -> V', 'optional_orValue_value'],
  ['optional.unwrap', '(list<optional<V>>) -> list<V>', 'optional_unwrap', unwrapped],
  ['unwrapOpt', 'list<optional<V>>.() -> list<V>', 'optional_unwrapOpt', unwrapped],
  ['first', 'list<V>.() -> optional<V>', 'list_first', ({ items }: ListValue) => optionalOf(items[0])],
  ['last', 'list<V>.() -> optional<V>', 'list_last', ({ items }: ListValue) => optionalOf(items.at(-1))],
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
