/** Parts of certificates that are written and read: names, keys and object identifiers. */
import { createHash, type KeyObject } from 'node:crypto'
import { readAll, tagged } from './der.ts'

/** The names of a server. Clients check only these, and not the common name. */
export interface ServerNames {
  readonly dnsNames?: readonly string[]
  readonly ipAddresses?: readonly string[]
}

export function encodeNames({ dnsNames = [], ipAddresses = [] }: ServerNames, doing: string): Uint8Array[] {
  return [
    ...dnsNames.map((name) => {
      if (!/^[\x21-\x7e]+$/.test(name)) throw new TypeError(`${doing}: "${name}" is not a DNS name in ASCII`)
      return tagged(2, false, new TextEncoder().encode(name))
    }),
    ...ipAddresses.map((address) => {
      const bytes = addressBytes(address)
      if (!bytes) throw new TypeError(`${doing}: "${address}" is not an IP address`)
      return tagged(7, false, bytes)
    }),
  ]
}

/** Undefined if it is not an address. Not `isIP` of node:net, whose first call compiles patterns: 5 ms on Node. */
function addressBytes(address: string): Uint8Array | undefined {
  if (IPV4.test(address)) return Uint8Array.from(address.split('.').map(Number))
  // URL normalises every form, such as ::ffff:1.2.3.4, to hexadecimal groups with at most one gap.
  const canonical = /^[\da-f:.]+$/i.test(address) ? URL.parse(`http://[${address}]`)?.hostname.slice(1, -1) : undefined
  if (canonical === undefined) return undefined
  const [left = [], right = []] = canonical.split('::').map((half) => half.split(':').filter((group) => group !== ''))
  const groups = [...left, ...Array.from({ length: 8 - left.length - right.length }, () => '0'), ...right]
  return Uint8Array.from(groups.flatMap((group) => [parseInt(group, 16) >> 8, parseInt(group, 16) & 0xff]))
}

export function exportPublic(key: KeyObject): Uint8Array {
  return key.export({ type: 'spki', format: 'der' })
}

/** Returns the first 160 bits of the SHA-256 of the key's bits (RFC 7093, method 1). */
export function keyIdOf(publicInfo: Uint8Array): Uint8Array {
  const [, bits] = readAll(readAll(publicInfo)[0]?.content ?? new Uint8Array())
  return createHash('sha256').update(bits?.content.subarray(1) ?? new Uint8Array()).digest().subarray(0, 20)
}

export const OID = {
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  sha256WithRsa: '1.2.840.113549.1.1.11',
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  subjectKeyId: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyId: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
} as const

/** The tags of the names in a subjectAltName. */
export const TAG_DNS_NAME = 0x82

export const TAG_IP_ADDRESS = 0x87

const OCTET = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'

const IPV4 = new RegExp(`^${OCTET}(?:\\.${OCTET}){3}$`)
