/** Bundles an operator's file in memory, with all that it imports. */
import type { BuildOptions, Message, Metafile, Plugin } from 'esbuild'
import { printable } from '../../core/printable.ts'
import { folderOf, readText } from '../../runtime/os/files.ts'
import { installedFile, isRuntimeModule } from '../../runtime/os/modules.ts'
import { absolutePath } from '../../runtime/os/user_files.ts'
import { OLDEST_NODE } from '../runtimes.ts'
import type { Esbuild } from './esbuild.ts'

/** The parts of kubeloop that an operator uses, besides those that each one needs. */
export type UsedParts = Readonly<
  Record<
    'webhooks' | 'metrics' | 'metricsOverTls' | 'profiling' | 'tracing' | 'schedules' | 'compact' | 'sharding',
    boolean
  >
>

export interface BuildFacts extends UsedParts {
  readonly name: string
  /** The permissions that it needs on Deno. */
  readonly denoFlags: string
}

export interface Bundle {
  readonly code: Uint8Array
  readonly map: Uint8Array
  readonly notes: readonly string[]
}

const [MAJOR, MINOR] = OLDEST_NODE

/** Runs before the bundle. An older Node fails somewhere in it, with an error that does not say why. */
const VERSION_CHECK = `{const [a,b]=process.versions.node.split('.').map(Number);` +
  `if(a<${MAJOR}||(a===${MAJOR}&&b<${MINOR})){` +
  `console.error('Cannot start this operator: it needs Node ≥ ${MAJOR}.${MINOR}; this is '+process.versions.node);` +
  'process.exit(1)}}'

/** CommonJS packages call `require` for the runtime's modules, which a module does not have. */
const REQUIRE =
  `import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);`

/**
 * Resolves with the bundle for `outFile`, to which its source map refers.
 *
 * @throws Error with a line for each problem: a syntax error, an import that cannot be found or bundled.
 */
export async function bundle(
  esbuild: Esbuild,
  { file, outFile, parts }: { readonly file: string; readonly outFile: string; readonly parts: UsedParts },
): Promise<Bundle> {
  const own = ownFolder(file)
  const options = {
    entryPoints: [absolutePath(file)],
    outfile: outFile,
    absWorkingDir: absolutePath(),
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'node',
    // What the oldest supported Node runs.
    target: 'es2023',
    minify: true,
    sourcemap: 'linked',
    // Positions are enough for a stack; the sources themselves would double what is shipped.
    sourcesContent: false,
    logLevel: 'silent',
    external: ['bun', 'bun:*'],
    banner: { js: VERSION_CHECK },
    plugins: [withParts(absolutePath(file), own === undefined ? [] : usedParts(file, parts)), npmImports],
  } as const satisfies BuildOptions
  try {
    let result = await esbuild.build(options)
    const requires = Object.values(result.metafile.outputs).some(({ imports }) =>
      imports.some(({ kind, external }) => kind === 'require-call' && external)
    )
    if (requires) result = await esbuild.build({ ...options, banner: { js: REQUIRE + VERSION_CHECK } })
    const notes = [...outside(file, result.metafile, own), ...(await sourceNotes(esbuild, file, result.metafile, own))]
    const contentOf = (end: string): Uint8Array => result.outputFiles.find(({ path }) => path.endsWith(end))!.contents
    return { code: contentOf('js'), map: contentOf('.map'), notes }
  } catch (error) {
    const { errors } = error as { readonly errors?: readonly Message[] }
    if (!errors?.length) throw error
    throw new Error([...new Set(errors.map((each) => `Cannot build ${file}: ${problemOf(each)}`))].join('\n'))
  }
}

/** Returns the folder of the kubeloop that the file imports; undefined if it has a copy beside it instead. */
function ownFolder(file: string): string | undefined {
  const found = installedFile('kubeloop/package.json', file)
  return found === undefined ? undefined : folderOf(found)
}

/** Returns the entries of kubeloop that put the parts into the bundle that the operator uses. A copy has them all. */
function usedParts(file: string, parts: UsedParts): string[] {
  return Object.entries(parts).filter(([, isUsed]) => isUsed === true)
    .map(([name]) => installedFile(`kubeloop/${name === 'metricsOverTls' ? 'secure-metrics' : name}`, file)!)
}

