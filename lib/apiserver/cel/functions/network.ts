/** IP addresses, networks and URLs. */
import { ipv4, ipv6 } from '../../../core/ip.ts'
import { CelError, Entries, type LibraryValue, ListValue, type Value } from '../values.ts'
import type { Row } from './table.ts'

interface Ip extends LibraryValue {
  /** 32 for IPv4, 128 for IPv6. */
  readonly bits: number
  readonly address: bigint
}

function ipOf(bits: number, address: bigint): Ip {
  return { typeName: 'net.IP', id: (BigInt(bits) << 128n) + address, bits, address }
}

interface Cidr extends LibraryValue {
  readonly ip: Ip
  readonly length: number
}

function cidrOf(ip: Ip, length: number): Cidr {
  return { typeName: 'net.CIDR', id: `${ip.id}/${length}`, ip, length }
}

function ip(text: string): Ip {
  const quoted = JSON.stringify(text)
  const [plain = '', zone] = text.split('%')
  const four = ipv4(text)
  if (four !== undefined) return ipOf(32, four)
  const six = text.includes(':') ? ipv6(plain) : undefined
  if (six === undefined) {
    throw new CelError(`IP Address ${quoted} parse error during conversion from string`)
  }
  if (zone) throw new CelError(`IP address ${quoted} with zone value is not allowed`)
  if (six >> 32n === 0xffffn) throw new CelError(`IPv4-mapped IPv6 address ${quoted} is not allowed`)
  return ipOf(128, six)
}

function cidr(text: string): Cidr {
  const [, address = '', bits = ''] = /^(.*)\/(0|[1-9]\d*)$/.exec(text) ?? []
  const four = ipv4(address)
  const six = four === undefined && address.includes(':') ? ipv6(address) : undefined
  const isMapped = six !== undefined && six >> 32n === 0xffffn
  const ip = four !== undefined ? ipOf(32, four) : ipOf(128, six ?? 0n)
  if ((four ?? six) === undefined || isMapped || bits === '' || Number(bits) > ip.bits) {
    throw new CelError(`network address parse error during conversion from string: ${JSON.stringify(text)}`)
  }
  return cidrOf(ip, Number(bits))
}

function parses(parse: (text: string) => unknown): (text: string) => boolean {
  return (text) => {
    try {
      parse(text)
      return true
    } catch (error) {
      if (error instanceof CelError) return false
      throw error
    }
  }
}

function ipText({ bits, address }: Ip): string {
  if (bits === 32) return [24n, 16n, 8n, 0n].map((shift) => String((address >> shift) & 255n)).join('.')
  const groups = Array.from({ length: 8 }, (_, index) => ((address >> BigInt(112 - 16 * index)) & 0xffffn).toString(16))
  let best = { at: 0, length: 1 }
  for (let at = 0; at < 8; at++) {
    let length = 0
    while (groups[at + length] === '0') length++
    if (length > best.length) best = { at, length }
  }
  if (best.length === 1) return groups.join(':')
  return `${groups.slice(0, best.at).join(':')}::${groups.slice(best.at + best.length).join(':')}`
}

function masked({ ip, length }: Cidr): Cidr {
  const shift = BigInt(ip.bits - length)
  return cidrOf(ipOf(ip.bits, (ip.address >> shift) << shift), length)
}

function containsIp(cidr: Cidr, ip: Ip): boolean {
  const shift = BigInt(cidr.ip.bits - cidr.length)
  return cidr.ip.bits === ip.bits && cidr.ip.address >> shift === ip.address >> shift
}

function containsCidr(cidr: Cidr, other: Cidr): boolean {
  return cidr.length <= other.length && containsIp(cidr, other.ip)
}

function isLoopback({ bits, address }: Ip): boolean {
  return bits === 32 ? address >> 24n === 127n : address === 1n
}

function isMulticast({ bits, address }: Ip): boolean {
  return bits === 32 ? address >> 28n === 14n : address >> 120n === 0xffn
}

function isLinkLocalMulticast({ bits, address }: Ip): boolean {
  return bits === 32 ? address >> 8n === 0xe00000n : (address >> 112n & 0xff0fn) === 0xff02n
}

function isLinkLocalUnicast({ bits, address }: Ip): boolean {
  return bits === 32 ? address >> 16n === 0xa9fen : address >> 118n === 0x3fan
}

