/** Some cells of the matrix of `npm run matrix`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PLANE, runCell } from './matrix/cell.ts'
import type { Cell } from './matrix/verdict.ts'
import { noPlane, realPlane } from '../tools/real_plane.ts'

const plane = realPlane(() => PLANE)

const CELLS: readonly Cell[] = [
  { replicas: '2', certificates: 'secret', crds: 'install', event: 'secret-deleted' },
  { replicas: '2', certificates: 'secret', crds: 'install', event: 'kill' },
  { replicas: '1', certificates: 'folder', crds: 'verify', event: 'restored' },
]
for (const [i, cell] of CELLS.entries()) {
  test(`real: ${Object.values(cell).join(', ')}: no write is refused without a reason, and none loses a field`, {
    skip: noPlane,
  }, async () => {
    const { problems, output, line } = await runCell(cell, `m${i}`, plane.envtest)
    assert.deepEqual(problems, [], `${line}\n${output}`)
  })
}
