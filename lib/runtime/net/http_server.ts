/** Serves the process's own endpoints (probes, metrics, a user's) over HTTP or TLS. */
import { fileMissing } from '../../core/errors.ts'
import { builtins } from '../os/builtins.ts'
import { closeServer, listen, trackSockets } from './listen.ts'
import { type ExchangeOptions, newExchanges, type ServerRequest, type ServerResponse } from './server_exchange.ts'

/** The same as in controller-runtime's servers. */
export const TIMEOUTS = { idleTimeoutMs: 90_000, headerTimeoutMs: 32_000 } as const

export interface HttpServerOptions {
  /** Default: all interfaces. */
  readonly host?: string | undefined
  /** 0 means any free port. */
  readonly port: number
  /** Certificate and key in PEM. Default: plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined
  /** The maximum size of a request body; a larger one gets a 413. */
  readonly maxBodyBytes: number
  /** Responds to a request. Its signal is aborted when the client disconnects or the server closes. */
  readonly fetch: (request: Request) => Response | Promise<Response>
  /** Called with what `fetch` threw (the client gets an empty 500), and with errors of response bodies. */
  readonly onError: (error: unknown) => void
}

export interface HttpServer {
  readonly host: string
  readonly port: number
  /** Stops listening, and aborts open requests at the deadline. Resolves when all connections are closed. */
  close(deadline: AbortSignal): Promise<void>
}

/**
 * Starts a server. Closes connections that are idle for 90 s or take 32 s to send the head of a request.
 * Rejects if it cannot listen: the port is in use, or the key does not match the certificate.
 */
export async function serveHttp(options: HttpServerOptions): Promise<HttpServer> {
  const { host, port, tls } = options
  const exchange = exchangeOf(options, tls ? 'https' : 'http')
  if (tls) {
    const { serveHttps } = await import('./https_server.ts').catch(fileMissing('Cannot serve TLS', 'https.js'))
    return await serveHttps({ ...exchange, ...TIMEOUTS, ...tls, host, port })
  }
  const server = builtins.http().createServer({
    keepAliveTimeout: TIMEOUTS.idleTimeoutMs,
    headersTimeout: TIMEOUTS.headerTimeoutMs,
  })
  const exchanges = newExchanges(exchange)
  const sockets = trackSockets(server, 'connection')
  server.on('request', (request, response) => exchanges.begin(request, response))
  const bound = await listen(server, host, port)
  let closing: Promise<void> | undefined
  return { ...bound, close: (deadline) => (closing ??= closeServer(server, exchanges, [sockets], deadline)) }
}

/** Returns how a server handles its requests: each is a call of `fetch`. */
export function exchangeOf(
  { maxBodyBytes, fetch, onError }: Pick<HttpServerOptions, 'maxBodyBytes' | 'fetch' | 'onError'>,
  scheme: 'http' | 'https',
): ExchangeOptions {
  return {
    maxBodyBytes,
    onError,
    handle: (request) => callFetch(fetch, request, scheme),
    refuseBody: () => responseOf(tooLarge(maxBodyBytes)),
  }
}

/** Calls a function of the Fetch API for a request. Rejects with what it throws. */
export async function callFetch(
  fetch: HttpServerOptions['fetch'],
  request: ServerRequest,
  scheme: string,
): Promise<ServerResponse> {
  return responseOf(await fetch(requestOf(request, scheme)))
}

function tooLarge(max: number): Response {
  return new Response(`the body is longer than ${max} bytes\n`, {
    status: 413,
    headers: { 'content-type': 'text/plain' },
  })
}

/**
 * Keeps each Request alive as long as its signal, which lives while the request is open. On Node a Request's signal is
 * only aborted while the Request is referenced, so a handler that keeps the signal alone would miss a disconnect.
 */
const held = new WeakMap<AbortSignal, Request>()

function requestOf({ method, path, headers, body, signal }: ServerRequest, scheme: string): Request {
  const hasBody = method !== 'GET' && method !== 'HEAD' && body.byteLength > 0
  // An invalid path, such as the "*" of OPTIONS, must not become part of the host.
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

/** Keeps the response alive while its body is read: otherwise the body may end early on Node and hang on Deno. */
function bodyOf(response: Response): Exclude<ServerResponse['body'], Uint8Array> {
  const reader = response.body?.getReader()
  return {
    // A failure of a cancelled body affects nothing.
    cancel: () => void reader?.cancel().catch(() => {}),
    [Symbol.asyncIterator]: () => ({
      async next() {
        const { done, value } = response.body ? await reader!.read() : { done: true, value: undefined }
        return done ? { done: true, value: undefined } : { done: false, value: value as Uint8Array }
      },
    }),
  }
}
