/** Serves the embedded API over TLS with a bearer token, for kubectl and other clients. */
import type { HttpRequest, Transport } from '../../core/transport.ts'
import { createAuthority } from '../../runtime/net/certificates.ts'
import { serveHttps, type ServerRequest, type ServerResponse } from '../../runtime/net/https_server.ts'
import { MAX_BODY_BYTES } from './body.ts'
import { answerError } from './respond.ts'
import { methodNotAllowed, StatusError, tooLarge } from './status.ts'
import { type Log, silentLog } from '../../observe/log.ts'

/** Options of {@link serve}. */
export interface ServeOptions {
  /** Address to listen on. Default: `127.0.0.1`. Any other address exposes the API to clients that have the token. */
  readonly host?: string
  /** Default: 0, which selects a free port. */
  readonly port?: number
  /** The bearer token that requests must carry. Default: a random one. */
  readonly token?: string
  /** The certificate to serve; `ca` is the CA that clients trust. Default: a new one from a new CA. */
  readonly certificate?: { readonly cert: string; readonly key: string; readonly ca: string }
  /** Receives internal failures of the server. Default: no log. */
  readonly log?: Log
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
export async function serve(server: { readonly handle: Transport }, options: ServeOptions = {}): Promise<ServedApi> {
  const { host = '127.0.0.1', port = 0, token = newToken(), log = silentLog } = options
  const { cert, key, ca } = options.certificate ?? await makeCertificate(host)
  const running = await serveHttps({
    host,
    port,
    cert,
    key,
    maxBodyBytes: MAX_BODY_BYTES,
    handle: (request) => handle(server, token, request),
    refuseBody: () => answerError(tooLarge(MAX_BODY_BYTES)),
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

const METHODS: readonly string[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** Paths that need no token, as on a real server. */
const PUBLIC: readonly string[] = ['/healthz', '/livez', '/readyz', '/version']

async function handle(
  server: { readonly handle: Transport },
  token: string,
  request: ServerRequest,
): Promise<ServerResponse> {
  const path = request.path.split('?')[0]!
  if (!PUBLIC.includes(path) && !isAuthorized(request.headers['authorization'], token)) {
    return answerError(new StatusError(401, 'Unauthorized', 'Unauthorized'))
  }
  // Handle HEAD as GET: the HTTP layer drops the body.
  const method = request.method === 'HEAD' ? 'GET' : request.method
  if (!METHODS.includes(method)) return answerError(methodNotAllowed())
  const { headers, body, signal } = request
  return server.handle({ method: method as HttpRequest['method'], path: request.path, headers, body, signal })
}

const TOKEN_BYTES = 32

/** Returns a random token of 256 bits. */
function newToken(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(TOKEN_BYTES)), (byte) => byte.toString(16).padStart(2, '0'))
    .join('')
}

/** Returns whether an Authorization header carries the token. The time depends only on the lengths. */
function isAuthorized(header: string | undefined, token: string): boolean {
  const match = /^bearer +(\S+)$/i.exec(header ?? '')
  return match !== null && isSame(match[1]!, token)
}

function isSame(a: string, b: string): boolean {
  const encoder = new TextEncoder()
  const left = encoder.encode(a)
  const right = encoder.encode(b)
  let difference = left.length ^ right.length
  for (let i = 0; i < left.length; i++) difference |= left[i]! ^ (right[i % right.length] ?? 0)
  return difference === 0
}
