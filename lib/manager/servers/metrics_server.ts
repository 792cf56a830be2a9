/** Serves `/metrics`, and further paths of the user beside it. */
import { type Fetch, type ListenOptions, notFound, type Server } from './server.ts'

/** The part of a prom-client registry that the server needs. */
export interface ScrapeSource {
  readonly contentType: string
  metrics(): Promise<string>
}

/** Options of {@link MetricsServer}. */
export interface MetricsServerOptions extends ListenOptions {
  readonly registry: ScrapeSource
}

const METRICS = '/metrics'

/** Serves a registry, and the user's own paths beside it. */
export interface MetricsServer extends Server {
  /**
   * Serves another path; one that ends with a slash serves all paths below it, too. Throws for `/metrics`, for a path
   * that is taken or invalid, and after the start.
   */
  handle(path: string, fetch: Fetch): void
  fetch(request: Request): Promise<Response>
}

/**
 * Makes the server. By itself it has no authentication, as in controller-runtime by default: beyond loopback, use the
 * operator's `metrics: { tls, auth }`, or restrict access with a NetworkPolicy or a proxy. The class is given, as this
 * file is loaded beside mod.js, which has the only one.
 *
 * @throws TypeError if the address is invalid.
 */
export function metricsServer(Class: typeof Server, options: MetricsServerOptions): MetricsServer {
  const { registry } = options
  const handlers = new Map<string, Fetch>()
  const fetch = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url)
    if (pathname === METRICS) {
      return new Response(await registry.metrics(), { headers: { 'content-type': registry.contentType } })
    }
    return await (handlerOf(handlers, pathname) ?? notFound)(request)
  }
  const server = new Class({
    ...{ ...options, name: 'metrics', fetch },
    // Handlers, which are added before the start, may read bodies.
    get maxBodyBytes() {
      return handlers.size > 0 ? undefined : 0
    },
  })
  const handle = (path: string, fetch: Fetch): void => {
    const cannot = `Cannot serve "${path}" beside the metrics`
    if (server.isStarted) throw new Error(`${cannot}: the server was started already`)
    if (!/^\/[^?#\s]*$/.test(path)) throw new TypeError(`${cannot}: a path begins with a slash and has no query`)
    if (path === METRICS) throw new Error(`${cannot}: the path is taken by the metrics`)
    if (handlers.has(path)) throw new Error(`${cannot}: the path is taken`)
    handlers.set(path, fetch)
  }
  return Object.assign(server, { fetch, handle })
}

/** Returns the handler of the path itself, or of the longest path above it. */
function handlerOf(handlers: ReadonlyMap<string, Fetch>, path: string): Fetch | undefined {
  const above = [...handlers.keys()].filter((each) => each.endsWith('/') && path.startsWith(each))
  const longest = above.sort((a, b) => b.length - a.length)[0] ?? ''
  return handlers.get(path) ?? handlers.get(longest)
}
