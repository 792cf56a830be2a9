/** A webhook server for tests: admits everything, and closes its sessions when the certificate changes. */
import {
  createSecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:tls'
import type { CertificatePair } from '../../lib/webhook/handler.ts'

export interface ReviewServer {
  readonly port: number
  readonly url: string
  /** The number of reviews that were answered. */
  readonly calls: number
  /** Serves another pair to new connections, and lets the old ones end. */
  use(pair: CertificatePair): void
  close(): Promise<void>
}

export async function serveReviews(pair: CertificatePair): Promise<ReviewServer> {
  const server = createSecureServer({ cert: pair.cert, key: pair.key, allowHTTP1: true })
  const sessions = new Set<ServerHttp2Session>()
  let calls = 0
  server.on('session', (session: ServerHttp2Session) => {
    sessions.add(session)
    session.on('close', () => sessions.delete(session))
    session.on('error', () => session.destroy())
  })
  for (const event of ['tlsClientError', 'sessionError']) server.on(event, () => {})
  server.on('request', (request: Http2ServerRequest, response: Http2ServerResponse) => {
    let text = ''
    request.setEncoding('utf8')
    request.on('data', (chunk: string) => (text += chunk))
    request.on('end', () => {
      calls++
      const { uid } = (JSON.parse(text) as { request: { uid: string } }).request
      response.setHeader('content-type', 'application/json')
      response.end(
        JSON.stringify({
          apiVersion: 'admission.k8s.io/v1',
          kind: 'AdmissionReview',
          response: { uid, allowed: true },
        }),
      )
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `https://127.0.0.1:${port}`,
    get calls() {
      return calls
    },
    use({ cert, key }) {
      server.setSecureContext({ cert, key })
      for (const session of [...sessions]) session.close()
    },
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const session of [...sessions]) session.destroy()
      await closed
    },
  }
}

/** Opens a new connection that trusts only these CAs. Resolves with the served certificate, or rejects. */
export function dial(port: number, ca: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, ca, ALPNProtocols: ['h2'] }, () => {
      // On Deno it is a plain Uint8Array.
      const served = Buffer.from(socket.getPeerCertificate().raw)
      socket.destroy()
      resolve(served.toString('base64'))
    })
    socket.on('error', reject)
  })
}
