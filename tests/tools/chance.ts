/** Random choices that a seed repeats. */
import { seededRandom } from '../../lib/testing/world/random.ts'

export class Chance {
  readonly #random: () => number

  constructor(seed: number) {
    this.#random = seededRandom(seed)
  }

  /** Returns a whole number from 0 to below the bound. */
  below(bound: number): number {
    return Math.floor(this.#random() * bound)
  }

  isIn(share: number): boolean {
    return this.#random() < share
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)]!
  }

  /** Returns a name, each as often as its weight. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const all = Object.entries<number>(weights)
    let left = this.below(all.reduce((sum, [, weight]) => sum + weight, 0))
    return all.find(([, weight]) => (left -= weight) < 0)![0] as Name
  }
}
