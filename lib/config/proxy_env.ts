/**
 * The proxy of the environment, by the rules of Go programs. Pure.
 *
 * @see https://pkg.go.dev/golang.org/x/net/http/httpproxy#Config
 */
import { ipv4, ipv6 } from '../core/ip.ts'
import { hostOf } from '../runtime/net/address.ts'

/** Reads a variable. One that Deno does not permit counts as unset. */
export type ReadVariable = (name: string) => string | undefined

/**
 * Returns the proxy for a server: `HTTPS_PROXY` or `HTTP_PROXY` by its scheme, unless `NO_PROXY` matches. Names in
 * upper or lower case. Undefined for loopback, and for a server that is not a URL.
 */
export function proxyFromEnvironment(server: string, read: ReadVariable): string | undefined {
  if (!URL.canParse(server)) return undefined
  const url = new URL(server)
  const either = (name: string): string | undefined => read(name) ?? read(name.toLowerCase())
  const proxy = either(url.protocol === 'http:' ? 'HTTP_PROXY' : 'HTTPS_PROXY')
  if (!proxy || isExempt(url, either('NO_PROXY') ?? '')) return undefined
  return proxy.includes('://') ? proxy : `http://${proxy}`
}

function isExempt(url: URL, list: string): boolean {
  const host = hostOf(url).toLowerCase()
  const port = url.port || (url.protocol === 'http:' ? '80' : '443')
  const address = addressOf(host)
  if (
    host === 'localhost' || host === '::1' || (address !== undefined && isIpv4(address) && address >> 24n === LOOPBACK)
  ) return true
  return list.split(',').map((rule) => rule.trim().toLowerCase()).some((rule) =>
    rule !== '' && matches(rule, host, address, port)
  )
}

/**
 * Tests whether a rule of NO_PROXY matches: `*`, a domain with its subdomains, an address, or a CIDR. A port may follow
 * a name, an IPv4 address, or an IPv6 address in brackets. Anything else matches nothing, as in Go.
 */
function matches(rule: string, host: string, address: bigint | undefined, port: string): boolean {
  if (rule === '*') return true
  if (rule.includes('/')) return address !== undefined && inCidr(address, rule)
  const [, bare = rule, rulePort] = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(rule) ?? []
  if (rulePort !== undefined && rulePort !== port) return false
  const name = bare.replace(/^\[|\]$/g, '').replace(/^\*\./, '.')
  const ruleAddress = addressOf(name)
  if (ruleAddress !== undefined) return ruleAddress === address
  if (name === '') return false
  return name.startsWith('.') ? host.endsWith(name) : host === name || host.endsWith(`.${name}`)
}

/** A range matches addresses of its own family only. */
function inCidr(address: bigint, rule: string): boolean {
  const [, base = '', bits = ''] = /^([^/]*)\/(\d{1,3})$/.exec(rule) ?? []
  const network = addressOf(base)
  if (network === undefined || isIpv4(network) !== isIpv4(address)) return false
  const hostBits = (base.includes(':') ? 128 : 32) - Number(bits)
  return hostBits >= 0 && address >> BigInt(hostBits) === network >> BigInt(hostBits)
}

/** Parses an address to a number of 128 bits, IPv4 as ::ffff:0:0/96. Undefined if the text is not an address. */
function addressOf(text: string): bigint | undefined {
  const four = ipv4(text)
  return four === undefined ? ipv6(text) : (IPV4 << 32n) | four
}

/** The 96 bits before an IPv4 address. */
const IPV4 = 0xffffn
/** The first 104 bits of 127.0.0.0/8. */
const LOOPBACK = (IPV4 << 8n) | 127n

function isIpv4(address: bigint): boolean {
  return address >> 32n === IPV4
}
