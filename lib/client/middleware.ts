/** Transport middleware: retries refused requests, logs the server's warnings. */
import { BoundedMap } from '../async/bounded_map.ts'
import { type Clock, sleep } from '../async/clock.ts'
import { type HttpResponse, isWatch, type Transport } from '../core/transport.ts'
import { type Log, silentLog } from '../observe/log.ts'
import { retryAfterMs } from './codec.ts'

export interface RetryOptions {
  readonly clock: Clock
  /** Default: Math.random. */
  readonly random?: (() => number) | undefined
  /** Default: none. */
  readonly log?: Log | undefined
  /** Max times a request is sent. Default: 11, one try and ten retries. */
  readonly maxAttempts?: number | undefined
}

/** The part of a response that decides about a retry. */
export type Refusal = Pick<HttpResponse, 'status' | 'headers'>

/** A request is sent again after this time at the latest: a proxy may ask for hours. */
const MAX_WAIT_MS = 30_000

/**
 * Returns the wait before a retry in milliseconds, without jitter and at most 30 s, or `undefined` if the response is
 * final. `attempt` is how many times the request was sent.
 */
export function retryDelayMs({ status, headers }: Refusal, attempt: number, maxAttempts: number): number | undefined {
  if (status !== 429 && status < 500) return undefined
  if (attempt >= maxAttempts) return undefined
  const delay = retryAfterMs(headers)
  return delay === undefined ? undefined : Math.min(delay, MAX_WAIT_MS)
}

/**
 * Returns a transport that retries 429 and 5xx responses with a Retry-After, as client-go does: with that header, the
 * server has not acted on the request. It waits up to 10 % longer, so that the clients do not all retry at once.
 * Watches are not retried here, as their state machine backs off itself. An abort ends the wait at once.
 */
export function retrying(transport: Transport, options: RetryOptions): Transport {
  const { clock, random = Math.random, log = silentLog, maxAttempts = 11 } = options
  return async (request) => {
    for (let attempt = 1;; attempt++) {
      const response = await transport(request)
      const delay = retryDelayMs(response, attempt, maxAttempts)
      if (delay === undefined || isWatch(request.path)) return response
      // Release the connection before the wait.
      response.body.cancel()
      const ms = delay + random() * Math.max(delay, MIN_SPREAD_MS) * JITTER
      log.debug('The server is busy; retrying the request later', {
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

/** Spreads retries after `Retry-After: 0`, too. */
const MIN_SPREAD_MS = 1000

/** Above this many texts the oldest are forgotten, and logged again when they recur. */
const MAX_TEXTS = 1000

/** Returns a transport that logs the server's warnings (deprecated versions, unknown fields), each text once. */
export function loggingWarnings(transport: Transport, log: Log): Transport {
  const logged = new BoundedMap<string, true>(MAX_TEXTS)
  return async (request) => {
    const response = await transport(request)
    const header = response.headers['warning']
    if (header === undefined || request.quiet) return response
    for (const text of warningTexts(header)) {
      if (logged.has(text)) continue
      logged.set(text, true)
      log.warn(`The API server warns: ${text}`, { method: request.method, path: request.path.split('?', 1)[0] })
    }
    return response
  }
}

/**
 * Returns the texts of a Warning header with code 299, which API servers use. Caches in between use other codes.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7234#section-5.5
 */
export function warningTexts(header: string): readonly string[] {
  const texts: string[] = []
  for (const [, code, quoted] of header.matchAll(/(\d{3}) [^\s"]+ "((?:[^"\\]|\\.)*)"(?: "[^"]*")?/gs)) {
    const text = quoted!.replace(/\\(.)/gs, '$1').trim()
    if (code === '299' && text !== '') texts.push(text)
  }
  return texts
}
