/** Some cells of the matrix of `npm run matrix`. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Envtest } from '../../lib/testing/envtest.ts'
import { runCell, startPlane } from './matrix/cell.ts'
import type { Cell } from './matrix/verdict.ts'

const skip = process.env['KUBEBUILDER_ASSETS'] ? false : 'KUBEBUILDER_ASSETS is not set: no real control plane'

let envtest: Envtest | undefined
before(async () => void (skip || (envtest = await startPlane())))
after(() => envtest?.stop())

const CELLS: readonly Cell[] = [
  { replicas: '2', certificates: 'secret', crds: 'install', event: 'secret-deleted' },
  { replicas: '2', certificates: 'secret', crds: 'install', event: 'kill' },
  { replicas: '1', certificates: 'folder', crds: 'verify', event: 'restored' },
]
for (const [i, cell] of CELLS.entries()) {
  test(`real: ${Object.values(cell).join(', ')}: no write is refused without a reason, and none loses a field`, {
    skip,
  }, async () => {
    const { problems, output, line } = await runCell(cell, `m${i}`, envtest!)
    assert.deepEqual(problems, [], `${line}\n${output}`)
  })
}
