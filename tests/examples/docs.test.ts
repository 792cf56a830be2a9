/** What README and docs show does what they say: each TypeScript block is run, on APIs in memory. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { Cluster, dynamicResource, type KubeObject, type Log, type Operator, operator, type Resource } from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import { ConfigMap, Deployment, Event, Secret } from 'kubeloop/kinds'
import { type World, world } from 'kubeloop/testing'
import { Foo } from '../../examples/1_sample_controller.ts'
import { Latch } from '../../lib/async/latch.ts'
import { freePort } from '../../lib/runtime/net/loopback.ts'
import { besideExamples, PAGES, pageText, typescriptBlocks } from '../tools/docs.ts'
import { ROOT } from '../tools/tree.ts'

const ref = (name: string) => ({ namespace: 'default', name })
const blocks = typescriptBlocks()

/** Inside the repository, so that `kubeloop` is found as it is by the examples. */
mkdirSync(join(ROOT, '.kubeloop'), { recursive: true })
const folder = mkdtempSync(join(ROOT, '.kubeloop/docs-'))
after(() => rmSync(folder, { recursive: true }))

const apiPort = await freePort()

/** What a block exports: an operator, or something that a test here calls. */
interface Module {
  readonly default?: Operator
  readonly [name: string]: unknown
}

/** A block as a module. Fixed ports may be taken by another run of this test. */
async function load(index: number): Promise<Module> {
  const text = besideExamples(blocks[index]!.text).replace(/'\.\/(\w+\.ts)'/g, `'../../examples/$1'`)
    .replace(/\b(health|metrics|profiling): (\d+|':\d+')/g, '$1: 0').replace('address: 9000', `address: ${apiPort}`)
  const path = join(folder, `block_${index}.ts`)
  writeFileSync(path, text)
  return await import(pathToFileURL(path).href) as Module
}

// Those with tests of their own add them to the tests of this file.
const modules = await Promise.all(blocks.map((_, index) => load(index)))

/** The operator of the one block that has these words. */
function appOf(words: string): Operator {
  return moduleOf(words).default ?? assert.fail(`the block with ${words} has no operator`)
}

