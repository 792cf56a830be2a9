/** An https server on loopback with its own certificate, for benchmarks without an API server. */
import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createAuthority } from '../../lib/runtime/net/certificates.ts'

export async function serveTls(listener: RequestListener) {
  const authority = await createAuthority({ commonName: 'bench-ca' })
  const { cert, key } = await authority.issue({ commonName: 'bench', ipAddresses: ['127.0.0.1'], usage: 'server' })
  const server = createServer({ cert, key }, listener)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    ca: authority.ca,
    /** Closes at once, including open responses. */
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
