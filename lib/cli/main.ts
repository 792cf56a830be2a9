/** The `kubeloop` command: one line for each failure, and an exit code. 0: done or stopped; 1: it failed; 2: it was called wrongly. */
import { messageOf } from '../core/errors.ts'
import { exitProcess } from '../runtime/os/signals.ts'
import { writeLine } from '../runtime/os/terminal.ts'
import { parentPid, programArguments, writeErrorLine } from '../runtime/os/this_runtime.ts'
import { type Command, parseCommand, UsageError } from './arguments.ts'
import { helpText } from './help.ts'
import { packageVersion } from './version.ts'

const parent = parentPid()

/** Runs what was typed. Never rejects. */
export async function main(): Promise<void> {
  let code = 0
  try {
    await run(parseCommand(programArguments()))
  } catch (error) {
    writeErrorLine(messageOf(error))
    code = error instanceof UsageError ? 2 : 1
  }
  exitProcess(code)
}

/** What a command needs is loaded with it: `--help` need not wait for an API server. */
async function run(command: Command): Promise<void> {
  switch (command.kind) {
    case 'help':
      return writeLine(helpText(command.of, await packageVersion()))
    case 'version':
      return writeLine(await packageVersion())
    case 'new': {
      const [{ newOperator }, { callingRuntime }] = await Promise.all([import('./new.ts'), import('./find_runtime.ts')])
      return await newOperator(command.file, { runtime: callingRuntime(), version: await packageVersion() })
    }
    case 'crd': {
      const { printDefinitions } = await import('./crd.ts')
      return await printDefinitions(command)
    }
    case 'types': {
      const { printTypes } = await import('./types.ts')
      return await printTypes(command.file)
    }
    case 'dev': {
      const [{ dev }, { readManifests }] = await Promise.all([import('./dev/dev.ts'), import('./manifests.ts')])
      const { options } = command
      return await dev({ options, manifests: await readManifests(options.apply), title: options.file, parent })
    }
    case 'demo': {
      const { demo } = await import('./demo.ts')
      return await demo(command.options, parent)
    }
  }
}
