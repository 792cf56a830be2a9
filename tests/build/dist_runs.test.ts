/** The files of the built package under this runtime: loaded, copied, and bundled. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { ENTRIES, FOR_BUNDLES } from '../tools/build.ts'
import { DIST, ensureDist, loadBuilt } from '../tools/dist.ts'
import { mustRun } from '../tools/run_command.ts'
import { ROOT } from '../tools/tree.ts'
import { ADMIT, bundled, FLOW, ORDINARY, READ_KUBECONFIG } from './scripts.ts'
import { withFolder } from '../tools/folder.ts'

before(ensureDist)

test('every entry loads from its built file and has the exports of its source', async () => {
  for (const [name, source] of Object.entries(ENTRIES)) {
    const built = await loadBuilt(name)
    const original = await import(pathToFileURL(join(ROOT, source)).href) as Record<string, unknown>
    assert.deepEqual(Object.keys(built).sort(), Object.keys(original).sort(), name)
    assert.equal(Object.keys(built).length > 0, !FOR_BUNDLES.includes(name), name)
    for (const [key, value] of Object.entries(built)) {
      assert.equal(typeof value, typeof original[key], `${name}: ${key}`)
    }
  }
})

test('an error thrown in one entry is an instance of the class in another', async () => {
  const { ApiError, operator } = await loadBuilt('mod') as unknown as typeof import('../../mod.ts')
  const { world } = await loadBuilt('testing') as unknown as typeof import('../../lib/testing/mod.ts')
  const { ConfigMap } = await loadBuilt('kinds') as unknown as typeof import('../../lib/kinds/mod.ts')
  const app = operator({ name: 'idle' }).add(
    'wait',
    ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
  )
  await using w = await world(app)
  await assert.rejects(w.client.create(ConfigMap, { metadata: { namespace: 'nowhere', name: 'a' } }), ApiError)
})
test('webhooks of the built package: an ApiError of a function passes, although webhook_server.js has classes of its own', async () => {
  const { ApiError, operator } = await loadBuilt('mod') as unknown as typeof import('../../mod.ts')
  const { world } = await loadBuilt('testing') as unknown as typeof import('../../lib/testing/mod.ts')
  const { ConfigMap } = await loadBuilt('kinds') as unknown as typeof import('../../lib/kinds/mod.ts')
  const app = operator({ name: 'guard', crds: 'install' })
  app.admission(ConfigMap, {
    default: (map) => {
      if (map.metadata.name === 'a') throw new ApiError('no a', { reason: 'Forbidden', message: 'no a' }, { code: 403 })
      map.data = { filled: 'in' }
    },
  })
  await using w = await world(app)
  const metadata = { namespace: 'default', name: 'b' }
  assert.deepEqual((await w.client.create(ConfigMap, { metadata })).data, { filled: 'in' })
  await assert.rejects(
    w.client.create(ConfigMap, { metadata: { ...metadata, name: 'a' } }),
    (error: unknown) => error instanceof ApiError && error.code === 403 && error.message.includes('no a'),
  )
})

/** Runs a script beside a copy of mod.js, with these files and packages. Returns its output. */
async function beside(
  files: Readonly<Record<string, string>>,
  script: string,
  packages: readonly string[] = ['zod'],
): Promise<string> {
  return await withFolder(async (folder) => {
    mkdirSync(join(folder, 'node_modules'))
    for (const name of packages) symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
    const mod = readFileSync(join(DIST, 'mod.js'), 'utf8')
    const project = JSON.stringify({
      type: 'module',
      dependencies: Object.fromEntries(packages.map((name) => [name, '*'])),
    })
    for (
      const [name, text] of Object.entries({ 'mod.js': mod, 'run.mjs': script, 'package.json': project, ...files })
    ) {
      writeFileSync(join(folder, name), text)
    }
    return (await mustRun(process.execPath, 'Deno' in globalThis ? ['run', '-A', 'run.mjs'] : ['run.mjs'], {
      cwd: folder,
    })).trim()
  })
}

test('a copy of mod.js alone reports which files a kubeconfig needs', async () => {
  const copied = (...names: readonly string[]): Record<string, string> =>
    Object.fromEntries(names.map((name) => [name, readFileSync(join(DIST, name), 'utf8')]))
  assert.match(
    await beside({ config: ORDINARY }, READ_KUBECONFIG),
    /^Cannot find a cluster: config\.js cannot be loaded; copy/,
  )
  assert.match(
    await beside({ config: ORDINARY, ...copied('config.js') }, READ_KUBECONFIG),
    /^Cannot read kubeconfig \.\/config: kubeconfig\.js cannot be loaded; copy it from kubeloop's folder to beside mod\.js or its bundle, or use standalone\.js, which has it \(/,
  )
  assert.equal(
    await beside({ config: FLOW, ...copied('config.js', 'kubeconfig.js') }, READ_KUBECONFIG),
    'https://a:6443',
  )
})

/** Prints why an operator with metrics does not run: without a cluster it fails after loading everything else. */
const MEASURE = `
import { operator } from './mod.js'
process.on('exit', () => (process.exitCode = 0))
process.env.KUBECONFIG = './nowhere'
const log = { debug() {}, info() {}, warn() {}, error: console.log }
await operator({ name: 'a', metrics: 8080, log }).add('b', async () => {}).run().catch(() => {})
`

