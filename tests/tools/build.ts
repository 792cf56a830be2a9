/**
 * Builds the package: `node tests/tools/build.ts [folder]` writes it to dist, ready for `npm pack ./dist`.
 *
 * mod.js imports rarely used parts dynamically from files beside it (see `LOADED_LATER`), so that an operator in a pod
 * loads only what it runs. standalone.js is mod.js including all of that, to be copied beside an operator, with
 * standalone.d.ts for its types; kinds.js is self-contained too. The other entries import from `kubeloop` what must
 * exist once: classes, and module-level maps and symbols. tsup is called, not configured in package.json, because it
 * needs a plugin (see `onceOnly`).
 *
 * Nothing is minified: on an uncaught error Node prints the source line, which in a minified file is the whole file,
 * and users who bundle an operator minify it then. Comments are only in the declarations.
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build as tsup, type Options } from 'tsup'
import { readFacts, type SourceFacts } from '../structure/source_facts.ts'
import { bomOf, BundledPackages, bundledRows, type Metafile, noticesOf } from './bundled.ts'
import { ROOT } from './tree.ts'

type Plugin = NonNullable<Options['esbuildPlugins']>[number]

/** Entries that are imported for what they put into a bundle: they export nothing. */
export const FOR_BUNDLES: readonly string[] = [
  'webhooks',
  'secure-metrics',
  'schedules',
  'tracing',
  'profiling',
  'compact',
  'sharding',
]

/** The entries that users import, by their file in dist. */
export const ENTRIES: Readonly<Record<string, string>> = {
  mod: 'mod.ts',
  'client-node': 'lib/config/client_node.ts',
  kinds: 'lib/kinds/mod.ts',
  metrics: 'lib/manager/metrics.ts',
  parts: 'lib/parts/mod.ts',
  schema: 'lib/schema/mod.ts',
  testing: 'lib/testing/mod.ts',
  apiserver: 'lib/apiserver/mod.ts',
  ...Object.fromEntries(FOR_BUNDLES.map((name) => [name, `lib/operator/bundled/${name.replace('-', '_')}.ts`])),
}

/**
 * Dynamically imported modules, as separate files beside mod.js; some are entries. Bundlers include them, except those
 * of `ONLY_IF_IMPORTED`, and client-node.js, which loads a package by a computed name. None imports mod.js: a bundler
 * would have to keep all of it.
 */
export const LOADED_LATER: Readonly<Record<string, string>> = {
  // For the `auth-provider` of a kubeconfig.
  'client-node': 'lib/config/client_node.ts',
  // For starts without a configuration: in a pod, or by a kubeconfig.
  config: 'lib/config/find.ts',
  // For kubeconfigs: a pod has none.
  kubeconfig: 'lib/config/context.ts',
  // For a pod whose environment names a proxy.
  proxy: 'lib/config/proxy_env.ts',
  // For connections through a proxy.
  tunnel: 'lib/runtime/net/tunnel.ts',
  // For many watches.
  watch_sessions: 'lib/runtime/net/watch_sessions.ts',
  // For logs to a terminal.
  terminal: 'lib/operator/run/terminal_log.ts',
  // For programs with arguments.
  flags: 'lib/operator/run/flags.ts',
  // For operators on Deno.
  permissions: 'lib/operator/run/permissions.ts',
  // For subresources other than the status.
  subresources: 'lib/client/subresource_verbs.ts',
  // For controllers that apply the same objects.
  shared_apply: 'lib/client/shared_apply.ts',
  // For the option `metrics`.
  metrics: 'lib/manager/metrics.ts',
  // For servers with a certificate, other than that of webhooks.
  https: 'lib/runtime/net/tls_server.ts',
  // For the option `tracing`.
  spans: 'lib/observe/tracing.ts',
  // For metrics over TLS.
  metrics_over_tls: 'lib/manager/servers/secure_metrics.ts',
  // For requested profiles.
  profiles: 'lib/manager/servers/profiling.ts',
  // For admissions and conversions.
  webhook_server: 'lib/operator/webhooks/open.ts',
  // For tasks.
  tasks: 'lib/operator/tasks.ts',
  // For schedules: with croner, 33 KB.
  cron: 'lib/operator/schedules.ts',
  // For kinds that are cached with `compact`.
  compact_cache: 'lib/cache/compact/compact_caches.ts',
  // For operators that define kinds, or have webhooks.
  crds: 'lib/operator/definitions.ts',
  // For servers: health, metrics, profiles and those of the user.
  http: 'lib/runtime/net/http_server.ts',
  // For health, metrics and profiles.
  endpoints: 'lib/operator/endpoints.ts',
  // For `from`, `every` and groups of clusters.
  streams: 'lib/operator/other_sources.ts',
  // For `finalize`.
  finalizer: 'lib/controller/finalizer.ts',
  // For the option `sharding`.
  shards: 'lib/operator/sharding/sharding_parts.ts',
  // For leader election.
  follower: 'lib/leader/follower.ts',
  // For leaders, and for namespaces by labels.
  catch_up: 'lib/cache/catch_up.ts',
  // For namespaces by labels.
  namespaces: 'lib/operator/namespaces.ts',
  // For operators with several clusters.
  fleet: 'lib/operator/other_clusters.ts',
  // For rules in definitions, and patterns that JavaScript does not run: with RE2, 436 KB.
  cel: 'lib/apiserver/cel/engine.ts',
}

