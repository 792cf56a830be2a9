/** The real API server of the generators, from KUBEBUILDER_ASSETS. */
import type { HttpRequest } from '../../lib/core/transport.ts'
import { withPlane } from './real_plane.ts'

export interface ApiServer {
  /** As in `v1.36.3`. */
  readonly version: string
  send(method: HttpRequest['method'], path: string, body?: unknown): Promise<{ status: number; text: string }>
  /** Returns the parsed answer. Rejects if it is an error. */
  ask<T>(path: string, method?: HttpRequest['method'], body?: unknown): Promise<T>
}

export function withApiServer(work: (server: ApiServer) => Promise<void>): Promise<void> {
  return withPlane(async (_, transport) => {
    const send: ApiServer['send'] = async (method, path, body) => {
      const headers = { 'content-type': 'application/json', accept: 'application/json' }
      const json = body !== undefined && { body: JSON.stringify(body) }
      const answer = await transport({ method, path, headers, ...json })
      return { status: answer.status, text: await answer.body.text() }
    }
    const ask: ApiServer['ask'] = async (path, method = 'GET', body = undefined) => {
      const { status, text } = await send(method, path, body)
      if (status >= 300) throw new Error(`Cannot ${method} ${path}: ${status} ${text}`)
      return JSON.parse(text)
    }
    const { gitVersion } = await ask<{ gitVersion: string }>('/version')
    await work({ version: gitVersion, send, ask })
  })
}
