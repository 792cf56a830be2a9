/** What configuration asks of the machine, as one parameter: tests hand in another one. */
import { type Clock, systemClock } from '../async/clock.ts'
import { ConfigError, messageOf } from '../core/errors.ts'
import { env, optionalEnv } from '../runtime/os/env.ts'
import type { ExecOptions, ExecResult } from '../runtime/os/exec.ts'
import { hasTerminal, homeDir, readText } from '../runtime/os/files.ts'

export interface Environment {
  readonly clock: Clock
  /** A variable, or undefined when unset. Throws when it may not be read. */
  env(name: string): string | undefined
  /** The same, but unset when it may not be read. */
  optionalEnv(name: string): string | undefined
  /** A file's text; rejects with an error whose `code` is ENOENT when there is none. */
  readText(file: string): Promise<string>
  /** The user's folder, if it is known. */
  homeDir(): string | undefined
  /** Whether somebody can answer a program's questions. */
  hasTerminal(): boolean
  /** Default: runs the program on this machine. */
  exec?(command: string, args: readonly string[], options: ExecOptions): Promise<ExecResult>
}

/** The machine this process runs on. */
export const systemEnvironment: Environment = { clock: systemClock, env, optionalEnv, readText, homeDir, hasTerminal }

/** A variable that decides which cluster it is. @throws ConfigError when it may not be read. */
export function variable(environment: Environment, name: string): string | undefined {
  try {
    return environment.env(name)
  } catch (error) {
    throw new ConfigError(`Cannot find a cluster: ${messageOf(error)}`, { cause: error })
  }
}

/** Whether reading failed because there is no such file. */
export function isNotFound(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')
}
