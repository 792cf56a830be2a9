/** Finds the types of an expression's nodes, and what is wrong with them in the words of cel-go. */
import { type Overload } from './functions/table.ts'
import { overloadsOf } from './functions/mod.ts'
import { goDuration, rfc3339 } from './functions/time.ts'
import { patternProblem } from './functions/regex.ts'
import { formatProblem } from './functions/strings.ts'
import type { Comprehension, Expr, SyntaxProblem } from './expr.ts'
import { fieldNamed } from './schema.ts'
import {
  Bindings,
  BOOL,
  BYTES,
  type CelType,
  DOUBLE,
  DURATION,
  DYN,
  ERROR,
  INT,
  isDyn,
  isOptional,
  listOf,
  mapOf,
  mostGeneral,
  NULL,
  optionalOf,
  parseType,
  sameType,
  STRING,
  structOf,
  TIMESTAMP,
  typeName,
  typeOf,
} from './types.ts'
import { Uint } from './values.ts'

/** What an expression may refer to. */
export interface Scope {
  readonly variables: ReadonlyMap<string, CelType>
  /** Returns the fields of an object type. */
  fieldsOf(struct: string): ReadonlyMap<string, CelType> | undefined
}

/** What the checker has found out about an expression. */
export interface Checked {
  readonly expr: Expr
  readonly type: CelType
  readonly problems: readonly SyntaxProblem[]
  readonly types: ReadonlyMap<Expr, CelType>
  readonly overloads: ReadonlyMap<Expr, readonly Overload[]>
  /** The nodes that name a variable or a type, by their full name. */
  readonly names: ReadonlyMap<Expr, string>
}

/** Types as values: `type(self.a) == int`. */
const TYPES: ReadonlyMap<string, CelType> = new Map([
  ...['bool', 'bytes', 'double', 'int', 'string', 'uint', 'type'].map((each) =>
    [each, typeOf(parseType(each))] as const
  ),
  ['list', typeOf(listOf(DYN))],
  ['map', typeOf(mapOf(DYN, DYN))],
  ['null_type', typeOf(NULL)],
  ['google.protobuf.Duration', typeOf(DURATION)],
  ['google.protobuf.Timestamp', typeOf(TIMESTAMP)],
  ['optional_type', typeOf(optionalOf(DYN))],
  ...['net.IP', 'net.CIDR', 'kubernetes.URL', 'kubernetes.Quantity', 'kubernetes.Semver', 'kubernetes.NamedFormat'].map(
    (each) => [each, typeOf(structOf(each))] as const,
  ),
])

export function check(expr: Expr, scope: Scope): Checked {
  const checker = new Checker(scope)
  return checker.run(expr)
}

/** Returns `a.b.c` for a chain of names, or undefined. */
function qualifiedName(expr: Expr): string | undefined {
  if (expr.kind === 'ident') return expr.name
  if (expr.kind !== 'select' || expr.test) return undefined
  const prefix = qualifiedName(expr.operand)
  return prefix === undefined ? undefined : `${prefix}.${expr.field}`
}

class Checker {
  readonly #scope: Scope
  readonly #locals: Map<string, CelType>[] = []
  readonly #bindings = new Bindings()
  readonly #problems: SyntaxProblem[] = []
  readonly #types = new Map<Expr, CelType>()
  readonly #overloads = new Map<Expr, readonly Overload[]>()
  readonly #names = new Map<Expr, string>()
  readonly #formatted = new Set<Expr>()

  constructor(scope: Scope) {
    this.#scope = scope
  }

  run(expr: Expr): Checked {
    this.#check(expr)
    for (const [node, type] of this.#types) this.#types.set(node, this.#bindings.resolve(type, DYN))
    const type = this.#types.get(expr)!
    if (this.#problems.length === 0) this.#checkLiterals()
    return { expr, type, problems: this.#problems, types: this.#types, overloads: this.#overloads, names: this.#names }
  }

  #report(node: { readonly at: number }, message: string): void {
    this.#problems.push({ at: node.at, message })
  }

  #check(expr: Expr): CelType {
    const type = this.#typeOf(expr)
    this.#types.set(expr, type)
    return type
  }

  #typeOf(expr: Expr): CelType {
    switch (expr.kind) {
      case 'literal':
        return literalType(expr.value)
      case 'ident': {
        const type = this.#lookup(expr.name)
        if (type) this.#names.set(expr, expr.name)
        else this.#undeclared(expr, expr.name)
        return type ?? ERROR
      }
      case 'select':
        return this.#select(expr)
      case 'call':
        return this.#call(expr)
      case 'list':
        return listOf(this.#joined(expr.items) ?? this.#bindings.fresh())
      case 'optional':
        return this.#present(expr.value)
      case 'map': {
        const key = this.#joined(expr.entries.map(([each]) => each))
        const value = this.#joined(expr.entries.map(([, each]) => each))
        return mapOf(key ?? this.#bindings.fresh(), value ?? this.#bindings.fresh())
      }
      case 'loop':
        return this.#loop(expr)
    }
  }

  /** Returns the type of an optional's value. */
  #present(optional: Expr): CelType {
    const type = this.#bindings.resolve(this.#check(optional))
    if (isOptional(type)) return type.params[0]!
    if (!isDyn(type)) this.#mismatch(optional, optionalOf(type), type)
    return type
  }

  #lookup(name: string): CelType | undefined {
    for (const locals of this.#locals.toReversed()) if (locals.has(name)) return locals.get(name)
    return this.#scope.variables.get(name) ?? TYPES.get(name)
  }

  #undeclared(expr: Expr, name: string): void {
    this.#report(expr, `undeclared reference to '${name}' (in container '')`)
  }

