/**
 * `node:http`, loaded when something without TLS is spoken. On Node an import of it reads all of its exports, and one of
 * them is a getter that loads undici: 15 MiB and 40 ms or more of every start, for nothing where the API server has TLS.
 */
import type http from 'node:http'
import process from 'node:process'

export function plainHttp(): typeof http {
  return process.getBuiltinModule('node:http')
}
