/** Parses IP addresses and ranges of them. */

/** Returns the number of an IPv4 address; undefined if the text is none. */
export function ipv4(text: string): bigint | undefined {
  const parts = text.split('.')
  if (parts.length !== 4 || !parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256)) {
    return undefined
  }
  return parts.reduce((sum, part) => sum * 256n + BigInt(part), 0n)
}

/** Returns the number of an IPv6 address; undefined if the text is none. */
export function ipv6(text: string): bigint | undefined {
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text)
  const last = dotted ? ipv4(dotted[2]!) : undefined
  if (dotted && last === undefined) return undefined
  const hex = dotted ? `${dotted[1]}${(last! >> 16n).toString(16)}:${(last! & 0xffffn).toString(16)}` : text
  const halves = hex.split('::')
  if (halves.length > 2) return undefined
  const [head, tail] = halves.map((half) => (half ? half.split(':') : []))
  const count = head!.length + (tail?.length ?? 0)
  if (tail ? count > 7 : count !== 8) return undefined
  const groups = [...head!, ...Array<string>(tail ? 8 - count : 0).fill('0'), ...(tail ?? [])]
  if (!groups.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return undefined
  return groups.reduce((sum, group) => sum * 65536n + BigInt(`0x${group}`), 0n)
}

/** Returns what is wrong with a range of addresses, in the words of an API server; undefined if nothing is. */
export function rangeProblem(text: string): string | undefined {
  const [, address = '', bits = ''] = /^(.*)\/(0|[1-9]\d*)$/.exec(text) ?? []
  const four = ipv4(address)
  const value = four ?? (address.includes(':') ? ipv6(address) : undefined)
  const free = (four === undefined ? 128 : 32) - Number(bits)
  if (value === undefined || free < 0) return 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'
  if (four === undefined && value >> 32n === 0xffffn) return 'must not have an IPv4-mapped IPv6 address'
  const first = value >> BigInt(free) << BigInt(free)
  return first === value ? undefined : 'must not have bits set beyond the prefix length'
}
