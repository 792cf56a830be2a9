/** Reads request bodies: media type, JSON or YAML, and duplicate fields. */
import { countValues, isObject, type Json, type JsonObject, MAX_VALUES } from '../model/json.ts'
import { jsonType, summary, unregistered } from '../model/go_text.ts'
import { badRequest, NOT_JSON, StatusError, tooLarge, tooManyValues } from '../model/status.ts'
import type { Kind } from '../model/kinds.ts'
import { DecodeError, decodeTyped } from '../schema/decode.ts'
import { loadedLater } from '../model/loaded_later.ts'
import { checkOptionTypes } from './option_types.ts'
import type { Call } from '../model/routes.ts'
import { MAX_DEPTH, readYaml } from './yaml.ts'
import { YamlError } from '../../core/yaml_scalars.ts'

export const MAX_BODY_BYTES: number = 3 * 1024 * 1024

export interface JsonBody {
  readonly value: Json
  /** The paths of fields that occur twice in one object. For YAML, the message of the Go library, see `YAML_FAULTS`. */
  readonly duplicates: readonly string[]
}

/** Returns the media type of a request body, in lower case and without parameters; JSON if the client names none. */
export function mediaType(call: Call): string {
  const given = call.headers['content-type']
  if (!given) return 'application/json'
  return MEDIA_TYPE.exec(given.trim())?.[1]?.toLowerCase() ?? 'invalid'
}

const PROTOBUF = 'application/vnd.kubernetes.protobuf'

