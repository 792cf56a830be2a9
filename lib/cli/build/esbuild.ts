/** Finds the user's esbuild, and the part of its API that is used here. */
import { installedFile } from '../../runtime/os/modules.ts'
import { urlOfPath } from '../../runtime/os/user_files.ts'

export interface Esbuild {
  readonly version: string
  build(options: BuildOptions): Promise<BuildResult>
  transform(text: string, options: object): Promise<{ readonly code: string }>
}

interface BuildOptions {
  readonly plugins?: readonly Plugin[]
  readonly [option: string]: unknown
}

interface BuildResult {
  /** Not written to disk. */
  readonly outputFiles: readonly { readonly path: string; readonly contents: Uint8Array; readonly text: string }[]
  readonly metafile: Metafile
}

/** What was bundled. Paths are relative to the working folder. */
export interface Metafile {
  readonly inputs: Readonly<Record<string, { readonly imports: readonly MetafileImport[] }>>
  readonly outputs: Readonly<Record<string, { readonly imports: readonly MetafileImport[] }>>
}

interface MetafileImport {
  readonly path: string
  readonly kind: string
  readonly external?: boolean
}

export interface Plugin {
  readonly name: string
  setup(build: PluginBuild): void
}

interface PluginBuild {
  onResolve(options: { readonly filter: RegExp }, callback: (args: ResolveArgs) => Resolved | Promise<Resolved>): void
  onLoad(
    options: { readonly filter: RegExp },
    callback: (args: { readonly path: string }) => Promise<{ contents: string; loader: 'default' } | undefined>,
  ): void
  resolve(path: string, options: object): Promise<Resolved & object>
}

interface ResolveArgs {
  readonly path: string
  readonly importer: string
  readonly kind: string
  readonly resolveDir: string
}

type Resolved = { readonly path?: string; readonly external?: boolean } | undefined

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
    throw new Error(`Cannot build ${file}: esbuild cannot be loaded (${firstLine(error)}); install it again`)
  }
  const esbuild = (loaded.build ? loaded : loaded.default) as Esbuild
  if (isTooOld(esbuild.version)) {
    const needs = `esbuild ${esbuild.version} is older than ${OLDEST_ESBUILD.join('.')}`
    throw new Error(`Cannot build ${file}: ${needs}; npm install --save-dev esbuild@latest`)
  }
  return esbuild
}

function isTooOld(version: string | undefined): boolean {
  const [major = 0, minor = 0] = (version ?? '').split('.').map(Number)
  return !(major > OLDEST_ESBUILD[0] || (major === OLDEST_ESBUILD[0] && minor >= OLDEST_ESBUILD[1]))
}

function firstLine(error: unknown): string {
  return String(error instanceof Error ? error.message : error).split('\n')[0]!
}
