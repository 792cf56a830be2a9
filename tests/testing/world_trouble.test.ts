/** Tests the errors of a world: failing keys, endless loops, missing kinds and changed objects. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  defineResource,
  dynamicResource,
  LeadershipLost,
  type Log,
  type Operator,
  operator,
  Server,
  TerminalError,
} from 'kubeloop'
import { ConfigMap, Lease, Pod } from 'kubeloop/kinds'
import { world } from 'kubeloop/testing'
import * as z from 'zod'
import { nextTurn } from '../../lib/async/clock.ts'
import { crdOf } from '../../lib/schema/crds.ts'
import { isOurs, map, nowhere, ref, silent } from './worlds.ts'

async function written(work: () => Promise<void>): Promise<string[]> {
  const lines: string[] = []
  const { error } = console
  console.error = (line: string) => void lines.push(...line.split('\n'))
  try {
    await work()
  } finally {
    console.error = error
  }
  return lines
}

function fighting(): Operator {
  const app = operator({ name: 'x' })
  for (const name of ['red', 'blue']) {
    app.controllerFor(ConfigMap, { name, when: isOurs })
      .reconcile(async (own, { client }) =>
        void (await client.edit(ConfigMap, own, (draft) => void (draft.data = { color: name })))
      )
  }
  return app
}

test('settle and advance reject every time with a key that is reconciled and written without end; stop does not', async () => {
  await using w = await world(fighting(), { log: silent })
  await w.client.create(ConfigMap, map('a'))
  const text =
    /^Error: Cannot settle: ConfigMap "default\/a" was reconciled 51 times in 0 ms and wrote each time \(causes and writes: (?=.*data\.color changed)(?=.*update ConfigMap "default\/a").*\); does it trigger itself, or undo the changes of another writer \(controllers that apply one object need a fieldManager each\)\?; the world has stopped the operator$/
  await assert.rejects(w.settle(), text)
  await assert.rejects(w.settle(), text)
  await assert.rejects(w.advance('1s'), text)
  const { metadata } = (await w.client.get(ConfigMap, ref('a')))!
  for (let turns = 0; turns < 50; turns++) await nextTurn()
  assert.equal(
    (await w.client.get(ConfigMap, ref('a')))!.metadata.resourceVersion,
    metadata.resourceVersion,
    'a test that ends here leaves no loop behind',
  )
})

test('settle resolves with the failing keys: key, error and the place in the user’s file', async () => {
  const app = operator({ name: 'x' })
  app.controllerFor(ConfigMap, { when: isOurs }).reconcile(async ({ data }) => {
    if (data?.['broken'] === 'retry') throw new Error('no data')
    if (data?.['broken'] === 'drop') throw new TerminalError('wrong data')
  })
  await using w = await world(app, { log: silent })
  const put = (name: string, broken: string) => w.client.apply(ConfigMap, { ...map(name), data: { broken } })
  assert.deepEqual(await w.settle(), [])
  await put('a', 'retry')
  await put('b', 'drop')
  await put('c', 'no')
  const failing = await w.settle()
  assert.deepEqual(failing.map(({ controller, kind, key, error }) => [controller, kind, key, String(error)]), [
    ['configmap', 'ConfigMap', ref('a'), 'Error: no data'],
    ['configmap', 'ConfigMap', ref('b'), 'TerminalError: wrong data'],
  ])
  for (const { place } of failing) assert.match(place!, /\/tests\/testing\/world_trouble\.test\.ts:\d+:\d+$/)
  await w.advance('1s')
  assert.equal((await w.settle()).length, 2, 'a key that fails again counts once')
  await put('a', 'no')
  assert.deepEqual((await w.settle()).map(({ key }) => key), [ref('b')])
  await w.client.delete(ConfigMap, ref('b'))
  assert.deepEqual(await w.settle(), [])
})

test('without a log, a world writes warnings and errors to standard error, with the line of source', async () => {
  const run = (log?: Log): Promise<string[]> =>
    written(async () => {
      const app = operator({ name: 'x' })
      app.controllerFor(ConfigMap, { when: isOurs }).reconcile(async (_, { log }) => {
        log.info('begins')
        log.warn('is about to fail')
        throw new Error('no data') // the line of source
      })
      await using w = await world(app, log ? { log } : {})
      await w.client.create(ConfigMap, map('a'))
      await w.settle()
      await w.advance('5ms')
    })
  const lines = (await run()).map((line) => line.replace(/^\d\d:\d\d:\d\d {2}/, ''))
  assert.deepEqual(lines.map((line) => line.replace(/ {2}(namespace|attempt)=.*/, '')), [
    'warn: is about to fail',
    'error: Cannot reconcile ConfigMap "default/a": no data (retry 1 in 5 ms)',
    lines[2],
    'warn: is about to fail',
    'error: Cannot reconcile ConfigMap "default/a": no data (retry 2 in 10 ms)',
  ])
  assert.match(
    lines[2]!,
    /^ {10}.*world_trouble\.test\.ts:\d+:\d+ {2}throw new Error\('no data'\) \/\/ the line of source$/,
  )
  assert.deepEqual(await run(silent), [])
})

