/** Compiles expressions: parses, checks, and estimates costs. */
import { check, type Checked, describeProblems, type Scope } from './checker.ts'
import { maxCost } from './cost.ts'
import { compile, type Program } from './evaluate.ts'
import type { Decl } from './schema.ts'
import { parse } from './syntax.ts'
import type { CelType } from './types.ts'

export interface Compiled {
  readonly program: Program
  readonly type: CelType
  /** The highest cost, in cel-go's units. */
  readonly cost: number
}

/** Returns a compiled expression, or what is wrong with it in the words of cel-go. */
export function compileExpression(source: string, scope: Scope, root?: Decl): Compiled | string {
  const expr = parse(source)
  if (!('kind' in expr)) return describeProblems(source, expr)
  const checked: Checked = check(expr, scope)
  if (checked.problems.length > 0) return describeProblems(source, checked.problems)
  return { program: compile(checked), type: checked.type, cost: maxCost(checked, root) }
}