/** Adds imports of these modules to the operator's file: below its text, so that the lines of its source map stay. */
function withParts(file: string, modules: readonly string[]): Plugin {
  const imports = modules.map((each) => `\nimport ${JSON.stringify(each)}`).join('')
  return {
    name: 'kubeloop-parts',
    setup(build) {
      build.onLoad(
        { filter: /\.[cm]?[jt]sx?$/ },
        async ({ path }) =>
          path === file ? { contents: (await readText(path)) + imports, loader: 'default' } : undefined,
      )
    },
  }
}

/** Resolves Deno's `npm:` imports in node_modules. */
const npmImports: Plugin = {
  name: 'kubeloop-npm',
  setup(build) {
    build.onResolve({ filter: /^npm:/ }, ({ path, ...from }) => build.resolve(withoutVersion(path), from))
  },
}

/** Returns `zod/mini` for `npm:zod@^4.1.0/mini`. */
export function withoutVersion(specifier: string): string {
  return specifier.replace(/^npm:\/?((?:@[^/@]+\/)?[^/@]+)(?:@[^/]*)?/, '$1')
}

/** Returns hints for imports that stay, as they are not installed. @throws Error if kubeloop itself needs one. */
function outside(file: string, { inputs }: Metafile, own: string | undefined): string[] {
  const notes = new Set<string>()
  for (const [input, { imports }] of Object.entries(inputs)) {
    for (const { path, external } of imports) {
      if (!external || isRuntimeModule(path)) continue
      if (!isOwn(input, own)) notes.add(`${input}: "${path}" is not in the bundle, and must be found beside it`)
      else if (path === 'prom-client') {
        const needs = `its metrics need ${path}, which is not installed; npm install ${path}`
        throw new Error(`Cannot build ${file}: ${needs}`)
      }
    }
  }
  return [...notes]
}

/** Returns hints for imports of computed names, which no bundler follows, and for an operator that nothing starts. */
async function sourceNotes(
  esbuild: Esbuild,
  file: string,
  { inputs }: Metafile,
  own: string | undefined,
): Promise<string[]> {
  const notes: string[] = []
  let isRun = false
  for (const input of Object.keys(inputs)) {
    if (isOwn(input, own) || /(?:^|\/)node_modules\//.test(input) || !/\.[cm]?[jt]sx?$/.test(input)) continue
    const text = await readText(absolutePath(input))
    isRun ||= /\.(?:run|start)\(/.test(text)
    if (!text.includes('import(')) continue
    // Without comments.
    const { code } = await esbuild.transform(text, {
      loader: input.endsWith('x') ? 'tsx' : 'ts',
      minifyWhitespace: true,
      legalComments: 'none',
    })
      .catch(() => ({ code: '' }))
    if (!COMPUTED.test(code)) continue
    const lines = text.split('\n')
    const at = lines.findIndex((line) => COMPUTED.test(line) && !/^\s*(?:\/[/*]|\*)/.test(line))
    const place = at < 0 ? input : `${input}:${at + 1}`
    notes.push(`${place}: import() of a computed name is not in the bundle, and is resolved where that runs`)
  }
  if (!isRun) notes.push(`${file}: the bundle starts no operator, as nothing calls app.run(import.meta)`)
  return notes
}

const COMPUTED = /\bimport\(\s*(?:[^"'`\s]|`[^`]*\$\{)/

/** Whether a bundled file is kubeloop's. */
function isOwn(input: string, own: string | undefined): boolean {
  return own !== undefined && isOwnPath(absolutePath(input), own)
}

/** The same of a path of this system. In kubeloop's own source tree, the examples are not. */
export function isOwnPath(path: string, own: string): boolean {
  return path.startsWith(own) && /^[\\/](?:lib[\\/].*|[^\\/]+\.js|mod\.ts)$/.test(path.slice(own.length))
}

function problemOf({ text, location }: Message): string {
  const place = location ? `${location.file}:${location.line}:${location.column + 1}: ` : ''
  const what = /^No loader is configured for "\.node"/.test(text)
    ? 'a native module (.node) cannot be in a bundle; run the operator from its own folder, with node_modules'
    : text
  const remedy = /^Could not resolve "(?![./])/.test(text) ? '; is it installed in node_modules?' : ''
  return printable(`${place}${what}${remedy}`)
}
