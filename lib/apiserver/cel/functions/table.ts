/** The form of the tables of functions, and how calls find an overload by the values of their arguments. */
import { type CelType, parseType, splitTypes } from '../types.ts'
import {
  Duration,
  isLibraryValue,
  isMap,
  ListValue,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from '../values.ts'

// deno-lint-ignore no-explicit-any -- the signature beside it says what a function gets
type Implementation = (...args: any[]) => Value

/** Name, signature, id of the overload in cel-go (on which costs depend), implementation. */
export type Row = readonly [name: string, signature: string, id: string, run?: Implementation]

export interface Overload {
  readonly id: string
  /** Whether it is called as `target.name()`; the target is the first argument. */
  readonly isMember: boolean
  readonly args: readonly CelType[]
  readonly result: CelType
  /** The names of the type parameters. */
  readonly params: readonly string[]
  readonly run: Implementation | undefined
}

/** Parses `string.(int) -> bool` or `(A, A) -> A`. */
export function overloadOf([, signature, id, run]: Row): Overload {
  const [, target, args, result] = /^(?:(\S+?)\.)?\((.*)\) -> (.+)$/.exec(signature)!
  const types = [...(target ? [target] : []), ...splitTypes(args!)]
  return {
    id,
    isMember: target !== undefined,
    args: types.map(parseType),
    result: parseType(result!),
    params: [...new Set(signature.match(/\b[A-Z]\b/g))],
    run,
  }
}

/** Returns whether a value is of a type, as far as a value shows it. */
export function isOf(value: Value, { kind, name }: CelType): boolean {
  switch (kind) {
    case 'bool':
      return typeof value === 'boolean'
    case 'int':
      return typeof value === 'bigint'
    case 'double':
      return typeof value === 'number'
    case 'string':
      return typeof value === 'string'
    case 'null':
      return value === null
    case 'uint':
      return value instanceof Uint
    case 'bytes':
      return value instanceof Uint8Array
    case 'duration':
      return value instanceof Duration
    case 'timestamp':
      return value instanceof Timestamp
    case 'type':
      return value instanceof TypeValue
    case 'list':
      return value instanceof ListValue
    case 'map':
      return isMap(value)
    case 'struct':
      return isLibraryValue(value) ? value.typeName === name : isMap(value)
    case 'opaque':
      return name === 'optional_type' ? value instanceof Optional : isLibraryValue(value) && value.typeName === name
    default:
      return true
  }
}