/** By file: the imports that bundlers do not follow, as an entry of `ENTRIES` brings them, or few operators need them. */
export const ONLY_IF_IMPORTED: Readonly<Record<string, readonly string[]>> = {
  mod: ['webhook_server', 'metrics', 'spans', 'cron', 'compact_cache', 'shards'],
  endpoints: ['metrics_over_tls', 'profiles'],
  kubeconfig: ['client-node'],
}

/** Imports that stay in the bundles. client-node is imported by a computed name, so it stays anyway. */
const OUTSIDE = [/^zod($|\/)/, /^prom-client$/, /^@opentelemetry\/api$/, /^fast-check$/, /^kubeloop($|\/)/, /^node:/]

/** Classes that may exist in several bundles besides mod.js, and why. */
const MAY_BE_TWICE: Readonly<Record<string, string>> = {
  AgentPool: 'the connections of one transport; the embedded API calls webhooks by a transport of its own',
  BoundedMap: 'a data structure inside others; nothing tests what it is an instance of',
  ChunkQueue: 'the body of one response',
  CommandNotFound: 'thrown and caught within the bundle that runs a command',
  ApiError: 'recognized by its name',
  ConfigError: 'the same',
  LeadershipLost: 'the same',
  NetworkError: 'the same',
  RotatingFile: 'the same',
  Exchange: 'an open request inside one server; nothing tests what it is an instance of',
  held: 'keeps requests alive that its own bundle has made',
  Heap: 'an internal data structure, without instanceof checks',
  Latch: 'the same',
  LazyAbort: 'the same',
  RateLimitedLog: 'the same',
  TokenBucket: 'the same',
  TurnBudget: 'the embedded API shares the turns of its own requests',
  budgets: 'the same',
}

