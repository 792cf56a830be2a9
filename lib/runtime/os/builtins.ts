/**
 * Loads the runtime's modules that most operators never need, at their first use.
 *
 * `process.getBuiltinModule` exists on all three runtimes and is synchronous. Unlike an import it reads no exports of a
 * module. On Node some exports are getters: those of node:http load undici (20 ms and 5 MiB at start), those of
 * node:crypto and node:tls load less, also for nothing.
 */
import type childProcess from 'node:child_process'
import type crypto from 'node:crypto'
import type fs from 'node:fs'
import type http from 'node:http'
import type http2 from 'node:http2'
import type https from 'node:https'
import type net from 'node:net'
import process from 'node:process'
import type tls from 'node:tls'
import type zlib from 'node:zlib'

export const builtins = {
  childProcess: (): typeof childProcess => process.getBuiltinModule('node:child_process'),
  crypto: (): typeof crypto => process.getBuiltinModule('node:crypto'),
  fs: (): typeof fs => process.getBuiltinModule('node:fs'),
  http: (): typeof http => process.getBuiltinModule('node:http'),
  http2: (): typeof http2 => process.getBuiltinModule('node:http2'),
  https: (): typeof https => process.getBuiltinModule('node:https'),
  net: (): typeof net => process.getBuiltinModule('node:net'),
  tls: (): typeof tls => process.getBuiltinModule('node:tls'),
  zlib: (): typeof zlib => process.getBuiltinModule('node:zlib'),
} as const

/** Tests whether a private key belongs to a certificate. Both are PEM. Throws if one of them cannot be parsed. */
export function isPair(cert: string, key: string): boolean {
  const { createPrivateKey, X509Certificate } = builtins.crypto()
  return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))
}

/** Returns when the first certificate of a PEM text is valid, in milliseconds since 1970. Throws if there is none. */
export function validityOf(cert: string): { readonly fromMs: number; readonly toMs: number } {
  const { X509Certificate } = builtins.crypto()
  const { validFrom, validTo } = new X509Certificate(cert)
  return { fromMs: Date.parse(validFrom), toMs: Date.parse(validTo) }
}
