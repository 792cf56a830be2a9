/** Errors that callers branch on. Other failures are built-in classes with a cause. */

/** One field and what is wrong with it, as in `Status.details.causes`. */
export interface Problem {
  readonly field: string
  readonly message: string
}

/** The part of a `Status` body that explains a failure. */
export interface Status {
  readonly kind?: string
  readonly status?: string
  readonly message?: string
  readonly reason?: string
  readonly code?: number
  /** For an expired list: a token that continues it at another resourceVersion. */
  readonly metadata?: { readonly continue?: string }
  readonly details?: {
    readonly name?: string
    readonly group?: string
    readonly kind?: string
    readonly uid?: string
    readonly causes?: readonly { readonly reason?: string; readonly message?: string; readonly field?: string }[]
    readonly retryAfterSeconds?: number
  }
}

/**
 * The API server refused a request. Branch on `reason`: 409 is both `Conflict` and `AlreadyExists`,
 * 404 both "no such object" and "no such kind".
 *
 * @see https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#response-status-kind
 */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  /** The HTTP status code. */
  readonly code: number
  /** The Status reason; empty when the server gave none. */
  readonly reason: string
  /** The fields at fault, for `Invalid`. */
  readonly causes: readonly Problem[]
  /** The wait that the server asked for, in milliseconds. */
  readonly retryAfterMs: number | undefined
  /** The whole Status body. */
  readonly status: Status

  constructor(
    message: string,
    status: Status,
    options: { code: number; retryAfterMs?: number | undefined; cause?: unknown },
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = options.code
    this.reason = status.reason ?? ''
    this.causes = (status.details?.causes ?? []).map(({ field, message }) => ({
      field: field ?? '',
      message: message ?? '',
    }))
    this.retryAfterMs = options.retryAfterMs
    this.status = status
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isOfClass(value, this, ApiError, 'ApiError')
  }
}

/** Compares names, as files beside mod.js contain these classes too. Classes that extend them are compared as usual. */
// deno-lint-ignore ban-types -- as in the declaration of Symbol.hasInstance
function isOfClass(value: unknown, asked: Function, own: Function, name: string): boolean {
  if (asked !== own) return Function.prototype[Symbol.hasInstance].call(asked, value)
  return value instanceof Error && (value.name === name || Function.prototype[Symbol.hasInstance].call(own, value))
}

/** The Status reasons that apimachinery names; servers may send others. */
export type Reason =
  | 'AlreadyExists'
  | 'BadRequest'
  | 'Conflict'
  | 'Expired'
  | 'Forbidden'
  | 'Gone'
  | 'InternalError'
  | 'Invalid'
  | 'MethodNotAllowed'
  | 'NotAcceptable'
  | 'NotFound'
  | 'RequestEntityTooLarge'
  | 'ServerTimeout'
  | 'ServiceUnavailable'
  | 'StoreReadError'
  | 'Timeout'
  | 'TooManyRequests'
  | 'Unauthorized'
  | 'UnsupportedMediaType'
  // deno-lint-ignore ban-types -- `string & {}` keeps the names above in the editor's completions
  | (string & {})

/** The reason that a bare HTTP code stands for, where a proxy or an extension answered. A bare 409 is a Conflict. */
export const REASON_OF_CODE: Readonly<Record<number, Reason>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  409: 'Conflict',
  410: 'Gone',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
}

/** Known reasons besides those of {@link REASON_OF_CODE}. For an unknown or missing reason the HTTP code decides. */
const OTHER_REASONS: readonly string[] = ['AlreadyExists', 'Expired', 'ServerTimeout', 'StoreReadError']

/** Codes that decide alone, whatever the reason is. */
const CODE_DECIDES: ReadonlySet<number> = new Set([413, 429])

/**
 * Tests whether an error, or one of its causes, is the API server's refusal for one of these reasons. Decides as
 * apimachinery's predicates do: by the reason, or by the HTTP code if the reason is unknown.
 */
export function isReason(error: unknown, ...reasons: readonly [Reason, ...Reason[]]): error is ApiError {
  for (const at of causesOf(error)) {
    if (!(at instanceof ApiError)) continue
    const byCode = CODE_DECIDES.has(at.code) || !isKnown(at.reason) ? REASON_OF_CODE[at.code] : undefined
    return reasons.some((reason) => reason === at.reason || reason === byCode)
  }
  return false
}

function isKnown(reason: string): boolean {
  return OTHER_REASONS.includes(reason) || Object.values(REASON_OF_CODE).includes(reason)
}

/** Tests whether the server no longer has the resourceVersion that a list or a watch continues from. */
export function isExpired(error: unknown): error is ApiError {
  return isReason(error, 'Expired') || isReason(error, 'Gone')
}

const TERMINAL = Symbol.for('kubeloop.terminal')

/** Thrown by a reconcile when a retry is useless until something changes. It is counted, logged and not retried. */
export class TerminalError extends Error {
  override readonly name = 'TerminalError'

  constructor(message?: string, options?: ErrorOptions) {
    super(message, options)
    Object.defineProperty(this, TERMINAL, { value: true })
  }

