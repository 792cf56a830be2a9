/** Work that is done again and again while the operator runs. */
import { LeadershipLost, messageOf } from '../../core/errors.ts'
import { pause } from '../../async/clock.ts'
import type { WebhookSetup } from './setup.ts'

/**
 * Calls `work` every `ms` until the signal is aborted. A failure is logged, and the next time is a new try.
 *
 * @throws LeadershipLost if `work` does.
 */
export async function repeatedly(
  what: string,
  work: () => Promise<void>,
  ms: number,
  { clock, log }: Pick<WebhookSetup, 'clock' | 'log'>,
  signal: AbortSignal,
): Promise<void> {
  for (; !signal.aborted; await pause(clock, ms, signal)) {
    try {
      await work()
    } catch (error) {
      if (signal.aborted || error instanceof LeadershipLost) throw error
      log.warn(`Cannot ${what}; trying again in ${ms / 1000} s: ${messageOf(error)}`)
    }
  }
}
