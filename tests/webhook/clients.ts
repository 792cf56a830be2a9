/** Certificates, a certificate source and clients for the tests of the webhook server. */
import { type ClientHttp2Session, connect as connectH2 } from 'node:http2'
import { Agent, request as httpsRequest } from 'node:https'
import { aborted } from '../../lib/async/abort.ts'
import { nextTurn } from '../../lib/async/clock.ts'
import { type Authority, createAuthority, type IssuedCertificate } from '../../lib/runtime/net/certificates.ts'
import type { CertificatePair, CertificateSource } from '../../lib/webhook/handler.ts'

/** Two generations of a server's certificate, and a client's of another authority. */
export interface Certificates {
  readonly authority: Authority
  readonly clients: Authority
  readonly first: IssuedCertificate
  readonly second: IssuedCertificate
  readonly client: IssuedCertificate
}

let shared: Promise<Certificates> | undefined

/** Returns one set for all tests of a file, because creating keys is slow. */
export function certificates(): Promise<Certificates> {
  return (shared ??= create())
}

async function create(): Promise<Certificates> {
  const authority = await createAuthority({ commonName: 'test' })
  const clients = await createAuthority({ commonName: 'clients' })
  const names = { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'], usage: 'server' } as const
  return {
    authority,
    clients,
    first: await authority.issue({ ...names, commonName: 'first' }),
    second: await authority.issue({ ...names, commonName: 'second' }),
    client: await clients.issue({ commonName: 'api', usage: 'client' }),
  }
}

/** A source whose pairs a test sets. */
export class TestSource implements CertificateSource {
  #use: ((pair: CertificatePair) => void) | undefined
  #next: CertificatePair | undefined
  isRunning = false

  constructor(first?: CertificatePair) {
    this.#next = first
  }

  set(pair: CertificatePair): void {
    this.#next = pair
    this.#use?.(pair)
  }

  async run(use: (pair: CertificatePair) => void, signal: AbortSignal): Promise<void> {
    this.isRunning = true
    this.#use = use
    if (this.#next) use(this.#next)
    await aborted(signal)
    // Its end takes some time, as that of a watch does.
    for (let turn = 0; turn < 20; turn++) await nextTurn()
    this.isRunning = false
  }
}

export interface Answer {
  readonly status: number
  readonly text: string
  readonly headers: Readonly<Record<string, unknown>>
}

export interface Call {
  readonly path?: string
  readonly method?: string
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

export function openSession(
  port: number,
  options: { ca?: string; cert?: string; key?: string },
): ClientHttp2Session {
  const session = connectH2(`https://127.0.0.1:${port}`, options)
  session.on('error', () => {})
  return session
}

/** Calls over HTTP/2. */
export function ask2(session: ClientHttp2Session, call: Call): Promise<Answer> {
  const { path = '/', method = 'POST', body = '', headers = {} } = call
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':path': path, ':method': method, ...headers })
    let text = ''
    let answered: Record<string, unknown> = {}
    stream.on('response', (head) => (answered = head))
    stream.on('data', (chunk: Uint8Array) => (text += new TextDecoder().decode(chunk)))
    stream.on('error', reject)
    stream.on('close', () => resolve({ status: Number(answered[':status']), headers: answered, text }))
    if (method === 'POST') stream.end(body)
  })
}

/** Calls over HTTP/1.1. */
export function ask1(
  port: number,
  call: Call & { readonly ca?: string; readonly agent?: Agent; readonly cert?: string; readonly key?: string },
): Promise<Answer> {
  const { path = '/', method = 'POST', body = '', headers = {}, agent, ...tls } = call
  return new Promise((resolve, reject) => {
    const to = { host: '127.0.0.1', port, path, method, headers, ALPNProtocols: ['http/1.1'], ...tls }
    const request = httpsRequest({ ...to, agent: agent ?? false }, (response) => {
      let text = ''
      response.on('data', (chunk: Uint8Array) => (text += new TextDecoder().decode(chunk)))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
      response.on('error', reject)
    })
    request.on('error', reject)
    request.end(body)
  })
}
