/**
 * A TLS server for HTTP/1.1 and HTTP/2, the same on Node, Bun and Deno.
 *
 * It is http2.createSecureServer with allowHTTP1 on all three: the only server of theirs whose certificate can be
 * replaced while it runs on Bun as well.
 */
import type { Http2SecureServer, Http2ServerRequest, Http2ServerResponse, ServerHttp2Session } from 'node:http2'
import type { Socket } from 'node:net'
import { untilAborted } from '../../async/abort.ts'
import { builtins } from '../os/builtins.ts'
import { isPair } from './key_pair.ts'
import { listen, trackSockets } from './listen.ts'
import { type ExchangeOptions, type Exchanges, type Incoming, newExchanges, type Outgoing } from './server_exchange.ts'

export type { ServerRequest, ServerResponse } from './server_exchange.ts'

export interface HttpsServerOptions extends ExchangeOptions {
  /** Default: all interfaces. */
  readonly host?: string | undefined
  /** 0 is any free port. */
  readonly port: number
  /** PEM. */
  readonly cert: string
  readonly key: string
  /** How long a connection may be idle. Default: for ever. */
  readonly idleTimeoutMs?: number | undefined
  /** How long the head of a request may take, on HTTP/1.1. Default: 60 s. */
  readonly headerTimeoutMs?: number | undefined
}

export interface HttpsServer {
  readonly host: string
  readonly port: number
  /** Serves another certificate from the next connection on. Throws when the key is not the certificate's. */
  setCertificate(cert: string, key: string): void
  /**
   * Stops listening and resolves when all connections are gone. Open requests are aborted: at once, or when `deadline` is,
   * and are let run until then.
   */
  close(deadline?: AbortSignal): Promise<void>
}

/** Listens. Rejects when it cannot: the port is taken, the key is not the certificate's. */
export async function serveHttps(options: HttpsServerOptions): Promise<HttpsServer> {
  const { idleTimeoutMs, headerTimeoutMs } = options
  checkPair(options.cert, options.key)
  const server = builtins.http2().createSecureServer({ cert: options.cert, key: options.key, allowHTTP1: true })
  const exchanges = newExchanges(options)
  const connections = {
    sockets: trackSockets(server, 'connection', 'secureConnection'),
    sessions: trackSessions(server, idleTimeoutMs),
  }
  // Where allowHTTP1 is on, the server has these of a node:http server.
  if (headerTimeoutMs !== undefined) Object.assign(server, { headersTimeout: headerTimeoutMs })
  if (idleTimeoutMs !== undefined) Object.assign(server, { keepAliveTimeout: idleTimeoutMs })

  server.on('request', (request: Http2ServerRequest, response: Http2ServerResponse) => {
    exchanges.begin(request as unknown as Incoming, response as unknown as Outgoing)
  })
  // A client that does not speak TLS, or does not trust us: his trouble, and his to report.
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

/** Deno takes any pair and then cannot serve; Node and Bun throw later. */
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
    // A close lets what is being answered end.
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
