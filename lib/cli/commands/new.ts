/** `kubeloop new FILE`. */
import { messageOf } from '../../core/errors.ts'
import { isDomainName, isLabel } from '../../core/names.ts'
import { exists, folderOf, readText, readTextIfExists } from '../../runtime/os/files.ts'
import type { RuntimeName } from '../../runtime/os/this_runtime.ts'
import { absolutePath, fileName, writeNew } from '../../runtime/os/user_files.ts'
import { type Command, command, flag, textLike, value } from '../options.ts'
import { addedSample, packageVersion, sampleOperator, sampleTest } from '../package_files.ts'
import { callingRuntime } from '../runtimes.ts'
import { projectTexts, renamed, SAMPLE_NAMES, type SampleNames, scriptsOf, TAKEN_KINDS } from '../scaffold.ts'

const KIND = textLike(
  (text) => /^[A-Z][A-Za-z\d]{0,62}$/.test(text) && !TAKEN_KINDS.has(text),
  'a name in CamelCase that the sample does not import, such as Widget',
)

export const newCommand: Command = command({
  file: 'operator.ts',
  about: `Writes a sample operator with its tests. If there is no project, it also writes one for the runtime that this
    command was called with: package.json and tsconfig.json, or deno.json, with scripts, .gitignore, a Dockerfile with
    .dockerignore, and a workflow of GitHub. Overwrites no file.

    With --webhook or --controller it adds a file to the operator of FILE instead, and prints what you must write in
    FILE, which it does not change.`,
  options: {
    name: value(
      'NAME',
      `the operator's name; default: ${SAMPLE_NAMES.name}`,
      textLike((text) => isLabel(text) && text.length <= 55, 'at most 55 lower-case letters, digits and dashes'),
    ),
    group: value(
      'GROUP',
      `the group of the kind; default: ${SAMPLE_NAMES.group}, or with --controller that of FILE`,
      textLike((text) => isDomainName(text) && text.includes('.'), 'a domain, such as example.com'),
    ),
    kind: value(
      'KIND',
      `the operator's kind; default: ${SAMPLE_NAMES.kind}, or with --webhook the first of FILE`,
      KIND,
    ),
    webhook: flag('add an admission of a kind'),
    controller: value('KIND', 'add a controller of a new kind, with its test', KIND),
  },
  check({ name, group, kind, webhook, controller }) {
    if (webhook && controller !== undefined) return 'it takes --webhook or --controller, not both'
    if (webhook && (name ?? group) !== undefined) return '--webhook takes no --name and no --group'
    return controller !== undefined && (name ?? kind) !== undefined
      ? '--controller takes no --name and no --kind'
      : undefined
  },
  async run({ file, webhook, controller, ...names }, { print }) {
    if (webhook || controller !== undefined) return await add(file, { controller, ...names }, print)
    await newOperator(file, { runtime: callingRuntime(), version: await packageVersion(), print, names })
  },
})

