/** The credentials and the trusted CAs of a cluster's configuration, which may change from request to request. */
import type { ClusterConfig, Credentials } from '../../core/cluster_config.ts'

/** Credentials and trusted CAs: both may change between requests. */
export interface Access {
  readonly credentials: Credentials
  readonly ca: string | undefined
}

/** Returns the access of a config without functions; undefined for others. */
export function fixedAccess({ ca, token, cert, key, credentials }: ClusterConfig): Access | undefined {
  if (credentials || typeof token === 'function' || typeof ca === 'function') return undefined
  return { credentials: { token, cert, key }, ca }
}

/** Returns what a request is sent with. `closed`: the end of the connection, for the function `credentials`. */
export async function accessOf(config: ClusterConfig, closed: AbortSignal): Promise<Access> {
  return { credentials: await credentialsOf(config, closed), ca: await valueOf(config.ca) }
}

/** The result of `credentials` overrides the config's own fields. A certificate is used with its own key only. */
async function credentialsOf(config: ClusterConfig, closed: AbortSignal): Promise<Credentials> {
  const fetched = await config.credentials?.(closed)
  const pair = fetched?.cert === undefined
    ? { cert: config.cert, key: config.key }
    : { cert: fetched.cert, key: fetched.key }
  return { token: fetched?.token ?? (await valueOf(config.token)), headers: fetched?.headers, ...pair }
}

async function valueOf(value: string | (() => Promise<string | undefined>) | undefined): Promise<string | undefined> {
  return typeof value === 'function' ? await value() : value
}
