/** Gives every answer the form that the client asks for (JSON, indented JSON, YAML), and its common headers. */
import type { HttpResponse } from '../../core/transport.ts'
import type { Json } from '../model/json.ts'
import { supportsForm } from './table.ts'
import { acceptedForm } from './accept.ts'
import { ObjectBody, TextBody } from './respond.ts'
import type { Call } from '../model/routes.ts'
import { yamlText } from '../../core/yaml_text.ts'

/** Returns the answer as it is sent. */
export function encodeAnswer(call: Call, response: HttpResponse, newAuditId: () => string): HttpResponse {
  const headers: Record<string, string> = {
    'audit-id': call.headers['audit-id'] || newAuditId(),
    'cache-control': 'no-cache, private',
    ...response.headers,
  }
  const { body } = response
  if (!(body instanceof ObjectBody)) return { ...response, headers }
  const isError = response.status >= 400
  const form = acceptedForm(call.headers['accept'], isError ? () => false : isConvertible)
  // An error that cannot be given in the accepted form is sent as JSON.
  if (!form) return { ...response, headers, body: new TextBody(indented(body.content)) }
  if (form.media === 'application/yaml') {
    headers['content-type'] = headers['content-type']!.replace('application/json', 'application/yaml')
    return { ...response, headers, body: new TextBody(yamlText(JSON.parse(body.content) as Json)) }
  }
  if (form.pretty || isPretty(call)) return { ...response, headers, body: new TextBody(indented(body.content)) }
  return { ...response, headers }
}

/** The endpoint has chosen one of these, or refused the request. */
function isConvertible(
  form: { as: string | undefined; group: string | undefined; version: string | undefined },
): boolean {
  return supportsForm(form) || form.group === 'apidiscovery.k8s.io'
}

/** Returns the JSON as the real server indents it, without a line break at its end. */
function indented(json: string): string {
  return JSON.stringify(JSON.parse(json), null, 2)
}

const TRUE: readonly string[] = ['1', 't', 'T', 'TRUE', 'true', 'True']

/** Returns whether the request asks for indented JSON: by `pretty`, or as a browser or a command-line tool. */
function isPretty({ query, headers }: Call): boolean {
  const given = query.get('pretty')
  return given ? TRUE.includes(given) : /^(?:curl|Wget|Mozilla\/5\.0)/.test(headers['user-agent'] ?? '')
}

/** Returns a source of audit ids: random ones, or for equal runs of a seeded server, numbers. */
export function auditIds(isSeeded: boolean): () => string {
  if (!isSeeded) return () => crypto.randomUUID()
  let last = 0
  return () => `00000000-0000-4000-8000-${(++last).toString(16).padStart(12, '0')}`
}
