/**
 * Runs the generated APIs of @kubernetes/client-node over kubeloop's transport: on every runtime, with shared
 * connections.
 */
import type { HttpBody, HttpRequest, Transport } from '../core/transport.ts'
import { loadClientNode } from './client_node.ts'

/** The part of client-node that is used. */
interface ClientNode {
  createConfiguration(parameters: { baseServer: unknown; httpApi: unknown }): unknown
  wrapHttpLibrary(library: { send(request: RequestContext): Promise<unknown> }): unknown
  readonly ServerConfiguration: new (url: string, variables: object) => unknown
  readonly ResponseContext: new (status: number, headers: object, body: object) => unknown
}

/** The part of its requests that is used. */
interface RequestContext {
  getUrl(): string
  getHttpMethod(): string
  getHeaders(): Readonly<Record<string, string>>
  getBody(): unknown
  getSignal(): AbortSignal | undefined
}

/** A generated API of client-node, such as `CoreV1Api`. */
// deno-lint-ignore no-explicit-any -- the type of its configuration is client-node's own
export type ApiClass<A> = new (configuration: any) => A

/** A placeholder origin: the transport knows the server. */
const ORIGIN = 'https://cluster.invalid'

const METHODS: ReadonlySet<string> = new Set<HttpRequest['method']>(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])

/**
 * Returns a generated API of client-node that sends by a transport: that of an operator's {@link Cluster}, or one made
 * by `httpTransport`. It has no cache, no fence, and no retries but the transport's own.
 *
 * Rejects with a ConfigError if client-node cannot be loaded.
 *
 * @example
 * ```ts
 * import { CoreV1Api } from '@kubernetes/client-node'
 * import { httpTransport, loadConfig } from 'kubeloop'
 * import { makeApiClient } from 'kubeloop/client-node'
 * const transport = httpTransport((await loadConfig()).cluster)
 * const core = await makeApiClient(CoreV1Api, { transport })
 * ```
 */
export async function makeApiClient<A>(Api: ApiClass<A>, { transport }: { readonly transport: Transport }): Promise<A> {
  const clientNode = await loadClientNode<ClientNode>('Cannot make an API client')
  const send = async (request: RequestContext): Promise<unknown> => {
    const { status, headers, body } = await transport(requestOf(request))
    return new clientNode.ResponseContext(status, headers, bodyOf(body))
  }
  const baseServer = new clientNode.ServerConfiguration(ORIGIN, {})
  return new Api(clientNode.createConfiguration({ baseServer, httpApi: clientNode.wrapHttpLibrary({ send }) }))
}

function requestOf(request: RequestContext): HttpRequest {
  const method = request.getHttpMethod()
  const { pathname, search } = new URL(request.getUrl())
  const body = request.getBody()
  if (!METHODS.has(method)) {
    throw new TypeError(`Cannot send ${method} ${pathname}: the transport has ${[...METHODS].join(', ')} only`)
  }
  if (body !== undefined && typeof body !== 'string') {
    throw new TypeError(`Cannot send ${method} ${pathname}: its body is not text`)
  }
  const headers = Object.entries(request.getHeaders()).map(([header, value]) => [header.toLowerCase(), value])
  return {
    method: method as HttpRequest['method'],
    path: `${pathname}${search}`,
    headers: Object.fromEntries(headers) as Record<string, string>,
    body,
    signal: request.getSignal(),
  }
}

/** A body for client-node, which reads it once, in one of three ways. */
function bodyOf(body: HttpBody): object {
  const binary = async (): Promise<Uint8Array> => {
    const chunks: Uint8Array<ArrayBuffer>[] = []
    for await (const chunk of body) chunks.push(chunk as Uint8Array<ArrayBuffer>)
    return new Uint8Array(await new Blob(chunks).arrayBuffer())
  }
  return { text: () => body.text(), binary, stream: () => ReadableStream.from(body) }
}