export async function build(folder: string = join(ROOT, 'dist')): Promise<void> {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const common: Options = {
    config: false,
    silent: true,
    format: 'esm',
    platform: 'node',
    target: 'es2023',
    outDir: folder,
    tsconfig: join(ROOT, 'tsconfig.json'),
    external: OUTSIDE,
    noExternal: [/^(?!zod|prom-client|@opentelemetry|fast-check|kubeloop|node:)/],
    skipNodeModulesBundle: false,
    removeNodeProtocol: false,
    minify: false,
    metafile: true,
    clean: false,
    splitting: false,
    treeshake: false,
    outExtension: () => ({ js: '.js', dts: '.d.ts' }),
  }
  const packages = new BundledPackages()
  const bundle = async (options: Options): Promise<void> => {
    await tsup(options)
    packages.add(JSON.parse(readFileSync(join(folder, 'metafile-esm.json'), 'utf8')) as Metafile)
  }
  await bundle({ ...common, entry: { mod: join(ROOT, 'mod.ts') }, esbuildPlugins: [ordered, loadedLater] })
  const ownedByMod = new Set(inputsOf(folder))
  await bundle({
    ...common,
    splitting: true,
    esbuildPlugins: [loadedLater, onceOnly(ownedByMod)],
    entry: {
      kinds: join(ROOT, 'lib/kinds/mod.ts'),
      schema: join(ROOT, 'lib/schema/mod.ts'),
      parts: join(ROOT, 'lib/parts/mod.ts'),
      testing: join(ROOT, 'lib/testing/mod.ts'),
      apiserver: join(ROOT, 'lib/apiserver/mod.ts'),
      cli_main: join(ROOT, 'lib/cli/main.ts'),
    },
  })
  const bundled = FOR_BUNDLES.map((name) => [name, ENTRIES[name]!] as const)
  const later = Object.fromEntries(
    [...bundled, ...Object.entries(LOADED_LATER)].map(([name, path]) => [name, join(ROOT, path)]),
  )
  await bundle({ ...common, entry: later, esbuildPlugins: [loadedLater] })
  for (const [bundle, names] of Object.entries(ONLY_IF_IMPORTED)) {
    for (const name of names) leaveOutOfBundles(join(folder, `${bundle}.js`), `./${name}.js`)
  }
  dropTypeImports(join(folder, 'cel.js'))
  await bundle({ ...common, entry: { standalone: join(ROOT, 'mod.ts') } })
  rmSync(join(folder, 'metafile-esm.json'), { force: true })
  await writeDeclarations(common)
  for (const entry of [...Object.keys(ENTRIES), 'standalone', 'types']) {
    nameDeclarations(join(folder, `${entry}.js`), `./${entry}.d.ts`)
  }
  writeLauncher(folder)
  writePackage(folder)
  writeJsr(folder)
  writeBundled(folder, packages)
  const twice = madeTwice(folder, ownedByMod)
  if (twice.length > 0) {
    const remedy = 'export them from mod.ts, or import by the name of the package'
    throw new Error(`Cannot build: these would exist twice; ${remedy}:\n${twice.join('\n')}`)
  }
}

/**
 * Replaces imports from files of mod.js with classes that must exist once by imports from `kubeloop`, as far as mod.ts
 * exports them. The rest is bundled again, and checked by `madeTwice`.
 */
function onceOnly(ownedByMod: ReadonlySet<string>): Plugin {
  const mod = factsOf('mod.ts')
  const exportedFrom = (file: string): readonly string[] =>
    mod.imports.filter((each) => each.specifier === `./${file}`).flatMap((each) => each.names)
  return {
    name: 'once-only',
    setup(bundler) {
      bundler.onResolve({ filter: /^\.\.?\// }, ({ path, importer, kind, namespace }) => {
        const target = new URL(path, `file://${importer}`).pathname
        const file = target.slice(ROOT.length + 1)
        if (kind === 'entry-point' || namespace !== 'file' || !ownedByMod.has(file)) return undefined
        if (!factsOf(file).identity) return undefined
        return { path: file, namespace: 'once', pluginData: { target, file, path, importer }, suffix: `?${importer}` }
      })
      bundler.onLoad({ filter: /.*/, namespace: 'once' }, ({ pluginData }) => {
        const { target, file, path, importer } = pluginData as {
          target: string
          file: string
          path: string
          importer: string
        }
        const imports = factsOf(importer.slice(ROOT.length + 1)).imports
          .filter((each) => each.specifier === path && each.how !== 'type')
        const taken = new Set(imports.flatMap((each) => each.names))
        const shared = exportedFrom(file).filter((name) => taken.has(name))
        const own = [...taken].filter((name) => !shared.includes(name))
        const contents = [
          shared.length > 0 ? `export { ${shared.join(', ')} } from 'kubeloop'` : '',
          own.length > 0 ? `export { ${own.join(', ')} } from ${JSON.stringify(target)}` : '',
          taken.size === 0 ? `export * from ${JSON.stringify(target)}` : '',
        ]
        return { contents: contents.join('\n'), loader: 'ts', resolveDir: ROOT }
      })
    },
  }
}

