/**
 * Finds the order in which the modules of mod.js compress best: `node tests/tools/order_bundle.ts [seconds]`, after a
 * build. gzip finds repetitions within 32 KB only, so that modules with similar code must be near each other.
 *
 * Simulated annealing: moves a few modules, and keeps what makes the text smaller. Modules follow their imports.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateRawSync } from 'node:zlib'
import { importsOf, ORDER_FILE } from './build.ts'
import { DIST } from './dist.ts'
import { mustRun } from './run_command.ts'
import { ROOT } from './tree.ts'

/** How many bytes more a move may cost at the beginning; in the end none. */
const HOTTEST = 4

const codes = await minifiedModules()
const imports = new Map([...codes.keys()].map((file) => [file, importsOf(file)]))
let order = inOrder([
  ...readFileSync(ORDER_FILE, 'utf8').split('\n').filter((file) => codes.has(file)),
  ...codes.keys(),
])
let size = sizeOf(order)
let best = { order, size }
console.log(`${size} bytes`)
const [beganMs, ms] = [performance.now(), Number(process.argv[2] ?? 300) * 1000]
for (let passed = 0; passed < 1; passed = (performance.now() - beganMs) / ms) {
  const moved = [...order]
  const some = moved.splice(random(moved.length), 1 + random(4))
  moved.splice(random(moved.length + 1), 0, ...some)
  const next = inOrder(moved)
  const nextSize = sizeOf(next)
  if (nextSize > size && Math.random() > Math.exp((size - nextSize) / (HOTTEST * (1 - passed)))) continue
  order = next
  size = nextSize
  if (size < best.size) best = { order, size }
}
writeFileSync(ORDER_FILE, `${best.order.join('\n')}\n`)
console.log(`${best.size} bytes: wrote ${ORDER_FILE}`)

/** Returns the modules of mod.js with their code, minified as a whole: names depend on all of it. */
async function minifiedModules(): Promise<ReadonlyMap<string, string>> {
  const [, ...parts] = readFileSync(join(DIST, 'mod.js'), 'utf8').split(/^\/\/ (lib\/[\w/]+\.ts)$/m)
  const marked = parts.map((part, at) => at % 2 === 0 ? `globalThis.module("${part}");` : part)
  const text = await mustRun(join(ROOT, 'node_modules/.bin/esbuild'), ['--minify'], { input: marked.join('\n') })
  const [, ...pieces] = text.split(/globalThis\.module\("([^"]+)"\)[,;]?/)
  const found = new Map<string, string>()
  for (let at = 0; at < pieces.length; at += 2) found.set(pieces[at]!, (found.get(pieces[at]!) ?? '') + pieces[at + 1]!)
  return found
}

/** Returns the modules as a bundler has them: each after its imports. */
function inOrder(files: readonly string[]): string[] {
  const found = new Set<string>()
  const visiting = new Set<string>()
  const visit = (file: string): void => {
    if (visiting.has(file)) return
    visiting.add(file)
    for (const each of imports.get(file) ?? importsOf(file)) visit(each)
    if (codes.has(file)) found.add(file)
  }
  files.forEach(visit)
  return [...found]
}

function sizeOf(files: readonly string[]): number {
  return deflateRawSync(files.map((file) => codes.get(file)!).join(''), { level: 9 }).length
}

function random(below: number): number {
  return Math.floor(Math.random() * below)
}
