/** An HTTP server as a runnable, for health, metrics, profiling and the user's own endpoints. */
import { ConfigError, fileMissing, messageOf } from '../../core/errors.ts'
import type { Runnable } from '../../core/runnable.ts'
import { aborted, abortScope, untilAborted } from '../../async/abort.ts'
import { Latch } from '../../async/latch.ts'
import { environmentOf, type PartOptions } from '../../observe/environment.ts'
import { RateLimitedLog } from '../../observe/log.ts'
import type { HttpServer, HttpServerOptions } from '../../runtime/net/http_server.ts'
import { type ListenAddress, parseAddress } from './address.ts'

/** Answers a request, with the types of the Fetch API. The request's signal is aborted when the client disconnects. */
export type Fetch = (request: Request) => Response | Promise<Response>

export function textResponse(status: number, body: string): Response {
  return new Response(body, {
    status,
    headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
  })
}

export function notFound(): Response {
  return textResponse(404, '404 page not found\n')
}

/** The address of a server, and how it stops. */
export interface ListenOptions extends PartOptions {
  /** A port on 127.0.0.1; `:8080` for all interfaces; `host:8080`. Default: 0, any free port of 127.0.0.1. */
  readonly address?: number | string | undefined
  /** PEM texts. Default: plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined
  /** How long open requests may take after a stop; then they are aborted. Default: 10 s. */
  readonly shutdownTimeoutMs?: number | undefined
}

/** Options of {@link Server}. */
export interface ServerOptions extends ListenOptions {
  /** The name in logs and errors. */
  readonly name: string
  /** A throw or a rejection is logged, and answered with 500 without the reason. */
  readonly fetch: Fetch
  /** Whether to serve on every replica; false: only on the leader. Default: true. */
  readonly everyReplica?: boolean | undefined
  /**
   * A longer body is answered with 413; 0: no body is read. The body is read completely before `fetch` is called,
   * within 30 s. All bodies together hold at most four times as much. Default: 4 MiB.
   */
  readonly maxBodyBytes?: number | undefined
  /** A further connection closes the oldest one. Default: 512. */
  readonly maxConnections?: number | undefined
}

/** Starts to listen. The signal is that of the server's start. */
export type Listen = (options: HttpServerOptions, signal: AbortSignal) => Promise<HttpServer>

/**
 * Serves HTTP from its start to its stop. It is ready when it listens; its start rejects if the port is in use.
 *
 * @example
 * ```ts
 * import { Server } from 'kubeloop'
 * const hello = new Server({ name: 'hello', address: 8080, fetch: () => new Response('hello') })
 * ```
 */
export class Server implements Runnable {
  readonly name: string
  readonly role = 'server'
  readonly everyReplica: boolean
  readonly #options: ServerOptions
  readonly #address: ListenAddress
  /** Opens when the server listens, or failed to. */
  readonly #listening = new Latch<{ readonly error?: unknown }>()
  #started = false
  #server: HttpServer | undefined

  /** @throws TypeError if the address is invalid. */
  constructor(options: ServerOptions) {
    this.name = options.name
    this.everyReplica = options.everyReplica ?? true
    this.#options = options
    this.#address = parseAddress(options.address ?? 0)
  }

  /** Answers a request without the network, for tests. Throws what the given `fetch` throws. */
  fetch(request: Request): Response | Promise<Response> {
    return this.#options.fetch(request)
  }

  /** Whether {@link start} was called. */
  get isStarted(): boolean {
    return this.#started
  }

  /** The port; undefined until the server listens. */
  get port(): number | undefined {
    return this.#server?.port
  }

  /** Listens until the signal is aborted, then waits for open requests. Settles when all connections are closed. */
  async start(signal: AbortSignal): Promise<void> {
    // Not a public option: how the operator's metrics are served with a certificate.
    const { listen = listenLater } = this.#options as { readonly listen?: Listen }
    const { name, tls, shutdownTimeoutMs = 10_000 } = this.#options
    const { maxBodyBytes = 4 * 1024 * 1024, maxConnections = 512 } = this.#options
    const { clock, log } = environmentOf(this.#options)
    if (this.#started) throw new Error(`Cannot start the server "${name}": it was started already`)
    this.#started = true
    let server: HttpServer
    try {
      const limitedLog = new RateLimitedLog(clock, log)
      const onError = (error: unknown): void =>
        limitedLog.error(`The server "${name}" could not answer a request: ${messageOf(error)}`, { error })
      const fetch: Fetch = (request) => this.#options.fetch(request)
      server = await listen({ ...this.#address, tls, maxBodyBytes, maxConnections, clock, fetch, onError }, signal)
    } catch (cause) {
      if (signal.aborted && cause === signal.reason) return this.#listening.open({ error: cause })
      const message = `Cannot start the server "${name}": ${messageOf(cause)}`
      const error = cause instanceof ConfigError ? new ConfigError(message, { cause }) : new Error(message, { cause })
      this.#listening.open({ error })
      throw error
    }
    this.#server = server
    log.info(`Serving ${name} on ${server.host.includes(':') ? `[${server.host}]` : server.host}:${server.port}`)
    this.#listening.open({})
    await aborted(signal)
    const scope = abortScope()
    const stopTimer = clock.after(shutdownTimeoutMs, () => scope.abort(new Error('the shutdown timeout is over')))
    try {
      await server.close(scope.signal)
    } finally {
      stopTimer()
    }
  }

  /** Resolves when the server listens. Rejects with the error of a failed start. */
  async ready(signal: AbortSignal): Promise<void> {
    const listening = await untilAborted(this.#listening.opened, signal)
    if ('error' in listening) throw listening.error
  }
}

/** Loads the HTTP server, which an operator without servers does not need. */
async function listenLater(options: HttpServerOptions): Promise<HttpServer> {
  const { serveHttp } = await import('../../runtime/net/http_server.ts').catch(fileMissing('serve HTTP', 'http.js'))
  return await serveHttp(options)
}
