/** Calls the handlers of a webhook server, within the timeouts of requests. */
import { untilAborted } from '../../async/abort.ts'
import { type Clock, within } from '../../async/clock.ts'
import { Timeouts } from '../../async/timeouts.ts'
import { callFetch } from '../../runtime/net/http_server.ts'
import type { ServerRequest, ServerResponse } from '../../runtime/net/server_exchange.ts'
import type { WebhookHandler, WebhookResponse } from '../common/handler.ts'
import type { ServerLines } from './server_lines.ts'
import { Call, timeoutOf } from './webhook_request.ts'

/** The maximum `timeoutSeconds` of a webhook: later, the API server has given up. A body may take as long. */
export const MAX_REVIEW_MS = 30_000

/** A call of the Fetch API. */
export type WebhookFetch = (request: Request) => Response | Promise<Response>

export class ReviewCalls {
  readonly #clock: Clock
  readonly #lines: ServerLines
  /** By their length, which the API server writes in whole seconds up to 30. */
  readonly #timeouts = new Map<number, Timeouts>()

  constructor(clock: Clock, lines: ServerLines) {
    this.#clock = clock
    this.#lines = lines
  }

  /** Calls a handler until it responds or the request's timeout passes. Never rejects. */
  review(name: string, handler: WebhookHandler, request: ServerRequest): Promise<WebhookResponse> {
    const call = new Call(request)
    // Others than the API server may state a longer one, or none, and hold the place of other reviews.
    const timeoutMs = Math.min(timeoutOf(request.path) ?? MAX_REVIEW_MS, MAX_REVIEW_MS)
    return new Promise((resolve) => {
      const stop = this.#after(timeoutMs, () => {
        const why = `The webhook did not respond within the timeout of ${timeoutMs / 1000} s`
        call.abort(new Error(why))
        this.#lines.late(why, name)
        resolve({ status: 504, body: why })
      })
      const finish = (response: WebhookResponse): void => {
        stop()
        resolve(response)
      }
      const fail = (error: unknown): void => {
        this.#lines.failed(`The webhook "${name}" failed`, error)
        finish({ status: 500, body: 'The webhook failed; see its log', failed: true })
      }
      try {
        handler(call).then(finish, fail)
      } catch (error) {
        fail(error)
      }
    })
  }

  /** Calls a function of the Fetch API. Rejects if it does, and when the timeout of the request passes. */
  async fetch(fetch: WebhookFetch, request: ServerRequest): Promise<ServerResponse> {
    const timeoutMs = timeoutOf(request.path)
    if (timeoutMs === undefined) return await callFetch(fetch, request, 'https')
    const late = (): Error => new Error(`The request's timeout of ${timeoutMs} ms has passed`)
    return await within(this.#clock, timeoutMs, late, async (signal) => {
      const { method, path, headers, isTrusted, body } = request
      const limited: ServerRequest = { method, path, headers, isTrusted, body, signal }
      return await untilAborted(callFetch(fetch, limited, 'https'), signal)
    }, request.signal)
  }

  /** Frees the timers. */
  close(): void {
    for (const timeouts of this.#timeouts.values()) timeouts.close()
  }

  /** Requests with the same timeout share a timer. */
  #after(ms: number, onDue: () => void): () => void {
    if (ms % 1000 !== 0) return this.#clock.after(ms, onDue)
    let timeouts = this.#timeouts.get(ms)
    if (!timeouts) this.#timeouts.set(ms, timeouts = new Timeouts(this.#clock, ms))
    return timeouts.begin(onDue)
  }
}
