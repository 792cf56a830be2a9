/** The form of the tables of functions, and how calls find an overload by the values of their arguments. */
import { type CelType, parseType, splitTypes } from '../types.ts'
import { isLibraryValue, kindOf, Optional, typeNameOf, type Value } from '../values.ts'

// deno-lint-ignore no-explicit-any -- the signature beside it says what a function gets
type Implementation = (...args: any[]) => Value

/** One overload: `string.(int) -> bool` is called as `target.name(arg)`, `(A, A) -> A` as `name(a, b)`. */
export type Row = readonly [name: string, signature: string, run?: Implementation]

export interface Overload {
  /** The name with the types of the operands, such as `string.matches(string)`: costs depend on them. */
  readonly id: string
  /** Whether it is called as `target.name()`; the target is the first argument. */
  readonly isMember: boolean
  readonly args: readonly CelType[]
  readonly result: CelType
  /** The names of the type parameters. */
  readonly params: readonly string[]
  readonly run: Implementation | undefined
}

export function overloadOf([name, signature, run]: Row): Overload {
  const [, target, args, result] = /^(?:(\S+?)\.)?\((.*)\) -> (.+)$/.exec(signature)!
  const types = [...(target ? [target] : []), ...splitTypes(args!)]
  return {
    id: `${target ? `${target}.` : ''}${name}(${args})`,
    isMember: target !== undefined,
    args: types.map(parseType),
    result: parseType(result!),
    params: [...new Set(signature.match(/\b[A-Z]\b/g))],
    run,
  }
}

/** Returns whether a value is of a type, as far as a value shows it. */
export function isOf(value: Value, { kind, name }: CelType): boolean {
  if (kind === 'dyn' || kind === 'param') return true
  if (isLibraryValue(value) || value instanceof Optional) return typeNameOf(value) === name
  const own = kindOf(value)
  return own === kind || (own === 'map' && kind === 'struct')
}