/** The one block that has these words. */
function moduleOf(words: string): Module {
  const found = modules.filter((_, index) => blocks[index]!.text.includes(words))
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

test('every block is an operator that runs, has tests, or is run by one of these', async () => {
  assert.ok(blocks.length >= 15)
  for (const [index, { default: app }] of modules.entries()) {
    if (app) await within(app, async (w) => void await w.settle())
    else {assert.match(
        blocks[index]!.text,
        /^test\('|^export async function watch\(|^export const Range = /m,
        blocks[index]!.name,
      )}
  }
})

test('a link leads to a page that is there, and every page is reached from the README', () => {
  const seen = new Set<string>()
  const visit = (page: string): void => {
    if (seen.has(page)) return
    seen.add(page)
    for (const [, target] of pageText(page).matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)) {
      const path = join(dirname(page), target!)
      assert.ok(existsSync(join(ROOT, path)), `${page} links to ${target}`)
      if (path.endsWith('.md')) visit(path)
    }
  }
  visit('README.md')
  assert.deepEqual(PAGES.filter((page) => !seen.has(page)), [])
})

test('files and folders of lib that the docs name are there', () => {
  const rooms = readdirSync(join(ROOT, 'lib'))
  const names = new RegExp(`(?<![\\w/])(?:${rooms.join('|')})/[a-z][a-z_/]*[a-z]`, 'g')
  let found = 0
  for (const page of PAGES) {
    for (const [name] of pageText(page).matchAll(names)) {
      found++
      const path = join(ROOT, 'lib', name)
      assert.ok(existsSync(`${path}.ts`) || existsSync(path), `${page} names ${name}`)
    }
  }
  assert.ok(found >= 10, `only ${found} names were found`)
})

test('the README has at most 900 words', () => {
  const words = pageText('README.md').split(/\s+/).filter((word) => word !== '').length
  assert.ok(words <= 900, `${words} words`)
})

test('the operator that it begins with makes Deployments of Foos', () =>
  within(appOf(`operator({ name: 'sample-controller'`), async (w) => {
    await w.client.create(Foo, { metadata: ref('a'), spec: { deploymentName: 'b', replicas: 2 } })
    await w.settle()
    assert.equal((await w.client.get(Deployment, ref('b')))?.spec?.replicas, 2)
  }))

test('the one with metrics of its own counts in the registry that is served', () => {
  const app = appOf('greeter_greeted_total')
  return within(app, async (w) => {
    await w.client.create(ConfigMap, { metadata: ref('a') })
    await w.settle()
    const { metrics } = app.description.options
    const { registry } = metrics as { registry: { metrics(): Promise<string> } }
    assert.match(await registry.metrics(), /^greeter_greeted_total [1-9]/m)
  })
})

test('the one with a finalizer drops what it mirrored with the object', () =>
  within(appOf('example.dev/mirror'), async (w) => {
    const { metadata } = await w.client.create(ConfigMap, {
      metadata: { ...ref('a'), labels: { mirror: 'yes' } },
      data: { text: 'x' },
    })
    await w.settle()
    assert.deepEqual((await w.client.get(ConfigMap, ref('a')))?.metadata.finalizers, ['example.dev/mirror'])
    await w.client.delete(ConfigMap, metadata)
    await w.settle()
    assert.equal(await w.client.get(ConfigMap, ref('a')), undefined)
  }))

/** A kind of the pages, by its name alone. */
const kindOf = (group: string, kind: string) =>
  dynamicResource({ group, version: 'v1', kind, plural: `${kind.toLowerCase()}s`, scope: 'Namespaced' })

test('the one with conditions sets one', () =>
  within(appOf('conditions.setCondition('), async (w) => {
    const Site = kindOf('example.dev', 'Site')
    await w.client.create(Site, { metadata: ref('a'), spec: { host: 'example.dev' } } as never)
    await w.settle()
    const { status } = (await w.client.get(Site, ref('a')))! as { status?: { conditions: { status: string }[] } }
    assert.deepEqual(status?.conditions.map((each) => each.status), ['True'])
  }))

test('the one with an index ranks what is in a pool', () =>
  within(appOf('claimsByPool'), async (w) => {
    const Claim = kindOf('ip.example.dev', 'Claim')
    for (const name of ['a', 'b']) await w.client.create(Claim, { metadata: ref(name), spec: { pool: 'p' } } as never)
    await w.settle()
    const ranks = (await w.client.list(Claim)).map((each) => (each as { status?: { rank: number } }).status?.rank)
    assert.deepEqual(ranks.toSorted(), [0, 1])
  }))

test('the one with a schedule says when it ran last, and runs again a day later', () =>
  within(appOf("plural: 'backups'"), async (w) => {
    const Backup = kindOf('example.dev', 'Backup')
    await w.client.create(Backup, { metadata: ref('a'), spec: { schedule: 'daily' } } as never)
    await w.settle()
    const { spec, status } = (await w.client.get(Backup, ref('a')))! as unknown as {
      spec: { keep: number }
      status: { last?: string }
    }
    assert.equal(spec.keep, 7)
    assert.ok(status.last)
  }))

test('the one that applies a dependent has it named after the keys of its owner', () =>
  within(appOf("operator({ name: 'tokens' })"), async (w) => {
    await w.client.create(Secret, {
      metadata: { ...ref('a'), labels: { public: 'yes' } },
      stringData: { y: '1', x: '2' },
    })
    await w.settle()
    const map = await w.client.get(ConfigMap, ref('a'))
    assert.deepEqual([map?.data, map?.metadata.ownerReferences?.[0]?.kind], [{ keys: 'x,y' }, 'Secret'])
  }))

test('the one with a task of the leader does it', () =>
  within(appOf("operator({ name: 'reporter'"), async (w) => {
    await w.settle()
    assert.deepEqual((await w.client.get(ConfigMap, ref('report')))?.data, { leader: 'here' })
  }))

test('the one with Events warns of what is broken', async () => {
  const { lines, log } = listening()
  await within(appOf("operator({ name: 'checker' })"), async (w) => {
    await w.client.create(ConfigMap, { metadata: ref('a'), data: { mode: 'broken' } })
    await w.settle()
    await w.advance('10s')
    assert.deepEqual((await w.client.list(Event, { namespace: 'default' })).map(({ reason, type }) => [reason, type]), [
      ['Broken', 'Warning'],
    ])
  }, log)
  assert.ok(lines.some((line) => line.includes('is broken')))
})

test('the definition with a union and a rule is taken by a server', async () => {
  const { Range } = moduleOf('export const Range = ') as unknown as { readonly Range: Resource<KubeObject> }
  const app = operator({ name: 'ranges' })
  app.controllerFor(Range).reconcile(async () => {})
  await within(app, async (w) => {
    const range = (spec: object) => w.client.create(Range, { metadata: { name: 'a' }, spec } as never)
    await assert.rejects(
      range({ limits: { min: 1, max: 2 }, sink: { type: 'merge' } }),
      /into is required when type is merge/,
    )
    await range({ limits: { min: 1, max: 2 }, sink: { type: 'merge', into: 'x' } })
  })
})

test('the one that assembles its parts hears of Deployments and of their ReplicaSets', async () => {
  const { watch } = moduleOf('export async function watch(') as unknown as {
    watch: (cluster: Cluster, seen: (name: string) => void, signal: AbortSignal) => Promise<void>
  }
  const transport = new ApiServer().handle
  const admin = new Cluster({ name: 'admin', transport }).client
  const template = { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'a', image: 'a:1' }] } }
  await admin.create(Deployment, { metadata: ref('a'), spec: { selector: { matchLabels: { app: 'a' } }, template } })
  const stop = new AbortController()
  const seen = new Latch<string>()
  const running = watch(new Cluster({ name: 'watcher', transport }), (name) => seen.open(name), stop.signal)
  assert.equal(await Promise.race([seen.opened, running]), 'a')
  stop.abort()
  await running
})

test('the one with all kinds of sources reconciles what its predicates let pass, at the start and every so often', async () => {
  const { lines, log } = listening()
  await within(appOf('new EventChannel'), async (w) => {
    await w.client.create(ConfigMap, { metadata: { ...ref('web'), labels: { app: 'web' } } })
    await w.client.create(ConfigMap, { metadata: { ...ref('other'), labels: { app: 'db' } } })
    await w.client.create(ConfigMap, { metadata: { namespace: 'kube-system', name: 'system', labels: { app: 'web' } } })
    await w.settle()
    const seen = (): string[] =>
      lines.splice(0).flatMap((
        line,
      ) => (line.startsWith('saw ') ? [(JSON.parse(line.slice(line.lastIndexOf(' {'))) as { name: string }).name] : []))
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
    assert.match(
      await (await fetch(`http://127.0.0.1:${health}/readyz`)).text(),
      /^\[\+\]caches-synced ok\n\[-\]database failed/,
    )
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
    assert.deepEqual([(await there.get(ConfigMap, ref('a')))?.data, await there.get(ConfigMap, ref('b'))], [
      { n: '1' },
      undefined,
    ])
    await there.patch(ConfigMap, ref('a'), { merge: { data: { n: '2' } } })
    await w.settle()
    assert.deepEqual((await there.get(ConfigMap, ref('a')))?.data, { n: '1' })
  })
})
