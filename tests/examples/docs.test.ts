/** Runs each TypeScript block of README and docs on APIs in memory, and checks links and names. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { load as parseYaml } from 'js-yaml'
import * as kubeloop from 'kubeloop'
import {
  Cluster,
  type DefinedResource,
  dynamicResource,
  type KubeObject,
  type Log,
  type Operator,
  operator,
  type Resource,
} from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import { ConfigMap, Deployment, Event, Namespace, Secret } from 'kubeloop/kinds'
import { type World, world } from 'kubeloop/testing'
import { Foo } from '../../examples/1_sample_controller.ts'
import { CRD } from '../../lib/core/resource.ts'
import { Latch } from '../../lib/async/latch.ts'
import { freePort } from '../../lib/runtime/net/loopback.ts'
import { besideExamples, codeBlocks, PAGES, pageText, typescriptBlocks } from '../tools/docs.ts'
import { ROOT } from '../tools/tree.ts'

const ref = (name: string) => ({ namespace: 'default', name })
const blocks = typescriptBlocks()

/** Inside the repository, so that `kubeloop` is resolved as in the examples. */
mkdirSync(join(ROOT, '.kubeloop'), { recursive: true })
const folder = mkdtempSync(join(ROOT, '.kubeloop/docs-'))
after(() => rmSync(folder, { recursive: true }))

const apiPort = await freePort()

/** The exports of a block: an operator, or a function for a test below. */
interface Module {
  readonly default?: Operator
  readonly [name: string]: unknown
}

/** Imports a block as a module. Fixed ports are replaced, as another run of this test may use them. */
async function load(index: number): Promise<Module> {
  const text = besideExamples(blocks[index]!.text).replace(/'\.\/(\w+\.ts)'/g, `'../../examples/$1'`)
    .replace(/\b(health|metrics|profiling): (\d+|':\d+')/g, '$1: 0').replace('address: 9000', `address: ${apiPort}`)
  const path = join(folder, `block_${index}.ts`)
  writeFileSync(path, text)
  return await import(pathToFileURL(path).href) as Module
}

// Blocks with tests add them to the tests of this file.
const modules = await Promise.all(blocks.map((_, index) => load(index)))

function appOf(text: string): Operator {
  return moduleOf(text).default ?? assert.fail(`the block with ${text} has no operator`)
}

function moduleOf(text: string): Module {
  const found = modules.filter((_, index) => blocks[index]!.text.includes(text))
  assert.equal(found.length, 1, `blocks with ${text}`)
  return found[0]!
}

function recordingLog(): { readonly lines: string[]; readonly log: Log } {
  const lines: string[] = []
  const write = (line: string, fields: object = {}): void => void lines.push(`${line} ${JSON.stringify(fields)}`)
  return { lines, log: { debug: write, info: write, warn: write, error: write } }
}

async function within(app: Operator, work: (w: World) => Promise<void>, log?: Log): Promise<void> {
  const w = await world(app, log ? { log } : {})
  try {
    await work(w)
  } finally {
    await w.stop()
  }
}

