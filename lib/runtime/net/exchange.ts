/**
 * Sends one request on one connection and returns its response.
 *
 * The request is held back until the connection and its TLS session are open. Until then nothing of it can have reached
 * the server, and `beforeSend` may still refuse it.
 */
import type { Agent, ClientRequest, RequestOptions } from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Clock } from '../../async/clock.ts'
import { type Deadline, deadline } from '../../async/deadline.ts'
import { NetworkError } from '../../core/errors.ts'
import { type HttpRequest, type HttpResponse, mayPause } from '../../core/transport.ts'
import type { TunnelRequest } from './tunnel.ts'
import { nodeHttp } from '../os/builtins.ts'
import { type Answer, AnswerBody, type BodyOwner } from './http_body.ts'
import { codeOf, networkError, type Phase } from './network_error.ts'
import type { ServerAddress } from './address.ts'

export interface ExchangeOptions {
  readonly request: HttpRequest
  readonly headers: Record<string, string | string[]>
  readonly address: ServerAddress
  readonly agent: Agent
  /** Sends the request by other means than HTTP/1.1. It gets the whole path. */
  readonly sender?: ((path: string, events: SenderEvents) => Sender) | undefined
  readonly clock: Clock
  /** How long opening a connection may take. */
  readonly connectTimeoutMs: number
  /** How long the server may send nothing: before the head of the response, and before each part of its body. */
  readonly answerTimeoutMs: number
  /**
   * Called at most once, if the server was silent on an open connection until our deadline, or for {@link SILENT_MS} at
   * a timeout of the caller. Gets what sent the request.
   */
  readonly onSilence: (sender: Sender) => void
  /** Called once, when no more bytes can be sent or received. */
  readonly onEnd: () => void
}

/** A request before and while it is sent: the parts of a ClientRequest that are used. */
export interface Sender {
  reusedSocket: boolean
  end(body?: string | Uint8Array): unknown
  destroy(): unknown
}

/** What a {@link Sender} reports. */
export interface SenderEvents {
  onSocket(socket: Socket): void
  onAnswer(answer: Answer): void
  onError(error: Error): void
  onClose(): void
}

/** The code of a failure before anything was sent, after which another connection may serve. */
export const NOT_SENT = 'NOT_SENT'

/** How one attempt ended. */
type ExchangeResult =
  | { readonly kind: 'answered'; readonly response: HttpResponse }
  /** The server had closed a kept connection, or takes no more on it. `sent`: the request may have reached it. */
  | { readonly kind: 'stale'; readonly sent: boolean; readonly error: NetworkError }

/** The min silence after which a caller's timeout counts against the server: a run may end just after its request. */
const SILENT_MS = 1000

/** A request that is being sent, and its answer. */
export class Exchange implements SenderEvents, BodyOwner {
  /** Rejects with a NetworkError, the signal's reason, or what `beforeSend` threw. */
  readonly result: Promise<ExchangeResult>
  readonly #options: ExchangeOptions
  readonly #resolve: (result: ExchangeResult) => void
  readonly #reject: (reason: unknown) => void
  readonly #isEndless: boolean
  readonly #client: Sender
  /** Undefined once a watch has begun: it has none, and may last for an hour. */
  #due: Deadline | undefined
  readonly #onAbort = (): void => this.abort(this.#options.request.signal?.reason)
  #phase: Phase = 'connect'
  #body: AnswerBody | undefined
  /** Set when it was aborted from this side. Later errors of the socket are consequences of that. */
  #abortedBy: { readonly reason: unknown } | undefined
  #isOver = false
  /** Whether the connection had served another request before. */
  #isKept = false
  /** When the request or the last part of its answer was on the connection. */
  #heardMs: number
  /** Set while a tunnel is opened: the agent is not notified when its request ends. */
  #cancelTunnel: (() => void) | undefined

