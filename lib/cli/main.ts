/** Runs the `kubeloop` command. Exit codes: 0 done or stopped, 1 failed, 2 invalid command line. */
import { messageOf } from '../core/errors.ts'
import { seedTls } from '../runtime/net/tls_seed.ts'
import { exitProcess } from '../runtime/os/signals.ts'
import { writeLine } from '../runtime/os/terminal.ts'
import { parentPid, programArguments, writeErrorLine } from '../runtime/os/this_runtime.ts'
import { UsageError } from './arguments.ts'
import { type Command, parseCommand } from './commands.ts'
import { helpText } from './help.ts'
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
      const { crd } = await import('./crd/crd.ts')
      return await crd(command)
    }
    case 'manifests': {
      const { printManifests } = await import('./deploy/manifests.ts')
      return await printManifests(command)
    }
    case 'rights': {
      const { rights } = await import('./rights/rights.ts')
      if (!await rights(command)) exitProcess(1)
      return
    }
    case 'build': {
      const { buildOperator } = await import('./build/build.ts')
      return await buildOperator(command)
    }
    case 'types': {
      const [{ typesOf }, { readManifests }] = await Promise.all([import('./crd_types.ts'), import('./manifests.ts')])
      for (const { name, objects } of await readManifests([command.file])) writeLine(typesOf(objects, name).trimEnd())
      return
    }
    case 'dev': {
      seedTls()
      const [{ dev }, { readManifests }] = await Promise.all([import('./dev/dev.ts'), import('./manifests.ts')])
      const { options } = command
      return await dev({ options, manifests: await readManifests(options.apply), title: options.file, parent })
    }
    case 'apiserver': {
      seedTls()
      const { apiServer } = await import('./apiserver.ts')
      return await apiServer(command.options, parent)
    }
    case 'demo': {
      seedTls()
      const { demo } = await import('./demo.ts')
      return await demo(command.options, parent)
    }
  }
}
