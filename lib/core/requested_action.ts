/** What a request asks for, in the terms of authorization. */

/** The action that a request asks for. */
export interface RequestedAction {
  readonly verb: string
  /** Whether the path is that of a resource. If not, only `path` counts. */
  readonly isResource: boolean
  readonly path: string
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly subresource: string
  readonly namespace: string
  readonly name: string
}

export const NO_RESOURCE = {
  isResource: false,
  path: '',
  group: '',
  version: '',
  resource: '',
  subresource: '',
  namespace: '',
  name: '',
} as const

const VERBS: ReadonlyMap<string, string> = new Map(Object.entries({
  POST: 'create',
  GET: 'get',
  HEAD: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
}))

/** Path prefixes that are verbs, as `/api/v1/watch/pods`: authorized as such, although they are not served. */
const PATH_VERBS: readonly string[] = ['proxy', 'watch']
const NAMESPACE_SUBRESOURCES: readonly string[] = ['status', 'finalize']

/**
 * Returns the action of a request.
 *
 * @param path Without the query.
 * @see https://github.com/kubernetes/apiserver/blob/v0.36.3/pkg/endpoints/request/requestinfo.go NewRequestInfo
 */
export function requestedAction(method: string, sent: string, query: URLSearchParams): RequestedAction {
  const path = decoded(sent)
  const parts = path.split('/').filter(Boolean)
  const plain = { ...NO_RESOURCE, path, verb: method.toLowerCase() }
  const isCore = parts[0] === 'api'
  if (!isCore && parts[0] !== 'apis' || parts.length < (isCore ? 3 : 4)) return plain
  const [group, version, ...rest] = isCore ? ['', ...parts.slice(1)] : parts.slice(1)
  const isPathVerb = PATH_VERBS.includes(rest[0]!)
  const verb = isPathVerb ? rest.shift()! : VERBS.get(method) ?? ''
  const namespace = rest[0] === 'namespaces' ? rest[1] ?? '' : ''
  const own = namespace && rest.length > 2 && !NAMESPACE_SUBRESOURCES.includes(rest[2]!) ? rest.slice(2) : rest
  const [resource = '', name = '', subresource = ''] = own
  const found = {
    ...plain,
    isResource: true,
    group: group!,
    version: version!,
    verb,
    namespace,
    resource,
    name,
    subresource: verb === 'proxy' ? '' : subresource,
  }
  return name || isPathVerb ? found : { ...found, ...ofCollection(verb, query) }
}

/** Returns what differs for a request without a name: its verb, and the name that a field selector requires. */
function ofCollection(verb: string, query: URLSearchParams): Partial<RequestedAction> {
  if (verb === 'delete') return { verb: 'deletecollection' }
  if (verb !== 'get') return {}
  return { verb: flag(query, 'watch') ? 'watch' : 'list', name: selectedName(query.get('fieldSelector') ?? '') ?? '' }
}

/** Returns the name that a field selector requires, to which the right to list and watch may be limited. */
export function selectedName(fields: string): string | undefined {
  const name = /(?:^|,)metadata\.name==?([^=,\\!]+)(?:,|$)/.exec(fields)?.[1]
  return name === undefined || /[/%]|^\.{1,2}$/.test(name) ? undefined : name
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

export function splitTarget(target: string): { readonly path: string; readonly query: URLSearchParams } {
  const question = target.indexOf('?')
  return question < 0
    ? { path: target || '/', query: new URLSearchParams() }
    : { path: target.slice(0, question) || '/', query: queryOf(target.slice(question + 1)) }
}

/** Go drops parameters with a semicolon or a malformed escape. */
function queryOf(text: string): URLSearchParams {
  const isPlain = !/;|%(?![\da-fA-F]{2})/.test(text)
  return new URLSearchParams(
    isPlain ? text : text.split('&').filter((each) => !each.includes(';') && isWellFormed(each)).join('&'),
  )
}

/** Returns whether the escapes of a path are well-formed. */
export function isWellFormed(path: string): boolean {
  return !/%(?![\da-fA-F]{2})/.test(path)
}

/** Returns whether a boolean query parameter is set, by apimachinery's rule: present, and neither `false` nor `0`. */
export function flag(query: URLSearchParams, name: string): boolean {
  const value = query.get(name)
  return value !== null && value.toLowerCase() !== 'false' && value !== '0'
}
