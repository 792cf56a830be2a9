/** Expands macros to loops and conditions, as cel-go's parser does. The costs of a rule depend on these forms. */
import { call, type Expr, ExpressionError } from './expr.ts'
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

function literal(at: number, value: Value): Expr {
  return { kind: 'literal', at, value }
}

function ident(at: number, name: string): Expr {
  return { kind: 'ident', at, name }
}

/** Returns what a call of a macro stands for. */
export function expandMacro(at: number, fn: string, target: Expr | undefined, args: readonly Expr[]): Expr {
  if (!target) return presence(at, args[0]!)
  if (fn === 'optMap' || fn === 'optFlatMap') return optionalMap(at, fn, target, args)
  if (fn === 'sortBy') return sortBy(at, target, args)
  const twoVariables = fn.startsWith('transform') || (args.length === 3 && fn !== 'map')
  const [key, value] = variables(args, twoVariables)
  const rest = args.slice(twoVariables ? 2 : 1)
  const parts = loopOf(at, fn, key, rest)
  return { kind: 'loop', at, range: target, key, value, result: RESULT, ...parts }
}

function variables(args: readonly Expr[], two: boolean): [string, string | undefined] {
  const names = args.slice(0, two ? 2 : 1).map((each) => {
    if (each.kind !== 'ident') throw new ExpressionError(each.at, 'argument must be a simple name')
    return each.name
  })
  if (two && names[0] === names[1]) throw new ExpressionError(args[1]!.at, `duplicate variable name: ${names[0]}`)
  return [names[0]!, names[1]]
}

interface LoopParts {
  readonly init: Expr
  readonly condition: Expr
  readonly step: Expr
  readonly end: Expr
}

function loopOf(at: number, fn: string, key: string, rest: readonly Expr[]): LoopParts {
  const result = ident(at, RESULT)
  const always = literal(at, true)
  const body = rest.at(-1)!
  const when = (step: Expr): Expr => (rest.length === 2 ? call(at, '_?_:_', rest[0]!, step, result) : step)
  switch (fn) {
    case 'all': {
      const condition = call(at, '@not_strictly_false', result)
      return { init: always, condition, step: call(at, '_&&_', result, body), end: result }
    }
    case 'exists': {
      const condition = call(at, '@not_strictly_false', call(at, '!_', result))
      return { init: literal(at, false), condition, step: call(at, '_||_', result, body), end: result }
    }
    case 'exists_one':
    case 'existsOne': {
      const step = call(at, '_?_:_', body, call(at, '_+_', result, literal(at, 1n)), result)
      return { init: literal(at, 0n), condition: always, step, end: call(at, '_==_', result, literal(at, 1n)) }
    }
    case 'filter': {
      const add = call(at, '_+_', result, { kind: 'list', at, items: [ident(at, key)] })
      const init: Expr = { kind: 'list', at, items: [] }
      return { init, condition: always, step: call(at, '_?_:_', body, add, result), end: result }
    }
    case 'transformMap': {
      const init: Expr = { kind: 'map', at, entries: [] }
      return {
        init,
        condition: always,
        step: when(call(at, 'cel.@mapInsert', result, ident(at, key), body)),
        end: result,
      }
    }
    case 'transformMapEntry': {
      const init: Expr = { kind: 'map', at, entries: [] }
      return { init, condition: always, step: when(call(at, 'cel.@mapInsert', result, body)), end: result }
    }
    default: {
      const add = call(at, '_+_', result, { kind: 'list', at, items: [body] })
      return { init: { kind: 'list', at, items: [] }, condition: always, step: when(add), end: result }
    }
  }
}

function presence(at: number, arg: Expr): Expr {
  if (arg.kind !== 'select') throw new ExpressionError(arg.at, 'invalid argument to has() macro')
  return { ...arg, at, test: true }
}

/** Binds a name to a value in an expression: a loop that never runs. */
function bind(at: number, name: string, value: Expr, end: Expr): Expr {
  return {
    kind: 'loop',
    at,
    range: { kind: 'list', at, items: [] },
    key: UNUSED,
    value: undefined,
    result: name,
    init: value,
    condition: literal(at, false),
    step: ident(at, name),
    end,
  }
}

function optionalMap(at: number, fn: string, target: Expr, [name, body]: readonly Expr[]): Expr {
  if (name!.kind !== 'ident') throw new ExpressionError(name!.at, `${fn}() variable name must be a simple identifier`)
  const value: Expr = { kind: 'call', at, fn: 'value', target, args: [] }
  const bound = bind(at, name!.name, value, body!)
  const has: Expr = { kind: 'call', at, fn: 'hasValue', target, args: [] }
  return call(at, '_?_:_', has, fn === 'optMap' ? call(at, 'optional.of', bound) : bound, call(at, 'optional.none'))
}

function sortBy(at: number, target: Expr, args: readonly Expr[]): Expr {
  const [name] = variables(args, false)
  const list = '@__sortBy_input__'
  const init: Expr = { kind: 'list', at, items: [] }
  const add = call(at, '_+_', ident(at, RESULT), { kind: 'list', at, items: [args[1]!] })
  const keys: Expr = {
    kind: 'loop',
    at,
    range: ident(at, list),
    key: name,
    value: undefined,
    result: RESULT,
    init,
    condition: literal(at, true),
    step: add,
    end: ident(at, RESULT),
  }
  const sorted: Expr = { kind: 'call', at, fn: '@sortByAssociatedKeys', target: ident(at, list), args: [keys] }
  return bind(at, list, target, sorted)
}
