/** Reads files of this package: its version, and the sample that `kubeloop new` writes and `kubeloop demo` runs. */
import { isFields } from '../core/clone.ts'
import { exists, folderOf, readText } from '../runtime/os/files.ts'
import { absolutePath, pathOfUrl } from '../runtime/os/user_files.ts'

/** The module of the sample, as its test imports it. */
const SAMPLE = '1_sample_controller.ts'

export async function packageVersion(): Promise<string> {
  const { version } = JSON.parse(await readText(packageJson())) as { readonly version: string }
  return version
}

export function sampleOperator(): Promise<string> {
  return readExample(SAMPLE)
}

/** Returns the tests of a sample operator in the file `module` beside them. */
export async function sampleTest(module: string): Promise<string> {
  return (await readExample('7_testing.test.ts')).replace(`'./${SAMPLE}'`, () => quoted(`./${module}`))
}

/** Returns the sample of what is added to the operator in the file `module` beside it, which is called `name`.ts. */
export async function addedSample(sample: string, name: string, module: string): Promise<string> {
  return (await readExample(`added/${sample}.ts`))
    .replace(`'../${SAMPLE}'`, () => `'./${module}'`)
    .replace("'./controller.ts'", `'./${name}.ts'`)
}

/** Returns the sample operator with resolved imports, so that it runs in a folder without node_modules. */
export async function sampleWithModules(resolve: (specifier: string) => string): Promise<string> {
  return (await sampleOperator()).replace(
    / from '([^']+)'/g,
    (_, specifier: string) => ` from ${quoted(resolve(specifier))}`,
  )
}

/** A folder or a file may have a quote in its name. */
function quoted(specifier: string): string {
  return `'${specifier.replace(/[\\']/g, '\\$&')}'`
}

/** The bundler moves this module, so the folder is found by the name of the package. */
function packageJson(): string {
  return pathOfUrl(import.meta.resolve('kubeloop/package.json'))
}

export async function readExample(name: string): Promise<string> {
  return await readText(absolutePath(folderOf(packageJson()), 'examples', name))
}

/** Returns the first file with one of the names, in a folder or above it. */
export async function findAbove(from: string, names: readonly string[]): Promise<string | undefined> {
  for (let folder = absolutePath(from);; folder = folderOf(folder)) {
    for (const name of names) if (await exists(absolutePath(folder, name))) return absolutePath(folder, name)
    if (folderOf(folder) === folder) return undefined
  }
}

/** A configuration file: package.json or deno.json. */
export interface Configuration {
  readonly type?: string
  readonly scripts?: unknown
  readonly tasks?: unknown
  readonly dependencies?: object
  readonly devDependencies?: object
  readonly peerDependencies?: object
}

/** Returns the object of a configuration file; undefined if it is invalid, which the runtime reports. */
export function parsedConfiguration(text: string): Configuration | undefined {
  try {
    const read: unknown = JSON.parse(text)
    return isFields(read) ? read : undefined
  } catch {
    return undefined
  }
}
