/** What the README shows does what it says: each TypeScript block is run, on APIs in memory. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import type { Log, Operator } from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import { ConfigMap, Deployment } from 'kubeloop/kinds'
import { world, type World } from 'kubeloop/testing'
import { Foo } from '../../examples/sample_controller.ts'
import { Latch } from '../../lib/async/latch.ts'
import { freePort } from '../../lib/runtime/free_port.ts'
import { ROOT } from '../tools/tree.ts'

const ref = (name: string) => ({ namespace: 'default', name })
const blocks = [...readFileSync(join(ROOT, 'README.md'), 'utf8').matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, text]) => text!)

/** Inside the repository, so that `kubeloop` is found as it is by the examples. */
mkdirSync(join(ROOT, '.kubeloop'), { recursive: true })
const folder = mkdtempSync(join(ROOT, '.kubeloop/readme-'))
after(() => rmSync(folder, { recursive: true }))

const apiPort = await freePort()

/** A block as a module. Fixed ports may be taken by another run of this test. */
async function load(index: number): Promise<{ readonly default?: Operator }> {
  const text = blocks[index]!.replace(/'\.\/(\w+\.ts)'/g, `'../../examples/$1'`)
    .replace(/\b(health|metrics|profiling): (\d+|':\d+')/g, '$1: 0').replace('address: 9000', `address: ${apiPort}`)
  const path = join(folder, `block_${index}.ts`)
  writeFileSync(path, text)
  return await import(pathToFileURL(path).href) as { default?: Operator }
}

// Those with tests of their own add them to the tests of this file.
const modules = await Promise.all(blocks.map((_, index) => load(index)))

/** The operator of the one block that has these words. */
function appOf(words: string): Operator {
  const found = blocks.flatMap((text, index) => (text.includes(words) && modules[index]!.default ? [modules[index]!.default!] : []))
  assert.equal(found.length, 1, `blocks with ${words}`)
  return found[0]!
}

function listening(): { readonly lines: string[]; readonly log: Log } {
  const lines: string[] = []
  const say = (line: string, fields: object = {}): void => void lines.push(`${line} ${JSON.stringify(fields)}`)
  return { lines, log: { debug: say, info: say, warn: say, error: say } }
}

async function within(app: Operator, work: (w: World) => Promise<void>, log?: Log): Promise<void> {
  const w = await world(app, log ? { log } : {})
  try {
    await work(w)
  } finally {
    await w.stop()
  }
}

test('every block is an operator that runs, or has tests', async () => {
  assert.ok(blocks.length >= 5)
  for (const [index, { default: app }] of modules.entries()) {
    if (app) await within(app, (w) => w.settle())
    else assert.match(blocks[index]!, /^test\('/m)
  }
})

test('the operator that it begins with makes Deployments of Foos', () =>
  within(appOf(`operator({ name: 'sample-controller'`), async (w) => {
    await w.client.create(Foo, { metadata: ref('a'), spec: { deploymentName: 'b', replicas: 2 } })
    await w.settle()
    assert.equal((await w.client.get(Deployment, ref('b')))?.spec?.replicas, 2)
  }))

test('the one with all kinds of sources reconciles what its predicates let pass, at the start and every so often', async () => {
  const { lines, log } = listening()
  await within(appOf('new EventChannel'), async (w) => {
    await w.client.create(ConfigMap, { metadata: { ...ref('web'), labels: { app: 'web' } } })
    await w.client.create(ConfigMap, { metadata: { ...ref('other'), labels: { app: 'db' } } })
    await w.client.create(ConfigMap, { metadata: { namespace: 'kube-system', name: 'system', labels: { app: 'web' } } })
    await w.settle()
    const seen = (): string[] => lines.splice(0).flatMap((line) => (line.startsWith('saw ') ? [(JSON.parse(line.slice(line.lastIndexOf(' {'))) as { name: string }).name] : []))
    assert.deepEqual(seen(), ['web'])
    await w.advance('9m')
    assert.deepEqual(seen(), [])
    await w.advance('1m')
    assert.ok(seen().includes('web'))
  }, log)
})

test('the one with a server and a check of its own serves both', async () => {
  const stopping = new AbortController()
  const app = appOf(`new Server({ name: 'api'`)
  const elected = new Latch<number>()
  const running = app.start(stopping.signal, {
    transport: new ApiServer().handle,
    onAssembled: ({ manager, health }) => void manager.elected.then(() => elected.open(health!.port!)),
  })
  try {
    const health = await Promise.race([elected.opened, running.then(() => assert.fail('it ended before it began'))])
    assert.equal(await (await fetch(`http://127.0.0.1:${apiPort}/`)).text(), 'hello')
    // There is no database here.
    assert.match(await (await fetch(`http://127.0.0.1:${health}/readyz`)).text(), /^\[\+\]caches-synced ok\n\[-\]database failed/)
  } finally {
    stopping.abort()
    await running
  }
})

test('the one with two clusters copies from one to the other, and puts right what is changed there', async () => {
  const app = appOf(`app.cluster('west'`)
  const [west] = app.description.clusters
  await within(app, async (w) => {
    await w.client.create(ConfigMap, { metadata: { ...ref('a'), labels: { copy: 'west' } }, data: { n: '1' } })
    await w.client.create(ConfigMap, { metadata: ref('b'), data: { n: '1' } })
    await w.settle()
    const there = w.clientOf(west!)
    assert.deepEqual([(await there.get(ConfigMap, ref('a')))?.data, await there.get(ConfigMap, ref('b'))], [{ n: '1' }, undefined])
    await there.patch(ConfigMap, ref('a'), { merge: { data: { n: '2' } } })
    await w.settle()
    assert.deepEqual((await there.get(ConfigMap, ref('a')))?.data, { n: '1' })
  })
})
