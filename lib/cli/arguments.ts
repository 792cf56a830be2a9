/** Parses the arguments of the command line, and has the texts of `--help`. */
import type { RuntimeName } from '../runtime/os/this_runtime.ts'

export interface DevOptions {
  readonly file: string
  /** Manifests, in the order given. */
  readonly apply: readonly string[]
  readonly runtime: RuntimeName | undefined
  readonly elect: boolean
  readonly port: number | undefined
  /** Start without the state of the last run. */
  readonly fresh: boolean
  /** Print lines of JSON, also on a terminal. */
  readonly json: boolean
  /** Arguments for the runtime, before the file. */
  readonly passed: readonly string[]
}

export type Command =
  | { readonly kind: 'help'; readonly of: CommandName | undefined }
  | { readonly kind: 'version' }
  | { readonly kind: 'dev'; readonly options: DevOptions }
  | { readonly kind: 'demo'; readonly options: Omit<DevOptions, 'file'> }
  | { readonly kind: 'new' | 'types'; readonly file: string }
  | {
    readonly kind: 'crd'
    readonly file: string
    readonly runtime: RuntimeName | undefined
    readonly namespace: string | undefined
    readonly passed: readonly string[]
  }

export type CommandName = 'dev' | 'demo' | 'new' | 'crd' | 'types'

/** Thrown for an invalid command line. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

type OptionKind = 'flag' | 'value' | 'list'

const RUN_OPTIONS: Readonly<Record<string, OptionKind>> = {
  apply: 'list',
  runtime: 'value',
  elect: 'flag',
  port: 'value',
  fresh: 'flag',
  json: 'flag',
}

interface Shape {
  readonly files: 0 | 1
  readonly options: Readonly<Record<string, OptionKind>>
  /** Whether the command takes arguments for the runtime. */
  readonly passes: boolean
}

const COMMANDS: Readonly<Record<CommandName, Shape>> = {
  dev: { files: 1, options: RUN_OPTIONS, passes: true },
  demo: { files: 0, options: RUN_OPTIONS, passes: true },
  new: { files: 1, options: {}, passes: false },
  crd: { files: 1, options: { runtime: 'value', namespace: 'value' }, passes: true },
  types: { files: 1, options: {}, passes: false },
}

const RUNTIMES: readonly RuntimeName[] = ['node', 'bun', 'deno']

/** @throws UsageError if the command line is invalid. */
export function parseCommand(args: readonly string[]): Command {
  const [first, ...rest] = args
  if (first === undefined || first === '--help' || first === '-h') return { kind: 'help', of: undefined }
  if (first === '--version' || first === '-v') return { kind: 'version' }
  if (first === 'help') return { kind: 'help', of: rest[0] === undefined ? undefined : commandName(rest[0]) }
  const name = commandName(first)
  const { words, values, passed } = split(name, rest)
  if (values.has('help')) return { kind: 'help', of: name }
  const file = fileOf(name, words)
  if (name === 'new' || name === 'types') return { kind: name, file: file! }
  const options = { ...runOptions(name, values), passed }
  if (name === 'crd') {
    return { kind: name, file: file!, runtime: options.runtime, namespace: values.get('namespace')?.at(-1), passed }
  }
  return name === 'demo' ? { kind: 'demo', options } : { kind: 'dev', options: { ...options, file: file! } }
}

function commandName(word: string): CommandName {
  if (Object.hasOwn(COMMANDS, word)) return word as CommandName
  throw new UsageError(
    `Cannot understand "${word}": the commands are ${Object.keys(COMMANDS).join(', ')}; see kubeloop --help`,
  )
}

interface Split {
  readonly words: readonly string[]
  readonly values: ReadonlyMap<string, readonly string[]>
  readonly passed: readonly string[]
}

/** Options may be anywhere before `--`; all arguments after it are for the runtime. */
function split(name: CommandName, args: readonly string[]): Split {
  const { options, passes } = COMMANDS[name]
  const words: string[] = []
  const values = new Map<string, string[]>()
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!
    if (arg === '--') {
      const passed = args.slice(at + 1)
      if (passed.length > 0 && !passes) {
        throw new UsageError(`Cannot run kubeloop ${name}: it takes no arguments after "--"`)
      }
      return { words, values, passed }
    }
    if (!arg.startsWith('-') || arg === '-') {
      words.push(arg)
      continue
    }
    const [option, inline] = arg === '-h' ? ['help', undefined] : optionOf(arg)
    const kind: OptionKind | undefined = option === 'help'
      ? 'flag'
      : Object.hasOwn(options, option)
      ? options[option]
      : undefined
    if (!kind) {
      const known = Object.keys(options).map((each) => `--${each}`)
      const knows = known.length > 0 ? `knows ${known.join(', ')}` : 'has no options'
      throw new UsageError(`Cannot understand "${arg}": kubeloop ${name} ${knows}`)
    }
    if (kind === 'flag') {
      if (inline !== undefined) throw new UsageError(`Cannot understand "${arg}": --${option} takes no value`)
      values.set(option, ['true'])
      continue
    }
    const value = inline ?? args[++at]
    const isMissing = value === undefined || value === '' || (inline === undefined && value.startsWith('--'))
    if (isMissing) throw new UsageError(`Cannot understand "${arg}": --${option} needs a value`)
    if (kind === 'value' && values.has(option)) {
      throw new UsageError(`Cannot understand "${arg}": --${option} is given twice`)
    }
    values.set(option, [...(values.get(option) ?? []), value])
  }
  return { words, values, passed: [] }
}

