/** Reads request bodies: media type, JSON, and duplicate fields. */
import { isObject, type Json, type JsonObject } from '../json.ts'
import { badRequest, tooLarge, unsupportedMediaType } from './status.ts'
import type { Kind } from '../kinds.ts'
import type { Call } from './routes.ts'

export const MAX_BODY_BYTES: number = 3 * 1024 * 1024

export interface JsonBody {
  readonly value: Json
  /** The paths of fields that occur twice in one object. */
  readonly duplicates: readonly string[]
}

/** Returns the media type of a request body, in lower case and without parameters. */
export function mediaType(call: Call): string {
  return (call.headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase()
}

const JSON_TYPES: readonly string[] = ['application/json', '']

/** Returns the body of a create, update or delete. Throws 415 if it is not JSON, 400 if it does not parse. */
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
    const reason = `couldn't get version/kind; json parse error: ${goParseError(text)}`
    const error = badRequest(
      kind
        ? `the object provided is unrecognized (must be of type ${kind.kind}): ${reason} (${text.slice(0, 32)})`
        : reason,
    )
    error.cause = cause
    throw error
  }
}

/** Returns the parse error in Go's words, equal on every runtime: truncated text, or an invalid character. */
export function goParseError(text: string): string {
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

function bodyText(call: Call): string {
  const { body = '' } = call
  const bytes = typeof body === 'string' ? body.length : body.byteLength
  if (bytes > MAX_BODY_BYTES) throw tooLarge(MAX_BODY_BYTES)
  return typeof body === 'string' ? body : new TextDecoder().decode(body)
}

/** Returns the options in the body of a delete; empty if there is no body. */
export function readOptions(call: Call): JsonObject {
  if (bodyText(call).trim() === '') return {}
  const { value } = readJsonBody(call)
  return isObject(value) ? value : {}
}

/**
 * Returns the paths of repeated fields, such as `spec.replicas`, in order of repetition. The text must be valid JSON.
 * JSON.parse cannot report them: it silently keeps the last value.
 */
function duplicateFields(text: string): string[] {
  const found: string[] = []
  let at = 0
  skipSpace()
  value('')
  return found

  function value(path: string): void {
    switch (text[at]) {
      case '{':
        return object(path)
      case '[':
        return array(path)
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
