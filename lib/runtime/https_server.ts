/**
 * A TLS server for HTTP/1.1 and HTTP/2, the same on Node, Bun and Deno.
 *
 * It is http2.createSecureServer with allowHTTP1 on all three: the only server of theirs whose certificate can be
 * replaced while it runs on Bun as well.
 */
import {
  createSecureServer, type Http2SecureServer, type Http2ServerRequest, type Http2ServerResponse, type ServerHttp2Session,
} from 'node:http2'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import type { HttpBody } from '../core/transport.ts'

/** A request whose body is there. */
export interface ServerRequest {
  readonly method: string
  /** Path and query. */
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** Aborted when the client has gone or the server closes. */
  readonly signal: AbortSignal
}

export interface ServerResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: HttpBody
}

export interface HttpsServerOptions {
  readonly host: string
  /** 0 is any free port. */
  readonly port: number
  /** PEM. */
  readonly cert: string
  readonly key: string
  /** The longest body that is read. */
  readonly mostBodyBytes: number
  /** Answers a request. A rejection is answered with a bare 500. */
  readonly handle: (request: ServerRequest) => Promise<ServerResponse>
  /** Answers, before its body is read, a request with a body that is too long. */
  readonly refuseTooLarge: () => ServerResponse
  /** Hears of what {@link HttpsServerOptions.handle} rejected with, and of bodies that broke off. */
  readonly onError: (error: unknown) => void
}

export interface HttpsServer {
  readonly host: string
  readonly port: number
  /** Serves another certificate from the next connection on. Throws when the key is not the certificate's. */
  setCertificate(cert: string, key: string): void
  /** Stops listening, aborts open requests and resolves when all connections are gone. */
  close(): Promise<void>
}

type Incoming = Http2ServerRequest
type Outgoing = Http2ServerResponse

/** Listens. Rejects when it cannot: the port is taken, the key is not the certificate's. */
export async function serveHttps(options: HttpsServerOptions): Promise<HttpsServer> {
  checkPair(options.cert, options.key)
  const server = createSecureServer({ cert: options.cert, key: options.key, allowHTTP1: true })
  const open = new Set<AbortController>()
  const settled = new Set<Promise<void>>()
  const connections = trackConnections(server)

  server.on('request', (request: Incoming, response: Outgoing) => {
    const controller = new AbortController()
    open.add(controller)
    // A client that goes away takes its request with it.
    response.on('close', () => controller.abort(new Error('The client has gone')))
    response.on('error', () => controller.abort(new Error('The client has gone')))
    request.on('error', () => controller.abort(new Error('The client has gone')))
    const done = answer(options, request, response, controller.signal).catch(options.onError).finally(() => {
      open.delete(controller)
      settled.delete(done)
    })
    settled.add(done)
  })
  // A client that does not speak TLS, or does not trust us: his trouble, and his to report.
  server.on('tlsClientError', () => {})
  server.on('sessionError', () => {})

  const { host, port } = await listen(server, options.host, options.port)
  let closing: Promise<void> | undefined
  return {
    host, port,
    setCertificate(cert, key) {
      checkPair(cert, key)
      server.setSecureContext({ cert, key })
    },
    close() {
      closing ??= closeServer(server, open, settled, connections)
      return closing
    },
  }
}

/** Deno takes any pair and then cannot serve; Node and Bun throw later. */
function checkPair(cert: string, key: string): void {
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) {
    throw new TypeError('Cannot serve TLS: the private key does not belong to the certificate')
  }
}

interface Connections {
  readonly sockets: ReadonlySet<Socket>
  readonly sessions: ReadonlySet<ServerHttp2Session>
}

function trackConnections(server: Http2SecureServer): Connections {
  const sockets = new Set<Socket>()
  const sessions = new Set<ServerHttp2Session>()
  const track = (socket: Socket): void => {
    sockets.add(socket)
    // Without it, an answer in two writes waits for the client's delayed acknowledgement of the first: 40 ms each.
    socket.setNoDelay(true)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
  }
  server.on('connection', track)
  server.on('secureConnection', track)
  server.on('session', (session: ServerHttp2Session) => {
    sessions.add(session)
    session.on('close', () => sessions.delete(session))
    session.on('error', () => session.destroy())
  })
  return { sockets, sessions }
}

