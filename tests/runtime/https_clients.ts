/** Clients of a TLS server, over HTTP/1.1 and HTTP/2. */
import type { Agent as HttpAgent, request as httpRequest } from 'node:http'
import { type ClientHttp2Session, connect as connectH2 } from 'node:http2'
import { Agent, request as httpsRequest } from 'node:https'
import { thisRuntime } from '../../lib/runtime/os/this_runtime.ts'

/** Why servers have no HTTP/2; false where they have it. */
export const noHttp2 = thisRuntime().name !== 'deno' ? false : 'Deno crashes: github.com/denoland/deno/issues/36788'

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

/** The CA that a client trusts, and its own certificate. */
export interface Tls {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

export function openSession(port: number, options: Tls): ClientHttp2Session {
  const session = connectH2(`https://127.0.0.1:${port}`, options)
  session.on('error', () => {})
  return session
}

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

/** Calls over HTTP/1.1, with TLS or by the `send` of node:http. */
export function ask1(
  port: number,
  call: Call & Tls & { readonly agent?: Agent | HttpAgent; readonly send?: typeof httpRequest },
): Promise<Answer> {
  const { path = '/', method = 'POST', body = '', headers = {}, agent = false, send = httpsRequest, ...tls } = call
  return new Promise((resolve, reject) => {
    const to = { host: '127.0.0.1', port, path, method, headers, ALPNProtocols: ['http/1.1'], agent, ...tls }
    const request = send(to, (response) => {
      let text = ''
      response.on('data', (chunk: Uint8Array) => (text += new TextDecoder().decode(chunk)))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
      response.on('error', reject)
    })
    request.on('error', reject)
    request.end(body)
  })
}

/** A client that keeps its connections. */
export interface KeptClient {
  ask(call?: Call): Promise<Answer>
  /** Ends open requests, too. */
  close(): void
}

/** Opens a client of HTTP/2, or of HTTP/1.1 where servers have no other. */
export function openClient(port: number, options: Tls): KeptClient {
  if (noHttp2) {
    const agent = new Agent({ keepAlive: true })
    return { ask: (call = {}) => ask1(port, { ...call, ...options, agent }), close: () => agent.destroy() }
  }
  const session = openSession(port, options)
  return { ask: (call = {}) => ask2(session, call), close: () => session.destroy() }
}
