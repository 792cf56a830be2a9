/** The machine as configuration sees it: variables, files, the clock. Tests pass another one. */
import { type Clock, systemClock } from '../async/clock.ts'
import { ConfigError, messageOf } from '../core/errors.ts'
import { env, lacking, optionalEnv } from '../runtime/os/env.ts'
import type { ExecOptions, ExecResult } from '../runtime/os/exec.ts'
import { hasTerminal, homeDir, readText } from '../runtime/os/files.ts'

/** What the configuration is read from: variables, files, programs and the clock of a machine. */
export interface Environment {
  readonly clock: Clock
  /** Returns a variable, or undefined if it is unset. Throws if Deno does not permit to read it. */
  env(name: string): string | undefined
  /** Returns a variable, or undefined if it is unset or not permitted. */
  optionalEnv(name: string): string | undefined
  /** Reads a file's text. Rejects with an error whose `code` is ENOENT if there is no such file. */
  readText(file: string): Promise<string>
  /** Returns the home folder of the user, if it is known. */
  homeDir(): string | undefined
  /** Tests whether standard input is a terminal. */
  hasTerminal(): boolean
  /** Returns those of Deno's permissions that are not granted. Default: none. */
  lacking?(permissions: readonly object[]): readonly object[]
  /** Runs a program. Default: on this machine. */
  exec?(command: string, args: readonly string[], options: ExecOptions): Promise<ExecResult>
}

export const systemEnvironment: Environment = {
  clock: systemClock,
  env,
  optionalEnv,
  readText,
  homeDir,
  hasTerminal,
  lacking,
}

/** Returns a variable that selects the cluster. @throws ConfigError if Deno does not permit to read it. */
export function variable(environment: Environment, name: string): string | undefined {
  try {
    return environment.env(name)
  } catch (error) {
    throw new ConfigError(`Cannot find a cluster: ${messageOf(error)}`, { cause: error })
  }
}
