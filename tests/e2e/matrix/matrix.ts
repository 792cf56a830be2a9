/**
 * Webhooks in a year of production, on a real API server: all cells, or those that are chosen.
 *
 *   npm run matrix -- [--replicas 1,2,3] [--certificates secret,folder] [--crds install,verify] [--event kill,…]
 *     [--jobs 2] [--output FOLDER]
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { PLANE, runCell } from './cell.ts'
import { AXES, type Cell } from './verdict.ts'
import { startEnvtest } from '../../../lib/testing/envtest/envtest.ts'

const axes = Object.entries<readonly string[]>(AXES)
const chosen = axes.map(([axis, all]) => [axis, { type: 'string' as const, default: all.join() }] as const)
const { values } = parseArgs({
  options: { ...Object.fromEntries(chosen), jobs: { type: 'string', default: '2' }, output: { type: 'string' } },
})
let cells: Record<string, string>[] = [{}]
for (const [axis, all] of axes) {
  const wanted = String((values as Record<string, string>)[axis]).split(',')
  const unknown = wanted.find((value) => !all.includes(value))
  if (unknown !== undefined) throw new Error(`There is no --${axis} ${unknown}: they are ${all.join(', ')}`)
  cells = cells.flatMap((cell) => wanted.map((value) => ({ ...cell, [axis]: value })))
}
if (values.output) mkdirSync(values.output, { recursive: true })
const rows: string[] = []
let failed = 0
const envtest = await startEnvtest(PLANE)
// The workers share the iterator.
const left = cells.entries()
const work = async (): Promise<void> => {
  for (const [i, cell] of left) {
    const names = Object.values(cell)
    const done = await runCell(cell as Cell, `m${i}`, envtest).catch((error: unknown) => (
      { problems: [String(error)], line: '| | | |', output: '' }
    ))
    const state = done.problems.length > 0 ? 'NOT WELL' : 'well'
    if (done.problems.length > 0) failed++
    rows[i] = `| ${[...names, done.line, state].join(' | ')} |`
    console.log([rows[i], ...done.problems.map((problem) => `    ${problem}`)].join('\n'))
    if (values.output) writeFileSync(join(values.output, `${names.join('_')}.log`), done.output)
  }
}
try {
  await Promise.all(Array.from({ length: Number(values.jobs) }, work))
} finally {
  await envtest.stop()
}
const columns = [...Object.keys(AXES), 'writes', 'refused', 'longest gap', 'lost', 'time', 'state']
console.log(`\n| ${columns.join(' | ')} |\n|${' --- |'.repeat(columns.length)}\n${rows.join('\n')}`)
console.log(`${cells.length - failed} well, ${failed} not well`)
process.exitCode = failed > 0 ? 1 : 0