test('an operator with metrics needs metrics.js and prom-client, and reports a missing one', async () => {
  const metrics = readFileSync(join(DIST, 'metrics.js'), 'utf8')
  assert.match(
    await beside({}, MEASURE),
    /^Cannot serve metrics: metrics\.js cannot be loaded; for a bundle, add import 'kubeloop\/metrics' to the operator's file; else copy it from kubeloop's folder to beside mod\.js or its bundle, or use standalone\.js, which has it \(/,
  )
  assert.match(
    await beside({ 'metrics.js': metrics }, MEASURE),
    /^Cannot serve metrics: prom-client cannot be loaded; install it \(npm install, bun add, or deno add npm:prom-client\) \(/,
  )
  const others = Object.fromEntries(
    ['config.js', 'endpoints.js', 'tasks.js'].map((name) => [name, readFileSync(join(DIST, name), 'utf8')]),
  )
  assert.match(await beside({ 'metrics.js': metrics, ...others }, MEASURE, ['zod', 'prom-client']), /nowhere/)
})

test('only an operator that defines a kind needs crds.js, and names it if it is missing', async () => {
  const started = (kind: string): string =>
    ADMIT.replace('.admission(Site, { validate: () => [] })', `\napp.controllerFor(${kind}).reconcile(async () => {})`)
      .replace("import { z } from 'zod'", "import { z } from 'zod'\nimport { ConfigMap } from './kinds.js'")
      .replace('new AbortController().signal', 'AbortSignal.timeout(500)')
  const built = (name: string): Readonly<Record<string, string>> => ({ [name]: readFileSync(join(DIST, name), 'utf8') })
  const files = built('kinds.js')
  assert.match(
    await beside(files, started('Site')),
    /^Cannot verify or install definitions: crds\.js cannot be loaded; copy it/,
  )
  assert.doesNotMatch(await beside(files, started('ConfigMap')), /crds\.js/)
})

const elsewhere = 'Deno' in globalThis || 'Bun' in globalThis
  ? 'the files that a bundle loads are found as those beside mod.js are'
  : false

test('a bundle names the import of a part that it does not have, and works with it', { skip: elsewhere }, async () => {
  const without = (what: string, file: string, entry: string): RegExp =>
    new RegExp(`^Cannot ${what}: ${file}\\.js cannot be loaded; for a bundle, add import 'kubeloop/${entry}' to the op`)
  const run = async (operator: string, imports: string[] = []): Promise<string> =>
    await beside({ 'mod.js': '' }, await bundled(operator, ...imports), ['zod', 'prom-client'])
  assert.match(await run(ADMIT), without('serve webhooks', 'webhook_server', 'webhooks'))
  assert.match(await run(ADMIT, ['webhooks']), /^Cannot serve webhooks without a certificate/)
  const compact = MEASURE.replace('metrics: 8080, ', '').replace('.add(', '.cache(KIND, { compact: true }).add(')
    .replace('import {', 'import { defineResource,').replace(
      'const log',
      `import { z } from 'zod'
const KIND = defineResource({ group: 'a.dev', version: 'v1', kind: 'Foo', spec: z.object({}) })
const log`,
    )
  assert.match(await run(compact), without('cache with compact', 'compact_cache', 'compact'))
  assert.match(await run(compact, ['compact']), /nowhere/)
  assert.match(await run(MEASURE), without('serve metrics', 'metrics', 'metrics'))
  assert.match(await run(MEASURE, ['metrics']), /nowhere/)
})

const PLUGIN = JSON.stringify({
  'current-context': 'a',
  contexts: [{ name: 'a', context: { cluster: 'a', user: 'u' } }],
  clusters: [{ name: 'a', cluster: { server: 'https://a:6443' } }],
  users: [{
    name: 'u',
    user: {
      exec: {
        apiVersion: 'client.authentication.k8s.io/v1',
        interactiveMode: 'Never',
        command: 'sh',
        args: [
          '-c',
          `echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"secret"}}'`,
        ],
      },
    },
  }],
})

test('a copy of standalone.js alone reads every kubeconfig, runs a credential plugin, and has metrics', async () => {
  const alone = { 'mod.js': readFileSync(join(DIST, 'standalone.js'), 'utf8') }
  const configs = { ordinary: ORDINARY, flow: FLOW, plugin: PLUGIN }
  const script = `
    import { loadConfig } from './mod.js'
    for (const name of ${JSON.stringify(Object.keys(configs))}) {
      const { cluster } = await loadConfig({ kubeconfig: './' + name })
      console.log(cluster.server, (await cluster.credentials?.())?.token)
    }`
  const printed = await beside({ ...alone, ...configs }, script)
  const tokens = printed.split('\n').map((line) => line.replace('https://a:6443 ', ''))
  assert.deepEqual(tokens, ['undefined', 'x', 'secret'])
  assert.match(await beside(alone, MEASURE, ['zod', 'prom-client']), /nowhere/)
})