/** Returns the classes, symbols and registries of mod.js that another bundle contains too, after tree shaking. */
function madeTwice(folder: string, ownedByMod: ReadonlySet<string>): string[] {
  const found: string[] = []
  for (
    const bundle of readdirSync(folder).filter((name) =>
      name.endsWith('.js') && !['mod.js', 'standalone.js'].includes(name)
    )
  ) {
    // esbuild writes each module's path above its code.
    const [, ...parts] = readFileSync(join(folder, bundle), 'utf8').split(/^\/\/ (?:.*\/)?(lib\/[\w/]+\.ts)$/m)
    for (let at = 0; at < parts.length; at += 2) {
      const [file = '', code = ''] = parts.slice(at, at + 2)
      if (!ownedByMod.has(file)) continue
      for (const [, name = ''] of code.matchAll(MAKES_IDENTITY)) {
        if (!(name in MAY_BE_TWICE)) found.push(`${name} of ${file}, in ${bundle}`)
      }
    }
  }
  return found
}

/** esbuild turns top-level classes into `var Name = class …`. */
const MAKES_IDENTITY = /^var (\w+) = (?:\/\* @__PURE__ \*\/ )?(?:class\b|Symbol\(|new (?:Weak)?(?:Map|Set)\(\))/gm

/** The modules of mod.js, one a line, in the order in which they compress best: order_bundle.ts writes it. */
export const ORDER_FILE: string = join(import.meta.dirname, 'bundle_order.txt')

/** Brings the modules of mod.js into the order of `ORDER_FILE`, as far as their imports allow; others follow. */
const ordered: Plugin = {
  name: 'ordered',
  setup(bundler) {
    bundler.onResolve(
      { filter: /.*/ },
      ({ path, kind }) => kind === 'entry-point' ? { path, namespace: 'ordered' } : undefined,
    )
    bundler.onLoad({ filter: /.*/, namespace: 'ordered' }, ({ path }) => {
      const inMod = new Set<string>(['mod.ts'])
      for (const file of inMod) importsOf(file).forEach((each) => inMod.add(each))
      const files = readFileSync(ORDER_FILE, 'utf8').split('\n').filter((file) => inMod.has(file))
      const lines = files.map((file) => `import './${file}'`)
      return { contents: [...lines, `export * from ${JSON.stringify(path)}`].join('\n'), resolveDir: ROOT }
    })
  },
}

const facts = new Map<string, SourceFacts>()

/** Returns the imports and exports of a file, by its path from the top. Several bundles ask for each. */
function factsOf(file: string): SourceFacts {
  const found = facts.get(file) ?? readFacts(file, readFileSync(join(ROOT, file), 'utf8'))
  facts.set(file, found)
  return found
}

/** Returns the modules that a file imports statically, by their paths from the top. */
export function importsOf(file: string): readonly string[] {
  return factsOf(file).imports
    .filter(({ how, specifier }) => how === 'static' && specifier?.startsWith('.'))
    .map(({ specifier }) => join(file, '..', specifier!))
}

/** Resolves dynamic imports of `LOADED_LATER` to their files in dist. */
const loadedLater: Plugin = {
  name: 'loaded-later',
  setup(bundler) {
    bundler.onResolve({ filter: /^\.\.?\// }, ({ path, importer, kind }) => {
      if (kind !== 'dynamic-import') return undefined
      const source = new URL(path, `file://${importer}`).pathname.slice(ROOT.length + 1)
      const found = Object.entries(LOADED_LATER).find(([, each]) => each === source)
      return found && { path: `./${found[0]}.js`, external: true }
    })
  },
}

/** Drops types in comments that name a file of their package, which `deno publish` would look for. */
function dropTypeImports(file: string): void {
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/\{import\('\.\/[^']*'\)[^}]*\}/g, ''))
}

/**
 * Hides an import from bundlers. Where it is needed, the file can be copied beside the bundle. Deno needs the
 * permission to read it.
 */
function leaveOutOfBundles(bundle: string, file: string): void {
  const parts = readFileSync(bundle, 'utf8').split(`import("${file}")`)
  if (parts.length !== 2) {
    throw new Error(`Cannot build ${bundle}: it imports ${file} ${parts.length - 1} times instead of once`)
  }
  writeFileSync(bundle, parts.join(`import(new URL("${file}", import.meta.url).href)`))
}

/** Returns the files of lib in the last bundle, by path from the top. */
function inputsOf(folder: string): string[] {
  const { inputs } = JSON.parse(readFileSync(join(folder, 'metafile-esm.json'), 'utf8')) as {
    inputs: Record<string, unknown>
  }
  return Object.keys(inputs).map((path) => join(process.cwd(), path)).filter((path) => path.startsWith(ROOT)).map((
    path,
  ) => path.slice(ROOT.length + 1))
}

/** Entries whose declarations are in types.d.ts: their signatures share classes, and a class must be one type. */
export const SHARE_TYPES = ['mod', 'parts', 'metrics'] as const

/**
 * Writes the declarations. Those of `SHARE_TYPES` are in types.d.ts, from which each entry exports its own names.
 * standalone.d.ts and kinds.d.ts need no other file, so that they can be copied; the other entries import those above.
 */
async function writeDeclarations(common: Options): Promise<void> {
  const folder = common.outDir!
  const write = async (entry: Record<string, string>, external: readonly string[] = []): Promise<void> => {
    const dts = { only: true, compilerOptions: { noEmit: false, types: ['node'], noCheck: true } }
    const warnings = await warningsOf(() =>
      tsup({ ...common, metafile: false, noExternal: [], external: [...OUTSIDE, ...external], entry, dts })
    )
    if (warnings.length > 0) {
      throw new Error(`Cannot build the declarations: the bundler warns of:\n${warnings.join('\n')}`)
    }
  }
  const declarations = (name: string): string => join(folder, `${name}.d.ts`)
  const sources = declareSources(folder)
  const declared = Object.entries(ENTRIES).map(([name, path]) => [name, join(sources, path.replace(/ts$/, 'd.ts'))])
  await write(Object.fromEntries(declared) as Record<string, string>)
  rmSync(sources, { recursive: true })
  await write({ standalone: declarations('mod') })
  await write({ kinds: declarations('kinds') })
  const all = join(folder, 'all.d.ts')
  writeFileSync(all, SHARE_TYPES.map((name) => `export * from './${name}.js'\n`).join(''))
  await write({ types: all })
  const isShared = (file: string): boolean =>
    /^.+-[\w-]{8}\.d\.ts$/.test(file) && !(file.slice(0, -'.d.ts'.length) in ENTRIES)
  const shared = readdirSync(folder).filter(isShared)
  const own = Object.keys(ENTRIES).filter((name) => !(SHARE_TYPES as readonly string[]).includes(name))
  for (const name of own) {
    const text = readFileSync(declarations(name), 'utf8')
    if (!shared.some((file) => text.includes(`'./${file.slice(0, -'.d.ts'.length)}.js'`))) continue
    await write({ [name]: declarations(name) }, SHARE_TYPES.map((each) => `./${each}.js`))
  }
  for (const name of SHARE_TYPES) {
    const names = exportedNames(readFileSync(declarations(name), 'utf8'))
    writeFileSync(declarations(name), `export {\n${names.map((each) => `  ${each},\n`).join('')}} from './types.js'\n`)
  }
  for (const file of [...shared, 'all.d.ts']) rmSync(join(folder, file))
  // Deno looks for the types of './types.js' in that file.
  writeFileSync(join(folder, 'types.js'), 'export {}\n')
}

/**
 * Writes the declarations of each source below `folder`, and returns where they are. The bundler would make them by
 * TypeScript 6, which takes ten times as long. The types of the sources are checked beside the build, not once more.
 */
function declareSources(folder: string): string {
  const sources = join(folder, 'sources')
  const compiler = join(ROOT, 'node_modules/typescript7/bin/tsc')
  const options = ['--noEmit', 'false', '--emitDeclarationOnly', '--noCheck', '--outDir', sources]
  execFileSync(process.execPath, [compiler, '-p', join(ROOT, 'lib'), ...options])
  for (const path of readdirSync(sources, { recursive: true, encoding: 'utf8' })) {
    if (!path.endsWith('.d.ts')) continue
    const file = join(sources, path)
    // The bundler looks for the declarations of './name.ts' in that file.
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/(['"]\.[^'"]*)\.ts(['"])/g, '$1.js$2'))
  }
  return sources
}

