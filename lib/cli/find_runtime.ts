/** Finds the runtime for the operator on this machine, with its version. */
import type { RuntimeName } from '../runtime/os/this_runtime.ts'
import { thisRuntime } from '../runtime/os/this_runtime.ts'
import { exec } from '../runtime/os/exec.ts'
import { optionalEnv } from '../runtime/os/env.ts'
import { folderOf, splitPaths } from '../runtime/os/files.ts'
import { findExecutables } from '../runtime/os/workspace.ts'
import { calledWith, chooseRuntime, nodeTooOld } from './runtimes.ts'

export interface FoundRuntime {
  readonly name: RuntimeName
  readonly program: string
  readonly version: string
}

/** @throws Error if the runtime is not installed, too old, or does not report its version. */
export async function findRuntime(requested: RuntimeName | undefined, file: string): Promise<FoundRuntime> {
  const { name, program, version: known } = chooseRuntime(requested, {
    current: thisRuntime(),
    userAgent: optionalEnv('npm_config_user_agent'),
    execPath: optionalEnv('npm_execpath'),
    find,
  }, file)
  const version = known ?? (await versionOf(program))
  const tooOld = name === 'node' ? nodeTooOld(version, file) : undefined
  if (tooOld) throw new Error(tooOld)
  return { name, program, version }
}

/** Returns the runtime that the user called this command with. */
export function callingRuntime(): RuntimeName {
  return calledWith(thisRuntime().name, optionalEnv('npm_config_user_agent'))
}

function find(name: string, beside?: string): string | undefined {
  const folders = beside === undefined ? splitPaths(optionalEnv('PATH') ?? '') : [folderOf(beside)]
  for (const folder of folders) {
    const { paths } = findExecutables(folder, [name, `${name}.exe`])
    const found = paths[name] ?? paths[`${name}.exe`]
    if (found) return found
  }
  return undefined
}

async function versionOf(program: string): Promise<string> {
  const { code, stdout, stderr } = await exec(program, ['--version'])
  const version = /\d+\.\d+\.\d+\S*/.exec(stdout)?.[0]
  if (code === 0 && version) return version
  throw new Error(
    `Cannot use "${program}": the output of --version has no version: ${
      (stderr || stdout).trim().split('\n')[0] || 'nothing'
    }`,
  )
}
