/** An HTTPS server in front of an API server that reads what it passes on, so that it can break single answers. */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Agent, createServer, request as send } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { ClusterConfig } from '../../lib/core/cluster_config.ts'
import { type Authority, createAuthority, type IssuedCertificate } from '../../lib/runtime/net/certificates.ts'

type Change = Buffer | { readonly last: Buffer }

/** One request, and what can be done to its answer. */
export type Call = ReturnType<typeof callOf>

export interface Front {
  readonly port: number
  readonly ca: string
  /** What is done to each call. Default: it is forwarded. */
  fault: ((call: Call) => Promise<void> | void) | undefined
  /** Serves another certificate to later connections. Default: its first one. */
  serve(certificate?: IssuedCertificate): void
  /** Issues a certificate that has expired. */
  expired(): Promise<IssuedCertificate>
  close(): Promise<void>
}

const NAMES = { commonName: 'front', usage: 'server', ipAddresses: ['127.0.0.1'], dnsNames: ['localhost'] } as const

export function issueFor(authority: Authority, now?: number): Promise<IssuedCertificate> {
  return authority.issue({ ...NAMES, ...(now !== undefined && { now, validForMs: 3_600_000 }) })
}

export async function openFront(upstream: ClusterConfig): Promise<Front> {
  const yesterday = Date.now() - 86_400_000
  const authority = await createAuthority({ commonName: 'front-ca', now: yesterday })
  const own = await issueFor(authority, Date.now())
  const agent = new Agent({ keepAlive: true, ca: upstream.ca as string })
  const server = createServer(own, (request, response) => {
    // A broken answer ends one of both sides first.
    for (const each of [request, response]) each.on('error', () => response.destroy())
    const call = callOf(upstream, agent, request, response)
    Promise.resolve(front.fault ? front.fault(call) : call.forward()).catch(() => response.destroy())
  })
  server.on('tlsClientError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const front: Front = {
    port: (server.address() as AddressInfo).port,
    ca: authority.ca,
    fault: undefined,
    serve: (certificate = own) => server.setSecureContext(certificate),
    expired: () => issueFor(authority, yesterday),
    async close() {
      server.close()
      server.closeAllConnections()
      agent.destroy()
      await once(server, 'close')
    },
  }
  return front
}

function callOf(upstream: ClusterConfig, agent: Agent, request: IncomingMessage, response: ServerResponse) {
  const path = request.url ?? '/'
  return {
    path,
    isWatch: /[?&]watch=/.test(path),
    /** Whether it is of a Lease. */
    isLease: path.includes('/leases'),
    /** Passes the answer on. `change` is called with each part of the body, and returns what is sent, or is sent last. */
    async forward(change: (bytes: Buffer) => Change | Promise<Change> = (bytes) => bytes) {
      const { hostname, port } = new URL(upstream.server)
      const { method, headers } = request
      const sent = request.pipe(send({ hostname, port, agent, method, path, headers }))
      response.on('close', () => sent.destroy())
      const [answer] = await once(sent, 'response') as [IncomingMessage]
      response.writeHead(answer.statusCode ?? 0, answer.headers).flushHeaders()
      for await (const bytes of answer) {
        const changed = await change(bytes as Buffer)
        if ('last' in changed) return void response.write(changed.last, () => response.destroy())
        if (!response.write(changed)) await Promise.race([once(response, 'drain'), once(response, 'close')])
      }
      response.end()
    },
    refuse(code: number, headers: Record<string, string> = {}) {
      request.resume()
      const status = {
        kind: 'Status',
        apiVersion: 'v1',
        status: 'Failure',
        code,
        reason: '',
        message: `refused: ${code}`,
      }
      response.writeHead(code, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(status))
    },
  }
}
