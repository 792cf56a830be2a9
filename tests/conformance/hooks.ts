/** The webhooks of the conformance cases: functions that a server under test calls, in memory or over TLS. */
import type { Body } from './api.ts'
import { NetworkError } from '../../lib/core/errors.ts'
import type { CallWebhook } from '../../lib/apiserver/mod.ts'
import { createAuthority } from '../../lib/runtime/net/certificates.ts'
import { serveHttps } from '../../lib/runtime/net/https_server.ts'
import { encodeBase64 } from '../../lib/core/base64.ts'
import { answerText } from '../../lib/apiserver/wire/respond.ts'

/** Returns the answer to a review as JSON, or any HTTP response. */
export type Responder = (review: Body) => unknown

/** A response that is not a review. */
export class RawResponse {
  readonly status: number
  readonly body: string

  constructor(status: number, body: string) {
    this.status = status
    this.body = body
  }
}

/** The webhooks of one server, by path. */
export interface Hooks {
  readonly responders: Map<string, Responder>
  /** Returns the clientConfig of a path. */
  client(path: string): { readonly url: string; readonly caBundle?: string }
}

/** A port that no process listens on. */
export const CLOSED_URL = 'https://127.0.0.1:1/closed'

async function answer(responders: Hooks['responders'], path: string, body: string): Promise<RawResponse> {
  const responder = responders.get(path)
  if (!responder) return new RawResponse(404, 'no such path')
  const response = await responder(JSON.parse(body))
  return response instanceof RawResponse ? response : new RawResponse(200, JSON.stringify(response))
}

/** Returns webhooks that are called in memory. */
export function hooksInMemory(): { readonly hooks: Hooks; readonly callWebhook: CallWebhook } {
  const responders = new Map<string, Responder>()
  return {
    hooks: { responders, client: (path) => ({ url: `https://127.0.0.1:9443${path}` }) },
    callWebhook: async ({ url, service }, body) => {
      if (url === undefined) throw new Error(`service ${JSON.stringify(service?.name)} not found`)
      if (url === CLOSED_URL) {
        throw new NetworkError('Cannot connect to 127.0.0.1:1', { phase: 'connect', code: 'ECONNREFUSED' })
      }
      return answer(responders, new URL(url).pathname, body)
    },
  }
}

/** Serves webhooks on loopback, with a certificate of a new authority. */
export async function servedHooks(): Promise<Hooks & { close(): Promise<void> }> {
  const responders = new Map<string, Responder>()
  const authority = await createAuthority()
  const names = { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] }
  const { cert, key } = await authority.issue({ commonName: 'webhooks', ...names, usage: 'server' })
  const server = await serveHttps({
    host: '127.0.0.1',
    port: 0,
    cert,
    key,
    maxBodyBytes: 8 * 1024 * 1024,
    handle: async ({ path, body }) => {
      const response = await answer(responders, path.split('?')[0]!, new TextDecoder().decode(body))
      return answerText(response.status, response.body, 'application/json')
    },
    refuseBody: () => answerText(413, ''),
    onError: (error) => console.error('A webhook of a conformance case failed:', error),
  })
  const caBundle = encodeBase64(authority.ca)
  return {
    responders,
    client: (path) => ({ url: `https://127.0.0.1:${server.port}${path}`, caBundle }),
    close: () => server.close(),
  }
}
