/** The real API server of the generators, from KUBEBUILDER_ASSETS. */
import type { HttpRequest } from '../../lib/core/transport.ts'
import { httpTransport } from '../../lib/runtime/net/transport.ts'
import { startEnvtest } from '../../lib/testing/envtest.ts'

export interface ApiServer {
  /** As in `v1.36.3`. */
  readonly version: string
  send(method: HttpRequest['method'], path: string, body?: unknown): Promise<{ status: number; text: string }>
  /** Returns the parsed answer. Rejects if it is an error. */
  ask<T>(path: string, method?: HttpRequest['method'], body?: unknown): Promise<T>
}

/** Calls `work` with a new server. */
export async function withApiServer(work: (server: ApiServer) => Promise<void>): Promise<void> {
  const envtest = await startEnvtest()
  const transport = httpTransport(envtest.config)
  const send: ApiServer['send'] = async (method, path, body) => {
    const headers = { 'content-type': 'application/json', accept: 'application/json' }
    const answer = await transport({ method, path, headers, ...(body !== undefined && { body: JSON.stringify(body) }) })
    return { status: answer.status, text: await answer.body.text() }
  }
  const ask: ApiServer['ask'] = async (path, method = 'GET', body = undefined) => {
    const { status, text } = await send(method, path, body)
    if (status >= 300) throw new Error(`Cannot ${method} ${path}: ${status} ${text}`)
    return JSON.parse(text)
  }
  try {
    const { gitVersion } = await ask<{ gitVersion: string }>('/version')
    await work({ version: gitVersion, send, ask })
  } finally {
    transport.close()
    await envtest.stop()
  }
}
