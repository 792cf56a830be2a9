/** `/metrics`, and what else an operator lets be asked for beside it. */
import { type Fetch, type ListenOptions, notFound, Server } from './server.ts'

/** What a registry of prom-client is to this server. */
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
 * Serves a registry. Nobody is asked who he is: what is listened to on more than loopback is open to all who can reach it, as in
 * controller-runtime by default. A NetworkPolicy, or a proxy that knows its callers, goes before it.
 */
export class MetricsServer extends Server {
  readonly #registry: ScrapeSource
  readonly #handlers = new Map<string, Fetch>()

  /** Throws a TypeError for an address that is none. */
  constructor(options: MetricsServerOptions) {
    super({ ...options, name: 'metrics', fetch: (request) => this.fetch(request) })
    this.#registry = options.registry
  }

  /**
   * Serves another path; one that ends with a slash serves all below it, too.
   * Throws for `/metrics`, for a path that is taken, for what is no path, and after the start.
   */
  handle(path: string, fetch: Fetch): void {
    const cannot = `Cannot serve "${path}" beside the metrics`
    if (this.isStarted) throw new Error(`${cannot}: the server was started already`)
    if (!/^\/[^?#\s]*$/.test(path)) throw new TypeError(`${cannot}: a path begins with a slash and has no query`)
    if (path === METRICS) throw new Error(`${cannot}: that is where the metrics are`)
    if (this.#handlers.has(path)) throw new Error(`${cannot}: it is taken`)
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

  /** The handler of the path itself, or of the longest path above it. */
  #handlerOf(path: string): Fetch | undefined {
    const above = [...this.#handlers.keys()].filter((each) => each.endsWith('/') && path.startsWith(each))
    const longest = above.sort((a, b) => b.length - a.length)[0] ?? ''
    return this.#handlers.get(path) ?? this.#handlers.get(longest)
  }
}
