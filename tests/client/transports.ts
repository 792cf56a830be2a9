/** Transports for tests, as plain functions: canned answers, and a recorder that can stand in the way. */
import type { HttpRequest, HttpResponse, Transport } from '../../lib/core/transport.ts'

/** An answer with a body of JSON, or of text as it is. */
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

/** A refusal as the API server words it. */
export function refusal(
  code: number,
  reason: string,
  details: object = {},
  message = `refused: ${reason}`,
): HttpResponse {
  return answer(code, { kind: 'Status', apiVersion: 'v1', status: 'Failure', message, reason, details, code })
}

export interface Recorder {
  readonly transport: Transport
  readonly requests: HttpRequest[]
  /** `PUT /path` of each request since the last look, without the query. */
  take(): string[]
  /** Stands before the server: answers itself, or asks `next`. */
  intercept: ((request: HttpRequest, next: Transport) => Promise<HttpResponse>) | undefined
}

/** Records what is sent to `inner`. */
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

/** Never answers; ends with the request's signal, as a dead connection does. */
export const silence: Transport = ({ signal }) =>
  new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })

/** The JSON that a request carries. */
export function bodyOf(request: HttpRequest | undefined): unknown {
  return JSON.parse(request?.body as string) as unknown
}