/** Returns the names that a bundled declaration exports, sorted: they are in statements `export { a, b as c }`. */
function exportedNames(text: string): string[] {
  const lists = [...text.matchAll(/^export (?:type )?\{ ([^}]+) \}/gm)].map(([, list = '']) => list.split(', '))
  return lists.flat().map((each) => each.split(' as ').at(-1)!).toSorted()
}

/** Names the declarations in the first line: Deno finds the types of a file outside of packages by it. */
function nameDeclarations(file: string, declarations: string): void {
  writeFileSync(file, `// @ts-self-types="${declarations}"\n${readFileSync(file, 'utf8')}`)
}

/**
 * Returns the warnings that a step of the build prints: the bundler of declarations has no other way to report them.
 */
async function warningsOf(step: () => Promise<void>): Promise<string[]> {
  const printed: string[] = []
  const streams = [process.stdout, process.stderr]
  const originals = streams.map((stream) => stream.write)
  for (const stream of streams) stream.write = (chunk: string | Uint8Array) => printed.push(String(chunk)) > 0
  try {
    await step()
  } finally {
    streams.forEach((stream, at) => (stream.write = originals[at]!))
  }
  return printed.join('').split('\n').filter((line) => line.includes('[plugin'))
}

/** Writes cli.js: bin.js, which any old Node can parse, with another name of the file to load. */
function writeLauncher(folder: string): void {
  const source = readFileSync(join(ROOT, 'lib/cli/bin.js'), 'utf8')
  const parts = source.split('./main.ts')
  if (parts.length !== 2) {
    throw new Error(`Cannot build cli.js: lib/cli/bin.js names "./main.ts" ${parts.length - 1} times instead of once`)
  }
  writeFileSync(join(folder, 'cli.js'), parts.join('./cli_main.js'), { mode: 0o755 })
}

