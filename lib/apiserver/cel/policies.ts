/** Compiles and evaluates the expressions of admission policies. */
import type { Json } from '../model/json.ts'
import { remembered } from '../model/remembered.ts'
import type { Scope } from './checker.ts'
import {
  dynamic,
  evaluateAll,
  evaluated,
  outcomeOfProgram,
  REQUEST_SCOPE,
  type RequestInput,
  requestVariables,
} from './conditions.ts'
import type { Program } from './evaluate.ts'
import { type Compiled, compileExpression, usableMessage } from './expressions.ts'
import { type CelType, DYN, structOf, typeName } from './types.ts'
import { CelError, Entries, type Value } from './values.ts'

/** The parts of a policy that are evaluated. */
interface PolicySpec {
  readonly paramKind?: { readonly apiVersion: string; readonly kind: string }
  readonly failurePolicy?: string
  readonly matchConditions?: readonly { readonly expression: string }[]
  readonly variables?: readonly { readonly name: string; readonly expression: string }[]
  readonly validations?: readonly Validation[]
  readonly auditAnnotations?: readonly { readonly valueExpression: string }[]
}

interface Validation {
  readonly expression: string
  readonly message?: string
  readonly messageExpression?: string
  readonly reason?: string
}

type Kind = 'bool' | 'string' | 'null'

const VARIABLES = 'kubernetes.variables'

/** Compiles the expressions of one policy; each may read the variables that are added before. */
export class PolicyCompiler {
  readonly variables: Map<string, Program | string> = new Map()
  readonly #types = new Map<string, CelType>()
  readonly #scope: Scope
  readonly #programs = new Map<string, Program | string>()

  constructor({ paramKind, variables: own = [] }: PolicySpec) {
    const variables = new Map(REQUEST_SCOPE.variables)
    if (paramKind) variables.set('params', DYN)
    if (own.length > 0) variables.set('variables', structOf(VARIABLES))
    const fieldsOf: Scope['fieldsOf'] = (name) => name === VARIABLES ? this.#types : REQUEST_SCOPE.fieldsOf(name)
    this.#scope = { variables, fieldsOf }
  }

  /** Returns a program with a result of one of these types, or what is wrong with the expression. */
  compile(source: string, ...wanted: readonly Kind[]): Program | string {
    return remembered(this.#programs, `${wanted.join()}:${source}`, () => {
      const compiled = compileExpression(source, this.#scope)
      return typeof compiled === 'string' ? compiled : typed(compiled, wanted)
    })
  }

  /** Compiles a variable. One that does not compile can be read, which fails. */
  add(name: string, source: string): Program | string {
    const compiled = compileExpression(source, this.#scope)
    const { program, type } = typeof compiled === 'string' ? { program: compiled, type: DYN } : compiled
    // As on a real server, objects of libraries lose their type in a variable.
    this.#types.set(name, ['struct', 'opaque', 'type'].includes(type.kind) ? DYN : type)
    this.variables.set(name, program)
    return program
  }
}

function typed({ program, type }: Compiled, wanted: readonly Kind[]): Program | string {
  if (wanted.some((kind) => kind === type.kind)) return program
  const types = wanted.length === 1 ? wanted[0] : 'one of [string null_type]'
  return `must evaluate to ${types} but got ${typeName(type)}`
}

/** Compiles conditions, whose results must be true or false. */
const CONDITIONS = new PolicyCompiler({})

/** Returns what is wrong with a condition, or undefined. */
export function conditionProblem(expression: string): string | undefined {
  const program = CONDITIONS.compile(expression, 'bool')
  return typeof program === 'string' ? program : undefined
}

/** Evaluates conditions. Returns whether all hold, or the failures if none is false. */
export function evaluateConditions(expressions: readonly string[], input: RequestInput): boolean | readonly string[] {
  return evaluateAll(expressions, (each) => CONDITIONS.compile(each, 'bool'), requestVariables(input))
}

const compilers = new WeakMap<PolicySpec, PolicyCompiler>()

function compilerOf(spec: PolicySpec): PolicyCompiler {
  return remembered(compilers, spec, () => {
    const compiler = new PolicyCompiler(spec)
    for (const { name, expression } of spec.variables ?? []) compiler.add(name, expression)
    return compiler
  })
}

/** The variables of a policy, each evaluated when it is read first. */
class Variables extends Entries {
  readonly #programs: ReadonlyMap<string, Program | string>
  readonly #values: Readonly<Record<string, Value>>
  readonly #known = new Map<Value, Value | CelError>()

