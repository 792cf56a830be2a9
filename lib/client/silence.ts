/** Ends a request when the API server has sent nothing for a time. */
import { NetworkError } from '../core/errors.ts'
import type { Clock } from '../async/clock.ts'
import { type Deadline, deadline } from '../async/deadline.ts'

/**
 * The default silence after which a connection to the API server counts as dead. Bookmarks come about every 60 s (121 s
 * was measured), and the server gives up a request after 60 s.
 */
export const SILENCE_MS = 150_000

/**
 * Calls `onSilence` with an error when the server sends nothing for the time that was set last. It must be cancelled.
 */
export function silenceDeadline(
  clock: Clock,
  { action, phase, ms = SILENCE_MS }: {
    /** What is being done, for the error: `watch pods`. */
    readonly action: string
    readonly phase: NetworkError['phase']
    readonly ms?: number
  },
  onSilence: (error: NetworkError) => void,
): Deadline {
  return deadline(clock, ms, (ms) => {
    const message = `Cannot ${action}: the server sent nothing for ${ms / 1000} s, so the connection is considered dead`
    onSilence(new NetworkError(message, { phase, code: 'ETIMEDOUT' }))
  })
}
