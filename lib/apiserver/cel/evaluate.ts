/** Compiles a checked expression to a function. */
import type { Checked } from './checker.ts'
import { isOf, type Overload } from './functions/table.ts'
import type { Comprehension, Expr } from './expr.ts'
import {
  CelError,
  Entries,
  findEntry,
  isMap,
  ListValue,
  NONE,
  noSuchOverload,
  Optional,
  outcomeOf,
  TypeValue,
  type Value,
} from './values.ts'

/** The values of variables, by the places that the compiler gave them. */
type Frame = (Value | undefined)[]
type Step = (frame: Frame) => Value

/** An expression that can be evaluated. Throws CelError. */
export interface Program {
  readonly uses: ReadonlySet<string>
  evaluate(variables: Readonly<Record<string, Value | undefined>>): Value
}

/** Functions that cel-go calls while it compiles where they convert a literal: such a rule is refused if they fail. */
const CONVERSIONS: ReadonlySet<string> = new Set(
  ['bool', 'bytes', 'double', 'duration', 'dyn', 'int', 'string', 'timestamp', 'type', 'uint'],
)

/** The real server's limit for the cost of one evaluation. Here, only loops cost: each of their nodes, each time. */
const MAX_COST = 1_000_000

/** @throws CelError if the conversion of a literal fails. */
export function compile(checked: Checked): Program {
  const compiler = new Compiler(checked)
  const run = compiler.step(checked.expr)
  const { globals } = compiler
  return {
    uses: new Set(globals.keys()),
    evaluate(variables) {
      const frame: Frame = []
      for (const [name, place] of globals) frame[place] = variables[name]
      compiler.cost = 0
      return run(frame)
    },
  }
}

class Compiler {
  readonly globals = new Map<string, number>()
  cost = 0
  readonly #checked: Checked
  readonly #locals: Map<string, number>[] = []
  /** Conversions of literals, and conversions of those. */
  readonly #constants = new Set<Expr>()
  #places = 0

  constructor(checked: Checked) {
    this.#checked = checked
  }

  step(expr: Expr): Step {
    const name = this.#checked.names.get(expr)
    switch (expr.kind) {
      case 'literal': {
        const { value } = expr
        return () => value
      }
      case 'ident':
        return this.#variable(expr.name, expr)
      case 'select':
        return name === undefined ? this.#select(expr) : this.#variable(name, expr)
      case 'call':
        return this.#call(expr)
      case 'list':
        return this.#list(expr.items)
      case 'optional':
        return this.step(expr.value)
      case 'map':
        return this.#map(expr.entries)
      case 'loop':
        return this.#loop(expr)
    }
  }

