/**
 * Keeps the connections to one server, direct or by CONNECT through an HTTP proxy.
 *
 * A connection keeps its TLS material for its whole life, so new material needs a new agent. Idle connections of the
 * old one are closed at once, connections in use when their requests end.
 */
import type { Agent } from 'node:http'
import https from 'node:https'
import type { Duplex } from 'node:stream'
import type { ConnectionOptions } from 'node:tls'
import { messageOf, NetworkError } from '../../core/errors.ts'
import { builtins, isPair } from '../os/builtins.ts'
import type { Proxy, ServerAddress } from './address.ts'
import { networkError } from './network_error.ts'

/** CA, certificate and key for a TLS handshake, in PEM. */
export interface TlsMaterial {
  readonly ca: string | undefined
  readonly cert: string | undefined
  readonly key: string | undefined
}

export interface AgentPoolOptions {
  readonly address: ServerAddress
  readonly proxy: Proxy | undefined
  readonly serverName: string | undefined
  readonly insecure: boolean
}

/** Idle connections are closed after this time, before the API server (90 s) or a load balancer (often 60 s) does. */
const IDLE_MS = 55_000

export class AgentPool {
  readonly #options: AgentPoolOptions
  #current: { readonly agent: Agent; readonly material: TlsMaterial } | undefined

  constructor(options: AgentPoolOptions) {
    this.#options = options
  }

