/** The values of CEL: scalars with exact integers, times, lists, maps, and objects that are read by their schema. */

import { jsonEqual } from '../../core/equal.ts'
import type { JsonObject } from '../model/json.ts'
import type { CelType } from './types.ts'

/** Thrown by an evaluation, in the words of cel-go. */
export class CelError extends Error {
  override readonly name = 'CelError'
}

export function noSuchOverload(): CelError {
  return new CelError('no such overload')
}

/** Returns the result of an evaluation, or its failure. */
export function outcomeOf<Given>(evaluate: (given: Given) => Value, given?: Given): Value | CelError {
  try {
    return evaluate(given as Given)
  } catch (error) {
    if (error instanceof CelError) return error
    throw error
  }
}

export class Uint {
  readonly value: bigint

  constructor(value: bigint) {
    this.value = value
  }
}

class Nanoseconds {
  readonly nanos: bigint

  constructor(nanos: bigint) {
    this.nanos = nanos
  }
}

export class Duration extends Nanoseconds {}

/** A moment since 1970. */
export class Timestamp extends Nanoseconds {}

export class TypeValue {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

export class Optional {
  readonly value: Value | undefined

  constructor(value?: Value) {
    this.value = value
  }
}

export const NONE: Optional = new Optional()

export function optionalOf(value: Value | undefined): Optional {
  return value === undefined ? NONE : new Optional(value)
}

/** A value of a Kubernetes library, such as an IP address. */
export interface LibraryValue {
  readonly typeName: string
  /** Equal values of a type have the same. */
  readonly id: string | bigint
}

/** A list; `keyOf` makes its order irrelevant: `set` and `map` lists are equal if their items are. */
export class ListValue {
  readonly items: readonly Value[]
  /** Returns what identifies an item: the item of a set, the keys of a map's item. */
  readonly keyOf?: (item: Value) => Value

  constructor(items: readonly Value[], keyOf?: (item: Value) => Value) {
    this.items = items
    if (keyOf) this.keyOf = keyOf
  }
}

/** A map or an object. Keys are strings, booleans and integers; `get` of a missing key returns undefined. */
export interface MapValue {
  readonly isMap: true
  readonly size: number
  /** The name of the type, for an object with a schema. */
  readonly struct?: string
  /** The JSON of fields without a schema, which expressions cannot read. */
  readonly unknown?: JsonObject
  keys(): Iterable<Value>
  get(key: Value): Value | undefined
}

export class Entries implements MapValue {
  readonly isMap = true
  readonly #entries = new Map<Value, Value>()

  get size(): number {
    return this.#entries.size
  }

  keys(): Iterable<Value> {
    return this.#entries.keys()
  }

  get(key: Value): Value | undefined {
    return this.#entries.get(toKey(key))
  }

