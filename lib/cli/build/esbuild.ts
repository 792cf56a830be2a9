/** Finds the user's esbuild. */
import type * as esbuild from 'esbuild'
import { messageOf } from '../../core/errors.ts'
import { installedFile } from '../../runtime/os/modules.ts'
import { urlOfPath } from '../../runtime/os/user_files.ts'
import { isOlder } from '../runtimes.ts'

export type Esbuild = Pick<typeof esbuild, 'version' | 'build' | 'transform'>

/** The oldest version that is known to work. */
const OLDEST_ESBUILD: readonly [number, number] = [0, 21]

/** @throws Error if the file has no esbuild, an old one, or one whose program does not fit this machine. */
export async function findEsbuild(file: string): Promise<Esbuild> {
  const installed = installedFile('esbuild', file)
  if (installed === undefined) {
    throw new Error(`Cannot build ${file}: esbuild, which bundles it, is not installed; npm install --save-dev esbuild`)
  }
  let loaded: { readonly default?: Esbuild } & Partial<Esbuild>
  try {
    loaded = (await import(urlOfPath(installed))) as typeof loaded
  } catch (error) {
    throw new Error(
      `Cannot build ${file}: esbuild cannot be loaded (${messageOf(error).split('\n')[0]}); install it again`,
    )
  }
  const esbuild = (loaded.build ? loaded : loaded.default) as Esbuild
  if (isOlder(esbuild.version, OLDEST_ESBUILD)) {
    const needs = `esbuild ${esbuild.version} is older than ${OLDEST_ESBUILD.join('.')}`
    throw new Error(`Cannot build ${file}: ${needs}; npm install --save-dev esbuild@latest`)
  }
  return esbuild
}
