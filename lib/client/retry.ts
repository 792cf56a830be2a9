/**
 * Requests that the server puts off: 429 and 5xx with a Retry-After are sent again, as client-go does. The server has not
 * acted on them; all else is the caller's to decide.
 */
import { type Clock, sleep } from '../async/clock.ts'
import type { HttpRequest, HttpResponse, Transport } from '../core/transport.ts'
import { type Log, silentLog } from '../observe/log.ts'

export interface RetryOptions {
  readonly clock: Clock
  /** Default: Math.random. */
  readonly random?: (() => number) | undefined
  /** Default: none. */
  readonly log?: Log | undefined
  /** How often a request is sent at most. Default: 11, one try and ten retries. */
  readonly maxAttempts?: number | undefined
}

/** What the decision looks at. */
export type Refusal = Pick<HttpResponse, 'status' | 'headers'>

/** A longer wait is the caller's business: it has a queue to wait in, and its own deadline. */
const LONGEST_WAIT_MS = 30_000

/**
 * How long to wait before a request is sent again, without jitter; undefined when its answer stands. A wait that is
 * longer than half a minute is cut to that. `attempt` is how often it has been sent.
 */
export function retryDelayMs(
  { status, headers }: Refusal,
  attempt: number,
  options: { maxAttempts: number; now: number },
): number | undefined {
  if (status !== 429 && status < 500) return undefined
  if (attempt >= options.maxAttempts) return undefined
  const delay = retryAfterMs(headers['retry-after'], options.now)
  return delay === undefined ? undefined : Math.min(delay, LONGEST_WAIT_MS)
}

/** A Retry-After in milliseconds: seconds, or a date. Undefined when it is neither. */
function retryAfterMs(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined
  if (/^\s*\d+\s*$/.test(value)) return Number(value) * 1000
  // An HTTP date begins with its weekday; Date.parse would take "-1" for one, too.
  const date = /^[A-Z][a-z]+,? /.test(value) ? Date.parse(value) : NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

/**
 * A transport that waits as the server asks, and up to a tenth longer, so that all who were turned away do not come back
 * at once. Watches pass: their machine backs off itself. An abort ends the wait at once.
 */
export function retrying(transport: Transport, options: RetryOptions): Transport {
  const { clock, random = Math.random, log = silentLog, maxAttempts = 11 } = options
  return async (request) => {
    for (let attempt = 1;; attempt++) {
      const response = await transport(request)
      const delay = retryDelayMs(response, attempt, { maxAttempts, now: clock.now() })
      if (delay === undefined || isWatch(request)) return response
      // Its connection must not be held while we wait.
      response.body.cancel()
      const ms = delay + random() * Math.max(delay, MIN_SPREAD_MS) * JITTER
      log.debug('The server is busy, the request is sent again later', {
        method: request.method,
        path: request.path,
        status: response.status,
        attempt,
        ms,
      })
      await sleep(clock, ms, request.signal)
    }
  }
}

const JITTER = 0.1

/** Retry-After: 0 is spread as well. */
const MIN_SPREAD_MS = 1000

function isWatch({ path }: HttpRequest): boolean {
  const watch = new URLSearchParams(path.split('?', 2)[1]).get('watch')
  return watch === 'true' || watch === '1'
}