  #list(nodes: readonly Expr[]): Step {
    const items = nodes.map((each) => this.step(each))
    if (nodes.every(({ kind }) => kind !== 'optional')) {
      return (frame) => new ListValue(items.map((item) => item(frame)))
    }
    return (frame) => {
      const values = items.map((item) => item(frame))
      return new ListValue(
        values.flatMap((value, index) => nodes[index]!.kind === 'optional' ? present(value) : [value]),
      )
    }
  }

  #map(nodes: readonly (readonly [Expr, Expr])[]): Step {
    const entries = nodes.map(([key, value]) => [this.step(key), this.step(value), value.kind === 'optional'] as const)
    return (frame) => {
      const result = new Entries()
      for (const [key, value, isOptional] of entries) {
        const values = isOptional ? present(value(frame)) : [value(frame)]
        for (const each of values) result.set(key(frame), each)
      }
      return result
    }
  }

  #variable(name: string, expr: Expr): Step {
    for (const locals of this.#locals.toReversed()) {
      const place = locals.get(name)
      if (place !== undefined) return (frame) => frame[place]!
    }
    if (this.#checked.types.get(expr)?.kind === 'type') {
      const type = new TypeValue(name)
      return () => type
    }
    let place = this.globals.get(name)
    if (place === undefined) this.globals.set(name, place = this.#places++)
    const at = place
    return (frame) => {
      const value = frame[at]
      if (value === undefined) throw new CelError(`no such attribute(s): ${name}`)
      return value
    }
  }

  #select({ operand, field, test }: Extract<Expr, { kind: 'select' }>): Step {
    const of = this.step(operand)
    if (test) return (frame) => findEntry(of(frame), field) !== NONE
    return (frame) => fieldOf(of(frame), field)
  }

  #call(expr: Extract<Expr, { kind: 'call' }>): Step {
    const special = this.#special(expr)
    if (special) return special
    const isNamed = this.#checked.names.has(expr)
    const nodes = expr.target && !isNamed ? [expr.target, ...expr.args] : expr.args
    const args = nodes.map((each) => this.step(each))
    const overloads = this.#checked.overloads.get(expr) ?? []
    const [only] = overloads
    const isStatic = overloads.length === 1 && nodes.every((node, index) => this.#isKnown(node, only!.args[index]!))
    const run = isStatic ? direct(only!, args) : this.#byValues(overloads, args)
    const [first] = nodes
    const isConstant = CONVERSIONS.has(expr.fn) && nodes.length === 1 &&
      (first!.kind === 'literal' || this.#constants.has(first!))
    if (!isConstant) return run
    const value = run([])
    this.#constants.add(expr)
    return () => value
  }

  /** Chooses the overload by the values of the arguments. */
  #byValues(overloads: readonly Overload[], args: readonly Step[]): Step {
    return (frame) => {
      const values = args.map((arg) => arg(frame))
      const overload = overloads.find((each) =>
        each.run && each.args.every((type, index) => isOf(values[index]!, type))
      )
      if (!overload) throw noSuchOverload()
      return overload.run!(...values)
    }
  }

  /** Returns whether a node's values are of a parameter's type for sure. */
  #isKnown(node: Expr, param: Overload['args'][number]): boolean {
    return param.kind === 'param' || param.kind === 'dyn' || this.#checked.types.get(node)!.kind === param.kind
  }

  #special({ fn, target, args }: Extract<Expr, { kind: 'call' }>): Step | undefined {
    switch (fn) {
      case '_&&_':
        return both(this.step(args[0]!), this.step(args[1]!), false)
      case '_||_':
        return both(this.step(args[0]!), this.step(args[1]!), true)
      case '_?_:_': {
        const [test, yes, no] = args.map((each) => this.step(each))
        return (frame) => (checkedTruth(test!(frame)) ? yes! : no!)(frame)
      }
      case '@in': {
        // As in cel-go, what is searched for is not evaluated.
        const [, list] = args
        return list?.kind === 'list' && list.items.length === 0 ? () => false : undefined
      }
      case '_?._': {
        const of = this.step(args[0]!)
        const field = (args[1] as { readonly value: string }).value
        return (frame) => findEntry(of(frame), field)
      }
      case 'or':
      case 'orValue': {
        const first = this.step(target!)
        const other = this.step(args[0]!)
        return (frame) => {
          const optional = first(frame)
          if (!(optional instanceof Optional)) throw noSuchOverload()
          if (optional.value === undefined) return other(frame)
          return fn === 'or' ? optional : optional.value
        }
      }
    }
    return undefined
  }

  #loop(expr: Comprehension): Step {
    const range = this.step(expr.range)
    const init = this.step(expr.init)
    const result = this.#places++
    const key = this.#places++
    const value = expr.value === undefined ? undefined : this.#places++
    this.#locals.push(new Map([[expr.result, result]]))
    const inner = new Map([[expr.key, key]])
    if (expr.value !== undefined) inner.set(expr.value, value!)
    this.#locals.push(inner)
    const body = this.#body(expr)
    this.#locals.pop()
    const end = this.step(expr.end)
    this.#locals.pop()
    const cost = nodesOf(expr.condition) + nodesOf(expr.step)
    return (frame) => {
      const container = range(frame)
      frame[result] = init(frame)
      const { visit, finish } = body(frame, result)
      forEach(container, (first, second) => {
        if ((this.cost += cost) > MAX_COST) throw new CelError('operation cancelled: actual cost limit exceeded')
        frame[key] = value === undefined && container instanceof ListValue ? second : first
        if (value !== undefined) frame[value] = second
        return visit()
      })
      finish?.()
      return end(frame)
    }
  }

  /** Returns what a loop does with each item. Lists and maps grow in place: copies would take quadratic time. */
  #body({ init, step, result: name }: Comprehension): (frame: Frame, result: number) => Body {
    const addItem = init.kind === 'list' ? this.#builder(step, name, '_+_') : undefined
    if (addItem) {
      return (frame, result) => {
        const items: Value[] = []
        return {
          visit: () => addItem(frame, ([item]) => items.push(item!)),
          finish: () => frame[result] = new ListValue(items),
        }
      }
    }
    const addEntry = init.kind === 'map' ? this.#builder(step, name, 'cel.@mapInsert') : undefined
    if (addEntry) {
      return (frame, result) => {
        const entries = new Entries()
        return {
          visit: () => addEntry(frame, (added) => insert(entries, added)),
          finish: () => frame[result] = entries,
        }
      }
    }
    if (step.kind === 'call' && (step.fn === '_&&_' || step.fn === '_||_')) {
      const test = this.step(step.args[1]!)
      return (frame, result) => quantifier(frame, result, test, step.fn === '_||_')
    }
    const next = this.step(step)
    return (frame, result) => ({ visit: () => void (frame[result] = next(frame)) })
  }

  /** Compiles a step that adds to the result, always or on a condition. Undefined for other steps. */
  #builder(step: Expr, name: string, fn: string): Builder | undefined {
    if (step.kind !== 'call') return undefined
    if (step.fn === '_?_:_') {
      const add = this.#builder(step.args[1]!, name, fn)
      const test = this.step(step.args[0]!)
      return add && ((frame, emit) => {
        if (checkedTruth(test(frame))) add(frame, emit)
      })
    }
    const [result, ...added] = step.args
    if (step.fn !== fn || result?.kind !== 'ident' || result.name !== name) return undefined
    const parts = (fn === '_+_' ? (added[0] as { readonly items: readonly Expr[] }).items : added).map((each) =>
      this.step(each)
    )
    return (frame, emit) => emit(parts.map((part) => part(frame)))
  }
}

