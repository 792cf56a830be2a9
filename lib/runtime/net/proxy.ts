/** Opens tunnels to a server through an HTTP proxy, by CONNECT. */
import https from 'node:https'
import type { Duplex } from 'node:stream'
import { NetworkError } from '../../core/errors.ts'
import { builtins } from '../os/builtins.ts'
import { networkError } from './network_error.ts'
import type { Proxy, ServerAddress } from './address.ts'

/** A tunnel to open. Exactly one of the callbacks is called, once. */
export interface TunnelOptions {
  readonly proxy: Proxy
  readonly target: ServerAddress
  /** The cluster's CAs. A proxy's certificate may be signed by them or by a CA that the system trusts. */
  readonly ca: string | undefined
  readonly onSocket: (socket: Duplex) => void
  readonly onError: (error: NetworkError) => void
}

/** Opens a tunnel. Returns a function that cancels it; once it is open, the socket's owner closes it. */
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
