/** Requests as values: from a verb and its arguments to a path, headers and a body. Nothing is sent here. */
import type { HttpRequest } from '../core/transport.ts'
import { type AnyResource, apiVersionOf, checkWritable } from '../core/resource.ts'
import { stringifyExact } from '../core/exact_json.ts'
import { formatLabels } from '../core/selectors.ts'

/** Where objects of a kind are, or one of them, or a subresource of one. */
export interface Target {
  readonly resource: AnyResource
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  readonly subresource?: string | undefined
}

/** What narrows a list or a watch. */
export interface SelectOptions {
  readonly labels?: string | Readonly<Record<string, string>> | undefined
  readonly fields?: string | undefined
}

type Query = Readonly<Record<string, string | number | boolean | undefined>>

/**
 * The path of a target. Names are escaped, so that `system:node` and `MyTeam:Admin` survive. Throws a TypeError for what can
 * be no name, because a path with `..` or nothing in a name's place means another object, or all of them. As the scope of a
 * kind decides, a namespace beside a cluster-scoped one is left out.
 */
export function pathOf({ resource, namespace, name, subresource }: Target): string {
  const version = segment(resource, 'version', resource.version)
  const root = resource.group ? `/apis/${segment(resource, 'group', resource.group)}/${version}` : `/api/${version}`
  const within = resource.scope === 'Namespaced' && namespace
    ? `/namespaces/${segment(resource, 'namespace', namespace)}`
    : ''
  if (name !== undefined && resource.scope === 'Namespaced' && !within) {
    throw new TypeError(`Cannot address ${resource.kind} "${name}": it needs a namespace`)
  }
  const object = name === undefined ? '' : `/${segment(resource, 'name', name)}`
  const part = subresource ? `/${segment(resource, 'subresource', subresource)}` : ''
  return `${root}${within}/${segment(resource, 'plural', resource.plural)}${object}${part}`
}

/** The rule of apimachinery's IsValidPathSegmentName; the server decodes a path before it divides it. */
function segment(resource: AnyResource, what: string, value: string): string {
  if (value !== '' && value !== '.' && value !== '..' && !/[/%]/.test(value)) return encodeURIComponent(value)
  throw new TypeError(
    `Cannot address ${resource.kind}: the ${what} ${JSON.stringify(value)} is empty, ".", "..", or has a "/" or "%"`,
  )
}

export function getRequest(target: Target): HttpRequest {
  return { method: 'GET', path: pathOf(target), headers: accepting(target, 'PartialObjectMetadata') }
}

export function listRequest(
  target: Target,
  options: SelectOptions & { limit?: number | undefined; continue?: string | undefined },
): HttpRequest {
  const query = { ...selectors(options), limit: options.limit, continue: options.continue }
  return {
    method: 'GET',
    path: withQuery(pathOf(target), query),
    headers: accepting(target, 'PartialObjectMetadataList'),
  }
}

/** Where a watch begins and when it ends. */
export interface WatchQuery extends SelectOptions {
  /** Whose successors come. Empty: what there is now comes first. */
  readonly resourceVersion: string
  /** Default: the server's, half an hour or more. */
  readonly timeoutSeconds?: number | undefined
  /** Everything that there is comes first, then a bookmark that says so, then the changes. */
  readonly initial?: boolean | undefined
}

