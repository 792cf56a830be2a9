/** Answers: bodies in memory, JSON, and what the client says it can read. */
import type { HttpBody, HttpResponse } from '../../core/transport.ts'
import { notAcceptable, StatusError } from './status.ts'

const encoder = new TextEncoder()

/** A body whose bytes are all there. */
export function wholeBody(text: string): HttpBody {
  let isRead = false
  return {
    text() {
      isRead = true
      return Promise.resolve(text)
    },
    cancel() {
      isRead = true
    },
    // deno-lint-ignore require-await -- a body is asynchronous, even when there is nothing to wait for
    async *[Symbol.asyncIterator]() {
      if (isRead) return
      isRead = true
      if (text) yield encoder.encode(text)
    },
  }
}

export function answerText(
  status: number,
  text: string,
  type = 'text/plain; charset=utf-8',
  headers: Record<string, string> = {},
): HttpResponse {
  return { status, headers: { 'content-type': type, ...headers }, body: wholeBody(text) }
}

export function answerJson(
  status: number,
  json: string,
  warnings: readonly string[] = [],
  type = 'application/json',
): HttpResponse {
  return answerText(status, `${json}\n`, type, warningHeaders(warnings))
}

export function answerError(error: StatusError, warnings: readonly string[] = []): HttpResponse {
  const retry = error.details?.['retryAfterSeconds']
  const headers = { ...warningHeaders(warnings), ...(retry !== undefined && { 'retry-after': String(retry) }) }
  return answerText(error.code, `${JSON.stringify(error.body())}\n`, 'application/json', headers)
}

/** RFC 7234 warnings, as kubectl prints them. */
export function warningHeaders(warnings: readonly string[]): Record<string, string> {
  const texts = [...new Set(warnings)].map((text) =>
    `299 - "${text.replace(/[\\"]/g, '\\$&').replace(/[\r\n]/g, ' ')}"`
  )
  return texts.length > 0 ? { warning: texts.join(', ') } : {}
}

/** What an Accept header asks for, best first, narrowed to what this server writes. */
export interface Accepted {
  /** `Table` or `PartialObjectMetadata` and so on: the `as` parameter. */
  readonly as: string | undefined
  readonly group: string | undefined
  readonly version: string | undefined
  readonly yaml: boolean
}

const WRITTEN: readonly string[] = ['application/json', 'application/*', '*/*']

/** Reads an Accept header. Throws 406 when nothing in it is JSON. */
export function accepted(header: string | undefined, supports: (as: Accepted) => boolean): Accepted {
  const clauses = (header || '*/*').split(',').map((clause) => {
    const [type, ...parameters] = clause.split(';').map((part) => part.trim())
    const values = new Map(
      parameters.map((parameter) => parameter.split('=', 2).map((part) => part.trim()) as [string, string]),
    )
    const quality = Number(values.get('q') ?? '1')
    return { type: type!.toLowerCase(), values, quality: Number.isNaN(quality) ? 1 : quality }
  }).sort((a, b) => b.quality - a.quality)
  for (const { type, values } of clauses) {
    if (!WRITTEN.includes(type)) continue
    const asked: Accepted = { as: values.get('as'), group: values.get('g'), version: values.get('v'), yaml: false }
    if (asked.as === undefined || supports(asked)) return asked
  }
  throw notAcceptable(['application/json'])
}
