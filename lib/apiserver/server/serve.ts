/** Serves the embedded API over TLS with a bearer token, for kubectl and other clients. */
import { systemClock } from '../../async/clock.ts'
import type { HttpRequest, HttpResponse, Transport } from '../../core/transport.ts'
import { isSame } from '../access/access.ts'
import { Tokens } from '../access/tokens.ts'
import { createAuthority } from '../../runtime/net/certificates.ts'
import { BodyLimits } from '../../runtime/net/body_limits.ts'
import { serveHttps } from '../../runtime/net/https_server.ts'
import type { BodyRefusal, RequestHead } from '../../runtime/net/server_exchange.ts'
import { MAX_BODY_BYTES } from '../wire/body.ts'
import { answerError } from '../wire/respond.ts'
import { compressed } from '../wire/compress.ts'
import { StatusError, tooLarge } from '../model/status.ts'
import { type Log, silentLog } from '../../observe/log.ts'

/** Options of {@link serve}. */
export interface ServeOptions {
  /** Address to listen on. Default: `127.0.0.1`. Any other address exposes the API to clients that have the token. */
  readonly host?: string
  /** Default: 0, which selects a free port. */
  readonly port?: number
  /**
   * The bearer token of the administrator. Requests may also carry the token of a service account; those without a
   * token are anonymous. Default: a random one.
   */
  readonly token?: string
  /** The certificate to serve; `ca` is the CA that clients trust. Default: a new one from a new CA. */
  readonly certificate?: { readonly cert: string; readonly key: string; readonly ca: string }
  /** Receives internal failures of the server. Default: no log. */
  readonly log?: Log
}

/** The parts of an ApiServer that are served. */
export interface ServableApi {
  readonly handle: Transport
  /** Answers a request that its headers alone refuse. Default: all bodies are read. */
  readonly refuse?: (request: HttpRequest) => HttpResponse | undefined
}

/** A running server, with the settings that a client needs. */
export interface ServedApi {
  readonly url: string
  readonly host: string
  readonly port: number
  readonly token: string
  /** The CA certificate, PEM. */
  readonly ca: string
  /** Ends open watches and connections, and stops listening. Resolves when the port is free. */
  close(): Promise<void>
}

/**
 * Serves an API over TLS, HTTP/1.1 and HTTP/2.
 *
 * @example
 * ```ts
 * import { ApiServer, serve } from 'kubeloop/apiserver'
 * const served = await serve(new ApiServer())
 * console.log(`kubectl --server ${served.url} --token ${served.token} …`)
 * await served.close()
 * ```
 */
export async function serve(server: ServableApi, options: ServeOptions = {}): Promise<ServedApi> {
  const { host = '127.0.0.1', port = 0, token = newToken(), log = silentLog } = options
  const { cert, key, ca } = options.certificate ?? await makeCertificate(host)
  const running = await serveHttps({
    host,
    port,
    cert,
    key,
    maxBodyBytes: MAX_BODY_BYTES,
    bodyLimits: new BodyLimits({ clock: systemClock, timeoutMs: MAX_BODY_MS, maxHeldBytes: MAX_HELD_BYTES }),
    // Go's clients have all their watches on one connection.
    http2: true,
    maxStreams: MAX_STREAMS,
    refuse: (head) => refuse(server, token, head),
    handle: async (request) => {
      const { path, body, signal } = request
      const headers = headersOf(request, token)
      return compressed(await server.handle({ method: request.method as Method, path, headers, body, signal }), headers)
    },
    refuseBody: (why) => answerError(BODY_ERRORS[why]),
    onError: (error) => log.error('The API server failed to handle a request', { error }),
  })
  return {
    url: `https://${host.includes(':') ? `[${host}]` : host}:${running.port}`,
    host,
    port: running.port,
    token,
    ca,
    close: () => running.close(),
  }
}

async function makeCertificate(host: string): Promise<{ cert: string; key: string; ca: string }> {
  const authority = await createAuthority({ commonName: 'kubeloop-apiserver-ca' })
  const isAddress = /^[\d.]+$/.test(host) || host.includes(':')
  const issued = await authority.issue({
    commonName: 'kubeloop-apiserver',
    dnsNames: ['localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc', ...(isAddress ? [] : [host])],
    ipAddresses: ['127.0.0.1', '::1', ...(isAddress && host !== '127.0.0.1' && host !== '::1' ? [host] : [])],
    usage: 'server',
  })
  return { ...issued, ca: authority.ca }
}

/** Any method comes here, also HEAD: the HTTP layer drops the body of its answer. */
type Method = HttpRequest['method']

/** As long as a request may take on a real server. */
const MAX_BODY_MS = 60_000
/** All bodies of open requests together. */
const MAX_HELD_BYTES = 64 * 1024 * 1024
/** More than Go's servers allow. */
const MAX_STREAMS = 1000

const BODY_ERRORS: Readonly<Record<BodyRefusal, StatusError>> = {
  'too large': tooLarge(MAX_BODY_BYTES),
  'too many': new StatusError(429, 'TooManyRequests', 'Too many requests, please try again later.', {
    retryAfterSeconds: 1,
  }),
  'too slow': new StatusError(504, 'Timeout', 'Timeout: request did not complete within the allotted timeout'),
}

/** Returns the answer to a request whose headers alone refuse it, so that its body is not read. */
function refuse(server: ServableApi, token: string, head: RequestHead): HttpResponse | undefined {
  try {
    const headers = headersOf(head, token)
    const hasBody = head.method !== 'GET' && head.method !== 'HEAD' || 'content-length' in headers ||
      'transfer-encoding' in headers
    return hasBody ? server.refuse?.({ method: head.method as Method, path: head.path, headers }) : undefined
  } catch (error) {
    if (error instanceof StatusError) return answerError(error)
    throw error
  }
}

/** Returns the headers for the server in memory. Throws 401 for a token that it does not know. */
function headersOf({ headers }: RequestHead, token: string): Record<string, string> {
  const authorization = authorizationOf(headers['authorization'], token)
  const { authorization: _given, ...others } = headers
  return { ...others, ...(authorization !== undefined && { authorization }) }
}

const TOKEN_BYTES = 32

/** Returns a random token of 256 bits. */
function newToken(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(TOKEN_BYTES)), (byte) => byte.toString(16).padStart(2, '0'))
    .join('')
}

/** A scheme that makes a request anonymous. In memory, a request without a header is the administrator's. */
const NO_CREDENTIALS = 'None'

/**
 * Returns the Authorization header for the server in memory; undefined for the administrator.
 *
 * @throws StatusError 401 for a token that is neither the administrator's nor issued by the server.
 */
function authorizationOf(header: string | undefined, token: string): string | undefined {
  const given = /^bearer +(\S+) *$/i.exec(header ?? '')?.[1]
  if (given === undefined) return NO_CREDENTIALS
  if (isSame(given, token)) return undefined
  if (!Tokens.isIssued(given)) throw new StatusError(401, 'Unauthorized', 'Unauthorized')
  return header
}
