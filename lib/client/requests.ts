/** Builds requests (path, headers, body) from a verb and its arguments, without sending them. */
import type { HttpRequest } from '../core/transport.ts'
import { type AnyResource, apiVersionOf, checkWritable, groupResourceOf } from '../core/resource.ts'
import { stringifyExact } from '../core/exact_json.ts'
import { withoutMarks } from '../core/partial.ts'
import { formatLabels } from '../core/selectors.ts'

/** Addresses all objects of a kind, one object, or a subresource of one. */
export interface Target {
  readonly resource: AnyResource
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  readonly subresource?: string | undefined
}

/** The selectors of a list or a watch. */
export interface SelectOptions {
  readonly labels?: string | Readonly<Record<string, string>> | undefined
  readonly fields?: string | undefined
}

/** Returns the field selector of one object. A role's name may have any of these characters. */
export function named(name: string): string {
  return `metadata.name=${name.replace(/[\\,=]/g, '\\$&')}`
}

/** The exact version at which a list is read. */
export interface ListVersion {
  readonly resourceVersion: string
  readonly resourceVersionMatch: 'Exact'
}

/** The query of a page. `quiet`: warnings of the server are not logged, as the user did not ask for the objects. */
export type PageQuery = SelectOptions & {
  limit?: number | undefined
  continue?: string | undefined
  /** The version to list at. Default: the newest one. */
  at?: ListVersion | undefined
  quiet?: boolean | undefined
}

/** Returns `Foo "default/a"`, `the scale of Foo "default/a"`, or of all `foos.example.dev in namespace "default"`. */
export function describe(target: Target): string {
  const { resource, namespace, name, subresource } = target
  if (subresource && subresource !== 'status') {
    return `the ${subresource} of ${describe({ ...target, subresource: undefined })}`
  }
  if (name === undefined) return `${groupResourceOf(resource)}${namespace ? ` in namespace "${namespace}"` : ''}`
  return `${resource.kind} "${namespace ? `${namespace}/` : ''}${name}"`
}

type Query = Readonly<Record<string, string | number | boolean | undefined>>

/**
 * Returns the path of a target. Names are escaped, so `system:node` and `MyTeam:Admin` work. The namespace of a
 * cluster-scoped kind is ignored.
 *
 * @throws TypeError if the resource is no kind, or a name is invalid: a path with `..` or an empty name would address
 * another object, or all objects.
 */