function listen(server: Http2SecureServer, host: string, port: number): Promise<{ host: string; port: number }> {
  return new Promise((resolve, reject) => {
    const onError = (cause: Error & { code?: string }): void => {
      const why = cause.code === 'EADDRINUSE' ? 'the address is in use; stop what listens there or choose another port' : cause.message
      reject(Object.assign(new Error(`Cannot listen on ${host}:${port}: ${why}`, { cause }), { code: cause.code }))
    }
    server.once('error', onError)
    server.listen(port, host, () => {
      server.off('error', onError)
      const address = server.address()
      resolve({ host, port: typeof address === 'object' && address ? address.port : port })
    })
  })
}

async function closeServer(
  server: Http2SecureServer, open: ReadonlySet<AbortController>, settled: ReadonlySet<Promise<void>>, connections: Connections,
): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  for (const controller of [...open]) controller.abort(new Error('The server is closing'))
  await Promise.all(settled)
  for (const session of [...connections.sessions]) session.destroy()
  for (const socket of [...connections.sockets]) socket.destroy()
  await closed
}

async function answer(options: HttpsServerOptions, request: Incoming, response: Outgoing, signal: AbortSignal): Promise<void> {
  const body = await readBody(request, options.mostBodyBytes, signal)
  if (signal.aborted) return
  if (body === 'too large') {
    await send(response, options.refuseTooLarge(), signal, { connection: request.httpVersionMajor < 2 })
    return
  }
  let result: ServerResponse
  try {
    result = await options.handle({ method: request.method, path: request.url, headers: headersOf(request), body, signal })
  } catch (error) {
    if (signal.aborted) return
    options.onError(error)
    response.statusCode = 500
    response.end()
    return
  }
  await send(response, result, signal, { connection: false })
}

function headersOf(request: Incoming): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(request.headers)) {
    if (value === undefined) continue
    const text = Array.isArray(value) ? value.join(', ') : String(value)
    if (name === ':authority') headers['host'] = text
    else if (!name.startsWith(':')) headers[name] = text
  }
  return headers
}

/** The whole body; `too large` as soon as it is known to be. */
function readBody(request: Incoming, most: number, signal: AbortSignal): Promise<Uint8Array | 'too large'> {
  return new Promise((resolve) => {
    if (Number(request.headers['content-length'] ?? 0) > most) return resolve('too large')
    const chunks: Uint8Array[] = []
    let size = 0
    const finish = (result: Uint8Array | 'too large'): void => {
      signal.removeEventListener('abort', onAbort)
      resolve(result)
    }
    const onAbort = (): void => finish(new Uint8Array())
    signal.addEventListener('abort', onAbort, { once: true })
    request.on('data', (chunk: Uint8Array) => {
      size += chunk.byteLength
      if (size > most) finish('too large')
      else chunks.push(chunk)
    })
    request.on('end', () => finish(concatenate(chunks, size)))
  })
}

function concatenate(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const whole = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.byteLength
  }
  return whole
}

/** Writes an answer, no faster than the client reads it. Ends it cleanly when the server closes. */
async function send(response: Outgoing, result: ServerResponse, signal: AbortSignal, end: { connection: boolean }): Promise<void> {
  response.writeHead(result.status, { ...result.headers, ...(end.connection && { connection: 'close' }) })
  // The head of a watch goes out before its first event: a client waits for it. HTTP/2 sends it by itself.
  if ('flushHeaders' in response) (response as unknown as { flushHeaders(): void }).flushHeaders()
  try {
    for await (const chunk of result.body) {
      if (!response.write(chunk)) await drained(response, signal)
      if (signal.aborted) break
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    result.body.cancel()
    response.end()
  }
}

function drained(response: Outgoing, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      response.off('drain', finish)
      signal.removeEventListener('abort', finish)
      resolve()
    }
    response.on('drain', finish)
    signal.addEventListener('abort', finish, { once: true })
    if (signal.aborted) finish()
  })
}
