/**
 * Runs the Go program beside this file, which reads the Go types of the built-in kinds; its go.mod has their version. As
 * the main module, writes tests/apiserver/files/protobuf.br: random objects with Go's own JSON of them.
 *
 * Run: node tests/tools/protobuf.ts
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'
import { ROOT } from './tree.ts'

const PROGRAM = join(ROOT, 'tests/tools/protobuf')
const FIXTURES = join(ROOT, 'tests/apiserver/files')

if (import.meta.main) {
  mkdirSync(FIXTURES, { recursive: true })
  const fixtures = run('fixtures')
  const params = {
    [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
    [constants.BROTLI_PARAM_SIZE_HINT]: fixtures.length,
  }
  writeFileSync(join(FIXTURES, 'protobuf.br'), brotliCompressSync(fixtures, { params }))
}

/** Returns the numbers of fields, by `definition/field`. */
export function protobufNumbers(): ReadonlyMap<string, string> {
  const lines = run('numbers').toString('utf8').trimEnd().split('\n')
  return new Map(lines.map((line) => line.split(' ') as [string, string]))
}

function run(what: string): Buffer {
  const { stdout, status, error } = spawnSync('go', ['run', '.', what], {
    cwd: PROGRAM,
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 2 ** 28,
  })
  if (error) throw error
  if (status !== 0) throw new Error(`tests/tools/protobuf: "go run . ${what}" ended with code ${status}`)
  return stdout
}
