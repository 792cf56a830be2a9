/** Tests of `kubeloop plan` against embedded API servers that stand for clusters. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Client,
  Cluster,
  defineResource,
  dynamicResource,
  type Operator,
  operator,
  predicates,
  type Transport,
} from 'kubeloop'
import { ApiServer, serve } from 'kubeloop/apiserver'
import { ConfigMap, Ingress, Namespace, PersistentVolumeClaim, Pod, Secret } from 'kubeloop/kinds'
import { world } from 'kubeloop/testing'
import type { ShardingOptions } from 'kubeloop/parts'
import * as z from 'zod'
import { configsOfGroups, recordedClusters, type Sources } from '../../lib/cli/plan/clusters.ts'
import { answerOfOthers } from '../../lib/cli/plan/other_webhooks.ts'
import { planOf } from '../../lib/cli/plan/run.ts'
import type { Plan } from '../../lib/cli/plan/result.ts'
import { planLines } from '../../lib/cli/plan/text.ts'
import { CRD, type CustomResourceDefinition } from '../../lib/core/resource.ts'
import { crdOf } from '../../lib/schema/crds.ts'
import { differenceOf, lineDifference } from '../../lib/testing/mirror/difference.ts'
import { type ClusterRecord, recordOf } from '../../lib/testing/mirror/record.ts'
import { masked, redactor } from '../../lib/testing/mirror/redacted.ts'
import { silent } from '../testing/worlds.ts'
import { answer as respond } from '../client/transports.ts'
import { inFolder } from './dev_command.ts'

const NOW = '2026-03-04T05:06:07.000Z'
const KIND = { group: 'plan.example.com', version: 'v1', kind: 'Foo', status: z.object({ seen: z.string() }) } as const
const Foo = defineResource({ ...KIND, spec: z.object({ text: z.string(), extra: z.string().optional() }) })
const Namesake = defineResource({ ...KIND, kind: 'ConfigMap', spec: z.object({}) })

type Answer = (path: string, method: string) => { readonly status: number; readonly message?: string } | undefined

interface Stage {
  readonly client: Client
  /** What plan sent, as `GET /path`. */
  readonly sent: string[]
  /** `alone`: nobody else writes meanwhile. Default: true. */
  plan(
    app: Operator,
    more?: { readonly others?: Record<string, Stage>; readonly time?: number; readonly alone?: boolean },
  ): Promise<Planned>
  readonly transport: Transport
  readonly handle: Transport
}

interface Planned {
  readonly plan: Plan
  readonly record: ClusterRecord
  /** `action Kind key`. */
  readonly brief: readonly string[]
}

async function stageOf(answer: Answer = () => undefined): Promise<Stage> {
  const server = new ApiServer({ endlessWatches: true })
  const { api, client } = new Cluster({ name: 'test', transport: server.handle })
  for (const crd of crdOf([Foo, Namesake])) await api.create({ resource: CRD }, crd as never, {})
  const sent: string[] = []
  const transport: Transport = async (request) => {
    const { method, path } = request
    sent.push(`${method} ${path}${method === 'DELETE' ? ` ${String(request.body)}` : ''}`)
    if (method !== 'GET') assert.match(path, /[?&]dryRun=All(&|$)/, `${method} ${path} writes`)
    const other = answer(path, method)
    if (!other) return await server.handle(request)
    if (other.status === 0) throw new Error(other.message)
    return respond(other.status, { kind: 'Status', apiVersion: 'v1', code: other.status, message: other.message })
  }
  return {
    client,
    sent,
    transport,
    handle: server.handle,
    async plan(app, { others = {}, time, alone = true } = {}) {
      const sources: Sources = {
        config: { server: 'https://test', namespace: 'own' },
        at: NOW,
        isLive: true,
        connect: (name) => name === null ? transport : others[name]!.transport,
        close: () => void (isOpen = false),
      }
      let isOpen = true
      const before = server.save()
      const plan = await planOf(app, { sources, log: silent, timeout: '20s', ...(time !== undefined && { time }) })
      assert.equal(isOpen, false)
      if (alone) assert.deepEqual(server.save(), before, 'nothing was written')
      return briefly(plan)
    },
  }
}

function briefly({ plan, record }: { readonly plan: Plan; readonly record: ClusterRecord }): Planned {
  const brief = plan.changes.map(({ action, kind, namespace, name, cluster }) =>
    `${action} ${kind} ${namespace ? `${namespace}/` : ''}${name}${cluster ? ` in ${cluster}` : ''}`
  )
  return { plan, record, brief: brief.toSorted() }
}

async function again({ record }: Planned, app: Operator): Promise<Planned> {
  const notes = new Set<string>()
  const sources = recordedClusters(record, (text) => void notes.add(text))
  return briefly(await planOf(app, { sources, notes, log: silent }))
}

const at = (name: string) => ({ namespace: 'default', name })
const create = (client: Client, name: string, text: string): Promise<unknown> =>
  client.create(Foo, { metadata: at(name), spec: { text } })

function copier(version = 1): Operator {
  const app = operator({ name: 'copier' })
  app.controllerFor(Foo).owns(ConfigMap).reconcile(async (foo, { client }) => {
    const { name } = foo.metadata
    const text = version > 1 && name === 'b' ? `${foo.spec.text}!` : foo.spec.text
    await client.apply(ConfigMap, { metadata: { name }, data: { text } }, { owner: foo })
    await client.setStatus(Foo, foo, { seen: version > 2 ? 'all' : foo.spec.text })
  })
  return app
}

/** Runs an operator in the cluster until no Foo needs a write. Resolves with the versions of the objects by their keys. */
async function run(app: Operator, { client, handle }: Stage): Promise<ReadonlyMap<string, string>> {
  const stop = new AbortController()
  const foos = (await client.list(Foo)).length
  const quiet = new Set<string>()
  const { promise: rests, resolve } = Promise.withResolvers<void>()
  const running = app.start(stop.signal, {
    ...{ transport: handle, leaderElection: false, log: silent },
    onReconcile({ key, writes }) {
      if (writes.every(({ result }) => result === 'unchanged')) quiet.add(key)
      else quiet.delete(key)
      if (quiet.size === foos) resolve()
    },
  })
  await rests
  stop.abort()
  await running
  const all = [...await client.list(ConfigMap), ...await client.list(Foo)]
  return new Map(all.map(({ kind, metadata }) => [`${kind} default/${metadata.name}`, metadata.resourceVersion]))
}

