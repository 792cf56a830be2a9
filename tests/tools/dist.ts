/** The built package, for tests. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { mustRun } from './run_command.ts'
import { ROOT } from './tree.ts'

export const DIST: string = join(ROOT, 'dist')

/**
 * Builds dist, unless the test runner has just built it. Always on Node, so that the result does not depend on the
 * runtime.
 */
export async function ensureDist(): Promise<void> {
  if (process.env['KUBELOOP_DIST_IS_FRESH']) return
  await mustRun(join(ROOT, 'node_modules/.bin/node'), [join(ROOT, 'tests/tools/build.ts')])
}

export async function loadBuilt(name: string): Promise<Record<string, unknown>> {
  return await import(pathToFileURL(join(DIST, `${name}.js`)).href) as Record<string, unknown>
}
