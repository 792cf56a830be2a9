/** Loads an operator's file in its runtime, without starting it, and returns objects that describe it. */
import { exec } from '../runtime/os/exec.ts'
import type { RuntimeName } from '../runtime/os/this_runtime.ts'
import { absolutePath, pathOfUrl, urlOfPath } from '../runtime/os/user_files.ts'
import type { FileRequest, LoadRequest, LoadResult } from './loader.ts'
import { findRuntime, loadArguments, type Permissions } from './runtimes.ts'

export interface Loaded {
  readonly file: string
  readonly runtime: RuntimeName | undefined
  readonly passed: readonly string[]
}

/** How long the import of the file may take. A first import of packages on Deno downloads them. */
const LIMIT_MS = 30_000

interface Limits {
  /** How long the import of the file may take. */
  readonly limitMs?: number
  /** How long the work after that may take. */
  readonly workMs?: number
  /** Flags of Deno for it. */
  readonly permissions?: Permissions
}

/** Larger than the output of any operator's definitions. */
const MAX_BYTES = 64 * 1024 * 1024

/**
 * Resolves with the requested objects. Calls `warn` with hints, and with what the file prints.
 *
 * @throws Error if the file cannot be loaded, waits longer than `limitMs` at its top level, or does not
 * have what is requested.
 */
export async function load(
  { file, runtime: requested, passed }: Loaded,
  request: LoadRequest,
  warn: (line: string) => void,
  { limitMs = LIMIT_MS, workMs = 0, permissions }: Limits = {},
): Promise<readonly object[]> {
  const runtime = await findRuntime(requested, file)
  const { loaderUrl, REQUEST, RESULT } = await import('./loader.ts')
  // Deno resolves the file's imports by the configuration above the main module. A main module from standard input is
  // in the user's folder.
  const stdin = runtime.name === 'deno' ? `import ${JSON.stringify(loaderUrl)}` : undefined
  const args = [
    ...loadArguments(runtime, passed, permissions),
    stdin ? '-' : pathOfUrl(loaderUrl),
    urlOfPath(absolutePath(file)),
  ]
  const { code, stdout, stderr } = await exec(runtime.program, args, {
    env: { [REQUEST]: JSON.stringify({ file, limitMs, ...request } satisfies FileRequest) },
    stdin,
    // An endless loop in the file never ends by itself.
    // The runtime and the packages of the file need time, too.
    timeoutMs: limitMs + LIMIT_MS + workMs,
    maxBytes: MAX_BYTES,
  })
  const lines = stdout.split('\n')
  const line = lines.findLast((each) => each.startsWith(RESULT))
  // Output of the file itself must not get into the objects.
  for (const other of [...lines.filter((each) => each !== line), ...stderr.split('\n')]) {
    if (other !== '') warn(other)
  }
  if (line === undefined) {
    throw new Error(`Cannot load ${file}: ${runtime.name} ended with code ${code ?? 'none'} before it was loaded`)
  }
  const result = JSON.parse(line.slice(RESULT.length)) as LoadResult
  if ('error' in result) throw new Error(result.error)
  for (const note of result.notes) warn(note)
  return result.objects
}