test('after an operator ran there is nothing to do; after a change of it, exactly what then changes', async () => {
  const stage = await stageOf()
  for (const name of ['a', 'b', 'c']) await create(stage.client, name, name)
  assert.deepEqual((await stage.plan(copier())).brief, [
    ...['a', 'b', 'c'].map((name) => `create ConfigMap default/${name}`),
    ...['a', 'b', 'c'].map((name) => `status Foo default/${name}`),
  ])
  const before = await run(copier(), stage)
  const { brief, plan } = await stage.plan(copier())
  assert.deepEqual([brief, plan.failed, plan.notes], [[], [], []])
  assert.equal(planLines(plan).at(-1), 'nothing to do. Nothing was written.')
  const planned = await stage.plan(copier(3))
  assert.deepEqual(planned.brief, [
    'change ConfigMap default/b',
    ...['a', 'b', 'c'].map((name) => `status Foo default/${name}`),
  ])
  assert.deepEqual(
    planned.plan.changes.map(({ by, dryRun }) => [by.length, dryRun.outcome]),
    Array(4).fill([1, 'accepted']),
  )
  const lines = planLines(planned.plan).join('\n')
  assert.match(
    lines,
    /^change {3}ConfigMap default\/b {3}by controller foo, default\/b\n {4}apiVersion: v1\n {4}data:\n {2}- {3}text: b\n {2}\+ {3}text: b!\n/m,
  )
  assert.match(lines, /^1 to change, 3 with another status\. Nothing was written\.$/m)
  assert.deepEqual(await run(copier(), stage), before, 'plan has written')
  const after = await run(copier(3), stage)
  assert.deepEqual(
    [...after].filter(([key, version]) => before.get(key) !== version).map(([key]) => key).toSorted(),
    planned.brief.map((each) => each.replace(/^\w+ /, '')).toSorted(),
  )
})

test('each list and object is read once, with the selectors of the operator, page by page', async () => {
  const stage = await stageOf()
  for (let n = 0; n < 1001; n++) {
    await stage.client.create(ConfigMap, { metadata: { ...at(`m${n}`), labels: { n: '' } } })
  }
  await stage.client.create(ConfigMap, { metadata: at('other') })
  const app = operator({ name: 'reader' }).cache(ConfigMap, { labels: 'n' })
  const seen: (string | undefined)[] = []
  app.controllerFor(ConfigMap, { when: ({ metadata }) => metadata.name === 'm7' }).reconcile(async (_, { client }) => {
    for (let times = 0; times < 2; times++) {
      seen.push(`${(await client.list(ConfigMap, { labels: 'n' })).length}`)
      seen.push((await client.live.get(ConfigMap, at('other')))?.metadata.name)
      seen.push((await client.live.get(ConfigMap, at('none')))?.metadata.name)
      await client.apply(ConfigMap, { metadata: at('other'), data: { a: 'b' } })
    }
    await client.create(ConfigMap, { metadata: at('m8') }).catch(({ reason }) => seen.push(reason))
    await client.delete(ConfigMap, at('m9'))
    // What is loaded later does not undo writes.
    await client.live.list(ConfigMap, { namespace: 'default', labels: 'n' })
    await client.live.list(ConfigMap, { namespace: 'default', fields: 'metadata.name=m1' })
    const all = await client.live.list(ConfigMap, { namespace: 'default' })
    await client.live.list(ConfigMap, { namespace: 'default', labels: 'x' })
    seen.push(all.find(({ metadata }) => metadata.name === 'other')?.data?.['a'], `${all.length}`)
  })
  const { brief } = await stage.plan(app)
  assert.deepEqual(seen, ['1001', 'other', undefined, '1001', 'other', undefined, 'AlreadyExists', 'b', '1001'])
  assert.deepEqual(brief, ['change ConfigMap default/other', 'delete ConfigMap default/m9'])
  const { sent } = stage
  const maps = sent.filter((each) => each.includes('configmaps') && each.startsWith('GET'))
  assert.deepEqual(maps.map((each) => each.replace(/continue=.+/, 'continue=')), [
    'GET /api/v1/configmaps?labelSelector=n&limit=1000',
    'GET /api/v1/configmaps?labelSelector=n&limit=1000&continue=',
    'GET /api/v1/namespaces/default/configmaps/other',
    'GET /api/v1/namespaces/default/configmaps/none',
    'GET /api/v1/namespaces/default/configmaps?fieldSelector=metadata.name%3Dm1&limit=1000',
    'GET /api/v1/namespaces/default/configmaps?limit=1000',
    'GET /api/v1/namespaces/default/configmaps?limit=1000&continue=',
  ])
  assert.equal(new Set(sent).size, sent.length)
})

test('what the API reads to create an object is read first', async () => {
  const stage = await stageOf()
  await create(stage.client, 'a', 'a')
  const app = operator({ name: 'maker' })
  app.controllerFor(Foo).reconcile(async (_, { client }) => {
    await client.create(Pod, { metadata: at('a'), spec: { containers: [{ name: 'a', image: 'a' }] } })
    await client.create(PersistentVolumeClaim, { metadata: at('a') }).catch(() => {})
    await client.create(Ingress, { metadata: at('a') }).catch(() => {})
  })
  await stage.plan(app)
  const read = stage.sent.flatMap((each) => /(\w+(?:classes|ranges))\?/.exec(each)?.[1] ?? [])
  assert.deepEqual(read, ['limitranges', 'priorityclasses', 'runtimeclasses', 'storageclasses', 'ingressclasses'])
})

test('an expired page begins the list again', async () => {
  const stage: Stage = await stageOf((path) => {
    if (!path.includes('continue=')) return undefined
    void stage.client.delete(ConfigMap, at('gone'))
    return { status: 410 }
  })
  for (let n = 0; n < 1001; n++) await stage.client.create(ConfigMap, { metadata: at(`m${n}`) })
  await stage.client.create(ConfigMap, { metadata: at('gone') })
  const app = operator({ name: 'reader' })
  app.controllerFor(ConfigMap).reconcile(async () => {})
  const { plan } = await stage.plan(app, { alone: false })
  assert.deepEqual([plan.counts.reconciles, plan.failed], [1001, []])
})

