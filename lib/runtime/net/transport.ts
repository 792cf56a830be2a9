/**
 * Sends requests to an API server over TLS.
 *
 * Uses `node:https`, the only client that verifies a CA, sends a client certificate and ends a watch the same way on
 * Node, Bun and Deno. Requests share kept connections. Each of the first 16 watches has its own, the others share
 * sessions of HTTP/2.
 *
 * On Deno it needs `--allow-net=HOST:PORT` (of the proxy, if there is one), and `--allow-sys=ca` if the cluster has no
 * CA and the system's are used.
 */
import type { Agent } from 'node:http'
import { untilAborted } from '../../async/abort.ts'
import { Slots } from '../../async/slots.ts'
import type { ClusterConfig } from '../../core/cluster_config.ts'
import { ConfigError, fileMissing, NetworkError } from '../../core/errors.ts'
import { type HttpRequest, type HttpResponse, isWatch, mayPause, type Transport } from '../../core/transport.ts'
import { environmentOf, type PartOptions } from '../../observe/environment.ts'
import type { Log } from '../../observe/log.ts'
import { thisRuntime } from '../os/this_runtime.ts'
import { type Access, accessOf, fixedAccess } from './access.ts'
import { AgentPool } from './agent.ts'
import { parseProxy, parseServer, type ServerAddress } from './address.ts'
import { Exchange, type ExchangeOptions } from './exchange.ts'
import { isUntrusted } from './network_error.ts'
import { type HeaderInputs, hostHeader, requestHeaders } from './request_headers.ts'
import type { tunnelThrough } from './tunnel.ts'
import type { WatchSessions } from './watch_sessions.ts'

/** Options of {@link httpTransport}. */
export interface TransportOptions extends PartOptions {
  /** Default: `kubeloop`. */
  readonly userAgent?: string | undefined
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

/** The number of watches with connections of their own, unless the config says something else about HTTP/2. */
const HTTP1_WATCHES = 16

/**
 * The number of reads, and of writes, that are sent at a time: each has a connection, and the handshakes of hundreds
 * keep a process busy for seconds. A webhook that reads during a write does not wait for writes.
 */
const AT_ONCE = 128

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
 * @throws ConfigError if the server or the proxy is not a URL, or credentials would be sent unencrypted.
 */
export function httpTransport(config: ClusterConfig, options: TransportOptions = {}): ClosableTransport {
  const connections = new Connections(config, options)
  return Object.assign((request: HttpRequest) => connections.answer(request), { close: () => connections.close() })
}

class Connections {
  readonly #config: ClusterConfig
  readonly #cluster: string | undefined
  readonly #log: Log
  readonly #limits: Pick<ExchangeOptions, 'clock' | 'connectTimeoutMs' | 'answerTimeoutMs'>
  readonly #address: ServerAddress
  readonly #headers: Omit<HeaderInputs, 'request' | 'credentials'>
  readonly #pool: AgentPool
  readonly #fixed: Access | undefined
  #sessions: WatchSessions | undefined
  #watches = 0
  readonly #open = new Set<Exchange>()
  readonly #reads = new Slots(AT_ONCE)
  readonly #writes = new Slots(AT_ONCE)
  readonly #closed = new AbortController()
  /** How often credentials were found stale. Of many requests refused at once, only the first invalidates them. */
  #generation = 0

