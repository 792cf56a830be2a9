/** The embedded API over TLS on loopback, with a bearer token: what kubectl and other clients connect to. */
import type { HttpRequest, Transport } from '../../core/transport.ts'
import { createAuthority } from '../../runtime/net/certificates.ts'
import { serveHttps, type ServerRequest, type ServerResponse } from '../../runtime/net/https_server.ts'
import { MAX_BODY_BYTES } from './body.ts'
import { isAuthorized, newToken } from './authenticate.ts'
import { answerError } from './respond.ts'
import { methodNotAllowed, StatusError, tooLarge } from './status.ts'
import { type Log, silentLog } from '../../observe/log.ts'

export interface ServeOptions {
  /** Default: `127.0.0.1`. Anything else opens the API to others who have the token. */
  readonly host?: string
  /** Default: 0, any free port. */
  readonly port?: number
  /** The bearer token that requests must carry. Default: a random one. */
  readonly token?: string
  /** The certificate to serve, when it is not to be made anew; `ca` is what clients are told to trust. */
  readonly certificate?: { readonly cert: string; readonly key: string; readonly ca: string }
  /** Where failures of the server are written. Default: nowhere. */
  readonly log?: Log
}

/** A running server, and what a client needs to reach it. */
export interface ServedApi {
  readonly url: string
  readonly host: string
  readonly port: number
  readonly token: string
  /** PEM. */
  readonly ca: string
  /** Ends open watches and connections, and stops listening. */
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
    refuseTooLarge: () => answerError(tooLarge(MAX_BODY_BYTES)),
    onError: (error) => log.error('a request failed within the API server', { error }),
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

/** Paths that anybody may ask for, as on a real server. */
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
  // HEAD is a GET whose body the HTTP layer keeps to itself.
  const method = request.method === 'HEAD' ? 'GET' : request.method
  if (!METHODS.includes(method)) return answerError(methodNotAllowed())
  const { headers, body, signal } = request
  return server.handle({ method: method as HttpRequest['method'], path: request.path, headers, body, signal })
}
