/** Reads request bodies: media type, JSON or YAML. */
import { countValues, isObject, type Json, type JsonObject, MAX_VALUES } from '../model/json.ts'
import { jsonType, unregistered, wrongType } from '../model/go_text.ts'
import { badRequest, NOT_JSON, StatusError, tooLarge, tooManyValues } from '../model/status.ts'
import type { Kind } from '../model/kinds.ts'
import { DecodeError, decodeTyped } from '../schema/decode.ts'
import { loadedLater } from '../model/loaded_later.ts'
import type { Call } from '../model/routes.ts'
import { MAX_DEPTH, readYaml } from './yaml.ts'
import { YamlError } from '../../core/yaml_scalars.ts'

export const MAX_BODY_BYTES: number = 3 * 1024 * 1024

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
export function readJsonBody(call: Call, kind?: Expected): Json {
  const type = mediaType(call)
  if (type === PROTOBUF && !kind?.custom) {
    return protobuf().decodeBody(bodyBytes(call), kind)
  }
  if (type === 'application/yaml') {
    return checkTop(kind, yamlOf(bodyText(call), (message) => unrecognized(kind, message)))
  }
  if (type !== 'application/json') {
    throw new StatusError(
      415,
      'UnsupportedMediaType',
      `the body of the request was in an unknown format - accepted media types include: ${ACCEPTED.join(', ')}`,
    )
  }
  return checkTop(kind, parseBody(call, kind))
}

/** Returns the JSON of a body. Throws 400 if it is none. */
export function parseBody(call: Call, kind?: Expected): Json {
  const text = bodyText(call)
  let value: Json
  try {
    value = parseJson(text)
  } catch (cause) {
    if (cause instanceof StatusError) throw cause
    throw Object.assign(unrecognized(kind, NOT_JSON), { cause })
  }
  if (MAYBE_HUGE.test(text) && !isFiniteJson(value)) throw unrecognized(kind, 'it has a number beyond float64')
  return value
}

/** Reads YAML. Throws what `refuse` makes of the message of an error. */
function yamlOf(text: string, refuse: (message: string) => StatusError): Json {
  try {
    return readYaml(text)
  } catch (cause) {
    if (cause instanceof YamlError) throw Object.assign(refuse(cause.message), { cause })
    throw cause
  }
}

/** Returns the configuration of an apply: YAML, which most clients send as JSON. */
export function readApplyBody(call: Call): JsonObject {
  const text = bodyText(call)
  const value = plainJson(text) ?? yamlOf(text, (message) => badRequest(`error decoding YAML: ${message}`))
  if (value === null) return {}
  if (isObject(value)) return value
  throw badRequest(`error decoding YAML: it is of the type ${jsonType(value)}, not an object`)
}

/** A number that may be beyond float64, or a part of a string. */
const MAYBE_HUGE = /[eE]\+?\d{3}|(?<!\d)\d{309}/

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
  if (isDeeper(value, MAX_DEPTH)) throw new RangeError(`it is nested more than ${MAX_DEPTH} times`)
  // Each value takes two characters at least.
  if (whole.length > 2 * MAX_VALUES) checkCount(value)
  return value
}

function isDeeper(value: Json, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return depth === 0 || Object.values(value).some((each) => isDeeper(each ?? null, depth - 1))
}

/** Returns a JSON body without the parser of YAML; undefined if it is not JSON. */
function plainJson(text: string): Json | undefined {
  try {
    return parseJson(text)
  } catch (error) {
    if (error instanceof StatusError) throw error
    return undefined
  }
}

/** Checks what the server reads first: an object whose apiVersion and kind are text. Null is an empty object. */
function checkTop(kind: Expected | undefined, value: Json): JsonObject {
  if (value !== null && !isObject(value)) throw unrecognized(kind, `it is of the type ${jsonType(value)}`)
  const object = value ?? {}
  const wrong = wrongTypeMeta(object)
  if (wrong) throw unrecognized(kind, wrong)
  if (kind?.custom && !object['kind']) throw unrecognized(kind, "Object 'Kind' is missing")
  return object
}

/** Returns the problem of an apiVersion or a kind that is not text. */
export function wrongTypeMeta(object: JsonObject): string | undefined {
  const wrong = ['apiVersion', 'kind'].find((field) =>
    !['string', 'undefined'].includes(typeof (object[field] ?? undefined))
  )
  return wrong && wrongType(wrong, object[wrong]!, 'string')
}

function unrecognized(kind: Expected | undefined, reason: string): StatusError {
  return badRequest(kind ? `the object provided is unrecognized (must be of type ${kind.kind}): ${reason}` : reason)
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
  const value = readJsonBody(call) as JsonObject
  const { kind, apiVersion = 'v1' } = value
  if (kind && kind !== OPTIONS_KIND) throw badRequest(unregistered(kind, apiVersion))
  try {
    return decodeTyped({ $ref: `meta.v1.${OPTIONS_KIND}` }, value).object
  } catch (error) {
    throw error instanceof DecodeError ? badRequest(error.message) : error
  }
}

const OPTIONS_KIND = 'DeleteOptions'
