/** Estimates the cost of an expression for the largest objects that its schema allows, as the real server does. */
import type { Checked } from './checker.ts'
import { callCost, type CallNode } from './call_costs.ts'
import type { Comprehension, Expr } from './expr.ts'
import { add, fixed, MAX, type Range, scaled, times, union, UNKNOWN } from './ranges.ts'
import type { Decl } from './schema.ts'
import { type CelType, isOptional, NULL } from './types.ts'

/** The sizes of the keys and values of a container that the expression itself makes. */
interface EntrySizes {
  readonly isList: boolean
  readonly key: Range
  readonly value: Range
}

interface Local {
  readonly path: readonly string[]
  readonly size: Range | undefined
  readonly entries: EntrySizes | undefined
}

/** Returns the highest cost of an expression, in cel-go's units. `root` describes `self`. */
export function maxCost(checked: Checked, root: Decl | undefined): number {
  return new Coster(checked, root).cost(checked.expr).max
}

class Coster {
  readonly #checked: Checked
  readonly #root: Decl | undefined
  readonly #paths = new Map<Expr, readonly string[]>()
  readonly #sizes = new Map<Expr, Range>()
  readonly #entries = new Map<Expr, EntrySizes>()
  readonly #locals = new Map<string, Local[]>()

  constructor(checked: Checked, root: Decl | undefined) {
    this.#checked = checked
    this.#root = root
  }

  cost(expr: Expr): Range {
    switch (expr.kind) {
      case 'literal':
        return fixed(0)
      case 'ident':
        this.#paths.set(expr, this.#local(expr.name)?.path ?? [expr.name])
        return fixed(1)
      case 'select':
        return this.#select(expr)
      case 'call':
        return this.#call(expr)
      case 'list': {
        const sum = this.#sum(expr.items)
        this.#entries.set(expr, { isList: true, key: fixed(1), value: this.#unionOf(expr.items) })
        return add(sum, fixed(10))
      }
      case 'optional': {
        const cost = this.cost(expr.value)
        this.#copySizes(expr, expr.value)
        return cost
      }
      case 'map': {
        const keys = expr.entries.map(([key]) => key)
        const values = expr.entries.map(([, value]) => value)
        const sum = add(this.#sum(keys), this.#sum(values))
        this.#entries.set(expr, { isList: false, key: this.#unionOf(keys), value: this.#unionOf(values) })
        return add(sum, fixed(30))
      }
      case 'loop':
        return this.#loop(expr)
    }
  }

  #sum(nodes: readonly Expr[]): Range {
    return nodes.map((each) => this.cost(each)).reduce(add, fixed(0))
  }

