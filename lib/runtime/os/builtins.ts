/**
 * Modules of the runtime that most operators never need, loaded at their first use. `process.getBuiltinModule` is there on all
 * three runtimes and answers at once. Unlike an import it reads none of a module's exports: on Node some of those are getters, and
 * the ones of node:http load undici (20 ms and 5 MiB of a start), those of node:crypto and node:tls less, but for nothing as well.
 */
import type childProcess from 'node:child_process'
import type crypto from 'node:crypto'
import type http from 'node:http'
import type http2 from 'node:http2'
import process from 'node:process'
import type tls from 'node:tls'
import type zlib from 'node:zlib'

export const builtins = {
  childProcess: (): typeof childProcess => process.getBuiltinModule('node:child_process'),
  crypto: (): typeof crypto => process.getBuiltinModule('node:crypto'),
  http: (): typeof http => process.getBuiltinModule('node:http'),
  http2: (): typeof http2 => process.getBuiltinModule('node:http2'),
  tls: (): typeof tls => process.getBuiltinModule('node:tls'),
  zlib: (): typeof zlib => process.getBuiltinModule('node:zlib'),
} as const