/** Names what is bundled, in three forms. docs/SECURITY.md has the rows, so that they are on the repository's page. */
function writeBundled(folder: string, packages: BundledPackages): void {
  const all = packages.all()
  const own = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Parameters<typeof bomOf>[1]
  writeFileSync(join(folder, 'THIRD_PARTY_NOTICES'), noticesOf(all))
  writeFileSync(join(folder, 'bom.json'), `${JSON.stringify(bomOf(all, own), null, 2)}\n`)
  const page = readFileSync(join(ROOT, 'docs/SECURITY.md'), 'utf8')
  const lacking = bundledRows(all).filter((row) => !page.includes(`\n${row}\n`))
  if (lacking.length > 0) throw new Error(`Cannot build: docs/SECURITY.md lacks these rows:\n${lacking.join('\n')}`)
}

/** The published part of the folder, besides package.json, README.md and LICENSE; npm has the examples, too. */
const PUBLISHED = ['*.js', '*.d.ts', 'page', 'docs', 'THIRD_PARTY_NOTICES', 'bom.json']

/**
 * Writes jsr.json: the same files under a scope, which jsr.io requires. It has no peer dependencies and no name for the
 * package itself: publishing replaces the imported names by those of `imports`.
 */
function writeJsr(folder: string): void {
  const { name, version, license, peerDependencies } = JSON.parse(
    readFileSync(join(ROOT, 'package.json'), 'utf8'),
  ) as Record<'name' | 'version' | 'license', string> & { peerDependencies: Record<string, string> }
  const entries = Object.keys(ENTRIES).map((file) => [file, `./${file}.js`] as const)
  const named = (top: string, slash: string): Record<string, string> =>
    Object.fromEntries(entries.map(([file, path]) => [file === 'mod' ? top : `${slash}${file}`, path]))
  const outside = ['zod', 'prom-client', '@opentelemetry/api', 'fast-check'].map((
    each,
  ) => [each, `npm:${each}@${peerDependencies[each]}`])
  const jsr = {
    name: `@kubeloop/${name}`,
    version,
    license,
    exports: named('.', './'),
    imports: { ...named(name, `${name}/`), ...Object.fromEntries(outside) },
    // Nothing is installed in this folder: packages come from Deno's cache.
    nodeModulesDir: 'none',
    // The exclusion undoes that of .gitignore.
    publish: { include: ['LICENSE', 'README.md', ...PUBLISHED], exclude: ['!**'] },
  }
  writeFileSync(join(folder, 'jsr.json'), `${JSON.stringify(jsr, null, 2)}\n`)
}

