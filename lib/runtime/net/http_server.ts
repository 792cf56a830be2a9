/** Serves the process's own endpoints (probes, metrics, a user's) over HTTP or TLS. */
import { type Clock, systemClock } from '../../async/clock.ts'
import { fileMissing } from '../../core/errors.ts'
import { BodyLimits } from './body_limits.ts'
import { nodeHttp } from '../os/builtins.ts'
import { closeServer, listen, SERVER_PARTS, trackSockets } from './listen.ts'
import {
  type BodyRefusal,
  type ExchangeOptions,
  newExchanges,
  type ServerRequest,
  type ServerResponse,
} from './server_exchange.ts'

/** The same as in controller-runtime's servers. */
export const TIMEOUTS = { idleTimeoutMs: 90_000, headerTimeoutMs: 32_000 } as const
/** How long a request body may take, and how long a client may take nothing of a response. */
const SLOW_MS = 30_000
/** Bodies of the maximum size that are held at the same time. */
const MAX_HELD = 4

export interface HttpServerOptions {
  /** Default: all interfaces. */
  readonly host?: string | undefined
  /** 0 means any free port. */
  readonly port: number
  /** Certificate and key in PEM. Default: plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined
  /** The maximum size of a request body; a larger one gets a 413. 0: none is read. */
  readonly maxBodyBytes: number
  /** A further connection closes the oldest one. Default: no limit. */
  readonly maxConnections?: number | undefined
  /** The clock of the time limits of bodies and responses. Default: the real one. */
  readonly clock?: Clock | undefined
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
 * Starts a server. Closes connections that are idle for 90 s, or take 32 s to send the head of a request, 30 s for its
 * body, or 30 s to take a part of the response.
 * Rejects if it cannot listen: the port is in use, or the key does not match the certificate.
 */
export async function serveHttp(options: HttpServerOptions): Promise<HttpServer> {
  const { host, port, tls, maxConnections = Infinity } = options
  const exchange = exchangeOf(options, tls ? 'https' : 'http')
  if (tls) {
    const { serveTls } = await import('./tls_server.ts').catch(fileMissing('serve TLS', 'https.js'))
    return await serveTls({ ...exchange, ...TIMEOUTS, ...tls, host, port, maxConnections }, SERVER_PARTS)
  }
  const server = nodeHttp().createServer({
    keepAliveTimeout: TIMEOUTS.idleTimeoutMs,
    headersTimeout: TIMEOUTS.headerTimeoutMs,
  })
  const exchanges = newExchanges(exchange)
  const sockets = trackSockets(server, maxConnections, 'connection')
  server.on('request', (request, response) => exchanges.begin(request, response))
  const bound = await listen(server, host, port)
  let closing: Promise<void> | undefined
  return { ...bound, close: (deadline) => (closing ??= closeServer(server, exchanges, [sockets], deadline)) }
}

/** Returns how a server handles its requests: each is a call of `fetch`. */
export function exchangeOf(
  { maxBodyBytes, fetch, onError, clock = systemClock }: HttpServerOptions,
  scheme: 'http' | 'https',
): ExchangeOptions {
  const bodyLimits = new BodyLimits({ clock, timeoutMs: SLOW_MS, maxHeldBytes: MAX_HELD * maxBodyBytes })
  return {
    ...{ maxBodyBytes, bodyLimits, onError },
    beginSend: (onLate) => bodyLimits.begin(onLate),
    handle: (request) => callFetch(fetch, request, scheme),
    refuseBody(why) {
      const { status, text } = BODY_REFUSALS[why]
      return refusal(status, text)
    },
  }
}

/** Calls a function of the Fetch API for a request. Rejects with what it throws. */
export async function callFetch(
  fetch: HttpServerOptions['fetch'],
  request: ServerRequest,
  scheme: string,
): Promise<ServerResponse> {
  if (FORBIDDEN_METHOD.test(request.method)) return refusal(405, 'The method is not allowed')
  const url = urlOf(request, scheme)
  return url === undefined
    ? refusal(400, 'The Host header is invalid')
    : responseOf(await fetch(requestOf(request, url)))
}

/** No Request can have these. */
const FORBIDDEN_METHOD = /^(?:CONNECT|TRACE|TRACK)$/i

/** Returns the URL of a request, or undefined if its host is invalid: a part of it could pass for the path. */
function urlOf({ path, headers }: ServerRequest, scheme: string): string | undefined {
  const host = headers['host'] || 'localhost'
  // An invalid path, such as the "*" of OPTIONS, must not become part of the host.
  const url = `${scheme}://${host}${path.startsWith('/') ? path : '/'}`
  return /[/?#@\\\s]/.test(host) || !URL.canParse(url) ? undefined : url
}

const BODY_REFUSALS: Readonly<Record<BodyRefusal, { readonly status: number; readonly text: string }>> = {
  'too large': { status: 413, text: 'The body is too long' },
  'too slow': { status: 408, text: `The body was not complete after ${SLOW_MS / 1000} s` },
  'too many': { status: 429, text: 'Too many bytes of other requests are held; try again' },
}

/** Returns a response that says why a request is refused. */
export function refusal(status: number, text: string): ServerResponse & { readonly body: Uint8Array<ArrayBuffer> } {
  return {
    status,
    headers: {
      'content-type': 'text/plain; charset=utf-8',
      'x-content-type-options': 'nosniff',
      ...(status === 401 && { 'www-authenticate': 'Bearer' }),
      ...(status === 405 && { allow: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS' }),
      ...(status === 429 && { 'retry-after': '1' }),
    },
    body: new TextEncoder().encode(`${text}\n`),
  }
}

/**
 * Keeps each Request alive as long as its signal, which lives while the request is open. On Node a Request's signal is
 * only aborted while the Request is referenced, so a handler that keeps the signal alone would miss a disconnect.
 */
const held = new WeakMap<AbortSignal, Request>()

function requestOf({ method, headers, body, signal }: ServerRequest, url: string): Request {
  const hasBody = method !== 'GET' && method !== 'HEAD' && body.byteLength > 0
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
