/**
 * Serves HTTP/1.1 and HTTP/2 over TLS on Node, Bun and Deno.
 *
 * Uses http2.createSecureServer with allowHTTP1: on Bun, other servers cannot replace their certificate while they run.
 * On Deno 2.9.6 a client ends the process with a few frames after a GOAWAY, so that servers there have HTTP/1.1 alone,
 * unless only the user's own programs can reach them.
 *
 * @see https://github.com/denoland/deno/issues/36788
 */
import type { Http2SecureServer, SecureServerOptions, ServerHttp2Session } from 'node:http2'
import type { ServerOptions as HttpsOptions } from 'node:https'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { type Clock, systemClock } from '../../async/clock.ts'
import { type Deadline, deadline as newDeadline } from '../../async/deadline.ts'
import { isPair, nodeHttp2, nodeHttps } from '../os/builtins.ts'
import { thisRuntime } from '../os/this_runtime.ts'
import type { ServerParts } from './listen.ts'
import { type ExchangeOptions, type Incoming, MAX_WRITE_BYTES, type Outgoing } from './server_exchange.ts'

export interface HttpsServerOptions extends ExchangeOptions {
  /** Default: all interfaces. */
  readonly host?: string | undefined
  /** 0 means any free port. */
  readonly port: number
  /** In PEM, as the key. */
  readonly cert: string
  readonly key: string
  /**
   * The CAs of clients, in PEM. The server then asks for a client certificate and accepts connections without one: each
   * request says whether its client is trusted. Default: clients are not asked.
   */
  readonly clientCa?: string | undefined
  /** How long a connection may be idle. Default: no limit. */
  readonly idleTimeoutMs?: number | undefined
  /** How long the handshake, and then the head of the first HTTP/1.1 request, may take. Default: the idle timeout. */
  readonly headerTimeoutMs?: number | undefined
  /** How many requests a connection may have open. Default: the runtime's. */
  readonly maxStreams?: number | undefined
  /** A further connection closes the oldest one. Default: no limit. */
  readonly maxConnections?: number | undefined
  /** Default: on, but on Deno. */
  readonly http2?: boolean | undefined
  /** The clock of the timeouts of HTTP/1.1 connections. Default: the real one. */
  readonly clock?: Clock | undefined
  /**
   * Called when a client fails to connect, or sends something that is not HTTP, but not for a connection that its
   * client only closes, as probes do. Default: ignored.
   */
  readonly onClientError?: ((error: Error & { readonly code?: string }) => void) | undefined
}

export interface HttpsServer {
  readonly host: string
  readonly port: number
  /**
   * Uses another certificate, and other CAs of clients, for new connections. Open connections end after their open
   * requests. Throws if the key does not match; the server then keeps the last certificate.
   */
  setCertificate(cert: string, key: string, clientCa?: string): void
  /**
   * Ends each connection after its open requests, or its next response, and answers new ones: for the time until
   * clients connect elsewhere. A client cannot tell whether a request on an idle connection that is closed was handled.
   */
  drain(): void
  /** Stops listening. Aborts open requests at the deadline, or at once. Resolves when all connections are closed. */
  close(deadline?: AbortSignal): Promise<void>
}

/** Starts a server. Rejects if it cannot listen: the port is in use, or the key does not match the certificate. */
export async function serveTls(
  options: HttpsServerOptions,
  { closeServer, listen, newExchanges, trackSockets }: ServerParts,
): Promise<HttpsServer> {
  const { cert, key, clientCa, idleTimeoutMs, headerTimeoutMs, maxStreams, maxConnections = Infinity } = options
  const { http2 = thisRuntime().name !== 'deno' } = options
  checkPair(cert, key)
  const server = createServer(http2, {
    ...secrets(cert, key, clientCa),
    // Judged per request: the API server's conversion calls never carry a certificate.
    ...(clientCa !== undefined && { requestCert: true, rejectUnauthorized: false }),
    ...(headerTimeoutMs !== undefined && { handshakeTimeout: headerTimeoutMs }),
    ...(maxStreams !== undefined && {
      settings: { maxConcurrentStreams: maxStreams },
      // Enough for a write of each stream, and what the runtime buffers with it; in MB.
      maxSessionMemory: Math.max(10, Math.ceil(2 * maxStreams * MAX_WRITE_BYTES / 1e6)),
    }),
    // The runtimes' default, whatever their options and environment say.
    minVersion: 'TLSv1.2',
  })
  const exchanges = newExchanges(options, clientCa === undefined ? undefined : isTrusted)
  const connections: Connections = {
    // Where a runtime emits both events, a connection has two sockets.
    sockets: trackSockets(server, 2 * maxConnections, 'connection', 'secureConnection'),
    sessions: trackSessions(server, idleTimeoutMs),
    ending: new WeakSet(),
    isDraining: false,
    deadlines: trackDeadlines(server, options),
  }
  server.on('request', (request, response) => {
    const incoming = request as unknown as Incoming
    const outgoing = response as unknown as Outgoing
    if (incoming.httpVersionMajor < 2) beginHttp1(incoming, outgoing, connections, idleTimeoutMs)
    exchanges.begin(incoming, outgoing)
  })
  const report = (error: Error & { readonly code?: string }): void => {
    if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') options.onClientError?.(error)
  }
  // Also emitted for failed handshakes. Its listener must end the connection.
  server.on('clientError', (error: Error, socket: TLSSocket) => {
    // Deno also emits it for healthy HTTP/2 connections.
    if (socket.alpnProtocol === 'h2') return
    refuseHttp1(error, socket)
    report(error)
  })
  server.on('tlsClientError', () => {})
  server.on('sessionError', report)

  const { host, port } = await listen(server, options.host, options.port)
  let closing: Promise<void> | undefined
  return {
    host,
    port,
    setCertificate(cert, key, clientCa) {
      checkPair(cert, key)
      server.setSecureContext(secrets(cert, key, clientCa))
      endConnections(connections)
    },
    drain() {
      connections.isDraining = true
      endConnections(connections)
    },
    close(deadline = AbortSignal.abort()) {
      if (!closing) {
        // Before the sessions end: no new connection begins.
        closing = closeServer(server, exchanges, [connections.sessions, connections.sockets], deadline)
        endConnections(connections)
      }
      return closing
    },
  }
}