function optionOf(arg: string): readonly [string, string | undefined] {
  const at = arg.indexOf('=')
  return at < 0 ? [arg.replace(/^--/, ''), undefined] : [arg.slice(0, at).replace(/^--/, ''), arg.slice(at + 1)]
}

function fileOf(name: CommandName, words: readonly string[]): string | undefined {
  const { files } = COMMANDS[name]
  if (words.length === files) {
    const [file] = words
    if (file !== undefined && (name === 'dev' || name === 'crd') && !/\.[cm]?[jt]sx?$/.test(file)) {
      throw new UsageError(
        `Cannot run kubeloop ${name}: "${file}" is not a module; an operator's file ends in .ts, .mts, .js or .mjs`,
      )
    }
    return file
  }
  if (words.length < files) {
    throw new UsageError(
      `Cannot run kubeloop ${name}: it needs a file, as in "kubeloop ${name} ${
        name === 'types' ? 'crd.yaml' : 'operator.ts'
      }"`,
    )
  }
  const surplus = `"${words[files]!}"`
  const what = files === 0
    ? `no file, but ${surplus} is given`
    : `one file, but ${surplus} is given as well; put arguments for the runtime after "--"`
  throw new UsageError(`Cannot run kubeloop ${name}: it takes ${what}`)
}

function runOptions(name: CommandName, values: Split['values']): Omit<DevOptions, 'file' | 'passed'> {
  const last = (option: string): string | undefined => values.get(option)?.at(-1)
  const runtime = last('runtime')
  if (runtime !== undefined && !RUNTIMES.includes(runtime as RuntimeName)) {
    const known = `${RUNTIMES.slice(0, -1).join(', ')} or ${RUNTIMES.at(-1)}`
    throw new UsageError(`Cannot run kubeloop ${name}: --runtime is "${runtime}", and must be ${known}`)
  }
  return {
    apply: values.get('apply') ?? [],
    runtime: runtime as RuntimeName | undefined,
    elect: values.has('elect'),
    port: portOf(name, last('port')),
    fresh: values.has('fresh'),
    json: values.has('json'),
  }
}

function portOf(name: CommandName, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const port = Number(text)
  if (/^\d+$/.test(text) && port >= 1 && port <= 65_535) return port
  throw new UsageError(`Cannot run kubeloop ${name}: --port is "${text}", and must be a number from 1 to 65535`)
}

const RUN_HELP = `  --apply FILE          apply a manifest (JSON or YAML, "-" for standard input), again when it is
                        saved; may be repeated;
                        --apply NAME=FILE applies it in the cluster of app.cluster(NAME, …)
  --runtime NAME        node, bun or deno; default: the one that this command was called with
  --elect               use the operator's leader election; default: off, because an operator
                        that crashed leaves its Lease behind
  --port N              the port of the API on 127.0.0.1; default: a free one
  --fresh               start without the state of the last run (.kubeloop/state.json)
  --json                print lines of JSON; default if standard output is not a terminal
  -- ARGUMENTS          arguments for the runtime, as in "-- --allow-net=example.org"`

const TEXTS: Readonly<Record<CommandName, string>> = {
  dev: `kubeloop dev FILE [options]

Runs an operator against a Kubernetes API in this process, and restarts it when the file or one that it
imports is saved. kubectl works with .kubeloop/kubeconfig.

${RUN_HELP}

Ctrl-C stops everything; the API's state is kept for the next run.`,
  demo: `kubeloop demo [options]

Runs "kubeloop dev" with a sample operator and an object for it, in .kubeloop/demo/.

${RUN_HELP}`,
  new: `kubeloop new FILE

Writes a sample operator with its tests, and the configuration of the runtime that this command was
called with, if it is missing: package.json and tsconfig.json, or deno.json. Overwrites no file.`,
  crd: `kubeloop crd FILE [options]

Prints the CustomResourceDefinitions of the kinds that FILE exports or has an operator for, and the
configurations of its webhooks, as YAML: "kubeloop crd operator.ts | kubectl apply -f -". Loads the file,
but does not start its operator.

  --namespace NAME      where the operator runs, for the Service of its webhooks; default: default
  --runtime NAME        node, bun or deno; default: the one that this command was called with
  -- ARGUMENTS          arguments for the runtime, as in "-- --allow-net=example.org"`,
  types: `kubeloop types FILE

Prints TypeScript for the kinds of the CustomResourceDefinitions in FILE (YAML or JSON, "-" for standard
input): a type to read, a type to write, and the Resource, as in "kubeloop types crd.yaml > widget.ts".`,
}

export function helpText(of: CommandName | undefined, version: string): string {
  if (of) return TEXTS[of]
  return `kubeloop ${version}: Kubernetes operators in TypeScript

  kubeloop dev FILE     run an operator against a Kubernetes API in memory; restart it when it is saved
  kubeloop demo         do the same with a sample operator; needs no file
  kubeloop new FILE     write a sample operator and its tests
  kubeloop crd FILE     print the CustomResourceDefinitions of an operator's kinds
  kubeloop types FILE   print the types of the kinds in a file of CustomResourceDefinitions
  kubeloop help NAME    print the options of a command
  kubeloop --version    print the version`
}
