/**
 * Tests the simulation: plants bugs in the library, one at a time, and runs seeds until one fails.
 *
 *   npm run simulate:planted [-- NAME… --seeds 1000 --jobs 2]
 *
 * A bug that no seed finds is printed; the exit code is their number. Without names, the seeds also run without a bug.
 */
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { endAll, run } from '../tools/runner/processes.js'
import { ROOT } from '../tools/tree.ts'
import { BUGS } from './bugs.ts'
import { withFolder } from '../tools/folder.ts'

const COPIED = ['lib', 'tests', 'mod.ts', 'package.json', 'tsconfig.json']
const LIMIT_MS = 1_800_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seeds: { type: 'string', default: '1000' }, jobs: { type: 'string', default: '2' } },
})
process.on('exit', () => endAll('SIGTERM'))
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130))

const queue = BUGS.filter(([name]) => positionals.length === 0 || positionals.some((part) => name.includes(part)))
const missed: string[] = []

/** Returns the first seed that fails, with its problems. */
async function firstFailing(folder: string): Promise<string | undefined> {
  const args = ['tests/simulation/simulate.ts', '--seeds', values.seeds, '--whole']
  const { code, output } = await run(process.execPath, args, { cwd: folder, env: process.env, limit: LIMIT_MS })
  if (code === 0) return undefined
  const [, seed, problems] = /^Seed (\d+) fails: (.*)$/m.exec(output) ?? []
  return seed ? `seed ${seed} (${problems!.slice(0, 100)})` : `exit code ${code} (${output.slice(-300)})`
}

async function work(): Promise<void> {
  await withFolder(async (folder) => {
    for (const name of COPIED) cpSync(join(ROOT, name), join(folder, name), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    for (let bug = queue.shift(); bug; bug = queue.shift()) {
      const [name, file, from, to] = bug
      const path = `lib/${file}.ts`
      const text = readFileSync(join(ROOT, path), 'utf8')
      writeFileSync(join(folder, path), text.replace(from, () => to))
      const found = await firstFailing(folder)
      console.log(`${found ?? 'NOT FOUND'}: ${name}`)
      if (found === undefined) missed.push(name)
      writeFileSync(join(folder, path), text)
    }
  })
}

if (positionals.length === 0) console.log(`without a bug: ${(await firstFailing(ROOT)) ?? 'no seed fails'}`)
await Promise.all(Array.from({ length: Number(values.jobs) }, work))
console.log(`${missed.length} not found`)
process.exit(Math.min(missed.length, 100))
