/** Arithmetic with ranges of sizes and costs. */

/** A range of sizes or costs. Sums and products end at {@link MAX}. */
export interface Range {
  readonly min: number
  readonly max: number
}

export const MAX: number = 2 ** 64
export const UNKNOWN: Range = { min: 0, max: MAX }

export function fixed(value: number): Range {
  return { min: value, max: value }
}

export function add(a: Range, b: Range): Range {
  return { min: Math.min(a.min + b.min, MAX), max: Math.min(a.max + b.max, MAX) }
}

export function times(a: Range, b: Range): Range {
  return { min: Math.min(a.min * b.min, MAX), max: Math.min(a.max * b.max, MAX) }
}

/** Multiplies by a factor, and rounds up. */
export function scaled({ min, max }: Range, factor: number): Range {
  const up = (value: number): number => Math.min(Math.ceil(value * factor), MAX)
  return { min: up(min), max: up(max) }
}

export function union(a: Range, b: Range): Range {
  return { min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) }
}