  constructor(programs: ReadonlyMap<string, Program | string>, values: Readonly<Record<string, Value>>) {
    super()
    this.#programs = programs
    this.#values = { ...values, variables: this }
  }

  override get(name: Value): Value | undefined {
    if (!this.#known.has(name)) this.#known.set(name, this.#evaluate(String(name)))
    const value = this.#known.get(name)
    if (value instanceof CelError) throw value
    return value
  }

  #evaluate(name: string): Value | CelError {
    const program = this.#programs.get(name)!
    const outcome = outcomeOfProgram(program, this.#values)
    if (!(outcome instanceof CelError)) return outcome
    return new CelError(`composited variable ${JSON.stringify(name)} fails to evaluate: ${outcome.message}`)
  }
}

interface PolicyInput extends RequestInput {
  /** Null without parameters. */
  readonly params: Json
  readonly namespaceObject: Json
}

/** What a policy denies, and failed audit annotations: they refuse a request whatever the binding does. */
interface PolicyResult {
  readonly denials: readonly { readonly message: string; readonly reason: string }[]
  readonly failures: readonly string[]
}

/** Evaluates a policy. Failures count as denials, unless the policy ignores them. */
export function evaluatePolicy(spec: PolicySpec, input: PolicyInput): PolicyResult {
  const compiler = compilerOf(spec)
  const { matchConditions = [], validations = [], auditAnnotations = [], failurePolicy } = spec
  const failed = (message: string): PolicyResult['denials'] =>
    failurePolicy === 'Ignore' ? [] : [{ message, reason: 'Invalid' }]
  const values = { ...requestVariables(input), params: dynamic(input.params) }
  const conditions = matchConditions.map(({ expression }) => expression)
  const matches = evaluateAll(conditions, (each) => compiler.compile(each, 'bool'), values)
  if (matches === false) return { denials: [], failures: [] }
  if (matches !== true) {
    return { denials: failed(matches.length === 1 ? matches[0]! : `[${matches.join(', ')}]`), failures: [] }
  }
  // As on a real server, conditions do not see the namespace.
  const inside: Readonly<Record<string, Value>> = { ...values, namespaceObject: dynamic(input.namespaceObject) }
  const all = { ...inside, variables: new Variables(compiler.variables, inside) }
  const denials = validations.flatMap((validation) => {
    const result = evaluated(validation.expression, compiler.compile(validation.expression, 'bool'), all)
    if (result instanceof CelError) return failed(result.message)
    if (result === true) return []
    return [{ message: messageOf(validation, compiler, all), reason: validation.reason ?? 'Invalid' }]
  })
  const failures = auditAnnotations.flatMap(({ valueExpression: source }) => {
    const result = evaluated(source, compiler.compile(source, 'string', 'null'), all)
    return result instanceof CelError ? failed(result.message).map(({ message }) => message) : []
  })
  return { denials, failures }
}

function messageOf(
  { expression, message = '', messageExpression: source }: Validation,
  compiler: PolicyCompiler,
  values: Readonly<Record<string, Value>>,
): string {
  const result = source ? evaluated(source, compiler.compile(source, 'string'), values) : undefined
  return usableMessage(result) ?? (message.trim() || `failed expression: ${expression.trim()}`)
}
