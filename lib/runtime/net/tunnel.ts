/** Opens connections by CONNECT through an HTTP proxy. */
import type { Agent } from 'node:http'
import https from 'node:https'
import type { Duplex } from 'node:stream'
import type { ConnectionOptions } from 'node:tls'
import type { NetworkError } from '../../core/errors.ts'
import { nodeHttp, nodeTls } from '../os/builtins.ts'
import type { Proxy, ServerAddress } from './address.ts'

/** A request option that all three runtimes pass to `createConnection`: gets the function that cancels the tunnel. */
export interface TunnelRequest {
  readonly onTunnel?: (cancel: () => void) => void
}

/** Makes an agent open its connections in tunnels. A request that ends before its tunnel is open must cancel it. */
export function tunnelThrough(agent: Agent, route: Route): void {
  agent.createConnection = (options, callback) => {
    const cancel = openTunnel({
      ...route,
      onSocket: (socket) =>
        callback?.(null, route.target.tls ? nodeTls().connect({ ...(options as ConnectionOptions), socket }) : socket),
      // Node's types require a socket here, but there is none.
      onError: (error) => callback?.(error, undefined as unknown as Duplex),
    })
    ;(options as TunnelRequest).onTunnel?.(cancel)
    return undefined
  }
}

/** Errors are made by mod.js, which has their class. */
interface Route {
  readonly proxy: Proxy
  readonly target: ServerAddress
  /** The cluster's CAs. A proxy's certificate may be signed by them or by a CA that the system trusts. */
  readonly ca: string | undefined
  readonly error: (message: string) => NetworkError
  readonly explain: (cause: unknown, name: string) => NetworkError
}

/** A tunnel to open. Exactly one of the callbacks is called, once. */
interface TunnelOptions extends Route {
  readonly onSocket: (socket: Duplex) => void
  readonly onError: (error: NetworkError) => void
}

/** Opens a tunnel. Returns a function that cancels it; once it is open, the socket's owner closes it. */
function openTunnel(options: TunnelOptions): () => void {
  const { proxy, target, ca, error, explain, onSocket, onError } = options
  const name = `${target.authority} through proxy ${proxy.address.authority}`
  const request = (proxy.address.tls ? https : nodeHttp()).request({
    host: proxy.address.host,
    port: proxy.address.port,
    method: 'CONNECT',
    path: target.authority,
    agent: false,
    headers: { host: target.authority, ...(proxy.authorization && { 'proxy-authorization': proxy.authorization }) },
    ...(proxy.address.tls && ca && { ca: [...nodeTls().rootCertificates, ca] }),
  })
  let isOver = false
  const fail = (reason: NetworkError): void => {
    if (isOver) return
    isOver = true
    // By a reset where possible: a proxy that hangs does not read the end of the stream, and would keep its side open.
    if (!proxy.address.tls) request.socket?.resetAndDestroy()
    request.destroy()
    onError(reason)
  }
  request.once('connect', (answer, socket) => {
    if (!isOver && answer.statusCode === 200) {
      isOver = true
      return onSocket(socket)
    }
    // The proxy may keep it open to ask for credentials, but a new connection is used for that.
    socket.destroy()
    fail(error(refusal(name, answer.statusCode ?? 0, proxy.authorization !== undefined)))
  })
  // A proxy that does not support CONNECT responds as to any other request.
  request.once(
    'response',
    (answer) => fail(error(refusal(name, answer.statusCode ?? 0, proxy.authorization !== undefined))),
  )
  // Not `once`: a destroyed request may report another error.
  request.on('error', (cause) => fail(explain(cause, name)))
  request.end()
  return () => fail(error(`Cannot connect to ${name}: the request was cancelled`))
}

function refusal(name: string, status: number, hasUser: boolean): string {
  const hint = status === 407
    ? hasUser ? 'check user and password in the proxy URL' : 'put user and password into the proxy URL'
    : 'check that the proxy may reach this server'
  return `Cannot connect to ${name}: the proxy answered CONNECT with ${status}; ${hint}`
}
