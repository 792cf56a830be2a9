/** Runs the `kubeloop` command. Exit codes: 0 done or stopped, 1 failed, 2 invalid command line or a difference. */
import { messageOf } from '../core/errors.ts'
import { exitProcess } from '../runtime/os/signals.ts'
import { outputError, writeLine } from '../runtime/os/terminal.ts'
import { parentPid, programArguments, writeErrorLine } from '../runtime/os/this_runtime.ts'
import { runCommand } from './commands.ts'
import { UsageError } from './options.ts'

const parent = parentPid()

/** Runs the command, and prints an error as one line. Never rejects. */
export async function main(): Promise<void> {
  let code = 0
  try {
    code = await runCommand(programArguments(), { parent, print: writeLine, warn: writeErrorLine })
  } catch (error) {
    writeErrorLine(messageOf(error))
    code = error instanceof UsageError ? 2 : 1
  }
  const unwritten = await outputError()
  if (unwritten) {
    writeErrorLine(`Cannot write to standard output: ${messageOf(unwritten)}`)
    code ||= 1
  }
  exitProcess(code)
}