test('deletions name their finalizers and dependents; an object that is created again is replaced', async () => {
  const { client, plan, sent } = await stageOf()
  await create(client, 'a', 'a')
  for (const name of ['owner', 'orphaning', 'again']) {
    const owner = await client.create(ConfigMap, { metadata: at(name) })
    const child = await client.create(ConfigMap, { metadata: at(`of-${name}`) }, { owner })
    if (name === 'owner') await client.create(ConfigMap, { metadata: at('grandchild') }, { owner: child })
    if (name === 'orphaning') await client.create(ConfigMap, { metadata: at('kept') }, { owner: child })
  }
  await client.create(ConfigMap, { metadata: { ...at('held'), finalizers: ['example.com/held'] } })
  await client.create(Namespace, { metadata: { name: 'doomed' } })
  await client.create(ConfigMap, { metadata: { namespace: 'doomed', name: 'content' } })
  const app = operator({ name: 'deleter' }).cache(ConfigMap)
  app.controllerFor(Foo).reconcile(async (_, { client }) => {
    for (const name of ['owner', 'held', 'again']) await client.delete(ConfigMap, at(name))
    await client.delete(Namespace, { name: 'doomed' })
    await client.delete(ConfigMap, at('orphaning'), { propagation: 'Orphan' })
    await client.create(ConfigMap, { metadata: at('again'), data: { a: '' } })
    await client.create(ConfigMap, { metadata: at('gone') })
    await client.delete(ConfigMap, at('gone'))
    await client.create(ConfigMap, { metadata: { generateName: 'made-', namespace: 'default' } })
    return { requeueAfter: '1h' }
  })
  const { brief, plan: planned } = await plan(app)
  assert.deepEqual(brief.map((each) => each.replace(/made-\w+/, 'made-')), [
    'create ConfigMap default/made-',
    'delete ConfigMap default/held',
    'delete ConfigMap default/orphaning',
    'delete ConfigMap default/owner',
    'delete ConfigMap doomed/content',
    'delete Namespace doomed',
    'replace ConfigMap default/again',
  ])
  const of = (name: string) => planned.changes.find((each) => each.name === name)!
  assert.deepEqual(of('content').by, [{ controller: 'foo', key: 'default/a' }])
  assert.deepEqual(of('held').finalizers, ['example.com/held'])
  const { uid } = (await client.get(ConfigMap, at('held')))!.metadata
  assert.ok(sent.some((each) => each.includes('configmaps/held?') && each.includes(`"uid":"${uid}"`)))
  assert.deepEqual(of('owner').dependents, ['ConfigMap default/of-owner', 'ConfigMap default/grandchild'])
  assert.deepEqual(of('again').dependents, ['ConfigMap default/of-again'])
  assert.deepEqual([of('orphaning').finalizers, of('orphaning').dependents], [['orphan'], undefined])
  assert.deepEqual(of('again').dryRun, { outcome: 'unchecked', message: 'it is deleted before it is created' })
  const lines = planLines(planned).join('\n')
  assert.match(lines, /waits for its finalizers: example\.com\/held\n/)
  assert.match(
    lines,
    /the garbage collector deletes with it: ConfigMap default\/of-owner, ConfigMap default\/grandchild\n/,
  )
})

test('what the cluster refuses is passed on and told', async () => {
  const forbidden = { status: 403, message: 'you may not' } as const
  const stage = await stageOf((path, method) =>
    path.startsWith('/api/v1/secrets') || path.endsWith('/namespaces/default') || path.endsWith('/configmaps/hidden')
      ? forbidden
      : method === 'POST'
      ? { status: 422, message: 'quota' }
      : undefined
  )
  await create(stage.client, 'a', 'a')
  const app = operator({ name: 'refused' })
  const seen: unknown[] = []
  app.controllerFor(Foo).reconcile(async (_, { client }) => {
    await client.live.list(Secret).catch(({ code }) => seen.push(code))
    await client.create(ConfigMap, { metadata: at('hidden') })
  })
  const { plan, brief } = await stage.plan(app)
  assert.deepEqual([seen, brief, plan.failed], [[403], ['create ConfigMap default/hidden'], []])
  assert.deepEqual(plan.changes[0]!.dryRun, { outcome: 'refused', message: 'quota' })
  assert.deepEqual(plan.notes.toSorted(), [
    'The Namespace "default" is taken to exist: you may not',
    'The cluster refused /api/v1/namespaces/default/configmaps/hidden: you may not',
    'The cluster refused /api/v1/namespaces/default: you may not',
    'The cluster refused /api/v1/secrets?limit=1000: you may not',
    'Whether configmaps. "default/hidden" exists is not known, so it is written as if it did not: you may not',
  ])
})

