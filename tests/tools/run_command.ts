/** Runs commands for tests that need kubectl, npm or another program. */
import { execFile } from 'node:child_process'

/** The exit and the output of a command. */
export interface CommandResult {
  readonly code: number | null
  readonly signal: string | null
  readonly stdout: string
  readonly stderr: string
}

export interface CommandOptions {
  /** Text for the command's standard input. */
  readonly input?: string
  /** The working directory. Default: this process's. */
  readonly cwd?: string
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>
}

/** Runs a command to its end. Rejects if it cannot be started, but not for an exit code other than 0. */
export function runCommand(
  command: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  const { input = '', cwd, env } = options
  const settings = { cwd, env: { ...process.env, ...env }, maxBuffer: MAX_OUTPUT_BYTES }
  return new Promise((resolve, reject) => {
    const child = execFile(command, [...args], settings, (error, stdout, stderr) => {
      const code = error ? error.code : 0
      if (error && typeof code !== 'number' && error.signal == null) {
        return reject(new Error(`Cannot run "${command}": ${error.message}`, { cause: error }))
      }
      resolve({ code: typeof code === 'number' ? code : null, signal: error?.signal ?? null, stdout, stderr })
    })
    // A command that does not read its input closes it, which is not an error.
    child.stdin?.on('error', () => child.stdin?.destroy())
    child.stdin?.end(input)
  })
}

/** Runs a command and returns its output. Rejects if it fails. */
export async function mustRun(command: string, args: readonly string[], options: CommandOptions = {}): Promise<string> {
  const { code, signal, stdout, stderr } = await runCommand(command, args, options)
  if (code === 0) return stdout
  throw new Error(
    `Cannot run ${command} ${args.join(' ')}: it ended with ${signal ?? `code ${code}`}\n${stdout}${stderr}`,
  )
}

const MAX_OUTPUT_BYTES = 64 * 1024 * 1024
