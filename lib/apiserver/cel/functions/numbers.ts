/** Quantities of Kubernetes, and semantic versions. */
import { INVALID_QUANTITY, nanosOf } from '../../model/quantities.ts'
import { CelError, type LibraryValue } from '../values.ts'
import type { Row } from './table.ts'

const NANO = 1_000_000_000n

interface Quantity extends LibraryValue {
  readonly nanos: bigint
}

function quantityOf(nanos: bigint): Quantity {
  return { typeName: 'kubernetes.Quantity', id: nanos, nanos }
}

function quantity(text: string): Quantity {
  const nanos = nanosOf(text)
  if (nanos !== undefined) return quantityOf(nanos)
  throw new CelError(INVALID_QUANTITY)
}

function isInteger({ nanos }: Quantity): boolean {
  const value = nanos / NANO
  return nanos % NANO === 0n && value < 2n ** 63n && value >= -(2n ** 63n)
}

function asInteger(value: Quantity): bigint {
  if (!isInteger(value)) throw new CelError('cannot convert value to integer')
  return value.nanos / NANO
}

function sign(value: bigint): bigint {
  return value > 0n ? 1n : value < 0n ? -1n : 0n
}

interface Semver extends LibraryValue {
  readonly numbers: readonly bigint[]
  readonly pre: readonly string[]
}

const SEMVER =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][\da-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][\da-zA-Z-]*))*))?(?:\+[\da-zA-Z-]+(?:\.[\da-zA-Z-]+)*)?$/

function parseSemver(text: string, normalize = false): Semver | undefined {
  const [, major, minor, patch, pre] = SEMVER.exec((normalize ? normalized(text) : text) ?? '') ?? []
  if (!major) return undefined
  const id = `${major}.${minor}.${patch}-${pre ?? ''}`
  return { typeName: 'kubernetes.Semver', id, numbers: [major, minor!, patch!].map(BigInt), pre: pre?.split('.') ?? [] }
}

function splitAt(text: string, count: number): string[] {
  const parts = text.split('.')
  return [...parts.slice(0, count - 1), ...(parts.length >= count ? [parts.slice(count - 1).join('.')] : [])]
}

function normalized(text: string): string | undefined {
  const parts = splitAt(text.replace(/^v/, ''), 3).map((part) =>
    part.length > 1 ? part.replace(/^0+/, '').replace(/^(?!\d)/, '0') : part
  )
  if (parts.length < 3 && /[+-]/.test(parts.at(-1)!)) return undefined
  while (parts.length < 3) parts.push('0')
  return parts.join('.')
}

function semver(text: string, normalize = false): Semver {
  const value = parseSemver(text, normalize)
  if (!value) throw new CelError(`not a semantic version: ${JSON.stringify(text)}`)
  return value
}

function compare(a: Semver, b: Semver): bigint {
  for (const [index, number] of a.numbers.entries()) {
    if (number !== b.numbers[index]) return number > b.numbers[index]! ? 1n : -1n
  }
  if (a.pre.length === 0 || b.pre.length === 0) return sign(BigInt(b.pre.length) - BigInt(a.pre.length))
  for (let at = 0; at < Math.min(a.pre.length, b.pre.length); at++) {
    const order = comparePart(a.pre[at]!, b.pre[at]!)
    if (order !== 0n) return order
  }
  return sign(BigInt(a.pre.length) - BigInt(b.pre.length))
}

function comparePart(a: string, b: string): bigint {
  const numeric = [a, b].map((part) => /^\d+$/.test(part))
  if (numeric[0] && numeric[1]) return sign(BigInt(a) - BigInt(b))
  if (numeric[0] !== numeric[1]) return numeric[0] ? -1n : 1n
  return a === b ? 0n : a > b ? 1n : -1n
}

const amount = (value: Quantity | bigint): bigint => typeof value === 'bigint' ? value * NANO : value.nanos
const plus = (a: Quantity, b: Quantity | bigint): Quantity => quantityOf(a.nanos + amount(b))
const minus = (a: Quantity, b: Quantity | bigint): Quantity => quantityOf(a.nanos - amount(b))
const order = (a: Quantity, b: Quantity): bigint => sign(a.nanos - b.nanos)
const isSemver = (text: string, normalize?: boolean): boolean => parseSemver(text, normalize) !== undefined

export const NUMBERS: readonly Row[] = [
  ['quantity', '(string) -> Quantity', quantity],
  ['isQuantity', '(string) -> bool', (text) => nanosOf(text) !== undefined],
  ['sign', '(Quantity) -> int', ({ nanos }: Quantity) => sign(nanos)],
  ['isGreaterThan', 'Quantity.(Quantity) -> bool', (a, b) => a.nanos > b.nanos],
  ['isLessThan', 'Quantity.(Quantity) -> bool', (a, b) => a.nanos < b.nanos],
  ['compareTo', 'Quantity.(Quantity) -> int', order],
  ['asApproximateFloat', 'Quantity.() -> double', ({ nanos }: Quantity) => Number(nanos) / 1e9],
  ['asInteger', 'Quantity.() -> int', asInteger],
  ['isInteger', 'Quantity.() -> bool', isInteger],
  ['add', 'Quantity.(Quantity) -> Quantity', plus],
  ['add', 'Quantity.(int) -> Quantity', plus],
  ['sub', 'Quantity.(Quantity) -> Quantity', minus],
  ['sub', 'Quantity.(int) -> Quantity', minus],
  ['semver', '(string) -> Semver', semver],
  ['semver', '(string, bool) -> Semver', semver],
  ['isSemver', '(string) -> bool', isSemver],
  ['isSemver', '(string, bool) -> bool', isSemver],
  ['isGreaterThan', 'Semver.(Semver) -> bool', (a, b) => compare(a, b) > 0n],
  ['isLessThan', 'Semver.(Semver) -> bool', (a, b) => compare(a, b) < 0n],
  ['compareTo', 'Semver.(Semver) -> int', compare],
  ['major', 'Semver.() -> int', (value: Semver) => value.numbers[0]!],
  ['minor', 'Semver.() -> int', (value: Semver) => value.numbers[1]!],
  ['patch', 'Semver.() -> int', (value: Semver) => value.numbers[2]!],
]
