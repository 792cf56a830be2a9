/**
 * The API server over HTTP/1.1 and TLS, on `node:https`: the one client that verifies a CA, shows a client certificate
 * and ends a watch alike on Node, Bun and Deno. A kept connection serves many requests; a watch has one for itself.
 *
 * On Deno it needs `--allow-net=HOST:PORT` (of the proxy, where there is one), and `--allow-sys=ca` where the system's CAs are
 * to be trusted because the cluster names none.
 */
import type { Agent } from 'node:http'
import { untilAborted } from '../../async/abort.ts'
import { type Clock, systemClock } from '../../async/clock.ts'
import type { ClusterConfig, Credentials } from '../../core/cluster_config.ts'
import { NetworkError } from '../../core/errors.ts'
import type { HttpRequest, HttpResponse, Transport } from '../../core/transport.ts'
import { type Log, silentLog } from '../../observe/log.ts'
import { AgentPool } from './agent.ts'
import { parseProxy } from './address.ts'
import { type Exchange, exchange } from './exchange.ts'
import { requestHeaders } from './headers.ts'
import { parseServer, type ServerAddress } from './address.ts'

/** Options of {@link httpTransport}. */
export interface TransportOptions {
  /** Default: the real one. */
  readonly clock?: Clock | undefined
  /** Default: `kubeloop`. */
  readonly userAgent?: string | undefined
  /** Default: none. */
  readonly log?: Log | undefined
  /** What errors call the cluster, beside its address. Default: nothing. */
  readonly cluster?: string | undefined
  /** How long a connection may take to stand, TLS included. Default: 30 s, as in client-go. */
  readonly connectTimeoutMs?: number | undefined
  /**
   * How long the head of an answer may take. Default: 75 s. The API server itself ends after 60 s what is not a watch, and
   * accepts a watch at once: a connection that is silent for longer is dead.
   */
  readonly answerTimeoutMs?: number | undefined
}

/** A transport that holds connections. */
export type ClosableTransport = Transport & {
  /** Closes every connection. Requests under way, and later ones, fail with a NetworkError. */
  close(): void
}

/**
 * A transport to a cluster. Nothing is opened before the first request.
 *
 * A request is sent a second time in two cases only: after a 401, with fresh credentials, if the config can `invalidate`;
 * and when a kept connection turns out to be closed, if the request is a GET or not a byte of it was sent.
 *
 * Where the server is silent until a deadline (ours, or an abort by a `TimeoutError` as of `AbortSignal.timeout`), all idle
 * connections are closed, so that the next try opens a new one. Any other abort leaves them alone.
 *
 * @throws ConfigError when the server or the proxy is not a URL.
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
  /** How often credentials were found to be stale: of many requests that are refused at once, the first has them fetched for all. */
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
    const response = await send(request, fixed ?? await fresh(request))
    if (response.status !== 401 || !config.invalidate) return response
    log.debug('The server refused the credentials, fetching them anew', { server: address.authority })
    response.body.cancel()
    if (usedGeneration === generation) {
      generation++
      config.invalidate()
    }
    return send(request, await fresh(request))
  }

  function fresh({ signal }: HttpRequest): Promise<Access> {
    signal?.throwIfAborted()
    return untilAborted(accessOf(config), signal)
  }

  /** Sends past connections that the server has closed. */
  async function send(request: HttpRequest, { credentials, ca }: Access): Promise<HttpResponse> {
    const headers = requestHeaders({ request, config, credentials, host, userAgent, gzip })
    for (let isRetry = false;; isRetry = true) {
      request.signal?.throwIfAborted()
      if (closed) throw closedError()
      const agent = pool.agent({ ca, cert: credentials.cert, key: credentials.key })
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
      log.debug('A kept connection was closed by the server, opening a new one', { server: address.authority })
      // Its siblings have been idle as long, and a restart of the server closed them all.
      pool.giveUp(agent)
    }
  }

  /** Where the address has moved, or a firewall has forgotten us, the other idle connections are as dead: no retry may wait on each. */
  function abandon(agent: Agent): void {
    log.debug('The server was silent until a deadline, closing the connections that are idle', {
      server: address.authority,
    })
    pool.giveUp(agent)
  }

  /** Names the cluster and the fields of its configuration as the user knows them. It may have been explained before, as one of many that waited for one answer. */
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

/** Who we are to the server, and whom we trust: what may change between two requests. */
interface Access {
  readonly credentials: Credentials
  readonly ca: string | undefined
}

/** Of a config in which nothing is a function, known from the beginning. */
function fixedAccess({ ca, token, cert, key, credentials }: ClusterConfig): Access | undefined {
  if (credentials || typeof token === 'function' || typeof ca === 'function') return undefined
  return { credentials: { token, cert, key }, ca }
}

async function accessOf(config: ClusterConfig): Promise<Access> {
  return { credentials: await credentialsOf(config), ca: await valueOf(config.ca) }
}

/** What `credentials` answers goes before what the config says itself. A certificate goes with its own key. */
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
