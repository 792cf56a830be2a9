/** A server for what a process tells about itself: probes, metrics, a user's own endpoints. Plain HTTP, or TLS with a certificate. */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { untilAborted } from '../../async/abort.ts'
import { builtins } from '../os/builtins.ts'
import { serveHttps } from './https_server.ts'
import { listen, trackSockets } from './listen.ts'
import {
  type ExchangeOptions,
  type Exchanges,
  newExchanges,
  type ServerRequest,
  type ServerResponse,
} from './server_exchange.ts'

/** As controller-runtime's servers have them. */
const IDLE_TIMEOUT_MS = 90_000
const HEADER_TIMEOUT_MS = 32_000

export interface HttpServerOptions {
  /** Default: all interfaces. */
  readonly host?: string | undefined
  /** 0 is any free port. */
  readonly port: number
  /** PEM. Default: plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined
  /** The longest body that is read; a longer one is answered with 413. */
  readonly maxBodyBytes: number
  /** Answers a request in the words of the platform. Its signal is aborted when the client has gone or the server closes. */
  readonly fetch: (request: Request) => Response | Promise<Response>
  /** Hears of what `fetch` threw, after which a bare 500 was sent, and of answers that broke off. */
  readonly onError: (error: unknown) => void
}

export interface HttpServer {
  readonly host: string
  readonly port: number
  /** Stops listening and lets open requests end until the deadline, then aborts them. Resolves when all connections are gone. */
  close(deadline: AbortSignal): Promise<void>
}

/**
 * Listens. A connection that is idle for 90 s is closed, and so is one that takes 32 s for the head of a request.
 * Rejects when it cannot listen: the port is taken, the key is not the certificate's.
 */
export async function serveHttp(options: HttpServerOptions): Promise<HttpServer> {
  const { host, port, tls, maxBodyBytes, onError } = options
  const scheme = tls ? 'https' : 'http'
  const exchange: ExchangeOptions = {
    maxBodyBytes,
    onError,
    handle: async (request) => responseOf(await options.fetch(requestOf(request, scheme))),
    refuseTooLarge: () => responseOf(tooLarge(maxBodyBytes)),
  }
  if (tls) {
    return await serveHttps({
      ...exchange,
      ...tls,
      host,
      port,
      idleTimeoutMs: IDLE_TIMEOUT_MS,
      headerTimeoutMs: HEADER_TIMEOUT_MS,
    })
  }
  const server = builtins.http().createServer({ keepAliveTimeout: IDLE_TIMEOUT_MS, headersTimeout: HEADER_TIMEOUT_MS })
  const exchanges = newExchanges(exchange)
  const sockets = trackSockets(server, 'connection')
  server.on('request', (request, response) => exchanges.begin(request, response))
  const bound = await listen(server, host, port)
  let closing: Promise<void> | undefined
  return { ...bound, close: (deadline) => (closing ??= closeServer(server, exchanges, sockets, deadline)) }
}

async function closeServer(
  server: Server,
  exchanges: Exchanges,
  sockets: ReadonlySet<Socket>,
  deadline: AbortSignal,
): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  await untilAborted(exchanges.settled(), deadline).catch(() => {})
  exchanges.abort()
  await exchanges.settled()
  // Kept connections would hold the close for as long as they may be idle.
  for (const socket of [...sockets]) socket.destroy()
  await closed
}

function tooLarge(max: number): Response {
  return new Response(`the body is longer than ${max} bytes\n`, {
    status: 413,
    headers: { 'content-type': 'text/plain' },
  })
}

/**
 * On Node a Request's signal follows ours only as long as somebody holds the Request itself: a handler that keeps the signal alone
 * would never hear that its client has gone. Here it lives as long as our signal does, and that as long as the request is open.
 */
const held = new WeakMap<AbortSignal, Request>()

function requestOf({ method, path, headers, body, signal }: ServerRequest, scheme: string): Request {
  const hasBody = method !== 'GET' && method !== 'HEAD' && body.byteLength > 0
  // A path that is none, such as the "*" of OPTIONS, must not become part of a host.
  const url = `${scheme}://${headers['host'] || 'localhost'}${path.startsWith('/') ? path : '/'}`
  const request = new Request(url, {
    method,
    headers: { ...headers },
    signal,
    ...(hasBody && { body: body as Uint8Array<ArrayBuffer> }),
  })
  held.set(signal, request)
  return request
}

function responseOf(response: Response): ServerResponse {
  const headers: Record<string, string> = {}
  response.headers.forEach((value, name) => (headers[name] = value))
  return { status: response.status, headers, body: bodyOf(response) }
}

/** The response is held for as long as its body is read: without it, a body may end early on Node and hang on Deno. */
function bodyOf(response: Response): ServerResponse['body'] {
  const reader = response.body?.getReader()
  return {
    // What is given up has no one to fail for.
    cancel: () => void reader?.cancel().catch(() => {}),
    [Symbol.asyncIterator]: () => ({
      async next() {
        const { done, value } = response.body ? await reader!.read() : { done: true, value: undefined }
        return done ? { done: true, value: undefined } : { done: false, value: value as Uint8Array }
      },
    }),
  }
}
