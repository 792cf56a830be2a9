/** Handles GET of a collection: selectors, pages and resource versions. */
import { type Backend, fromStored } from '../backend.ts'
import { type ApiObject, isObject, type Json, type JsonObject } from '../json.ts'
import type { Kind } from '../kinds.ts'
import { fieldSelector, labelSelector } from '../selectors.ts'
import type { Call, ResourceRoute } from '../http/routes.ts'
import { badRequest, fault, gone, invalid, StatusError } from '../http/status.ts'
import { keyOf } from '../storage/store.ts'

/** One page of a collection; the objects are in their stored version. */
export interface Page {
  readonly objects: readonly ApiObject[]
  readonly metadata: JsonObject
}

export function list(backend: Backend, kind: Kind, route: ResourceRoute, call: Call): Page {
  const { query } = call
  if (query.has('sendInitialEvents')) {
    throw invalid(
      LIST_OPTIONS,
      '',
      [fault.forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list')],
    )
  }
  const limit = intParam(query, 'limit')
  const token = query.get('continue') ?? ''
  const matches = selectorOf(kind, query)
  const prefix = prefixOf(route)
  const position = token ? readToken(backend, token, query) : undefined
  const revision = position?.revision ?? revisionOf(backend, query)
  const found = listAt(backend, kind, prefix, revision, position, query)
  if (query.get('fieldSelector')) kind.rules.prepare?.(found)
  const all = found.filter(matches)
  const from = position ? all.findIndex((object) => keyOf(object.metadata) > position.after) : 0
  const rest = from < 0 ? [] : all.slice(from)
  const objects = limit > 0 ? rest.slice(0, limit) : rest
  kind.rules.prepare?.(objects)
  const remaining = rest.length - objects.length
  const isSelective = query.get('labelSelector') || query.get('fieldSelector')
  const next = remaining > 0 ? writeToken(revision, keyOf(objects[objects.length - 1]!.metadata)) : ''
  return {
    objects,
    metadata: {
      resourceVersion: String(revision),
      ...(next && { continue: next }),
      ...(remaining > 0 && !isSelective && { remainingItemCount: remaining }),
    },
  }
}

/** Returns the stored objects that match the selectors of a request. */
export function selectObjects(backend: Backend, kind: Kind, route: ResourceRoute, call: Call): readonly ApiObject[] {
  const found = backend.store.list(kind.storage.id, prefixOf(route))
  if (call.query.get('fieldSelector')) kind.rules.prepare?.(found)
  return found.filter(selectorOf(kind, call.query))
}

/** Returns a predicate on stored objects for `labelSelector` and `fieldSelector`. */
export function selectorOf(kind: Kind, query: URLSearchParams): (stored: ApiObject) => boolean {
  const labels = query.get('labelSelector')
  const fields = query.get('fieldSelector')
  if (!labels && !fields) return () => true
  const matchesLabels = labels ? labelSelector(labels) : undefined
  const matchesFields = fields ? fieldSelector(fields, kind) : undefined
  return (stored) =>
    (matchesLabels?.(stored.metadata.labels) ?? true) && (matchesFields?.(fromStored(kind, stored)) ?? true)
}

export function prefixOf({ namespace }: ResourceRoute): string {
  return namespace ? `${namespace}/` : ''
}

function intParam(query: URLSearchParams, name: string): number {
  const text = query.get(name)
  if (!text) return 0
  if (!/^-?\d+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`)
  return Number(text)
}

/** Returns the revision to list at. Throws 400 for an invalid version, 504 for a future one. */
function revisionOf(backend: Backend, query: URLSearchParams): number {
  const version = query.get('resourceVersion') ?? ''
  const match = query.get('resourceVersionMatch') ?? ''
  const current = backend.store.revision
  if (match) checkMatch(version, match)
  if (version === '' || version === '0') return current
  const revision = parseVersion(version)
  if (revision > current) throw tooLargeVersion(revision, current)
  const isExact = match === 'Exact' || (!match && intParam(query, 'limit') > 0)
  return isExact ? revision : current
}

const LIST_OPTIONS = { group: 'meta.k8s.io', kind: 'ListOptions' }

function checkMatch(version: string, match: string): void {
  if (match !== 'Exact' && match !== 'NotOlderThan') {
    throw invalid(LIST_OPTIONS, '', [fault.notSupported('resourceVersionMatch', match, ['Exact', 'NotOlderThan', ''])])
  }
  if (!version) {
    throw invalid(
      LIST_OPTIONS,
      '',
      [fault.forbidden('resourceVersionMatch', 'resourceVersionMatch is forbidden unless resourceVersion is provided')],
    )
  }
  if (match === 'Exact' && version === '0') {
    throw invalid(
      LIST_OPTIONS,
      '',
      [fault.forbidden('resourceVersionMatch', 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"')],
    )
  }
}

export function parseVersion(version: string): number {
  if (!/^\d+$/.test(version)) {
    const reason = `strconv.ParseUint: parsing ${JSON.stringify(version)}: invalid syntax`
    throw badRequest(`invalid resource version: resourceVersion: Invalid value: ${JSON.stringify(version)}: ${reason}`)
  }
  return Number(version)
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
  return btoa(
    JSON.stringify({ v: 'meta.k8s.io/v1', rv: revision, start: `${after}\u0000` }),
  ).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '')
}

function readToken(backend: Backend, token: string, query: URLSearchParams): Position {
  if (query.get('resourceVersion') && query.get('resourceVersion') !== '0') {
    throw badRequest('specifying resource version is not allowed when using continue')
  }
  let value: Json
  try {
    value = JSON.parse(atob(token.replace(/-/g, '+').replace(/_/g, '/'))) as Json
  } catch (cause) {
    throw Object.assign(badRequest('invalid continue token: continue key is not valid: illegal base64 data'), { cause })
  }
  if (!isObject(value) || typeof value['rv'] !== 'number' || typeof value['start'] !== 'string') {
    throw badRequest(
      'invalid continue token: continue key is not valid',
    )
  }
  // -1 is the "newest state" token that a 410 response contains.
  return {
    revision: value['rv'] < 0 ? backend.store.revision : value['rv'],
    after: value['start'].replace(/\u0000$/, ''),
  }
}

function listAt(
  backend: Backend,
  kind: Kind,
  prefix: string,
  revision: number,
  position: Position | undefined,
  query: URLSearchParams,
): readonly ApiObject[] {
  try {
    return backend.store.listAt(kind.storage.id, prefix, revision)
  } catch (error) {
    if (!(error instanceof StatusError) || !position) throw error
    if (query.get('continue') === null) throw error
    throw gone(
      'The provided continue parameter is too old to display a consistent list result. You can start a new list without ' +
        'the continue parameter, ' +
        'or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided ' +
        'token results in an ' +
        'inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned ' +
        'and now may show up in the list.',
      { continue: writeToken(-1, position.after) },
    )
  }
}
