/** Transports for tests: canned responses, and a recorder that can intercept. */
import assert from 'node:assert/strict'
import { isReason, type Reason } from '../../lib/core/errors.ts'
import type { HttpRequest, HttpResponse, Transport } from '../../lib/core/transport.ts'

/** Returns a response with a JSON body, or with text unchanged. */
export function answer(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): HttpResponse {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return {
    status,
    headers,
    body: {
      text: () => Promise.resolve(text),
      cancel() {},
      async *[Symbol.asyncIterator]() {
        yield new TextEncoder().encode(text)
      },
    },
  }
}

/** Returns an error response as the API server sends it. */
export function refusal(
  code: number,
  reason: string,
  details: object = {},
  message = `refused: ${reason}`,
): HttpResponse {
  return answer(code, { kind: 'Status', apiVersion: 'v1', status: 'Failure', message, reason, details, code })
}

/** Asserts that a call rejects for this reason, with a message that matches. */
export async function refuses(reason: Reason, call: Promise<unknown>, message = /^/): Promise<void> {
  await assert.rejects(call, (error: Error) => {
    assert.ok(isReason(error, reason), `${reason}: ${error.message}`)
    assert.match(error.message, message)
    return true
  })
}

export interface Recorder {
  readonly transport: Transport
  readonly requests: HttpRequest[]
  /** Returns `PUT /path` of each request since the last call, without the query. */
  take(): string[]
  /** Called instead of the server: answers itself, or calls `next`. */
  intercept: ((request: HttpRequest, next: Transport) => Promise<HttpResponse>) | undefined
}

/** Records the requests to `inner`. */
export function recorder(inner: Transport): Recorder {
  let seen = 0
  const self: Recorder = {
    requests: [],
    intercept: undefined,
    transport: (request) => {
      self.requests.push(request)
      return self.intercept ? self.intercept(request, inner) : inner(request)
    },
    take: () => {
      const taken = self.requests.slice(seen).map(({ method, path }) => `${method} ${path.split('?', 1)[0]}`)
      seen = self.requests.length
      return taken
    },
  }
  return self
}

/** Never answers, like a dead connection; an abort rejects. */
export const silence: Transport = ({ signal }) =>
  new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })

/** Returns the JSON body of a request. */
export function bodyOf(request: HttpRequest | undefined): unknown {
  return JSON.parse(request?.body as string) as unknown
}
