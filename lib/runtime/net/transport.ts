/**
 * Sends requests to an API server over HTTP/1.1 and TLS.
 *
 * Uses `node:https`, the only client that verifies a CA, sends a client certificate and ends a watch the same way on
 * Node, Bun and Deno. Requests share kept connections; a watch has its own.
 *
 * On Deno it needs `--allow-net=HOST:PORT` (of the proxy, if there is one), and `--allow-sys=ca` if the cluster has no
 * CA and the system's are used.
 */
import type { Agent } from 'node:http'
import { untilAborted } from '../../async/abort.ts'
import { type Clock, systemClock } from '../../async/clock.ts'
import type { ClusterConfig, Credentials, Impersonation } from '../../core/cluster_config.ts'
import { fileMissing, NetworkError } from '../../core/errors.ts'
import type { HttpRequest, HttpResponse, Transport } from '../../core/transport.ts'
import { type Log, silentLog } from '../../observe/log.ts'
import { AgentPool } from './agent.ts'
import { parseProxy, parseServer, type ServerAddress } from './address.ts'
import { type Exchange, exchange } from './exchange.ts'
import { isUntrusted } from './network_error.ts'
import type { tunnelThrough } from './tunnel.ts'

/** Options of {@link httpTransport}. */
export interface TransportOptions {
  /** Default: the system clock. */
  readonly clock?: Clock | undefined
  /** Default: `kubeloop`. */
  readonly userAgent?: string | undefined
  /** Default: none. */
  readonly log?: Log | undefined
  /** The cluster's name for errors. Default: errors have only its address. */
  readonly cluster?: string | undefined
  /** How long opening a connection may take, TLS included. Default: 30 s, as in client-go. */
  readonly connectTimeoutMs?: number | undefined
  /**
   * How long the server may send nothing before the head of a response, and between two parts of its body. Default:
   * 75 s. The API server ends requests other than watches after 60 s, and accepts a watch at once: a connection that is
   * silent for longer is dead. The bodies of watches, followed logs and the `proxy` subresource have no limit.
   */
  readonly answerTimeoutMs?: number | undefined
}

/** A transport that keeps connections. */
export type ClosableTransport = Transport & {
  /** Closes every connection. Open and later requests reject with a NetworkError. */
  close(): void
}

/**
 * Returns a transport to a cluster. It connects at the first request.
 *
 * A request is sent again in three cases only: after a 401, with new credentials, if the config has `invalidate`; if
 * the CAs of the config have changed and the server's certificate is not signed by the last ones; and if the server had
 * closed a kept connection, provided the request is a GET or none of it was sent.
 *
 * If the server is silent until a deadline of this transport, or has sent nothing for at least 1 s when the caller
 * aborts with a `TimeoutError` (as `AbortSignal.timeout` does), all idle connections are closed, so that a retry opens
 * a new one. Other aborts close none.
 *
 * @throws ConfigError if the server or the proxy is not a URL.
 */
