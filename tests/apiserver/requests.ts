/** Requests to an embedded API. */
import assert from 'node:assert/strict'
import type { ApiServer } from '../../lib/apiserver/mod.ts'
import type { HttpRequest, HttpResponse } from '../../lib/core/transport.ts'

// deno-lint-ignore no-explicit-any -- tests read any path of a body; a wrong path fails an assertion
export type Body = any
export type Method = HttpRequest['method']

export interface Answer {
  readonly status: number
  readonly headers: HttpResponse['headers']
  /** What JSON says, or the text. */
  readonly body: Body
}

/** Sends a request with a JSON body, or with a text or bytes as they are. */
export async function send(
  { handle }: Pick<ApiServer, 'handle'>,
  method: Method,
  path: string,
  body?: unknown,
  { headers, signal }: Pick<HttpRequest, 'headers' | 'signal'> = {},
): Promise<Answer> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
  const isSent = body === undefined || typeof body === 'string' || body instanceof Uint8Array
  const text = isSent ? body : JSON.stringify(body)
  const response = await handle({ method, path, headers: { 'content-type': type, ...headers }, body: text, signal })
  const answer = await response.body.text()
  return {
    status: response.status,
    headers: response.headers,
    body: answer.startsWith('{') ? JSON.parse(answer) : answer,
  }
}

/** Sends a request that must succeed, and returns the body of the answer. */
export async function must(
  server: Pick<ApiServer, 'handle'>,
  method: Method,
  path: string,
  body?: unknown,
): Promise<Body> {
  const answer = await send(server, method, path, body)
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}
