/** Compiles expressions: parses, checks, and estimates costs. */
import { check, type Checked, describeProblems, type Scope } from './checker.ts'
import { maxCost } from './cost.ts'
import { compile, type Program } from './evaluate.ts'
import type { Decl } from './schema.ts'
import { parse } from './syntax.ts'
import type { CelType } from './types.ts'
import { CelError } from './values.ts'

export interface Compiled {
  readonly program: Program
  readonly type: CelType
  /** The highest cost, in cel-go's units. */
  readonly cost: number
}

/** Returns a compiled expression, or what is wrong with it in the words of the real server. */
export function compileExpression(source: string, scope: Scope, root?: Decl): Compiled | string {
  const expr = parse(source)
  if (!('kind' in expr)) return `compilation failed: ${describeProblems(source, expr)}`
  const checked: Checked = check(expr, scope)
  if (checked.problems.length > 0) return `compilation failed: ${describeProblems(source, checked.problems)}`
  try {
    return { program: compile(checked), type: checked.type, cost: maxCost(checked, root) }
  } catch (error) {
    if (error instanceof CelError) return `program instantiation failed: ${error.message}`
    throw error
  }
}

const MAX_MESSAGE_BYTES = 5 * 1024

/** Returns the result of a message expression; undefined if it is no message of a real server. */
export function usableMessage(result: unknown): string | undefined {
  const text = typeof result === 'string' ? result.trim() : ''
  const isUsable = text !== '' && !text.includes('\n') && new TextEncoder().encode(text).length <= MAX_MESSAGE_BYTES
  return isUsable ? text : undefined
}
