/** Handles GET of a collection: selectors, pages and resource versions. */
import { type Context, fromStored, type KindRequest } from '../context/context.ts'
import { type ApiObject, type Json, type JsonObject, objectAt } from '../model/json.ts'
import type { Kind } from '../model/kinds.ts'
import { fieldSelector, labelSelector, selectableFields, selectedName } from '../model/selectors.ts'
import type { ResourceRoute } from '../model/routes.ts'
import { badRequest, type Cause, errorWithoutReason, fault, gone, invalid, StatusError } from '../model/status.ts'
import { keyOf } from '../storage/store.ts'
import { type Term, withTerm } from '../storage/terms.ts'

/** One page of a collection; the objects are in their stored version. */
export interface Page {
  readonly objects: readonly ApiObject[]
  readonly metadata: JsonObject
}

export function list({ context, kind, route, call: { query } }: KindRequest): Page {
  const { webhooks } = context
  const limit = checkedLimit(query)
  const { matches, term } = selectionOf(kind, query)
  // One state of the collection, however many turns its selection takes.
  const { revision, rest } = webhooks.once('state', () => {
    const token = query.get('continue') ?? ''
    const position = token ? readToken(context, token, query) : undefined
    const revision = position?.revision ?? revisionOf(context, query)
    const all = listAt(context, kind, prefixOf(route), revision, position)
    const fields = query.get('fieldSelector')
    // The real server reads the only object that a selector of its name allows by its key, without pages.
    const name = fields && (route.namespace || !kind.namespaced) ? selectedName(fields) : undefined
    const found = name === undefined ? all : all.filter(({ metadata }) => metadata.name === name)
    const rest = position ? found.slice(firstAfter(found, position.after)) : found
    return { revision, rest: limit === 0 && term ? withTerm(rest, term) : rest }
  })
  if (query.get('fieldSelector')) kind.rules.prepare?.(rest)
  const isSelective = query.get('labelSelector') || query.get('fieldSelector')
  const selected = webhooks.once('selected', (): ApiObject[] => [])
  const all = limit > 0 || isSelective ? undefined : rest
  const seen = all?.length ?? webhooks.eachInTurns('select', rest, (object) => {
    if (limit > 0 && selected.length >= limit) return 'stop'
    if (matches(object)) selected.push(object)
    return undefined
  })
  const objects = all ?? selected
  kind.rules.prepare?.(objects)
  const left = rest.length - seen
  // As on the real server, objects that do not match count: the last page of a selection may be empty.
  const next = left > 0 ? writeToken(revision, keyOf(objects[objects.length - 1]!.metadata)) : ''
  return {
    objects,
    metadata: {
      resourceVersion: String(revision),
      ...(next && { continue: next }),
      ...(left > 0 && !isSelective && { remainingItemCount: left }),
    },
  }
}

/** Returns the position of the first object whose key is greater than `key`. The objects are in key order. */
function firstAfter(objects: readonly ApiObject[], key: string): number {
  let [low, high] = [0, objects.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (keyOf(objects[middle]!.metadata) > key) high = middle
    else low = middle + 1
  }
  return low
}

export interface Selection {
  readonly matches: (stored: ApiObject) => boolean
  /** A value that all selected objects have, by which they are found; undefined if there is none. */
  readonly term: Term | undefined
}

/** Parses `labelSelector` and `fieldSelector`. Throws 400 if they are invalid. */
export function selectionOf(kind: Kind, query: URLSearchParams): Selection {
  const [labelText, fieldText] = [query.get('labelSelector'), query.get('fieldSelector')]
  const labels = labelText ? labelSelector(labelText) : undefined
  const fields = fieldText ? fieldSelector(fieldText, kind) : undefined
  const matches: Selection['matches'] = (stored) =>
    (!labels || labels.matches(stored.metadata.labels)) && (!fields || fields.matches(fromStored(kind, stored)))
  if (fields?.required?.path === 'metadata.name') return { matches, term: nameTerm(fields.required.value) }
  if (labels?.required) {
    const { path, value } = labels.required
    return { matches, term: { path: `label ${path}`, value, read: ({ metadata: { labels } }) => labels?.[path] } }
  }
  // The fields of a custom kind change with its definition, and may need a conversion.
  if (kind.custom || !fields?.required) return { matches, term: undefined }
  const { path, value } = fields.required
  const read = (stored: ApiObject): string | undefined => selectableFields(kind, fromStored(kind, stored))[path]
  return { matches, term: { path: `${kind.apiVersion} ${path}`, value, read } }
}

export function nameTerm(value: string): Term {
  return { path: 'metadata.name', value, read: ({ metadata }) => metadata.name }
}

export function namespaceTerm(value: string): Term {
  return { path: 'metadata.namespace', value, read: ({ metadata }) => metadata.namespace }
}

/** Returns the page size, 0 without a limit. Throws 400 for a number that does not parse, 422 for invalid options. */
function checkedLimit(query: URLSearchParams): number {
  intParam(query, 'timeoutSeconds')
  const limit = intParam(query, 'limit')
  const faults = listOptionFaults(query)
  if (faults.length > 0) throw invalid(LIST_OPTIONS, '', faults)
  // A list from version 0 is never paged.
  return query.get('resourceVersion') === '0' ? 0 : limit
}

export function prefixOf({ namespace }: ResourceRoute): string {
  return namespace ? `${namespace}/` : ''
}

const MAX_INT64 = 2n ** 63n - 1n

