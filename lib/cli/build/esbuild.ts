/** Finds the user's esbuild, and the part of its API that is used here. */
import { messageOf } from '../../core/errors.ts'
import { installedFile } from '../../runtime/os/modules.ts'
import { urlOfPath } from '../../runtime/os/user_files.ts'
import { isOlder } from '../runtimes.ts'

export interface Esbuild {
  readonly version: string
  /** Output files are not written to disk. */
  build(options: { readonly plugins?: readonly Plugin[]; readonly [option: string]: unknown }): Promise<{
    readonly outputFiles: readonly { readonly path: string; readonly contents: Uint8Array; readonly text: string }[]
    readonly metafile: Metafile
  }>
  transform(text: string, options: object): Promise<{ readonly code: string }>
}

type Imported = Readonly<
  Record<string, { readonly imports: readonly { readonly path: string; kind: string; external?: boolean }[] }>
>

/** What was bundled. Paths are relative to the working folder. */
export interface Metafile {
  readonly inputs: Imported
  readonly outputs: Imported
}

type Resolved = { readonly path?: string; readonly external?: boolean } | undefined

interface PluginBuild {
  onResolve(
    options: { readonly filter: RegExp },
    callback: (args: { readonly path: string }) => Resolved | Promise<Resolved>,
  ): void
  onLoad(
    options: { readonly filter: RegExp },
    callback: (args: { readonly path: string }) => Promise<{ contents: string; loader: 'default' } | undefined>,
  ): void
  resolve(path: string, options: object): Promise<Resolved & object>
}

export interface Plugin {
  readonly name: string
  setup(build: PluginBuild): void
}

/** A problem that esbuild reports. */
export interface Message {
  readonly text: string
  /** Lines count from 1, columns from 0. */
  readonly location: { readonly file: string; readonly line: number; readonly column: number } | null
}

/** The oldest version that is known to work. */
const OLDEST_ESBUILD: readonly [number, number] = [0, 21]

/**
 * Resolves with the esbuild that is installed for the file.
 *
 * @throws Error if there is none, it is too old, or its program does not fit this machine.
 */
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
