/** The proxy that the environment names, by the rules that Go programs follow. Pure. */

/** Only a refinement: variables that may not be read count as unset. */
export type ReadVariable = (name: string) => string | undefined

/**
 * The proxy for a server: `HTTPS_PROXY` or `HTTP_PROXY` by its scheme, unless `NO_PROXY` has it. In both cases, upper and
 * lower. Never for loopback, nor for a server that is no URL.
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
  const host = url.hostname.replace(/^\[|\]$/g, '').toLowerCase()
  const port = url.port || (url.protocol === 'http:' ? '80' : '443')
  if (host === 'localhost' || host === '::1' || host.startsWith('127.')) return true
  return list.split(',').map((rule) => rule.trim().toLowerCase()).some((rule) => rule !== '' && matches(rule, host, port))
}

/** A rule is `*`, a name with the names below it, an address, or a CIDR; a port may follow a name or an address. */
function matches(rule: string, host: string, port: string): boolean {
  if (rule === '*') return true
  if (rule.includes('/')) return inCidr(host, rule)
  const [, name = '', rulePort] = /^(\[[^\]]*\]|[^:]*|[^:]*:[^:]*:.*?)(?::(\d+))?$/.exec(rule) ?? []
  if (rulePort !== undefined && rulePort !== port) return false
  const plain = name.replace(/^\[|\]$/g, '').replace(/^\*\./, '.')
  if (plain === '') return false
  return plain.startsWith('.') ? host.endsWith(plain) : host === plain || host.endsWith(`.${plain}`)
}

/** IPv4 only. An IPv6 range exempts nothing. */
function inCidr(host: string, rule: string): boolean {
  const [base = '', bits = ''] = rule.split('/')
  const [address, network, length] = [ipv4(host), ipv4(base), Number(bits)]
  if (address === undefined || network === undefined || !(length >= 0 && length <= 32) || bits === '') return false
  const size = 2 ** (32 - length)
  return Math.floor(address / size) === Math.floor(network / size)
}

function ipv4(text: string): number | undefined {
  const parts = /^(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(text)?.slice(1).map(Number)
  return parts?.every((part) => part < 256) ? parts.reduce((sum, part) => sum * 256 + part, 0) : undefined
}
