/** Serves `/metrics`, and further paths of the user beside it. */
import { type Fetch, type ListenOptions, notFound, Server } from './server.ts'

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

/**
 * Serves a registry. By itself it has no authentication, as in controller-runtime by default: beyond loopback, use the
 * operator's `metrics: { tls, auth }`, or restrict access with a NetworkPolicy or a proxy.
 */
export class MetricsServer extends Server {
  readonly #registry: ScrapeSource
  readonly #handlers = new Map<string, Fetch>()

  /** @throws TypeError if the address is invalid. */
  constructor(options: MetricsServerOptions) {
    super({ ...options, name: 'metrics', fetch: (request) => this.fetch(request) })
    this.#registry = options.registry
  }

  /**
   * Serves another path; one that ends with a slash serves all paths below it, too. Throws for `/metrics`, for a path
   * that is taken or invalid, and after the start.
   */
  handle(path: string, fetch: Fetch): void {
    const cannot = `Cannot serve "${path}" beside the metrics`
    if (this.isStarted) throw new Error(`${cannot}: the server was started already`)
    if (!/^\/[^?#\s]*$/.test(path)) throw new TypeError(`${cannot}: a path begins with a slash and has no query`)
    if (path === METRICS) throw new Error(`${cannot}: the path is taken by the metrics`)
    if (this.#handlers.has(path)) throw new Error(`${cannot}: the path is taken`)
    this.#handlers.set(path, fetch)
  }

  override async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url)
    const { contentType } = this.#registry
    if (pathname === METRICS) {
      return new Response(await this.#registry.metrics(), { headers: { 'content-type': contentType } })
    }
    const handler = this.#handlerOf(pathname)
    if (handler) return await handler(request)
    return notFound()
  }

  /** Returns the handler of the path itself, or of the longest path above it. */
  #handlerOf(path: string): Fetch | undefined {
    const above = [...this.#handlers.keys()].filter((each) => each.endsWith('/') && path.startsWith(each))
    const longest = above.sort((a, b) => b.length - a.length)[0] ?? ''
    return this.#handlers.get(path) ?? this.#handlers.get(longest)
  }
}
