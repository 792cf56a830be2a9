/** Expands macros to loops and conditions, as cel-go's parser does. The costs of a rule depend on these forms. */
import { call, type Comprehension, type Expr, ExpressionError } from './expr.ts'
import type { Value } from './values.ts'

const MACROS: Readonly<Record<string, readonly number[]>> = {
  all: [2, 3],
  exists: [2, 3],
  exists_one: [2, 3],
  existsOne: [2, 3],
  map: [2, 3],
  filter: [2],
  transformList: [3, 4],
  transformMap: [3, 4],
  transformMapEntry: [3, 4],
  optMap: [2],
  optFlatMap: [2],
  sortBy: [2],
}

export function isMacro(fn: string, isMember: boolean, count: number): boolean {
  if (!isMember) return fn === 'has' && count === 1
  return Object.hasOwn(MACROS, fn) && MACROS[fn]!.includes(count)
}

const RESULT = '@result'
/** The variable of a loop over nothing, which binds the result's name to a value. */
const UNUSED = '#unused'

/** Returns what a call of a macro stands for. */
export function expandMacro(at: number, fn: string, target: Expr | undefined, args: readonly Expr[]): Expr {
  if (!target) return presence(at, args[0]!)
  const make = new Maker(at)
  if (fn === 'optMap' || fn === 'optFlatMap') return optionalMap(make, fn, target, args)
  if (fn === 'sortBy') return sortBy(make, target, args)
  const twoVariables = fn.startsWith('transform') || (args.length === 3 && fn !== 'map')
  const [key, value] = variables(args, twoVariables)
  const rest = args.slice(twoVariables ? 2 : 1)
  return make.loop({ range: target, key, value, ...partsOf(make, fn, key, rest) })
}

function variables(args: readonly Expr[], two: boolean): [string, string | undefined] {
  const names = args.slice(0, two ? 2 : 1).map((each) => {
    if (each.kind !== 'ident') throw new ExpressionError(each.at, 'argument must be a simple name')
    return each.name
  })
  if (two && names[0] === names[1]) throw new ExpressionError(args[1]!.at, `duplicate variable name: ${names[0]}`)
  return [names[0]!, names[1]]
}

/** Makes nodes at the place of a macro. */
class Maker {
  readonly #at: number

  constructor(at: number) {
    this.#at = at
  }

  literal(value: Value): Expr {
    return { kind: 'literal', at: this.#at, value }
  }

  ident(name: string): Expr {
    return { kind: 'ident', at: this.#at, name }
  }

  call(fn: string, ...args: readonly Expr[]): Expr {
    return call(this.#at, fn, ...args)
  }

  member(target: Expr, fn: string, ...args: readonly Expr[]): Expr {
    return { kind: 'call', at: this.#at, fn, target, args }
  }

  list(...items: readonly Expr[]): Expr {
    return { kind: 'list', at: this.#at, items }
  }

  map(): Expr {
    return { kind: 'map', at: this.#at, entries: [] }
  }

  /** Default: a loop over all items with one variable, whose value is the result. */
  loop(parts: Pick<Comprehension, 'range' | 'key' | 'init' | 'step'> & Partial<Comprehension>): Expr {
    const defaults = { value: undefined, result: RESULT, condition: this.literal(true), end: this.ident(RESULT) }
    return { kind: 'loop', at: this.#at, ...defaults, ...parts }
  }

  /** Binds a name to a value in an expression: a loop that never runs. */
  bind(name: string, value: Expr, end: Expr): Expr {
    const [range, condition] = [this.list(), this.literal(false)]
    return this.loop({ range, key: UNUSED, result: name, init: value, condition, step: this.ident(name), end })
  }
}

type Parts = Pick<Comprehension, 'init' | 'step'> & Partial<Pick<Comprehension, 'condition' | 'end'>>

function partsOf(make: Maker, fn: string, key: string, rest: readonly Expr[]): Parts {
  const result = make.ident(RESULT)
  const body = rest.at(-1)!
  const when = (step: Expr): Expr => rest.length === 2 ? make.call('_?_:_', rest[0]!, step, result) : step
  switch (fn) {
    case 'all': {
      const condition = make.call('@not_strictly_false', result)
      return { init: make.literal(true), condition, step: make.call('_&&_', result, body) }
    }
    case 'exists': {
      const condition = make.call('@not_strictly_false', make.call('!_', result))
      return { init: make.literal(false), condition, step: make.call('_||_', result, body) }
    }
    case 'exists_one':
    case 'existsOne': {
      const one = make.literal(1n)
      const step = make.call('_?_:_', body, make.call('_+_', result, one), result)
      return { init: make.literal(0n), step, end: make.call('_==_', result, one) }
    }
    case 'filter': {
      const add = make.call('_+_', result, make.list(make.ident(key)))
      return { init: make.list(), step: make.call('_?_:_', body, add, result) }
    }
    case 'transformMap':
      return { init: make.map(), step: when(make.call('cel.@mapInsert', result, make.ident(key), body)) }
    case 'transformMapEntry':
      return { init: make.map(), step: when(make.call('cel.@mapInsert', result, body)) }
    default:
      return { init: make.list(), step: when(make.call('_+_', result, make.list(body))) }
  }
}

function presence(at: number, arg: Expr): Expr {
  if (arg.kind !== 'select') throw new ExpressionError(arg.at, 'invalid argument to has() macro')
  return { ...arg, at, test: true }
}

function optionalMap(make: Maker, fn: string, target: Expr, [name, body]: readonly Expr[]): Expr {
  if (name!.kind !== 'ident') throw new ExpressionError(name!.at, `${fn}() variable name must be a simple identifier`)
  const bound = make.bind(name!.name, make.member(target, 'value'), body!)
  const some = fn === 'optMap' ? make.call('optional.of', bound) : bound
  return make.call('_?_:_', make.member(target, 'hasValue'), some, make.call('optional.none'))
}

function sortBy(make: Maker, target: Expr, args: readonly Expr[]): Expr {
  const [key] = variables(args, false)
  const list = make.ident('@__sortBy_input__')
  const step = make.call('_+_', make.ident(RESULT), make.list(args[1]!))
  const keys = make.loop({ range: list, key, init: make.list(), step })
  return make.bind('@__sortBy_input__', target, make.member(list, '@sortByAssociatedKeys', keys))
}
