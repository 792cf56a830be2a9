/** Compiles the rules of one level of a schema. */
import { type Compiled, compileExpression } from './expressions.ts'
import type { Program } from './evaluate.ts'
import { fieldOf } from './field_path.ts'
import { declOf, maxCount, type Rule, type RuleSchema, structsOf } from './schema.ts'
import { type CelType, optionalOf } from './types.ts'

export interface CompiledRule {
  readonly rule: Rule
  readonly program?: Program
  readonly problem?: string
  readonly cost: number
  readonly usesOldSelf: boolean
  readonly message?: Program
  readonly messageProblem?: string
  readonly messageCost: number
  /** The path below the schema's value that faults are reported at, such as `spec.a`. */
  readonly fieldPath: string
  /** How often the value fits into the largest request. */
  readonly cardinality: number
}

/** The name of the type of `self` in messages. The real server makes a new one each time. */
const SELF = 'selfType'

/** Compiles the rules of a schema; rules on values that rules cannot see are dropped. */
export function compileRules(schema: RuleSchema, isResource: boolean): readonly CompiledRule[] {
  const decl = declOf(schema, SELF, isResource)
  if (!decl) return []
  const structs = structsOf(decl)
  const fieldsOf = (name: string): ReadonlyMap<string, CelType> | undefined => structs.get(name)
  return (schema['x-kubernetes-validations'] ?? []).map((rule) => {
    const oldSelf = rule.optionalOldSelf ? optionalOf(decl.type) : decl.type
    const scope = { variables: new Map([['self', decl.type], ['oldSelf', oldSelf]]), fieldsOf }
    return compileRule(rule, schema, (source) => compileExpression(source, scope, decl), maxCount(decl.minBytes))
  })
}

function compileRule(
  rule: Rule,
  schema: RuleSchema,
  compile: (source: string) => Compiled | string,
  cardinality: number,
): CompiledRule {
  const none = { rule, cost: 0, usesOldSelf: false, messageCost: 0, fieldPath: '', cardinality }
  if (!rule.rule?.trim()) return none
  const compiled = compile(rule.rule)
  if (typeof compiled === 'string') return { ...none, problem: compiled }
  if (compiled.type.kind !== 'bool') return { ...none, problem: 'cel expression must evaluate to a bool' }
  const field = rule.fieldPath ? fieldOf(rule.fieldPath, schema) : undefined
  return {
    ...none,
    program: compiled.program,
    cost: compiled.cost,
    usesOldSelf: compiled.program.uses.has('oldSelf'),
    fieldPath: typeof field === 'object' ? field.path : '',
    ...(rule.messageExpression && compileMessage(compile(rule.messageExpression))),
  }
}

function compileMessage(compiled: Compiled | string): Partial<CompiledRule> {
  if (typeof compiled === 'string') return { messageProblem: `messageExpression ${compiled.replace(/^program /, '')}` }
  if (compiled.type.kind !== 'string') return { messageProblem: 'messageExpression must evaluate to a string' }
  return { message: compiled.program, messageCost: compiled.cost }
}