function isGlobalUnicast(ip: Ip): boolean {
  if (ip.bits === 32 && (ip.address === 0n || ip.address === 0xffffffffn)) return false
  return ip.address !== 0n && !isLoopback(ip) && !isMulticast(ip) && !isLinkLocalUnicast(ip)
}

interface Url extends LibraryValue {
  readonly scheme: string
  readonly host: string
  readonly path: string
  readonly query: string
}

const URL_PARTS = /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s

function parseUrl(text: string): Url {
  const [, scheme = '', authority = '', path = '', query = ''] = URL_PARTS.exec(text) ?? []
  const host = authority.slice(authority.lastIndexOf('@') + 1)
  const port = /:([^:\]]*)$/.exec(host.replace(/^\[.*\]/, ''))?.[1] ?? ''
  // deno-lint-ignore no-control-regex -- Go refuses these
  const isWrong = /^:|[\x00-\x1f\x7f]/.test(text) || !scheme && !text.startsWith('/') || /\D/.test(port) ||
    /[\s<>"{}|\\^`]|^\[[^\]]*$/.test(host) || /%(?![0-9a-fA-F]{2})/.test(host + path)
  if (isWrong) throw new CelError(`URL parse error during conversion from string: ${JSON.stringify(text)}`)
  return { typeName: 'kubernetes.URL', id: text, scheme: scheme.toLowerCase(), host, path, query }
}

export const isUrl: (text: string) => boolean = parses(parseUrl)

function hostname({ host }: Url): string {
  return /^\[(.*)\]/.exec(host)?.[1] ?? host.replace(/:\d*$/, '')
}

function escapedPath({ path }: Url): string {
  return path.replace(
    /%[0-9a-fA-F]{2}|[^A-Za-z0-9\-_.~$&+,/:;=@!'()*]/gu,
    (part) => part.startsWith('%') && part.length === 3 ? part : encodeURIComponent(part),
  )
}

function queryOf({ query }: Url): Entries {
  const result = new Entries()
  const lists = new Map<string, Value[]>()
  for (const [name, value] of new URLSearchParams(query)) lists.set(name, [...(lists.get(name) ?? []), value])
  for (const [name, values] of lists) result.set(name, new ListValue(values))
  return result
}

export const NETWORK: readonly Row[] = [
  ['ip', '(string) -> IP', ip],
  ['isIP', '(string) -> bool', parses(ip)],
  ['ip.isCanonical', '(string) -> bool', (text) => ipText(ip(text)) === text],
  ['string', '(IP) -> string', ipText],
  ['family', 'IP.() -> int', ({ bits }: Ip) => bits === 32 ? 4n : 6n],
  ['isUnspecified', 'IP.() -> bool', ({ address }: Ip) => address === 0n],
  ['isLoopback', 'IP.() -> bool', isLoopback],
  ['isLinkLocalMulticast', 'IP.() -> bool', isLinkLocalMulticast],
  ['isLinkLocalUnicast', 'IP.() -> bool', isLinkLocalUnicast],
  ['isGlobalUnicast', 'IP.() -> bool', isGlobalUnicast],
  ['cidr', '(string) -> CIDR', cidr],
  ['isCIDR', '(string) -> bool', parses(cidr)],
  ['string', '(CIDR) -> string', (value: Cidr) => `${ipText(value.ip)}/${value.length}`],
  ['containsIP', 'CIDR.(string) -> bool', (value, text) => containsIp(value, ip(text))],
  ['containsIP', 'CIDR.(IP) -> bool', containsIp],
  [
    'containsCIDR',
    'CIDR.(string) -> bool',
    (value, text) => containsCidr(value, cidr(text)),
  ],
  ['containsCIDR', 'CIDR.(CIDR) -> bool', containsCidr],
  ['ip', 'CIDR.() -> IP', (value: Cidr) => value.ip],
  ['prefixLength', 'CIDR.() -> int', (value: Cidr) => BigInt(value.length)],
  ['masked', 'CIDR.() -> CIDR', masked],
  ['url', '(string) -> URL', parseUrl],
  ['isURL', '(string) -> bool', isUrl],
  ['getScheme', 'URL.() -> string', (url: Url) => url.scheme],
  ['getHost', 'URL.() -> string', (url: Url) => url.host],
  ['getHostname', 'URL.() -> string', hostname],
  ['getPort', 'URL.() -> string', ({ host }: Url) => /:(\d*)$/.exec(host)?.[1] ?? ''],
  ['getEscapedPath', 'URL.() -> string', escapedPath],
  ['getQuery', 'URL.() -> map<string, list<string>>', queryOf],
]