test('every block is an operator that runs, has tests, or is used by a test below', async () => {
  assert.ok(blocks.length >= 15)
  for (const [index, { default: app }] of modules.entries()) {
    if (app) await within(app, async (w) => assert.deepEqual(await w.settle(), []))
    else {assert.match(
        blocks[index]!.text,
        /^test\('|^export async function watch\(|^export const (?:Range|Volume) = /m,
        blocks[index]!.name,
      )}
  }
})

test('every link leads to an existing page, and every page is reachable from the README', () => {
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

test('files and folders of lib that the docs name exist', () => {
  const folders = readdirSync(join(ROOT, 'lib'))
  const names = new RegExp(`(?<![\\w/])(?:${folders.join('|')})/[a-z][a-z_/]*[a-z]`, 'g')
  let found = 0
  for (const page of PAGES) {
    for (const [name] of pageText(page).matchAll(names)) {
      found++
      // The files of a request to the embedded API are named as from within its folder.
      const paths = ['lib', 'lib/apiserver'].map((folder) => join(ROOT, folder, name))
      assert.ok(paths.some((path) => existsSync(`${path}.ts`) || existsSync(path)), `${page} names ${name}`)
    }
  }
  assert.ok(found >= 10, `only ${found} names were found`)
})

test('functions that the docs name exist', async () => {
  const app = operator({ name: 'named' })
  app.controllerFor(ConfigMap).reconcile(async () => {})
  await within(app, async (w) => {
    const { conditions, finalizers, limiters, owners, predicates, selectors } = kubeloop
    const holders: Readonly<Record<string, object>> = {
      ...{ app, client: w.client, w, clients: kubeloop.clients, handlers: kubeloop.handlers },
      ...{ conditions, finalizers, limiters, owners, predicates, selectors },
    }
    const names = new RegExp(`\\b(?<![.\\w/-])(${Object.keys(holders).join('|')})\\.(\\w+)(?=[(\`])`, 'g')
    let found = 0
    for (const page of PAGES) {
      // In the comparison, the column of controller-runtime has names of Go.
      const text = pageText(page).replaceAll(/\b(?:client|record|cache)\.[A-Z]\w+/g, '')
      for (const [name, holder, member] of text.matchAll(names)) {
        found++
        assert.ok(member! in holders[holder!]!, `${page} names ${name}`)
      }
    }
    assert.ok(found >= 60, `only ${found} names were found`)
  })
})

test('the README has at most 900 words', () => {
  const words = pageText('README.md').split(/\s+/).filter((word) => word !== '').length
  assert.ok(words <= 900, `${words} words`)
})

test('the first operator creates Deployments for Foos', () =>
  within(appOf(`operator({ name: 'sample-controller'`), async (w) => {
    await w.client.create(Foo, { metadata: ref('a'), spec: { deploymentName: 'b', replicas: 2 } })
    assert.deepEqual(await w.settle(), [])
    assert.equal((await w.client.get(Deployment, ref('b')))?.spec?.replicas, 2)
  }))

test('the operator with its own metrics counts in the registry that is served', () => {
  const app = appOf('greeter_greeted_total')
  return within(app, async (w) => {
    await w.client.create(ConfigMap, { metadata: ref('a') })
    assert.deepEqual(await w.settle(), [])
    const { metrics } = app.description.options
    const { registry } = metrics as { registry: { metrics(): Promise<string> } }
    assert.match(await registry.metrics(), /^greeter_greeted_total [1-9]/m)
  })
})

test('the operator with a finalizer deletes its mirror with the object', () =>
  within(appOf('example.dev/mirror'), async (w) => {
    const { metadata } = await w.client.create(ConfigMap, {
      metadata: { ...ref('a'), labels: { mirror: 'yes' } },
      data: { text: 'x' },
    })
    assert.deepEqual(await w.settle(), [])
    assert.deepEqual((await w.client.get(ConfigMap, ref('a')))?.metadata.finalizers, ['example.dev/mirror'])
    await w.client.delete(ConfigMap, metadata)
    assert.deepEqual(await w.settle(), [])
    assert.equal(await w.client.get(ConfigMap, ref('a')), undefined)
  }))

/** A kind of the docs, by name. */
const kindOf = (group: string, kind: string) =>
  dynamicResource({ group, version: 'v1', kind, plural: `${kind.toLowerCase()}s`, scope: 'Namespaced' })

test('the operator with conditions sets one', () =>
  within(appOf("reason: 'Done', message: ''"), async (w) => {
    const Site = kindOf('example.dev', 'Site')
    await w.client.create(Site, { metadata: ref('a'), spec: { host: 'example.dev' } } as never)
    assert.deepEqual(await w.settle(), [])
    const { status } = (await w.client.get(Site, ref('a')))! as { status?: { conditions: { status: string }[] } }
    assert.deepEqual(status?.conditions.map((each) => each.status), ['True'])
  }))

test('the operator with an index ranks the objects of a pool', () =>
  within(appOf('claimsByPool'), async (w) => {
    const Claim = kindOf('ip.example.dev', 'Claim')
    for (const name of ['a', 'b']) await w.client.create(Claim, { metadata: ref(name), spec: { pool: 'p' } } as never)
    assert.deepEqual(await w.settle(), [])
    const ranks = (await w.client.list(Claim)).map((each) => (each as { status?: { rank: number } }).status?.rank)
    assert.deepEqual(ranks.toSorted(), [0, 1])
  }))

test('the operator with a schedule writes its last run', () =>
  within(appOf("plural: 'backups'"), async (w) => {
    const Backup = kindOf('example.dev', 'Backup')
    await w.client.create(Backup, { metadata: ref('a'), spec: { schedule: 'daily' } } as never)
    assert.deepEqual(await w.settle(), [])
    const { spec, status } = (await w.client.get(Backup, ref('a')))! as unknown as {
      spec: { keep: number }
      status: { last?: string }
    }
    assert.equal(spec.keep, 7)
    assert.ok(status.last)
  }))

test('the operator that applies a dependent writes the keys of its owner into it', () =>
  within(appOf("operator({ name: 'tokens' })"), async (w) => {
    await w.client.create(Secret, {
      metadata: { ...ref('a'), labels: { public: 'yes' } },
      stringData: { y: '1', x: '2' },
    })
    assert.deepEqual(await w.settle(), [])
    const map = await w.client.get(ConfigMap, ref('a'))
    assert.deepEqual([map?.data, map?.metadata.ownerReferences?.[0]?.kind], [{ keys: 'x,y' }, 'Secret'])
  }))

test('the operator with a task of the leader runs it', () =>
  within(appOf("operator({ name: 'reporter'"), async (w) => {
    assert.deepEqual(await w.settle(), [])
    assert.deepEqual((await w.client.get(ConfigMap, ref('report')))?.data, { leader: 'here' })
  }))

test('the operator with Events records a warning for a broken object', async () => {
  const { lines, log } = recordingLog()
  await within(appOf("operator({ name: 'checker' })"), async (w) => {
    await w.client.create(ConfigMap, { metadata: ref('a'), data: { mode: 'broken' } })
    assert.deepEqual(await w.settle(), [])
    await w.advance('10s')
    assert.deepEqual((await w.client.list(Event, { namespace: 'default' })).map(({ reason, type }) => [reason, type]), [
      ['Broken', 'Warning'],
    ])
  }, log)
  assert.ok(lines.some((line) => line.includes('is broken')))
})

test('the operators beside those of controller-runtime do the same work', async () => {
  const settled = async (app: Operator, work: (w: World) => Promise<unknown>, check: (w: World) => Promise<void>) =>
    await within(app, async (w) => {
      await work(w)
      assert.deepEqual(await w.settle(), [])
      await check(w)
    })
  await settled(
    appOf("operator({ name: 'foos'"),
    async ({ client }) =>
      await client.create(kindOf('example.dev', 'Foo'), { metadata: ref('a'), spec: { deploymentName: 'b' } } as never),
    async (w) => assert.equal((await w.client.get(Deployment, ref('b')))?.spec?.replicas, 1),
  )
  const { buckets } = moduleOf("operator({ name: 'buckets'") as unknown as { readonly buckets: Map<string, string> }
  const Bucket = kindOf('example.dev', 'Bucket')
  await settled(
    appOf("operator({ name: 'buckets'"),
    async ({ client }) => await client.create(Bucket, { metadata: ref('a'), spec: { region: 'eu' } } as never),
    async (w) => {
      assert.deepEqual((await w.client.get(Bucket, ref('a')))?.metadata.finalizers, ['buckets.example.dev/cleanup'])
      assert.equal(buckets.size, 1)
      await w.client.delete(Bucket, ref('a'))
      await w.settle()
      assert.equal(buckets.size, 0)
    },
  )
  await settled(appOf("operator({ name: 'copies'"), async ({ client }) => {
    await client.create(Namespace, { metadata: { name: 'web', labels: { team: 'x' } } })
    await client.create(Secret, { metadata: { ...ref('a'), labels: { 'copy-to': 'x' } }, stringData: { k: 'v' } })
  }, async (w) => assert.ok(await w.client.get(Secret, { namespace: 'web', name: 'a' })))
  const Policy = dynamicResource({
    group: 'example.dev',
    version: 'v1',
    kind: 'Policy',
    plural: 'policies',
    scope: 'Cluster',
  })
  await settled(
    appOf("operator({ name: 'policies'"),
    async ({ client }) => await client.create(Policy, { metadata: { name: 'a' }, spec: { label: 'team' } } as never),
    async (w) => {
      const { status } = (await w.client.get(Policy, { name: 'a' }))! as {
        status?: { conditions: { reason: string }[] }
      }
      assert.equal(status?.conditions[0]?.reason, 'LabelMissing')
    },
  )
  await settled(
    appOf("operator({ name: 'hourly-report'"),
    async () => {},
    async (w) => assert.equal((await w.client.get(ConfigMap, ref('report')))?.data?.['pods'], '0'),
  )
})

test('a server accepts the definition with a union and a rule', async () => {
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

test('the fields of a definition with all helpers are in the docs, and a server accepts it', async () => {
  const { Volume } = moduleOf('export const Volume = ') as unknown as { readonly Volume: DefinedResource<KubeObject> }
  const { crd } = Volume.definition
  const { properties } = crd.spec.versions[0]!.schema.openAPIV3Schema as unknown as {
    readonly properties: { readonly spec: { readonly properties: Record<string, Record<string, unknown>> } }
  }
  const [yaml] = codeBlocks('yaml').filter(({ page }) => page === 'docs/kinds.md')
  const shown = parseYaml(yaml!.text) as Record<string, Record<string, unknown>>
  // The pattern of an instant is long.
  assert.equal(shown['since']?.['pattern'], '…')
  shown['since']!['pattern'] = properties.spec.properties['since']!['pattern']
  assert.deepEqual(shown, properties.spec.properties)
  const { api } = new Cluster({ name: 'test', transport: new ApiServer().handle })
  await api.create({ resource: CRD, name: crd.metadata.name }, crd as never, { fieldValidation: 'Strict' })
})

test('the program assembled from parts receives events of Deployments and their ReplicaSets', async () => {
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

test('the operator with all kinds of sources reconciles what its predicates accept, at the start and periodically', async () => {
  const { lines, log } = recordingLog()
  await within(appOf('new EventChannel<{'), async (w) => {
    await w.client.create(ConfigMap, { metadata: { ...ref('web'), labels: { app: 'web' } } })
    await w.client.create(ConfigMap, { metadata: { ...ref('other'), labels: { app: 'db' } } })
    await w.client.create(ConfigMap, { metadata: { namespace: 'kube-system', name: 'system', labels: { app: 'web' } } })
    assert.deepEqual(await w.settle(), [])
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

test('the operator with a custom server and health check serves both', async () => {
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
    // There is no database in this test.
    assert.match(
      await (await fetch(`http://127.0.0.1:${health}/readyz`)).text(),
      /^\[\+\]caches-synced ok\n\[-\]database failed/,
    )
  } finally {
    stopping.abort()
    await running
  }
})

test('the operator with clusters that come and go copies in each of them', async () => {
  await within(appOf('app.clusters('), async (w) => {
    const there = w.clientOf({ name: 'east' })
    await there.create(ConfigMap, { metadata: { ...ref('a'), labels: { copy: 'yes' } }, data: { n: '1' } })
    await w.client.create(Namespace, { metadata: { name: 'fleet' } })
    const member = { metadata: { namespace: 'fleet', name: 'east', labels: { member: '' } } }
    await w.client.create(Secret, { ...member, stringData: { server: 'https://east:6443' } })
    assert.deepEqual(await w.settle(), [])
    assert.ok(await there.get(Secret, ref('a')))
    await w.client.delete(Secret, member)
    assert.deepEqual(await w.settle(), [])
    await there.delete(Secret, ref('a'))
    assert.deepEqual(await w.settle(), [])
    assert.equal(await there.get(Secret, ref('a')), undefined)
  })
})

test('the operator with two clusters copies from one to the other, and restores changed copies', async () => {
  const app = appOf(`app.cluster('west'`)
  const [west] = app.description.clusters
  await within(app, async (w) => {
    await w.client.create(ConfigMap, { metadata: { ...ref('a'), labels: { copy: 'west' } }, data: { n: '1' } })
    await w.client.create(ConfigMap, { metadata: ref('b'), data: { n: '1' } })
    assert.deepEqual(await w.settle(), [])
    const there = w.clientOf(west!)
    assert.deepEqual([(await there.get(ConfigMap, ref('a')))?.data, await there.get(ConfigMap, ref('b'))], [
      { n: '1' },
      undefined,
    ])
    await there.patch(ConfigMap, ref('a'), { merge: { data: { n: '2' } } })
    assert.deepEqual(await w.settle(), [])
    assert.deepEqual((await there.get(ConfigMap, ref('a')))?.data, { n: '1' })
  })
})