test('a kind without a readable definition is served by discovery, also of a record; a cache that cannot be listed is a failure', async () => {
  const stage = await stageOf((path) =>
    path.includes('customresourcedefinitions') ? { status: 403, message: 'no' } : undefined
  )
  await create(stage.client, 'a', 'a')
  const app = operator({ name: 'blind', crds: 'ignore' })
  app.controllerFor(Foo).reconcile(async (foo, { client }) => void await client.setStatus(Foo, foo, { seen: 'yes' }))
  const planned = await stage.plan(app)
  const { brief, plan } = planned
  assert.deepEqual([brief, plan.failed], [['status Foo default/a'], []])
  assert.ok(plan.notes.includes('Defaults and checks of foos.plan.example.com are not known: no'), plan.notes.join())
  // A server of an aggregated kind may ignore dryRun, and store the object.
  assert.deepEqual(stage.sent.filter((each) => !each.startsWith('GET ')), [])
  const message = 'its definition cannot be read, and its server may know no dry runs'
  assert.deepEqual(plan.changes[0]!.dryRun, { outcome: 'unchecked', message })
  const replayed = await again(planned, app)
  assert.deepEqual([replayed.brief, replayed.plan.failed], [brief, []])
  const clusters = planned.record.clusters.map((each) => ({
    ...each,
    objects: each.objects.filter(({ resource }) => resource.plural === 'foos'),
  }))
  assert.throws(() => recordedClusters({ ...planned.record, clusters }, () => {}).connect(null), {
    message: 'Cannot restore the objects of foos.plan.example.com in version v1: the record has no definition that ' +
      'serves it; write it again',
  })
  const places = ['v1', 'v2'].map((version) => ({ group: '', version, plural: 'foos' }))
  const mirror = { loaded: () => places.map((place) => ({ place, object: {} })), asked: [], refused: [], assumed: [] }
  const { clusters: [both] } = recordOf({ operator: '', at: NOW, namespace: '' }, new Map([[null, mirror]]) as never)
  assert.deepEqual(both!.objects.map(({ resource }) => resource), places)
  const Bar = defineResource({ group: 'plan.example.com', version: 'v1', kind: 'Bar', spec: z.object({}) })
  const other = operator({ name: 'other', crds: 'ignore' })
  other.controllerFor(Bar).reconcile(async () => {})
  const { plan: unserved } = await (await stageOf()).plan(other)
  assert.deepEqual(unserved.failed.map(({ what }) => what), ['the cache of bars.plan.example.com'])
  assert.ok(unserved.notes.includes('Version v1 of bars.plan.example.com is not served'), unserved.notes.join())
})

test('a cluster that does not answer ends the plan', async () => {
  for (const answer of [{ status: 0, message: 'no route' }, { status: 401 }, { status: 503 }]) {
    const stage = await stageOf((path) => path.includes('/foos?') ? answer : undefined)
    const { plan } = await stage.plan(copier())
    const [failed] = plan.failed
    assert.match(
      failed!.error,
      /^Cannot read \/apis\/plan\.example\.com\/v1\/foos\?limit=1000: (no route|its answer has status (401|503))$/,
    )
  }
  const app = operator({ name: 'optional' })
  const west = app.cluster('west', { server: 'https://west' }, { optional: true })
  app.controllerFor(Foo).reconcile(async (_, { clientOf }) => {
    await clientOf(west).live.get(ConfigMap, at('a')).catch(() => {})
  })
  const others = { west: await stageOf(() => ({ status: 0, message: 'no route' })) }
  const own = await stageOf()
  await create(own.client, 'a', 'a')
  const { plan } = await own.plan(app, { others })
  const note = 'Cannot read /api/v1/namespaces/default/configmaps/a of the cluster "west": no route'
  assert.deepEqual([plan.failed, plan.notes], [[], [note]])
})

test('failures and what does not come to rest are named', async () => {
  const stage = await stageOf()
  for (const name of ['bad', 'loop', 'slow']) await create(stage.client, name, name)
  const app = operator({ name: 'failing' })
  let count = 0
  app.controllerFor(Foo, { concurrency: 3 }).reconcile(async (foo, { client, sleep }) => {
    const { name } = foo.metadata
    if (name === 'bad') throw new Error('it is bad')
    if (name === 'slow') return void await sleep('1h')
    if (count < 3) await client.setStatus(Foo, foo, { seen: `${++count}` })
  })
  const { plan, brief } = await stage.plan(app)
  assert.deepEqual(brief, ['status Foo default/loop'])
  assert.deepEqual(plan.failed.map(({ what, error }) => [what, error]), [
    ['controller foo Foo default/bad', 'it is bad'],
    ['controller foo default/slow', 'it still runs; see --time and --timeout'],
  ])
  assert.match(plan.failed[0]!.place ?? '', /plan\.test\.ts:\d+:\d+$/)
  const restless = operator({ name: 'restless' })
  restless.controllerFor(Foo).reconcile(async (foo, { client }) =>
    void await client.setStatus(Foo, foo, { seen: `${count++}` })
  )
  const never = await stage.plan(restless)
  assert.match(never.plan.failed[0]!.error, /^Cannot settle: .*(Foo|foo)/)
})

test("each cluster has a mirror, with the operator's name for it, and each kind its writers", async () => {
  const [own, west] = [
    await stageOf(),
    await stageOf((path) => path.endsWith('/configmaps/b') ? { status: 403, message: 'no' } : undefined),
  ]
  const app = operator({ name: 'spread' })
  const there = app.cluster('west', { server: 'https://west' })
  app.controllerFor(ConfigMap, { when: predicates.matchesLabels('copy') }).reconcile(
    async ({ metadata: { namespace, name } }, { clientOf }) => {
      await clientOf(there).apply(ConfigMap, { metadata: { namespace, name } })
    },
  )
  app.controllerFor(ConfigMap, { name: 'second', when: ({ metadata }) => metadata.name === 'a' }).reconcile(
    async (map, { client }) => {
      await client.apply(ConfigMap, { metadata: at(map.metadata.name), data: { a: '' } })
    },
  )
  app.controllerFor(ConfigMap, { name: 'third', when: ({ metadata }) => metadata.name === 'b' }).reconcile(
    async (_, { client }) => void await client.apply(Namesake, { metadata: at('a'), spec: {} }),
  )
  for (const name of ['a', 'b']) await own.client.create(ConfigMap, { metadata: { ...at(name), labels: { copy: '' } } })
  const planned = await own.plan(app, { others: { west } })
  assert.deepEqual(
    planned.plan.changes.map(({ cluster, name, by }) =>
      `${cluster} ${name} ${by.map((each) => `${each.controller} ${each.key}`)}`
    )
      .toSorted(),
    [
      'undefined a second default/a',
      'undefined a third default/b',
      'west a configmap default/a',
      'west b configmap default/b',
    ],
  )
  assert.ok(planned.plan.notes.some((each) => each.endsWith('of the cluster "west": no')), planned.plan.notes.join())
  assert.deepEqual(own.sent.filter((each) => !each.startsWith('GET')).length, 2)
  assert.deepEqual((await again(planned, app)).brief, planned.brief)
})

