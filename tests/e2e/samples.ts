/** The sample controller with the built package. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { REPO } from './operator_process.ts'
import type { Sample } from './suite.ts'

const SAMPLE = join(REPO, 'examples/1_sample_controller.ts')

/** A killed leader's Lease expires soon. */
const ELECTION = `leaderElection: { duration: '5s', renewDeadline: '4s', retryPeriod: '1s' }`

/** Calls `use` with a user's project: the file, and `kubeloop` and `zod` in node_modules. Removes it afterwards. */
export async function withBuiltSample(use: (sample: Sample) => Promise<void>): Promise<void> {
  const dist = join(REPO, 'dist')
  if (!existsSync(join(dist, 'mod.js'))) {
    throw new Error(`Cannot run the built package: ${dist} has no mod.js; run npm run build`)
  }
  const folder = mkdtempSync(join(tmpdir(), 'kubeloop-built-'))
  try {
    mkdirSync(join(folder, 'node_modules'))
    symlinkSync(dist, join(folder, 'node_modules/kubeloop'))
    symlinkSync(join(REPO, 'node_modules/zod'), join(folder, 'node_modules/zod'))
    writeFileSync(
      join(folder, 'package.json'),
      JSON.stringify({ type: 'module', dependencies: { kubeloop: '*', zod: '*' } }),
    )
    const source = readFileSync(SAMPLE, 'utf8')
    writeFileSync(join(folder, 'operator.ts'), source.replace('leaderElection: true', `${ELECTION}, crds: 'install'`))
    await use({
      file: join(folder, 'operator.ts'),
      library: join(dist, 'mod.js'),
      reads: [folder, dist, join(REPO, 'node_modules/zod')],
    })
  } finally {
    // Not on exit of the process: bun test emits no such event.
    rmSync(folder, { recursive: true, force: true })
  }
}