/** Returns an integer parameter; 0 if it is missing. Throws 400 if it does not parse. */
export function intParam(query: URLSearchParams, name: string): number {
  const text = query.get(name)
  if (text === null) return 0
  const isNumber = /^[+-]?\d+$/.test(text)
  if (isNumber && BigInt(text.replace('+', '')) <= MAX_INT64 && BigInt(text.replace('+', '')) >= -MAX_INT64 - 1n) {
    return Number(text)
  }
  const reason = isNumber ? 'value out of range' : 'invalid syntax'
  throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: ${reason}`)
}

/** Checks the version of a read of one object. Throws 500 if it does not parse, 504 if it is in the future. */
export function checkReadVersion(context: Context, query: URLSearchParams): void {
  const version = query.get('resourceVersion') ?? ''
  if (version === '' || version === '0') return
  const revision = readVersion(version)
  if (revision > context.store.revision) throw tooLargeVersion(revision, context.store.revision)
}

/** Returns the revision to list at. Throws 400 for an invalid version, 504 for a future one. */
function revisionOf(context: Context, query: URLSearchParams): number {
  const version = query.get('resourceVersion') ?? ''
  const match = query.get('resourceVersionMatch') ?? ''
  const current = context.store.revision
  if (version === '' || version === '0') return current
  const revision = readVersion(version, (problem) => badRequest(`invalid resource version: ${problem}`))
  if (revision > current) throw tooLargeVersion(revision, current)
  const isExact = match === 'Exact' || (!match && intParam(query, 'limit') > 0)
  return isExact ? revision : current
}

export const LIST_OPTIONS = { group: 'meta.k8s.io', kind: 'ListOptions' }

function listOptionFaults(query: URLSearchParams): Cause[] {
  const version = query.get('resourceVersion') ?? ''
  const match = query.get('resourceVersionMatch') ?? ''
  const faults: Cause[] = []
  const forbid = (detail: string): void => void faults.push(fault.forbidden('resourceVersionMatch', detail))
  if (match && !version) forbid('resourceVersionMatch is forbidden unless resourceVersion is provided')
  if (match && query.get('continue')) forbid('resourceVersionMatch is forbidden when continue is provided')
  if (match && match !== 'Exact' && match !== 'NotOlderThan') {
    faults.push(fault.notSupported('resourceVersionMatch', match, ['Exact', 'NotOlderThan', '']))
  }
  if (match === 'Exact' && version === '0') {
    forbid('resourceVersionMatch "exact" is forbidden for resourceVersion "0"')
  }
  if (query.has('sendInitialEvents')) {
    faults.push(fault.forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'))
  }
  return faults
}

/** Returns the revision of a version. Throws what `refuse` returns if it does not parse; default: 500. */
export function readVersion(
  version: string,
  refuse = (problem: string): StatusError => errorWithoutReason(500, problem),
): number {
  if (/^\d+$/.test(version)) return Number(version)
  const text = JSON.stringify(version)
  throw refuse(`resourceVersion: Invalid value: ${text}: strconv.ParseUint: parsing ${text}: invalid syntax`)
}

export function tooLargeVersion(revision: number, current: number): StatusError {
  const message = `Too large resource version: ${revision}, current: ${current}`
  return new StatusError(504, 'Timeout', `Timeout: ${message}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  })
}

interface Position {
  readonly revision: number
  readonly after: string
}

function writeToken(revision: number, after: string): string {
  const token = btoa(JSON.stringify({ v: 'meta.k8s.io/v1', rv: revision, start: `${after}\u0000` }))
  return token.replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '')
}

function readToken(context: Context, token: string, query: URLSearchParams): Position {
  if (query.get('resourceVersion') && query.get('resourceVersion') !== '0') {
    throw badRequest('specifying resource version is not allowed when using continue')
  }
  const { v: version, rv: revision, start } = objectAt(tokenValue(token))
  const isKey = (key: string): boolean =>
    key.replace(/^\//, '').split('/').every((part) => part !== '' && part !== '.' && part !== '..')
  if (version !== 'meta.k8s.io/v1' || !revision || typeof revision !== 'number' || !isKey(String(start ?? ''))) {
    throw refuseToken()
  }
  // -1 is the "newest state" token that a 410 response contains.
  const current = context.store.revision
  return { revision: revision < 0 ? current : revision, after: String(start).replace(/\u0000$/, '') }
}

function tokenValue(token: string): Json {
  if (!/^[\w-]*$/.test(token)) throw refuseToken()
  try {
    return JSON.parse(atob(token.replace(/-/g, '+').replace(/_/g, '/'))) as Json
  } catch (cause) {
    throw Object.assign(refuseToken(), { cause })
  }
}

const refuseToken = (): StatusError => badRequest('continue key is not valid')

function listAt(
  context: Context,
  kind: Kind,
  prefix: string,
  revision: number,
  position: Position | undefined,
): readonly ApiObject[] {
  try {
    return context.store.listAt(kind.storage.id, prefix, revision)
  } catch (error) {
    if (!(error instanceof StatusError) || !position) throw error
    throw gone(
      'The provided continue parameter is too old to display a consistent list result. You can start a new list without ' +
        'the continue parameter, or use the continue token in this response to retrieve the remainder of the results. ' +
        'Continuing with the provided token results in an inconsistent list - objects that were created, modified, or ' +
        'deleted between the time the first chunk was returned and now may show up in the list.',
      { continue: writeToken(-1, position.after) },
    )
  }
}
