/** What all parts of a start share. */
import type { Clock } from '../async/clock.ts'
import type { Log } from '../observe/log.ts'

export interface Environment {
  readonly clock: Clock
  readonly log: Log
  readonly random?: (() => number) | undefined
}
