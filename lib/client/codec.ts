/** Decodes responses into objects and errors. */
import { ApiError, type Status } from '../core/errors.ts'
import type { KubeObject } from '../core/objects.ts'
import { markPartial } from '../core/partial.ts'
import { type AnyResource, apiVersionOf } from '../core/resource.ts'
import type { HttpResponse } from '../core/transport.ts'

/** The body of a list response. Items of built-in kinds have no apiVersion and kind. */
export interface ListBody {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string }
  readonly items: KubeObject[]
}

export type Parse = (text: string) => unknown

/** Reduces an object to its metadata, in place, if its Resource reads only that. Returns the object. */
export function readAs(resource: AnyResource, object: KubeObject): KubeObject {
  if (resource.only !== 'metadata') return object
  // Usually the server has sent only metadata. Deleting nothing keeps the object small in V8.
  for (const field of Object.keys(object)) {
    if (!IDENTITY.has(field)) delete (object as unknown as Record<string, unknown>)[field]
  }
  return markPartial(Object.assign(object, { apiVersion: apiVersionOf(resource), kind: resource.kind }))
}

const IDENTITY: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata'])

/**
 * Resolves with the JSON of a successful response. `action` is used in errors: `apply Deployment "default/a"`. Use
 * `parseExact` for a single object, which may be written back.
 *
 * @throws ApiError for a status of 300 or more, SyntaxError if the body is not JSON.
 */
export async function readJson(response: HttpResponse, action: string, parse: Parse = JSON.parse): Promise<unknown> {
  if (response.status >= 300) throw await readError(response, action)
  return parseBody(await response.body.text(), response.status, action, parse)
}

/** @throws SyntaxError if the text of a response is not JSON. */
export function parseBody(text: string, status: number, action: string, parse: Parse = JSON.parse): unknown {
  try {
    return parse(text)
  } catch {
    // No cause: the parser's message quotes the text, which may be part of a Secret.
    throw new SyntaxError(`Cannot ${action}: the server answered ${status} with ${describeBody(text)} instead of JSON`)
  }
}

/**
 * Resolves with the error of a failed response. Proxies and load balancers send no Status, so the HTTP status is used.
 */
export async function readError(response: HttpResponse, action: string): Promise<ApiError> {
  const status = parseStatus(await response.body.text(), response.status)
  const { status: code, headers } = response
  // The header wins over the Status.
  return errorOf(status, action, { code, retryAfterMs: retryAfterMs(headers) })
}

/** Returns the error for a Status from a response body or a watch event. */
export function errorOf(
  answer: Status,
  action: string,
  known: { code?: number; retryAfterMs?: number | undefined } = {},
): ApiError {
  const status = withoutObjects(answer, /\bSecret "|\bsecrets\b/.test(action))
  const code = known.code ?? status.code ?? 500
  const message = status.message || status.reason || `the server answered ${code}`
  // The server's message, "the server could not find the requested resource", is misleading.
  const hint = code === 404 && !status.details?.name
    ? '; it does not serve this kind or subresource (is the CRD installed?)'
    : ''
  const rule = code === 403 ? missingRule(message) : ''
  return new ApiError(`Cannot ${action}: ${shortened(message)}${hint}${rule}`, status, {
    code,
    // Not NaN: such a wait would end at once.
    retryAfterMs: known.retryAfterMs ?? (status.details?.retryAfterSeconds! * 1000 || undefined),
  })
}

/** Characters of a server's message that an error repeats. The whole message is in its status. */
const MAX_MESSAGE = 1000

/**
 * Shortens a message: the escalation check lists every missing rule, up to 20 KB, in each log line of a failing key.
 */
function shortened(message: string): string {
  const left = message.length - MAX_MESSAGE
  return left > 0 ? `${message.slice(0, MAX_MESSAGE)}… (${left} more characters)` : message
}

/** Returns the missing RBAC rule as text, or nothing for another 403 such as an exceeded quota. */
function missingRule(message: string): string {
  if (message.includes(`you can't set finalizers on`)) {
    return `; its role lacks { verbs: ["update"] } for the finalizers of the owner's kind, such as "foos/finalizers"`
  }
  const [, granted] = ESCALATION.exec(message) ?? []
  if (granted) {
    const [resources, wanted] = granted.endsWith('bindings')
      ? ['"roles", "clusterroles"', 'bind']
      : [`"${granted}"`, 'escalate']
    const rule = `{ apiGroups: ["rbac.authorization.k8s.io"], resources: [${resources}], verbs: ["${wanted}"] }`
    return `; its role lacks these rules: add them to the operator's role, or ${rule}`
  }
  const [, verb, resource, group] = /cannot (\S+) resource "([^"]+)" in API group "([^"]*)"/.exec(message) ?? []
  return verb ? `; its role lacks { apiGroups: ["${group}"], resources: ["${resource}"], verbs: ["${verb}"] }` : ''
}

/** A refused grant, see https://kubernetes.io/docs/reference/access-authn-authz/rbac/ */
const ESCALATION =
  /^((?:cluster)?role(?:binding)?s)\.rbac\.authorization\.k8s\.io .* is attempting to grant RBAC permissions not currently held/

/** Replaces the verbs of the rule in a message. The server names only the first verb that it refuses. */
export function withVerbs(message: string, ...verbs: readonly string[]): string {
  return message.replace(/verbs: \[[^\]]*\]/, `verbs: [${verbs.map((verb) => `"${verb}"`).join(', ')}]`)
}