  /** Begins to send it. Throws a NetworkError if Deno refuses to read the CAs of the system. */
  constructor(options: ExchangeOptions) {
    const { request, clock } = options
    const { promise, resolve, reject } = Promise.withResolvers<ExchangeResult>()
    this.result = promise
    this.#resolve = resolve
    this.#reject = reject
    this.#options = options
    this.#isEndless = mayPause(request.path)
    this.#heardMs = clock.monotonic()
    this.#client = this.#open()
    this.#due = deadline(clock, options.connectTimeoutMs, (ms) => this.#onDue(ms))
    request.signal?.addEventListener('abort', this.#onAbort)
  }

  /** Ends the request, or its response body, with this error. */
  abort(reason: unknown): void {
    this.#abortedBy ??= { reason }
    this.onError(reason)
  }

  /** Deno throws synchronously if it needs the system's CAs and may not read them. */
  #open(): Sender {
    const { request: { method }, headers, address, agent, sender } = this.#options
    const path = address.prefix + this.#options.request.path
    const target: RequestOptions & TunnelRequest = {
      host: address.host,
      port: address.port,
      method,
      path,
      headers,
      agent,
      onTunnel: (cancel) => (this.#cancelTunnel = cancel),
    }
    let client: ClientRequest
    try {
      if (sender) return sender(path, this)
      client = (address.tls ? https : nodeHttp()).request(target)
    } catch (error) {
      throw networkError(error, this.#phase, address.authority)
    }
    return client
      .once('socket', (socket) => this.onSocket(socket))
      .on('response', (answer) => this.onAnswer(answer))
      .on('error', (error) => this.onError(error))
      .on('close', () => this.onClose())
  }

  onSocket(socket: Socket): void {
    const client = this.#client
    this.#isKept = client.reusedSocket
    // If this is set, Deno itself retries a request on a kept connection, even an aborted one (denoland/deno#36786),
    // and without `beforeSend`.
    client.reusedSocket = false
    whenConnected(socket, () => this.#send(socket))
  }

  #send(socket: Socket): void {
    if (this.#isOver) return
    if (this.#isKept && (socket.destroyed || !socket.writable)) {
      return this.onError(Object.assign(new Error('closed'), { code: 'ECONNRESET' }))
    }
    const { request } = this.#options
    try {
      request.beforeSend?.()
    } catch (error) {
      return this.abort(error)
    }
    this.#phase = 'response'
    this.onBytes()
    this.#client.end(request.body)
  }

  onAnswer(answer: Answer): void {
    if (this.#isOver) return
    this.#phase = 'body'
    if (this.#isEndless && answer.statusCode! < 400) {
      this.#due?.cancel()
      this.#due = undefined
    } else this.onBytes()
    const headers = plainHeaders(answer)
    const gzip = headers['content-encoding'] === 'gzip'
    if (gzip) {
      // They describe the compressed body, not the one that is read.
      delete headers['content-encoding']
      delete headers['content-length']
    }
    const body = this.#body = new AnswerBody(answer, gzip, this)
    this.#resolve({ kind: 'answered', response: { status: answer.statusCode ?? 0, headers, body } })
  }

  /** Moves the deadline: the server's silence counts from here. */
  onBytes(): void {
    this.#heardMs = this.#options.clock.monotonic()
    this.#due?.set(this.#options.answerTimeoutMs)
  }

  /** The reader is slow, not the server. */
  onPause(): void {
    this.#due?.set(Infinity)
  }

  onEnd(): void {
    this.#isOver = true
    this.#due?.cancel()
    this.#options.request.signal?.removeEventListener('abort', this.#onAbort)
    this.#options.onEnd()
  }

  explain(cause: unknown): unknown {
    return this.#abortedBy ? this.#abortedBy.reason : networkError(cause, 'body', this.#options.address.authority)
  }

  hangUp(): void {
    this.#client.destroy()
  }

  onError(cause: unknown): void {
    if (this.#isOver) return
    // This includes the body: the reader of a watch or a page may give up on a silent server.
    if (this.#phase !== 'connect' && this.#isSilence(cause)) this.#options.onSilence(this.#client)
    if (this.#body) return this.#body.fail(cause)
    this.onEnd()
    this.#cancelTunnel?.()
    this.#client.destroy()
    if (this.#abortedBy) return this.#reject(this.#abortedBy.reason)
    const error = networkError(cause, this.#phase, this.#options.address.authority)
    if ((this.#isKept && isClosed(cause)) || codeOf(cause) === NOT_SENT) {
      this.#resolve({ kind: 'stale', sent: this.#phase !== 'connect', error })
    } else this.#reject(error)
  }

  onClose(): void {
    if (!this.#body) this.onError(Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }))
  }

  #onDue(ms: number): void {
    const phase = this.#phase
    const { authority } = this.#options.address
    if (this.#body) {
      const message = `Cannot read the answer of ${authority}: the server stopped in the middle of it and sent ` +
        `nothing for ${ms / 1000} s`
      return this.onError(new NetworkError(message, { phase, code: 'ETIMEDOUT' }))
    }
    const error = new Error(`it took longer than ${ms / 1000} s`)
    this.onError(networkError(Object.assign(error, { code: 'ETIMEDOUT' }), phase, authority))
  }

  /** A timeout of the caller proves nothing: its request may have just begun, and a watch may be without events. */
  #isSilence(cause: unknown): boolean {
    if (codeOf(cause) === 'ETIMEDOUT') return true
    return !this.#isEndless && isTimeout(cause) && this.#options.clock.monotonic() - this.#heardMs >= SILENT_MS
  }
}

/** Calls `connected` when bytes can be sent: at once on a kept connection, after the TLS handshake on a new one. */
function whenConnected(socket: Socket, connected: () => void): void {
  if ((socket as TLSSocket).encrypted) {
    // All three runtimes have `secureConnecting`; Node's types do not.
    if (!(socket as TLSSocket & { readonly secureConnecting?: boolean }).secureConnecting) connected()
    else socket.once('secureConnect', connected)
  } else if (socket.connecting) socket.once('connect', connected)
  else connected()
}

/** Tests for a deadline of the caller, such as one of `AbortSignal.timeout`. */
function isTimeout(cause: unknown): boolean {
  return cause instanceof Error && cause.name === 'TimeoutError'
}

/** Tests whether the server closed the connection. */
function isClosed(cause: unknown): boolean {
  return CLOSED.has(codeOf(cause) ?? '')
}

const CLOSED: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ERR_SOCKET_CLOSED',
  'ERR_STREAM_DESTROYED',
])

function plainHeaders(answer: Answer): Record<string, string> {
  const headers: Record<string, string> = {}
  const received = answer.headers
  for (const name in received) {
    const value = received[name]
    if (value !== undefined) headers[name] = typeof value === 'string' ? value : value.join(', ')
  }
  return headers
}
