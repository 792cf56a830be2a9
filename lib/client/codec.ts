/** From an answer to an object, or to the error that says what the server refused. */
import { ApiError, type Status } from '../core/errors.ts'
import type { KubeObject } from '../core/objects.ts'
import { markPartial } from '../core/partial.ts'
import { type AnyResource, apiVersionOf } from '../core/resource.ts'
import type { HttpResponse } from '../core/transport.ts'

/** What a list answers with. Items of built-in kinds have no apiVersion and kind. */
export interface ListBody {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string }
  readonly items: KubeObject[]
}

/** Called with the length of a body, in characters, before it is parsed; a promise delays the parsing. */
export type BeforeParse = (characters: number) => Promise<void> | undefined

export type Parse = (text: string) => unknown

/** Leaves of an object what its Resource says is read of it, however much the server sent; changes it in place. */
export function readAs(resource: AnyResource, object: KubeObject): KubeObject {
  if (resource.only !== 'metadata') return object
  // A server that was asked for metadata sends no more: an object of which nothing is deleted stays small in V8.
  for (const field of Object.keys(object)) {
    if (!IDENTITY.has(field)) delete (object as unknown as Record<string, unknown>)[field]
  }
  return markPartial(Object.assign(object, { apiVersion: apiVersionOf(resource), kind: resource.kind }))
}

const IDENTITY: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata'])

/**
 * Returns the JSON of a successful answer. `action` begins the message of the error: `apply Deployment "default/a"`. Answers with one
 * object, which may be written back, are parsed by `parseExact`. `beforeParse` is called with the number of characters, and
 * awaited: a large answer holds the event loop while it is parsed.
 */
export async function readJson(
  response: HttpResponse,
  action: string,
  how: { readonly parse?: Parse; readonly beforeParse?: BeforeParse | undefined } = {},
): Promise<unknown> {
  const { parse = JSON.parse, beforeParse } = how
  if (response.status >= 400) throw await readError(response, action)
  const text = await response.body.text()
  if (beforeParse) await beforeParse(text.length)
  try {
    return parse(text)
  } catch {
    // No cause: the parser quotes what it could not read, and that may be half a Secret.
    throw new SyntaxError(
      `Cannot ${action}: the server answered ${response.status} with ${describeBody(text)} instead of JSON`,
    )
  }
}

/** The error a failed answer stands for. Proxies and load balancers answer without a Status; their code must do. */
export async function readError(response: HttpResponse, action: string): Promise<ApiError> {
  const status = parseStatus(await response.body.text(), response.status)
  return errorOf(status, action, { code: response.status, retryAfterMs: retryAfterOf(response, status) })
}

/** The error a Status stands for, as the body of an answer or within a watch. */
export function errorOf(
  answer: Status,
  action: string,
  known: { code?: number; retryAfterMs?: number | undefined } = {},
): ApiError {
  const status = withoutObjects(answer, /\bSecret "|\bsecrets\b/.test(action))
  const code = known.code ?? status.code ?? 500
  const message = status.message || status.reason || `the server answered ${code}`
  // The server's own words for it, "the server could not find the requested resource", have misled many.
  const hint = code === 404 && !status.details?.name
    ? '; it does not serve this kind or subresource (is the CRD installed?)'
    : ''
  return new ApiError(`Cannot ${action}: ${message}${hint}${code === 403 ? missingRule(message) : ''}`, status, {
    code,
    retryAfterMs: known.retryAfterMs ?? secondsToMs(status.details?.retryAfterSeconds),
  })
}

/** What RBAC does not permit, as a rule of a role. Other refusals with 403, such as a quota's, name none. */
function missingRule(message: string): string {
  if (message.includes(`you can't set finalizers on`)) {
    return `; its role lacks { verbs: ["update"] } for the finalizers of the owner's kind, such as "foos/finalizers"`
  }
  const [, verb, resource, group] = /cannot (\S+) resource "([^"]+)" in API group "([^"]*)"/.exec(message) ?? []
  return verb ? `; its role lacks { apiGroups: ["${group}"], resources: ["${resource}"], verbs: ["${verb}"] }` : ''
}

/** The same message, whose rule has all verbs that are needed: the server names the first that it refuses. */
export function withVerbs(message: string, ...verbs: readonly string[]): string {
  return message.replace(/verbs: \[[^\]]*\]/, `verbs: [${verbs.map((verb) => `"${verb}"`).join(', ')}]`)
}

/** The same message with all verbs that are needed; where it names no rule, with `otherwise` behind it. */
export function withRule(message: string, verbs: readonly string[], otherwise: string): string {
  const complete = withVerbs(message, ...verbs)
  return complete === message ? `${message}${otherwise}` : complete
}

/**
 * A Status that can be logged. A patch that strict validation refuses is answered with the whole object, escaped, as the
 * "invalid value": nobody reads it, and it may hold what nobody shall. Of a Secret no value is repeated.
 */
function withoutObjects(status: Status, isSecret: boolean): Status {
  const clean = (text: string | undefined): string | undefined =>
    text?.replace(
      /(Invalid value: )("(?:[^"\\]|\\.)*"|\{.*\})/gs,
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

/**
 * Whether a 404 means that this object does not exist, rather than that its kind is not served:
 * only the former names the object.
 */
export function isMissingObject(error: unknown): boolean {
  return error instanceof ApiError && error.code === 404 && Boolean(error.status.details?.name)
}

/** Whether a 404 means that the server does not serve this kind at all. */
export function isMissingKind(error: unknown): boolean {
  return error instanceof ApiError && error.code === 404 && !error.status.details?.name
}

function parseStatus(text: string, code: number): Status {
  try {
    const body: unknown = JSON.parse(text)
    if (typeof body === 'object' && body !== null && (body as Status).kind === 'Status') return body as Status
  } catch {
    // Not JSON: whatever stands between us and the server said this, and the message below quotes it.
  }
  return { kind: 'Status', code, message: `the server answered ${code} with ${describeBody(text)}` }
}

/** What a proxy says is quoted, what looks like half an object is not. */
function describeBody(text: string): string {
  const line = text.trim().split('\n', 1)[0] ?? ''
  if (/^[[{]/.test(line)) return `${text.length} characters of something like JSON`
  return line === '' ? 'an empty body' : `"${line.length > 120 ? `${line.slice(0, 120)}…` : line}"`
}

function retryAfterOf(response: HttpResponse, status: Status): number | undefined {
  const header = Number(response.headers['retry-after'])
  return Number.isFinite(header) && header >= 0 ? header * 1000 : secondsToMs(status.details?.retryAfterSeconds)
}

function secondsToMs(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1000
}
