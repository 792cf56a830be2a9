/** Parses the commands of the command line. */
import { isNamespace } from '../core/names.ts'
import type { RuntimeName } from '../runtime/os/this_runtime.ts'
import { type OptionKind, type Shape, type Split, splitArguments, UsageError } from './arguments.ts'
import { parseImage } from './deploy/image.ts'
import type { FolderTarget } from './deploy/manifests.ts'
import type { DeployOptions } from './deploy/options.ts'
import type { RightsOptions } from './rights/rights.ts'

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

/** Options of `kubeloop apiserver`. */
export interface ApiServerOptions {
  /** Manifests, in the order given. */
  readonly apply: readonly string[]
  readonly port: number | undefined
  /** The address to listen on. Default: 127.0.0.1. */
  readonly host: string | undefined
  /** The file that keeps the objects. Default: none. */
  readonly state: string | undefined
  /** The file of the kubeconfig. Default: `.kubeloop/kubeconfig`. */
  readonly kubeconfig: string | undefined
  readonly garbageCollector: boolean
  /** Print lines of JSON, also on a terminal. */
  readonly json: boolean
}

export type Command =
  | { readonly kind: 'help'; readonly of: CommandName | undefined }
  | { readonly kind: 'version' }
  | { readonly kind: 'dev'; readonly options: DevOptions }
  | { readonly kind: 'demo'; readonly options: Omit<DevOptions, 'file'> }
  | { readonly kind: 'apiserver'; readonly options: ApiServerOptions }
  | { readonly kind: 'new' | 'types'; readonly file: string }
  | {
    readonly kind: 'crd'
    readonly file: string
    readonly runtime: RuntimeName | undefined
    readonly namespace: string | undefined
    readonly passed: readonly string[]
    /** A file or folder to compare with. */
    readonly check: string | undefined
    /** The cluster to compare with. */
    readonly live: { readonly kubeconfig: string | undefined; readonly context: string | undefined } | undefined
  }
  | {
    readonly kind: 'manifests'
    readonly file: string
    readonly runtime: RuntimeName | undefined
    readonly passed: readonly string[]
    readonly deploy: DeployOptions
    readonly target: FolderTarget | undefined
  }
  | ({ readonly kind: 'rights' } & RightsOptions)
  | {
    readonly kind: 'build'
    readonly file: string
    readonly runtime: RuntimeName | undefined
    readonly passed: readonly string[]
    /** The folder of the bundle. */
    readonly out: string
  }

export type CommandName = 'dev' | 'demo' | 'new' | 'crd' | 'manifests' | 'rights' | 'build' | 'types' | 'apiserver'

const RUN_OPTIONS: Readonly<Record<string, OptionKind>> = {
  apply: 'list',
  runtime: 'value',
  elect: 'flag',
  port: 'value',
  fresh: 'flag',
  json: 'flag',
}

const COMMANDS: Readonly<Record<CommandName, Shape>> = {
  dev: { files: 1, options: RUN_OPTIONS, passes: true },
  demo: { files: 0, options: RUN_OPTIONS, passes: true },
  new: { files: 1, options: {}, passes: false },
  crd: {
    files: 1,
    options: {
      check: 'value',
      against: 'value',
      kubeconfig: 'value',
      context: 'value',
      namespace: 'value',
      runtime: 'value',
    },
    passes: true,
  },
  manifests: {
    files: 1,
    options: {
      image: 'value',
      namespace: 'value',
      'create-namespace': 'flag',
      replicas: 'value',
      'service-monitor': 'flag',
      'webhooks-from': 'list',
      'cert-manager': 'flag',
      out: 'value',
      helm: 'value',
      record: 'value',
      runtime: 'value',
    },
    passes: true,
  },
  rights: {
    files: 1,
    options: { record: 'value', check: 'value', namespace: 'value', cluster: 'value', runtime: 'value' },
    passes: true,
  },
  build: { files: 1, options: { out: 'value', runtime: 'value' }, passes: true },
  types: { files: 1, options: {}, passes: false },
  apiserver: {
    files: 0,
    options: {
      apply: 'list',
      port: 'value',
      host: 'value',
      state: 'value',
      kubeconfig: 'value',
      'garbage-collector': 'flag',
      json: 'flag',
    },
    passes: false,
  },
}

const RUNTIMES: readonly RuntimeName[] = ['node', 'bun', 'deno']

/** @throws UsageError if the command line is invalid. */
export function parseCommand(args: readonly string[]): Command {
  const [first, ...rest] = args
  if (first === undefined || first === '--help' || first === '-h') return { kind: 'help', of: undefined }
  if (first === '--version' || first === '-v') return { kind: 'version' }
  if (first === 'help') return { kind: 'help', of: rest[0] === undefined ? undefined : commandName(rest[0]) }
  const name = commandName(first)
  const { words, values, passed } = splitArguments(name, COMMANDS[name], rest)
  if (values.has('help')) return { kind: 'help', of: name }
  const file = fileOf(name, words)
  if (name === 'new' || name === 'types') return { kind: name, file: file! }
  if (name === 'apiserver') return { kind: name, options: apiServerOptions(values) }
  const options = { ...runOptions(name, values), passed }
  if (name === 'crd') {
    return { kind: name, file: file!, runtime: options.runtime, passed, ...crdOptions(values) }
  }
  if (name === 'manifests') {
    return {
      kind: name,
      file: file!,
      runtime: options.runtime,
      passed,
      deploy: deployOptions(values),
      target: folderTarget(values),
    }
  }
  if (name === 'rights') {
    const [record, check, cluster] = ['record', 'check', 'cluster'].map(lastOf(values))
    const namespace = namespaceOf(name, values)
    return { kind: name, file: file!, runtime: options.runtime, passed, record, check, namespace, cluster }
  }
  if (name === 'build') {
    return { kind: name, file: file!, runtime: options.runtime, passed, out: lastOf(values)('out') ?? 'dist' }
  }
  return name === 'demo' ? { kind: 'demo', options } : { kind: 'dev', options: { ...options, file: file! } }
}

