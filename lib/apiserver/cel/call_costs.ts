/** The costs of calls: most cost one unit, those that read texts and lists cost by their sizes. */
import { add, fixed, MAX, type Range, scaled, times } from './ranges.ts'
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

/**
 * Returns the cost of a call without the costs of its operands. The operands are the target, if the call has one, and
 * the arguments; `sizes` has one size for each operand.
 */
type Estimate = (sizes: readonly [Range, Range, Range], operands: readonly Expr[], known: Sizes) => CallCost

/** By the overload, or by the function for all of its overloads. Other calls cost one unit. */
const ESTIMATES: Readonly<Record<string, Estimate>> = {
  ...each('isSorted sum max min indexOf lastIndexOf', ([size], [list], known) => ({
    cost: traversal(known, list!, size),
  })),
  ...each('url lowerAscii upperAscii substring trim', ([size]) => ({ cost: reading(size), size })),
  ...each(
    'ip(string) cidr isIP isCIDR quantity isQuantity semver isSemver format',
    ([text]) => ({ cost: reading(text) }),
  ),
  ...each('startsWith endsWith', ([, part]) => ({ cost: reading(part) })),
  'ip.isCanonical': ([text]) => ({ cost: reading(text, 2) }),
  validate: ([, text]) => ({ cost: scaled(reading(text), LONGEST_NAME_PATTERN * PER_PATTERN_CHARACTER) }),
  'CIDR.containsIP(IP)': () => ({ cost: CONTAINING_IP }),
  'CIDR.containsIP(string)': ([, text]) => ({ cost: add(CONTAINING_IP, reading(text)) }),
  'CIDR.containsCIDR(CIDR)': () => ({ cost: CONTAINING_CIDR }),
  'CIDR.containsCIDR(string)': ([, text]) => ({ cost: add(CONTAINING_CIDR, reading(text)) }),
  replace: ([text, from, to]) => ({ cost: reading(text, 2), size: replacedSize(text, from, to) }),
  split: ([text], [, , limit]) => ({ cost: reading(text, 2), size: { min: 0, max: splitSize(text, limit) } }),
  join: ([list, separator], [node, hasSeparator], known) => {
    const size = joinedSize(list, known.itemSize(node!)?.size, hasSeparator && separator)
    return { cost: reading(size), size }
  },
  ...each('find findAll', ([text, pattern]) => ({ cost: matching(text, pattern), size: { min: 0, max: text.max } })),
  'string.matches(string)': ([text, pattern]) => ({ cost: matching(text, pattern) }),
  contains: ([text, part]) => ({ cost: times(reading(text), reading(part)) }),
  'bytes(string)': ([text]) => ({
    cost: reading(text),
    size: { min: text.min, max: Math.min(text.max * 4, MAX) },
  }),
  'string(bytes)': ([bytes]) => ({
    cost: reading(bytes),
    size: { min: Math.floor(bytes.min / 4), max: bytes.max },
  }),
  'strings.quote': ([text]) => ({
    cost: reading(text),
    size: { min: text.min + 2, max: Math.min(text.max * 2 + 2, MAX) },
  }),
  slice: ([list], [, start, end]) => {
    const count = intOf(end, list.max) - intOf(start, 0)
    // As in cel-go, a negative number of items counts as a huge one.
    return making(fixed(count < 0 ? MAX : count), 1)
  },
  'lists.range': (_, [end]) => making(fixed(intOf(end, MAX)), 1),
  reverse: ([list]) => making(list, 1),
  flatten: ([list], [, depth]) => making(list, depth ? intOf(depth, MAX) : 1),
  distinct: ([list]) => making(times(list, list), 2),
  sort: ([list], [node], known) => sorting(known, node!, list),
  '@sortByAssociatedKeys': ([, keys], [, node], known) => sorting(known, node!, keys),
  '@in(A, list<A>)': ([, list]) => ({ cost: list }),
  ...each('sets.contains sets.intersects', ([a, b]) => ({ cost: add(times(a, b), fixed(1)) })),
  'sets.equivalent': ([a, b]) => ({ cost: add(scaled(times(a, b), 2), fixed(1)) }),
  '_==_': ([a, b], operands, known) => equality(known, operands) ?? comparison([a, b]),
  '_!=_': comparison,
  ...Object.fromEntries(
    ['_<_', '_<=_', '_>_', '_>=_'].flatMap((fn) => [`${fn}(string, string)`, `${fn}(bytes, bytes)`])
      .map((id) => [id, comparison]),
  ),
}

function each(names: string, estimate: Estimate): Record<string, Estimate> {
  return Object.fromEntries(names.split(' ').map((name) => [name, estimate]))
}

export function callCost(known: Sizes, { id, fn, target, args, costs }: CallNode): CallCost {
  const estimate = ESTIMATES[id] ?? ESTIMATES[fn]
  const operands = target ? [target, ...args] : args
  const sizes = operands.map((operand) => known.sizeOf(operand)) as [Range, Range, Range]
  const own = estimate?.(sizes, operands, known) ?? { cost: fixed(1) }
  return { ...own, cost: costs.reduce(add, own.cost) }
}

function reading(size: Range, times = 1): Range {
  return scaled(size, times * PER_CHARACTER)
}

/** Returns the cost of making a list. */
function making(size: Range, factor: number): CallCost {
  return { cost: add(scaled(size, factor), fixed(11)), size }
}

const CHEAP = new Set(['kubernetes.Quantity', 'kubernetes.Semver', 'net.IP', 'net.CIDR'])

function equality(known: Sizes, operands: readonly Expr[]): CallCost | undefined {
  const [a, b] = operands.map((each) => known.typeOf(each))
  if (!sameType(a!, b!)) return undefined
  if (CHEAP.has(a!.name)) return { cost: fixed(1) }
  if (a!.name === 'kubernetes.NamedFormat') return { cost: { min: 1, max: 7 } }
  return undefined
}

function comparison([a, b]: readonly [Range, Range, ...Range[]]): CallCost {
  const max = Math.min(a.max, b.max)
  return { cost: reading({ min: max > 0 ? 1 : 0, max }) }
}

function traversal(known: Sizes, list: Expr, size: Range): Range {
  const item = known.itemSize(list)
  if (!item) return reading(size)
  return times(size, isText(item.type) ? add(fixed(1), reading(item.size)) : fixed(1))
}

function isText({ kind }: CelType): boolean {
  return kind === 'string' || kind === 'bytes'
}

function sorting(known: Sizes, list: Expr, size: Range): CallCost {
  return making(times(size, size), isText(known.typeOf(list).params[0]!) ? 2.1 : 2)
}

const ADDRESS: Range = { min: 4, max: 16 }
const CONTAINING_IP = reading(add(ADDRESS, ADDRESS))
const CONTAINING_CIDR = add(add(CONTAINING_IP, reading(ADDRESS)), fixed(1))

function splitSize(text: Range, limit: Expr | undefined): number {
  const isLimited = limit?.kind === 'literal' && typeof limit.value === 'bigint'
  return isLimited ? Number(BigInt.asUintN(64, limit.value as bigint)) : text.max
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
  return expr?.kind === 'literal' && typeof expr.value === 'bigint' ? Math.max(0, Number(expr.value)) : otherwise
}