test('a cluster of a group that refuses or lacks a kind is a failure', async () => {
  const refuses = await stageOf((path) => path.includes('/foos') ? { status: 403, message: 'no' } : undefined)
  const lacks = { transport: new ApiServer({ endlessWatches: true }).handle } as Stage
  const others = { serves: await stageOf(), refuses, lacks }
  const app = operator({ name: 'fleet' })
  const config = { server: 'https://test' }
  const members = app.clusters('members', async function* () {
    for (const add of Object.keys(others)) yield { add, config }
    return 'done'
  })
  app.controllerFor(Foo, { clusters: members }).reconcile(async () => {})
  const { plan } = await (await stageOf()).plan(app, { others })
  const error = 'its kinds could not be listed; see the log'
  assert.deepEqual(plan.failed, ['refuses', 'lacks'].map((name) => ({ what: `controller foo@${name}`, error })))
})

test('the objects in Namespaces with the labels are planned, also in one that the operator makes', async () => {
  const app = operator({ name: 'copier', namespaces: { labels: 'team=a' } })
  const labels = { team: 'a' }
  app.controllerFor(Foo).owns(ConfigMap).reconcile(async (foo, { client }) => {
    const { name, namespace } = foo.metadata
    await client.apply(ConfigMap, { metadata: { name, namespace }, data: { text: foo.spec.text } }, { owner: foo })
    if (namespace !== 'one') return
    await client.apply(Namespace, { metadata: { name: 'made', labels } })
    await client.createIfMissing(Foo, { metadata: { name: 'b', namespace: 'made' }, spec: { text: 'b' } })
  })
  const stage = await stageOf()
  for (const [name, team] of [['one', 'a'], ['two', 'b']] as const) {
    await stage.client.create(Namespace, { metadata: { name, labels: { team } } })
    await stage.client.create(Foo, { metadata: { name: 'a', namespace: name }, spec: { text: 'a' } })
  }
  const planned = await stage.plan(app)
  assert.deepEqual(planned.brief, [
    ...['create ConfigMap made/b', 'create ConfigMap one/a', 'create Foo made/b', 'create Namespace made'],
  ])
  assert.deepEqual((await again(planned, app)).brief, planned.brief)
})

test('the configurations of a group are noted, and its stream ends as that of its provider', async () => {
  const app = operator({ name: 'fleet' })
  const west = { add: 'west', config: { server: 'https://west' } }
  let closed = 0
  app.clusters('fleet', async function* () {
    try {
      yield west
      yield { remove: 'west' }
      return 'done'
    } finally {
      closed++
    }
  })
  const configs = configsOfGroups(app.description)
  const open = () => app.description.groups[0]!.provider({} as never)[Symbol.asyncIterator]()
  const [whole, left] = [open(), open()]
  assert.deepEqual((await whole.next()).value, west)
  assert.deepEqual(configs.get('west'), west.config)
  assert.deepEqual([await whole.next(), await whole.next()].map(({ value }) => value as unknown), [
    { remove: 'west' },
    'done',
  ])
  await left.next()
  await left.return?.()
  assert.equal(closed, 2)
})

test('installed definitions and webhook configurations are differences, without the address of the webhooks', async () => {
  const stage = await stageOf()
  const Bar = defineResource({
    group: 'plan.example.com',
    version: 'v1',
    kind: 'Bar',
    spec: z.object({ n: z.int32() }),
  })
  const Wider = defineResource({
    ...KIND,
    spec: z.object({ text: z.string(), extra: z.string().optional(), more: z.string().optional() }),
  })
  const app = operator({ name: 'installer', crds: 'install' })
  app.controllerFor(Wider).owns(Bar).reconcile(async ({ metadata: { name } }, { client }) => {
    await client.apply(Bar, { metadata: { ...at(name) }, spec: { n: 1 } })
  })
  app.admission(Bar, { validate: ({ spec }) => spec.n > 1 ? [{ field: 'spec.n', message: 'too large' }] : [] })
  await create(stage.client, 'a', 'a')
  const { brief, plan } = await stage.plan(app)
  assert.deepEqual(plan.failed, [])
  assert.deepEqual(brief.map((each) => each.replace('CustomResourceDefinition', 'CRD')), [
    'change CRD foos.plan.example.com',
    'create Bar default/a',
    'create CRD bars.plan.example.com',
    'create ValidatingWebhookConfiguration installer-validating-webhook-configuration',
  ])
  assert.equal(planLines(plan).some((each) => /caBundle|clientConfig|storedVersions/.test(each)), false)
  assert.deepEqual(
    plan.changes.map(({ kind, dryRun }) => `${kind} ${'message' in dryRun ? dryRun.message : dryRun.outcome}`)
      .toSorted(),
    [
      'Bar its CustomResourceDefinition is not written yet',
      'CustomResourceDefinition accepted',
      'CustomResourceDefinition accepted',
      'ValidatingWebhookConfiguration the address and the CA of its webhook are not known',
    ],
  )
})

test('definitions of an operator with sharding keep the fields of newer ones, and what its start refuses is refused', async () => {
  const stage = await stageOf()
  const Older = defineResource({ ...KIND, spec: z.object({ text: z.string() }) })
  const sharded = (sharding: ShardingOptions): Operator => {
    const app = operator({ name: 'sharded', crds: 'install', sharding })
    app.controllerFor(Older).reconcile(async () => {})
    return app
  }
  await stage.client.create(Foo, { metadata: at('a'), spec: { text: 'a', extra: 'b' } })
  const { brief, plan } = await stage.plan(sharded({ buckets: 2 }))
  assert.deepEqual([brief, plan.failed], [[], []])
  await assert.rejects(stage.plan(sharded({ buckets: 1 })), /sharding\.buckets is 1, and must be an integer from 2/)
})