test('the test’s log has failures with the fields of their key, equal ones of each controller folded', async () => {
  const lines: string[] = []
  const say = (message: string, fields: object = {}): void =>
    void lines.push(`${message} ${JSON.stringify({ ...fields, error: undefined })}`)
  const app = operator({ name: 'x' })
  for (const name of ['one', 'two']) {
    app.controllerFor(ConfigMap, { name, when: isOurs }).reconcile(() => Promise.reject(new Error('no data')))
  }
  await using w = await world(app, { log: { ...silent, error: say } })
  await w.client.create(ConfigMap, map('a'))
  await w.advance('100ms')
  const fields = (name: string, attempt: number): string =>
    `{"controller":"${name}","kind":"ConfigMap","namespace":"default","name":"a","attempt":${attempt}}`
  for (const name of ['one', 'two']) {
    assert.deepEqual(
      lines.filter((line) => line.includes(`"${name}"`)),
      [1, 2, 3, 5].map((attempt) =>
        `Cannot reconcile ConfigMap "default/a": no data (retry ${attempt} in ${5 * 2 ** (attempt - 1)} ms) ${
          fields(name, attempt)
        }`
      ),
    )
  }
})

const Widget = dynamicResource({ group: 'foreign.dev', version: 'v1', kind: 'Widget' })
const MISSING =
  /^Error: Cannot settle: nothing is reconciled before all caches are synced, and the world does not serve widgets\.foreign\.dev \(.*\); add their CustomResourceDefinitions: world\(app, \{ objects: \[definition\] \}\)$/
const foreign = crdOf([defineResource({ group: 'foreign.dev', version: 'v1', kind: 'Widget', spec: z.object({}) })])[0]!

test('settle and advance reject with the name of a watched kind that is not served', async () => {
  const runs: string[] = []
  const app = operator({ name: 'x' })
  app.controllerFor(ConfigMap, { when: isOurs }).watches(Widget, () => []).reconcile(async ({ metadata }) =>
    void runs.push(metadata.name)
  )
  const w = await world(app, { log: silent })
  await w.client.create(ConfigMap, map('a'))
  await assert.rejects(w.settle(), MISSING)
  await assert.rejects(w.settle(), MISSING, 'a second time')
  await assert.rejects(w.advance('1s'), MISSING)
  assert.deepEqual(runs, [])
  await w.client.create(
    dynamicResource({
      group: 'apiextensions.k8s.io',
      version: 'v1',
      kind: 'CustomResourceDefinition',
      scope: 'Cluster',
    }),
    foreign as never,
  )
  await w.advance('1m')
  assert.deepEqual(runs, ['a'])
  await w.stop()
  await using served = await world(app, { objects: [foreign, { apiVersion: 'v1', kind: 'ConfigMap', ...map('b') }] })
  assert.deepEqual(await served.settle(), [])
  assert.deepEqual(runs, ['a', 'b'])
})

