/** The costs of calls: most cost one unit, those that read texts and lists cost by their sizes. */
import { add, fixed, MAX, type Range, scaled, times, UNKNOWN } from './ranges.ts'
import type { Expr } from './expr.ts'
import { type CelType, sameType } from './types.ts'

export interface CallNode {
  readonly fn: string
  /** The id of the overload. */
  readonly id: string
  readonly target: Expr | undefined
  readonly args: readonly Expr[]
  readonly costs: readonly Range[]
}

interface Sizes {
  sizeOf(expr: Expr): Range
  typeOf(expr: Expr): CelType
  itemSize(list: Expr): { readonly type: CelType; readonly size: Range } | undefined
}

interface CallCost {
  readonly cost: Range
  /** The size of the result. */
  readonly size?: Range
}

/** What it costs to read each character of a text. */
const PER_CHARACTER = 0.1
/** What it costs to match a character, for each character of the pattern. */
const PER_PATTERN_CHARACTER = 0.25
const LONGEST_NAME_PATTERN = 128

export function callCost(sizes: Sizes, call: CallNode): CallCost {
  const own = libraryCost(sizes, call) ?? standardCost(sizes, call) ?? { cost: fixed(1) }
  return { ...own, cost: call.costs.reduce(add, own.cost) }
}

function reading(size: Range, times = 1): Range {
  return scaled(size, times * PER_CHARACTER)
}

/** Returns the cost of making a list. */
function making(size: Range, factor: number): CallCost {
  return { cost: add(scaled(size, factor), fixed(11)), size }
}

/** The functions of Kubernetes, and those whose costs Kubernetes sets. */
function libraryCost(sizes: Sizes, { fn, id, target, args }: CallNode): CallCost | undefined {
  const first = args[0] && sizes.sizeOf(args[0])
  const of = target && sizes.sizeOf(target)
  switch (fn) {
    case 'isSorted':
    case 'sum':
    case 'max':
    case 'min':
    case 'indexOf':
    case 'lastIndexOf':
      return of && { cost: traversal(sizes, target) }
    case 'url':
      return first && { cost: reading(first), size: first }
    case 'lowerAscii':
    case 'upperAscii':
    case 'substring':
    case 'trim':
      return of && { cost: reading(of), size: of }
    case 'replace':
      return of && { cost: reading(of, 2), size: replacedSize(of, first!, sizes.sizeOf(args[1]!)) }
    case 'split': {
      const limit = args[1]?.kind === 'literal' && typeof args[1].value === 'bigint' ? args[1].value : undefined
      return of &&
        {
          cost: reading(of, 2),
          size: { min: 0, max: limit === undefined ? of.max : Number(BigInt.asUintN(64, limit)) },
        }
    }
    case 'join': {
      const size = joinedSize(of!, sizes.itemSize(target!)?.size, first)
      return { cost: reading(size), size }
    }
    case 'find':
    case 'findAll':
      return of && { cost: matching(of, first!), size: { min: 0, max: of.max } }
    case 'cidr':
    case 'isIP':
    case 'isCIDR':
    case 'quantity':
    case 'isQuantity':
    case 'semver':
    case 'isSemver':
      return { cost: reading(first!) }
    case 'ip':
      return { cost: id === 'cidr_ip' ? fixed(1) : reading(first!) }
    case 'ip.isCanonical':
      return { cost: reading(first!, 2) }
    case 'containsIP':
    case 'containsCIDR':
      return { cost: networkCost(fn, id, first!) }
    case 'validate':
      return { cost: scaled(reading(first!), LONGEST_NAME_PATTERN * PER_PATTERN_CHARACTER) }
    case '_==_':
      return equalityCost(sizes, args)
  }
  return listCost(sizes, fn, target, args)
}

const CHEAP = new Set(['kubernetes.Quantity', 'kubernetes.Semver', 'net.IP', 'net.CIDR'])

function equalityCost(sizes: Sizes, args: readonly Expr[]): CallCost | undefined {
  const [a, b] = args.map((each) => sizes.typeOf(each))
  if (!sameType(a!, b!)) return undefined
  if (CHEAP.has(a!.name)) return { cost: fixed(1) }
  if (a!.name === 'kubernetes.NamedFormat') return { cost: { min: 1, max: 7 } }
  return undefined
}

function traversal(sizes: Sizes, target: Expr): Range {
  const item = sizes.itemSize(target)
  const size = sizes.sizeOf(target)
  if (!item) return reading(size)
  const isText = item.type.kind === 'string' || item.type.kind === 'bytes'
  return times(size, isText ? add(fixed(1), reading(item.size)) : fixed(1))
}

