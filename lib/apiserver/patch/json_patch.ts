/** Applies JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7386), with the API server's errors. */
import { jsonEqual } from '../../core/equal.ts'
import { jsonType } from '../model/go_text.ts'
import { clone, isObject, type Json, type JsonObject, put } from '../model/json.ts'
import { badRequest, StatusError } from '../model/status.ts'

const MAX_OPERATIONS = 10_000

/** All copies of a patch together, as JSON: a short patch that copies the document into itself doubles it each time. */
const MAX_COPIED = 3 * 1024 * 1024

/** Applies a JSON Patch to a copy of a document. Throws 400 for an invalid patch, 422 for a failed operation. */
export function jsonPatch(document: Json, patch: Json): Json {
  if (patch === null) return document
  if (!Array.isArray(patch)) throw undecodable(patch, 'value of type []handlers.jsonPatchOp')
  for (const operation of patch) checkOperation(operation)
  if (patch.length > MAX_OPERATIONS) {
    const detail = `The allowed maximum operations in a JSON patch is ${MAX_OPERATIONS}, got ${patch.length}`
    throw new StatusError(413, 'RequestEntityTooLarge', `Request entity too large: ${detail}`)
  }
  let result = clone(document)
  let copied = 0
  const copy = (value: Json): Json => {
    const text = JSON.stringify(value)
    copied += text.length
    if (copied > MAX_COPIED) throw refuse(`the copies of the patch have more than ${MAX_COPIED} characters`)
    return JSON.parse(text) as Json
  }
  for (const operation of patch) result = applyOperation(result, operation, copy)
  return result
}

/** Throws 400 for an operation with fields of a wrong type. */
function checkOperation(operation: Json): void {
  if (operation === null) return
  if (!isObject(operation)) throw undecodable(operation, 'value of type handlers.jsonPatchOp')
  for (const name of ['op', 'path', 'from']) {
    const value = operation[name]
    if (value !== undefined && value !== null && typeof value !== 'string') {
      throw undecodable(value, `struct field jsonPatchOp.${name} of type string`)
    }
  }
}

function undecodable(value: Json, target: string): StatusError {
  return badRequest(`error decoding patch: json: cannot unmarshal ${jsonType(value)} into Go ${target}`)
}

function applyOperation(document: Json, operation: Json, copy: (value: Json) => Json): Json {
  if (!isObject(operation)) throw refuse('Unexpected kind: unknown')
  const { op, path, from, value } = operation
  if (typeof path !== 'string') throw refuse(`${String(op)} operation failed to decode path: missing value`)
  switch (op) {
    case 'add':
      return add(document, path, value ?? null)
    case 'remove':
      remove(document, path)
      return document
    case 'replace':
      return replace(document, path, value ?? null)
    case 'move':
      return add(document, path, remove(document, source(from)))
    case 'copy':
      // A missing value is copied as null, as the server's library does.
      return add(document, path, copy(find(document, source(from), 'copy') ?? null))
    case 'test':
      if (!jsonEqual(find(document, path, 'test') ?? null, value ?? null)) {
        throw refuse(`testing value ${path} failed: test failed`)
      }
      return document
    default:
      throw refuse(`Unexpected kind: ${String(op)}`)
  }
}

function source(from: Json | undefined): string {
  if (typeof from !== 'string') throw refuse('missing from value')
  return from
}

function refuse(message: string): StatusError {
  // Like the real server, the response hides the reason; the cause has it, for debugging in the same process.
  const error = new StatusError(422, 'Invalid', 'the server rejected our request due to an error in our request', {})
  error.cause = new Error(message)
  return error
}

function tokens(path: string): string[] {
  // The server's library ignores what precedes the first slash.
  return path.split('/').slice(1).map((token) => token.replace(/~1/g, '/').replace(/~0/g, '~'))
}

/** Returns the container of a path's target, and the last token of the path. */
function parentOf(document: Json, path: string, verb: string): { parent: Json[] | JsonObject; last: string } {
  const all = tokens(path)
  const last = all.pop() ?? ''
  let current: Json | undefined = document
  for (const token of all) current = child(current, token)
  if (Array.isArray(current) || isObject(current)) return { parent: current, last }
  throw refuse(`${verb} operation does not apply: doc is missing path: ${JSON.stringify(path)}: missing value`)
}

function child(value: Json | undefined, token: string): Json | undefined {
  if (Array.isArray(value)) return /^(0|[1-9]\d*)$/.test(token) ? value[Number(token)] : undefined
  return isObject(value) && Object.hasOwn(value, token) ? value[token] : undefined
}

/** Returns the value at a path, undefined if only that is missing. Throws 422 if what should hold it is missing. */
function find(document: Json, path: string, verb: string): Json | undefined {
  if (!path.includes('/')) return document
  const { parent, last } = parentOf(document, path, verb)
  return child(parent, last)
}

function add(document: Json, path: string, value: Json): Json {
  if (path === '') throw refuse('add operation does not apply: the path is empty')
  const { parent, last } = parentOf(document, path, 'add')
  if (Array.isArray(parent)) {
    const index = last === '-' ? parent.length : arrayIndex(last, parent.length + 1, path, 'add')
    parent.splice(index, 0, value)
  } else put(parent, last, value)
  return document
}

/** Returns the removed value. */
function remove(document: Json, path: string): Json {
  const { parent, last } = parentOf(document, path, 'remove')
  if (Array.isArray(parent)) {
    return parent.splice(arrayIndex(last, parent.length, path, 'remove'), 1)[0]!
  }
  const value = Object.hasOwn(parent, last) ? parent[last] : undefined
  if (value === undefined) {
    throw refuse(`error in remove for path: '${path}': Unable to remove nonexistent key: ${last}: missing value`)
  }
  delete parent[last]
  return value
}

function replace(document: Json, path: string, value: Json): Json {
  if (path === '') return value
  const { parent, last } = parentOf(document, path, 'replace')
  if (Array.isArray(parent)) parent[arrayIndex(last, parent.length, path, 'replace')] = value
  // A missing key is added: so does the server's library, against RFC 6902.
  else put(parent, last, value)
  return document
}

function arrayIndex(token: string, limit: number, path: string, verb: string): number {
  const index = /^-?\d+$/.test(token) ? Number(token) : Number.NaN
  // A negative index counts from the end: an extension of evanphx/json-patch, which the API server uses.
  const place = index < 0 ? index + limit : index
  if (Number.isNaN(index) || place < 0 || place >= limit) {
    throw refuse(
      `${verb} operation does not apply: doc is missing path: ${
        JSON.stringify(path)
      }: Unable to access invalid index: ${token}`,
    )
  }
  return place
}

/** Returns the target with a merge patch applied: null removes, objects merge, all other values replace. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return isObject(target) ? patch : withoutNulls(patch)
  const result: JsonObject = isObject(target) ? { ...target } : {}
  for (const [name, value] of Object.entries(patch)) {
    if (value === null || value === undefined) delete result[name]
    else put(result, name, mergePatch(Object.hasOwn(result, name) ? result[name] : undefined, value))
  }
  return result
}

/**
 * Removes nulls from objects inside a list, unless the list replaces an object. RFC 7386 does not ask for this; the
 * server's library does it.
 */
function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutNulls)
  return isObject(value) ? mergePatch(undefined, value) : value
}