/** A type with well-formed parameters. */
const MEDIA_TYPE = /^([^\s;,/]+\/[^\s;,/]+)\s*(?:;\s*[^\s;=,"]+=(?:"(?:[^"\\]|\\.)*"|[^\s;,"]+)\s*)*;?$/

const ACCEPTED: readonly string[] = ['application/json', 'application/yaml', PROTOBUF]

const protobuf = loadedLater(() => import('./protobuf/body.ts'))

/** The kind that a body must have. */
type Expected = Pick<Kind, 'group' | 'version' | 'kind'> & Partial<Pick<Kind, 'custom'>>

/**
 * Returns the body of a create or update, which must be of `kind`. Throws 415 if it is neither JSON, YAML nor, for
 * kinds that are not custom, protobuf; 400 if it does not parse.
 */
export function readJsonBody(call: Call, kind?: Expected): JsonBody {
  const type = mediaType(call)
  if (type === PROTOBUF && !kind?.custom) {
    return { value: protobuf().decodeBody(bodyBytes(call), kind), duplicates: [] }
  }
  if (type === 'application/yaml') return checkTop(kind, bodyText(call), parseYamlBody(call, kind))
  if (type !== 'application/json') {
    throw new StatusError(
      415,
      'UnsupportedMediaType',
      `the body of the request was in an unknown format - accepted media types include: ${ACCEPTED.join(', ')}`,
    )
  }
  return checkTop(kind, bodyText(call), parseBody(call, kind))
}

export function parseBody(call: Call, kind?: Expected): JsonBody {
  const text = bodyText(call)
  let value: Json
  let duplicates: readonly string[]
  try {
    value = parseJson(text)
    duplicates = duplicateFields(text)
  } catch (cause) {
    if (cause instanceof StatusError) throw cause
    const reason = cause instanceof RangeError ? 'exceeded max depth' : NOT_JSON
    throw Object.assign(unrecognized(kind, text, `${VERSION_ERROR}: ${reason}`), { cause })
  }
  if (MAYBE_HUGE.test(text) && !isFiniteJson(value)) {
    const reason = `json: cannot unmarshal number ${HUGE_NUMBER.exec(text)?.[0]} into Go value of type float64`
    const place = kind ? `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: ` : ''
    throw badRequest(`${place}${reason}`)
  }
  return { value, duplicates }
}

function parseYamlBody(call: Call, kind: Expected | undefined): JsonBody {
  const text = bodyText(call)
  return yamlBody(text, (message) => unrecognized(kind, text, message))
}

/** Begins the one message about the duplicate keys of a YAML document. */
export const YAML_FAULTS = 'yaml: unmarshal errors:'

/** Reads YAML. Throws what `refuse` makes of the message of an error. */
function yamlBody(text: string, refuse: (message: string) => StatusError): JsonBody {
  try {
    const { value, duplicates } = readYaml(text)
    checkCount(value)
    // One message for all of them, as the Go library joins them.
    return {
      value,
      duplicates: duplicates.length > 0 ? [`${YAML_FAULTS}\n  ${duplicates.join('\n  ')}`] : [],
    }
  } catch (cause) {
    if (cause instanceof YamlError) throw Object.assign(refuse(cause.message), { cause })
    throw cause
  }
}

/** Returns the configuration of an apply: YAML, which most clients send as JSON. */
export function readApplyBody(call: Call): { readonly value: JsonObject; readonly duplicates: readonly string[] } {
  const text = bodyText(call)
  const { value, duplicates } = plainJson(text) ??
    yamlBody(text, (message) => badRequest(`error decoding YAML: error converting YAML to JSON: ${message}`))
  if (value === null) return { value: {}, duplicates }
  if (isObject(value)) return { value, duplicates }
  const reason = `json: cannot unmarshal ${jsonType(value)} into Go value of type map[string]interface {}`
  throw badRequest(`error decoding YAML: error unmarshaling JSON: while decoding JSON: ${reason}`)
}

/** A number that may be beyond float64, or a part of a string. Both patterns try a run of digits once: linear time. */
const MAYBE_HUGE = /[eE]\+?\d{3}|(?<!\d)\d{309}/
const HUGE_NUMBER = /(?<![\w.+-])-?\d{1,20}(?:\.\d{1,20})?[eE]\+?\d{3,9}|(?<![\w.+-])-?\d{309,}/

function isFiniteJson(value: Json): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  return typeof value !== 'object' || value === null || Object.values(value).every((each) => isFiniteJson(each ?? null))
}

const SURROGATE = /\\u[dD][89a-fA-F]/
const ESCAPES = /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[dD][89a-fA-F][\da-fA-F]{2}|.)/g

/** Throws 413 if a body or an object has too many fields and items. */
export function checkCount(value: Json): void {
  if (countValues(value) > MAX_VALUES) throw tooManyValues()
}

/** Parses JSON. Half of a surrogate pair becomes a replacement character, as in Go. Throws 413 for too many values. */
function parseJson(text: string): Json {
  const whole = SURROGATE.test(text)
    ? text.replaceAll(ESCAPES, (escape) => (escape.length === 6 && SURROGATE.test(escape) ? '\\ufffd' : escape))
    : text
  const value = JSON.parse(whole) as Json
  // Each value takes two characters at least.
  if (whole.length > 2 * MAX_VALUES) checkCount(value)
  return value
}

/** Returns a JSON body without the parser of YAML; undefined if that parser has something to report. */
function plainJson(text: string): JsonBody | undefined {
  try {
    const value = parseJson(text)
    return duplicateFields(text).length === 0 ? { value, duplicates: [] } : undefined
  } catch (error) {
    if (error instanceof StatusError) throw error
    // Read as YAML, which reports the error.
    return undefined
  }
}

const VERSION_ERROR = "couldn't get version/kind; json parse error"
export const TYPE_META: string =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'

/** Checks what the server reads first: an object whose apiVersion and kind are text. Null is an empty object. */
function checkTop(kind: Expected | undefined, text: string, body: JsonBody): JsonBody {
  const { value } = body
  const refuse = (reason: string): never => {
    throw unrecognized(kind, text, reason)
  }
  if (value !== null && !isObject(value)) {
    refuse(`${VERSION_ERROR}: json: cannot unmarshal ${jsonType(value)} into Go value of type ${TYPE_META}`)
  }
  const object = (value ?? {}) as JsonObject
  const wrong = wrongTypeMeta(object)
  if (wrong) refuse(wrong.message)
  if (kind?.custom && !object['kind']) refuse(`Object 'Kind' is missing in '${text}'`)
  return value === null ? { ...body, value: object } : body
}

/** Returns the first value of apiVersion and kind that is not text, and the error of the real server. */
export function wrongTypeMeta(object: JsonObject): { readonly given: Json; readonly message: string } | undefined {
  for (const field of ['apiVersion', 'kind']) {
    const given = object[field]
    if (given === undefined || given === null || typeof given === 'string') continue
    const reason = `json: cannot unmarshal ${jsonType(given)} into Go struct field .${field} of type string`
    return { given, message: `${VERSION_ERROR}: ${reason}` }
  }
  return undefined
}

function unrecognized(kind: Expected | undefined, text: string, reason: string): StatusError {
  if (!kind) return badRequest(reason)
  return badRequest(
    `the object provided is unrecognized (must be of type ${kind.kind}): ${reason} (${
      summary(new TextEncoder().encode(text))
    })`,
  )
}

function bodyText(call: Call): string {
  const body = boundedBody(call)
  // A byte order mark is an error in JSON, so it stays.
  return typeof body === 'string' ? body : new TextDecoder('utf-8', { ignoreBOM: true }).decode(body)
}

function bodyBytes(call: Call): Uint8Array {
  const body = boundedBody(call)
  return typeof body === 'string' ? new TextEncoder().encode(body) : body
}

function boundedBody({ body = '' }: Call): string | Uint8Array {
  const bytes = typeof body === 'string' ? body.length : body.byteLength
  if (bytes > MAX_BODY_BYTES) throw tooLarge(MAX_BODY_BYTES)
  return body
}

/** Returns the options in the body of a delete; empty if there is no body. */
export function readOptions(call: Call): JsonObject {
  if (mediaType(call) === PROTOBUF) {
    const bytes = bodyBytes(call)
    return bytes.length === 0 ? {} : protobuf().decodeOptions(bytes)
  }
  if (bodyText(call) === '') return {}
  const value = readJsonBody(call).value as JsonObject
  const { kind, apiVersion = 'v1' } = value
  if (kind && kind !== OPTIONS_KIND) {
    throw badRequest(unregistered(kind, apiVersion))
  }
  checkOptionTypes(value)
  try {
    return decodeTyped({ $ref: `meta.v1.${OPTIONS_KIND}` }, value).object
  } catch (error) {
    throw error instanceof DecodeError ? badRequest(error.message) : error
  }
}

const OPTIONS_KIND = 'DeleteOptions'

/**
 * Returns the paths of repeated fields, such as `spec.replicas`, in order of repetition. The text must be valid JSON.
 * JSON.parse cannot report them: it silently keeps the last value.
 */
function duplicateFields(text: string): string[] {
  const found: string[] = []
  let at = 0
  let depth = 0
  skipSpace()
  value('')
  return found

  function value(path: string): void {
    if (depth > MAX_DEPTH) throw new RangeError(`Cannot read JSON: it is nested more than ${MAX_DEPTH} times`)
    switch (text[at]) {
      case '{':
        depth++
        object(path)
        depth--
        return
      case '[':
        depth++
        array(path)
        depth--
        return
      case '"':
        string()
        return
      default:
        while (at < text.length && !/[\s,\]}]/.test(text[at]!)) at++
    }
  }

  function object(path: string): void {
    const seen = new Set<string>()
    at++
    skipSpace()
    while (text[at] !== '}') {
      const key = JSON.parse(string()) as string
      const childPath = path ? `${path}.${key}` : key
      if (seen.has(key)) found.push(childPath)
      seen.add(key)
      skipSpace()
      at++
      skipSpace()
      value(childPath)
      skipSeparator()
    }
    at++
  }

  function array(path: string): void {
    at++
    skipSpace()
    for (let index = 0; text[at] !== ']'; index++) {
      value(`${path}[${index}]`)
      skipSeparator()
    }
    at++
  }

  function string(): string {
    const start = at++
    while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1
    return text.slice(start, ++at)
  }

  function skipSpace(): void {
    while (text[at] === ' ' || text[at] === '\n' || text[at] === '\t' || text[at] === '\r') at++
  }

  function skipSeparator(): void {
    skipSpace()
    if (text[at] === ',') at++
    skipSpace()
  }
}
