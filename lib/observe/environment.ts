/** The clock, the log and the random numbers of a part. */
import { type Clock, systemClock } from '../async/clock.ts'
import { type Log, safeLog } from './log.ts'

/** What the parts of a program share. */
export interface PartEnvironment {
  readonly clock: Clock
  readonly log: Log
}

/** The same for a part with a back-off. */
export interface RandomPartEnvironment extends PartEnvironment {
  /** Returns a number in [0, 1). */
  readonly random: () => number
}

/** The clock and the log of one part. */
export interface PartOptions {
  /** Default: the real clock. */
  readonly clock?: Clock | undefined
  /** Default: none. A log that throws stops nothing. */
  readonly log?: Log | undefined
}

/** The same, and the random numbers of its back-off. */
export interface RandomPartOptions extends PartOptions {
  /** Default: Math.random. */
  readonly random?: (() => number) | undefined
}

/** Returns the environment of a part: what its options state, else the defaults. Its log never throws. */
export function environmentOf(
  { clock = systemClock, log, random = Math.random }: RandomPartOptions,
): RandomPartEnvironment {
  return { clock, log: safeLog(log), random }
}