test("the address of a webhook that is not the operator's is a difference, and tried by a dry run", async () => {
  const stage = await stageOf()
  const Hooks = dynamicResource({
    ...{ group: 'admissionregistration.k8s.io', version: 'v1', kind: 'ValidatingWebhookConfiguration' },
    scope: 'Cluster',
  })
  const calling = (url: string) => ({
    metadata: { name: 'tenant' },
    webhooks: [{ name: 'a.b.c', admissionReviewVersions: ['v1'], sideEffects: 'None', clientConfig: { url } }],
  })
  await stage.client.apply(Hooks, calling('https://old.example.com'), { fieldManager: 'tenants' } as never)
  await stage.client.create(ConfigMap, { metadata: at('a') })
  const app = operator({ name: 'tenants' })
  app.controllerFor(ConfigMap).reconcile(async (_, { client }) => {
    await client.apply(Hooks, calling('https://new.example.com'))
  })
  const { brief, plan } = await stage.plan(app)
  assert.deepEqual(brief, ['change ValidatingWebhookConfiguration tenant'])
  assert.deepEqual(plan.changes[0]!.dryRun, { outcome: 'accepted' })
  assert.deepEqual(plan.changes[0]!.diff.filter((each) => /^[+-]/.test(each)), [
    '-     url: https://old.example.com',
    '+     url: https://new.example.com',
  ])
})

test('webhooks of others are not called: their objects keep them, writes are allowed, and versions alone are converted', async () => {
  const stage = await stageOf()
  const { client, handle } = stage
  const service = { namespace: 'other', name: 'theirs', path: '/convert' }
  const clientConfig = { service, caBundle: btoa('ca') }
  const rules = [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['UPDATE'], resources: ['foos/*'] }]
  const webhook = { name: 'a.b.c', admissionReviewVersions: ['v1'], sideEffects: 'None', clientConfig, rules }
  const Hooks = dynamicResource({
    ...{ group: 'admissionregistration.k8s.io', version: 'v1', kind: 'ValidatingWebhookConfiguration' },
    scope: 'Cluster',
  })
  await create(client, 'a', 'a')
  await client.create(Hooks, { metadata: { name: 'theirs' }, webhooks: [webhook] })
  const { api } = new Cluster({ name: 'test', transport: handle })
  const name = 'foos.plan.example.com'
  const { spec: { versions: [version] } } =
    (await api.get({ resource: CRD, name })) as unknown as CustomResourceDefinition
  const versions = [version, { ...version, name: 'v2', storage: false }]
  const conversion = { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } }
  await api.patch({ resource: CRD, name }, 'merge', { spec: { versions, conversion } } as never, {})
  const V2 = defineResource({ ...KIND, version: 'v2', spec: z.object({ text: z.string() }) })
  const app = operator({ name: 'tenant', crds: 'ignore' }).cache(Hooks)
  app.controllerFor(Foo).reconcile(async (foo, { client }) => {
    await client.setStatus(Foo, foo, { seen: (await client.live.get(V2, foo))!.spec.text })
    await client.patch(CRD, { name } as never, { merge: { metadata: { labels: { seen: 'a' } } } })
  })
  const { brief, plan } = await stage.plan(app)
  assert.deepEqual([brief, plan.failed], [[
    'change CustomResourceDefinition foos.plan.example.com',
    'status Foo default/a',
  ], []])
  const [crd] = plan.changes.filter(({ kind }) => kind === 'CustomResourceDefinition')
  assert.deepEqual(crd!.diff.filter((line) => /^[+-]/.test(line)), ['+   labels:', '+     seen: a'])
  const { dryRun } = plan.changes.find(({ action }) => action === 'status')!
  const message = 'its CustomResourceDefinition is not written yet'
  assert.deepEqual(dryRun, { outcome: 'unchecked', message })
  assert.deepEqual(plan.notes.toSorted(), [
    'The webhooks of the Service "other/theirs" are not called: they are not the operator\'s',
    "Versions of Foo (plan.example.com) are not converted: their webhook is not the operator's",
  ])
  const request = { uid: 'a', desiredAPIVersion: 'plan.example.com/v2', objects: [{ kind: 'Foo' }] }
  for (const [group, isOwn] of [['plan.example.com', true], ['other.example.com', false]] as const) {
    const own = { replicas: [{ webhooks: new Map() }], conversions: [{ hub: { kind: 'Foo', group } }], note() {} }
    const answer = answerOfOthers(clientConfig, JSON.stringify({ kind: 'ConversionReview', request }), own as never)
    assert.equal(answer === undefined, isOwn, group)
    const before = { ...own, replicas: [] } as never
    assert.ok(answerOfOthers(clientConfig, JSON.stringify({ kind: 'ConversionReview', request }), before), 'none runs')
  }
})

test('a dry run says what the cluster would store instead, and which rights are missing', async () => {
  let [status, methods, message] = [0, /^$/, '']
  const stage = await stageOf((_, method) => methods.test(method) ? { status, message } : undefined)
  await create(stage.client, 'a', 'a')
  await run(copier(), stage)
  const denied = 'foos "a" is forbidden: User "u" cannot update resource "foos"'
  const full = 'foos "a" is forbidden: exceeded quota: small'
  const [unchecked, refused, accepted] = ['unchecked', 'refused', 'accepted'].map((outcome) => ({ outcome }))
  for (
    const [code, text, refusing, expected] of [
      [403, denied, /PUT|PATCH/, { ...unchecked, message: denied }],
      // As a patch, which `owns` grants.
      [403, denied, /PUT/, accepted],
      [403, full, /PUT/, { ...refused, message: full }],
      [405, 'no', /PUT/, { ...unchecked, message: 'no' }],
    ] as const
  ) {
    ;[status, message, methods] = [code, text, refusing]
    const { plan } = await stage.plan(copier(3))
    assert.deepEqual(plan.changes.map(({ dryRun }) => dryRun), [expected])
  }
  methods = /^$/
  const app = operator({ name: 'namespaces' })
  app.controllerFor(Foo).reconcile(async (_, { client }) => {
    await client.apply(Namespace, { metadata: { name: 'made' } })
    await client.apply(ConfigMap, { metadata: { namespace: 'made', name: 'in-it' } })
    await client.delete(ConfigMap, at('a'))
  })
  const made = await stage.plan(app)
  assert.deepEqual(
    made.plan.changes.map(({ name, dryRun }) => [name, 'message' in dryRun ? dryRun.message : dryRun.outcome]),
    [
      ['made', 'accepted'],
      ['in-it', 'its Namespace does not exist yet'],
      ['a', 'accepted'],
    ],
  )
})

const SECRET_VALUES = { data: { a: btoa('first'), b: btoa('first'), c: btoa('other'), e: '', f: btoa('former') } }