export function pathOf({ resource, namespace, name, subresource }: Target): string {
  if (resource?.plural === undefined) {
    throw new TypeError(`Cannot address ${resource}: it is not a kind, such as Pod of kubeloop/kinds`)
  }
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

/** Checks a name as apimachinery's IsValidPathSegmentName does; the server decodes a path before it splits it. */
function segment(resource: AnyResource, what: string, value: string): string {
  if (value !== '' && value !== '.' && value !== '..' && !/[/%]/.test(value)) return encodeURIComponent(value)
  throw new TypeError(
    `Cannot address ${resource.kind}: the ${what} ${JSON.stringify(value)} is empty, ".", "..", or has a "/" or "%"`,
  )
}

export function getRequest(target: Target): HttpRequest {
  return { method: 'GET', path: pathOf(target), headers: accepting(target, 'PartialObjectMetadata') }
}

export function listRequest(target: Target, options: PageQuery): HttpRequest {
  const query = { ...selectors(options), limit: options.limit, continue: options.continue, ...options.at }
  return {
    method: 'GET',
    path: withQuery(pathOf(target), query),
    headers: accepting(target, 'PartialObjectMetadataList'),
    ...(options.quiet && { quiet: true }),
  }
}

/** Options of a watch: its start, its end and its selectors. */
export interface WatchQuery extends SelectOptions {
  /** The version to start after. Empty: the existing objects come first. */
  readonly resourceVersion: string
  /** Default: the server's, 30 to 60 minutes. */
  readonly timeoutSeconds?: number | undefined
  /** Requests all existing objects first, then a bookmark that marks their end, then the changes. */
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

/** The query parameters of every write. */
export interface WriteQuery {
  readonly dryRun?: boolean | undefined
  readonly fieldManager?: string | undefined
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore' | undefined
}

/** @throws TypeError as {@link updateRequest}. */
export function createRequest(target: Target, object: object, query: WriteQuery): HttpRequest {
  const path = withQuery(pathOf(target.subresource ? target : { ...target, name: undefined }), writeQuery(query))
  const body = withoutMarks(stringifyExact(object, `create ${target.resource.kind}`))
  return { method: 'POST', path, headers: sending('application/json'), body }
}

/**
 * @throws TypeError if a number may have been rounded; the message begins with `action`, such as `update Foo "ns/a"`.
 */
export function updateRequest(target: Target, object: object, query: WriteQuery, action: string): HttpRequest {
  const path = withQuery(pathOf(target), writeQuery(query))
  const body = withoutMarks(stringifyExact(object, action))
  return { method: 'PUT', path, headers: sending('application/json'), body }
}

/** The kinds of patches that a server takes. */
export type PatchType = 'json' | 'merge' | 'strategic' | 'apply'

/** Server-side apply requires the YAML media type; JSON is valid YAML. */
const PATCH_MEDIA_TYPE: Readonly<Record<PatchType, string>> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
}

/**
 * `patch` is a value, or JSON text.
 *
 * @throws TypeError as {@link updateRequest}.
 */
export function patchRequest(
  target: Target,
  type: PatchType,
  patch: unknown,
  query: WriteQuery & { force?: boolean | undefined },
): HttpRequest {
  const path = withQuery(pathOf(target), { ...writeQuery(query), force: type === 'apply' ? query.force : undefined })
  const body = withoutMarks(
    typeof patch === 'string' ? patch : stringifyExact(patch as object, `patch ${target.resource.kind}`),
  )
  return { method: 'PATCH', path, headers: sending(PATCH_MEDIA_TYPE[type]), body }
}

/** A change in one of the API's patch formats. */
export type Patch =
  | { readonly merge: object; readonly json?: never; readonly strategic?: never }
  | { readonly json: readonly object[]; readonly merge?: never; readonly strategic?: never }
  | { readonly strategic: object; readonly merge?: never; readonly json?: never }

/**
 * Returns the type and body of a patch. A `resourceVersion` becomes part of the patched object, so that the server
 * answers a mismatch with Conflict, as for an update. (A `test` operation would fail with Invalid.)
 */
export function patchBody(patch: Patch, resourceVersion?: string): readonly [PatchType, unknown] {
  const names = Object.keys(patch)
  if (names.length !== 1) throw new TypeError(`Cannot patch by ${names.join(' and ')}: give merge, json or strategic`)
  if (patch.json) {
    const atVersion = { op: 'add', path: '/metadata/resourceVersion', value: resourceVersion }
    return ['json', resourceVersion === undefined ? patch.json : [...patch.json, atVersion]]
  }
  const [type, body] = patch.merge ? (['merge', patch.merge] as const) : (['strategic', patch.strategic] as const)
  if (resourceVersion === undefined) return [type, body]
  const { metadata } = body as { readonly metadata?: object }
  return [type, { ...body, metadata: { ...metadata, resourceVersion } }]
}

/**
 * Returns the JSON Patch that replaces a status: "add" replaces the whole member. The uid protects a later object with
 * the same name. With a version, another one is a Conflict; without, a change of the spec does not make it fail.
 */
export function statusPatch(status: unknown, uid: string | undefined, resourceVersion?: string): readonly object[] {
  const add = (path: string, value: unknown): object => ({ op: 'add', path, value })
  return [
    ...(uid ? [{ op: 'test', path: '/metadata/uid', value: uid }] : []),
    ...(resourceVersion ? [add('/metadata/resourceVersion', resourceVersion)] : []),
    add('/status', status),
  ]
}

/** The options of a deletion. */
export interface DeleteQuery extends SelectOptions {
  propagation?: 'Background' | 'Foreground' | 'Orphan' | undefined
  uid?: string | undefined
  resourceVersion?: string | undefined
  gracePeriodSeconds?: number | undefined
  dryRun?: boolean | undefined
}

export function deleteRequest(target: Target, options: DeleteQuery): HttpRequest {
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
 * Returns the object to send, with apiVersion and kind of the Resource.
 *
 * @throws TypeError if the Resource reads only metadata.
 */
export function wireObject(resource: AnyResource, object: object): Record<string, unknown> {
  checkWritable(resource)
  return { ...object, apiVersion: apiVersionOf(resource), kind: resource.kind }
}

const ACCEPT = { accept: 'application/json' } as const

/** `as` must be the list type for a list, and the object type for a watch: the real server accepts nothing else. */
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
  let result = path
  for (const key in query) {
    const value = query[key]
    if (value !== undefined && value !== '') {
      result += `${result === path ? '?' : '&'}${key}=${encodeURIComponent(value)}`
    }
  }
  return result
}