/**
 * Writes the published package.json, with paths to JavaScript. The one at the top is private, with paths to sources.
 */
function writePackage(folder: string): void {
  const source = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<string, unknown>
  const {
    name,
    version,
    description,
    license,
    type,
    engines,
    peerDependencies,
    peerDependenciesMeta,
    keywords,
    repository,
    bugs,
  } = source
  const entry = (file: string): unknown => ({ types: `./${file}.d.ts`, default: `./${file}.js` })
  const exports = Object.fromEntries(
    Object.keys(ENTRIES).map((file) => [file === 'mod' ? '.' : `./${file}`, entry(file)]),
  )
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify(
      {
        name,
        version,
        description,
        keywords,
        license,
        ...(repository ? { repository, bugs } : placeOnGitHub(process.env)),
        publishConfig: { access: 'public', provenance: true },
        type,
        engines,
        files: [...PUBLISHED, 'examples'],
        exports: { ...exports, './package.json': './package.json' },
        types: './mod.d.ts',
        bin: { kubeloop: './cli.js' },
        sideEffects: [...FOR_BUNDLES, 'metrics'].map((name) => `./${name}.js`),
        peerDependencies,
        peerDependenciesMeta,
      },
      null,
      2,
    ) + '\n',
  )
  for (const file of ['README.md', 'LICENSE']) copyFileSync(join(ROOT, file), join(folder, file))
  // The command reads the files of its page from a folder beside it.
  cpSync(join(ROOT, 'lib/cli/dev/page'), join(folder, 'page'), { recursive: true })
  // The pages link to the examples.
  for (const each of ['docs', 'examples']) cpSync(join(ROOT, each), join(folder, each), { recursive: true })
}

/** Returns the place of the sources, which npm compares with the provenance: that of the workflow that builds. */
export function placeOnGitHub(env: Readonly<Record<string, string | undefined>>): object {
  const { GITHUB_SERVER_URL: server = 'https://github.com', GITHUB_REPOSITORY: repository } = env
  if (!repository) return {}
  const url = `${server}/${repository}`
  return { repository: { type: 'git', url: `git+${url}.git` }, bugs: { url: `${url}/issues` } }
}

if (process.argv[1] === import.meta.filename) {
  const started = performance.now()
  await build(process.argv[2])
  console.log(`dist is built (${((performance.now() - started) / 1000).toFixed(1)} s)`)
}