  constructor(config: ClusterConfig, options: TransportOptions) {
    const { userAgent = 'kubeloop', connectTimeoutMs = 30_000, answerTimeoutMs = 75_000 } = options
    const { clock, log } = environmentOf(options)
    const address = parseServer(config.server)
    refuseUnencrypted(config, address)
    this.#config = config
    this.#cluster = options.cluster
    this.#log = log
    this.#limits = { clock, connectTimeoutMs, answerTimeoutMs }
    this.#address = address
    this.#headers = { config, host: hostHeader(address), userAgent, gzip: config.gzip ?? !address.loopback }
    this.#pool = new AgentPool({
      address,
      proxy: config.proxy ? parseProxy(config.proxy) : undefined,
      serverName: config.serverName,
      insecure: config.insecure ?? false,
    })
    this.#fixed = fixedAccess(config)
  }

  async answer(request: HttpRequest): Promise<HttpResponse> {
    try {
      return await this.#sendOrRenew(request)
    } catch (error) {
      throw error instanceof NetworkError ? this.#explained(error) : error
    }
  }

  close(): void {
    const error = new NetworkError(
      `Cannot use the connection to ${this.#address.authority}: it was closed by this process`,
      { phase: 'connect' },
    )
    this.#closed.abort(error)
    for (const started of [...this.#open]) started.abort(error)
    this.#pool.retire()
  }

  async #sendOrRenew(request: HttpRequest): Promise<HttpResponse> {
    const usedGeneration = this.#generation
    const response = await this.#sendTrusting(request, this.#fixed ?? await this.#fresh(request))
    const config = this.#config
    if (response.status !== 401 || !config.invalidate) return response
    this.#debug('The server refused the credentials, fetching new ones')
    response.body.cancel()
    if (usedGeneration === this.#generation) {
      this.#generation++
      config.invalidate()
    }
    return this.#sendTrusting(request, await this.#fresh(request))
  }

  /** Sends the request, once more if the server is not trusted and the CAs have changed since they were read. */
  async #sendTrusting(request: HttpRequest, access: Access): Promise<HttpResponse> {
    try {
      return await this.#send(request, access)
    } catch (error) {
      if (!this.#config.invalidateCa || !isUntrusted(error)) throw error
      this.#config.invalidateCa()
      const renewed = await this.#fresh(request)
      if (renewed.ca === access.ca) throw error
      this.#debug('The trusted CAs have changed, opening a new connection')
      return await this.#send(request, renewed)
    }
  }

  #fresh({ signal }: HttpRequest): Promise<Access> {
    signal?.throwIfAborted()
    const closed = this.#closed.signal
    return untilAborted(untilAborted(accessOf(this.#config, closed), closed), signal)
  }

  /** Sends the request, once more if the server had closed its kept connection. */
  async #send(request: HttpRequest, { credentials, ca }: Access): Promise<HttpResponse> {
    const headers = requestHeaders({ ...this.#headers, request, credentials })
    const tunnel = this.#config.proxy ? await loadTunnel(request) : undefined
    const watch = isWatch(request.path)
    // Without an await until a watch with its own connection is counted: many may begin in one turn.
    const sessions = watch && this.#sharesWatches() ? await this.#watchSessions() : undefined
    const slots = mayPause(request.path) ? undefined : request.method === 'GET' ? this.#reads : this.#writes
    for (let isRetry = false;; isRetry = true) {
      const waiting = slots?.take(request.signal)
      if (waiting) await waiting
      const shared = sessions?.isRefused ? undefined : sessions
      let agent: Agent
      let started: Exchange
      try {
        request.signal?.throwIfAborted()
        this.#closed.signal.throwIfAborted()
        const material = { ca, cert: credentials.cert, key: credentials.key }
        agent = this.#pool.agent(material, tunnel)
        started = new Exchange({
          request,
          headers,
          address: this.#address,
          agent,
          sender: shared && ((path, events) => shared.request(path, headers, material, events)),
          ...this.#limits,
          onSilence: (sender) => {
            // If the address moved or a firewall dropped its state, each idle connection would cost a timeout.
            this.#debug('The server was silent, closing idle connections')
            if (shared) shared.discard(sender)
            else this.#pool.discard(agent)
          },
          onEnd: () => {
            this.#open.delete(started)
            slots?.give()
            if (watch) this.#watches--
          },
        })
      } catch (error) {
        slots?.give()
        throw error
      }
      this.#open.add(started)
      if (watch) this.#watches++
      const result = await started.result
      if (result.kind === 'answered') return result.response
      if (isRetry || (result.sent && request.method !== 'GET')) throw result.error
      this.#debug('The server closed a kept connection, opening a new connection')
      // The other idle connections are as old, and a restart of the server closed them all.
      if (!shared) this.#pool.discard(agent)
    }
  }

  /** Returns whether the next watch shares a connection, if that pays. Through a proxy, each watch has its own. */
  #sharesWatches(): boolean {
    // On Deno 2.9.6 its code can end the process: https://github.com/denoland/deno/issues/36788
    const pays = this.#watches >= HTTP1_WATCHES && thisRuntime().name !== 'deno'
    const { http2 = pays, proxy } = this.#config
    return http2 && !proxy && this.#address.tls
  }

  async #watchSessions(): Promise<WatchSessions> {
    const { WatchSessions } = await import('./watch_sessions.ts').catch(
      fileMissing('watch over HTTP/2', 'watch_sessions.js'),
    )
    return this.#sessions ??= new WatchSessions(this.#pool.options, this.#limits)
  }

  /** Adds the cluster's name and the user's names of config fields to the message, once: requests may share it. */
  #explained(error: NetworkError): NetworkError {
    const cluster = this.#cluster
    const { origin } = this.#config
    const { authority } = this.#address
    let { message } = error
    for (const [field, stated] of Object.entries(origin?.fields ?? {})) {
      message = message.replaceAll(field, stated)
    }
    const named = `cluster "${cluster}" (${authority})`
    if (cluster !== undefined && !message.includes(named)) message = message.replace(authority, () => named)
    const source = origin?.address && `; the address is from ${origin.address}`
    if (source && isUnreachable(error) && !message.endsWith(source)) message += source
    error.message = message
    return error
  }

  #debug(message: string): void {
    this.#log.debug(message, { server: this.#address.authority })
  }
}

/** @throws ConfigError if another machine would get credentials without TLS: all on the way could read them. */
function refuseUnencrypted(config: ClusterConfig, { tls, loopback, authority }: ServerAddress): void {
  const { token, cert, credentials, headers, proxy, origin, allowUnencrypted } = config
  const isSecret = token || cert || credentials || headers?.['authorization'] || headers?.['cookie']
  if (tls || allowUnencrypted || !isSecret || (loopback && !proxy)) return
  const whose = origin?.identity ?? 'the cluster'
  throw new ConfigError(
    `Cannot send the credentials of ${whose} unencrypted to http://${authority}: use https, or set allowUnencrypted`,
  )
}

/** Loads what only a connection through a proxy needs. */
async function loadTunnel({ signal }: HttpRequest): Promise<typeof tunnelThrough> {
  const loading = import('./tunnel.ts').catch(fileMissing('connect through a proxy', 'tunnel.js'))
  return (await untilAborted(loading, signal)).tunnelThrough
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
