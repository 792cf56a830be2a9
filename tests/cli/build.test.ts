import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { isOwnPath, withoutVersion } from '../../lib/cli/build/bundle.ts'
import { DIST, ensureDist } from '../tools/dist.ts'
import { noOldNode, OLD_NODE } from '../tools/old_node.ts'
import { mustRun, runCommand } from '../tools/run_command.ts'
import { type Folder, inFolder } from './dev_command.ts'

before(ensureDist)

const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url))

/** Packages that a user's project may have: kubeloop and zod are in each folder. */
const INSTALLED = ['esbuild', '@esbuild', 'prom-client', 'tdigest', 'bintrees', '@opentelemetry']

/** Calls `use` with a folder that has these packages, and kubeloop as it is published. */
async function inProject(packages: readonly string[], use: (folder: Folder) => Promise<void>): Promise<void> {
  await inFolder(async (folder) => {
    folder.write('package.json', JSON.stringify({ type: 'module' }))
    rmSync(join(folder.path, 'node_modules/kubeloop'))
    symlinkSync(DIST, join(folder.path, 'node_modules/kubeloop'))
    for (const name of packages.filter((each) => existsSync(join(MODULES, each)))) {
      symlinkSync(join(MODULES, name), join(folder.path, 'node_modules', name))
    }
    await use(folder)
  })
}

const isBun = 'Bun' in globalThis
const isNode = !isBun && !('Deno' in globalThis)
const elsewhere = isNode ? false : 'esbuild writes the same on each runtime; here a bundle is written and run'

const BARE = `
import { operator } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'
const app = operator({ name: 'bare' })
app.controllerFor(ConfigMap).reconcile(async () => {})
export default app
await app.run(import.meta)
`

/** Runs without a cluster, so that it ends at once with a line of its log. */
async function runBundle(folder: Folder, file: string): Promise<string> {
  // In a folder of its own, where nothing is installed.
  const place = join(folder.path, '..', `${folder.path.split('/').at(-1)}-run`)
  mkdirSync(place)
  try {
    writeFileSync(join(place, 'operator.js'), readFileSync(join(folder.path, file)))
    writeFileSync(join(place, 'operator.js.map'), readFileSync(join(folder.path, `${file}.map`)))
    const args = 'Deno' in globalThis ? ['run', '-A', '--no-lock'] : [isBun ? 'run' : '--enable-source-maps']
    const env = { KUBECONFIG: join(place, 'none'), NO_COLOR: '1' }
    return await mustRun(process.execPath, [...args, join(place, 'operator.js')], { cwd: place, env }).catch(
      (error: unknown) => String(error),
    )
  } finally {
    await mustRun('rm', ['-r', place])
  }
}

