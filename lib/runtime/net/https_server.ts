/**
 * Serves HTTP/1.1 and HTTP/2 over TLS, the same on Node, Bun and Deno.
 *
 * Uses http2.createSecureServer with allowHTTP1: on Bun, other servers cannot replace their certificate while they run.
 */
import type { Http2SecureServer, Http2ServerRequest, Http2ServerResponse, ServerHttp2Session } from 'node:http2'
import type { Socket } from 'node:net'
import { untilAborted } from '../../async/abort.ts'
import { builtins, isPair } from '../os/builtins.ts'
import { listen, trackSockets } from './listen.ts'
import { type ExchangeOptions, type Exchanges, type Incoming, newExchanges, type Outgoing } from './server_exchange.ts'

export type { ServerRequest, ServerResponse } from './server_exchange.ts'

export interface HttpsServerOptions extends ExchangeOptions {
  /** Default: all interfaces. */
  readonly host?: string | undefined
  /** 0 means any free port. */
  readonly port: number
  /** In PEM, as the key. */
  readonly cert: string
  readonly key: string
  /** How long a connection may be idle. Default: no limit. */
  readonly idleTimeoutMs?: number | undefined
  /** How long the head of an HTTP/1.1 request may take. Default: 60 s. */
  readonly headerTimeoutMs?: number | undefined
}

export interface HttpsServer {
  readonly host: string
  readonly port: number
  /** Uses another certificate for new connections. Throws if the key does not match. */
  setCertificate(cert: string, key: string): void
  /**
   * Stops listening. Aborts open requests at the deadline; at once without one. Resolves when all connections are
   * closed.
   */
  close(deadline?: AbortSignal): Promise<void>
}

/** Starts a server. Rejects if it cannot listen: the port is in use, or the key does not match the certificate. */
export async function serveHttps(options: HttpsServerOptions): Promise<HttpsServer> {
  const { idleTimeoutMs, headerTimeoutMs } = options
  checkPair(options.cert, options.key)
  const server = builtins.http2().createSecureServer({ cert: options.cert, key: options.key, allowHTTP1: true })
  const exchanges = newExchanges(options)
  const connections = {
    sockets: trackSockets(server, 'connection', 'secureConnection'),
    sessions: trackSessions(server, idleTimeoutMs),
  }
  // With allowHTTP1 the server has these properties of a node:http server.
  if (headerTimeoutMs !== undefined) Object.assign(server, { headersTimeout: headerTimeoutMs })
  if (idleTimeoutMs !== undefined) Object.assign(server, { keepAliveTimeout: idleTimeoutMs })

  server.on('request', (request: Http2ServerRequest, response: Http2ServerResponse) => {
    exchanges.begin(request as unknown as Incoming, response as unknown as Outgoing)
  })
  // A client that does not speak TLS or does not trust the certificate reports that itself.
  server.on('tlsClientError', () => {})
  server.on('sessionError', () => {})

  const { host, port } = await listen(server, options.host, options.port)
  let closing: Promise<void> | undefined
  return {
    host,
    port,
    setCertificate(cert, key) {
      checkPair(cert, key)
      server.setSecureContext({ cert, key })
    },
    close: (deadline) => (closing ??= closeServer(server, exchanges, connections, deadline)),
  }
}

/** Checks the pair early: Deno accepts any pair and then cannot serve; Node and Bun throw later. */
function checkPair(cert: string, key: string): void {
  if (!isPair(cert, key)) {
    throw new TypeError('Cannot serve TLS: the private key does not belong to the certificate')
  }
}

interface Connections {
  readonly sockets: ReadonlySet<Socket>
  readonly sessions: ReadonlySet<ServerHttp2Session>
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

async function closeServer(
  server: Http2SecureServer,
  exchanges: Exchanges,
  connections: Connections,
  deadline: AbortSignal | undefined,
): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  if (deadline) await untilAborted(exchanges.settled(), deadline).catch(() => {})
  exchanges.abort()
  await exchanges.settled()
  for (const session of [...connections.sessions]) session.destroy()
  for (const socket of [...connections.sockets]) socket.destroy()
  await closed
}