function createServer(http2: boolean, options: SecureServerOptions): Http2SecureServer {
  if (http2) return nodeHttp2().createSecureServer({ ...options, allowHTTP1: true })
  // What is used of it is the same; it never has a session.
  return nodeHttps().createServer(options as HttpsOptions) as unknown as Http2SecureServer
}

/** Checks the pair early: Deno accepts any pair and then cannot serve; Node and Bun throw later. */
function checkPair(cert: string, key: string): void {
  if (!isPair(cert, key)) {
    throw new TypeError('Cannot serve TLS: the private key does not belong to the certificate')
  }
}

/**
 * The context is replaced as a whole: without `ca` a swap would drop the CAs of clients. Clients that are not asked for
 * a certificate are not judged by it; but without any, Node parses its 150 root certificates, which takes 6 ms.
 */
function secrets(cert: string, key: string, clientCa = cert): { cert: string; key: string; ca: string } {
  return { cert, key, ca: clientCa }
}

/** On Deno, `authorized` is only right if the client was asked for a certificate. */
function isTrusted(request: Incoming): boolean {
  const socket = (request.stream?.session?.socket ?? request.socket) as Partial<TLSSocket> | undefined
  return socket?.authorized === true
}

interface Connections {
  readonly sockets: ReadonlySet<Socket>
  readonly sessions: ReadonlySet<ServerHttp2Session>
  /** Those that close with their next HTTP/1.1 response. */
  readonly ending: WeakSet<object>
  /** Whether all do. */
  isDraining: boolean
  /** The timeouts of HTTP/1.1 connections, which are off while a request is open. */
  readonly deadlines: WeakMap<object, Deadline>
}

function trackSessions(server: Http2SecureServer, idleTimeoutMs: number | undefined): ReadonlySet<ServerHttp2Session> {
  const sessions = new Set<ServerHttp2Session>()
  server.on('session', (session: ServerHttp2Session) => {
    sessions.add(session)
    session.on('close', () => sessions.delete(session))
    session.on('error', () => session.destroy())
    // A close lets open requests finish.
    if (idleTimeoutMs !== undefined) session.setTimeout(idleTimeoutMs, () => session.close())
  })
  return sessions
}

/** Bun has no timeouts of HTTP/1.1 connections on this server, Deno none of a slow head. */
function trackDeadlines(server: Http2SecureServer, options: HttpsServerOptions): WeakMap<object, Deadline> {
  const { idleTimeoutMs, headerTimeoutMs = idleTimeoutMs, clock = systemClock } = options
  const deadlines = new WeakMap<object, Deadline>()
  if (headerTimeoutMs === undefined) return deadlines
  // Otherwise the runtime's own timeouts, where it has them, end connections earlier.
  Object.assign(server, { headersTimeout: 0, requestTimeout: 0, keepAliveTimeout: 0 })
  server.on('secureConnection', (socket: TLSSocket) => {
    if (socket.alpnProtocol === 'h2') return
    const deadline = newDeadline(clock, headerTimeoutMs, () => socket.destroy())
    deadlines.set(socket, deadline)
    socket.on('close', () => deadline.cancel())
  })
  return deadlines
}

/** Suspends the timeout of the connection until the response has ended. */
function beginHttp1(
  request: Incoming,
  response: Outgoing,
  connections: Connections,
  idleTimeoutMs: number | undefined,
): void {
  const { socket } = request
  if (connections.isDraining || connections.ending.has(socket)) response.setHeader('connection', 'close')
  const deadline = connections.deadlines.get(socket)
  if (!deadline) return
  deadline.set(Infinity)
  response.on('close', () => deadline.set(idleTimeoutMs ?? Infinity))
}

/** Answers what is not HTTP, and ends the connection; a client that failed the handshake gets no answer. */
function refuseHttp1(error: Error & { readonly code?: string }, socket: TLSSocket): void {
  const status = error.code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request'
  if (error.code?.startsWith('HPE_') && socket.writable) socket.write(`HTTP/1.1 ${status}\r\nconnection: close\r\n\r\n`)
  socket.destroySoon()
}

/** Ends open connections after their open requests. */
function endConnections({ sockets, sessions, ending }: Connections): void {
  for (const session of [...sessions]) session.close()
  for (const socket of sockets) ending.add(socket)
}
