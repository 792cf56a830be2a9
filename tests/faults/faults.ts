/**
 * Faults between operators and a real API server, on all runtimes: a table of what each has come to.
 *
 *   npm run faults -- [--only node,bun,deno] [--rows TEXT,…] [--output FILE]
 *
 * A row is run if its name contains one of the TEXTs. Without one: all, about 20 minutes. With FAULTS_OUTPUT=1, the
 * output of the operators is printed after a wrong row.
 */
import { writeFileSync } from 'node:fs'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { RUNTIMES } from './lane.ts'
import { ROWS } from './rows.ts'
import { runTable } from './table.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: RUNTIMES.join() },
    rows: { type: 'string', default: '' },
    output: { type: 'string' },
  },
})
const runtimes = RUNTIMES.filter((each) => values.only.split(',').includes(each))
const rows = ROWS.filter(({ name }) => values.rows.split(',').some((text) => name.includes(text)))
if (rows.length * runtimes.length === 0) throw new Error('No row and runtime is of that name')
const { table, problems } = await runTable(rows, runtimes)
if (values.output) writeFileSync(values.output, table)
console.log(`\n${table}`)
process.exitCode = problems.length > 0 ? 1 : 0