test('the bundle of an operator runs where nothing is installed, and its stacks name lines of the source', () =>
  inProject(INSTALLED, async (folder) => {
    folder.write('src/name.ts', `export const NAME: string = 'in-two-files'`)
    const imports = `import { NAME } from './name.ts'\nimport * as z from 'zod'\nz.object({}).parse({})\n`
    const failing = `function fail(): never { throw new Error('here') }
if (import.meta.main) { try { fail() } catch (error) { console.log((error as Error).stack) } }\n`
    folder.write(
      'src/operator.ts',
      imports + failing + BARE.replace(`'bare'`, `NAME, metrics: ':9090'`).replace(
        'app.c',
        'app.cache(ConfigMap, { compact: true })\napp.c',
      ),
    )
    const command = await folder.call('build', 'src/operator.ts')
    assert.equal(command.code, 0, command.err)
    assert.equal(command.err, '')
    assert.match(
      command.out,
      /^wrote dist\/operator\.js: \d+ kB, gzipped \d+ kB, operator "in-two-files"\nwrote dist\/operator\.js\.map: \d+ kB\nwithout webhooks, metrics over TLS, profiling, tracing, schedules, sharding, which it does not use\nrun {3}node --enable-source-maps dist\/operator\.js\n/,
    )
    assert.match(
      command.out,
      /^or {4}deno run '--allow-net=HOST:PORT,\[::\]:9090' --allow-read=\.,\$HOME\/\.kube\/config --/m,
    )
    assert.deepEqual(readdirSync(join(folder.path, 'dist')).toSorted(), ['operator.js', 'operator.js.map'])
    const code = folder.read('dist/operator.js')
    // Built-in modules alone are imported.
    const imported = [...code.matchAll(/(?:\bfrom|\bimport\()"([\w.:@/-]+)"/g)].map(([, name]) => name!)
    assert.deepEqual([...new Set(imported.filter((name) => !name.startsWith('node:')))], [])
    assert.ok(code.includes('kubeloop_cache_synced'), 'metrics are in the bundle')
    assert.ok(!code.includes('AdmissionReview'), 'webhooks are not in the bundle')
    assert.ok(!code.includes('TokenReview'), 'metrics over TLS are not in the bundle')
    const map = JSON.parse(folder.read('dist/operator.js.map')) as { sources: string[]; sourcesContent?: string[] }
    assert.ok(map.sources.includes('../src/operator.ts'))
    assert.equal(map.sourcesContent, undefined)
    const output = await runBundle(folder, 'dist/operator.js')
    assert.match(output, /Cannot find a cluster: KUBECONFIG names/)
    // Bun does not read the source map of a JavaScript file.
    if (!isBun) assert.match(output, /operator\.ts:4:\d+/)
  }))

test('a bundle that Node takes for CommonJS where it is written comes with what to do', () =>
  inProject(INSTALLED, async (folder) => {
    folder.write('package.json', JSON.stringify({ type: 'commonjs' }))
    folder.write('src/package.json', JSON.stringify({ type: 'module' }))
    folder.write('src/operator.ts', BARE)
    folder.write('src/operator.mts', BARE)
    for (
      const [file, out, isNoted] of [['operator.ts', 'dist', true], ['operator.ts', 'src/dist', false], [
        'operator.mts',
        'dist',
        false,
      ]] as const
    ) {
      const { code, err } = await folder.call('build', `src/${file}`, '--out', out)
      // Node finds out by loading it.
      const isRefused = isNoted && isNode
      const expected = isRefused
        ? /the bundle cannot be loaded: .*; set "type": "module" in package\.json: npm pkg set type=module$/
        : /^Node cannot run operator\.js in dist, as \S+package\.json has "type": "commonjs": npm pkg set type=module, or/
      assert.equal(code, isRefused ? 1 : 0, err)
      assert.equal(expected.test(err), isNoted, err)
    }
  }))

test('a bundle has metrics over TLS and traces, if the operator has them, and is written again over the last one', {
  skip: elsewhere,
}, () =>
  inProject(INSTALLED, async (folder) => {
    const options = `'bare', tracing: true, metrics: { address: ':8443', tls: true, auth: true }`
    for (const source of [BARE, BARE.replace(`'bare'`, options)]) {
      folder.write('operator.mts', source)
      const command = await folder.call('build', 'operator.mts', '--out', 'a/b/')
      assert.equal(command.code, 0, command.err)
      assert.match(command.out, /^wrote a\/b\/operator\.mjs: [^]*\nwithout webhooks, (?:metrics, )?profiling, /)
    }
    assert.deepEqual(readdirSync(join(folder.path, 'a/b')).toSorted(), ['operator.mjs', 'operator.mjs.map'])
    const code = folder.read('a/b/operator.mjs')
    assert.ok(code.includes('TokenReview'))
    assert.ok(code.includes('getTracer('))
  }))

test(
  'a bundle on an old Node prints the required version',
  { skip: noOldNode },
  () =>
    inProject(INSTALLED, async (folder) => {
      folder.write('operator.ts', BARE)
      assert.equal((await folder.call('build', 'operator.ts')).code, 0)
      const { code, stderr } = await runCommand(OLD_NODE!, [join(folder.path, 'dist/operator.js')])
      assert.equal(code, 1)
      assert.match(stderr, /^Cannot start this operator: it needs Node ≥ 22\.19; this is \d+\.\d+\.\d+\n$/)
      const { engines } = JSON.parse(readFileSync(join(MODULES, '../package.json'), 'utf8')) as { engines: object }
      assert.deepEqual(engines, { node: '>=22.19' })
    }),
)

test('a bundle has the webhooks of its operator', { skip: elsewhere }, () =>
  inProject(INSTALLED, async (folder) => {
    const site = fileURLToPath(new URL('../../examples/8_site_webhooks.ts', import.meta.url))
    folder.write('site.ts', readFileSync(site, 'utf8'))
    const command = await folder.call('build', 'site.ts')
    assert.equal(command.code, 0, command.err)
    assert.match(command.out, /\nwithout metrics, profiling, tracing, schedules, compact caches, sharding, which/)
    assert.ok(folder.read('dist/site.js').includes('AdmissionReview'))
  }))

interface BadInput {
  readonly name: string
  readonly source?: string
  readonly args?: readonly string[]
  readonly packages?: readonly string[]
  readonly code?: number
  readonly error: RegExp
}

const BAD: readonly BadInput[] = [
  { name: 'a missing file', args: ['none.ts'], error: /^Cannot load none\.ts: there is no such file$/ },
  { name: 'no file', args: [], code: 2, error: /^Cannot run kubeloop build: it needs a file/ },
  { name: 'no operator', source: 'export const a = 1', error: /^Cannot build operator\.ts: it calls no operator\(\)$/ },
  {
    name: 'a native module',
    source: `import 'native'\n${BARE}`,
    error: /^Cannot build operator\.ts: node_modules\/native\/index\.js:1:\d+: a native module \(\.node\) cannot be/,
  },
  {
    name: 'an output folder that is a file',
    args: ['operator.ts', '--out', 'operator.ts/dist'],
    error: /^Cannot build operator\.ts: operator\.ts\/dist cannot be written \([^\n]+\); choose another with --out$/,
  },
  {
    name: 'an output folder of the system',
    args: ['operator.ts', '--out', '/proc/none'],
    error: /^Cannot build operator\.ts: \/proc\/none cannot be written \([^\n]+\); choose another with --out$/,
  },
  {
    name: 'a bundle that would replace its source',
    args: ['operator.js', '--out', '.'],
    error: /^Cannot build operator\.js: the bundle would replace it; choose another folder with --out$/,
  },
  {
    name: 'a bundle that cannot be loaded',
    args: ['operator.ts', '--out', 'a/b/c'],
    source: `if (import.meta.url.endsWith('.js')) throw new Error('only from its source')\n${BARE}`,
    error: /^Cannot build operator\.ts: it was bundled, but the bundle cannot be loaded: only from its source$/,
  },
  {
    name: 'esbuild missing',
    packages: ['none'],
    error: /^Cannot build operator\.ts: esbuild, which bundles it, is not installed; npm install --save-dev esbuild$/,
  },
  {
    name: 'esbuild too old',
    packages: ['old'],
    error: /^Cannot build operator\.ts: esbuild 0\.11\.0 is older than 0\.21; npm install --save-dev esbuild@latest$/,
  },
]

const OWN: Readonly<Record<string, (folder: Folder) => void>> = {
  native(folder) {
    folder.write('node_modules/native/package.json', '{"name":"native"}')
    // Absent where it is loaded, but not for the bundler.
    folder.write('node_modules/native/index.js', 'try { require("./x.node") } catch {}')
    folder.write('node_modules/native/x.node', '')
  },
  none(folder) {
    // Hides one in a folder above.
    folder.write('node_modules/esbuild/package.json', '{"name":"esbuild","exports":{}}')
  },
  old(folder) {
    folder.write('node_modules/esbuild/package.json', '{"name":"esbuild","version":"0.11.0"}')
    folder.write('node_modules/esbuild/index.js', 'exports.version = "0.11.0"; exports.build = () => {}')
  },
}

test('bad input: one clear line, and nothing is written', { skip: elsewhere }, async () => {
  for (const each of BAD) await refuse(each)
})

function refuse({ name, source = BARE, args = ['operator.ts'], packages = INSTALLED, code = 1, error }: BadInput) {
  return inProject(packages, async (folder) => {
    folder.write('operator.ts', source)
    folder.write('operator.js', source)
    for (const own of Object.keys(OWN)) {
      if (packages.includes(own) || source.includes(`import '${own}'`)) OWN[own]!(folder)
    }
    const before = readdirSync(folder.path)
    const command = await folder.call('build', ...args)
    assert.equal(command.code, code, `${name}: ${command.err}`)
    assert.match(command.err, error, name)
    assert.equal(command.out, '', name)
    assert.deepEqual(readdirSync(folder.path), before, name)
  })
}

test('imports that stay outside of the bundle, and an operator that nothing starts, are reported', {
  skip: elsewhere,
}, () =>
  inProject(INSTALLED, async (folder) => {
    folder.write(
      'operator.ts',
      `// import(x)\nexport const load = (name: string) => import(name)
export const other = () => import('maybe').catch(() => undefined)\n${BARE.replace(/await app\.run.*/, '')}`,
    )
    const command = await folder.call('build', 'operator.ts')
    assert.equal(command.code, 0, command.err)
    assert.deepEqual(command.err.split('\n').toSorted(), [
      'operator.ts: "maybe" is not in the bundle, and must be found beside it',
      'operator.ts: the bundle starts no operator, as nothing calls app.run(import.meta)',
      'operator.ts:2: import() of a computed name is not in the bundle, and is resolved where that runs',
    ])
  }))

test('files of kubeloop are found by the paths of each system', () => {
  for (const [own, slash] of [['/p/node_modules/kubeloop', '/'], ['C:\\p\\node_modules\\kubeloop', '\\']] as const) {
    const isOwn = (path: string): boolean => isOwnPath(own + path.replaceAll('/', slash), own)
    const paths = ['/mod.js', '/mod.ts', '/lib/cli/main.ts', '/examples/a.ts', '/examples/a.js', '-more/mod.js', '']
    assert.deepEqual(paths.filter(isOwn), paths.slice(0, 3), own)
  }
  assert.ok(!isOwnPath('/q/mod.js', '/p'))
})

test("Deno's imports of npm packages mean those in node_modules", () => {
  const found = [
    'npm:zod',
    'npm:zod@^4.1.13',
    'npm:zod@4/mini',
    'npm:/kubeloop@^0.1.0/kinds',
    'npm:@a/b@1/c',
    'npm:@a/b',
  ]
  assert.deepEqual(found.map(withoutVersion), ['zod', 'zod', 'zod/mini', 'kubeloop/kinds', '@a/b/c', '@a/b'])
})
