/** Parses the address of a server and of a proxy. */
import { ConfigError } from '../../core/errors.ts'

export interface ServerAddress {
  readonly tls: boolean
  /** Without the brackets of an IPv6 address. */
  readonly host: string
  readonly port: number
  /** A path prefix, without its last slash; empty for most servers. */
  readonly prefix: string
  /** `host:port` as it is written in a Host header and in messages. */
  readonly authority: string
  /** Whether the bytes stay on this machine. */
  readonly loopback: boolean
}

/** @throws ConfigError on what is not an http or https URL. It quotes neither user nor password. */
export function parseServer(server: string, field: 'server' | 'proxy' = 'server'): ServerAddress {
  const url = parseUrl(server)
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    const example = field === 'proxy'
      ? 'http://127.0.0.1:3128; check proxy-url, HTTPS_PROXY and HTTP_PROXY'
      : 'https://127.0.0.1:6443'
    throw new ConfigError(`Cannot use ${field} "${withoutUser(server)}": it must be a URL such as ${example}`)
  }
  const tls = url.protocol === 'https:'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = Number(url.port) || (tls ? 443 : 80)
  return {
    tls,
    host,
    port,
    prefix: url.pathname.replace(/\/+$/, ''),
    authority: `${url.hostname}:${port}`,
    loopback: host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host),
  }
}

/** A proxy, and how to introduce ourselves to it. */
export interface Proxy {
  readonly address: ServerAddress
  /** The whole Proxy-Authorization header, if the URL has a user. */
  readonly authorization: string | undefined
}

/** @throws ConfigError when it is not an http or https URL, or its user or password is not encoded as in one. */
export function parseProxy(proxy: string): Proxy {
  const address = parseServer(proxy, 'proxy')
  const { username, password } = parseUrl(proxy)!
  let plain: string
  try {
    plain = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  } catch {
    // Without the cause, which may quote them.
    throw new ConfigError(
      `Cannot use proxy "${
        withoutUser(proxy)
      }": its user or password has a "%" that begins no escape of UTF-8; write %25 for a percent sign`,
    )
  }
  return { address, authorization: username ? `Basic ${Buffer.from(plain).toString('base64')}` : undefined }
}

/** A URL, or undefined: `new URL` would quote the whole text, password and all, in its error. */
function parseUrl(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined
}

/** For messages: all before the last `@` may be a password, in what is no URL, too. */
function withoutUser(url: string): string {
  return url.replace(/^([a-z\d+.-]+:\/\/)?.*@/is, '$1…@')
}
