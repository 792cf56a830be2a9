/**
 * Sends one request on one connection and returns its response.
 *
 * The request is held back until the connection and its TLS session are open. Until then nothing of it can have reached
 * the server, and `beforeSend` may still refuse it.
 */
import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Clock } from '../../async/clock.ts'
import { deadline } from '../../async/deadline.ts'
import { NetworkError } from '../../core/errors.ts'
import { type HttpRequest, type HttpResponse, mayPause } from '../../core/transport.ts'
import type { TunnelRequest } from './tunnel.ts'
import { builtins } from '../os/builtins.ts'
import { type OpenBody, openBody } from './http_body.ts'
import { codeOf, networkError, type Phase } from './network_error.ts'
import type { ServerAddress } from './address.ts'

export interface ExchangeOptions {
  readonly request: HttpRequest
  readonly headers: Record<string, string | string[]>
  readonly address: ServerAddress
  readonly agent: Agent
  readonly clock: Clock
  /** How long opening a connection may take. */
  readonly connectTimeoutMs: number
  /** How long the server may send nothing: before the head of the response, and before each part of its body. */
  readonly answerTimeoutMs: number
  /**
   * Called at most once, if the server was silent on an open connection until our deadline, or for {@link SILENT_MS} at
   * a timeout of the caller.
   */
  readonly onSilence: () => void
  /** Called once, when no more bytes can be sent or received. */
  readonly onEnd: () => void
}

/** How one attempt ended. */
type ExchangeResult =
  | { readonly kind: 'answered'; readonly response: HttpResponse }
  /** The server had closed a kept connection. `sent`: the request may still have reached it. */
  | { readonly kind: 'stale'; readonly sent: boolean; readonly error: NetworkError }

/** An attempt in progress. */
export interface Exchange {
  /** Rejects with a NetworkError, the signal's reason, or what `beforeSend` threw. */
  readonly result: Promise<ExchangeResult>
  /** Ends the request, or its response body, with this error. */
  abort(reason: unknown): void
}

/** The min silence after which a caller's timeout counts against the server: a run may end just after its request. */
const SILENT_MS = 1000

export function exchange(options: ExchangeOptions): Exchange {
  const { request, headers, address, agent, clock } = options
  const { signal } = request
  const isEndless = mayPause(request.path)
  const { promise: result, resolve, reject } = Promise.withResolvers<ExchangeResult>()
  let phase: Phase = 'connect'
  let body: OpenBody | undefined
  /** Set when it was aborted from this side. Later errors of the socket are consequences of that. */
  let abortedBy: { readonly reason: unknown } | undefined
  let isOver = false
  /** Whether the connection had served another request before. */
  let isKept = false
  /** When the request or the last part of its answer was on the connection. */
  let heardMs = clock.monotonic()
  /** Set while a tunnel is opened: the agent is not notified when its request ends. */
  let cancelTunnel: (() => void) | undefined

  const target: RequestOptions & TunnelRequest = {
    host: address.host,
    port: address.port,
    method: request.method,
    path: address.prefix + request.path,
    headers,
    agent,
    onTunnel: (cancel) => (cancelTunnel = cancel),
  }
  const client = open()
  const due = deadline(clock, options.connectTimeoutMs, (ms) => {
    if (body) {
      const message =
        `Cannot read the answer of ${address.authority}: the server stopped in the middle of it and sent ` +
        `nothing for ${ms / 1000} s`
      return fail(new NetworkError(message, { phase, code: 'ETIMEDOUT' }))
    }
    const error = new Error(`it took longer than ${ms / 1000} s`)
    fail(networkError(Object.assign(error, { code: 'ETIMEDOUT' }), phase, address.authority))
  })
  client.once('socket', (socket) => {
    isKept = client.reusedSocket
    // If this is set, Deno itself retries a request on a kept connection, even an aborted one (denoland/deno#36786),
    // and without `beforeSend`.
    client.reusedSocket = false
    whenConnected(socket, () => send(socket))
  })
  client.on('response', answered)
  client.on('error', (error) => fail(error))
  client.on('close', () => body ?? fail(Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })))
  const onAbort = (): void => abort(signal?.reason)
  signal?.addEventListener('abort', onAbort)
  return { result, abort }

  /** Deno throws synchronously if it needs the system's CAs and may not read them. */
  function open(): ClientRequest {
    try {
      return (address.tls ? https : builtins.http()).request(target)
    } catch (error) {
      throw networkError(error, phase, address.authority)
    }
  }

  function send(socket: Socket): void {
    if (isOver) return
    if (isKept && (socket.destroyed || !socket.writable)) {
      return fail(Object.assign(new Error('closed'), { code: 'ECONNRESET' }))
    }
    try {
      request.beforeSend?.()
    } catch (error) {
      return abort(error)
    }
    phase = 'response'
    heard()
    client.end(request.body)
  }

  function answered(answer: IncomingMessage): void {
    if (isOver) return
    phase = 'body'
    if (isEndless && answer.statusCode! < 400) due.cancel()
    else heard()
    const received = plainHeaders(answer)
    const gzip = received['content-encoding'] === 'gzip'
    if (gzip) {
      // They describe the compressed body, not the one that is read.
      delete received['content-encoding']
      delete received['content-length']
    }
    body = openBody(answer, {
      gzip,
      explain: (cause) => (abortedBy ? abortedBy.reason : networkError(cause, 'body', address.authority)),
      hangUp: () => client.destroy(),
      onBytes: heard,
      // The reader is slow, not the server.
      onPause: () => due.set(Infinity),
      onEnd: release,
    })
    resolve({ kind: 'answered', response: { status: answer.statusCode ?? 0, headers: received, body } })
  }

  /** Moves the deadline: the server's silence counts from here. */
  function heard(): void {
    heardMs = clock.monotonic()
    due.set(options.answerTimeoutMs)
  }

  function abort(reason: unknown): void {
    abortedBy ??= { reason }
    fail(reason)
  }

  function fail(cause: unknown): void {
    if (isOver) return
    // This includes the body: the reader of a watch or a page may give up on a silent server.
    if (phase !== 'connect' && isSilence(cause)) options.onSilence()
    if (body) return body.fail(cause)
    release()
    cancelTunnel?.()
    client.destroy()
    if (abortedBy) return reject(abortedBy.reason)
    const error = networkError(cause, phase, address.authority)
    if (isKept && isClosed(cause)) resolve({ kind: 'stale', sent: phase !== 'connect', error })
    else reject(error)
  }

  /**
   * A timeout of the caller, such as a run's, proves nothing by itself: its request may have just begun, and a watch
   * may be without events.
   */
  function isSilence(cause: unknown): boolean {
    if (codeOf(cause) === 'ETIMEDOUT') return true
    return !isEndless && isTimeout(cause) && clock.monotonic() - heardMs >= SILENT_MS
  }

  function release(): void {
    isOver = true
    due.cancel()
    signal?.removeEventListener('abort', onAbort)
    options.onEnd()
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

function plainHeaders(answer: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {}
  const received = answer.headers
  for (const name in received) {
    const value = received[name]
    if (value !== undefined) headers[name] = typeof value === 'string' ? value : value.join(', ')
  }
  return headers
}
