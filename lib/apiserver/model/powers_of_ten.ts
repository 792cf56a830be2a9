/** The powers of ten of quantities, bounded: an exponent of a few digits would take seconds, or all memory. */

const MAX_POWER = 1000

/** Returns a power of ten. Larger ones are as 10^1000: compared with any real amount, they give the same. */
export function tenTo(power: number): bigint {
  return 10n ** BigInt(Math.min(power, MAX_POWER))
}

/** Returns the exponent of a quantity as Go reads it: 64 bits, of which 32 are kept; undefined beyond. */
export function exponentOf(text: string): number | undefined {
  const value = BigInt(text.replace('+', ''))
  return BigInt.asIntN(64, value) === value ? Number(BigInt.asIntN(32, value)) : undefined
}
