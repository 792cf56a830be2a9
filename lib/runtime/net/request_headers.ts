/** The headers of a request to an API server. */
import type { ClusterConfig, Credentials, Impersonation } from '../../core/cluster_config.ts'
import type { HttpRequest } from '../../core/transport.ts'
import type { ServerAddress } from './address.ts'

export interface HeaderInputs {
  readonly request: HttpRequest
  readonly config: ClusterConfig
  readonly credentials: Credentials
  readonly host: string
  readonly userAgent: string
  readonly gzip: boolean
}

/** Returns the headers to send. The request's own override all others, credentials included. */
export function requestHeaders(inputs: HeaderInputs): Record<string, string | string[]> {
  const { request, config, credentials, host, userAgent, gzip } = inputs
  const headers: Record<string, string | string[]> = { host, 'user-agent': userAgent, accept: 'application/json' }
  if (gzip) headers['accept-encoding'] = 'gzip'
  Object.assign(headers, config.headers, config.impersonate && impersonationHeaders(config.impersonate))
  if (credentials.token) headers['authorization'] = `Bearer ${credentials.token}`
  Object.assign(headers, credentials.headers, request.headers)
  const length = contentLength(request)
  if (length !== undefined) headers['content-length'] = String(length)
  return headers
}

/** A POST without a body needs `content-length: 0`: a proxy may refuse it otherwise (411). */
function contentLength({ method, body }: HttpRequest): number | undefined {
  if (body === undefined) return method === 'GET' || method === 'DELETE' ? undefined : 0
  return typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength
}

/**
 * Returns the impersonation headers. Keys of `extra` become part of a header's name: they are sent in lower case, with
 * characters that a header name cannot have percent-encoded, as in client-go.
 */
function impersonationHeaders(impersonate: Impersonation): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {}
  if (impersonate.user) headers['impersonate-user'] = impersonate.user
  if (impersonate.uid) headers['impersonate-uid'] = impersonate.uid
  if (impersonate.groups?.length) headers['impersonate-group'] = [...impersonate.groups]
  for (const [key, values] of Object.entries(impersonate.extra ?? {})) {
    headers[`impersonate-extra-${escapeKey(key)}`] = [...values]
  }
  return headers
}

function escapeKey(key: string): string {
  const bytes = new TextEncoder().encode(key.toLowerCase())
  return Array.from(bytes, (byte) => {
    const character = String.fromCharCode(byte)
    return /[!#$&'*+.^_`|~0-9a-z-]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }).join('')
}

/** Returns the Host header, without the usual port. */
export function hostHeader({ tls, port, authority }: ServerAddress): string {
  const usual = tls ? 443 : 80
  return port === usual ? authority.slice(0, -`:${usual}`.length) : authority
}