/** Counts the nodes that cost something, without those inside of further loops. */
function nodesOf(expr: Expr): number {
  switch (expr.kind) {
    case 'ident':
      return 1
    case 'select':
      return 1 + nodesOf(expr.operand)
    case 'call':
      return [...(expr.target ? [expr.target] : []), ...expr.args].reduce((sum, each) => sum + nodesOf(each), 1)
    case 'optional':
      return nodesOf(expr.value)
    case 'list':
      return expr.items.reduce((sum, each) => sum + nodesOf(each), 10)
    default:
      return expr.kind === 'loop' ? nodesOf(expr.range) : 0
  }
}

type Builder = (frame: Frame, emit: (added: readonly Value[]) => void) => void

interface Body {
  /** Returns false to end the loop. */
  visit(): boolean | void
  finish?(): void
}

/** Adds a key and its value, or the entries of a map. */
function insert(entries: Entries, [key, value]: readonly Value[]): void {
  if (value !== undefined) {
    entries.add(key!, value)
    return
  }
  if (!isMap(key!)) throw noSuchOverload()
  for (const each of key.keys()) entries.add(each, key.get(each)!)
}

/** Tests items until one decides. A failure counts only if no item decides. */
function quantifier(frame: Frame, result: number, test: Step, decides: boolean): Body {
  let failure: CelError | undefined
  return {
    visit() {
      const value = outcomeOf(test, frame)
      if (typeof value !== 'boolean') failure ??= value instanceof CelError ? value : noSuchOverload()
      if (value !== decides) return true
      frame[result] = decides
      failure = undefined
      return false
    },
    finish() {
      if (failure) throw failure
    },
  }
}

function direct({ run }: Overload, args: readonly Step[]): Step {
  const [first, second] = args
  if (args.length === 1) return (frame) => run!(first!(frame))
  if (args.length === 2) return (frame) => run!(first!(frame), second!(frame))
  return (frame) => run!(...args.map((arg) => arg(frame)))
}

/** Returns a test of two operands, of which either may decide: also if the other one fails. */
function both(left: Step, right: Step, decides: boolean): Step {
  return (frame) => {
    const first = outcomeOf(left, frame)
    if (first === decides) return decides
    const second = outcomeOf(right, frame)
    if (second === decides) return decides
    checkedTruth(first)
    return checkedTruth(second)
  }
}

/** Throws if the outcome of a test is neither true nor false. */
function checkedTruth(value: Value | CelError): boolean {
  if (typeof value === 'boolean') return value
  throw value instanceof CelError ? value : noSuchOverload()
}

/** Returns the value of an optional, if it has one. */
function present(optional: Value): readonly Value[] {
  if (!(optional instanceof Optional)) throw new CelError('cannot initialize an optional entry from another value')
  return optional.value === undefined ? [] : [optional.value]
}

function fieldOf(value: Value, field: string): Value {
  if (value instanceof Optional) return findEntry(value, field)
  if (!isMap(value)) throw noSuchOverload()
  const found = value.get(field)
  if (found === undefined) throw new CelError(`no such key: ${field}`)
  return found
}

/** Calls `visit` with the index and the item, or the key and the value, of each entry until it returns false. */
function forEach(container: Value, visit: (first: Value, second: Value) => boolean | void): void {
  if (container instanceof ListValue) {
    for (const [index, item] of container.items.entries()) if (visit(BigInt(index), item) === false) return
    return
  }
  if (!isMap(container)) throw noSuchOverload()
  for (const key of container.keys()) if (visit(key, container.get(key)!) === false) return
}
