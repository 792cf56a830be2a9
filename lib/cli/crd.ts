/** `kubeloop crd FILE`: prints the CustomResourceDefinitions of an operator's kinds, and its webhook configurations. */
import { exec } from '../runtime/os/exec.ts'
import { exists } from '../runtime/os/files.ts'
import { writeLine } from '../runtime/os/terminal.ts'
import { type RuntimeName, writeErrorLine } from '../runtime/os/this_runtime.ts'
import { absolutePath, pathOfUrl, urlOfPath } from '../runtime/os/user_files.ts'
import type { LoadResult } from './crd_loader.ts'
import { findRuntime, loadArguments } from './runtimes.ts'

export interface CrdOptions {
  readonly file: string
  readonly runtime: RuntimeName | undefined
  /** Where the operator runs, for the Service of its webhooks. Default: `default`. */
  readonly namespace: string | undefined
  /** The user's arguments for the runtime. */
  readonly passed: readonly string[]
}

/** Larger than the output of any operator's definitions. */
const MAX_BYTES = 64 * 1024 * 1024

/** @throws Error if the file does not exist, cannot be loaded, or has no kind with a schema. */
export async function printDefinitions({ file, runtime: requested, namespace, passed }: CrdOptions): Promise<void> {
  if (!(await exists(file))) throw new Error(`Cannot load ${file}: there is no such file`)
  const runtime = await findRuntime(requested, file)
  const { loaderUrl, NAMESPACE, RESULT } = await import('./crd_loader.ts')
  // Deno resolves the file's imports by the configuration above the main module. A main module from standard input is
  // in the user's folder.
  const stdin = runtime.name === 'deno' ? `import ${JSON.stringify(loaderUrl)}` : undefined
  const args = [...loadArguments(runtime, passed), stdin ? '-' : pathOfUrl(loaderUrl), urlOfPath(absolutePath(file))]
  const { code, stdout, stderr } = await exec(runtime.program, args, {
    env: { KUBELOOP_CRD: file, ...(namespace !== undefined && { [NAMESPACE]: namespace }) },
    stdin,
    maxBytes: MAX_BYTES,
  })
  const lines = stdout.split('\n')
  const line = lines.findLast((each) => each.startsWith(RESULT))
  // Output of the file itself must not get into the YAML.
  for (const other of [...lines.filter((each) => each !== line), ...stderr.split('\n')]) {
    if (other !== '') writeErrorLine(other)
  }
  if (line === undefined) {
    throw new Error(`Cannot load ${file}: ${runtime.name} ended with code ${code ?? 'none'} before it was loaded`)
  }
  const result = JSON.parse(line.slice(RESULT.length)) as LoadResult
  if ('error' in result) throw new Error(result.error)
  for (const note of result.notes) writeErrorLine(note)
  writeLine(result.definitions.map(yamlText).join('---\n').trimEnd())
}

/** A string that needs no quotes in YAML 1.1, which kubectl reads, nor in YAML 1.2. */
const PLAIN = /^(?!(?:y|n|yes|no|on|off|true|false|null)$)[A-Za-z_][\w./-]*(?: [\w./-]+)*$/i

/** Returns a YAML document in block style. Strings are quoted unless every YAML version reads them as strings. */
export function yamlText(value: unknown): string {
  return `${block(value, '')}\n`
}

function block(value: unknown, indent: string): string {
  if (Array.isArray(value) && value.length > 0) {
    return value.map((item) => `${indent}- ${block(item, `${indent}  `).trimStart()}`).join('\n')
  }
  if (isMap(value)) {
    return Object.entries(value).filter(([, each]) => each !== undefined).map(([name, each]) => {
      const key = `${indent}${scalar(name)}:`
      if (isMap(each)) return `${key}\n${block(each, `${indent}  `)}`
      return Array.isArray(each) && each.length > 0 ? `${key}\n${block(each, indent)}` : `${key} ${scalar(each)}`
    }).join('\n')
  }
  return indent + scalar(value)
}

function isMap(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value) &&
    Object.values(value).some((each) => each !== undefined)
}

/** Quotes as JSON does: JSON is YAML. */
function scalar(value: unknown): string {
  return typeof value === 'string' && PLAIN.test(value) ? value : JSON.stringify(value)
}
