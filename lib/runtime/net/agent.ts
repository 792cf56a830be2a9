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
import { isPair, nodeHttp } from '../os/builtins.ts'
import type { Proxy, ServerAddress } from './address.ts'
import { networkError } from './network_error.ts'
import type { tunnelThrough } from './tunnel.ts'

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
  readonly options: AgentPoolOptions
  #current: { readonly agent: Agent; readonly material: TlsMaterial } | undefined

  constructor(options: AgentPoolOptions) {
    this.options = options
  }

  /** `tunnel`: needed with a proxy. @throws NetworkError if certificate and key do not match. */
  agent(material: TlsMaterial, tunnel?: typeof tunnelThrough): Agent {
    const { address, proxy } = this.options
    if (this.#current && (!address.tls || sameMaterial(this.#current.material, material))) return this.#current.agent
    if (address.tls) checkPair(material, address.authority)
    this.retire()
    const agent = address.tls ? this.#tlsAgent(material) : new (nodeHttp().Agent)(AGENT_OPTIONS)
    if (proxy) {
      tunnel!(agent, {
        proxy,
        target: address,
        ca: material.ca,
        error: (message) => new NetworkError(message, { phase: 'connect' }),
        explain: (cause, name) => networkError(cause, 'connect', name),
      })
    }
    this.#current = { agent, material }
    return agent
  }

  /**
   * Replaces an agent whose kept connections were closed or silent, so that later requests open new ones. Does nothing
   * if it was replaced before: many requests may fail at once.
   */
  discard(agent: Agent): void {
    if (this.#current?.agent === agent) this.retire()
  }

  /** Forgets the agent. Its idle connections are closed, those in use when their requests end. */
  retire(): void {
    if (!this.#current) return
    const { agent } = this.#current
    this.#current = undefined
    closeIdle(agent)
    // Connections in use are destroyed once they are free.
    agent.on('free', (socket: Duplex) => socket.destroy())
  }

  #tlsAgent(material: TlsMaterial): Agent {
    const { serverName, insecure } = this.options
    return new https.Agent({
      ...AGENT_OPTIONS,
      ...tlsOptions(material, insecure),
      ...(serverName !== undefined && { servername: serverName }),
    })
  }
}

export function tlsOptions({ ca, cert, key }: TlsMaterial, insecure: boolean): ConnectionOptions {
  return {
    rejectUnauthorized: !insecure,
    // Without `ca`, Deno reads the system's CAs, which needs a permission, even if nothing is verified.
    ...((ca !== undefined || insecure) && { ca: ca ?? [] }),
    ...(cert !== undefined && key !== undefined && { cert, key }),
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
      { phase: 'connect', cause },
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

export function sameMaterial(a: TlsMaterial, b: TlsMaterial): boolean {
  return a.ca === b.ca && a.cert === b.cert && a.key === b.key
}
