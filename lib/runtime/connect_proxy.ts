/** Reaches a server through an HTTP proxy: CONNECT, and then TLS with the server inside the tunnel. */
import https from 'node:https'
import type { Duplex } from 'node:stream'
import { NetworkError } from '../core/errors.ts'
import { builtins } from './builtins.ts'
import { networkError } from './network_error.ts'
import { parseServer, parseUrl, type ServerAddress } from './server_address.ts'

/** A proxy, and how to introduce ourselves to it. */
export interface Proxy {
  readonly address: ServerAddress
  /** The whole Proxy-Authorization header, if the URL has a user. */
  readonly authorization: string | undefined
}

/** @throws ConfigError when it is not an http or https URL. */
export function parseProxy(proxy: string): Proxy {
  const address = parseServer(proxy, 'proxy')
  const { username, password } = parseUrl(proxy)!
  const plain = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return { address, authorization: username ? `Basic ${Buffer.from(plain).toString('base64')}` : undefined }
}

/** A tunnel that was asked for. Exactly one of the two callbacks is called, unless it was given up before. */
export interface TunnelOptions {
  readonly proxy: Proxy
  readonly target: ServerAddress
  /** CAs of the cluster: a proxy with TLS may be signed by them, or by one that the system trusts. */
  readonly ca: string | undefined
  readonly onSocket: (socket: Duplex) => void
  readonly onError: (error: NetworkError) => void
}

/** Asks a proxy for a tunnel; returns what gives it up. */
export function openTunnel(options: TunnelOptions): () => void {
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
  request.once('connect', (answer, socket) => {
    if (answer.statusCode === 200) return onSocket(socket)
    socket.destroy()
    onError(refusal(name, answer.statusCode ?? 0, proxy.authorization !== undefined))
  })
  // A proxy that does not know CONNECT answers it like any request.
  request.once('response', (answer) => {
    request.destroy()
    onError(refusal(name, answer.statusCode ?? 0, proxy.authorization !== undefined))
  })
  request.once('error', (error) => onError(networkError(error, 'connect', name)))
  request.end()
  return () => request.destroy()
}

function refusal(name: string, status: number, hasUser: boolean): NetworkError {
  const hint = status === 407
    ? hasUser ? 'check user and password in the proxy URL' : 'put user and password into the proxy URL'
    : 'check that the proxy may reach this server'
  return new NetworkError(`Cannot connect to ${name}: the proxy answered CONNECT with ${status}; ${hint}`, { phase: 'connect' })
}
