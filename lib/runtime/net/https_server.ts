/** Serves HTTP over TLS, and checks that it is served. */
import { untilAborted } from '../../async/abort.ts'
import { nodeTls } from '../os/builtins.ts'
import { SERVER_PARTS } from './listen.ts'
import { type HttpsServer, type HttpsServerOptions, serveTls } from './tls_server.ts'

export type { ServerRequest } from './server_exchange.ts'
export type { HttpsServer, HttpsServerOptions } from './tls_server.ts'

/** As {@link serveTls}. */
export async function serveHttps(options: HttpsServerOptions): Promise<HttpsServer> {
  return await serveTls(options, SERVER_PARTS)
}

/** Completes a TLS handshake with a server of this process, whatever its certificate. Rejects if that fails. */
export async function dialTls(
  server: { readonly host: string; readonly port: number },
  signal: AbortSignal,
): Promise<void> {
  const host = server.host === '::' || server.host === '0.0.0.0' ? '127.0.0.1' : server.host
  const socket = nodeTls().connect({ host, port: server.port, rejectUnauthorized: false })
  const connected = new Promise<void>((resolve, reject) => {
    socket.on('secureConnect', () => resolve())
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('The server closed the connection')))
  })
  try {
    await untilAborted(connected, signal)
  } finally {
    socket.destroy()
  }
}
