/** The text of the built package, and what other programs make of it; what no runtime changes. */
import assert from 'node:assert/strict'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { load } from 'js-yaml'
import { readFacts } from '../structure/source_facts.ts'
import { ENTRIES, FOR_BUNDLES, LOADED_LATER, ONLY_IF_IMPORTED, placeOnGitHub, SHARE_TYPES } from '../tools/build.ts'
import { DIST, ensureDist, loadBuilt } from '../tools/dist.ts'
import { noOldNode, OLD_NODE } from '../tools/old_node.ts'
import { mustRun, runCommand } from '../tools/run_command.ts'
import { ROOT } from '../tools/tree.ts'
import { stableName } from '../tools/bundled.ts'
import { ADMIT, bundled, FLOW, READ_KUBECONFIG } from './scripts.ts'
import { withFolder } from '../tools/folder.ts'

before(ensureDist)

/** The options of strict users. Without skipLibCheck: declarations are checked as well, but not those of TypeScript. */
const COMPILER = {
  noEmit: true,
  skipDefaultLibCheck: true,
  // The types that a user's library exports must be nameable.
  declaration: true,
  strict: true,
  module: 'nodenext',
  target: 'es2023',
  lib: ['es2023', 'esnext.disposable'],
  types: ['node'],
  exactOptionalPropertyTypes: true,
}

const CONSUMER = `
import { defineResource, operator, type Client, type Desired, type ObjectOf } from 'kubeloop'
import * as apiserver from 'kubeloop/apiserver'
import { Deployment } from 'kubeloop/kinds'
import { conditionList } from 'kubeloop/schema'
import * as testing from 'kubeloop/testing'
import * as z from 'zod'

const Foo = defineResource({
  group: 'samplecontroller.k8s.io', version: 'v1alpha1', kind: 'Foo',
  spec: z.object({ deploymentName: z.string(), replicas: z.int32().min(0).max(10).default(1) }),
  status: z.object({ availableReplicas: z.int32().optional(), conditions: conditionList }),
})
type Foo = ObjectOf<typeof Foo>
// @ts-expect-error The list of conditions is typed.
export const wrongStatus: NonNullable<Foo['status']> = { conditions: 5 }

const app = operator({ name: 'sample-controller', leaderElection: true })
app.controllerFor(Foo).owns(Deployment).reconcile(async (foo, { client }) => {
  const deployment = await client.apply(Deployment, render(foo), { owner: foo })
  await client.setStatus(Foo, foo, { availableReplicas: deployment.status?.availableReplicas })
})

function render(foo: Foo): Desired<typeof Deployment> {
  const labels = { app: foo.metadata.name }
  // @ts-expect-error The fields of a spec are typed: this one is a string.
  const wrong: number = foo.spec.deploymentName
  return {
    metadata: { name: foo.spec.deploymentName },
    spec: {
      replicas: foo.spec.replicas, selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'nginx', image: String(wrong) }] } },
    },
  }
}

export function deploy(client: Client, foo: Foo) {
  return client.apply(Deployment, render(foo), { owner: foo })
}

export default app
export const others: readonly object[] = [apiserver, testing]
`

/** Errors that `instanceof` recognizes by their name. */
const KNOWN_BY_NAME = ['ApiError', 'LeadershipLost', 'NetworkError']

test('a class exists once: no other file has a copy of what mod.js exports', async () => {
  const exported = Object.entries(await loadBuilt('mod')).filter(([, value]) =>
    typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value))
  )
  const classes = new Set(exported.map(([name]) => name))
  assert.ok(classes.size > 0)
  const others = readdirSync(DIST).filter((file) => file.endsWith('.js') && !['mod.js', 'standalone.js'].includes(file))
  const copies = others.flatMap((file) => {
    const isKnown = (name: string): boolean => file.slice(0, -3) in LOADED_LATER && KNOWN_BY_NAME.includes(name)
    const found = readFileSync(join(DIST, file), 'utf8').matchAll(/\bclass (\w+)|\b(?:var|let|const) (\w+) = class\b/g)
    const names = [...found].flatMap(([, declared, assigned]) => declared ?? assigned ?? [])
    return names.filter((name) => classes.has(name) && !isKnown(name)).map((name) => `${file} has a copy of ${name}`)
  })
  assert.deepEqual(copies, [])
})

