/** Request bodies: JSON, its media type, and the object in it. */
import { isObject, type Json, type JsonObject } from '../json.ts'
import { badRequest, tooLarge, unsupportedMediaType } from './status.ts'
import { duplicateFields } from './strict_json.ts'
import type { Kind } from '../kinds.ts'
import type { Call } from './routes.ts'

export const MAX_BODY_BYTES: number = 3 * 1024 * 1024

export interface JsonBody {
  readonly value: Json
  /** The paths of fields that are stated twice. */
  readonly duplicates: readonly string[]
}

/** The media type of a request's body, in lower case and without parameters. */
export function mediaType(call: Call): string {
  return (call.headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase()
}

const JSON_TYPES: readonly string[] = ['application/json', '']

/** The body of a create, an update or a delete. Throws 415 for what is not JSON. */
export function readJsonBody(call: Call, kind?: Kind): JsonBody {
  const type = mediaType(call)
  if (!JSON_TYPES.includes(type)) {
    const supported = 'application/json'
    throw unsupportedMediaType(
      `the body of the request was in an unknown format - accepted media types include: ${supported}`,
    )
  }
  return parseBody(call, kind)
}

export function parseBody(call: Call, kind?: Kind): JsonBody {
  const text = bodyText(call)
  try {
    const value = JSON.parse(text) as Json
    return { value, duplicates: duplicateFields(text) }
  } catch (cause) {
    const why = `couldn't get version/kind; json parse error: ${goParseError(text)}`
    const error = badRequest(
      kind ? `the object provided is unrecognized (must be of type ${kind.kind}): ${why} (${text.slice(0, 32)})` : why,
    )
    error.cause = cause
    throw error
  }
}

/** The parse error in Go's words, which are the same on every runtime: a text that breaks off, or one that is wrong. */
function goParseError(text: string): string {
  let depth = 0
  let inString = false
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!
    if (inString && char === '\\') i++
    else if (char === '"') inString = !inString
    else if (!inString && (char === '{' || char === '[')) depth++
    else if (!inString && (char === '}' || char === ']')) depth--
  }
  if (depth > 0 || inString || text.trim() === '') return 'unexpected end of JSON input'
  const first = text.trimStart()[0]!
  return /[{["\d-]/.test(first)
    ? 'invalid character in JSON input'
    : `invalid character '${first}' looking for beginning of value`
}

export function bodyText(call: Call): string {
  const { body = '' } = call
  const bytes = typeof body === 'string' ? body.length : body.byteLength
  if (bytes > MAX_BODY_BYTES) throw tooLarge(MAX_BODY_BYTES)
  return typeof body === 'string' ? body : new TextDecoder().decode(body)
}

/** The options in the body of a delete; empty when there is none. */
export function readOptions(call: Call): JsonObject {
  if (bodyText(call).trim() === '') return {}
  const { value } = readJsonBody(call)
  return isObject(value) ? value : {}
}