function commandName(word: string): CommandName {
  if (Object.hasOwn(COMMANDS, word)) return word as CommandName
  throw new UsageError(
    `Cannot understand "${word}": the commands are ${Object.keys(COMMANDS).join(', ')}; see kubeloop --help`,
  )
}

function fileOf(name: CommandName, words: readonly string[]): string | undefined {
  const { files } = COMMANDS[name]
  if (words.length === files) {
    const [file] = words
    if (file !== undefined && name !== 'new' && name !== 'types' && !/\.[cm]?[jt]sx?$/.test(file)) {
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
  const last = lastOf(values)
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

/** Returns a function that returns the last value of an option. */
function lastOf(values: Split['values']): (option: string) => string | undefined {
  return (option) => values.get(option)?.at(-1)
}

function crdOptions(values: Split['values']): Pick<Command & { kind: 'crd' }, 'check' | 'live' | 'namespace'> {
  const [check, against, kubeconfig, context] = ['check', 'against', 'kubeconfig', 'context'].map(lastOf(values))
  const wrong = (what: string): UsageError => new UsageError(`Cannot run kubeloop crd: ${what}`)
  if (against !== undefined && against !== 'live') throw wrong(`--against is "${against}", and must be live`)
  if (against !== undefined && check !== undefined) throw wrong('it takes --check or --against, not both')
  if (against === undefined && (kubeconfig ?? context) !== undefined) {
    throw wrong(`--${kubeconfig === undefined ? 'context' : 'kubeconfig'} is for --against live`)
  }
  return {
    check,
    live: against === undefined ? undefined : { kubeconfig, context },
    namespace: namespaceOf('crd', values),
  }
}

function deployOptions(values: Split['values']): DeployOptions {
  const last = lastOf(values)
  const replicas = last('replicas')
  if (replicas !== undefined && !/^[1-9]\d{0,2}$/.test(replicas)) {
    throw new UsageError(
      `Cannot run kubeloop manifests: --replicas is "${replicas}", and must be a number from 1 to 999`,
    )
  }
  const image = last('image')
  if (image !== undefined && !parseImage(image)) {
    throw new UsageError(
      `Cannot run kubeloop manifests: --image is "${image}", and must be REPOSITORY[:TAG][@DIGEST] with a repository in ` +
        'lower case, as in registry.example.com/operator:1.0.0',
    )
  }
  return {
    image,
    namespace: namespaceOf('manifests', values),
    createNamespace: values.has('create-namespace'),
    replicas: replicas === undefined ? undefined : Number(replicas),
    serviceMonitor: values.has('service-monitor'),
    webhooksFrom: rangesOf(values),
    certManager: values.has('cert-manager'),
    record: last('record'),
  }
}

function rangesOf(values: Split['values']): readonly string[] | undefined {
  const ranges = values.get('webhooks-from')
  const wrong = ranges?.find((range) => !/^([\d.]+\/(\d|[12]\d|3[0-2])|[\da-f:]+:[\da-f:]*\/\d{1,3})$/i.test(range))
  if (wrong === undefined) return ranges
  throw new UsageError(
    `Cannot run kubeloop manifests: --webhooks-from is "${wrong}", and must be a range of addresses, as in 10.0.0.0/28`,
  )
}

function namespaceOf(name: CommandName, values: Split['values']): string | undefined {
  const namespace = lastOf(values)('namespace')
  if (namespace === undefined || isNamespace(namespace)) return namespace
  throw new UsageError(
    `Cannot run kubeloop ${name}: --namespace is "${namespace}", and must be a name of at most 63 lower-case letters, ` +
      'digits and dashes',
  )
}

function folderTarget(values: Split['values']): FolderTarget | undefined {
  const [out, helm] = ['out', 'helm'].map((option) => values.get(option)?.at(-1)?.replace(/(?!^)\/+$/, ''))
  if (out !== undefined && helm !== undefined) {
    throw new UsageError('Cannot run kubeloop manifests: --out and --helm are given; run it once for each')
  }
  if (helm !== undefined) {
    for (const option of ['namespace', 'create-namespace']) {
      if (!values.has(option)) continue
      throw new UsageError(
        `Cannot run kubeloop manifests: --${option} is given with --helm; helm sets the namespace: ` +
          'helm install --namespace NAME --create-namespace',
      )
    }
    return { form: 'helm', folder: helm }
  }
  return out === undefined ? undefined : { form: 'out', folder: out }
}

function apiServerOptions(values: Split['values']): ApiServerOptions {
  const last = lastOf(values)
  return {
    apply: values.get('apply') ?? [],
    port: portOf('apiserver', last('port')),
    host: last('host'),
    state: last('state'),
    kubeconfig: last('kubeconfig'),
    garbageCollector: values.has('garbage-collector'),
    json: values.has('json'),
  }
}

function portOf(name: CommandName, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const port = Number(text)
  if (/^\d+$/.test(text) && port >= 1 && port <= 65_535) return port
  throw new UsageError(`Cannot run kubeloop ${name}: --port is "${text}", and must be a number from 1 to 65535`)
}