test('an unserved kind of another cluster is named with the cluster', async () => {
  const app = operator({ name: 'x' })
  const west = app.cluster('west', nowhere)
  app.controllerFor(ConfigMap, { when: isOurs }).watches(Widget, () => [], { cluster: west }).reconcile(async () => {})
  await using w = await world(app, { objects: [foreign], log: silent })
  await assert.rejects(w.settle(), /does not serve widgets\.foreign\.dev in the cluster "west" \(/)
})

/** Adds a group of clusters to an operator, with the cluster `east` in it. */
const withEast = (app: Operator) =>
  app.clusters('members', async function* () {
    yield await Promise.resolve({ add: 'east', config: nowhere })
  })

test('an unserved kind of a cluster of a group is named, too', async () => {
  const app = operator({ name: 'x' })
  const members = withEast(app)
  app.controllerFor(ConfigMap, { clusters: members }).watches(Widget, () => []).reconcile(async () => {})
  await using w = await world(app, { objects: [foreign], log: silent })
  await assert.rejects(w.settle(), /does not serve widgets\.foreign\.dev in the cluster "east" \(/)
})

test('a kind that is optional by itself may be missing: the others are reconciled', async () => {
  const runs: string[] = []
  const app = operator({ name: 'x' })
  app.cache(Widget, { optional: true })
  app.controllerFor(ConfigMap, { when: isOurs }).reconcile(async ({ metadata }) => void runs.push(metadata.name))
  await using w = await world(app, { log: silent })
  await w.client.create(ConfigMap, map('a'))
  assert.deepEqual([await w.settle(), runs], [[], ['a']])
})

test('a first list that a fault delays is not a missing kind, and a replica that has ended waits for no list', async () => {
  const app = operator({ name: 'x', leaderElection: true })
  app.controllerFor(ConfigMap, { when: isOurs }).reconcile(async () => {})
  const w = await world(app, { log: silent })
  w.fault({ verb: 'list', resource: ConfigMap, status: 500, times: 3 })
  w.fault({ verb: 'watch', resource: ConfigMap, cut: true, times: 3 })
  await w.advance('11m')
  await w.settle()
  await w.stop()
  const missing = operator({ name: 'y', syncTimeout: '10s' })
  missing.controllerFor(Widget).reconcile(async () => {})
  await using other = await world(missing, { log: silent })
  await assert.rejects(
    other.advance('1m'),
    /Cannot sync the cache of cluster in-memory within 10 s: widgets\.foreign\.dev/,
  )
  other.takeFailure()
  await other.settle()
})

test('the operator’s servers do not listen in a world with any number of replicas; all else of its extensions runs', async () => {
  const ran: string[] = []
  const servers: Server[] = []
  const app = operator({ name: 'x', leaderElection: true }).extend(({ manager }) => {
    const server = new Server({ name: 'hook', address: 1, fetch: () => new Response('') })
    servers.push(server)
    manager.add(server)
    manager.add({ name: 'webhook', role: 'webhook', start: () => Promise.reject(new Error('it was started')) })
    manager.add({ name: 'other', everyReplica: true, start: async () => void ran.push('other') })
  })
  app.controllerFor(ConfigMap, { when: isOurs }).reconcile(async () => {})
  await using w = await world(app, { replicas: 2 })
  await w.settle()
  assert.deepEqual([ran, servers.map(({ port }) => port)], [['other', 'other'], [undefined, undefined]])
})

test('objects that clients of the operator and of the test return are frozen, live and cached', async () => {
  const seen: [string, unknown][] = []
  const app = operator({ name: 'x' })
  const west = app.cluster('west', nowhere)
  app.controllerFor(ConfigMap, { when: isOurs }).reconcile(async (own, { client, clientOf }) => {
    for (const [name, each] of [['client', client], ['live', client.live], ['west', clientOf(west)]] as const) {
      const note = (verb: string, object: unknown): void => void seen.push([`${name} ${verb}`, object])
      const spec = { containers: [{ name: 'c', image: 'i' }] }
      note('create', await each.create(Pod, { metadata: { namespace: 'default', name }, spec }))
      note('get', await each.get(Pod, ref(name)))
      note('list', (await each.list(Pod, { namespace: 'default' }))[0])
      note('apply', await each.apply(Pod, { metadata: { ...ref(name), labels: { a: 'b' } }, spec }))
      note('edit', await each.edit(Pod, ref(name), (draft) => void (draft.metadata.labels = { a: 'c' })))
      note('patch', await each.patch(Pod, ref(name), { merge: { metadata: { labels: { a: 'd' } } } }))
      note('setStatus', await each.setStatus(Pod, ref(name), { phase: 'Running' }))
      for await (const page of each.pages(Pod, { namespace: 'default' })) note('pages', page.items[0])
      for await (const { object } of each.watch(Pod, { namespace: 'default' })) {
        note('watch', object)
        break
      }
    }
    seen.push(['reconcile', own])
  })
  await using w = await world(app)
  seen.push(['world create', await w.client.create(ConfigMap, map('a'))])
  assert.deepEqual(await w.settle(), [])
  seen.push(['world get', await w.client.get(ConfigMap, ref('a'))], [
    'world west',
    await w.clientOf(west).get(Pod, ref('west')),
  ])
  assert.equal(seen.length, 31)
  for (const [what, object] of seen) assert.ok(isFrozen(object), what)
})

function isFrozen(value: unknown): boolean {
  return typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(isFrozen))
}

test('the failing keys of a replica that lost its lease do not hide its error', async () => {
  const app = operator({ name: 'x', leaderElection: true })
  app.controllerFor(ConfigMap, { when: isOurs }).reconcile(() => Promise.reject(new Error('no data')))
  await using w = await world(app, { replicas: 2, log: silent })
  await w.client.create(ConfigMap, map('a'))
  assert.equal((await w.settle()).length, 1, 'only the leader works')
  w.fault({ verb: 'update', resource: Lease, status: 500, times: 5 })
  await assert.rejects(w.advance('20s'), LeadershipLost)
  w.takeFailure()
  await w.advance('30s')
  assert.deepEqual((await w.settle()).map(({ key }) => key), [ref('a')], 'of the running replica')
})

test('settle resolves with failing map functions, streams, periods and tasks, until they work', async () => {
  const app = operator({ name: 'x' })
  const broken = { map: true, stream: true, every: true, task: true }
  const mayFail = (part: keyof typeof broken): void => {
    if (broken[part]) throw new Error(`no ${part}`)
  }
  app.controllerFor(ConfigMap, { when: isOurs })
    .watches(Pod, () => (mayFail('map'), []))
    .from('stream', async function* ({ sleep }) {
      mayFail('stream')
      await sleep('1h')
      yield* []
    })
    .every('1m', () => (mayFail('every'), []))
    .reconcile(async () => {})
  app.add('task', async () => mayFail('task'))
  await using w = await world(app, { log: silent })
  const spec = { containers: [{ name: 'a', image: 'a:1' }] }
  await w.client.create(Pod, { metadata: ref('a'), spec })
  assert.equal(String((await w.settle())[0]?.error), 'Error: no map')
  await w.advance('1m')
  const failing = await w.settle()
  const controller = 'configmap'
  assert.deepEqual(failing.map(({ error, place: _, ...rest }) => ({ ...rest, error: String(error) })), [
    { controller, source: 'pods', kind: 'Pod', key: ref('a'), error: 'Error: no map' },
    { controller, source: 'stream', error: 'Error: no stream' },
    { controller, source: 'configmap every 1 m', error: 'Error: no every' },
    { task: 'task', error: 'Error: no task' },
  ])
  for (const { place } of failing) assert.match(place!, /world_trouble\.test\.ts:\d+:\d+$/)
  for (const part of ['map', 'stream', 'every', 'task'] as const) broken[part] = false
  await w.advance('2m')
  assert.deepEqual(await w.settle(), [])
})

test('`await using` does not hide why a world did not come to rest', async () => {
  const app = operator({ name: 'stuck' })
  app.controllerFor(ConfigMap, { when: isOurs }).reconcile(() => new Promise(() => {}))
  const lines: string[] = []
  const log = { ...silent, error: (line: string) => void lines.push(line) }
  await assert.rejects(async () => {
    await using w = await world(app, { log, realTimeout: '10ms' })
    await w.client.create(ConfigMap, map('a'))
    await w.settle()
  }, /^Error: Cannot settle: after 10 ms of real time .* reconciles "default\/a"/)
  assert.match(lines.join(), /Cannot stop the group "leader" in time: .*; still running: "configmap"/)
})

test("an operator's own log is used in a world, unless the world has another", async () => {
  const app = (log: Log) => operator({ name: 'x', log }).add('task', async ({ log }) => log.info('at work'))
  const own: string[] = [], given: string[] = []
  const into = (lines: string[]): Log => ({ ...silent, info: (line) => void lines.push(line) })
  await (await world(app(into(own)))).stop()
  await (await world(app(into(own)), { log: into(given) })).stop()
  assert.deepEqual([own, given], [['at work'], ['at work']])
})

test('a stop logs the faults that no request has met', async () => {
  const app = operator({ name: 'x' })
  app.controllerFor(ConfigMap, { when: isOurs }).reconcile(async (_, { client }) => {
    await client.list(Lease)
  })
  const west = app.cluster('west', nowhere)
  const lines: string[] = []
  const w = await world(app, { log: { ...silent, warn: (line) => void lines.push(line) } })
  w.fault({ verb: 'patch', resource: Pod, status: 429, retryAfter: '5s', cluster: west })
  w.fault({ verb: 'list', resource: Lease, delay: '1s', times: Infinity })
  w.fault({ verb: 'list', resource: Lease, status: 500, skip: 5, until: new AbortController().signal })
  await w.client.create(ConfigMap, map('a'))
  await w.advance('2s')
  await w.stop()
  await w.stop()
  assert.deepEqual(lines, [
    'No request met the fault { resource: "Pod", cluster: "west", verb: "patch", status: 429, retryAfter: "5s" }',
    'No request met the fault { resource: "Lease", verb: "list", status: 500, skip: 5 }',
  ])
})
