/** Serves the embedded API over TLS with a bearer token, for kubectl and other clients. */
import type { HttpRequest, Transport } from '../../core/transport.ts'
import { isSame } from '../access/access.ts'
import { Tokens } from '../access/tokens.ts'
import { createAuthority } from '../../runtime/net/certificates.ts'
import { serveHttps, type ServerRequest, type ServerResponse } from '../../runtime/net/https_server.ts'
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
    // Go's clients have all their watches on one connection.
    http2: true,
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

async function handle(
  server: { readonly handle: Transport },
  token: string,
  request: ServerRequest,
): Promise<ServerResponse> {
  let authorization: string | undefined
  try {
    authorization = authorizationOf(request.headers['authorization'], token)
  } catch (error) {
    if (error instanceof StatusError) return answerError(error)
    throw error
  }
  const { authorization: _given, ...others } = request.headers
  const headers = { ...others, ...(authorization !== undefined && { authorization }) }
  const { path, body, signal } = request
  // The HTTP layer drops the body of an answer to HEAD.
  const method = request.method as HttpRequest['method']
  return compressed(await server.handle({ method, path, headers, body, signal }), headers)
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