test('mod.js imports no package, and files beside it only dynamically', () => {
  const byOthers = [
    ...Object.values(IMPORTS_OF_LATER),
    ...Object.values(ONLY_IF_IMPORTED).flat().map((name) => [`dynamic ./${name}.js`]),
  ].flat()
  const inBundles = Object.keys(LOADED_LATER).filter((name) =>
    !['cel', 'client-node'].includes(name) && !byOthers.includes(`dynamic ./${name}.js`)
  )
  const { imports } = factsOf('mod.js')
  const outside = imports.filter(({ specifier }) => specifier !== undefined && !specifier.startsWith('node:'))
  assert.deepEqual(
    [...new Set(outside.map(({ how, specifier }) => `${how} ${specifier}`))].toSorted(),
    inBundles.map((name) => `dynamic ./${name}.js`).toSorted(),
  )
  const text = readFileSync(join(DIST, 'mod.js'), 'utf8')
  assert.doesNotMatch(text, /from ["']@kubernetes\/client-node["']|import\(["']@kubernetes\/client-node["']\)/)
  for (const [bundle, names] of Object.entries(ONLY_IF_IMPORTED)) {
    const text = readFileSync(join(DIST, `${bundle}.js`), 'utf8')
    for (const name of names) {
      assert.equal(text.split(`import(new URL("./${name}.js", import.meta.url).href)`).length, 2, name)
    }
  }
  // A bundler includes the others. If one imported mod.js, all of mod.js would be kept.
  const importsOf = (file: string): string[] =>
    factsOf(file).imports.map(({ how, specifier }) => `${how} ${specifier ?? '(computed)'}`).filter((each) =>
      !each.includes(' node:')
    )
  for (const name of Object.keys(LOADED_LATER)) {
    assert.deepEqual(importsOf(`${name}.js`), IMPORTS_OF_LATER[name] ?? [], name)
  }
  assert.doesNotMatch(text, /workqueue_depth|rest_client_requests_total|current-context/)
})

const IMPORTS_OF_LATER: Readonly<Record<string, readonly string[]>> = {
  metrics: ['dynamic prom-client'],
  // By URL, which no bundler follows.
  endpoints: ['dynamic (computed)', 'dynamic (computed)'],
  config: ['dynamic ./proxy.js', 'dynamic ./kubeconfig.js'],
  http: ['dynamic ./https.js'],
  metrics_over_tls: ['dynamic ./https.js'],
  spans: ['dynamic @opentelemetry/api'],
  'client-node': ['dynamic (computed)'],
  kubeconfig: ['dynamic (computed)'],
}

test('a bundle has the parts that its operator imports', async () => {
  const bare = await bundled(ADMIT)
  assert.match(bare, /class \w*ApiError\b|ApiError = class/)
  // Each is loaded at the start, and those with getters (lib/runtime/os/builtins.ts) take milliseconds.
  const loaded = new Set([...bare.matchAll(/ from ["'](node:[\w/]+)["']/g)].map(([, name]) => name))
  assert.deepEqual([...loaded].sort(), [
    ...['node:fs/promises', 'node:https', 'node:os', 'node:path', 'node:tty', 'node:url'],
  ])
  for (const entry of FOR_BUNDLES) {
    const [, part = ''] = /import\("\.\/([a-z_]+)\.js"\)/.exec(readFileSync(join(DIST, `${entry}.js`), 'utf8')) ?? []
    const name = factsOf(`${part}.js`).exports[0]!
    assert.ok(!bare.includes(`${name}:`), `${name} of ${entry} is in a bundle that does not import it`)
    const whole = await bundled(ADMIT, entry)
    assert.ok(whole.includes(`${name}:`), `${name} of ${entry} is in the bundle`)
    if (entry === 'webhooks') {
      assert.ok(bare.length < whole.length - 180_000, `${bare.length} of ${whole.length} bytes`)
    }
  }
})

test('each entry has its declarations, which its first line names; a copied one needs no other file', () => {
  const names = [...Object.keys(ENTRIES), 'standalone', 'types']
  for (const name of names) {
    assert.equal(readFileSync(join(DIST, `${name}.js`), 'utf8').split('\n')[0], `// @ts-self-types="./${name}.d.ts"`)
  }
  for (const name of ['standalone', 'types', 'kinds']) assert.deepEqual(factsOf(`${name}.d.ts`).imports, [], name)
  // A missing type would be `any`, which the compiler does not report with skipLibCheck.
  for (const name of Object.keys(ENTRIES)) {
    const beside = factsOf(`${name}.d.ts`).imports.flatMap((
      { specifier },
    ) => (specifier?.startsWith('.') ? [specifier] : []))
    const shares = SHARE_TYPES.some((each) => each === name)
    const allowed = shares ? ['./types.js'] : SHARE_TYPES.map((each) => `./${each}.js`)
    assert.deepEqual(beside.filter((each) => !allowed.includes(each)), [], name)
    if (shares) assert.deepEqual(beside, allowed, name)
  }
  assert.deepEqual(
    readdirSync(DIST).filter((file) => file.endsWith('.d.ts')).toSorted(),
    names.map((name) => `${name}.d.ts`).toSorted(),
  )
})

test('a class is declared once, except in the copied declarations: two declarations would be two types', () => {
  const declared = names(Object.keys(ENTRIES).concat('types'))
  assert.deepEqual(declared.filter((name, at) => declared.indexOf(name) !== at), [])
  for (const name of ['Api', 'Cache', 'Informer', 'KubeClient', 'Manager', 'Server', 'WorkQueue']) {
    assert.ok(declared.includes(name), name)
  }

  function names(entries: readonly string[]): string[] {
    return entries.flatMap((entry) =>
      [...readFileSync(join(DIST, `${entry}.d.ts`), 'utf8').matchAll(CLASS)].map(([, name = '']) => name)
    )
  }
})

const CLASS = /^(?:export |declare )*(?:abstract )?class (\w+)/gm

/** Calls `body` with a folder that has standalone.js and kinds.js, their declarations, these files, and zod. */
async function withCopies(
  files: Readonly<Record<string, string>>,
  body: (folder: string) => Promise<void>,
): Promise<void> {
  await withFolder(async (folder) => {
    mkdirSync(join(folder, 'node_modules/@types'), { recursive: true })
    for (const name of ['zod', '@types/node', 'undici-types']) {
      symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
    }
    for (const name of ['standalone.js', 'standalone.d.ts', 'kinds.js', 'kinds.d.ts']) {
      copyFileSync(join(DIST, name), join(folder, name))
    }
    const project = JSON.stringify({ type: 'module', dependencies: { zod: '^4' } })
    for (const [name, text] of Object.entries({ 'package.json': project, ...files })) {
      writeFileSync(join(folder, name), text)
    }
    await body(folder)
  })
}

/** An operator that imports only files that can be copied. */
const COPIED = CONSUMER.replace(/^.*\b(?:apiserver|testing|kubeloop\/schema)\b.*\n/gm, '')
  .replace(', conditions: conditionList', '').replace(/^\/\/ @ts-expect-error The list.*\n.*\n/m, '')
const MAPPED = `${COPIED}console.log('read', Foo.plural, Deployment.plural)\n`
const BESIDE = MAPPED.replace("'kubeloop'", "'./standalone.js'").replace("'kubeloop/kinds'", "'./kinds.js'")

test(
  'copies of standalone.js and kinds.js beside an operator have their types: Node with tsc, Bun',
  { timeout: 120_000 },
  async () => {
    const tsconfig = JSON.stringify({ compilerOptions: COMPILER, files: ['operator.ts'] })
    await withCopies({ 'operator.ts': BESIDE, 'tsconfig.json': tsconfig }, async (folder) => {
      await mustRun(program('node'), [join(ROOT, 'node_modules/typescript7/bin/tsc'), '-p', '.', '--singleThreaded'], {
        cwd: folder,
      })
      for (const runtime of ['node', 'bun']) {
        assert.match(
          await mustRun(program(runtime), ['operator.ts'], { cwd: folder }),
          /^read foos deployments$/m,
          runtime,
        )
      }
    })
  },
)

test(
  'copies of standalone.js and kinds.js have their types in Deno, beside an operator with npm:zod@4 and from an import map',
  { timeout: 120_000 },
  async () => {
    const imports = { kubeloop: './standalone.js', 'kubeloop/kinds': './kinds.js', zod: 'npm:zod@4' }
    const operators = { 'beside.ts': BESIDE.replace("'zod'", "'npm:zod@4'"), 'mapped.ts': MAPPED }
    await withCopies({ ...operators, 'deno.json': JSON.stringify({ imports }) }, async (folder) => {
      const deno = (...args: string[]): Promise<string> => mustRun(program('deno'), args, { cwd: folder })
      await deno('check', ...Object.keys(operators))
      for (const file of Object.keys(operators)) {
        assert.match(await deno('run', '--no-prompt', file), /^read foos deployments$/m, file)
      }
    })
  },
)

test('a binary compiled by Bun reads a kubeconfig in flow style', async () => {
  await withFolder(async (folder) => {
    const files = { 'run.mjs': READ_KUBECONFIG.replace('./mod.js', join(DIST, 'mod.js')), config: FLOW }
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
    await mustRun(join(ROOT, 'node_modules/.bin/bun'), ['build', '--compile', 'run.mjs', '--outfile', 'run'], {
      cwd: folder,
    })
    assert.equal((await mustRun(join(folder, 'run'), [], { cwd: folder })).trim(), 'https://a:6443')
  })
})

const OPTIONAL_PEERS: Readonly<Record<string, readonly string[]>> = {
  'metrics.js': ['prom-client'],
  'standalone.js': ['@opentelemetry/api', 'prom-client'],
  'testing.js': ['fast-check'],
  'spans.js': ['@opentelemetry/api'],
}

test('other entries import only kubeloop, zod and node modules', () => {
  for (
    const file of readdirSync(DIST).filter((each) => each.endsWith('.js') && each !== 'mod.js' && each !== 'cli.js')
  ) {
    const outside = factsOf(file).imports.map(({ specifier }) => specifier ?? '(computed)').filter((each) =>
      !/^(node:|\.\/|kubeloop(\/\w+)?$|zod\/v4\/core$|\(computed\)$)/.test(each)
    )
    assert.deepEqual(outside.toSorted(), OPTIONAL_PEERS[file] ?? [], file)
  }
})

/**
 * The maximum size of mod.js, minified and gzipped; the goal is 85. Kinds are an eighth, the client, the cache and the
 * controller a tenth each; texts of errors and logs are a tenth of all. The order of the modules is worth 2 KB:
 * order_bundle.ts finds it again after larger changes.
 */
const MAX_KB = 86.1

test(`mod.js is at most ${MAX_KB} KB, minified and gzipped`, async () => {
  const minified = await mustRun(join(ROOT, 'node_modules/.bin/esbuild'), [join(DIST, 'mod.js'), '--minify'])
  // By Node: Deno's gzip result is half a KB larger.
  const bytes = await mustRun(join(ROOT, 'node_modules/.bin/node'), [
    '-p',
    'zlib.gzipSync(fs.readFileSync(0), { level: 9 }).length',
  ], { input: minified })
  const kb = Number(bytes) / 1024
  console.log(`mod.js: ${kb.toFixed(1)} KB minified and gzipped`)
  assert.ok(kb <= MAX_KB, `${kb.toFixed(1)} KB`)
})

test('the launcher is a script with a shebang that an old Node can parse', () => {
  const text = readFileSync(join(DIST, 'cli.js'), 'utf8')
  assert.match(text, /^#!\/usr\/bin\/env node\n/)
  assert.match(text, /\.\/cli_main\.js/)
  // Static imports would be resolved, and fail, before the launcher can report the problem.
  assert.deepEqual(
    factsOf('cli.js').imports.filter(({ how, specifier }) => how === 'static' && !specifier?.startsWith('node:')),
    [],
  )
})

test(
  'an old Node prints the required version',
  { skip: noOldNode },
  async () => {
    const { code, stderr, stdout } = await runCommand(OLD_NODE ?? '', [join(DIST, 'cli.js'), '--help'])
    assert.notEqual(code, 0)
    assert.match(stderr + stdout, /22\.19/)
    assert.doesNotMatch(stderr + stdout, /SyntaxError|ERR_/)
  },
)

test(
  'the package installs from its tarball, loads, runs its command, writes a sample whose tests pass, and type-checks',
  { timeout: 120_000 },
  async () => {
    await withFolder(async (project) => {
      const [packed] = JSON.parse(await mustRun('npm', ['pack', DIST, '--json', '--pack-destination', project])) as {
        filename: string
        files: { path: string }[]
      }[]
      assert.ok(packed)
      const files = packed.files.map((each) => each.path)
      assert.deepEqual(PUBLISHED.filter((name) => !files.includes(name)), [], 'missing')
      const others = files.filter((name) => !PUBLISHED.includes(name))
      assert.deepEqual(
        others.filter((name) =>
          !/^(?:docs\/[\w-]+\.md|docs\/monitoring\/[\w.]+|examples\/(?:added\/)?[\w.]+|[a-z_]+-[A-Z\d]{8}\.js)$/.test(
            name,
          )
        ),
        [],
        'besides',
      )
      writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'consumer', private: true, type: 'module' }))
      await mustRun('npm', [
        'install',
        `./${packed.filename}`,
        '--offline',
        '--legacy-peer-deps',
        '--ignore-scripts',
        '--no-audit',
        '--no-fund',
      ], { cwd: project })
      // Peers and types come from here, without a registry.
      mkdirSync(join(project, 'node_modules/@types'), { recursive: true })
      for (const name of ['zod', '@types/node', 'undici-types']) {
        symlinkSync(join(ROOT, 'node_modules', name), join(project, 'node_modules', name))
      }

      writeFileSync(join(project, 'load.mjs'), LOADER)
      const runtimes: Readonly<Record<string, readonly string[]>> = { node: [], bun: [], deno: ['run', '-A'] }
      for (const [runtime, args] of Object.entries(runtimes)) {
        const printed = await mustRun(program(runtime), [...args, 'load.mjs'], { cwd: project })
        assert.equal(printed.trim(), 'loaded', runtime)
      }
      const command = [program('node'), 'node_modules/.bin/kubeloop', 'new', 'sample.ts'] as const
      assert.match(await mustRun(command[0], command.slice(1), { cwd: project }), /^wrote sample\.ts,/)
      assert.equal(
        readFileSync(join(project, 'sample.ts'), 'utf8'),
        readFileSync(join(ROOT, 'examples/1_sample_controller.ts'), 'utf8').replace(
          'leaderElection: true',
          "$&, health: ':8081'",
        ),
      )
      for (const added of [['--controller', 'Widget'], ['--webhook']]) {
        await mustRun(command[0], [...command.slice(1), ...added], { cwd: project })
      }
      // With this variable of its parent, Node's test runner would skip all files.
      const isolated = ['-u', 'NODE_TEST_CONTEXT', program('node'), '--test', './sample.test.ts', './widget.test.ts']
      const { code, stdout, stderr } = await runCommand('env', isolated, { cwd: project })
      assert.equal(code, 0, stdout + stderr)
      assert.match(stdout, /\bpass 5\b/)

      const compilerOptions = { ...COMPILER, allowImportingTsExtensions: true }
      writeFileSync(
        join(project, 'tsconfig.json'),
        JSON.stringify({
          compilerOptions,
          files: ['operator.ts', 'entries.ts', 'sample.ts', 'sample.test.ts', 'widget.test.ts', 'foo_webhook.ts'],
        }),
      )
      const entries = Object.keys(ENTRIES).map((name) => name === 'mod' ? 'kubeloop' : `kubeloop/${name}`)
      writeFileSync(
        join(project, 'entries.ts'),
        entries.map((entry, at) => `export * as entry${at} from '${entry}'\n`).join(''),
      )
      writeFileSync(join(project, 'operator.ts'), CONSUMER)
      await mustRun(join(ROOT, 'node_modules/.bin/node'), [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', '.'], {
        cwd: project,
      })
    })
  },
)

function program(name: string): string {
  return join(ROOT, 'node_modules/.bin', name)
}

/** What the package has besides its documentation and the chunks that its bundles share. */
const PUBLISHED: readonly string[] = [
  ...[
    'LICENSE',
    'README.md',
    'THIRD_PARTY_NOTICES',
    'bom.json',
    'package.json',
    'docs/getting-started.md',
    'cli.js',
    'cli_main.js',
  ],
  ...Object.keys(LOADED_LATER).filter((name) => !(name in ENTRIES)).map((name) => `${name}.js`),
  ...[...Object.keys(ENTRIES), 'standalone', 'types'].flatMap((name) => [`${name}.js`, `${name}.d.ts`]),
  'examples/1_sample_controller.ts',
  ...['page.html', 'page.css', 'page.js'].map((name) => `page/${name}`),
]

test('the package is public, and has the entries of the sources, each with its declarations', () => {
  const source = readJson(join(ROOT, 'package.json'))
  const built = readJson(join(DIST, 'package.json'))
  for (const key of ['private', 'scripts', 'devDependencies', 'knip']) {
    assert.ok(key in source && !(key in built), key)
  }
  for (const key of ['name', 'version', 'license', 'engines', 'peerDependencies']) {
    assert.deepEqual(built[key], source[key], key)
  }
  assert.deepEqual(
    Object.keys(built['exports'] as object).toSorted(),
    Object.keys(source['exports'] as object).toSorted(),
  )
  for (const [name, entry] of Object.entries(built['exports'] as Record<string, Record<string, string> | string>)) {
    const files = typeof entry === 'string' ? [entry] : [entry['types']!, entry['default']!]
    assert.equal(typeof entry === 'string', name === './package.json')
    for (const file of files) assert.ok(existsSync(join(DIST, file)), `${name}: ${file}`)
  }
})

test('the packages whose code is in the files are named: for scanners, by their licenses, and on the page', () => {
  const bom = readJson(join(DIST, 'bom.json')) as {
    readonly components: readonly Record<'name' | 'version' | 'purl', string>[]
    readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[]
  }
  const found = new Map<string, Set<string>>()
  for (const file of readdirSync(DIST).filter((each) => each.endsWith('.js')).toSorted()) {
    // esbuild writes each module's path above its code.
    const paths = readFileSync(join(DIST, file), 'utf8').matchAll(/^\/\/ (?:\w+:)?(?:.*\/)?node_modules\/([^/\n]+)\//gm)
    for (const name of new Set([...paths].map(([, name]) => name!))) {
      found.set(name, (found.get(name) ?? new Set()).add(stableName(file)))
    }
  }
  assert.deepEqual(bom.components.map(({ name }) => name), [...found.keys()].toSorted())
  const notices = readFileSync(join(DIST, 'THIRD_PARTY_NOTICES'), 'utf8')
  const page = readFileSync(join(DIST, 'docs/SECURITY.md'), 'utf8')
  for (const { name, version, purl } of bom.components) {
    const { version: installed, license } = readJson(join(ROOT, 'node_modules', name, 'package.json'))
    assert.deepEqual([version, purl], [installed, `pkg:npm/${name}@${version}`])
    const files = [...found.get(name)!].toSorted()
    assert.ok(notices.includes(`${name} ${version} (${license}), in ${files.join(', ')}\n`), name)
    assert.ok(notices.includes(readFileSync(join(ROOT, 'node_modules', name, 'LICENSE'), 'utf8').trim()), name)
    assert.ok(
      page.includes(`| ${name} | ${version} | ${license} | ${files.map((file) => `\`${file}\``).join(', ')} |\n`),
    )
  }
  const [own] = bom.dependencies
  assert.deepEqual(own?.dependsOn, bom.components.map(({ purl }) => purl))
})

test('a release is published with provenance, from the place that the workflow runs in', () => {
  assert.deepEqual(readJson(join(DIST, 'package.json'))['publishConfig'], { access: 'public', provenance: true })
  assert.deepEqual(placeOnGitHub({}), {})
  assert.deepEqual(placeOnGitHub({ GITHUB_REPOSITORY: 'a/b' }), {
    repository: { type: 'git', url: 'git+https://github.com/a/b.git' },
    bugs: { url: 'https://github.com/a/b/issues' },
  })
  const { permissions, jobs } = load(readFileSync(join(ROOT, '.github/workflows/release.yml'), 'utf8')) as Workflow
  assert.deepEqual([permissions, Object.keys(jobs)], [{}, ['publish']])
  const { permissions: granted, steps } = jobs['publish']!
  assert.deepEqual(granted, { contents: 'read', 'id-token': 'write' })
  for (const { uses } of steps) if (uses) assert.match(uses, /@[\da-f]{40}$/, 'a tag can be moved')
  const { scripts } = readJson(join(ROOT, 'package.json'))
  const runs = steps.flatMap(({ run, 'working-directory': folder = '.' }) => run ? [`${folder}: ${run}`] : [])
  for (const run of runs) {
    const [, script, file] = /npm (?:run )?(test|build)$|node (tests\S+)/.exec(run) ?? []
    if (script) assert.ok(script in (scripts as object), run)
    if (file) assert.ok(existsSync(join(ROOT, file)), run)
  }
  assert.deepEqual(runs.slice(-4), [
    '.: npm run build',
    '.: node tests/tools/check_package.ts',
    'dist: npm publish',
    'dist: npx deno publish',
  ])
})

interface Workflow {
  readonly permissions: object
  readonly jobs: Readonly<Record<string, { readonly permissions: object; readonly steps: readonly Step[] }>>
}

type Step = { readonly uses?: string; readonly run?: string; readonly 'working-directory'?: string }

test('jsr.json names the same entries, and where jsr.io finds what they import', () => {
  const { exports, imports, ...jsr } = readJson(join(DIST, 'jsr.json')) as Record<string, Record<string, string>>
  const built = readJson(join(DIST, 'package.json'))
  assert.equal(jsr['name'], `@kubeloop/${String(built['name'])}`)
  assert.equal(jsr['version'], built['version'])
  const { './package.json': _, ...entries } = built['exports'] as Record<string, { default: string }>
  assert.deepEqual(exports, Object.fromEntries(Object.entries(entries).map(([name, entry]) => [name, entry.default])))
  const bundles = readdirSync(DIST).filter((file) => /\.(?:js|d\.ts)$/.test(file))
  const taken = new Set(bundles.flatMap((file) => factsOf(file).imports.map((each) => each.specifier ?? '')))
  const bare = [...taken].filter((name) => /^[\w@]/.test(name) && !name.startsWith('node:'))
  assert.ok(bare.includes('kubeloop') && bare.includes('zod/v4/core') && bare.includes('prom-client'), bare.join())
  assert.deepEqual(bare.filter((name) => !(name in imports!) && !(name.split('/')[0]! in imports!)), [])
})

const LOADER = `
const entries = await Promise.all(['kubeloop', 'kubeloop/kinds', 'kubeloop/testing', 'kubeloop/apiserver', 'kubeloop/metrics', 'kubeloop/parts', 'kubeloop/client-node'].map((name) => import(name)))
if (entries.some((entry) => Object.keys(entry).length === 0)) throw new Error('an entry exports nothing')
console.log('loaded')
`

const facts = new Map<string, ReturnType<typeof readFacts>>()

/** Parses each file once: they are large. */
function factsOf(file: string): ReturnType<typeof readFacts> {
  const found = facts.get(file) ?? readFacts(file, readFileSync(join(DIST, file), 'utf8'))
  facts.set(file, found)
  return found
}

function readJson(path: string): Record<string, unknown> {
  return JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
}
