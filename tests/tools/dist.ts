/** The built package, for the tests that look at it. */
import { join } from 'node:path'
import { mustRun } from './run_command.ts'
import { ROOT } from './tree.ts'

export const DIST: string = join(ROOT, 'dist')

/** Builds dist, unless the runner of all tests just did. Always on Node: what is built does not depend on who asks. */
export async function ensureDist(): Promise<void> {
  if (process.env['KUBELOOP_DIST_IS_FRESH']) return
  await mustRun(join(ROOT, 'node_modules/.bin/node'), [join(ROOT, 'tests/tools/build.ts')])
}
