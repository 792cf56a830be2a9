/** Functions of lists, and of lists as sets. */
import { CelError, Duration, equal, ListValue, Uint, type Value } from '../values.ts'
import { isLess } from './core.ts'
import type { Row } from './table.ts'

const COMPARABLE = ['int', 'uint', 'double', 'bool', 'duration', 'timestamp', 'string', 'bytes'] as const

const ZERO: Readonly<Record<string, Value>> = { int: 0n, uint: new Uint(0n), double: 0, duration: new Duration(0n) }

function add(a: Value, b: Value): Value {
  if (a instanceof Uint) return new Uint(a.value + (b as Uint).value)
  if (a instanceof Duration) return new Duration(a.nanos + (b as Duration).nanos)
  return typeof a === 'bigint' ? a + (b as bigint) : (a as number) + (b as number)
}

function sorted({ items }: ListValue): boolean {
  return items.every((item, index) => index === 0 || !isLess(item, items[index - 1]!))
}

function extreme(name: string, isBetter: (a: Value, b: Value) => boolean): (list: ListValue) => Value {
  return ({ items }) => {
    if (items.length === 0) throw new CelError(`${name} called on empty list`)
    return items.reduce((best, item) => (isBetter(item, best) ? item : best))
  }
}

const max = extreme('max', (a, b) => isLess(b, a))
const min = extreme('min', isLess)

function flatten({ items }: ListValue, depth = 1n): ListValue {
  if (depth < 0n) throw new CelError('level must be non-negative')
  return new ListValue(
    items.flatMap((item) => (item instanceof ListValue && depth > 0n ? flatten(item, depth - 1n).items : [item])),
  )
}

function slice({ items }: ListValue, start: bigint, end: bigint): ListValue {
  if (start < 0n || end < 0n) throw new CelError(`cannot slice(${start}, ${end}), negative indexes not supported`)
  if (start > end) {
    throw new CelError(`cannot slice(${start}, ${end}), start index must be less than or equal to end index`)
  }
  if (end > BigInt(items.length)) throw new CelError(`cannot slice(${start}, ${end}), list is length ${items.length}`)
  return new ListValue(items.slice(Number(start), Number(end)))
}

function sort(list: ListValue, keys: ListValue): ListValue {
  const order = keys.items.map((key, index) => ({ key, index }))
  order.sort((a, b) => (isLess(a.key, b.key) ? -1 : isLess(b.key, a.key) ? 1 : a.index - b.index))
  return new ListValue(order.map(({ index }) => list.items[index]!))
}

function distinct({ items }: ListValue): ListValue {
  return new ListValue(items.filter((item, index) => items.findIndex((each) => equal(each, item)) === index))
}

function range(end: bigint): ListValue {
  return new ListValue(Array.from({ length: Number(end < 0n ? 0n : end) }, (_, index) => BigInt(index)))
}

function has({ items }: ListValue, item: Value): boolean {
  return items.some((each) => equal(each, item))
}

function contains(list: ListValue, part: ListValue): boolean {
  return part.items.every((item) => has(list, item))
}

const total = (zero: Value) => ({ items }: ListValue): Value => items.reduce(add, zero)
const indexOf = ({ items }: ListValue, item: Value): bigint => BigInt(items.findIndex((each) => equal(each, item)))
const lastIndexOf = ({ items }: ListValue, item: Value): bigint =>
  BigInt(items.findLastIndex((each) => equal(each, item)))
const equivalent = (a: ListValue, b: ListValue): boolean => contains(a, b) && contains(b, a)
const intersects = (a: ListValue, b: ListValue): boolean => a.items.some((item) => has(b, item))

export const LISTS: readonly Row[] = [
  ...COMPARABLE.flatMap((type): Row[] => [
    ['isSorted', `list<${type}>.() -> bool`, sorted],
    ['max', `list<${type}>.() -> ${type}`, max],
    ['min', `list<${type}>.() -> ${type}`, min],
    ['sort', `list<${type}>.() -> list<${type}>`, (list) => sort(list, list)],
    ['@sortByAssociatedKeys', `list<A>.(list<${type}>) -> list<A>`, sort],
  ]),
  ...Object.entries(ZERO).map((
    [type, zero],
  ): Row => ['sum', `list<${type}>.() -> ${type}`, total(zero)]),
  ['indexOf', 'list<A>.(A) -> int', indexOf],
  ['lastIndexOf', 'list<A>.(A) -> int', lastIndexOf],
  ['slice', 'list<A>.(int, int) -> list<A>', slice],
  ['flatten', 'list<list<A>>.() -> list<A>', flatten],
  ['flatten', 'list<dyn>.(int) -> list<dyn>', flatten],
  ['lists.range', '(int) -> list<int>', range],
  ['reverse', 'list<A>.() -> list<A>', ({ items }: ListValue) => new ListValue(items.toReversed())],
  ['distinct', 'list<A>.() -> list<A>', distinct],
  ['sets.contains', '(list<A>, list<A>) -> bool', contains],
  ['sets.equivalent', '(list<A>, list<A>) -> bool', equivalent],
  ['sets.intersects', '(list<A>, list<A>) -> bool', intersects],
]
