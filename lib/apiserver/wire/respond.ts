/** Builds responses. */
import type { HttpBody, HttpResponse } from '../../core/transport.ts'
import type { StatusError } from '../model/status.ts'

const encoder = new TextEncoder()

/** A body with its complete text in memory. */
export class TextBody implements HttpBody {
  readonly content: string
  #isRead = false

  constructor(content: string) {
    this.content = content
  }

  text(): Promise<string> {
    this.#isRead = true
    return Promise.resolve(this.content)
  }

  cancel(): void {
    this.#isRead = true
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    if (this.#isRead) return
    this.#isRead = true
    if (this.content) yield encoder.encode(this.content)
  }
}

/** A JSON body that a client may ask for in another form. */
export class ObjectBody extends TextBody {}

/** Go's HTTP server adds it to the texts of errors. */
export const NO_SNIFFING: Record<string, string> = { 'x-content-type-options': 'nosniff' }

export const PLAIN = 'text/plain; charset=utf-8'

/** Returns an answer without a body. */
export function answerEmpty(status: number, headers: Record<string, string> = {}): HttpResponse {
  return { status, headers, body: new TextBody('') }
}

export function answerText(
  status: number,
  text: string,
  type: string = PLAIN,
  headers: Record<string, string> = {},
): HttpResponse {
  return { status, headers: { 'content-type': type, ...headers }, body: new TextBody(text) }
}

/** Returns an API object. Clients may ask for it as YAML, see encode.ts. */
export function answerJson(
  status: number,
  json: string,
  warnings: readonly string[] = [],
  type = 'application/json',
): HttpResponse {
  return { status, headers: { 'content-type': type, ...warningHeaders(warnings) }, body: new ObjectBody(`${json}\n`) }
}

export function answerError(error: StatusError, warnings: readonly string[] = []): HttpResponse {
  const retry = error.details?.['retryAfterSeconds']
  const headers = {
    'content-type': 'application/json',
    ...warningHeaders(warnings),
    ...(retry !== undefined && { 'retry-after': String(retry) }),
  }
  return { status: error.code, headers, body: new ObjectBody(`${JSON.stringify(error.body())}\n`) }
}

/** The answer to a path that does not exist, in the words of Go's HTTP server. */
export function answerPageNotFound(): HttpResponse {
  return answerText(404, '404 page not found\n', PLAIN, NO_SNIFFING)
}

/** Returns the Warning header (RFC 7234) that kubectl prints. */
export function warningHeaders(warnings: readonly string[]): Record<string, string> {
  const texts = [...new Set(warnings)].map((text) =>
    `299 - "${text.replace(/[\\"]/g, '\\$&').replace(/[\r\n]/g, ' ')}"`
  )
  return texts.length > 0 ? { warning: texts.join(', ') } : {}
}