test('values of Secrets are in no difference and no record', async () => {
  const stage = await stageOf()
  const copy = '{"data":{"a":"first"}}'
  const annotations = {
    'kubectl.kubernetes.io/last-applied-configuration': copy,
    'kopf.zalando.org/last-handled-configuration': copy,
    'kapp.k14s.io/original': copy,
    // As Rancher compresses it.
    'objectset.rio.cattle.io/applied': btoa(copy),
    'example.com/note': `b is ${SECRET_VALUES.data.c}`,
    // Of the value that is replaced.
    'example.com/was': 'f is former',
    'example.com/owner': 'team a',
  }
  await stage.client.create(Secret, { metadata: { ...at('s'), annotations }, ...SECRET_VALUES })
  const app = operator({ name: 'secretive' })
  app.controllerFor(Secret).reconcile(async ({ metadata: { name } }, { client }) => {
    await client.apply(
      Secret,
      { metadata: at(name), data: { a: btoa('second'), d: btoa('new'), f: btoa('latter') } },
      { force: true } as never,
    )
  })
  const planned = await stage.plan(app)
  const [change] = planned.plan.changes
  const data = change!.diff.filter((each) => /^. {3}[abd]: /.test(each))
  assert.deepEqual(data, ["-   a: '*** (before)'", "+   a: '*** (after)'", "    b: '***'", "+   d: '***'"])
  for (const text of [JSON.stringify(planned.plan), JSON.stringify(planned.record)]) {
    for (
      const secret of [
        'first',
        'second',
        'other',
        'former',
        btoa(copy),
        ...Object.values(SECRET_VALUES.data).filter(Boolean),
        btoa('second'),
      ]
    ) {
      assert.equal(text.includes(secret), false, secret)
    }
  }
  const [item] = planned.record.clusters[0]!.objects.find(({ resource }) => resource.plural === 'secrets')!.items
  assert.equal(item!.metadata.annotations?.['example.com/owner'], 'team a')
  const values = Object.entries(item!['data'] as Record<string, string>).map(([key, value]) => [key, atob(value)])
  assert.deepEqual(values, [['a', '0****'], ['b', '0****'], ['c', '1****'], ['e', ''], ['f', '3*****']])
  for (const [apiVersion, kind] of [['v1', 'ConfigMap'], ['vault.dev/v1', 'Secret']] as const) {
    assert.deepEqual(redactor()({ apiVersion, kind, metadata: {}, data: { a: 'b' } })['data'], { a: 'b' })
  }
  assert.deepEqual(masked({ apiVersion: 'v1', kind: 'Secret', metadata: {} }, undefined, 'after'), {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {},
  })
})

test('a record is planned again without the cluster, and is a world', () =>
  inFolder(async (folder) => {
    const stage = await stageOf((path) => path.endsWith('/secrets/hidden') ? { status: 403, message: 'no' } : undefined)
    await create(stage.client, 'a', 'a')
    await run(copier(), stage)
    const foreign = { apiVersion: 'v1', kind: 'ConfigMap', name: 'gone', uid: 'gone' }
    const { apiVersion, kind, metadata: { uid, name } } = (await stage.client.get(Foo, at('a')))!
    const own = { apiVersion, kind, name, uid }
    await stage.client.create(ConfigMap, { metadata: { ...at('orphan'), ownerReferences: [foreign, own] } })
    const app = copier(3)
    app.add('look', async ({ client }) => {
      await client.live.get(Secret, at('hidden')).catch(() => {})
      if ((await client.live.get(ConfigMap, at('later')))) throw new Error('it is not there')
    })
    const planned = await stage.plan(app)
    assert.deepEqual(planned.brief, ['status Foo default/a'])
    const replayed = await again(planned, app)
    assert.deepEqual([replayed.brief, replayed.plan.failed], [planned.brief, []])
    assert.deepEqual(replayed.plan.notes.filter((each) => each.includes('refused')), [
      'The cluster refused /api/v1/namespaces/default/secrets/hidden: no',
    ])
    const more = copier()
    more.add('more', async ({ client }) => void await client.live.get(Secret, at('unasked')))
    const { plan } = await again(planned, more)
    assert.ok(plan.changes.every(({ dryRun }) => dryRun.outcome === 'unchecked'))
    folder.write('record.json', JSON.stringify(planned.record))
    await using w = await world(app, { from: `${folder.path}/record.json`, log: silent })
    assert.equal(w.clock.now(), Date.parse(NOW))
    assert.equal((await w.client.get(Foo, at('a')))?.status?.seen, 'all')
    assert.equal((await w.client.get(Foo, at('a')))?.metadata.uid, uid)
    assert.deepEqual((await w.client.list(ConfigMap)).map(({ metadata }) => metadata.name), ['a', 'orphan'])
    const { metadata: { ownerReferences } } = (await w.client.get(ConfigMap, at('orphan')))!
    assert.deepEqual(ownerReferences?.map((each) => each.uid), [uid])
    folder.write('other.json', '{}')
    await assert.rejects(world(app, { from: `${folder.path}/other.json` }), {
      message:
        /^Cannot read the record .*other\.json: its format is undefined, and must be "kubeloop-record\/1"; write it/,
    })
  }))

const FILE = `
import { operator } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'
export const app = operator({ name: 'cli' })
app.controllerFor(ConfigMap, { when: ({ metadata }) => metadata.name === 'a' }).reconcile(async ({ metadata }, { client }) => {
  // HERE
  await client.apply(ConfigMap, { metadata: { namespace: metadata.namespace, name: metadata.name }, data: { a: 'b' } })
})
await app.run(import.meta)
`

