/** Serves the API server's webhooks over TLS, on every replica. */
import { ConfigError, messageOf } from '../../core/errors.ts'
import type { Runnable } from '../../core/runnable.ts'
import { aborted, type AbortScope, abortScope, untilAborted } from '../../async/abort.ts'
import { pause, within } from '../../async/clock.ts'
import { Latch } from '../../async/latch.ts'
import { environmentOf, type PartEnvironment, type PartOptions } from '../../observe/environment.ts'
import { BodyLimits } from '../../runtime/net/body_limits.ts'
import { dialTls, type HttpsServer, serveHttps } from '../../runtime/net/https_server.ts'
import type { ServerRequest, ServerResponse } from '../../runtime/net/server_exchange.ts'
import { validityOf } from '../../runtime/os/builtins.ts'
import { WEBHOOK_PORT } from './defaults.ts'
import { followCaFile } from '../certificates/file_certificates.ts'
import type { CertificatePair, CertificateSource, WebhookHandler } from '../common/handler.ts'
import type { WebhookMeter, WebhookMetrics } from '../common/metrics.ts'
import { MAX_REVIEW_MS, ReviewCalls, type WebhookFetch } from './review_calls.ts'
import { type PathOptions, type Route, Routes } from './routes.ts'
import { ServerLines } from './server_lines.ts'
import { Validity } from '../certificates/validity.ts'
import { MAX_TREE_BYTES, treeBytes, TreeLimits } from './tree_limits.ts'
import { responseOf } from './webhook_request.ts'

/** As in controller-runtime. */
const HEADER_TIMEOUT_MS = 32_000
/**
 * Longer than the 90 s of the API server, which then ends idle connections, and not the server: over HTTP/1.1 it does
 * not repeat a POST on a connection that the server is closing.
 */
const IDLE_TIMEOUT_MS = 120_000
/** The maximum of Go's servers. A client with more opens another connection. */
const MAX_STREAMS = 250
/**
 * A review may have two objects of 1.5 MiB, the most that etcd stores: the object and its old version. The API server
 * writes `<`, `>` and `&` as six characters.
 */
const MAX_BODY_BYTES = 20 * 1024 * 1024
/** 2 reviews of the maximum size, or 384 of 128 KiB: they may all wait for {@link TreeLimits}. */
const MAX_HELD_BYTES = 48 * 1024 * 1024
const DIAL_TIMEOUT_MS = 10_000
/** How long open requests may take after a stop; then they are aborted. */
const SHUTDOWN_TIMEOUT_MS = 10_000

export interface WebhookServerOptions extends PartOptions {
  /** The interface to listen on. Default: all. */
  readonly host?: string | undefined
  /** 0 means any free port. Default: 9443. */
  readonly port?: number | undefined
  readonly certificates: CertificateSource
  /**
   * The CAs of clients: as PEM, or in a file, which is followed. With them, a path whose `clientCertificate` is
   * `required` answers 403 to other clients. Default: every client is accepted.
   */
  readonly clientCa?: { readonly pem: string } | { readonly file: string } | undefined
  /** How long to serve after `stopping` is aborted: callers go on until they know. Default: 0. */
  readonly shutdownDelayMs?: number | undefined
  /** Aborted when the stop of the operator begins, which may be before this server's. Default: never. */
  readonly stopping?: AbortSignal | undefined
  /** The maximum size of a request body. Default: 20 MiB. */
  readonly maxBodyBytes?: number | undefined
  /** The maximum size of all bodies of open requests together. Default: 48 MiB. */
  readonly maxHeldBytes?: number | undefined
  /** Default: none. */
  readonly meter?: WebhookMeter | undefined
}

/**
 * Serves webhooks from its start to its stop, over HTTP/2 and HTTP/1.1; on Deno over HTTP/1.1 alone.
 *
 * A new certificate is used at once for new connections; open connections end after their open requests.
 */
export class WebhookServer implements Runnable {
  readonly name = 'webhooks'
  readonly role = 'webhook'
  readonly everyReplica = true
  readonly #options: WebhookServerOptions & PartEnvironment
  readonly #metrics: WebhookMetrics | undefined
  readonly #validity: Validity
  readonly #lines: ServerLines
  readonly #routes: Routes
  readonly #calls: ReviewCalls
  /** Opens when the server listens, or failed to. */
  readonly #listening = new Latch<{ readonly error?: unknown }>()
  readonly #trees = new TreeLimits()
  #started = false
  #stoppingMs: number | undefined
  #server: HttpsServer | undefined
  #pair: CertificatePair | undefined
  #clientCa: string | undefined

