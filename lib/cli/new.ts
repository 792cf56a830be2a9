/** `kubeloop new FILE`: the sample operator and its test, for a start, with what its runtime's type check needs. */
import { exists, folderOf } from '../runtime/files.ts'
import { writeLine } from '../runtime/terminal.ts'
import type { RuntimeName } from '../runtime/this_runtime.ts'
import { absolutePath, fileName, writeNew } from '../runtime/user_files.ts'
import { SAMPLE_OPERATOR, sampleTest } from './sample.ts'

export interface NewOptions {
  /** The runtime that the project is for. */
  readonly runtime: RuntimeName
  /** Of this package: the project depends on it. */
  readonly version: string
  /** Where the project is. Default: the working folder. */
  readonly folder?: string
}

/** @throws Error when one of the files exists; nothing is written then. */
export async function newOperator(file: string, { runtime, version, folder = '.' }: NewOptions): Promise<void> {
  const match = /^(.*)\.ts$/.exec(file)
  if (!match || /\.(test|d)\.ts$/.test(file)) {
    throw new Error(`Cannot write ${file}: an operator is a TypeScript file, as in "kubeloop new operator.ts"`)
  }
  const testFile = `${match[1]}.test.ts`
  for (const each of [file, testFile]) {
    if (await exists(each)) throw new Error(`Cannot write ${each}: it exists already; choose another name`)
  }
  await writeNew(file, SAMPLE_OPERATOR)
  await writeNew(testFile, sampleTest(fileName(file)))
  const { test, command, install } = WORDS[runtime]
  writeLine(`wrote ${file}, an operator that keeps a Deployment for each Foo`)
  writeLine(`wrote ${testFile}, its test: ${test} ${testFile}`)
  const written = await writeProject(folder, runtime, version)
  if (install && written.includes('package.json')) writeLine(`first  ${install}`)
  writeLine(`try    ${command} dev ${file}`)
}

interface Words {
  readonly test: string
  readonly command: string
  /** Undefined where what is imported is found by itself. */
  readonly install: string | undefined
}

const WORDS: Readonly<Record<RuntimeName, Words>> = {
  node: { test: 'node --test', command: 'npx kubeloop', install: 'npm install' },
  bun: { test: 'bun test', command: 'bunx kubeloop', install: 'bun install' },
  deno: { test: 'deno test -A', command: 'deno run -A npm:kubeloop', install: undefined },
}

/** Writes what the project lacks, and says so; returns the names of the files. What a folder above has counts, as it does for the runtime. */
async function writeProject(folder: string, runtime: RuntimeName, version: string): Promise<string[]> {
  const written: string[] = []
  for (const [name, content] of Object.entries(projectFiles(runtime, version))) {
    if (await isAbove(folder, name === 'deno.json' ? ['deno.json', 'deno.jsonc', 'package.json'] : [name])) continue
    await writeNew(absolutePath(folder, name), `${JSON.stringify(content, null, 2)}\n`)
    writeLine(`wrote ${name}`)
    written.push(name)
  }
  return written
}

async function isAbove(from: string, names: readonly string[]): Promise<boolean> {
  for (let folder = absolutePath(from); ; folder = folderOf(folder)) {
    for (const name of names) if (await exists(absolutePath(folder, name))) return true
    if (folderOf(folder) === folder) return false
  }
}

/** The project files of a runtime, by their names: what it resolves imports by, and checks types by. */
export function projectFiles(runtime: RuntimeName, version: string): Readonly<Record<string, object>> {
  const zod = '^4.0.0'
  if (runtime === 'deno') {
    const imports = { kubeloop: `npm:kubeloop@^${version}`, 'kubeloop/': `npm:/kubeloop@^${version}/`, zod: `npm:zod@${zod}` }
    return { 'deno.json': { imports } }
  }
  const types = runtime === 'bun' ? 'bun' : 'node'
  const modules = runtime === 'bun' ? { module: 'preserve', moduleResolution: 'bundler' } : { module: 'nodenext', erasableSyntaxOnly: true }
  return {
    'package.json': {
      private: true, type: 'module', dependencies: { kubeloop: `^${version}`, zod },
      devDependencies: { [`@types/${types}`]: runtime === 'bun' ? '^1.2.0' : '^22.18.0', typescript: '^6.0.0' },
    },
    'tsconfig.json': {
      compilerOptions: {
        strict: true, noEmit: true, target: 'es2024', lib: ['es2024', 'esnext.disposable'], ...modules, types: [types], skipLibCheck: true,
        verbatimModuleSyntax: true, allowImportingTsExtensions: true,
      },
    },
  }
}
