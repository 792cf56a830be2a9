/** Serves the API server's webhooks over TLS, on every replica. */
import { ConfigError, messageOf } from '../core/errors.ts'
import { printable } from '../core/printable.ts'
import type { Runnable } from '../core/runnable.ts'
import { aborted, type AbortScope, abortScope, untilAborted } from '../async/abort.ts'
import { type Clock, pause, systemClock, within } from '../async/clock.ts'
import { Latch } from '../async/latch.ts'
import { Timeouts } from '../async/timeouts.ts'
import { type Log, RateLimitedLog, safeLog } from '../observe/log.ts'
import { BodyLimits } from '../runtime/net/body_limits.ts'
import { callFetch } from '../runtime/net/http_server.ts'
import { dialTls, type HttpsServer, serveHttps } from '../runtime/net/https_server.ts'
import type { BodyRefusal, RequestHead, ServerRequest, ServerResponse } from '../runtime/net/server_exchange.ts'
import { validityOf } from '../runtime/os/builtins.ts'
import { WEBHOOK_PORT } from './defaults.ts'
import { followCaFile } from './file_certificates.ts'
import type { CertificatePair, CertificateSource, WebhookHandler, WebhookResponse } from './handler.ts'
import type { PathMetrics, WebhookMeter, WebhookMetrics } from './metrics.ts'
import { Validity } from './validity.ts'
import { MAX_TREE_BYTES, treeBytes, TreeLimits } from './tree_limits.ts'
import { Call, pathOf, responseOf, textResponse, timeoutOf } from './webhook_request.ts'

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
/** The maximum `timeoutSeconds` of a webhook: later, the API server has given up. */
const MAX_REVIEW_MS = 30_000
const BODY_TIMEOUT_MS = MAX_REVIEW_MS
const DIAL_TIMEOUT_MS = 10_000
const SHUTDOWN_TIMEOUT_MS = 10_000

/** A call of the Fetch API. */
export type WebhookFetch = (request: Request) => Response | Promise<Response>

export interface WebhookServerOptions {
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
  /** How long open requests may take after a stop; then they are aborted. Default: 10,000. */
  readonly shutdownTimeoutMs?: number | undefined
  /** The maximum size of a request body. Default: 20 MiB. */
  readonly maxBodyBytes?: number | undefined
  /** The maximum size of all bodies of open requests together. Default: 48 MiB. */
  readonly maxHeldBytes?: number | undefined
  /** How long a request body may take. Default: 30,000. */
  readonly bodyTimeoutMs?: number | undefined
  /** Default: none. */
  readonly meter?: WebhookMeter | undefined
  /** Default: the real clock. */
  readonly clock?: Clock | undefined
  /** Default: none. */
  readonly log?: Log | undefined
}

export interface PathOptions {
  /** What the path is for, in logs: `default of Site`. Default: the path. */
  readonly name?: string | undefined
  /** Default: `admission`. */
  readonly protocol?: 'admission' | 'conversion' | undefined
  /**
   * Whether clients must present a certificate of the client CA, if there is one. The API server never presents one
   * with a conversion. Default: `required`, for conversions `ignored`.
   */
  readonly clientCertificate?: 'required' | 'ignored' | undefined
}

/** What is served at a path. */
interface Route {
  readonly name: string
  /** Undefined: all. */
  readonly method: 'POST' | undefined
  readonly needsCertificate: boolean
  readonly answer: (request: ServerRequest) => Promise<ServerResponse>
  readonly metrics: PathMetrics | undefined
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
  readonly #options: WebhookServerOptions
  readonly #clock: Clock
  readonly #log: Log
  readonly #metrics: WebhookMetrics | undefined
  readonly #validity: Validity
  readonly #routes = new Map<string, Route>()
  /** Opens when the server listens, or failed to. */
  readonly #listening = new Latch<{ readonly error?: unknown }>()
  readonly #clientErrors: RateLimitedLog
  readonly #refusals: RateLimitedLog
  readonly #failures: RateLimitedLog
  /** By their length, which the API server writes in whole seconds up to 30. */
  readonly #timeouts = new Map<number, Timeouts>()
  readonly #trees = new TreeLimits()
  #started = false
  #stoppingMs: number | undefined
  #server: HttpsServer | undefined
  #pair: CertificatePair | undefined
  #clientCa: string | undefined

