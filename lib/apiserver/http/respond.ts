/** Builds responses, and reads the Accept header. */
import type { HttpBody, HttpResponse } from '../../core/transport.ts'
import { notAcceptable, StatusError } from './status.ts'

const encoder = new TextEncoder()

/** Returns a body with its complete text in memory. */
function textBody(text: string): HttpBody {
  let isRead = false
  return {
    text() {
      isRead = true
      return Promise.resolve(text)
    },
    cancel() {
      isRead = true
    },
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
  return { status, headers: { 'content-type': type, ...headers }, body: textBody(text) }
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

/** Returns the Warning header (RFC 7234) that kubectl prints. */
export function warningHeaders(warnings: readonly string[]): Record<string, string> {
  const texts = [...new Set(warnings)].map((text) =>
    `299 - "${text.replace(/[\\"]/g, '\\$&').replace(/[\r\n]/g, ' ')}"`
  )
  return texts.length > 0 ? { warning: texts.join(', ') } : {}
}

/** The representation that an Accept header selects. */
export interface AcceptedForm {
  /** The `as` parameter, such as `Table` or `PartialObjectMetadata`. */
  readonly as: string | undefined
  readonly group: string | undefined
  readonly version: string | undefined
  readonly yaml: boolean
}

const JSON_TYPES: readonly string[] = ['application/json', 'application/*', '*/*']

/** Returns the preferred supported form of an Accept header. Throws 406 if no clause accepts JSON. */
export function parseAccept(header: string | undefined, supports: (as: AcceptedForm) => boolean): AcceptedForm {
  const clauses = (header || '*/*').split(',').map((clause) => {
    const [type, ...parameters] = clause.split(';').map((part) => part.trim())
    const values = new Map(
      parameters.map((parameter) => parameter.split('=', 2).map((part) => part.trim()) as [string, string]),
    )
    const quality = Number(values.get('q') ?? '1')
    return { type: type!.toLowerCase(), values, quality: Number.isNaN(quality) ? 1 : quality }
  }).sort((a, b) => b.quality - a.quality)
  for (const { type, values } of clauses) {
    if (!JSON_TYPES.includes(type)) continue
    const form: AcceptedForm = { as: values.get('as'), group: values.get('g'), version: values.get('v'), yaml: false }
    if (form.as === undefined || supports(form)) return form
  }
  throw notAcceptable(['application/json'])
}
