/** Runs the `kubeloop` command. Exit codes: 0 done or stopped, 1 failed, 2 invalid command line. */
import { messageOf } from '../core/errors.ts'
import { exitProcess } from '../runtime/os/signals.ts'
import { writeLine } from '../runtime/os/terminal.ts'
import { parentPid, programArguments, writeErrorLine } from '../runtime/os/this_runtime.ts'
import { type Command, helpText, parseCommand, UsageError } from './arguments.ts'
import { packageVersion } from './package_files.ts'

const parent = parentPid()

/** Runs the command, and prints an error as one line. Never rejects. */
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

/** Loads only the modules of the command, so that `--help` does not wait for those of the API server. */
async function run(command: Command): Promise<void> {
  switch (command.kind) {
    case 'help':
      return writeLine(helpText(command.of, await packageVersion()))
    case 'version':
      return writeLine(await packageVersion())
    case 'new': {
      const [{ newOperator }, { callingRuntime }] = await Promise.all([import('./new.ts'), import('./runtimes.ts')])
      return await newOperator(command.file, { runtime: callingRuntime(), version: await packageVersion() })
    }
    case 'crd': {
      const { printDefinitions } = await import('./crd.ts')
      return await printDefinitions(command)
    }
    case 'types': {
      const [{ typesOf }, { readManifests }] = await Promise.all([import('./crd_types.ts'), import('./manifests.ts')])
      for (const { name, objects } of await readManifests([command.file])) writeLine(typesOf(objects, name).trimEnd())
      return
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
