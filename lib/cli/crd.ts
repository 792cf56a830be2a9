/** `kubeloop crd FILE`: the CustomResourceDefinitions of an operator's kinds, on standard output. */
import type { CustomResourceDefinition } from '../core/resource.ts'
import { exec } from '../runtime/os/exec.ts'
import { exists } from '../runtime/os/files.ts'
import { writeLine } from '../runtime/os/terminal.ts'
import { type RuntimeName, writeErrorLine } from '../runtime/os/this_runtime.ts'
import { absolutePath, pathOfUrl, urlOfPath } from '../runtime/os/user_files.ts'
import { ANSWER, type Answer } from './crd_answer.ts'
import { findRuntime } from './find_runtime.ts'
import { loadArguments } from './runtimes.ts'
import { yamlText } from './yaml_text.ts'

export interface CrdOptions {
  readonly file: string
  readonly runtime: RuntimeName | undefined
  /** The user's own arguments for the runtime. */
  readonly passed: readonly string[]
}

/** More than any definitions take. */
const MAX_BYTES = 64 * 1024 * 1024

/** @throws Error if there is no such file, it cannot be loaded, or it has no kind with a schema. */
export async function printDefinitions({ file, runtime: asked, passed }: CrdOptions): Promise<void> {
  if (!(await exists(file))) throw new Error(`Cannot load ${file}: there is no such file`)
  const runtime = await findRuntime(asked, file)
  const { loaderUrl } = await import('./crd_loader.ts')
  // Deno resolves the file's imports by the configuration above its main module: one from standard input is in the user's folder.
  const stdin = runtime.name === 'deno' ? `import ${JSON.stringify(loaderUrl)}` : undefined
  const args = [...loadArguments(runtime, passed), stdin ? '-' : pathOfUrl(loaderUrl), urlOfPath(absolutePath(file))]
  const { code, stdout, stderr } = await exec(runtime.program, args, {
    env: { KUBELOOP_CRD: file },
    stdin,
    maxBytes: MAX_BYTES,
  })
  const lines = stdout.split('\n')
  const answer = lines.findLast((line) => line.startsWith(ANSWER))
  // What the file itself printed must not get into the YAML.
  for (const line of [...lines.filter((each) => each !== answer), ...stderr.split('\n')]) {
    if (line !== '') writeErrorLine(line)
  }
  if (answer === undefined) {
    throw new Error(`Cannot load ${file}: ${runtime.name} ended with code ${code ?? 'none'} before it was loaded`)
  }
  const result = JSON.parse(answer.slice(ANSWER.length)) as Answer
  if ('error' in result) throw new Error(result.error)
  writeLine(textOf(result.definitions).trimEnd())
}

function textOf(definitions: readonly CustomResourceDefinition[]): string {
  return definitions.map(yamlText).join('---\n')
}
