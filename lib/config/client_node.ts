/**
 * Clusters through @kubernetes/client-node: a KubeConfig of the caller, or an auth-provider (oidc, gcp, azure). Only
 * the latter loads the package.
 */
import type { ClusterConfig, Credentials } from '../core/cluster_config.ts'
import { ConfigError, messageOf } from '../core/errors.ts'
import { type Clock, systemClock } from '../async/clock.ts'
import { encodeBase64 } from '../core/base64.ts'

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
 * Returns the cluster of a KubeConfig of @kubernetes/client-node, with all of its ways to authenticate.
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
export function fromKubeConfig(config: KubeConfigLike, clock: Clock = systemClock): ClusterConfig {
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
export async function loadClientNode<T>(cannot: string, otherwise = ''): Promise<T> {
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
