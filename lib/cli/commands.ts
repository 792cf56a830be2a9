/** The commands of the command line. A command's modules are loaded when it is called. */
import { didYouMean } from '../core/option_names.ts'
import { seedTls } from '../runtime/net/tls_seed.ts'
import { exists } from '../runtime/os/files.ts'
import { type Command, type Context, helpEntry, helpOf, parseArguments, UsageError } from './options.ts'
import { packageVersion } from './package_files.ts'

type Listed = readonly [summary: string, load: () => Promise<Command>, argument?: 'FILE' | 'SHELL']

/** The random numbers of TLS are prepared while a command that serves is loaded. */
function serving(load: Listed[1]): Listed[1] {
  return () => {
    seedTls()
    return load()
  }
}

const COMMANDS: Readonly<Record<string, Listed>> = {
  dev: [
    'run an operator against a Kubernetes API in memory; restart it when it is saved',
    serving(async () => (await import('./commands/dev.ts')).dev),
    'FILE',
  ],
  demo: [
    'do the same with a sample operator; needs no file',
    serving(async () => (await import('./commands/demo.ts')).demo),
  ],
  new: ['write a sample operator and its tests', async () => (await import('./commands/new.ts')).newCommand, 'FILE'],
  crd: [
    "print the CustomResourceDefinitions of an operator's kinds",
    async () => (await import('./commands/crd.ts')).crd,
    'FILE',
  ],
  manifests: [
    'print the objects that run an operator in a cluster, as YAML or for kustomize',
    async () => (await import('./commands/manifests.ts')).manifests,
    'FILE',
  ],
  rights: [
    'print the least rights of an operator, or check a Role',
    async () => (await import('./commands/rights.ts')).rights,
    'FILE',
  ],
  plan: [
    'show what an operator would do in a cluster, without writing to it',
    async () => (await import('./commands/plan.ts')).plan,
    'FILE',
  ],
  build: ['bundle an operator into one file', async () => (await import('./commands/build.ts')).build, 'FILE'],
  types: [
    'print the types of the kinds in a file of CustomResourceDefinitions',
    async () => (await import('./commands/types.ts')).types,
    'FILE',
  ],
  apiserver: [
    'serve a Kubernetes API in memory, without an operator',
    serving(async () => (await import('./commands/apiserver.ts')).apiserver),
  ],
  completion: [
    'print a script that completes the command line in a shell: bash, zsh or fish',
    async () => (await import('./commands/completion.ts')).completionOf(declared),
    'SHELL',
  ],
  version: ['print the version, as --version does', () => Promise.resolve(VERSION)],
}

const VERSION: Command = {
  about: 'Prints the version of kubeloop.',
  options: {},
  run: async (_, { print }) => print(await packageVersion()),
}

async function declared(): Promise<readonly { name: string; summary: string; command: Command }[]> {
  return await Promise.all(
    Object.entries(COMMANDS).map(async ([name, [summary, load]]) => ({ name, summary, command: await load() })),
  )
}

/**
 * Runs a command line. Resolves with the exit code.
 *
 * @throws UsageError if it is invalid; another error if the command fails.
 */
export async function runCommand(args: readonly string[], context: Context): Promise<number> {
  const [first = 'help', ...rest] = args
  if (first === '--version' || first === '-v') return await runCommand(['version', ...rest], context)
  if (HELP.has(first)) {
    const [name, surplus] = rest.filter((word) => !HELP.has(word))
    if (surplus !== undefined) throw new UsageError(`Cannot understand "${surplus}": kubeloop help takes one command`)
    context.print(name === undefined ? overview(await packageVersion()) : helpOf(name, await commandNamed(name)))
    return 0
  }
  const command = await commandNamed(first)
  const values = parseArguments(first, command, rest)
  if (values === 'help') {
    context.print(helpOf(first, command))
    return 0
  }
  // A command that takes arguments for the runtime runs the file in it.
  if (command.file && command.passes && !(await exists(values.file))) {
    throw new Error(`Cannot load ${values.file}: there is no such file`)
  }
  const ended = await command.run(values, context)
  return typeof ended === 'number' ? ended : ended === false ? 1 : 0
}

const HELP: ReadonlySet<string> = new Set(['help', '--help', '-h'])

/** @throws UsageError if there is no such command. */
export async function commandNamed(name: string): Promise<Command> {
  const listed = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (listed) return await listed[1]()
  const names = [...Object.keys(COMMANDS), 'help']
  const advice = didYouMean(name, names) ?? `the commands are ${names.join(', ')}; see kubeloop --help`
  throw new UsageError(`Cannot understand "${name}": ${advice}`)
}

function overview(version: string): string {
  const entries = Object.entries(COMMANDS).map(([name, [summary, , argument]]) =>
    helpEntry(`kubeloop ${name}${argument ? ` ${argument}` : ''}`, summary)
  )
  return `kubeloop ${version}: Kubernetes operators in TypeScript

${entries.join('\n')}
${helpEntry('kubeloop help NAME', 'print the options of a command')}

Exit codes: 0 done or stopped, 1 failed, 2 invalid command line, or what plan found to do.`
}
