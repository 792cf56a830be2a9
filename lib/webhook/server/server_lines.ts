/** The lines of a webhook server about its clients and handlers. Their rates are limited. */
import { messageOf } from '../../core/errors.ts'
import { printable } from '../../core/printable.ts'
import type { Clock } from '../../async/clock.ts'
import { type Log, RateLimitedLog } from '../../observe/log.ts'
import type { RequestHead } from '../../runtime/net/server_exchange.ts'
import { pathOf } from './webhook_request.ts'

/** Longer paths and errors of clients are cut. */
const MAX_TEXT = 200

export class ServerLines {
  readonly #clientLog: RateLimitedLog
  readonly #refusalLog: RateLimitedLog
  readonly #failureLog: RateLimitedLog

  constructor(clock: Clock, log: Log) {
    this.#clientLog = new RateLimitedLog(clock, log)
    this.#refusalLog = new RateLimitedLog(clock, log)
    this.#failureLog = new RateLimitedLog(clock, log)
  }

  refused({ path, method }: RequestHead, status: number, why: string): void {
    this.#refusalLog.warn(`Refused a request to a webhook: ${why}`, { path: shown(pathOf(path)), method, status })
  }

  /** Reports a handler that did not respond in time: `why`. */
  late(why: string, webhook: string): void {
    this.#refusalLog.warn(why, { webhook })
  }

  /** Reports a handler that threw. */
  failed(what: string, error: unknown): void {
    this.#failureLog.error(`${what}: ${messageOf(error)}`, { error })
  }

  /** Reports a client that could not connect. */
  clientFailed(error: Error & { readonly code?: string }): void {
    const hint = /alert|ALERT|unknown.?ca|certificate/i.test(`${error.code} ${error.message}`)
      ? "; check the caBundle of the webhook configurations and of the CRDs' conversion"
      : ''
    this.#clientLog.warn(`A client of the webhooks could not connect, or did not speak TLS and HTTP${hint}`, {
      error: shown(error.code ?? error.message),
    })
  }
}

/** Returns a client's text for a line. */
function shown(text: string): string {
  return printable(text).slice(0, MAX_TEXT)
}