/**
 * Returns a Status that is safe to log. Strict validation of a patch reports the whole object as the "invalid value",
 * which is long and may hold secrets. For a Secret, every value is removed, also one of a wrong type in an apply.
 */
function withoutObjects(status: Status, isSecret: boolean): Status {
  const clean = (text: string | undefined): string | undefined =>
    text?.replace(
      /(Invalid value: |, got )("(?:[^"\\]|\\.)*"|\{.*\}|&.*)/gs,
      (whole, head: string, value: string) => isSecret || /^"?\{/.test(value) ? `${head}(not shown)` : whole,
    )
  const message = clean(status.message)
  const causes = status.details?.causes?.map((cause) => ({ ...cause, ...optional('message', clean(cause.message)) }))
  const details = status.details && { ...status.details, ...optional('causes', causes) }
  return { ...status, ...optional('message', message), ...optional('details', details) }
}

function optional<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return (value === undefined ? {} : { [key]: value }) as { [P in K]?: V }
}

/** Whether a 404 is about a missing object, which it names, and not about a kind that is not served. */
export function isMissingObject(error: unknown): boolean {
  return error instanceof ApiError && error.code === 404 && Boolean(error.status.details?.name)
}

/** Returns whether a 404 means that the server does not serve the kind. */
export function isMissingKind(error: unknown): boolean {
  return error instanceof ApiError && error.code === 404 && !error.status.details?.name
}

function parseStatus(text: string, code: number): Status {
  try {
    const body: unknown = JSON.parse(text)
    if (typeof body === 'object' && body !== null && (body as Status).kind === 'Status') return body as Status
  } catch {
    // Not JSON, so it comes from a proxy; the message below quotes it.
  }
  return { kind: 'Status', code, message: `the server answered ${code} with ${describeBody(text)}` }
}

/** Quotes the text of a proxy, but nothing that may be part of an object. */
function describeBody(text: string): string {
  const line = text.trim().split('\n', 1)[0] ?? ''
  if (/^[[{]/.test(line)) return `${text.length} characters that look like JSON`
  return line === '' ? 'an empty body' : `"${line.length > 120 ? `${line.slice(0, 120)}…` : line}"`
}

/**
 * Returns the Retry-After of a response in milliseconds; `undefined` if it is neither whole seconds nor an HTTP date. A
 * date is relative to the Date of the response: the clock of this machine may differ from the server's.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3
 */
export function retryAfterMs({ 'retry-after': value, date = '' }: HttpResponse['headers']): number | undefined {
  if (value === undefined) return undefined
  if (/^\s*\d+\s*$/.test(value)) return Number(value) * 1000
  // An HTTP date begins with a weekday; Date.parse alone would accept "-1".
  const ms = /^[A-Z][a-z]+,? /.test(value) ? Date.parse(value) - Date.parse(date) : NaN
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}