export function httpTransport(config: ClusterConfig, options: TransportOptions = {}): ClosableTransport {
  const {
    clock = systemClock,
    userAgent = 'kubeloop',
    log = silentLog,
    connectTimeoutMs = 30_000,
    answerTimeoutMs = 75_000,
  } = options
  const address = parseServer(config.server)
  const pool = new AgentPool({
    address,
    proxy: config.proxy ? parseProxy(config.proxy) : undefined,
    serverName: config.serverName,
    insecure: config.insecure ?? false,
  })
  const gzip = config.gzip ?? !address.loopback
  const host = hostHeader(address)
  const fixed = fixedAccess(config)
  const open = new Set<Exchange>()
  let closed = false
  /** How often credentials were found stale. Of many requests refused at once, only the first invalidates them. */
  let generation = 0

  const transport = async (request: HttpRequest): Promise<HttpResponse> => {
    try {
      return await sendOrRenew(request)
    } catch (error) {
      throw error instanceof NetworkError ? explained(error) : error
    }
  }

  async function sendOrRenew(request: HttpRequest): Promise<HttpResponse> {
    const usedGeneration = generation
    const response = await sendTrusting(request, fixed ?? await fresh(request))
    if (response.status !== 401 || !config.invalidate) return response
    log.debug('The server refused the credentials, fetching new ones', { server: address.authority })
    response.body.cancel()
    if (usedGeneration === generation) {
      generation++
      config.invalidate()
    }
    return sendTrusting(request, await fresh(request))
  }

  /** Sends the request, once more if the server is not trusted and the CAs have changed since they were read. */
  async function sendTrusting(request: HttpRequest, access: Access): Promise<HttpResponse> {
    try {
      return await send(request, access)
    } catch (error) {
      if (!config.invalidateCa || !isUntrusted(error)) throw error
      config.invalidateCa()
      const renewed = await fresh(request)
      if (renewed.ca === access.ca) throw error
      log.debug('The trusted CAs have changed, opening a new connection', { server: address.authority })
      return await send(request, renewed)
    }
  }

  function fresh({ signal }: HttpRequest): Promise<Access> {
    signal?.throwIfAborted()
    return untilAborted(accessOf(config), signal)
  }

  /** Loads what only a connection through a proxy needs. */
  async function loadTunnel({ signal }: HttpRequest): Promise<typeof tunnelThrough> {
    const loading = import('./tunnel.ts').catch(fileMissing('Cannot connect through a proxy', 'tunnel.js'))
    return (await untilAborted(loading, signal)).tunnelThrough
  }

  /** Sends the request, once more if the server had closed its kept connection. */
  async function send(request: HttpRequest, { credentials, ca }: Access): Promise<HttpResponse> {
    const headers = requestHeaders({ request, config, credentials, host, userAgent, gzip })
    const tunnel = config.proxy ? await loadTunnel(request) : undefined
    for (let isRetry = false;; isRetry = true) {
      request.signal?.throwIfAborted()
      if (closed) throw closedError()
      const agent = pool.agent({ ca, cert: credentials.cert, key: credentials.key }, tunnel)
      const started: Exchange = exchange({
        request,
        headers,
        address,
        agent,
        clock,
        connectTimeoutMs,
        answerTimeoutMs,
        onSilence: () => abandon(agent),
        onEnd: () => open.delete(started),
      })
      open.add(started)
      const result = await started.result
      if (result.kind === 'answered') return result.response
      if (isRetry || (result.sent && request.method !== 'GET')) throw result.error
      log.debug('The server closed a kept connection, opening a new one', { server: address.authority })
      // The other idle connections are as old, and a restart of the server closed them all.
      pool.discard(agent)
    }
  }

  /** Closes the idle connections. If the address moved or a firewall dropped its state, each would cost a timeout. */
  function abandon(agent: Agent): void {
    log.debug('The server was silent until a deadline, closing idle connections', { server: address.authority })
    pool.discard(agent)
  }

  /**
   * Adds the cluster's name and the user's names of config fields to the message. Several requests may share one error,
   * so the name may be there already.
   */
  function explained(error: NetworkError): NetworkError {
    const { cluster } = options
    let { message } = error
    for (const [field, stated] of Object.entries(config.origin?.fields ?? {})) {
      message = message.replaceAll(field, stated)
    }
    const named = `cluster "${cluster}" (${address.authority})`
    if (cluster !== undefined && !message.includes(named)) message = message.replace(address.authority, () => named)
    const source = config.origin?.address && `; the address is from ${config.origin.address}`
    if (source && isUnreachable(error) && !message.endsWith(source)) message += source
    error.message = message
    return error
  }

  function closedError(): NetworkError {
    return new NetworkError(`Cannot use the connection to ${address.authority}: it was closed by this process`, {
      phase: 'connect',
    })
  }

  return Object.assign(transport, {
    close() {
      closed = true
      for (const started of [...open]) started.abort(closedError())
      pool.close()
    },
  })
}

/** Whether the address itself may be wrong: a wrong kubeconfig or context is the most frequent cause. */
function isUnreachable({ phase, code }: NetworkError): boolean {
  return phase === 'connect' && UNREACHABLE.has(code ?? '')
}

const UNREACHABLE: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EAI_NODATA',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
])

function hostHeader({ tls, port, authority }: ServerAddress): string {
  const usual = tls ? 443 : 80
  return port === usual ? authority.slice(0, -`:${usual}`.length) : authority
}

/** Credentials and trusted CAs: both may change between requests. */
interface Access {
  readonly credentials: Credentials
  readonly ca: string | undefined
}

/** Returns the access of a config without functions; undefined for others. */
function fixedAccess({ ca, token, cert, key, credentials }: ClusterConfig): Access | undefined {
  if (credentials || typeof token === 'function' || typeof ca === 'function') return undefined
  return { credentials: { token, cert, key }, ca }
}

async function accessOf(config: ClusterConfig): Promise<Access> {
  return { credentials: await credentialsOf(config), ca: await valueOf(config.ca) }
}

/** The result of `credentials` overrides the config's own fields. A certificate is used with its own key only. */
async function credentialsOf(config: ClusterConfig): Promise<Credentials> {
  const fetched = await config.credentials?.()
  const pair = fetched?.cert === undefined
    ? { cert: config.cert, key: config.key }
    : { cert: fetched.cert, key: fetched.key }
  return { token: fetched?.token ?? (await valueOf(config.token)), headers: fetched?.headers, ...pair }
}

async function valueOf(value: string | (() => Promise<string | undefined>) | undefined): Promise<string | undefined> {
  return typeof value === 'function' ? await value() : value
}

interface HeaderInputs {
  readonly request: HttpRequest
  readonly config: ClusterConfig
  readonly credentials: Credentials
  readonly host: string
  readonly userAgent: string
  readonly gzip: boolean
}

/** Returns the headers to send. The request's own override all others, credentials included. */
function requestHeaders(inputs: HeaderInputs): Record<string, string | string[]> {
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
