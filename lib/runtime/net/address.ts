/** Parses the address of a server and of a proxy. */
import type { ClusterConfig } from '../../core/cluster_config.ts'
import { ConfigError } from '../../core/errors.ts'
import type { Right } from '../os/env.ts'

export interface ServerAddress {
  readonly tls: boolean
  /** Without the brackets of an IPv6 address. */
  readonly host: string
  readonly port: number
  /** The URL's path without trailing slashes; empty for most servers. */
  readonly prefix: string
  /** `host:port`, for the Host header and messages. */
  readonly authority: string
  /** Whether the server is on this machine. */
  readonly loopback: boolean
}

/** @throws ConfigError if it is no http or https URL, or a server with a user. The message has no user or password. */
export function parseServer(server: string, field: 'server' | 'proxy' = 'server'): ServerAddress {
  const url = parseUrl(server)
  if (!url || !/^https?:$/.test(url.protocol) || (field === 'server' && url.username + url.password)) {
    const example = field === 'proxy'
      ? 'http://127.0.0.1:3128; check proxy-url, HTTPS_PROXY and HTTP_PROXY'
      : 'https://127.0.0.1:6443, without a user'
    throw new ConfigError(`Cannot use ${field} "${withoutUser(server)}": it must be a URL such as ${example}`)
  }
  const tls = url.protocol === 'https:'
  const host = hostOf(url)
  const port = Number(url.port) || (tls ? 443 : 80)
  return {
    tls,
    host,
    port,
    prefix: url.pathname.replace(/\/+$/, ''),
    authority: `${url.hostname}:${port}`,
    loopback: isLoopback(host),
  }
}

/** Returns the host of a URL: that of IPv6 without its brackets. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '')
}

/** Returns whether only this machine reaches a host. An IPv6 address has no brackets. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)
}

/** Returns Deno's permissions to connect to a cluster: to the proxy, if there is one, and to read the system's CAs. */
export function connectionRights({ server, proxy, ca, insecure }: ClusterConfig): Right[] {
  const { tls, authority } = parseServer(server)
  return [
    { name: 'net', host: proxy ? parseProxy(proxy).address.authority : authority },
    ...(tls && !ca && !insecure ? [{ name: 'sys', kind: 'ca' } as const] : []),
  ]
}

export interface Proxy {
  readonly address: ServerAddress
  /** The value of the Proxy-Authorization header, if the URL has a user. */
  readonly authorization: string | undefined
}

/** @throws ConfigError if it is not an http or https URL, or its user or password is not percent-encoded correctly. */
export function parseProxy(proxy: string): Proxy {
  const address = parseServer(proxy, 'proxy')
  const { username, password } = parseUrl(proxy)!
  let plain: string
  try {
    plain = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  } catch {
    // Without the cause, which may contain user and password.
    throw new ConfigError(
      `Cannot use proxy "${
        withoutUser(proxy)
      }": its user or password has a "%" that begins no escape of UTF-8; write %25 for a percent sign`,
    )
  }
  return { address, authorization: username ? `Basic ${Buffer.from(plain).toString('base64')}` : undefined }
}

/** Parses a URL; undefined if it is invalid. The error of `new URL` would contain the whole text with its password. */
function parseUrl(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined
}

/** Hides user and password for messages. In an invalid URL, too, everything before the last `@` may be a password. */
function withoutUser(url: string): string {
  return url.replace(/^([a-z\d+.-]+:\/\/)?.*@/is, '$1…@')
}
