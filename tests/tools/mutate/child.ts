/**
 * A process that loads sources with all their mutants, and runs tests while one of them is active. A parent process
 * starts it, asks by messages, and ends it if a test blocks it: `children.ts`.
 */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join, relative } from 'node:path'
import process from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { captured, type CapturedTest } from './captured.ts'
import type { Answer, Measured, Request } from './children.ts'
import { mutantsOf, withAllMutants } from './mutants.ts'

const CAPTURED = new URL('captured.ts', import.meta.url).href
const BASELINE_MS = 20_000
const SLOW_MS = 2000
const MIN_MS = 1500
const TICK_MS = 25
/** With a clock that the test advances, a process that is idle this long waits for what never comes. */
const IDLE_TICKS = 4

const [root = '', rooms = ''] = process.argv.slice(2)
const isMutated = new RegExp(`^lib/(?:${rooms})/.*\\.ts$`)
/** By path: the number of the first mutant, and how many there are. */
const numbers = new Map<string, { first: number; count: number }>()
let next = 1
let active = 0
const reached = new Set<number>()
const loaded = new Map<string, Map<string, CapturedTest>>()
let stray: unknown

Object.assign(globalThis, {
  isPlanted(id: number): boolean {
    reached.add(id)
    return id === active
  },
})

registerHooks({
  resolve(specifier, context, resolveNext) {
    const isTest = context.parentURL !== undefined && /\/tests\/(?!tools\/)/.test(context.parentURL)
    return specifier === 'node:test' && isTest ? { url: CAPTURED, shortCircuit: true } : resolveNext(specifier, context)
  },
  load(url, context, loadNext) {
    const path = url.startsWith('file:') ? relative(root, fileURLToPath(url)) : ''
    if (!isMutated.test(path)) return loadNext(url, context)
    const text = readFileSync(join(root, path), 'utf8')
    const numbered = { first: next, count: mutantsOf(path, text).length }
    numbers.set(path, numbered)
    next += numbered.count
    return { format: 'module-typescript', source: withAllMutants(path, text, numbered.first), shortCircuit: true }
  },
})

for (const event of ['uncaughtException', 'unhandledRejection']) {
  process.on(event, (error) => stray ??= error ?? new Error('a stray failure'))
}
process.on('disconnect', () => process.exit())
process.on('message', (request: Request) => {
  void (async () => {
    try {
      send('measure' in request ? { measured: await measure(request.measure) } : await attempt(request))
    } catch (error) {
      send({ unusable: String(error) })
    }
  })()
})

function send(answer: Answer): void {
  process.send!(answer)
}

async function load(file: string): Promise<Map<string, CapturedTest>> {
  const known = loaded.get(file)
  if (known) return known
  captured.length = 0
  await import(pathToFileURL(join(root, file)).href)
  const tests = new Map(captured.map((each) => [each.name, each]))
  loaded.set(file, tests)
  return tests
}

/** Runs the tests of a file twice, but slow ones, with no mutant active: those that pass can be repeated. */
async function measure(file: string): Promise<Measured[]> {
  const measured: Measured[] = []
  for (const [name, test] of await load(file)) {
    send({ at: name, limit: 2 * BASELINE_MS })
    reached.clear()
    const began = performance.now()
    const { failure, idle } = await runTest(test, BASELINE_MS)
    const ms = Math.ceil(performance.now() - began)
    const again = ms > SLOW_MS ? { failure, idle } : await runTest(test, BASELINE_MS)
    const isRepeatable = failure === undefined && again.failure === undefined
    const reaches: Measured['reaches'] = {}
    for (const [path, { first, count }] of numbers) {
      const indexes = [...reached].map((id) => id - first).filter((index) => index >= 0 && index < count)
      if (indexes.length > 0) reaches[path] = indexes
    }
    measured.push({ file, name, ms, idle: Math.max(idle, again.idle), isRepeatable, reaches })
  }
  return measured
}

/** Runs tests until one fails with the mutant, passes without it, and fails with it again. */
async function attempt({ path, index, tests }: Extract<Request, { path: string }>): Promise<Answer> {
  for (const { file, name, ms, idle } of tests) {
    const test = (await load(file)).get(name)
    const first = numbers.get(path)?.first
    if (!test || first === undefined) continue
    const limit = Math.max(MIN_MS, ms * 8)
    const fails = async (id: number): Promise<boolean> => {
      send({ at: `${file}: ${name}`, limit })
      active = id
      const { failure } = await runTest(test, limit, idle)
      active = 0
      return failure !== undefined
    }
    if (!await fails(first + index)) continue
    if (await fails(0)) return { tainted: `${file}: ${name}` }
    if (await fails(first + index)) return { by: `${file}: ${name}` }
  }
  return { by: undefined }
}

/** @param allowed Idle ticks in a row that the test has had without a mutant; undefined: they are counted only. */
async function runTest(
  test: CapturedTest,
  limit: number,
  allowed?: number,
): Promise<{ failure?: unknown; idle: number }> {
  stray = undefined
  const after: (() => unknown)[] = []
  const { promise: over, reject } = Promise.withResolvers<never>()
  let idle = 0
  let row = 0
  let before = performance.eventLoopUtilization()
  const timer = setTimeout(() => reject(new Error('timeout')), limit)
  const ticks = setInterval(() => {
    const now = performance.eventLoopUtilization()
    row = now.idle - before.idle > TICK_MS * 0.8 ? row + 1 : 0
    before = now
    idle = Math.max(idle, row)
    if (allowed !== undefined && row > allowed * 3 + IDLE_TICKS) reject(new Error('idle'))
  }, TICK_MS)
  try {
    await Promise.race([
      (async () => await test.run({ name: test.name, after: (call) => void after.push(call) }))(),
      over,
    ])
    await new Promise((resolve) => setImmediate(resolve))
    return { failure: stray, idle }
  } catch (error) {
    return { failure: error ?? new Error('rejected'), idle }
  } finally {
    clearTimeout(timer)
    clearInterval(ticks)
    for (const call of after) await call()
  }
}