  /** Other libraries have errors with this name, and two copies of this one may be in a process. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return this === TerminalError
      ? value instanceof Error && TERMINAL in value
      : Function.prototype[Symbol.hasInstance].call(this, value)
  }
}

/** The lease was lost to another holder, or was not renewed in time. The process must end. */
export class LeadershipLost extends Error {
  override readonly name = 'LeadershipLost'

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isOfClass(value, this, LeadershipLost, 'LeadershipLost')
  }
}

/**
 * The connection failed before the answer was complete. The server may have carried out the request, unless `phase` is
 * `connect`.
 */
export class NetworkError extends Error {
  override readonly name = 'NetworkError'
  /** `connect`: no byte of the request was sent. `response`: no answer arrived. `body`: the answer was cut off. */
  readonly phase: 'connect' | 'response' | 'body'
  /** The system's code, such as `ECONNREFUSED`, where there is one. */
  readonly code: string | undefined

  constructor(
    message: string,
    options: { phase: 'connect' | 'response' | 'body'; code?: string | undefined; cause?: unknown },
  ) {
    super(message, { cause: options.cause })
    this.phase = options.phase
    this.code = options.code
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isOfClass(value, this, NetworkError, 'NetworkError')
  }
}

/** The configuration is wrong or missing. The message names what was searched for, where, and what to do. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isOfClass(value, this, ConfigError, 'ConfigError')
  }
}

/**
 * Returns a handler for a failed import of a file beside mod.js. It throws a ConfigError that says where the file is.
 *
 * @param action What cannot be done without it, as in `serve webhooks`.
 * @param entry What an operator's file imports to have it in its bundle, as in `kubeloop/webhooks`.
 */
export function fileMissing(action: string, file: string, entry?: string, otherwise = ''): (cause: unknown) => never {
  return (cause) => {
    const bundled = entry === undefined
      ? ''
      : `for a bundle, add import 'kubeloop/${entry}' to the operator's file; else `
    const hint =
      `${bundled}copy it from kubeloop's folder to beside mod.js or its bundle, or use standalone.js, which has it${otherwise}`
    throw new ConfigError(`Cannot ${action}: ${file} cannot be loaded; ${hint} (${messageOf(cause)})`, { cause })
  }
}

/** Tests whether an error, or a cause of it, is a missing permission of Deno. They never grow: a retry is useless. */
export function isNotCapable(error: unknown): boolean {
  for (const at of causesOf(error)) {
    if (at instanceof Error && (at.name === NOT_CAPABLE || (at as NetworkError).code === NOT_CAPABLE)) return true
  }
  return false
}

/** Returns what was thrown; in place of what throws when it is read, such as by a getter, an Error. */
export function readable(thrown: unknown): unknown {
  try {
    isNotCapable(thrown)
    return thrown
  } catch {
    return new Error(messageOf(thrown))
  }
}

/** Yields the thrown value and its causes, the outermost first: at most `max`, as causes may form a cycle. */
export function* causesOf(thrown: unknown, max = 20): Generator<unknown> {
  for (
    let at = thrown, depth = 0;
    at !== undefined && depth < max;
    at = at instanceof Error ? at.cause : undefined, depth++
  ) yield at
}

/** Returns at most `max` texts for a message; one more counts the rest. */
export function firstOf(texts: readonly string[], max: number): readonly string[] {
  return texts.length > max ? [...texts.slice(0, max), `and ${texts.length - max} more`] : texts
}

/** The name of Deno's error, and the code of the NetworkError made from it. */
export const NOT_CAPABLE = 'NotCapable'

/** Deno's message names the flag without its value. That would permit everything of its kind. */
const MISSING_PERMISSION = /^Requires \w+ access to "(.+)", run again with the (--allow-\w+) flag$/

/** The maximum number of errors named of an AggregateError. */
const MAX_ERRORS = 5

/** Node's fetch has these messages for every failure. The reason is in the cause. */
const FETCH_MESSAGES: ReadonlySet<string> = new Set(['fetch failed', 'terminated'])

/**
 * Returns the message of any thrown value. Adds the exact flag to Deno's missing permission and the cause to Node's
 * failed fetch, and joins the messages of an AggregateError. Never throws.
 */
export function messageOf(thrown: unknown): string {
  try {
    if (!(thrown instanceof Error)) return textOf(thrown)
    const { message, cause } = thrown
    if (cause instanceof Error && FETCH_MESSAGES.has(message)) return `${message}: ${messageOf(cause)}`
    const own = String(message || thrown.name).replace(MISSING_PERMISSION, 'Deno needs $2=$1')
    if (!(thrown instanceof AggregateError) || thrown.errors.length === 0) return own
    const each = thrown.errors.map(messageOf)
    // Ours have the messages of their errors.
    if (each.some((text) => message.includes(text))) return own
    const all = firstOf(each, MAX_ERRORS).join('; ')
    return message ? `${message}: ${all}` : all
  } catch {
    // For example an object without a prototype. The failure must be reported nevertheless.
    return 'a value that cannot be converted to text was thrown'
  }
}

/** Names the fields of a plain object: their values may be secret. */
function textOf(thrown: unknown): string {
  const text = String(thrown)
  return text === '[object Object]' ? `{ ${Object.keys(thrown as object).join(', ')} } was thrown, no Error` : text
}