  constructor(options: WebhookServerOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#log = safeLog(options.log)
    this.#metrics = options.meter?.webhooks()
    this.#validity = new Validity(this.#clock, this.#log, options.meter?.certificates('webhooks'))
    this.#clientErrors = new RateLimitedLog(this.#clock)
    this.#refusals = new RateLimitedLog(this.#clock)
    this.#failures = new RateLimitedLog(this.#clock)
  }

  /** The port; undefined until the server listens. */
  get port(): number | undefined {
    return this.#server?.port
  }

  /** The paths that are served. */
  get paths(): readonly string[] {
    return [...this.#routes.keys()]
  }

  /**
   * Serves reviews at a path, also after the start. The handler's signal is aborted at the `timeout` in the request's
   * query, which the API server sends, and the client then gets a 504.
   *
   * @throws TypeError if the path is not segments of letters, digits, `-` and `_` after slashes; Error if the path is
   * taken.
   */
  handle(path: string, handler: WebhookHandler, options: PathOptions = {}): void {
    const { protocol = 'admission' } = options
    const name = options.name ?? path
    this.#add(path, 'POST', options, async (request) => {
      const response = await this.#review(name, handler, request)
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
    this.#add(path, undefined, options, async (request) => {
      const timeoutMs = timeoutOf(request.path)
      if (timeoutMs === undefined) return await callFetch(fetch, request, 'https')
      const late = (): Error => new Error(`The request's timeout of ${timeoutMs} ms has passed`)
      return await within(this.#clock, timeoutMs, late, async (signal) => {
        const { method, path, headers, isTrusted, body } = request
        const limited: ServerRequest = { method, path, headers, isTrusted, body, signal }
        return await untilAborted(callFetch(fetch, limited, 'https'), signal)
      }, request.signal)
    })
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
      this.#stoppingMs = this.#clock.monotonic()
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
    await within(this.#clock, DIAL_TIMEOUT_MS, late, async (within) => {
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
      const options = { file: clientCa.file, parse: checkCa, clock: this.#clock, log: this.#log }
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
      this.#log.info('Serving webhooks with a new certificate', { notAfter })
    }
  }

  async #listen(pair: CertificatePair): Promise<HttpsServer> {
    const { host, port = WEBHOOK_PORT, maxBodyBytes = MAX_BODY_BYTES, maxHeldBytes = MAX_HELD_BYTES } = this.#options
    const { bodyTimeoutMs = BODY_TIMEOUT_MS } = this.#options
    const clientCa = this.#clientCa
    const server = await serveHttps({
      ...pair,
      ...{ host, port, clientCa, maxBodyBytes, clock: this.#clock, maxStreams: MAX_STREAMS },
      idleTimeoutMs: IDLE_TIMEOUT_MS,
      headerTimeoutMs: HEADER_TIMEOUT_MS,
      bodyLimits: new BodyLimits({ clock: this.#clock, timeoutMs: bodyTimeoutMs, maxHeldBytes }),
      refuse: (head) => this.#refuse(head),
      refuseBody: (why, head) => this.#refuseBody(why, head),
      handle: (request) => this.#answer(request),
      onError: (error) => this.#failed('A webhook failed', error),
      onClientError: (error) => this.#clientFailed(error),
    }).catch((cause: unknown) => {
      throw listenError(cause, `on ${host ?? 'all interfaces'}, port ${port}`)
    })
    // Replaced while the server began to listen.
    if (this.#pair !== pair || this.#clientCa !== clientCa) {
      server.setCertificate(this.#pair!.cert, this.#pair!.key, this.#clientCa)
    }
    this.#server = server
    const { host: bound } = server
    this.#log.info(`Serving webhooks on ${bound.includes(':') ? `[${bound}]` : bound}:${server.port}`)
    this.#listening.open({})
    return server
  }

  /** After a failure the process ends at once, and nothing else of it would be served. */
  async #delayShutdown(): Promise<void> {
    const { shutdownDelayMs = 0 } = this.#options
    if (this.#stoppingMs === undefined) return
    const leftMs = this.#stoppingMs + shutdownDelayMs - this.#clock.monotonic()
    if (leftMs > 0) await pause(this.#clock, leftMs, new AbortController().signal)
  }

  async #close(server: HttpsServer): Promise<void> {
    const { shutdownTimeoutMs = SHUTDOWN_TIMEOUT_MS } = this.#options
    const deadline = abortScope()
    const stop = this.#clock.after(shutdownTimeoutMs, () => deadline.abort(new Error('The shutdown timeout is over')))
    try {
      await server.close(deadline.signal)
    } finally {
      stop()
      for (const timeouts of this.#timeouts.values()) timeouts.close()
    }
  }

  #add(path: string, method: 'POST' | undefined, options: PathOptions, answer: Route['answer']): void {
    const { name = path, protocol = 'admission' } = options
    const { clientCertificate = protocol === 'conversion' ? 'ignored' : 'required' } = options
    if (!PATH.test(path)) {
      throw new TypeError(
        `Cannot serve a webhook at "${path}": write a path such as "/validate-site", with letters, digits, "-" and ` +
          '"_" between slashes',
      )
    }
    if (this.#routes.has(path)) {
      throw new Error(`Cannot serve a webhook at "${path}": the path is taken; choose another path`)
    }
    const needsCertificate = this.#options.clientCa !== undefined && clientCertificate === 'required'
    this.#routes.set(path, { name, method, needsCertificate, answer, metrics: this.#metrics?.path(path) })
  }

  #refuse(head: RequestHead): ServerResponse | undefined {
    const route = this.#routes.get(pathOf(head.path))
    if (!route) return this.#refused(head, 404, 'No webhook is served at this path', undefined)
    if (route.method && head.method !== route.method) {
      const response = this.#refused(head, 405, 'A webhook is called with POST', route)
      return { ...response, headers: { ...response.headers, allow: 'POST' } }
    }
    if (!route.needsCertificate || head.isTrusted) return undefined
    const why = 'The client must present a certificate of the CA that this webhook is configured with (clientCa); ' +
      "set it in the kubeConfigFile of the API server's --admission-control-config-file"
    return this.#refused(head, 403, why, route)
  }

  #refuseBody(why: BodyRefusal, head: RequestHead): ServerResponse {
    const { maxBodyBytes = MAX_BODY_BYTES, bodyTimeoutMs = BODY_TIMEOUT_MS } = this.#options
    const route = this.#routes.get(pathOf(head.path))
    if (why === 'too large') return this.#refused(head, 413, `The body has more than ${maxBodyBytes} bytes`, route)
    if (why === 'too slow') {
      return this.#refused(head, 408, `The body was not complete after ${bodyTimeoutMs / 1000} s`, route)
    }
    return this.#tooMany(head, route)
  }

  #tooMany(head: RequestHead, route: Route | undefined): ServerResponse {
    const response = this.#refused(head, 429, 'Too many bytes of other requests are held; try again', route)
    // The API server tries again within the webhook's timeout.
    return { ...response, headers: { ...response.headers, 'retry-after': '1' } }
  }

  #refused(head: RequestHead, status: number, why: string, route: Route | undefined): ServerResponse {
    route?.metrics?.requests(status).inc()
    this.#refusals.line((more) => {
      const path = printable(pathOf(head.path)).slice(0, 200)
      this.#log.warn(`Refused a request to a webhook: ${why}${more}`, { path, method: head.method, status })
    })
    return textResponse(status, why)
  }

  async #answer(request: ServerRequest): Promise<ServerResponse> {
    const { answer, metrics } = this.#routes.get(pathOf(request.path))!
    const beganMs = this.#clock.monotonic()
    metrics?.inFlight.inc()
    let status = 500
    try {
      const response = await this.#inTurn(answer, request)
      status = response.status
      return response
    } finally {
      metrics?.inFlight.dec()
      metrics?.latency.observe((this.#clock.monotonic() - beganMs) / 1000)
      metrics?.requests(status).inc()
    }
  }

  /** Answers a request when there is memory for the values of its body. */
  async #inTurn(answer: Route['answer'], request: ServerRequest): Promise<ServerResponse> {
    const end = await this.#trees.enter(treeBytes(request.body), request.signal)
    if (end === 'too many') return this.#tooMany(request, undefined)
    if (end === 'too large') {
      const why = `The body has so many values that they take more than ${MAX_TREE_BYTES / 2 ** 20} MiB`
      return this.#refused(request, 413, why, undefined)
    }
    try {
      return await answer(request)
    } finally {
      end()
    }
  }

  /** Calls a handler until it responds or the request's timeout passes. Never rejects. */
  #review(name: string, handler: WebhookHandler, request: ServerRequest): Promise<WebhookResponse> {
    const call = new Call(request)
    // Others than the API server may state a longer one, or none, and hold the place of other reviews.
    const timeoutMs = Math.min(timeoutOf(request.path) ?? MAX_REVIEW_MS, MAX_REVIEW_MS)
    return new Promise((resolve) => {
      const stop = this.#after(timeoutMs, () => {
        const why = `The webhook did not respond within the timeout of ${timeoutMs / 1000} s`
        call.abort(new Error(why))
        this.#refusals.line((more) => this.#log.warn(`${why}${more}`, { webhook: name }))
        resolve({ status: 504, body: why })
      })
      const finish = (response: WebhookResponse): void => {
        stop()
        resolve(response)
      }
      const fail = (error: unknown): void => {
        this.#failed(`The webhook "${name}" failed`, error)
        finish({ status: 500, body: 'The webhook failed; see its log', failed: true })
      }
      try {
        handler(call).then(finish, fail)
      } catch (error) {
        fail(error)
      }
    })
  }

  /** Requests with the same timeout share a timer. */
  #after(ms: number, onDue: () => void): () => void {
    if (ms % 1000 !== 0 || ms > MAX_REVIEW_MS) return this.#clock.after(ms, onDue)
    let timeouts = this.#timeouts.get(ms)
    if (!timeouts) this.#timeouts.set(ms, timeouts = new Timeouts(this.#clock, ms))
    return timeouts.begin(onDue)
  }

  #failed(what: string, error: unknown): void {
    this.#failures.line((more) => this.#log.error(`${what}: ${messageOf(error)}${more}`, { error }))
  }

  /** Reports a client that could not connect. Probes that only open a connection are not reported. */
  #clientFailed(error: Error & { readonly code?: string }): void {
    if (error.code === 'ECONNRESET' || error.code === 'EPIPE') return
    this.#clientErrors.line((more) => {
      const hint = /alert|ALERT|unknown.?ca|certificate/i.test(`${error.code} ${error.message}`)
        ? "; check the caBundle of the webhook configurations and of the CRDs' conversion"
        : ''
      this.#log.warn(`A client of the webhooks could not connect, or did not speak TLS and HTTP${hint}${more}`, {
        error: printable(error.code ?? error.message).slice(0, 200),
      })
    })
  }
}

/** As in controller-runtime, without its path "/". */
const PATH = /^(?:\/[a-zA-Z0-9_-]+)+$/

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