export function watchRequest(target: Target, options: WatchQuery): HttpRequest {
  const query = {
    ...selectors(options),
    watch: true,
    allowWatchBookmarks: true,
    resourceVersion: options.resourceVersion,
    timeoutSeconds: options.timeoutSeconds,
    ...(options.initial ? { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' } : {}),
  }
  return { method: 'GET', path: withQuery(pathOf(target), query), headers: accepting(target, 'PartialObjectMetadata') }
}

/** What every write may ask for. */
export interface WriteQuery {
  readonly dryRun?: boolean | undefined
  readonly fieldManager?: string | undefined
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore' | undefined
}

export function createRequest(target: Target, object: object, query: WriteQuery): HttpRequest {
  const path = withQuery(pathOf(target.subresource ? target : { ...target, name: undefined }), writeQuery(query))
  return { method: 'POST', path, headers: sending('application/json'), body: JSON.stringify(object) }
}

/** `action` begins the message of the TypeError that is thrown for numbers which may have been rounded: `update Foo "ns/a"`. */
export function updateRequest(
  target: Target,
  object: object,
  query: WriteQuery,
  action = `update ${target.resource.kind}`,
): HttpRequest {
  const path = withQuery(pathOf(target), writeQuery(query))
  return { method: 'PUT', path, headers: sending('application/json'), body: stringifyExact(object, action) }
}

/** The kinds of patches that a server takes. */
export type PatchType = 'json' | 'merge' | 'strategic' | 'apply'

/** YAML is the media type of server-side apply; JSON is YAML. */
const PATCH_MEDIA_TYPE: Readonly<Record<PatchType, string>> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
}

/** `patch`: as a value, or as JSON. */
export function patchRequest(
  target: Target,
  type: PatchType,
  patch: unknown,
  query: WriteQuery & { force?: boolean | undefined },
): HttpRequest {
  const path = withQuery(pathOf(target), { ...writeQuery(query), force: type === 'apply' ? query.force : undefined })
  const body = typeof patch === 'string' ? patch : JSON.stringify(patch)
  return { method: 'PATCH', path, headers: sending(PATCH_MEDIA_TYPE[type]), body }
}

/** What a deletion says besides its target. */
export interface DeleteQuery extends SelectOptions {
  propagation?: 'Background' | 'Foreground' | 'Orphan' | undefined
  uid?: string | undefined
  resourceVersion?: string | undefined
  gracePeriodSeconds?: number | undefined
  dryRun?: boolean | undefined
}

export function deleteRequest(
  target: Target,
  options: DeleteQuery,
): HttpRequest {
  const { uid, resourceVersion } = options
  const body = {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    propagationPolicy: options.propagation,
    gracePeriodSeconds: options.gracePeriodSeconds,
    preconditions: uid === undefined && resourceVersion === undefined ? undefined : { uid, resourceVersion },
    dryRun: options.dryRun ? ['All'] : undefined,
  }
  const path = withQuery(pathOf(target), selectors(options))
  return { method: 'DELETE', path, headers: sending('application/json'), body: JSON.stringify(body) }
}

/**
 * An object to send: apiVersion and kind come from the Resource, whatever the caller wrote. Throws a TypeError for a kind of which
 * only the metadata is read.
 */
export function wireObject(resource: AnyResource, object: object): Record<string, unknown> {
  checkWritable(resource)
  return { ...object, apiVersion: apiVersionOf(resource), kind: resource.kind }
}

const ACCEPT = { accept: 'application/json' } as const

/** A list is asked for as a list, a watch's events as objects: the real server takes no other. */
function accepting({ resource }: Target, as: string): Record<string, string> {
  return resource.only === 'metadata'
    ? { accept: `application/json;as=${as};g=meta.k8s.io;v=v1,application/json` }
    : ACCEPT
}

function sending(mediaType: string): Record<string, string> {
  return { ...ACCEPT, 'content-type': mediaType }
}

function selectors({ labels, fields }: SelectOptions): Query {
  return { labelSelector: labels === undefined ? undefined : formatLabels(labels), fieldSelector: fields }
}

function writeQuery({ dryRun, fieldManager, fieldValidation }: WriteQuery): Query {
  return { dryRun: dryRun ? 'All' : undefined, fieldManager, fieldValidation }
}

function withQuery(path: string, query: Query): string {
  let whole = path
  for (const key in query) {
    const value = query[key]
    if (value !== undefined && value !== '') whole += `${whole === path ? '?' : '&'}${key}=${encodeURIComponent(value)}`
  }
  return whole
}