function networkCost(fn: string, id: string, other: Range): Range {
  const address: Range = { min: 4, max: 16 }
  let cost = reading(add(address, address))
  if (fn === 'containsCIDR') cost = add(add(cost, reading(address)), fixed(1))
  return id.endsWith('_string') ? add(cost, reading(other)) : cost
}

function replacedSize(text: Range, from: Range, to: Range): Range {
  const bound = (size: number, opposite: number, part: number, isShorter: boolean): readonly [number, number] => {
    if (opposite === 0) return [Math.min(size + 1, MAX), size]
    if (isShorter) return [0, size]
    return [Math.ceil(size / part), 0]
  }
  const [maxCount, maxKept] = bound(text.max, from.min, from.min, to.max <= from.min)
  const [minCount, minKept] = bound(text.min, from.max, from.max, from.max <= to.min)
  return add(times({ min: minCount, max: maxCount }, to), { min: minKept, max: maxKept })
}

function joinedSize(list: Range, item: Range | undefined, separator: Range | undefined): Range {
  const texts = item ? times(list, item) : fixed(0)
  if (!separator) return texts
  const count: Range = { min: Math.max(list.min - 1, 0), max: Math.max(list.max - 1, 0) }
  return add(texts, times(separator, count))
}

/** One is added to the size: an empty text takes time, too. */
function matching(text: Range, pattern: Range): Range {
  return times(reading(add(text, fixed(1))), scaled(pattern, PER_PATTERN_CHARACTER))
}

function intOf(expr: Expr | undefined, otherwise: number): number {
  return expr?.kind === 'literal' && typeof expr.value === 'bigint' ? Number(expr.value) : otherwise
}

function listCost(sizes: Sizes, fn: string, target: Expr | undefined, args: readonly Expr[]): CallCost | undefined {
  const size = target ? sizes.sizeOf(target) : UNKNOWN
  const square = times(size, size)
  switch (fn) {
    case 'slice': {
      const count = intOf(args[1], size.max) - intOf(args[0], 0)
      // As in cel-go, a negative number of items counts as a huge one.
      return making(fixed(count < 0 ? MAX : count), 1)
    }
    case 'lists.range':
      return making(fixed(intOf(args[0], MAX)), 1)
    case 'reverse':
      return making(size, 1)
    case 'flatten':
      return making(size, args.length === 0 ? 1 : intOf(args[0], MAX))
    case 'distinct':
      return making(square, 2)
    case 'sort':
    case '@sortByAssociatedKeys': {
      const list = fn === 'sort' ? target! : args[0]!
      const own = sizes.sizeOf(list)
      const { kind } = sizes.typeOf(list).params[0]!
      return making(times(own, own), kind === 'string' || kind === 'bytes' ? 2.1 : 2)
    }
    case 'sets.contains':
    case 'sets.intersects':
    case 'sets.equivalent': {
      const both = times(sizes.sizeOf(args[0]!), sizes.sizeOf(args[1]!))
      return { cost: add(scaled(both, fn === 'sets.equivalent' ? 2 : 1), fixed(1)) }
    }
  }
  return undefined
}

/** The functions of CEL itself. */
function standardCost(sizes: Sizes, { id, target, args }: CallNode): CallCost | undefined {
  const first = args[0] && sizes.sizeOf(args[0])
  const second = args[1] && sizes.sizeOf(args[1])
  switch (id) {
    case 'string_format':
      return { cost: reading(sizes.sizeOf(target!)) }
    case 'string_to_bytes':
      return { cost: reading(first!), size: { min: first!.min, max: Math.min(first!.max * 4, MAX) } }
    case 'bytes_to_string':
      return { cost: reading(first!), size: { min: Math.floor(first!.min / 4), max: first!.max } }
    case 'strings_quote':
      return { cost: reading(first!), size: { min: first!.min + 2, max: Math.min(first!.max * 2 + 2, MAX) } }
    case 'starts_with_string':
    case 'ends_with_string':
      return { cost: reading(first!) }
    case 'in_list':
      return { cost: second! }
    case 'matches_string':
      return { cost: matching(sizes.sizeOf(target!), first!) }
    case 'contains_string':
      return { cost: times(reading(sizes.sizeOf(target!)), reading(first!)) }
  }
  if (!/^(?:(?:less|greater)(?:_equals)?_(?:string|bytes)|equals|not_equals)$/.test(id)) return undefined
  const max = Math.min(first!.max, second!.max)
  return { cost: reading({ min: max > 0 ? 1 : 0, max }) }
}
