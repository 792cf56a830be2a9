/** An https server on loopback with its own certificate, for benchmarks without an API server. */
import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createAuthority } from '../../lib/runtime/net/certificates.ts'

export interface TlsServer {
  readonly port: number
  readonly ca: string
  /** Closes at once, including open responses. */
  close(): Promise<void>
}

export async function serveTls(listener: RequestListener): Promise<TlsServer> {
  const authority = await createAuthority({ commonName: 'bench-ca' })
  const { cert, key } = await authority.issue({ commonName: 'bench', ipAddresses: ['127.0.0.1'], usage: 'server' })
  const server = createServer({ cert, key }, listener)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    ca: authority.ca,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
