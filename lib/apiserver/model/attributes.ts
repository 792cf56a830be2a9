/** What a request does, in the terms of authorization. */
import { type Call, flag } from './routes.ts'
import { StatusError } from './status.ts'
import type { User } from './user.ts'

/** The action that a user asks for. */
export interface Attributes {
  readonly user: User
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

const NOTHING = {
  isResource: false,
  path: '',
  group: '',
  version: '',
  resource: '',
  subresource: '',
  namespace: '',
  name: '',
} as const

/** Returns the attributes of an action on a resource. */
export function resourceAttributes(
  given: Pick<Attributes, 'user' | 'verb' | 'resource'> & Partial<Attributes>,
): Attributes {
  return { ...NOTHING, isResource: true, ...given }
}

const VERBS: Readonly<Record<string, string>> = {
  POST: 'create',
  GET: 'get',
  HEAD: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
}

/** Path prefixes that are verbs, as `/api/v1/watch/pods`: authorized as such, although they are not served. */
const PATH_VERBS: readonly string[] = ['proxy', 'watch']
const NAMESPACE_SUBRESOURCES: readonly string[] = ['status', 'finalize']

/**
 * Returns the attributes of a request.
 *
 * @see https://github.com/kubernetes/apiserver/blob/v0.36.3/pkg/endpoints/request/requestinfo.go NewRequestInfo
 */
export function attributesOf(call: Call, user: User): Attributes {
  const path = decoded(call.path)
  const parts = path.split('/').filter(Boolean)
  const plain = { ...NOTHING, user, path, verb: call.method.toLowerCase() }
  const isCore = parts[0] === 'api'
  if (!isCore && parts[0] !== 'apis' || parts.length < (isCore ? 3 : 4)) return plain
  const [group, version, ...rest] = isCore ? ['', ...parts.slice(1)] : parts.slice(1)
  const isPathVerb = PATH_VERBS.includes(rest[0]!)
  const verb = isPathVerb ? rest.shift()! : VERBS[call.method] ?? ''
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
  return name || isPathVerb ? found : { ...found, ...ofCollection(verb, call) }
}

/** Returns what differs for a request without a name: its verb, and the name that a field selector requires. */
function ofCollection(verb: string, call: Call): Partial<Attributes> {
  if (verb === 'delete') return { verb: 'deletecollection' }
  if (verb !== 'get') return {}
  const name = /(?:^|,)metadata\.name==?([^=,\\!]+)(?:,|$)/.exec(call.query.get('fieldSelector') ?? '')?.[1] ?? ''
  return { verb: flag(call.query, 'watch') ? 'watch' : 'list', ...(!/[/%]|^\.{1,2}$/.test(name) && { name }) }
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

/** Returns the 403 error of an action that is not allowed. */
export function notAllowed(attributes: Attributes, reason = ''): StatusError {
  const { group, resource, name, isResource } = attributes
  const text = escaped(problemOf(attributes)) + (reason && `: ${reason}`)
  if (!isResource) return new StatusError(403, 'Forbidden', `forbidden: ${text}`, {})
  const qualified = group ? `${resource}.${group}` : resource
  return new StatusError(403, 'Forbidden', `${qualified}${name && ` ${JSON.stringify(name)}`} is forbidden: ${text}`, {
    ...(name && { name }),
    ...(group && { group }),
    kind: resource,
  })
}

function problemOf({ user, verb, isResource, path, group, resource, subresource, namespace }: Attributes): string {
  const start = `User ${JSON.stringify(user.name)} cannot ${verb}`
  if (!isResource) return `${start} path ${JSON.stringify(path)}`
  const target = JSON.stringify(subresource ? `${resource}/${subresource}` : resource)
  const place = namespace ? `in the namespace ${JSON.stringify(namespace)}` : 'at the cluster scope'
  return `${start} resource ${target} in API group ${JSON.stringify(group)} ${place}`
}

function escaped(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
}