/** Adds files to the project of an operator. @throws Error if one of them exists; nothing is written then. */
export async function add(
  file: string,
  { controller, ...stated }: { readonly [name in 'controller' | 'group' | 'kind']?: string | undefined },
  print: (line: string) => void,
): Promise<void> {
  const text = await readTextIfExists(file)
  if (text === undefined) {
    throw new Error(`Cannot add to ${file}: there is no such file; kubeloop new ${file} writes it`)
  }
  const found = (pattern: RegExp, what: string): string => {
    const [, name] = pattern.exec(text) ?? []
    if (name === undefined) throw new Error(`Cannot add to ${file}: it has no ${what}`)
    return name
  }
  const isWebhook = controller === undefined
  const kind = controller ?? stated.kind ??
    found(/\bexport const (\w+) = defineResource\(/, 'export const Kind = defineResource(…): give --kind')
  const group = isWebhook ? '' : stated.group ?? found(/\bgroup: '([^']+)'/, "group: '…': give --group")
  const operator = isWebhook ? found(/\boperator\(\{\s*name: '([^']+)'/, "operator({ name: '…' })") : ''
  const name = kind.toLowerCase() + (isWebhook ? '_webhook' : '')
  const verb = isWebhook ? 'admit' : 'add'
  const samples = isWebhook ? [['webhook', '']] as const : [['controller', ''], ['controller.test', '.test']] as const
  const files = await Promise.all(samples.map(async ([sample, end]) => {
    const written = renamed(await addedSample(sample, name, fileName(file)), { name: operator, group, kind })
    return [`${file.slice(0, -fileName(file).length)}${name}${end}.ts`, written] as const
  }))
  await refuseExisting(files.map(([each]) => each))
  for (const [each, text] of files) {
    await write(each, text)
    print(`wrote ${each}`)
  }
  print(`write  by hand, in ${file}: import { ${verb}${kind} } from './${name}.ts'`)
  if (isWebhook) print(`write  in operator({ … }): webhooks: { certs: { secret: '${operator}-webhook' } }`)
  print(`write  before app.run: ${verb}${kind}(app${isWebhook ? `, ${kind}` : ''})`)
}

async function refuseExisting(files: readonly string[]): Promise<void> {
  for (const each of files) {
    if (await exists(each)) throw new Error(`Cannot write ${each}: the file exists; choose another name`)
  }
}

async function write(file: string, text: string): Promise<void> {
  await writeNew(file, text).catch((cause: unknown) => {
    throw new Error(`Cannot write ${file}: ${messageOf(cause)}`, { cause })
  })
}

interface NewOptions {
  /** Default: those of the sample. */
  readonly names?: { readonly [name in keyof SampleNames]?: string | undefined }
  /** The runtime of the project. */
  readonly runtime: RuntimeName
  /** The version of this package, on which the project depends. */
  readonly version: string
  /** The project's folder. Default: the working folder. */
  readonly folder?: string
  /** Prints a line for the user. */
  readonly print: (line: string) => void
}

/** @throws Error if the file is not a TypeScript file, or one of the files exists; nothing is written then. */
export async function newOperator(file: string, options: NewOptions): Promise<void> {
  const { runtime, version, folder = '.', print, names: { name, group, kind } = {} } = options
  const names = {
    name: name ?? SAMPLE_NAMES.name,
    group: group ?? SAMPLE_NAMES.group,
    kind: kind ?? SAMPLE_NAMES.kind,
  }
  const match = /^(.*)\.ts$/.exec(file)
  if (!match || /\.(test|d)\.ts$/.test(file)) {
    throw new Error(`Cannot write ${file}: an operator is a TypeScript file, as in "kubeloop new operator.ts"`)
  }
  const testFile = `${match[1]}.test.ts`
  await refuseExisting([file, testFile])
  const [operator, tests] = await Promise.all([sampleOperator(), sampleTest(fileName(file))])
  await write(file, renamed(operator, names))
  await write(testFile, renamed(tests, names))
  const { test, command, install, add, setModule } = COMMANDS[runtime]
  print(`wrote ${file}, an operator that keeps a Deployment for each ${names.kind}`)
  print(`wrote ${testFile}, its tests: ${test} ${testFile}`)
  const written = await writeProject(folder, file, options)
  if (install && written.includes('package.json')) print(`first  ${install}`)
  else {
    const { packages, isModule } = await lacking(folder, runtime, version)
    if (!isModule && setModule) print(`first  ${setModule}, so that Node and tsc take .ts files for modules`)
    if (packages.length > 0) print(`first  ${add} ${packages.join(' ')}`)
  }
  print(`try    ${command} dev ${file}`)
}

interface Package {
  readonly type?: string
  readonly dependencies?: object
  readonly devDependencies?: object
  readonly peerDependencies?: object
}

/** Returns what the package.json of the folder or one above it lacks; nothing if there is none, or it is invalid. */
async function lacking(folder: string, runtime: RuntimeName, version: string) {
  const none = { packages: [], isModule: true }
  const found = await findAbove(folder, ['package.json'])
  if (found === undefined) return none
  try {
    const existing = JSON.parse(await readText(found)) as Package
    const has = { ...existing.dependencies, ...existing.peerDependencies, ...existing.devDependencies }
    const wanted = projectFiles(runtime === 'deno' ? 'node' : runtime, version, {})['package.json'] as Package
    const all = Object.keys({ ...wanted.dependencies, ...wanted.devDependencies })
    const names = all.filter((name) => !(name in has) && name !== 'esbuild')
    // Deno has its own compiler, but needs the types of node: modules from package.json.
    const ofDeno = names.filter((name) => name !== 'typescript').map((name) => `npm:${name}`)
    return { packages: runtime === 'deno' ? ofDeno : names, isModule: existing.type === 'module' }
  } catch {
    return none // the runtime reports the error
  }
}

interface RuntimeCommands {
  readonly test: string
  readonly command: string
  /** Absent where the runtime installs imports by itself. */
  readonly install?: string
  readonly add: string
  /** Present where .ts files are CommonJS by default. */
  readonly setModule?: string
}

const COMMANDS: Readonly<Record<RuntimeName, RuntimeCommands>> = {
  node: {
    ...{ test: 'node --test', command: 'npx kubeloop', install: 'npm install', add: 'npm install' },
    setModule: 'npm pkg set type=module',
  },
  bun: { test: 'bun test', command: 'bunx kubeloop', install: 'bun install', add: 'bun add' },
  deno: { test: 'deno test', command: 'deno run -A npm:kubeloop', add: 'deno add' },
}

/**
 * Writes the configuration files that neither the folder nor one above it has, as runtimes search them, and prints
 * their names. A new project gets its other files, too, unless the folder has them. Returns the names.
 */
async function writeProject(folder: string, file: string, options: NewOptions): Promise<string[]> {
  const { runtime, version, print } = options
  const written: string[] = []
  const writeHere = async (name: string, text: string): Promise<void> => {
    await write(absolutePath(folder, name), text)
    print(`wrote ${name}`)
    written.push(name)
  }
  // The scripts run in the folder of the project.
  const entry = absolutePath(file).slice(absolutePath(folder).length + 1).replaceAll('\\', '/')
  for (const [name, content] of Object.entries(projectFiles(runtime, version, scriptsOf(runtime, entry)))) {
    if (await findAbove(folder, name === 'deno.json' ? ['deno.json', 'deno.jsonc', 'package.json'] : [name])) continue
    await writeHere(name, `${JSON.stringify(content, null, 2)}\n`)
  }
  if (!written.some((name) => name === 'package.json' || name === 'deno.json')) return written
  for (const [name, text] of Object.entries(projectTexts(runtime, entry))) {
    if (!(await exists(absolutePath(folder, name)))) await writeHere(name, text)
  }
  return written
}

/** Returns the first file with one of the names, in the folder or above it. */
async function findAbove(from: string, names: readonly string[]): Promise<string | undefined> {
  for (let folder = absolutePath(from);; folder = folderOf(folder)) {
    for (const name of names) if (await exists(absolutePath(folder, name))) return absolutePath(folder, name)
    if (folderOf(folder) === folder) return undefined
  }
}

/** Returns the configuration files of a runtime for imports and type checks, by their names. */
function projectFiles(
  runtime: RuntimeName,
  version: string,
  scripts: Readonly<Record<string, string>>,
): Readonly<Record<string, object>> {
  const zod = '^4.1.13'
  // Of kubeloop build.
  const esbuild = '>=0.21.0'
  if (runtime === 'deno') {
    const imports = {
      kubeloop: `npm:kubeloop@^${version}`,
      'kubeloop/': `npm:/kubeloop@^${version}/`,
      zod: `npm:zod@${zod}`,
      esbuild: `npm:esbuild@${esbuild}`,
    }
    return { 'deno.json': { nodeModulesDir: 'auto', tasks: scripts, imports } }
  }
  const types = runtime === 'bun' ? 'bun' : 'node'
  const modules = runtime === 'bun'
    ? { module: 'preserve', moduleResolution: 'bundler' }
    : { module: 'nodenext', erasableSyntaxOnly: true }
  return {
    'package.json': {
      private: true,
      type: 'module',
      scripts,
      dependencies: { kubeloop: `^${version}`, zod },
      devDependencies: {
        [`@types/${types}`]: runtime === 'bun' ? '^1.2.0' : '^22.18.0',
        esbuild,
        typescript: '^6.0.0',
      },
    },
    'tsconfig.json': {
      compilerOptions: {
        strict: true,
        noEmit: true,
        target: 'es2024',
        lib: ['es2024', 'esnext.disposable'],
        ...modules,
        types: [types],
        skipLibCheck: true,
        verbatimModuleSyntax: true,
        allowImportingTsExtensions: true,
      },
    },
  }
}
