/** Reaches a server through an HTTP proxy: CONNECT, and then TLS with the server inside the tunnel. */
import https from 'node:https'
import type { Duplex } from 'node:stream'
import { NetworkError } from '../../core/errors.ts'
import { builtins } from '../os/builtins.ts'
import { networkError } from './network_error.ts'
import type { Proxy, ServerAddress } from './address.ts'

/** A tunnel that was asked for. Exactly one of the two callbacks is called, and once. */
export interface TunnelOptions {
  readonly proxy: Proxy
  readonly target: ServerAddress
  /** CAs of the cluster: a proxy with TLS may be signed by them, or by one that the system trusts. */
  readonly ca: string | undefined
  readonly onSocket: (socket: Duplex) => void
  readonly onError: (error: NetworkError) => void
}

/** Asks a proxy for a tunnel. Returns a function that gives it up, unless it stands: then it is its socket's owner who closes it. */
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
  let isOver = false
  const fail = (error: NetworkError): void => {
    if (isOver) return
    isOver = true
    // By a reset where that can be: a proxy that is stuck reads no end, and would keep its side.
    if (!proxy.address.tls) request.socket?.resetAndDestroy()
    request.destroy()
    onError(error)
  }
  request.once('connect', (answer, socket) => {
    if (!isOver && answer.statusCode === 200) {
      isOver = true
      return onSocket(socket)
    }
    // The proxy may keep it open, and ask for a user on it: nothing of ours will.
    socket.destroy()
    fail(refusal(name, answer.statusCode ?? 0, proxy.authorization !== undefined))
  })
  // A proxy that does not know CONNECT answers it like any request.
  request.once('response', (answer) => fail(refusal(name, answer.statusCode ?? 0, proxy.authorization !== undefined)))
  // Not once: what is destroyed may report that as an error, too.
  request.on('error', (error) => fail(networkError(error, 'connect', name)))
  request.end()
  return () => fail(new NetworkError(`Cannot connect to ${name}: the request was given up`, { phase: 'connect' }))
}

function refusal(name: string, status: number, hasUser: boolean): NetworkError {
  const hint = status === 407
    ? hasUser ? 'check user and password in the proxy URL' : 'put user and password into the proxy URL'
    : 'check that the proxy may reach this server'
  return new NetworkError(`Cannot connect to ${name}: the proxy answered CONNECT with ${status}; ${hint}`, {
    phase: 'connect',
  })
}
