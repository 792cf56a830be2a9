/** `kubeloop new FILE`. */
import { exists, folderOf, readText } from '../../runtime/os/files.ts'
import type { RuntimeName } from '../../runtime/os/this_runtime.ts'
import { absolutePath, fileName, writeNew } from '../../runtime/os/user_files.ts'
import { type Command, command } from '../options.ts'
import { packageVersion, sampleOperator, sampleTest } from '../package_files.ts'
import { callingRuntime } from '../runtimes.ts'

export const newCommand: Command = command({
  file: 'operator.ts',
  about:
    `Writes a sample operator with its tests, and the configuration of the runtime that this command was called with,
    if it is missing: package.json and tsconfig.json, or deno.json. Overwrites no file.`,
  options: {},
  async run({ file }, { print }) {
    await newOperator(file, { runtime: callingRuntime(), version: await packageVersion(), print })
  },
})

interface NewOptions {
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
  const { runtime, version, folder = '.', print } = options
  const match = /^(.*)\.ts$/.exec(file)
  if (!match || /\.(test|d)\.ts$/.test(file)) {
    throw new Error(`Cannot write ${file}: an operator is a TypeScript file, as in "kubeloop new operator.ts"`)
  }
  const testFile = `${match[1]}.test.ts`
  for (const each of [file, testFile]) {
    if (await exists(each)) throw new Error(`Cannot write ${each}: the file exists; choose another name`)
  }
  const [operator, tests] = await Promise.all([sampleOperator(), sampleTest(fileName(file))])
  await writeNew(file, operator)
  await writeNew(testFile, tests)
  const { test, command, install, add, setModule } = COMMANDS[runtime]
  print(`wrote ${file}, an operator that keeps a Deployment for each Foo`)
  print(`wrote ${testFile}, its tests: ${test} ${testFile}`)
  const written = await writeProject(folder, options)
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
    const wanted = projectFiles(runtime === 'deno' ? 'node' : runtime, version)['package.json'] as Package
    const names = Object.keys({ ...wanted.dependencies, ...wanted.devDependencies }).filter((name) => !(name in has))
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
 * their names. Returns the names.
 */
async function writeProject(folder: string, { runtime, version, print }: NewOptions): Promise<string[]> {
  const written: string[] = []
  for (const [name, content] of Object.entries(projectFiles(runtime, version))) {
    if (await findAbove(folder, name === 'deno.json' ? ['deno.json', 'deno.jsonc', 'package.json'] : [name])) continue
    await writeNew(absolutePath(folder, name), `${JSON.stringify(content, null, 2)}\n`)
    print(`wrote ${name}`)
    written.push(name)
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
function projectFiles(runtime: RuntimeName, version: string): Readonly<Record<string, object>> {
  const zod = '^4.1.13'
  if (runtime === 'deno') {
    const imports = {
      kubeloop: `npm:kubeloop@^${version}`,
      'kubeloop/': `npm:/kubeloop@^${version}/`,
      zod: `npm:zod@${zod}`,
    }
    return { 'deno.json': { imports } }
  }
  const types = runtime === 'bun' ? 'bun' : 'node'
  const modules = runtime === 'bun'
    ? { module: 'preserve', moduleResolution: 'bundler' }
    : { module: 'nodenext', erasableSyntaxOnly: true }
  return {
    'package.json': {
      private: true,
      type: 'module',
      dependencies: { kubeloop: `^${version}`, zod },
      devDependencies: { [`@types/${types}`]: runtime === 'bun' ? '^1.2.0' : '^22.18.0', typescript: '^6.0.0' },
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
