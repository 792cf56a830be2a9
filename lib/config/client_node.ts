/**
 * `kubeloop/client-node`: uses a KubeConfig of @kubernetes/client-node as a cluster, and runs its generated APIs over
 * kubeloop's transport, which has shared connections and works on every runtime. kubeloop itself loads this only for a
 * kubeconfig with an `auth-provider` (oidc, gcp, azure).
 *
 * @module
 */
import type { ClusterConfig, Credentials } from '../core/cluster_config.ts'
import { ConfigError, messageOf } from '../core/errors.ts'
import { type Clock, systemClock } from '../async/clock.ts'
import { encodeBase64 } from '../core/base64.ts'
import type { HttpBody, HttpRequest, Transport } from '../core/transport.ts'

/** The part of client-node's KubeConfig that is used. */
export interface KubeConfigLike {
  getCurrentContext(): string
  getContextObject(name: string): { readonly namespace?: string } | null
  getCurrentCluster(): {
    readonly server: string
    readonly skipTLSVerify?: boolean
    readonly tlsServerName?: string
    readonly proxyUrl?: string
  } | null
  getCurrentUser(): { readonly impersonateUser?: string } | null
  applyToHTTPSOptions(options: HttpsOptions): Promise<void>
}

/** @internal The options of node:https that it sets. */
interface HttpsOptions {
  ca?: unknown
  cert?: unknown
  key?: unknown
  pfx?: unknown
  auth?: string | null | undefined
  headers?: unknown
}

/** How long an answer is cached: its authenticators cache tokens themselves, but create an agent for each call. */
const KEPT_MS = 10_000

/**
 * Returns the cluster of the current context of a KubeConfig of @kubernetes/client-node, with all of its ways to
 * authenticate. A later `setCurrentContext` does not change it, so each context can be a cluster.
 *
 * @throws ConfigError if it has no current context or no cluster.
 *
 * @example
 * ```ts
 * import { KubeConfig } from '@kubernetes/client-node'
 * import { fromKubeConfig } from 'kubeloop/client-node'
 * const config = new KubeConfig()
 * config.loadFromDefault()
 * const cluster = fromKubeConfig(config)
 * ```
 */
export function fromKubeConfig(given: KubeConfigLike, clock: Clock = systemClock): ClusterConfig {
  // Its credentials are read at each request: those of another context must not be sent to this server.
  const config = Object.create(given, { currentContext: { value: given.getCurrentContext() } }) as KubeConfigLike
  const cluster = config.getCurrentCluster()
  if (!cluster) {
    throw new ConfigError(
      'Cannot use the KubeConfig: it has no current context with a cluster; load it first, or call setCurrentContext',
    )
  }
  const options = keep(() => applied(config), clock)
  const impersonated = config.getCurrentUser()?.impersonateUser
  return {
    server: cluster.server,
    ca: async () => (await options.read()).ca,
    credentials: async () => (await options.read()).credentials,
    invalidate: options.forget,
    ...(cluster.skipTLSVerify && { insecure: true }),
    ...(cluster.tlsServerName && { serverName: cluster.tlsServerName }),
    ...(cluster.proxyUrl && { proxy: cluster.proxyUrl }),
    ...(impersonated && { impersonate: { user: impersonated } }),
    namespace: config.getContextObject(config.getCurrentContext())?.namespace,
  }
}

interface Applied {
  readonly ca: string | undefined
  readonly credentials: Credentials
}

async function applied(config: KubeConfigLike): Promise<Applied> {
  const options: HttpsOptions = {}
  try {
    await config.applyToHTTPSOptions(options)
  } catch (error) {
    throw new ConfigError(`Cannot get credentials through @kubernetes/client-node: ${messageOf(error)}`, {
      cause: error,
    })
  }
  if (options.pfx !== undefined) {
    throw new ConfigError('Cannot use the KubeConfig: a pfx file is not supported; give certificate and key as PEM')
  }
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    if (value !== undefined) headers[name.toLowerCase()] = String(value)
  }
  if (options.auth) headers['authorization'] = `Basic ${encodeBase64(options.auth)}`
  return { ca: textOf(options.ca), credentials: { cert: textOf(options.cert), key: textOf(options.key), headers } }
}

function textOf(value: unknown): string | undefined {
  if (value instanceof Uint8Array) return new TextDecoder().decode(value)
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Caches an answer for a short time. Concurrent callers wait for the same call. */
function keep<T>(readNow: () => Promise<T>, clock: Clock): { read(): Promise<T>; forget(): void } {
  let kept: { readonly value: Promise<T>; readonly readAt: number } | undefined
  return {
    read() {
      if (kept && clock.monotonic() - kept.readAt < KEPT_MS) return kept.value
      const reading = { value: readNow(), readAt: clock.monotonic() }
      kept = reading
      reading.value.catch(() => {
        if (kept === reading) kept = undefined
      })
      return reading.value
    },
    forget: () => (kept = undefined),
  }
}

/**
 * Returns a cluster whose credentials are those of a kubeconfig's `auth-provider` (oidc, gcp, azure), through
 * client-node's own KubeConfig. `at`: its place in the file, for errors.
 *
 * @throws ConfigError if client-node cannot be loaded.
 */
export async function fromAuthProvider(
  authProvider: { readonly name: string; readonly config: unknown },
  { server, at }: { readonly server: string; readonly at: string },
): Promise<ClusterConfig> {
  const cannot = `Cannot sign in by auth-provider "${authProvider.name}" (${at})`
  const { KubeConfig } = await loadClientNode<{ readonly KubeConfig: new () => ClientNodeConfig }>(
    cannot,
    ', or use an exec plugin',
  )
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromClusterAndUser({ name: 'cluster', server, skipTLSVerify: false }, { name: 'user', authProvider })
  return fromKubeConfig(kubeConfig)
}

/** Loads the package. @throws ConfigError that says what needs it, and the alternative. */
async function loadClientNode<T>(cannot: string, otherwise = ''): Promise<T> {
  // Not a literal, so that no bundler includes its 97 MB.
  const name = ['@kubernetes', 'client-node'].join('/')
  try {
    return (await import(name)) as T
  } catch (error) {
    const hint = `install it beside kubeloop (npm install ${name})${otherwise}`
    throw new ConfigError(`${cannot}: that needs ${name}, which cannot be loaded here; ${hint}`, { cause: error })
  }
}

/** The part of client-node's KubeConfig that fills one. */
interface ClientNodeConfig extends KubeConfigLike {
  loadFromClusterAndUser(cluster: object, user: object): void
}

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