  #unionOf(nodes: readonly Expr[]): Range {
    return nodes.length === 0 ? fixed(0) : nodes.map((each) => this.sizeOf(each)).reduce(union)
  }

  #select(expr: Extract<Expr, { kind: 'select' }>): Range {
    if (this.#checked.names.has(expr)) return fixed(1)
    const cost = this.cost(expr.operand)
    if (expr.test) return cost
    const { kind } = this.typeOf(expr.operand)
    this.#paths.set(expr, [...this.#path(expr.operand), expr.field])
    return kind === 'map' || kind === 'struct' ? add(cost, fixed(1)) : cost
  }

  #call(expr: Extract<Expr, { kind: 'call' }>): Range {
    const { args } = expr
    if (expr.fn === 'dyn' && args.length === 1) {
      const cost = this.cost(args[0]!)
      this.#copySizes(expr, args[0]!)
      return add(cost, fixed(1))
    }
    const costs = args.map((each) => this.cost(each))
    const named = this.#checked.names.get(expr)
    const target = named === undefined ? expr.target : undefined
    const targetCost = target ? this.cost(target) : fixed(0)
    const ids = expr.fn === '_?._' ? ['_?._'] : (this.#checked.overloads.get(expr) ?? []).map(({ id }) => id)
    let cost: Range = { min: MAX, max: 0 }
    let size: Range | undefined
    for (const id of ids) {
      const call: CallNode = { fn: named ?? expr.fn, id, target, args, costs }
      const found = this.#special(expr, call) ?? callCost(this, call)
      cost = union(cost, found.cost)
      if (found.size) size = size ? union(size, found.size) : found.size
      if (id.startsWith('_[_](list') || id.startsWith('_[_](map')) {
        size = this.#entriesOf(args[0]!)?.value
        this.#paths.set(expr, [...this.#path(args[0]!), id.startsWith('_[_](list') ? '@items' : '@values'])
      }
      size ??= this.size(expr)
    }
    if (size) this.#sizes.set(expr, size)
    return add(targetCost, cost)
  }

  /** The operators whose operands' costs do not simply add up, or that make containers. */
  #special(expr: Expr, { id, args, costs }: CallNode): { cost: Range; size?: Range } | undefined {
    switch (id) {
      case '_&&_(bool, bool)':
      case '_||_(bool, bool)':
        return { cost: { min: costs[0]!.min, max: add(costs[0]!, costs[1]!).max } }
      case '_?_:_(bool, A, A)': {
        const entries = unionEntries(this.#entriesOf(args[1]!), this.#entriesOf(args[2]!))
        if (entries) this.#entries.set(expr, entries)
        const size = union(this.sizeOf(args[1]!), this.sizeOf(args[2]!))
        return { cost: add(costs[0]!, union(costs[1]!, costs[2]!)), size }
      }
      case '_+_(list<A>, list<A>)':
      case '_+_(string, string)':
      case '_+_(bytes, bytes)': {
        const entries = unionEntries(this.#entriesOf(args[0]!), this.#entriesOf(args[1]!))
        if (entries) this.#entries.set(expr, entries)
        const size = add(this.sizeOf(args[0]!), this.sizeOf(args[1]!))
        const own = id.startsWith('_+_(list') ? fixed(1) : scaled(size, 0.1)
        return { cost: costs.reduce(add, own), size }
      }
    }
    return undefined
  }

  #loop(expr: Comprehension): Range {
    if (isBinding(expr)) return this.#binding(expr)
    let sum = add(this.cost(expr.range), this.cost(expr.init))
    this.#push(expr.result, this.#path(expr.init), this.size(expr.init), this.#entriesOf(expr.init))
    this.#pushItems(expr)
    const each = add(this.cost(expr.condition), this.cost(expr.step))
    this.#pop(expr.key)
    if (expr.value !== undefined) this.#pop(expr.value)
    sum = add(sum, this.cost(expr.end))
    this.#pop(expr.result)
    const count = this.sizeOf(expr.range)
    if (expr.init.kind === 'literal') {
      const size = this.size(expr.init)
      if (size) this.#sizes.set(expr, size)
    } else if (expr.init.kind === 'list' || expr.init.kind === 'map') {
      this.#sizes.set(expr, count)
      const entries = this.#entriesOf(expr.step)
      if (entries) this.#entries.set(expr, entries)
    }
    return add(sum, times(count, each))
  }

  #binding(expr: Comprehension): Range {
    let sum = add(this.cost(expr.range), this.cost(expr.init))
    this.#push(expr.result, this.#path(expr.init), this.size(expr.init), this.#entriesOf(expr.init))
    sum = add(sum, this.cost(expr.end))
    this.#copySizes(expr, expr.end)
    this.#pop(expr.result)
    return sum
  }

  #pushItems({ range, key, value }: Comprehension): void {
    const entries = this.#entriesOf(range)
    const path = this.#path(range)
    const isList = entries ? entries.isList : this.typeOf(range).kind === 'list'
    if (value === undefined) {
      this.#push(key, [...path, isList ? '@items' : '@keys'], isList ? entries?.value : entries?.key, undefined)
      return
    }
    this.#push(key, [...path, isList ? '@indices' : '@keys'], entries?.key, undefined)
    this.#push(value, [...path, isList ? '@items' : '@values'], entries?.value, undefined)
  }

  #push(name: string, path: readonly string[], size: Range | undefined, entries: EntrySizes | undefined): void {
    const locals = this.#locals.get(name) ?? []
    this.#locals.set(name, [...locals, { path, size, entries }])
  }

  #pop(name: string): void {
    this.#locals.set(name, this.#locals.get(name)!.slice(0, -1))
  }

  #local(name: string): Local | undefined {
    return this.#locals.get(name)?.at(-1)
  }

  #path(expr: Expr): readonly string[] {
    const local = expr.kind === 'ident' ? this.#local(expr.name) : undefined
    return local?.path ?? this.#paths.get(expr) ?? []
  }

  #copySizes(to: Expr, from: Expr): void {
    const size = this.size(from)
    if (size) this.#sizes.set(to, size)
    const entries = this.#entriesOf(from)
    if (entries) this.#entries.set(to, entries)
  }

  #entriesOf(expr: Expr): EntrySizes | undefined {
    return this.#entries.get(expr) ?? (expr.kind === 'ident' ? this.#local(expr.name)?.entries : undefined)
  }

  typeOf(expr: Expr): CelType {
    return this.#checked.types.get(expr) ?? NULL
  }

  sizeOf(expr: Expr): Range {
    return this.size(expr) ?? UNKNOWN
  }

  /** Returns the sizes that a node's value can have: characters, items or entries. */
  size(expr: Expr): Range | undefined {
    const known = this.#sizes.get(expr) ?? literalSize(expr)
    if (known) return known
    const declared = this.#declared(this.#path(expr))
    if (declared) {
      this.#sizes.set(expr, declared)
      return declared
    }
    if (isScalar(this.typeOf(expr))) return fixed(1)
    return expr.kind === 'ident' ? this.#local(expr.name)?.size : undefined
  }

  /** Returns the sizes of a list's items; undefined for other values. */
  itemSize(list: Expr): { readonly type: CelType; readonly size: Range } | undefined {
    const [type] = this.typeOf(list).params
    const path = this.#path(list)
    return type && { type, size: (path.length > 0 && this.#declared([...path, '@items'])) || UNKNOWN }
  }

  #declared(path: readonly string[]): Range | undefined {
    if (path.length === 0) return undefined
    let decl: Decl | undefined = this.#root
    for (const part of path.slice(1)) {
      if (part === '@items' || part === '@values') decl = decl?.element
      else if (part === '@keys') return decl?.type.kind === 'map' ? fixed(0) : undefined
      // As on the real server, a reserved word that is not escaped has no known size.
      else decl = decl?.fields?.get(part)
    }
    return decl && { min: 0, max: decl.maxElements }
  }
}

function unionEntries(a: EntrySizes | undefined, b: EntrySizes | undefined): EntrySizes | undefined {
  return a && b && { isList: a.isList, key: union(a.key, b.key), value: union(a.value, b.value) }
}

function isBinding({ range, condition, result }: Comprehension): boolean {
  return range.kind === 'list' && range.items.length === 0 && condition.kind === 'literal' &&
    condition.value === false && result !== '@result'
}

function literalSize(expr: Expr): Range | undefined {
  if (expr.kind === 'list') return fixed(expr.items.length)
  if (expr.kind === 'map') return fixed(expr.entries.length)
  if (expr.kind !== 'literal') return undefined
  const { value } = expr
  if (typeof value === 'string') return fixed([...value].length)
  return fixed(value instanceof Uint8Array ? value.length : 1)
}

function isScalar(type: CelType): boolean {
  switch (type.kind) {
    case 'bool':
    case 'double':
    case 'duration':
    case 'int':
    case 'timestamp':
    case 'uint':
      return true
    default:
      return isOptional(type) && isScalar(type.params[0]!)
  }
}
