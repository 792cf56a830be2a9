/** A request to a webhook and its answer, as HTTP has them. */
import { LazyAbort } from '../../async/abort.ts'
import type { ServerRequest, ServerResponse } from '../../runtime/net/server_exchange.ts'
import type { WebhookRequest, WebhookResponse } from '../common/handler.ts'

export function pathOf(target: string): string {
  const query = target.indexOf('?')
  return query < 0 ? target : target.slice(0, query)
}

/** Returns the `timeout` in the query, which the API server writes as Go does: `5s`. Undefined if there is none. */
export function timeoutOf(target: string): number | undefined {
  const match = /[?&]timeout=(\d{1,6})(ms|s|m)(?=&|$)/.exec(target)
  return match ? Number(match[1]) * { ms: 1, s: 1000, m: 60_000 }[match[2] as 'ms' | 's' | 'm'] : undefined
}

export class Call implements WebhookRequest {
  readonly #request: ServerRequest
  readonly #abort: LazyAbort

  constructor(request: ServerRequest) {
    this.#request = request
    this.#abort = new LazyAbort(request.signal)
  }

  get contentType(): string {
    const [type = ''] = (this.#request.headers['content-type'] ?? '').split(';', 1)
    return type.trim().toLowerCase()
  }

  get body(): Uint8Array {
    return this.#request.body
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  abort(reason: Error): void {
    this.#abort.abort(reason)
  }
}

const encoder = new TextEncoder()

const JSON_HEADERS = { 'content-type': 'application/json' }

const TEXT_HEADERS = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' }

export function responseOf({ status, body }: WebhookResponse): ServerResponse {
  if (status !== 200) return textResponse(status, body)
  return { status, headers: JSON_HEADERS, body: encoder.encode(body) }
}

export function textResponse(status: number, text: string): ServerResponse {
  return { status, headers: TEXT_HEADERS, body: encoder.encode(`${text}\n`) }
}