test('the command: exit codes, JSON, records, and errors', () =>
  inFolder(async (folder) => {
    const server = new ApiServer()
    const { client } = new Cluster({ name: 'test', transport: server.handle })
    await client.create(ConfigMap, { metadata: at('a'), data: { a: 'a' } })
    const served = await serve(server)
    try {
      const { url, ca, token } = served
      folder.write(
        'kubeconfig',
        JSON.stringify({
          ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'a' },
          contexts: [{ name: 'a', context: { cluster: 'a', user: 'a', namespace: 'here' } }],
          clusters: [{ name: 'a', cluster: { server: url, 'certificate-authority-data': btoa(ca) } }],
          users: [{ name: 'a', user: { token } }],
        }),
      )
      folder.write('app.ts', FILE)
      folder.write('fails.ts', FILE.replace('// HERE', "throw new Error('not today')"))
      folder.write('silent.ts', FILE.replace('export const', 'const'))
      folder.write('none.ts', 'export {}')
      const call = (...args: string[]) => folder.call('plan', ...args, '--kubeconfig', 'kubeconfig', '--context', 'a')
      folder.write('a/record.json', '{"format":"kubeloop-record/0"}')
      const made = await call('app.ts', '--record', 'a/record.json')
      assert.equal(made.code, 2, made.err)
      assert.match(
        made.out,
        /^change {3}ConfigMap default\/a {3}by controller configmap, default\/a\n[^]*\n1 to change\. Nothing was written\.$/,
      )
      assert.match(made.err, /^objects read: \d+, requests: \d+, reconciles: \d, dry runs: 1$/m)
      const json = await folder.call('plan', 'app.ts', '--from', 'a/record.json', '--json', '--time', '2s')
      assert.equal(json.code, 2, json.err)
      assert.deepEqual((JSON.parse(json.out) as Plan).changes.map(({ action, name }) => [action, name]), [[
        'change',
        'a',
      ]])
      assert.equal((JSON.parse(folder.read('a/record.json')) as ClusterRecord).namespace, 'here')
      const withRights = await folder.call('plan', 'app.ts', '--from', 'a/record.json', '--rights')
      assert.deepEqual(
        withRights.out.split('\n').filter((each) => each.startsWith('right ')).map((each) => each.replace(/:\d+$/, '')),
        [
          'right    watch of configmaps (core)   kubeloop itself',
          'right    create, patch of configmaps (core) in default   app.ts:7',
        ],
      )
      const failed = await call('fails.ts')
      assert.equal(failed.code, 1)
      assert.match(
        failed.out,
        /^failed {3}controller configmap ConfigMap default\/a: not today\n.*fails\.ts:6:\d+ {2}throw new/m,
      )
      assert.match(failed.out, /\nnothing to do; 1 failed\. Nothing was written\.$/)
      for (
        const [args, message] of [
          [['silent.ts'], /^Cannot plan the operator "cli": its file does not export it; add export default/],
          [['none.ts'], /^Cannot plan none\.ts: it calls no operator\(\)$/],
          [['app.ts', '--time', 'soon'], /--time is "soon", and must be a duration such as 30s or 5m$/],
          [['app.ts', '--from', 'x'], /--from reads from no cluster$/],
          [['app.ts', '--record', 'none.ts'], /Cannot write the record to none\.ts: it exists, and kubeloop did not/],
        ] as const
      ) {
        const { code, err } = await call(...args)
        assert.match(err, message)
        assert.equal(code, /Cannot run/.test(err) ? 2 : 1)
      }
      const both = await folder.call('plan', 'app.ts', '--from', 'x', '--record', 'y')
      assert.match(both.err, /it takes --record or --from, not both$/)
      await client.update(ConfigMap, { ...(await client.get(ConfigMap, at('a')))!, data: { a: 'b' } })
      const { code, out } = await call('app.ts')
      assert.deepEqual([code, out], [0, 'nothing to do; 1 written without a difference. Nothing was written.'])
    } finally {
      await served.close()
    }
  }))

test('a difference of an object ignores what only the server sets', () => {
  const object = (more: object, metadata: object = {}) =>
    ({ apiVersion: 'v1', kind: 'A', metadata: { name: 'a', uid: '1', ...metadata }, ...more }) as never
  const actionOf = (before: never, after: never) => differenceOf({ before, after, isBuiltIn: false })?.action
  const created = object({ status: {} }, {
    creationTimestamp: 'now',
    resourceVersion: '2',
    generation: 1,
    managedFields: [],
  })
  assert.deepEqual(differenceOf({ before: undefined, after: created, isBuiltIn: false })?.after, {
    ...{ apiVersion: 'v1', kind: 'A', metadata: { name: 'a' }, status: {} },
  })
  assert.equal(actionOf(object({}), object({}, { resourceVersion: '2', generation: 2, managedFields: [] })), undefined)
  assert.equal(actionOf(object({ status: { a: 1 } }), object({ status: { a: 2 } })), 'status')
  assert.equal(actionOf(object({ status: { a: 1 } }), object({ status: { a: 2 } }, { labels: { a: 'b' } })), 'change')
  assert.equal(actionOf(object({}), object({}, { uid: '2' })), 'replace')
  const deleted = { deletionTimestamp: 'now' }
  assert.equal(actionOf(object({}), object({}, deleted)), 'delete')
  assert.equal(actionOf(object({}, deleted), object({ a: 1 }, deleted)), 'change')
  const crd = (clientConfig: object, properties: object = {}) =>
    object({ spec: { properties, conversion: { webhook: { clientConfig } } } })
  const inMemory = { url: 'https://127.0.0.1:0/convert' }
  assert.equal(actionOf(crd({ service: {}, caBundle: 'b' }), crd(inMemory)), undefined)
  assert.equal(actionOf(crd({ service: {} }), crd({ service: {}, caBundle: 'b' })), 'change')
  const field = (type: string) => ({ clientConfig: { type } })
  assert.equal(actionOf(crd({}, field('string')), crd(inMemory, field('object'))), 'change')
})

test('the lines of a difference are the shortest, with two lines around each', () => {
  const text = [...'abcdefghij']
  assert.deepEqual(lineDifference(text, text), [])
  assert.deepEqual(lineDifference([...'abcdefghij'], [...'abXdefghjk']), [
    ...['  a', '  b', '- c', '+ X', '  d', '  e'],
    ...['  …', '  g', '  h', '- i', '  j', '+ k'],
  ])
  assert.deepEqual(lineDifference([], ['a']), ['+ a'])
  const many = (prefix: string) => Array.from({ length: 2500 }, (_, at) => `${prefix}${at}`)
  assert.equal(lineDifference(many('a'), many('b')).length, 5000)
})
