/** `kubeloop new FILE`. */
import { isFields } from '../../core/clone.ts'
import { messageOf } from '../../core/errors.ts'
import { isDomainName, isLabel } from '../../core/names.ts'
import { exists, folderOf, readText, readTextIfExists } from '../../runtime/os/files.ts'
import type { RuntimeName } from '../../runtime/os/this_runtime.ts'
import { absolutePath, fileName, remove, renameFile, writeNew, writtenBelow } from '../../runtime/os/user_files.ts'
import { type Command, command, flag, textLike, value } from '../options.ts'
import {
  addedSample,
  type Configuration,
  findAbove,
  packageVersion,
  parsedConfiguration,
  sampleOperator,
  sampleTest,
} from '../package_files.ts'
import { callingRuntime } from '../runtimes.ts'
import { projectTexts, renamed, SAMPLE_NAMES, type SampleNames, scriptsOf, TAKEN_KINDS, TEXTS } from '../scaffold.ts'

const KIND = textLike(
  (text) => /^[A-Z][A-Za-z\d]{0,62}$/.test(text) && !TAKEN_KINDS.has(text),
  'a name in CamelCase that the sample does not import, such as Widget',
)

export const newCommand: Command = command({
  file: 'operator.ts',
  about: `Writes a sample operator with its tests, and what the folder lacks of a project for the runtime that this
    command was called with: package.json and tsconfig.json, or deno.json, with scripts, .gitignore, a Dockerfile with
    .dockerignore, and a workflow of GitHub. Overwrites nothing: to a package.json or deno.json of yours it adds scripts
    and "type": "module", and prints what it leaves.

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
  readonly runtime: RuntimeName
  /** The version of this package, on which the project depends. */
  readonly version: string
  /** The project's folder. Default: the working folder. */
  readonly folder?: string
  readonly print: (line: string) => void
}

/** @throws Error if the file is not a TypeScript file, or one of the files exists; nothing is written then. */
export async function newOperator(file: string, options: NewOptions): Promise<void> {
  const { runtime, folder = '.', print, names: stated = {} } = options
  const { name = SAMPLE_NAMES.name, group = SAMPLE_NAMES.group, kind = SAMPLE_NAMES.kind } = stated
  const names = { name, group, kind }
  const match = /^(.*)\.ts$/.exec(file)
  if (!match || /\.(test|d)\.ts$/.test(file)) {
    throw new Error(`Cannot write ${file}: an operator is a TypeScript file, as in "kubeloop new operator.ts"`)
  }
  if (/[^\p{L}\p{N}\\/:._-]/u.test(file)) {
    throw new Error(`Cannot write "${file}": scripts and the Dockerfile name it; use letters, digits, ".", "_" and "-"`)
  }
  const testFile = `${match[1]}.test.ts`
  await refuseExisting([file, testFile])
  const [operator, tests] = await Promise.all([sampleOperator(), sampleTest(fileName(file))])
  await write(file, renamed(operator, names))
  await write(testFile, renamed(tests, names))
  const { test, call } = TEXTS[runtime]
  print(`wrote ${file}, an operator that keeps a Deployment for each ${names.kind}`)
  print(`wrote ${testFile}, its tests: ${test} ${testFile}`)
  const first = await writeProject(absolutePath(folder), [file, testFile].map((each) => absolutePath(each)), options)
  for (const each of first) print(`first  ${each}`)
  print(`try    ${call} dev ${file}`)
}

/**
 * Writes the configuration files that neither the folder nor one above it has, as runtimes search them, and adds what
 * is missing to the configuration file of the folder. Unless the configuration is that of a folder above, the other
 * files of a project are written, too. Prints the files that were written, and those that were left. Returns the
 * commands that the user has to run.
 */
async function writeProject(folder: string, own: readonly string[], options: NewOptions): Promise<readonly string[]> {
  const { runtime, version, print } = options
  const left: string[] = []
  const writeHere = async (name: string, text: string): Promise<void> => {
    const file = absolutePath(folder, name)
    if (await exists(file)) return void left.push(name)
    await write(file, text)
    print(`wrote ${name}`)
  }
  // The scripts run in the folder of the project.
  const entry = own[0]!.slice(folder.length + 1).replaceAll('\\', '/')
  const scripts = scriptsOf(runtime, entry)
  let project: string | undefined
  for (const [name, content] of Object.entries(projectFiles(runtime, version, scripts))) {
    const found = await findAbove(folder, name === 'deno.json' ? ['deno.json', 'deno.jsonc', 'package.json'] : [name])
    if (found === undefined) await writeHere(name, `${JSON.stringify(content, null, 2)}\n`)
    else if (name === 'tsconfig.json') left.push(name)
    else project = found
  }
  const isHere = project === undefined || folderOf(project) === folder
  if (!isHere) print(`left   the other files of a project: this folder belongs to that of ${project}`)
  else for (const [name, text] of Object.entries(projectTexts(runtime, entry))) await writeHere(name, text)
  if (isHere && project) await complete(project, scripts, own, options)
  if (left.length > 0) print(`left   ${left.join(', ')}: ${left.length === 1 ? 'it exists' : 'they exist'}`)
  if (project === undefined) return TEXTS[runtime].install ?? []
  return await lacking(project, isHere, options)
}

/** Adds to a configuration file what it lacks, and replaces nothing. */
async function complete(
  file: string,
  scripts: Readonly<Record<string, string>>,
  own: readonly string[],
  { runtime, print }: NewOptions,
): Promise<void> {
  const name = fileName(file)
  const key = name === 'package.json' ? 'scripts' : 'tasks'
  const text = await readText(file)
  const before = parsedConfiguration(text)
  const stated = before?.[key] ?? {}
  if (!before || !isFields(stated)) {
    const why = before ? `its ${key} are no object` : 'it is not plain JSON'
    return print(`left   ${name}: ${why}; a new project has ${JSON.stringify({ [key]: scripts })}`)
  }
  const missing = Object.entries(scripts).filter(([each]) => !(each in stated))
  for (const [each, command] of Object.entries(scripts)) {
    const is = stated[each]
    if (is === undefined || is === command) continue
    print(`left   "${each}" in the ${key} of ${name}: it exists; that of a new project is ${JSON.stringify(command)}`)
  }
  const wantsType = name === 'package.json' && runtime !== 'deno' && before.type !== 'module'
  const other = wantsType && before.type === undefined ? await otherModule(folderOf(file), own) : undefined
  const addsType = wantsType && before.type === undefined && other === undefined
  if (wantsType && !addsType) {
    const why = other ? `${other} may be no module` : `it is ${JSON.stringify(before.type)}`
    print(`left   "type" of ${name}: ${why}`)
  }
  if (missing.length === 0 && !addsType) return
  const after = {
    ...before,
    ...(addsType && { type: 'module' }),
    [key]: { ...stated, ...Object.fromEntries(missing) },
  }
  const [, indent = '  '] = /^[{[]\r?\n([ \t]+)/.exec(text) ?? []
  const lines = `${JSON.stringify(after, null, indent)}${/\s*$/.exec(text)![0]}`
  await replace(file, text.includes('\r\n') ? lines.replace(/\r?\n/g, '\r\n') : lines)
  if (addsType) print(`added "type": "module" to ${name}`)
  if (missing.length > 0) print(`added ${key} to ${name}: ${missing.map(([each]) => each).join(', ')}`)
}

/** Returns a file of the project that "type": "module" may change, besides the operator's own. */
async function otherModule(folder: string, own: readonly string[]): Promise<string | undefined> {
  const isWanted = (name: string, isFolder: boolean): boolean =>
    isFolder ? !name.startsWith('.') && name !== 'node_modules' : /\.[jt]sx?$/.test(name)
  const found = [...(await writtenBelow(folder, isWanted)).keys()].find((each) => !own.includes(each))
  return found?.slice(folder.length + 1)
}

async function replace(file: string, text: string): Promise<void> {
  const draft = `${file}.${crypto.randomUUID()}`
  await write(draft, text)
  await renameFile(draft, file).catch(async (cause: unknown) => {
    await remove(draft)
    throw new Error(`Cannot write ${file}: ${messageOf(cause)}`, { cause })
  })
}

/** Returns the commands that give the package.json of the project what it lacks. `isHere`: it has the scripts. */
async function lacking(project: string, isHere: boolean, { runtime, version }: NewOptions): Promise<string[]> {
  const own = fileName(project) === 'package.json' ? parsedConfiguration(await readText(project)) : undefined
  if (!own) return []
  const has = { ...own.dependencies, ...own.peerDependencies, ...own.devDependencies }
  const wanted = projectFiles(runtime === 'deno' ? 'node' : runtime, version, {})['package.json'] as Configuration
  const { add, dev, test, setModule = [] } = TEXTS[runtime]
  const packages = [[add, wanted.dependencies], [`${add} ${dev}`, wanted.devDependencies]].flatMap(
    ([command, packages]) => {
      const names = Object.keys(packages!).filter((name) => !(name in has) && (isHere || name !== 'esbuild'))
      // Deno has its own compiler, but needs the types of node: modules from package.json.
      const ofDeno = names.filter((name) => name !== 'typescript').map((name) => `npm:${name}`)
      const all = runtime === 'deno' ? ofDeno : names
      return all.length > 0 ? [`${command as string} ${all.join(' ')}`] : []
    },
  )
  // What npm init writes fails, and with it the workflow.
  const isUntested = isHere && JSON.stringify(own.scripts ?? '').includes('no test specified')
  const setTest = isUntested ? [`npm pkg set scripts.test="${test}"`] : []
  return [...(own.type === 'module' ? [] : setModule), ...setTest, ...packages]
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
