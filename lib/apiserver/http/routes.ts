/** Parses the method, path and query of a request. */
import type { HttpRequest } from '../../core/transport.ts'

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
}

/** The route of any other request: discovery, health, OpenAPI. */
interface PlainRoute {
  readonly type: 'plain'
  readonly path: string
}

export type Route = ResourceRoute | PlainRoute

/** A parsed request. */
export interface Call {
  readonly method: HttpRequest['method']
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | undefined
  readonly signal: AbortSignal | undefined
  /** Warnings for the response, in order. */
  readonly warnings: string[]
}

export function readCall(request: HttpRequest): Call {
  const url = new URL(request.path, 'http://in.memory')
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(request.headers ?? {})) headers[name.toLowerCase()] = value
  return {
    method: request.method,
    path: url.pathname,
    query: url.searchParams,
    headers,
    body: request.body,
    signal: request.signal,
    warnings: [],
  }
}

/** The subresources of a Namespace; any other third segment of its path is a resource in the namespace. */
const NAMESPACE_SUBRESOURCES: readonly string[] = ['status', 'finalize']

export function routeOf(path: string): Route {
  const parts = path.split('/').slice(1).map(decode)
  if (parts[parts.length - 1] === '') parts.pop()
  const plain: PlainRoute = { type: 'plain', path: `/${parts.join('/')}` }
  const isCore = parts[0] === 'api'
  if (!isCore && parts[0] !== 'apis') return plain
  const [group, version, ...rest] = isCore ? ['', ...parts.slice(1)] : parts.slice(1)
  if (group === undefined || version === undefined || rest.length === 0) return plain
  // The path prefix /watch, deprecated since 1.11, is not served.
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
    }
  }
  const [plural, name = '', ...sub] = rest
  return { type: 'resource', group, version, plural: plural!, namespace: '', name, subresource: sub.join('/') }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    // Keep the raw text of an invalid encoding: no name can contain it, so the request gets 404.
    return part
  }
}

/** Returns whether a boolean query parameter is set, by apimachinery's rule: present, and neither `false` nor `0`. */
export function flag(query: URLSearchParams, name: string): boolean {
  const value = query.get(name)
  return value !== null && value.toLowerCase() !== 'false' && value !== '0'
}