  /** Throws if the key exists. */
  add(key: Value, value: Value): void {
    const id = toKey(key)
    if (this.#entries.has(id)) throw new CelError(`insert failed: key ${display(key)} already exists`)
    this.#entries.set(id, value)
  }

  set(key: Value, value: Value): void {
    this.#entries.set(toKey(key), value)
  }
}

/** Integers of all types are equal as keys. */
function toKey(key: Value): Value {
  if (key instanceof Uint) return key.value
  return typeof key === 'number' && Number.isInteger(key) ? BigInt(key) : key
}

export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | Uint
  | Duration
  | Timestamp
  | TypeValue
  | Optional
  | ListValue
  | MapValue
  | LibraryValue

export function isMap(value: Value): value is MapValue {
  return typeof value === 'object' && value !== null && 'isMap' in value
}

export function isLibraryValue(value: Value): value is LibraryValue {
  return typeof value === 'object' && value !== null && 'typeName' in value
}

/** Returns the value of a field or a key as an optional. The container may be an optional itself. */
export function findEntry(value: Value, key: Value): Optional {
  const container = value instanceof Optional ? value.value : value
  if (container === undefined) return NONE
  if (!isMap(container)) throw noSuchOverload()
  return optionalOf(container.get(key))
}

/** Returns the kind of a value's type, as far as the value shows it. A library has values of several types. */
export function kindOf(value: Value): Exclude<CelType['kind'], 'dyn' | 'error' | 'param'> | 'library' {
  switch (typeof value) {
    case 'boolean':
      return 'bool'
    case 'bigint':
      return 'int'
    case 'number':
      return 'double'
    case 'string':
      return 'string'
  }
  if (value === null) return 'null'
  if (value instanceof Uint) return 'uint'
  if (value instanceof Uint8Array) return 'bytes'
  if (value instanceof Duration) return 'duration'
  if (value instanceof Timestamp) return 'timestamp'
  if (value instanceof TypeValue) return 'type'
  if (value instanceof Optional) return 'opaque'
  if (value instanceof ListValue) return 'list'
  return isMap(value) ? 'map' : 'library'
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  null: 'null_type',
  duration: 'google.protobuf.Duration',
  timestamp: 'google.protobuf.Timestamp',
  opaque: 'optional_type',
}

/** Returns the name of a value's type. */
export function typeNameOf(value: Value): string {
  if (isLibraryValue(value)) return value.typeName
  const kind = kindOf(value)
  return (kind === 'map' ? (value as MapValue).struct : TYPE_NAMES[kind]) ?? kind
}

/** Returns the text of a value in messages. */
export function display(value: Value): string {
  if (typeof value === 'string' || typeof value === 'boolean' || typeof value === 'bigint') return String(value)
  if (typeof value === 'number') return goNumber(value)
  if (value instanceof Uint) return String(value.value)
  if (value === null) return 'null'
  return typeNameOf(value)
}

/** Formats a double as Go's %v does, or %g with `maxExponent` 6: larger exponents are written with an `e`. */
export function goNumber(value: number, maxExponent = 21): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'
  if (Object.is(value, -0)) return '-0'
  const exponent = value === 0 ? 0 : Number(value.toExponential().split('e')[1])
  if (exponent >= -4 && exponent < maxExponent) return value.toString().includes('e') ? decimal(value) : String(value)
  return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2')
}

function decimal(value: number): string {
  return value.toFixed(20).replace(/0+$/, '')
}

/** Returns whether two values are equal. Numbers of all types are compared; other types that differ are not equal. */
export function equal(a: Value, b: Value): boolean {
  if (a === b) return true
  const x = numeric(a)
  const y = numeric(b)
  if (x !== undefined || y !== undefined) return x !== undefined && y !== undefined && x == y
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (a instanceof ListValue) return b instanceof ListValue && equalLists(a, b)
  if (a instanceof Uint8Array) return b instanceof Uint8Array && a.length === b.length && a.every((x, i) => x === b[i])
  if (a instanceof Duration) return b instanceof Duration && a.nanos === b.nanos
  if (a instanceof Timestamp) return b instanceof Timestamp && a.nanos === b.nanos
  if (a instanceof TypeValue) return b instanceof TypeValue && a.name === b.name
  if (a instanceof Optional) {
    if (!(b instanceof Optional)) return false
    return a.value === undefined || b.value === undefined ? a.value === b.value : equal(a.value, b.value)
  }
  if (isMap(a)) return isMap(b) && equalMaps(a, b)
  return isLibraryValue(a) && isLibraryValue(b) && a.typeName === b.typeName && a.id === b.id
}

function numeric(value: Value): bigint | number | undefined {
  if (typeof value === 'bigint' || typeof value === 'number') return value
  return value instanceof Uint ? value.value : undefined
}

/** The list at the left decides whether the order counts. */
function equalLists(a: ListValue, b: ListValue): boolean {
  if (a.items.length !== b.items.length) return false
  const { keyOf } = a
  if (!keyOf) return a.items.every((item, index) => equal(item, b.items[index]!))
  return b.items.every((item) => a.items.some((each) => equal(each, item)))
}

function equalMaps(a: MapValue, b: MapValue): boolean {
  if (a.size !== b.size) return false
  for (const key of a.keys()) {
    const other = b.get(key)
    if (other === undefined || !equal(a.get(key)!, other)) return false
  }
  const { unknown = {} } = b
  return Object.entries(a.unknown ?? {}).every(([name, json]) =>
    unknown[name] === undefined || jsonEqual(json!, unknown[name])
  )
}

/** Adds lists. Items of a set are added once; items of a map replace those with their keys. */
export function concatenate(a: ListValue, b: ListValue): ListValue {
  const { keyOf } = a
  if (!keyOf) return new ListValue([...a.items, ...b.items])
  const items = [...a.items]
  for (const item of b.items) {
    const key = keyOf(item)
    const at = items.findIndex((each) => equal(keyOf(each), key))
    if (at < 0) items.push(item)
    else items[at] = item
  }
  return new ListValue(items, keyOf)
}
