/** Starts servers on loopback for the transport's tests. */
import assert from 'node:assert/strict'
import http from 'node:http'
import https from 'node:https'
import net, { type AddressInfo } from 'node:net'
import { rejectOnAbort } from '../../lib/async/abort.ts'
import { systemClock, within } from '../../lib/async/clock.ts'
import type { ClusterConfig } from '../../lib/core/cluster_config.ts'
import { NetworkError } from '../../lib/core/errors.ts'
import type { HttpRequest, Transport } from '../../lib/core/transport.ts'
import { type Authority, createAuthority, type IssuedCertificate } from '../../lib/runtime/net/certificates.ts'
import { type ClosableTransport, httpTransport, type TransportOptions } from '../../lib/runtime/net/transport.ts'
import { test } from 'node:test'

export type Handler = (request: http.IncomingMessage, response: http.ServerResponse, body: string) => void

/** A server that counts its connections. */
export interface TestServer {
  readonly port: number
  readonly url: string
  connections(): number
  /** Closes the open connections, as a restart does. */
  dropConnections(): void
  closedConnections(count: number): Promise<void>
  close(): Promise<void>
}

let shared: Promise<{ authority: Authority; server: IssuedCertificate }> | undefined

/** Returns one authority and server certificate for all tests of a file, because creating keys is slow. */
export function certificates(): Promise<{ authority: Authority; server: IssuedCertificate }> {
  shared ??= (async () => {
    const authority = await createAuthority()
    const server = await authority.issue({
      commonName: 'api',
      dnsNames: ['localhost', 'api.test'],
      ipAddresses: ['127.0.0.1'],
      usage: 'server',
    })
    return { authority, server }
  })()
  return shared
}

/** Starts an https server, by default with the shared certificate. */
export async function serveTls(handler: Handler, options: https.ServerOptions = {}): Promise<TestServer> {
  const { server } = await certificates()
  const { cert, key } = server
  return listen(https.createServer({ cert, key, ...options }, withBody(handler)), 'https')
}

export function servePlain(handler: Handler): Promise<TestServer> {
  return listen(http.createServer(withBody(handler)), 'http')
}

export function serveBytes(onSocket: (socket: net.Socket) => void): Promise<TestServer> {
  return listen(net.createServer(onSocket), 'http')
}

/**
 * Starts a proxy that supports CONNECT and records its requests. `answer` returns the status; 0 means no response.
 * `staysOpen`: a refusal leaves the connection open.
 */
async function serveProxy(
  options: { tls?: IssuedCertificate; answer?: (request: http.IncomingMessage) => number; staysOpen?: boolean } = {},
): Promise<TestServer & { asked: http.IncomingMessage[] }> {
  const asked: http.IncomingMessage[] = []
  const server = options.tls ? https.createServer(options.tls) : http.createServer()
  server.on('connect', (request: http.IncomingMessage, socket: net.Socket, head: Uint8Array) => {
    asked.push(request)
    const status = options.answer?.(request) ?? 200
    // Without reading, it would not receive the end of the stream.
    if (options.staysOpen) socket.resume().on('end', () => socket.end())
    if (status === 0) return
    const refusal = `HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`
    if (status !== 200) return void (options.staysOpen ? socket.write(refusal) : socket.end(refusal))
    const [host, port] = request.url!.split(':')
    const upstream = net.connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      upstream.write(head)
      upstream.pipe(socket).pipe(upstream)
    })
    upstream.on('error', () => socket.destroy())
    socket.on('error', () => upstream.destroy())
    socket.on('close', () => upstream.destroy())
  })
  return Object.assign(await listen(server, options.tls ? 'https' : 'http'), { asked })
}

function withBody(handler: Handler): http.RequestListener {
  return (request, response) => {
    const chunks: Uint8Array[] = []
    request.on('data', (chunk: Uint8Array) => chunks.push(chunk))
    request.on('end', () => handler(request, response, Buffer.concat(chunks).toString()))
  }
}

export async function listen(server: net.Server, scheme: string): Promise<TestServer> {
  const sockets = new Set<net.Socket>()
  let connections = 0
  let closed = 0
  let onClosed = (): void => {}
  server.on('connection', (socket: net.Socket) => {
    connections++
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => {
      sockets.delete(socket)
      closed++
      onClosed()
    })
  })
  server.on('tlsClientError', () => {})
  // A server that closes idle connections itself would hide that the client does not.
  if ('keepAliveTimeout' in server) server.keepAliveTimeout = 600_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const dropConnections = (): void => {
    for (const socket of [...sockets]) socket.destroy()
    if (server instanceof http.Server) server.closeAllConnections()
  }
  return {
    port,
    url: `${scheme}://127.0.0.1:${port}`,
    connections: () => connections,
    dropConnections,
    // Far below the time after which the client closes idle connections.
    closedConnections: (count) => {
      const late = (): Error => new Error(`${closed} connections are closed, not ${count}`)
      const begin = (resolve: () => void): () => void => {
        onClosed = () => closed >= count && resolve()
        onClosed()
        return () => {}
      }
      return within(systemClock, 20_000, late, (signal) => rejectOnAbort(signal, begin))
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        dropConnections()
      }),
  }
}

/** Keeps what a test opens, until the test ends. */
export interface Keep {
  <C extends { close(): unknown }>(item: C): C
  serveTls: typeof serveTls
  servePlain: typeof servePlain
  serveBytes: typeof serveBytes
  serveProxy: typeof serveProxy
  transportTo: typeof transportTo
}

/** Runs a test's body, and closes what it kept, the last one first. */
export async function ending<T>(body: (keep: Keep) => Promise<T>): Promise<T> {
  const kept: { close(): unknown }[] = []
  const keep = <C extends { close(): unknown }>(item: C): C => {
    kept.push(item)
    return item
  }
  const opening =
    <A extends unknown[], C extends { close(): unknown }>(open: (...args: A) => Promise<C>) =>
    async (...args: A): Promise<C> => keep(await open(...args))
  try {
    return await body(Object.assign(keep, {
      serveTls: opening(serveTls),
      servePlain: opening(servePlain),
      serveBytes: opening(serveBytes),
      serveProxy: opening(serveProxy),
      transportTo: opening(transportTo),
    }))
  } finally {
    for (const item of kept.reverse()) await item.close()
  }
}

/** A test whose body keeps what it opens. */
export function keeping(title: string, body: (keep: Keep) => Promise<void>): void {
  test(title, () => ending(body))
}

/** Returns a check of an error: a NetworkError of this phase whose message matches. */
export function isNetworkError(phase: NetworkError['phase'], message = /^/, code?: string) {
  return (error: unknown): boolean => {
    assert.ok(error instanceof NetworkError, String(error))
    assert.equal(error.phase, phase, error.message)
    assert.match(error.message, message)
    if (code !== undefined) assert.equal(error.code, code)
    return true
  }
}

/** Returns a transport to a server that trusts the shared authority. */
export async function transportTo(
  server: TestServer,
  config: Partial<ClusterConfig> = {},
  options: TransportOptions = {},
): Promise<ClosableTransport> {
  const { authority } = await certificates()
  return httpTransport({ server: server.url, ca: authority.ca, ...config }, { clock: systemClock, ...options })
}

export async function textOf(
  transport: Transport,
  request: Partial<HttpRequest> = {},
): Promise<{ status: number; text: string; headers: Readonly<Record<string, string>> }> {
  const { status, headers, body } = await transport({ method: 'GET', path: '/', ...request })
  return { status, headers, text: await body.text() }
}
