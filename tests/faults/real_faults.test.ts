/** The rows of the table of faults that take a few seconds each, on operators of all runtimes and a real API server. */
import assert from 'node:assert/strict'
import process from 'node:process'
import { test } from 'node:test'
import { RUNTIMES } from './lane.ts'
import { ROWS } from './rows.ts'
import { runTable } from './table.ts'

const skip = process.env['KUBEBUILDER_ASSETS']
  ? process.platform === 'linux' ? false : 'the programs of the control plane are found in /proc, which Linux has'
  : 'KUBEBUILDER_ASSETS is not set: no real control plane'

test('operators of all runtimes do their work after each fault, or end as documented', { skip }, async () => {
  const { problems } = await runTable(ROWS.filter(({ isShort }) => isShort), RUNTIMES)
  assert.deepEqual(problems, [])
})
