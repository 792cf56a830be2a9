/** `kubeloop build FILE`. */
import { messageOf } from '../../core/errors.ts'
import { nodeZlib } from '../../runtime/os/builtins.ts'
import { readText } from '../../runtime/os/files.ts'
import { absolutePath, createFolder, fileName, remove, renameFile, writeNew } from '../../runtime/os/user_files.ts'
import { type BuildFacts, type Bundle, bundle } from '../build/bundle.ts'
import { findEsbuild } from '../build/esbuild.ts'
import { load, type Loaded } from '../load.ts'
import { type Command, command, type Context, runtime, value } from '../options.ts'
import { findAbove, parsedConfiguration } from '../package_files.ts'

/** Writes the bundle and its source map, after the bundle was loaded. Writes nothing on a failure. */
export const build: Command = command({
  file: 'operator.ts',
  about: `Bundles the operator of FILE and all that it imports into one minified module with a source map, for Node, Bun
    and Deno, with nothing to install. Needs esbuild: "npm install --save-dev esbuild". Loads the file and the bundle,
    but does not start the operator. Does not check types: run tsc before.`,
  options: { out: value('DIR', 'the folder of the bundle; default: dist'), runtime },
  passes: true,
  async run({ out = 'dist', ...from }, { print, warn }) {
    const { file } = from
    const name = outName(file)
    const outFile = absolutePath(out, name)
    if (outFile === absolutePath(file)) {
      throw new Error(`Cannot build ${file}: the bundle would replace it; choose another folder with --out`)
    }
    const esbuild = await findEsbuild(file)
    const facts = await factsOf(from, warn)
    const made = await bundle(esbuild, { file, outFile, parts: facts })
    await write(made, { file, out, name, check: (draft) => checkBundle({ ...from, file: draft }, file, facts, warn) })
    made.notes.forEach(warn)
    const note = await commonJsNote(out, name)
    if (note !== undefined) warn(note)
    reportOf(made, facts, `${out.replace(/\/+$/, '')}/${name}`).forEach(print)
  },
})

/** A module's file name, whatever the package.json above it says, if the source's is one. */
function outName(file: string): string {
  return fileName(file).replace(/\.([cm]?)[jt]sx?$/, (_, kind: string) => kind === 'm' ? '.mjs' : '.js')
}

/** Returns a hint for a module that is CommonJS where it is written. In the image of `kubeloop new` it is a module. */
async function commonJsNote(out: string, name: string): Promise<string | undefined> {
  const file = await findAbove(out, ['package.json'])
  if (file === undefined || name.endsWith('.mjs') || parsedConfiguration(await readText(file))?.type !== 'commonjs') {
    return undefined
  }
  return `Node cannot run ${name} in ${out}, as ${file} has "type": "commonjs": npm pkg set type=module, or run it ` +
    'in a folder without that, as in an image'
}

async function factsOf(from: Loaded, warn: Context['warn']): Promise<BuildFacts> {
  const [facts] = await load(from, { kind: 'build' }, warn)
  return facts as BuildFacts
}

/** Loads the bundle as its file was loaded. @throws Error if that fails. */
async function checkBundle(
  draft: Loaded,
  file: string,
  { name }: BuildFacts,
  warn: Context['warn'],
): Promise<void> {
  const loaded = await factsOf(draft, warn).catch((error: unknown) => {
    // Without the place, whose line is a large part of the bundle.
    const why = messageOf(error).split('\n')[0]!.replaceAll(draft.file, 'it').replace(/^Cannot load it: /, '')
    throw new Error(`Cannot build ${file}: it was bundled, but the bundle cannot be loaded: ${why}`)
  })
  if (loaded.name !== name) {
    throw new Error(`Cannot build ${file}: its operator is "${name}", but that of the bundle is "${loaded.name}"`)
  }
}

/** Writes both files to a folder of their own, checks the bundle there, and moves them to their place. */
async function write(
  { code, map }: Bundle,
  { file, out, name, check }: Record<'file' | 'out' | 'name', string> & { check: (draft: string) => Promise<void> },
): Promise<void> {
  const draft = absolutePath(out, `.${name}-${crypto.randomUUID()}`)
  const cannot = (error: unknown): never => {
    throw new Error(`Cannot build ${file}: ${out} cannot be written (${messageOf(error)}); choose another with --out`)
  }
  const created = await createFolder(absolutePath(out)).catch(cannot)
  let isDone = false
  try {
    await createFolder(draft).catch(cannot)
    await Promise.all([writeNew(`${draft}/${name}`, code), writeNew(`${draft}/${name}.map`, map)]).catch(cannot)
    await check(`${draft}/${name}`)
    for (const each of [`${name}.map`, name]) {
      await renameFile(`${draft}/${each}`, absolutePath(out, each)).catch(cannot)
    }
    isDone = true
  } finally {
    // The folders above are new as well, if they did not exist.
    await remove(isDone || created === undefined ? draft : created)
  }
}

/** What the parts are called, if not as in the facts. */
const TITLES: Readonly<Record<string, string>> = { metricsOverTls: 'metrics over TLS', compact: 'compact caches' }

/** Returns the lines for the user: the files, their sizes, and how the bundle is run. */
function reportOf({ code, map }: Bundle, facts: BuildFacts, path: string): string[] {
  const zipped = nodeZlib().gzipSync(code, { level: 9 }).byteLength
  const { name, denoFlags, ...parts } = facts
  const left = Object.entries(parts).filter(([part, used]) => !used && !(part === 'metricsOverTls' && !facts.metrics))
    .map(([part]) => TITLES[part] ?? part)
  return [
    `wrote ${path}: ${kilobytes(code.byteLength)}, gzipped ${kilobytes(zipped)}, operator "${name}"`,
    `wrote ${path}.map: ${kilobytes(map.byteLength)}`,
    ...(left.length > 0 ? [`without ${left.join(', ')}, which it does not use`] : []),
    `run   node --enable-source-maps ${path}`,
    `or    bun ${path}`,
    `or    deno run ${denoFlags} ${path}`,
  ]
}

function kilobytes(bytes: number): string {
  return `${(bytes / 1000).toFixed(0)} kB`
}
