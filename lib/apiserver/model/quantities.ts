/** Quantities, such as `100m` and `1.5Gi`: in the server's canonical form, and as numbers. */
import type { Json } from './json.ts'

/** The message for a string that is not a quantity. */
export const INVALID_QUANTITY =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"

/** Quantities: `100m`, `1.5Gi`, `2e3`. Without digits, as in `Gi`, they are zero. */
const QUANTITY = /^(?!$)([+-]?)(\d*\.?\d*)(?:([KMGTPE]i)|([numkMGTPE])|[eE]([+-]?\d+))?$/

const DECIMAL: readonly (readonly [string, number])[] = [
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
]
const BINARY: readonly string[] = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']

/** Returns the power of ten; undefined for an exponent beyond 64 bits, of which Go keeps 32. */
function powerOf(suffix: string, exponent: string | undefined): number | undefined {
  if (exponent === undefined) return DECIMAL.find(([name]) => name === suffix)![1]
  const value = BigInt(exponent.replace('+', ''))
  return BigInt.asIntN(64, value) === value ? Number(BigInt.asIntN(32, value)) : undefined
}

/** Exponents beyond it change nothing that is compared or shown. */
const MAX_POWER = 1000
const NANO = 10n ** 9n

/** Returns a quantity in billionths, rounded up; undefined if it is invalid. */
export function nanosOf(text: string): bigint | undefined {
  const match = QUANTITY.exec(text)
  if (!match) return undefined
  const [, sign, digits, binary, decimal = '', exponent] = match
  const [whole = '', fraction = ''] = digits!.split('.')
  const power = binary ? 0 : powerOf(decimal, exponent)
  if (power === undefined) return undefined
  const shift = Math.max(Math.min(power, MAX_POWER), -MAX_POWER) - fraction.length
  let nanos = BigInt(whole + fraction) * NANO
  if (binary) nanos *= 1024n ** BigInt(BINARY.indexOf(binary))
  if (shift > 0) nanos *= 10n ** BigInt(shift)
  if (shift < 0) {
    const divisor = 10n ** BigInt(-shift)
    nanos = (nanos + divisor - 1n) / divisor
  }
  return sign === '-' ? -nanos : nanos
}

/** Returns the API server's canonical form; undefined for an invalid quantity. */
export function canonicalQuantity(text: string): string | undefined {
  const match = QUANTITY.exec(text)
  if (!match) return undefined
  const [, sign, digits, binary, decimal, exponent] = match
  const [whole = '', fraction = ''] = digits!.split('.')
  if (binary) {
    return canonicalBinary(sign!, whole, fraction, BINARY.indexOf(binary)) ?? canonicalQuantity(
      binaryAsDecimal(sign!, whole, fraction, binary),
    )
  }
  const power = powerOf(decimal ?? '', exponent)
  if (power === undefined) return undefined
  return canonicalDecimal(sign!, whole + fraction, power - fraction.length, exponent !== undefined)
}

/** Formats `digits * 10^power` with the largest suffix that gives a whole number; rounds up to nano, the smallest. */
function canonicalDecimal(sign: string, digits: string, power: number, isExponent: boolean): string {
  let value = BigInt(digits)
  let at = power
  if (value === 0n) return '0'
  if (at < -9) {
    // What has fewer digits than are cut is rounded up to the smallest quantity.
    const cut = -9 - at
    const divisor = 10n ** BigInt(Math.min(cut, digits.length))
    value = cut > digits.length ? 1n : (value + divisor - 1n) / divisor
    at = -9
  }
  while (value % 10n === 0n) {
    value /= 10n
    at++
  }
  const minus = sign === '-' ? '-' : ''
  const scale = Math.floor(at / 3) * 3
  const suffixPower = isExponent ? scale : Math.min(scale, 18)
  const number = value * 10n ** BigInt(at - suffixPower)
  if (isExponent) return `${minus}${number}${suffixPower === 0 ? '' : `e${suffixPower}`}`
  return `${minus}${number}${DECIMAL.find(([, exponent]) => exponent === suffixPower)![0]}`
}

function canonicalBinary(sign: string, whole: string, fraction: string, index: number): string | undefined {
  const denominator = 10n ** BigInt(fraction.length)
  const bytes = BigInt(whole + fraction) * 1024n ** BigInt(index)
  if (bytes % denominator !== 0n) return undefined
  let value = bytes / denominator
  if (value === 0n) return '0'
  let at = 0
  while (value % 1024n === 0n && at < BINARY.length - 1) {
    value /= 1024n
    at++
  }
  return `${sign === '-' ? '-' : ''}${value}${BINARY[at]}`
}

/** Converts a binary quantity with a fraction of a byte to thousandths, as Go writes it. */
function binaryAsDecimal(sign: string, whole: string, fraction: string, suffix: string): string {
  const value = BigInt(whole + fraction) * 1024n ** BigInt(BINARY.indexOf(suffix)) * 1000n
  const denominator = 10n ** BigInt(fraction.length)
  return `${sign}${(value + denominator - 1n) / denominator}m`
}

/** Returns a quantity as lists of resources have it: in whole thousandths, rounded up. Null is the zero value. */
export function resourceAmount(quantity: Json): string {
  if (quantity === null) return '0'
  const parts = /^(-?)(\d+)([nu])$/.exec(String(quantity))
  if (!parts) return String(quantity)
  const thousandth = parts[3] === 'n' ? 1_000_000n : 1000n
  const amount = BigInt(parts[2]!)
  // Up is towards infinity: a negative amount loses its fraction.
  const rounded = parts[1] ? amount / thousandth : (amount + thousandth - 1n) / thousandth
  return canonicalQuantity(`${parts[1]}${rounded}m`)!
}
