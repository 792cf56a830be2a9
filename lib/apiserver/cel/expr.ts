/** The tree of an expression. */
import type { Value } from './values.ts'

/** A node of an expression. `at` is its offset in the source, for messages. */
export type Expr =
  & { readonly at: number }
  & (
    | { readonly kind: 'literal'; readonly value: Value }
    | { readonly kind: 'ident'; readonly name: string }
    | { readonly kind: 'select'; readonly operand: Expr; readonly field: string; readonly test: boolean }
    | { readonly kind: 'call'; readonly fn: string; readonly target: Expr | undefined; readonly args: readonly Expr[] }
    | { readonly kind: 'list'; readonly items: readonly Expr[] }
    /** An item or the value of an entry, which is left out if this has no value: `[?x]`, `{?k: x}`. */
    | { readonly kind: 'optional'; readonly value: Expr }
    | { readonly kind: 'map'; readonly entries: readonly (readonly [Expr, Expr])[] }
    | Comprehension
  )

/** A loop over a list or map, as macros make it. */
export interface Comprehension {
  readonly at: number
  readonly kind: 'loop'
  readonly range: Expr
  readonly key: string
  /** The second variable: the value of an entry, or the item of a list whose index is in the first. */
  readonly value: string | undefined
  readonly result: string
  readonly init: Expr
  readonly condition: Expr
  readonly step: Expr
  readonly end: Expr
}

export function call(at: number, fn: string, ...args: readonly Expr[]): Expr {
  return { kind: 'call', at, fn, target: undefined, args }
}

/** The words that no variable or function may have as its name. */
export const RESERVED: ReadonlySet<string> = new Set([
  ...['true', 'false', 'null', 'in', 'as', 'break', 'const', 'continue', 'else', 'for', 'function', 'if', 'import'],
  ...['let', 'loop', 'package', 'namespace', 'return', 'var', 'void', 'while'],
])

export interface SyntaxProblem {
  readonly at: number
  readonly message: string
}

/** Thrown for an expression that cannot be parsed. */
export class ExpressionError extends Error {
  readonly at: number

  constructor(at: number, message: string) {
    super(message)
    this.at = at
  }
}
