/**
 * The keep-alive connections to one server. TLS material belongs to a connection for its whole life, so when it changes
 * a new agent takes over: what is idle on the old one is closed, what is in use ends by itself.
 */
import type { Agent } from 'node:http'
import https from 'node:https'
import type { Duplex } from 'node:stream'
import type { ConnectionOptions } from 'node:tls'
import { messageOf, NetworkError } from '../../core/errors.ts'
import { builtins } from '../os/builtins.ts'
import type { Proxy } from './address.ts'
import { openTunnel } from './proxy.ts'
import { isPair } from './key_pair.ts'
import type { ServerAddress } from './address.ts'

/** What a TLS handshake needs. PEM texts. */
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

/** Idle connections are closed after this, before the API server (90 s) or a load balancer (often 60 s) does. */
const IDLE_MS = 55_000

export class AgentPool {
  readonly #options: AgentPoolOptions
  #current: { readonly agent: Agent; readonly material: TlsMaterial } | undefined

  constructor(options: AgentPoolOptions) {
    this.#options = options
  }

  /** The agent for this material. @throws NetworkError when certificate and key are no pair. */
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
   * Replaces an agent whose kept connections turned out to be closed or silent: requests from now on get new ones. Of many that
   * find out at once, the first does it for all.
   */
  giveUp(agent: Agent): void {
    if (this.#current?.agent === agent) this.#retire()
  }

  /** Forgets the agent. Its connections in use end with their requests, and keep nothing else alive. */
  #retire(): void {
    if (!this.#current) return
    const { agent } = this.#current
    this.#current = undefined
    closeIdle(agent)
    // Connections in use are not kept once they are free.
    agent.on('free', (socket: Duplex) => socket.destroy())
  }

  /** Closes every connection that no request uses, now and later. Requests under way are ended by their own owner. */
  close(): void {
    this.#retire()
  }

  #tlsAgent({ ca, cert, key }: TlsMaterial): Agent {
    const { serverName, insecure } = this.#options
    return new https.Agent({
      ...AGENT_OPTIONS,
      rejectUnauthorized: !insecure,
      // With none at all Deno would read the system's, which needs a permission, though nothing is verified.
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

/** Deno takes a pair that does not match, or is no PEM at all, and connects without it: so we look ourselves. */
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

/** An option of a request that all three runtimes hand on to `createConnection`: what gives its tunnel up. */
export interface TunnelRequest {
  readonly onTunnel?: (giveUp: () => void) => void
}

/** Makes an agent open its connections inside tunnels. A request that ends before its tunnel stands must give that up. */
function tunnelThrough(agent: Agent, proxy: Proxy, target: ServerAddress, { ca }: TlsMaterial): void {
  agent.createConnection = (options, callback) => {
    const giveUp = openTunnel({
      proxy,
      target,
      ca,
      onSocket: (socket) =>
        callback?.(null, target.tls ? builtins.tls().connect({ ...(options as ConnectionOptions), socket }) : socket),
      // A socket has to be named in Node's types, though there is none.
      onError: (error) => callback?.(error, undefined as unknown as Duplex),
    })
    ;(options as TunnelRequest).onTunnel?.(giveUp)
    return undefined
  }
}