  /** Returns the agent for this material. @throws NetworkError if certificate and key do not match. */
  agent(material: TlsMaterial): Agent {
    const { address, proxy } = this.#options
    if (this.#current && (!address.tls || sameMaterial(this.#current.material, material))) return this.#current.agent
    if (address.tls) checkPair(material, address.authority)
    this.#retire()
    const agent = address.tls ? this.#tlsAgent(material) : new (builtins.http().Agent)(AGENT_OPTIONS)
    if (proxy) tunnelThrough(agent, proxy, address, material)
    this.#current = { agent, material }
    return agent
  }

  /**
   * Replaces an agent whose kept connections were closed or silent, so that later requests open new ones. Does nothing
   * if it was replaced before: many requests may fail at once.
   */
  discard(agent: Agent): void {
    if (this.#current?.agent === agent) this.#retire()
  }

  /** Forgets the agent. Its connections in use end with their requests. */
  #retire(): void {
    if (!this.#current) return
    const { agent } = this.#current
    this.#current = undefined
    closeIdle(agent)
    // Connections in use are destroyed once they are free.
    agent.on('free', (socket: Duplex) => socket.destroy())
  }

  /** Closes every connection once no request uses it. Does not abort requests. */
  close(): void {
    this.#retire()
  }

  #tlsAgent({ ca, cert, key }: TlsMaterial): Agent {
    const { serverName, insecure } = this.#options
    return new https.Agent({
      ...AGENT_OPTIONS,
      rejectUnauthorized: !insecure,
      // Without `ca`, Deno reads the system's CAs, which needs a permission, even if nothing is verified.
      ...((ca !== undefined || insecure) && { ca: ca ?? [] }),
      ...(cert !== undefined && key !== undefined && { cert, key }),
      ...(serverName !== undefined && { servername: serverName }),
    })
  }
}

const AGENT_OPTIONS = { keepAlive: true, keepAliveMsecs: 30_000, maxSockets: Infinity, timeout: IDLE_MS } as const

function closeIdle(agent: Agent): void {
  for (const sockets of Object.values(agent.freeSockets)) for (const socket of [...(sockets ?? [])]) socket.destroy()
}

/** Checks the pair because Deno accepts one that does not match or is not PEM, and connects without it. */
function checkPair({ cert, key }: TlsMaterial, authority: string): void {
  if (cert === undefined && key === undefined) return
  const refuse = (what: string, cause?: unknown): never => {
    throw new NetworkError(
      `Cannot connect to ${authority}: ${what}; check client-certificate-data and client-key-data of the user`,
      {
        phase: 'connect',
        cause,
      },
    )
  }
  if (cert === undefined) return refuse('there is a client key, but no client certificate')
  if (key === undefined) return refuse('there is a client certificate, but no client key')
  let matches: boolean
  try {
    matches = isPair(cert, key)
  } catch (error) {
    return refuse(`the client certificate or its key cannot be read (${messageOf(error).split('\n')[0]})`, error)
  }
  if (!matches) refuse('the client certificate and its key do not belong together')
}

function sameMaterial(a: TlsMaterial, b: TlsMaterial): boolean {
  return a.ca === b.ca && a.cert === b.cert && a.key === b.key
}

/** A request option that all three runtimes pass to `createConnection`: gets the function that cancels the tunnel. */
export interface TunnelRequest {
  readonly onTunnel?: (cancel: () => void) => void
}

/** Makes an agent open its connections in tunnels. A request that ends before its tunnel is open must cancel it. */
function tunnelThrough(agent: Agent, proxy: Proxy, target: ServerAddress, { ca }: TlsMaterial): void {
  agent.createConnection = (options, callback) => {
    const cancel = openTunnel({
      proxy,
      target,
      ca,
      onSocket: (socket) =>
        callback?.(null, target.tls ? builtins.tls().connect({ ...(options as ConnectionOptions), socket }) : socket),
      // Node's types require a socket here, but there is none.
      onError: (error) => callback?.(error, undefined as unknown as Duplex),
    })
    ;(options as TunnelRequest).onTunnel?.(cancel)
    return undefined
  }
}

/** A tunnel to open. Exactly one of the callbacks is called, once. */
interface TunnelOptions {
  readonly proxy: Proxy
  readonly target: ServerAddress
  /** The cluster's CAs. A proxy's certificate may be signed by them or by a CA that the system trusts. */
  readonly ca: string | undefined
  readonly onSocket: (socket: Duplex) => void
  readonly onError: (error: NetworkError) => void
}

/** Opens a tunnel. Returns a function that cancels it; once it is open, the socket's owner closes it. */
function openTunnel(options: TunnelOptions): () => void {
  const { proxy, target, ca, onSocket, onError } = options
  const name = `${target.authority} through proxy ${proxy.address.authority}`
  const request = (proxy.address.tls ? https : builtins.http()).request({
    host: proxy.address.host,
    port: proxy.address.port,
    method: 'CONNECT',
    path: target.authority,
    agent: false,
    headers: { host: target.authority, ...(proxy.authorization && { 'proxy-authorization': proxy.authorization }) },
    ...(proxy.address.tls && ca && { ca: [...builtins.tls().rootCertificates, ca] }),
  })
  let isOver = false
  const fail = (error: NetworkError): void => {
    if (isOver) return
    isOver = true
    // By a reset where possible: a proxy that hangs does not read the end of the stream, and would keep its side open.
    if (!proxy.address.tls) request.socket?.resetAndDestroy()
    request.destroy()
    onError(error)
  }
  request.once('connect', (answer, socket) => {
    if (!isOver && answer.statusCode === 200) {
      isOver = true
      return onSocket(socket)
    }
    // The proxy may keep it open to ask for credentials, but a new connection is used for that.
    socket.destroy()
    fail(refusal(name, answer.statusCode ?? 0, proxy.authorization !== undefined))
  })
  // A proxy that does not support CONNECT responds as to any other request.
  request.once('response', (answer) => fail(refusal(name, answer.statusCode ?? 0, proxy.authorization !== undefined)))
  // Not `once`: a destroyed request may report another error.
  request.on('error', (error) => fail(networkError(error, 'connect', name)))
  request.end()
  return () => fail(new NetworkError(`Cannot connect to ${name}: the request was cancelled`, { phase: 'connect' }))
}

function refusal(name: string, status: number, hasUser: boolean): NetworkError {
  const hint = status === 407
    ? hasUser ? 'check user and password in the proxy URL' : 'put user and password into the proxy URL'
    : 'check that the proxy may reach this server'
  return new NetworkError(`Cannot connect to ${name}: the proxy answered CONNECT with ${status}; ${hint}`, {
    phase: 'connect',
  })
}
