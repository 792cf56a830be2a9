/** Decides whether a series of measurements grows. */

/** What is measured, its unit, and how much it may grow beside a tenth of its mean. */
export const MEASURES = {
  heap: ['MiB', 3],
  resident: ['MiB', 24],
  descriptors: ['', 4],
  connections: ['', 4],
  timers: ['', 4],
} as const satisfies Record<string, readonly [unit: string, slack: number]>

export type Measure = keyof typeof MEASURES
export const NAMES = Object.keys(MEASURES) as Measure[]

export interface Sample extends Readonly<Record<Measure, number>> {
  readonly seconds: number
  readonly events: number
  readonly reconciles: number
  /** How many operators were started and have ended. */
  readonly cycles: number
}

/** The share of the samples at the beginning that does not count: caches, compilers and allocators fill up. */
const WARM_UP = 1 / 3
const MAX_GROWTH = 0.1

/**
 * Returns how much each series grows in its last two thirds, by the line of least squares, and the bound: a tenth of
 * the mean and the slack of the measure.
 */
export function trendsOf(samples: readonly Sample[]): { name: Measure; growth: number; bound: number }[] {
  const counted = samples.slice(Math.ceil(samples.length * WARM_UP))
  return NAMES.map((name) => {
    const values = counted.map((sample) => sample[name])
    const mean = meanOf(values)
    return { name, growth: slopeOf(values) * (values.length - 1), bound: mean * MAX_GROWTH + MEASURES[name][1] }
  })
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

function slopeOf(values: readonly number[]): number {
  const [meanX, meanY] = [(values.length - 1) / 2, meanOf(values)]
  const covariance = values.reduce((sum, value, x) => sum + (x - meanX) * (value - meanY), 0)
  return covariance / values.reduce((sum, _, x) => sum + (x - meanX) ** 2, 0)
}