  constructor(options: WebhookServerOptions) {
    const { clock, log } = environmentOf(options)
    this.#options = { ...options, clock, log }
    this.#metrics = options.meter?.webhooks()
    this.#validity = new Validity(clock, log, options.meter?.certificates('webhooks'))
    this.#lines = new ServerLines(clock, log)
    this.#calls = new ReviewCalls(clock, this.#lines)
    const { maxBodyBytes = MAX_BODY_BYTES, clientCa } = options
    const hasClientCa = clientCa !== undefined
    this.#routes = new Routes({ hasClientCa, maxBodyBytes, metrics: this.#metrics, lines: this.#lines })
  }

  /** The port; undefined until the server listens. */
  get port(): number | undefined {
    return this.#server?.port
  }

  get paths(): readonly string[] {
    return this.#routes.paths
  }

  /**
   * Serves reviews at a path, also after the start. The handler's signal is aborted at the `timeout` in the request's
   * query, which the API server sends, and the client then gets a 504.
   *
   * @throws TypeError if the path is not segments of letters, digits, `-` and `_` after slashes; Error if the path is
   * taken.
   */
  handle(path: string, handler: WebhookHandler, options: PathOptions = {}): void {
    const { name = path, protocol = 'admission' } = options
    this.#routes.add(path, 'POST', options, async (request) => {
      const response = await this.#calls.review(name, handler, request)
      if (response.failed) this.#metrics?.panics[protocol].inc()
      return responseOf(response)
    })
  }

  /**
   * Serves a path with a function of the Fetch API, for webhooks that are no reviews of admission or conversion, such
   * as a token review. If it throws, the client gets an empty 500.
   *
   * @throws TypeError or Error as {@link handle} does.
   */
  handleFetch(path: string, fetch: WebhookFetch, options: PathOptions = {}): void {
    this.#routes.add(path, undefined, options, (request) => this.#calls.fetch(fetch, request))
  }

  /**
   * Serves until the signal is aborted, then waits for open requests. Settles when all connections are closed.
   *
   * @throws ConfigError if there is no certificate or no client CA, or if the port is in use.
   */
  async start(signal: AbortSignal): Promise<void> {
    if (this.#started) throw new Error('Cannot start the webhook server: it was started already')
    this.#started = true
    const scope = abortScope(signal)
    const { stopping } = this.#options
    const note = (): void => {
      this.#stoppingMs = this.#options.clock.monotonic()
      this.#server?.drain()
    }
    stopping?.addEventListener('abort', note, { once: true })
    try {
      await this.#run(scope)
    } catch (error) {
      this.#listening.open({ error })
      throw error
    } finally {
      stopping?.removeEventListener('abort', note)
      scope[Symbol.dispose]()
    }
  }

  /** Resolves when the server answers a TLS handshake. Rejects with the error of a failed start, or after 10 s. */
  async ready(signal: AbortSignal): Promise<void> {
    const listening = await untilAborted(this.#listening.opened, signal)
    if ('error' in listening) throw listening.error
    await this.#dial(signal)
  }

  /**
   * Completes a TLS handshake with the server, for a readiness check. Rejects if that fails, after 10 s, and when the
   * certificate has expired. Logs a warning once a day if it ends soon.
   */
  async check(signal?: AbortSignal): Promise<void> {
    if (this.#server) this.#validity.check()
    await this.#dial(signal)
  }

  async #dial(signal: AbortSignal | undefined): Promise<void> {
    const server = this.#server
    if (!server) throw new Error('The webhook server does not listen yet')
    const doing = `Cannot reach the own webhook server on port ${server.port}`
    const late = (): Error => new Error(`${doing}: no TLS handshake within ${DIAL_TIMEOUT_MS / 1000} s`)
    await within(this.#options.clock, DIAL_TIMEOUT_MS, late, async (within) => {
      try {
        await dialTls(server, within)
      } catch (error) {
        if (within.aborted) throw within.reason
        throw new Error(`${doing}: ${messageOf(error)}`, { cause: error })
      }
    }, signal)
  }

  async #run(scope: AbortScope): Promise<void> {
    const { certificates, clientCa } = this.#options
    const { signal } = scope
    const hasPair = new Latch()
    const hasCa = new Latch()
    const sources = [
      certificates.run((pair) => {
        this.#use(pair, this.#clientCa)
        hasPair.open()
      }, signal),
    ]
    if (!clientCa) hasCa.open()
    else if ('pem' in clientCa) {
      checkCa(clientCa.pem)
      this.#clientCa = clientCa.pem
      hasCa.open()
    } else {
      const options = { ...this.#options, file: clientCa.file, parse: checkCa }
      sources.push(followCaFile(options, (pem) => {
        if (this.#pair) this.#use(this.#pair, pem)
        this.#clientCa = pem
        hasCa.open()
      }, signal))
    }
    // Rejects with the first failure of a source. They end only with the signal.
    const ended = Promise.all(sources)
    try {
      await Promise.race([Promise.all([hasPair.opened, hasCa.opened]), ended])
      if (signal.aborted) return
      const server = await this.#listen(this.#pair!)
      try {
        await Promise.race([aborted(signal), ended])
        await this.#delayShutdown()
      } finally {
        await this.#close(server)
      }
    } finally {
      scope.abort()
      await Promise.allSettled(sources)
    }
    await ended
  }

  /** Throws if the pair cannot be served; the last one then stays in use. */
  #use(pair: CertificatePair, clientCa: string | undefined): void {
    const validity = validityOf(pair.cert)
    this.#server?.setCertificate(pair.cert, pair.key, clientCa)
    const isNew = pair !== this.#pair
    this.#pair = pair
    this.#validity.set(validity, isNew)
    if (this.#server && isNew) {
      const notAfter = new Date(validity.toMs).toISOString()
      this.#options.log.info('Serving webhooks with a new certificate', { notAfter })
    }
  }

  async #listen(pair: CertificatePair): Promise<HttpsServer> {
    const { host, port = WEBHOOK_PORT, maxBodyBytes = MAX_BODY_BYTES, maxHeldBytes = MAX_HELD_BYTES } = this.#options
    const server = await serveHttps({
      ...pair,
      ...{ host, port, clientCa: this.#clientCa, maxBodyBytes, clock: this.#options.clock, maxStreams: MAX_STREAMS },
      idleTimeoutMs: IDLE_TIMEOUT_MS,
      headerTimeoutMs: HEADER_TIMEOUT_MS,
      bodyLimits: new BodyLimits({ clock: this.#options.clock, timeoutMs: MAX_REVIEW_MS, maxHeldBytes }),
      refuse: (head) => this.#routes.refuse(head),
      refuseBody: (why, head) => this.#routes.refuseBody(why, head),
      handle: (request) => this.#answer(request),
      onError: (error) => this.#lines.failed('A webhook failed', error),
      onClientError: (error) => this.#lines.clientFailed(error),
    }).catch((cause: unknown) => {
      throw listenError(cause, `on ${host ?? 'all interfaces'}, port ${port}`)
    })
    // Both can be replaced while the server begins to listen.
    server.setCertificate(this.#pair!.cert, this.#pair!.key, this.#clientCa)
    this.#server = server
    const { host: bound } = server
    this.#options.log.info(`Serving webhooks on ${bound.includes(':') ? `[${bound}]` : bound}:${server.port}`)
    this.#listening.open({})
    return server
  }

  /** After a failure the process ends at once, and nothing else of it would be served. */
  async #delayShutdown(): Promise<void> {
    const { shutdownDelayMs = 0 } = this.#options
    if (this.#stoppingMs === undefined) return
    const leftMs = this.#stoppingMs + shutdownDelayMs - this.#options.clock.monotonic()
    if (leftMs > 0) await pause(this.#options.clock, leftMs, new AbortController().signal)
  }

  async #close(server: HttpsServer): Promise<void> {
    const deadline = abortScope()
    const stop = this.#options.clock.after(
      SHUTDOWN_TIMEOUT_MS,
      () => deadline.abort(new Error('The shutdown timeout is over')),
    )
    try {
      await server.close(deadline.signal)
    } finally {
      stop()
      this.#calls.close()
    }
  }

  async #answer(request: ServerRequest): Promise<ServerResponse> {
    const { answer, metrics } = this.#routes.at(request)!
    const beganMs = this.#options.clock.monotonic()
    metrics?.inFlight.inc()
    let status = 500
    try {
      const response = await this.#inTurn(answer, request)
      status = response.status
      return response
    } finally {
      metrics?.inFlight.dec()
      metrics?.latency.observe((this.#options.clock.monotonic() - beganMs) / 1000)
      metrics?.requests(status).inc()
    }
  }

  /** Answers a request when there is memory for the values of its body. */
  async #inTurn(answer: Route['answer'], request: ServerRequest): Promise<ServerResponse> {
    const end = await this.#trees.enter(treeBytes(request.body), request.signal)
    if (end === 'too many') return this.#routes.tooMany(request)
    if (end === 'too large') {
      const why = `The body has so many values that they take more than ${MAX_TREE_BYTES / 2 ** 20} MiB`
      return this.#routes.refused(request, 413, why)
    }
    try {
      return await answer(request)
    } finally {
      end()
    }
  }
}

function listenError(cause: unknown, where: string): Error {
  const isInUse = (cause as { code?: unknown }).code === 'EADDRINUSE'
  const why = isInUse
    ? 'another process uses the port; stop it, or choose another one with `webhooks: { port: … }`'
    : messageOf(cause)
  const message = `Cannot serve webhooks ${where}: ${why}`
  return cause instanceof ConfigError ? new ConfigError(message, { cause }) : new Error(message, { cause })
}

/** @throws ConfigError if the text has no certificate. */
function checkCa(pem: string): void {
  try {
    validityOf(pem)
  } catch (cause) {
    throw new ConfigError('The CA of the clients of webhooks (clientCa) is not a certificate in PEM', { cause })
  }
}