  #select(expr: Extract<Expr, { kind: 'select' }>): CelType {
    const name = qualifiedName(expr)
    const type = name === undefined ? undefined : this.#lookup(name)
    if (type) {
      this.#names.set(expr, name!)
      return type
    }
    const field = this.#field(expr, expr.operand, expr.field, false)
    return expr.test ? BOOL : this.#bindings.resolve(field)
  }

  #field(at: Expr, operand: Expr, field: string, optional: boolean): CelType {
    const type = this.#bindings.resolve(this.#check(operand))
    const wasOptional = isOptional(type)
    const target = wasOptional ? type.params[0]! : type
    const result = this.#fieldOf(at, target, field)
    return wasOptional || optional ? optionalOf(result) : result
  }

  #fieldOf(at: Expr, target: CelType, field: string): CelType {
    if (target.kind === 'map') return target.params[1]!
    if (target.kind === 'struct') {
      const fields = this.#scope.fieldsOf(target.name)
      const type = fields && fieldNamed(fields, field)
      if (!type) this.#report(at, `undefined field '${field}'`)
      return type ?? ERROR
    }
    if (target.kind === 'param') this.#bindings.assign([DYN], [target])
    else if (!isDyn(target)) this.#report(at, `type '${typeName(target)}' does not support field selection`)
    return DYN
  }

  #call(expr: Extract<Expr, { kind: 'call' }>): CelType {
    if (expr.fn === '_?._') {
      const [operand, field] = expr.args
      return this.#bindings.resolve(this.#field(expr, operand!, (field as { value: string }).value, true))
    }
    for (const arg of expr.args) this.#check(arg)
    if (expr.fn === 'format') { for (const arg of expr.args) listsBelow(arg, this.#formatted) }
    const { target } = expr
    const prefix = target && qualifiedName(target)
    const qualified = prefix === undefined ? undefined : `${prefix}.${expr.fn}`
    const named = qualified === undefined ? undefined : overloadsOf(qualified)
    if (named) {
      this.#names.set(expr, qualified!)
      return this.#resolve(expr, qualified!, named, undefined)
    }
    if (target) this.#check(target)
    const overloads = overloadsOf(expr.fn)
    if (overloads) return this.#resolve(expr, expr.fn, overloads, target)
    this.#undeclared(expr, expr.fn)
    return ERROR
  }

  #resolve(
    expr: Extract<Expr, { kind: 'call' }>,
    fn: string,
    overloads: readonly Overload[],
    target: Expr | undefined,
  ): CelType {
    const nodes = target ? [target, ...expr.args] : expr.args
    const args = nodes.map((each) => this.#types.get(each)!)
    if (fn === '_&&_' || fn === '_||_') {
      const wrong = nodes.filter((_, index) => !this.#bindings.assign([args[index]!], [BOOL]))
      for (const each of wrong) this.#mismatch(each, BOOL, this.#types.get(each)!)
      this.#overloads.set(expr, overloads)
      return wrong.length > 0 ? ERROR : BOOL
    }
    const found: Overload[] = []
    let result: CelType | undefined
    for (const overload of overloads) {
      if (overload.isMember !== (target !== undefined)) continue
      const fresh = new Map(overload.params.map((param) => [param, this.#bindings.fresh()]))
      const rename = new Bindings(fresh)
      if (!this.#bindings.assign(args, overload.args.map((each) => rename.resolve(each)))) continue
      found.push(overload)
      const type = this.#bindings.resolve(rename.resolve(overload.result))
      if (!result) result = type
      else if (result.kind !== 'dyn' && !sameType(result, type)) result = DYN
    }
    this.#overloads.set(expr, found)
    if (result) return result
    const shown = args.map((each) => typeName(this.#bindings.resolve(each, DYN)))
    const signature = target ? `${shown[0]}.(${shown.slice(1).join(', ')})` : `(${shown.join(', ')})`
    this.#report(expr, `found no matching overload for '${fn}' applied to '${signature}'`)
    return ERROR
  }

  /** Reports the first item whose type differs from that of the items before. */
  #checkItems(items: readonly Expr[]): void {
    const [first] = items
    if (!first) return
    const type = this.#types.get(first)!
    const other = items.find((item) => !sameType(this.#types.get(item)!, type))
    if (other) this.#mismatch(other, type, this.#types.get(other)!)
  }

  #mismatch(expr: Expr, expected: CelType, actual: CelType): void {
    this.#report(expr, `expected type '${typeName(expected)}' but found '${typeName(actual)}'`)
  }

  /** Returns the type that all items of a literal have, `dyn` if they differ; undefined without items. */
  #joined(items: readonly Expr[]): CelType | undefined {
    let joined: CelType | undefined
    for (const item of items) {
      const type = this.#check(item)
      if (joined === undefined) joined = type
      else if (this.#bindings.assign([joined], [type])) joined = mostGeneral(joined, type)
      else joined = DYN
    }
    return joined
  }

  #loop(expr: Comprehension): CelType {
    this.#check(expr.range)
    const accumulated = this.#check(expr.init)
    const range = this.#bindings.resolve(this.#types.get(expr.range)!)
    const [first, second] = this.#loopTypes(expr, range)
    const result = new Map([[expr.result, accumulated]])
    const locals = new Map([[expr.key, first]])
    if (expr.value !== undefined) locals.set(expr.value, second)
    this.#locals.push(result, locals)
    this.#check(expr.condition)
    this.#assert(expr.condition, BOOL)
    this.#check(expr.step)
    this.#assert(expr.step, accumulated)
    this.#locals.pop()
    this.#check(expr.end)
    this.#locals.pop()
    return this.#bindings.resolve(this.#types.get(expr.end)!)
  }

  #loopTypes(expr: Comprehension, range: CelType): [CelType, CelType] {
    const isPair = expr.value !== undefined
    if (range.kind === 'list') return isPair ? [INT, range.params[0]!] : [range.params[0]!, DYN]
    if (range.kind === 'map') return [range.params[0]!, range.params[1]!]
    if (isDyn(range) || range.kind === 'param') {
      this.#bindings.assign([DYN], [range])
      return [DYN, DYN]
    }
    const name = typeName(range)
    const message = `expression of type '${name}' cannot be range of a comprehension (must be list, map, or dynamic)`
    this.#report(expr.range, message)
    return [ERROR, ERROR]
  }

  #assert(expr: Expr, type: CelType): void {
    const actual = this.#types.get(expr)!
    if (!this.#bindings.assign([type], [actual])) this.#mismatch(expr, type, actual)
  }

  /** Checks the literals of an expression without other problems: texts that functions parse, and mixed items. */
  #checkLiterals(): void {
    for (const expr of this.#types.keys()) {
      if (expr.kind === 'list' && !this.#formatted.has(expr)) this.#checkItems(expr.items)
      if (expr.kind === 'map') {
        this.#checkItems(expr.entries.map(([key]) => key))
        this.#checkItems(expr.entries.map(([, value]) => value))
      }
      if (expr.kind !== 'call') continue
      this.#checkFormat(expr)
      const text = expr.args.at(-1)
      if (text?.kind !== 'literal' || typeof text.value !== 'string') continue
      const test = LITERALS[expr.fn]
      if (test && test.count === expr.args.length + (expr.target ? 1 : 0) && !test.isValid(text.value)) {
        this.#report(text, `invalid ${expr.fn} argument`)
      }
    }
  }

  #checkFormat(expr: Extract<Expr, { kind: 'call' }>): void {
    const { fn, target, args: [list] } = expr
    if (fn !== 'format' || target?.kind !== 'literal' || typeof target.value !== 'string' || list?.kind !== 'list') {
      return
    }
    const problem = formatProblem(target.value, list.items.map((item) => this.#types.get(item)!))
    if (problem) this.#report(problem.at === undefined ? expr : list.items[problem.at]!, problem.message)
  }
}

/** Collects the lists below the arguments of `format`, which may have items of several types. */
function listsBelow(expr: Expr, found: Set<Expr>): void {
  if (expr.kind === 'list') {
    found.add(expr)
    for (const item of expr.items) listsBelow(item, found)
  }
}

const LITERALS: Readonly<Record<string, { readonly count: number; isValid(text: string): boolean }>> = {
  duration: { count: 1, isValid: (text) => goDuration(text) !== undefined },
  timestamp: { count: 1, isValid: (text) => rfc3339(text) !== undefined },
  matches: { count: 2, isValid: (text) => patternProblem(text) === undefined },
}

function literalType(value: unknown): CelType {
  switch (typeof value) {
    case 'boolean':
      return BOOL
    case 'bigint':
      return INT
    case 'number':
      return DOUBLE
    case 'string':
      return STRING
  }
  if (value === null) return NULL
  return value instanceof Uint ? parseType('uint') : BYTES
}

/** Formats problems as cel-go does: with their line and a mark below it. */
export function describeProblems(source: string, problems: readonly SyntaxProblem[]): string {
  return problems.toSorted((a, b) => a.at - b.at).map(({ at, message }) => {
    // A problem of the expression as a whole has no place.
    if (at < 0) return `ERROR: <input>:-1:0: ${message}`
    const before = source.slice(0, at)
    const line = before.split('\n').length
    const start = before.lastIndexOf('\n') + 1
    const end = source.indexOf('\n', start)
    const text = source.slice(start, end < 0 ? undefined : end)
    const column = [...source.slice(start, at)].length
    return `ERROR: <input>:${line}:${column + 1}: ${message}\n | ${text}\n | ${'.'.repeat(column)}^`
  }).join('\n')
}
