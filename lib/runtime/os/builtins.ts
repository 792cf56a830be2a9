/**
 * Loads the runtime's modules that most operators never need, at their first use.
 *
 * `process.getBuiltinModule` exists on all three runtimes and is synchronous. Unlike an import it reads no exports of a
 * module. On Node some exports are getters: node:http loads undici by them (20 ms and 5 MiB at start), node:process
 * opens standard input and output (4 ms), and node:crypto, node:fs and node:tls load modules that nothing uses.
 * `process` itself is global.
 */
import type childProcess from 'node:child_process'
import type crypto from 'node:crypto'
import type fs from 'node:fs'
import type http from 'node:http'
import type http2 from 'node:http2'
import type https from 'node:https'
import type net from 'node:net'
import type tls from 'node:tls'
import type zlib from 'node:zlib'

// Each is a function of its own, so that a bundle has those that it calls.
export const nodeChildProcess = (): typeof childProcess => process.getBuiltinModule('node:child_process')
export const nodeCrypto = (): typeof crypto => process.getBuiltinModule('node:crypto')
export const nodeFs = (): typeof fs => process.getBuiltinModule('node:fs')
export const nodeHttp = (): typeof http => process.getBuiltinModule('node:http')
export const nodeHttp2 = (): typeof http2 => process.getBuiltinModule('node:http2')
export const nodeHttps = (): typeof https => process.getBuiltinModule('node:https')
export const nodeNet = (): typeof net => process.getBuiltinModule('node:net')
export const nodeTls = (): typeof tls => process.getBuiltinModule('node:tls')
export const nodeZlib = (): typeof zlib => process.getBuiltinModule('node:zlib')

/** Tests whether a private key belongs to a certificate. Both are PEM. Throws if one of them cannot be parsed. */
export function isPair(cert: string, key: string): boolean {
  const { createPrivateKey, X509Certificate } = nodeCrypto()
  return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))
}

/** Returns when the first certificate of a PEM text is valid, in milliseconds since 1970. Throws if there is none. */
export function validityOf(cert: string): { readonly fromMs: number; readonly toMs: number } {
  const { X509Certificate } = nodeCrypto()
  const { validFrom, validTo } = new X509Certificate(cert)
  return { fromMs: Date.parse(validFrom), toMs: Date.parse(validTo) }
}
