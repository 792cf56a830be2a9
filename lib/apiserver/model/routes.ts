/** Parses the method, path and query of a request, and finds the kind that a path names. */
import { splitTarget } from '../../core/requested_action.ts'
import type { HttpRequest } from '../../core/transport.ts'
import type { Kind } from './kinds.ts'
import { ADMIN, type User } from './user.ts'

/** The route of a resource request. */
export interface ResourceRoute {
  readonly type: 'resource'
  readonly group: string
  readonly version: string
  readonly plural: string
  /** Empty for cluster-scoped kinds and for all namespaces. */
  readonly namespace: string
  /** Empty for collections. */
  readonly name: string
  /** Empty for the object itself. */
  readonly subresource: string
  /** Whether the path has the old prefix /watch, which is the same as `watch=true`. */
  readonly isWatch?: boolean
}

/** The route of any other request: discovery, health, OpenAPI. */
interface PlainRoute {
  readonly type: 'plain'
  readonly path: string
}

export type Route = ResourceRoute | PlainRoute

/** A parsed request. */
export interface Call {
  /** In upper case; any method. */
  readonly method: string
  /** As the client has sent it, without the query. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | undefined
  readonly signal: AbortSignal | undefined
  /** Set by authentication. */
  user: User
  /** Warnings for the response, in order. */
  readonly warnings: string[]
}

export function readCall(request: HttpRequest): Call {
  return {
    method: request.method,
    ...splitTarget(request.path),
    headers: Object.fromEntries(
      Object.entries(request.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
    ),
    body: request.body,
    signal: request.signal,
    user: ADMIN,
    warnings: [],
  }
}

/** The subresources of a Namespace; any other third segment of its path is a resource in the namespace. */
const NAMESPACE_SUBRESOURCES: readonly string[] = ['status', 'finalize']

/** An escaped slash separates, too, as on a real server. */
export function routeOf(path: string): Route {
  const parts = decode(path).split('/').slice(1)
  if (parts[parts.length - 1] === '') parts.pop()
  const plain: PlainRoute = { type: 'plain', path: `/${parts.join('/')}` }
  const isCore = parts[0] === 'api'
  if (!isCore && parts[0] !== 'apis') return plain
  const [group, version, ...all] = isCore ? ['', ...parts.slice(1)] : parts.slice(1)
  if (group === undefined || version === undefined || all.length === 0) return plain
  const isWatch = all[0] === 'watch' && all.length > 1
  const rest = isWatch ? all.slice(1) : all
  if (
    rest[0] === 'namespaces' && rest.length >= 3 &&
    !(rest.length === 3 && group === '' && NAMESPACE_SUBRESOURCES.includes(rest[2]!))
  ) {
    const [, namespace, plural, name = '', ...sub] = rest
    return {
      type: 'resource',
      group,
      version,
      plural: plural!,
      namespace: namespace!,
      name,
      subresource: sub.join('/'),
      isWatch,
    }
  }
  const [plural, name = '', ...sub] = rest
  return { type: 'resource', group, version, plural: plural!, namespace: '', name, subresource: sub.join('/'), isWatch }
}

function decode(path: string): string {
  if (!path.includes('%')) return path
  try {
    return decodeURIComponent(path)
  } catch {
    // Not UTF-8: no name can contain it.
    return path
  }
}

/** The served kinds by URL. */
export class Kinds {
  readonly #byResource = new Map<string, Kind>()

  set(kind: Kind): void {
    this.#byResource.set(keyOf(kind.group, kind.version, kind.plural), kind)
  }

  delete(kind: Kind): void {
    this.#byResource.delete(keyOf(kind.group, kind.version, kind.plural))
  }

  find(group: string, version: string, plural: string): Kind | undefined {
    return this.#byResource.get(keyOf(group, version, plural))
  }

  all(): readonly Kind[] {
    return [...this.#byResource.values()]
  }

  /** Returns one kind per storage, at the storage version if it is served. */
  stored(): readonly Kind[] {
    const byStorage = new Map<string, Kind>()
    for (const kind of this.all()) {
      if (!kind.stored) continue
      if (kind.apiVersion === kind.storage.apiVersion || !byStorage.has(kind.storage.id)) {
        byStorage.set(kind.storage.id, kind)
      }
    }
    return [...byStorage.values()]
  }
}

function keyOf(group: string, version: string, plural: string): string {
  return `${group}/${version}/${plural}`
}
