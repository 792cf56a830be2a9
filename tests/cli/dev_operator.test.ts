/** Tests what `kubeloop dev` changes in an operator's options. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineResource, operator, Server } from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import { ConfigMap, Deployment, Secret } from 'kubeloop/kinds'
import { FakeClock } from 'kubeloop/testing'
import * as z from 'zod'
import { Api } from '../../lib/client/api.ts'
import { type DevSettings, type LoopBatch, type Notice, NOTICE_PATH } from '../../lib/cli/dev/session.ts'
import { prepareOperator } from '../../lib/cli/dev/child/operator.ts'
import type { HttpRequest, HttpResponse } from '../../lib/core/transport.ts'
import { openLoop } from '../../lib/cli/dev/child/loop.ts'
import type { SinkOptions, Source } from '../../lib/controller/source.ts'
import type { ReconcileReport } from '../../lib/controller/controller.ts'
import { type Log, silentLog } from '../../lib/observe/log.ts'
import { refusal } from '../client/transports.ts'
import { recordingLog } from '../manager/parts.ts'

const description = operator({ name: 'x' }).description
const cluster = { server: 'https://127.0.0.1:1' }

/** A session that stays open. */
const session: HttpResponse = {
  status: 200,
  headers: {},
  body: {
    text: () => Promise.resolve(''),
    cancel() {},
    async *[Symbol.asyncIterator]() {
      yield new TextEncoder().encode('{"start":1}\n')
      await new Promise(() => {})
    },
  },
}

const settings: DevSettings = { pretty: false, file: 'op.ts', elects: false, webhookPort: 1234, monitoringPort: 4321 }

/** Prepares an operator whose session gets this answer, and returns its options and the requests of the session. */
async function prepared(
  answer = session,
  change: Partial<Parameters<typeof prepareOperator>[0]> = {},
  as?: string,
) {
  const requests: HttpRequest[] = []
  let closed = 0
  const connection = Object.assign((request: HttpRequest) => (requests.push(request), Promise.resolve(answer)), {
    close: () => void closed++,
  })
  const given = { description, cluster, connection, log: silentLog, ...change }
  return { requests, ...await prepareOperator(given, { ...settings, as }), closed }
}

for (
  const [where, answer, narrow] of [
    ['on the embedded API', session, true],
    ['in a cluster of your own', refusal(404, 'NotFound'), false],
  ] as const
) {
  test(`${where} definitions are installed, and ${narrow ? 'narrowed' : 'not narrowed'} over stored objects`, async () => {
    const { options, closed } = await prepared(answer)
    assert.deepEqual([options.crds, closed], [{ mode: 'install', narrow }, narrow ? 0 : 1])
    assert.deepEqual([options.leaderElection, options.serves, options.cluster, options.fieldValidation], [
      false,
      true,
      cluster,
      'Strict',
    ])
    assert.deepEqual(options.webhooks, { port: 1234 })
  })
}

test('health and metrics are served on one port of this machine; other servers listen as they are', async () => {
  const lines: string[] = []
  for (const named of [['health', 'metrics'], ['health'], []]) {
    const { options } = await prepared(session, { log: recordingLog(lines) })
    assert.deepEqual([options.serves, options.needsMetrics], [true, false])
    const serverOf = (name: string) => new Server({ name, address: ':1', fetch: () => new Response(name) })
    const added: Server[] = []
    assert.ok(options.listens!(serverOf('own')))
    assert.ok(options.listens!({ name: 'metrics of the caches', start: async () => {} }))
    for (const name of named) assert.equal(options.listens!(serverOf(name)), false)
    options.onAssembled!({ manager: { add: (server: Server) => void added.push(server) } } as never)
    assert.equal(added.length, named.length > 0 ? 1 : 0)
    const get = async (path: string) => await (await added[0]!.fetch(new Request(`http://localhost${path}`))).text()
    if (named.length === 0) continue
    const metrics = named.includes('metrics') ? 'metrics' : 'there is no metrics\n'
    const expected = ['health', 'health', metrics, metrics, 'there is no profiling\n']
    const paths = ['/readyz', '/healthz/ping', '/metrics', '/beside/them', '/debug/pprof/']
    assert.deepEqual(await Promise.all(paths.map(get)), expected)
  }
  assert.deepEqual(lines, [
    'info http://127.0.0.1:4321 has /readyz, /metrics',
    'info http://127.0.0.1:4321 has /readyz',
  ])
})

test('the kinds of a session begin with one that the operator defines', async () => {
  const Site = defineResource({ group: 'example.com', version: 'v1', kind: 'Site', spec: z.object({}) })
  const app = operator({ name: 'x' })
  app.controllerFor(ConfigMap).owns(Secret).reconcile(async () => {})
  app.controllerFor(Site).reconcile(async () => {})
  const { requests } = await prepared(session, { description: app.description })
  const { kinds } = JSON.parse(String(requests[0]?.body))
  assert.deepEqual(kinds, ['example.com/v1/sites', 'v1/configmaps', 'v1/secrets'])
})

test('as a ServiceAccount the operator has its token in each cluster and its namespace, or does not run', async () => {
  const app = operator({ name: 'x' })
  app.cluster('west', { server: 'https://127.0.0.1:2' })
  const { description } = app
  const admin = { server: 'https://127.0.0.1:1', ca: 'CA', token: 'admin' }
  const answered = (response: object): HttpResponse => ({
    ...session,
    body: {
      ...session.body,
      async *[Symbol.asyncIterator]() {
        yield new TextEncoder().encode(`${JSON.stringify({ start: 1, ...response })}\n`)
        await new Promise(() => {})
      },
    },
  })
  const tokens = { '': 'a', west: 'b' }
  for (const [as, namespace, name] of [['', 'x-system', 'x'], ['team/op', 'team', 'op']] as const) {
    const { options, requests } = await prepared(answered({ tokens }), { description, cluster: admin }, as)
    const { account } = JSON.parse(String(requests[0]?.body))
    assert.deepEqual([account.namespace, account.name, account.manifests.length], [namespace, name, 2])
    const origin = { identity: `the ServiceAccount "${namespace}/${name}"` }
    assert.deepEqual(options.cluster, { server: admin.server, ca: 'CA', token: 'a', namespace, origin })
    assert.deepEqual([options.clusters?.['west']?.token, options.clusters?.['west']?.server], [
      'b',
      'https://127.0.0.1:1/clusters/west',
    ])
  }
  for (
    const [answer, why] of [[refusal(404, 'NotFound'), 'is not that of kubeloop dev'], [
      answered({ refused: 'no' }),
      'no',
    ]] as const
  ) {
    await assert.rejects(
      prepared(answer, {}, 'team/op'),
      new RegExp(`^ConfigError: Cannot run as the ServiceAccount "team/op": .*${why}`),
    )
  }
})

test('on the embedded API the stored objects that lose fields are named, and new definitions are not logged', async () => {
  const transport = new ApiServer().handle
  const lines: string[] = []
  // A log whose methods are its prototype's, as those of many libraries are.
  const log = Object.create(recordingLog(lines)) as Log
  const { options } = await prepared(session, { log })
  const run = async (fields: z.ZodRawShape, act?: () => Promise<unknown>): Promise<void> => {
    const Site = defineResource({ group: 'example.com', version: 'v1', kind: 'Site', spec: z.object(fields) })
    const app = operator({ name: 'sites' })
    const stop = new AbortController()
    app.controllerFor(Site).reconcile(async () => {})
    const { promise: started, resolve } = Promise.withResolvers<void>()
    app.add('check', async () => {
      await act?.()
      resolve()
    })
    const running = app.start(stop.signal, { ...options, transport })
    await Promise.race([started, running])
    stop.abort()
    await running
  }
  const api = new Api({ transport })
  await run({ name: z.string(), tls: z.string().optional() }, async () => {
    const resource = {
      group: 'example.com',
      version: 'v1',
      kind: 'Site',
      plural: 'sites',
      scope: 'Namespaced',
    } as const
    const object = { metadata: { namespace: 'default', name: 'a' }, spec: { name: 'a', tls: 'b' } }
    await api.create({ resource, namespace: 'default', name: 'a' }, object, {})
  })
  assert.deepEqual(lines.filter((line) => line.includes('sites.example.com')), [])
  await run({ name: z.string() })
  assert.deepEqual(lines.filter((line) => line.includes('sites.example.com')), [
    'warn CustomResourceDefinition "sites.example.com": its schema becomes narrower (spec.tls is missing), and 1 of 1 ' +
    `stored objects don't fit it: Site "default/a" (spec.tls would be lost)`,
  ])
})

function report(count: number): ReconcileReport {
  return {
    controller: 'foo',
    kind: 'Foo',
    key: 'default/a',
    causes: ['ConfigMap changed'],
    count,
    attempt: 1,
    durationMs: 1,
    disposition: { kind: 'forget', label: 'success' },
    retryInMs: undefined,
    writes: [{ verb: 'update', group: '', kind: 'ConfigMap', key: 'default/b', result: 'changed' }],
  }
}

test('a key that is written again and again causes a warning, and objects are frozen', async () => {
  const warned: string[] = []
  const log = { ...silentLog, warn: (message: string) => void warned.push(message) }
  const { options } = await prepared(session, { log })
  assert.equal(options.freeze, true)
  for (let count = 1; count <= 50; count++) options.onReconcile!(report(count))
  for (let count = 1; count <= 50; count++) options.onReconcile!({ ...report(count), controller: 'bar' })
  assert.deepEqual(warned, [])
  options.onReconcile!(report(51))
  assert.match(
    warned.join(),
    /^Foo "default\/a" was reconciled 51 times in \d+ ms and wrote each time \(causes and writes: update ConfigMap "default\/b", ConfigMap changed\); does it/,
  )
})

test("other clusters have paths of the embedded API, which gets their kinds; without it they have the user's configuration", async () => {
  const app = operator({ name: 'x' })
  const west = app.cluster('west', () => Promise.reject(new Error('no such context')))
  app.cluster('east', cluster)
  app.controllerFor(ConfigMap, { cluster: west, name: 'a' }).owns(Secret).reconcile(async () => {})
  app.controllerFor(Deployment).watches(Secret, () => [], { cluster: west }).reconcile(async () => {})
  for (const answer of [session, refusal(404, 'NotFound')]) {
    const { options, requests } = await prepared(answer, {
      description: app.description,
      cluster: { ...cluster, token: 't' },
    })
    assert.deepEqual(
      options.clusters,
      answer !== session ? undefined : {
        west: { server: 'https://127.0.0.1:1/clusters/west', token: 't' },
        east: { server: 'https://127.0.0.1:1/clusters/east', token: 't' },
      },
    )
    assert.deepEqual(requests.map(({ body }) => ({ ...JSON.parse(String(body)), pid: 0 })), [{
      operator: 'x',
      pid: 0,
      kinds: ['apps/v1/deployments'],
      clusters: [{ name: 'west', kinds: ['v1/configmaps', 'v1/secrets'] }, { name: 'east', kinds: [] }],
      webhooks: false,
    }])
  }
})

test('the rights that an operator asks for are sent to the command, also those of writes that change nothing', async () => {
  const app = operator({ name: 'x' })
  app.controllerFor(ConfigMap).owns(Deployment).reconcile(async () => {})
  app.cluster('west', cluster)
  const { options, requests } = await prepared(session, { description: app.description })
  const posted = (): object[] =>
    requests.filter(({ path }) => path === NOTICE_PATH).flatMap(({ body }) =>
      (JSON.parse(String(body)) as Notice).right ?? []
    )
  const unsent = (verb: 'apply' | 'status', group: string, kind: string, name = 'b') =>
    ({ verb, group, kind, key: `default/${name}`, result: 'unchanged' }) as const
  const others = [unsent('apply', '', 'Unknown'), unsent('apply', 'example.com', 'Deployment', 'c')]
  const writes = [unsent('status', '', 'ConfigMap'), unsent('apply', 'apps', 'Deployment'), ...others]
  options.onReconcile!({ ...report(1), writes })
  const origin = { operator: 'x', namespace: 'default', name: 'b' }
  assert.deepEqual(posted(), [
    { operator: 'x', reconciled: 'default/a' },
    { ...origin, verb: 'patch', group: '', resource: 'configmaps/status' },
    { ...origin, verb: 'patch', group: 'apps', resource: 'deployments' },
    { ...origin, verb: 'create', group: 'apps', resource: 'deployments' },
  ])
  // Nothing listens there; the requests are recorded when they are sent.
  await options.transport!({ method: 'DELETE', path: '/api/v1/namespaces/n/pods' }).catch(() => {})
  await options.transports!['west']!({ method: 'GET', path: '/api/v1/namespaces/n/pods/p/log' }).catch(() => {})
  assert.deepEqual(posted().slice(4).map((line) => ({ ...line, at: '' })), [
    { operator: 'x', verb: 'deletecollection', group: '', resource: 'pods', namespace: 'n', at: '' },
    { operator: 'x', cluster: 'west', verb: 'get', group: '', resource: 'pods/log', namespace: 'n', name: 'p', at: '' },
  ])
})

test('for the page, runs are held and queued again with their causes, and their reports and failures are sent', async () => {
  const [clock, batches, added, worked] = [new FakeClock(), [] as LoopBatch[], [] as unknown[], [] as string[]]
  const session: Parameters<typeof openLoop>[1] = {
    send: ({ loop }) => Promise.resolve(void batches.push(loop!)),
    onCommand: undefined,
  }
  const { options, ended } = await openLoop(description, session, { all: true, keys: [] }, clock)
  const sink = { add: (key: unknown, of: SinkOptions = {}) => void added.push([key, of.cause?.()]), passes: () => true }
  const watch = (source: Source): Promise<void> => source.start(sink, new AbortController().signal)
  options.onAssembled({ controllers: new Map([['foo', { queued: 3, watch }]]), log: silentLog } as never)
  const run = { controller: 'foo', kind: 'Foo', cluster: 'west', key: { namespace: 'default', name: 'a' }, attempt: 1 }
  const { key: _, ...own } = { ...run, causes: ['added'], count: 1, durationMs: 1, writes: [] }
  const error = new Error('no')
  error.stack = 'Error: no\n    at f (file:///user/operator.ts:1:2)'
  const disposition = { kind: 'retry', error, priority: undefined, label: 'error' } as const
  const attempt = async (): Promise<boolean> => {
    await options.tracing!.reconcile(run, () => Promise.resolve(void worked.push('a')), () => ({ label: 'success' }))
    return ended({ ...own, key: 'default/a', disposition, retryInMs: 5 })
  }
  assert.deepEqual([await attempt(), worked, added], [true, [], []])
  await clock.advance(250)
  const queue = { controller: 'foo', kind: 'Foo', cluster: 'west', queued: 3, running: [], held: [], heldCount: 0 }
  assert.deepEqual(batches.splice(0).at(-1), {
    ...{ runs: [], tasks: [], dropped: 0 },
    queues: [{ ...queue, held: ['default/a'], heldCount: 1 }],
  })
  session.onCommand!({ action: 'resume' })
  assert.deepEqual([await attempt(), worked, added], [false, ['a'], [['default/a', 'added']]])
  options.onTask('sync', { error })
  await clock.advance(250)
  const described = { message: 'no', frames: ['/user/operator.ts:1:2'] }
  const sent = { ...own, key: 'default/a', endedMs: clock.now() - 250, againMs: 5, error: described }
  assert.deepEqual(batches.splice(0), [
    { runs: [sent], tasks: [{ name: 'sync', error: described }], dropped: 0, queues: [queue] },
  ])
  ended({ ...own, key: 'default/a', disposition: { kind: 'later', ms: 70 } as never, retryInMs: undefined })
  await clock.advance(250)
  assert.deepEqual(batches.splice(0).map(({ runs }) => runs.map(({ againMs }) => againMs)), [[70]])
  await clock.advance(250)
  assert.equal(batches.length, 0)
  for (let at = 0; at < 1200; at++) await attempt()
  await clock.advance(250)
  await attempt()
  await clock.advance(250)
  assert.deepEqual(batches.map(({ runs, dropped }) => [runs.length, dropped]), [[1000, 200], [1, 0]])
  for (let at = 0; at < 101; at++) {
    const key = { name: `${at}` }
    await options.tracing!.reconcile({ ...run, key }, () => Promise.resolve(), () => ({ label: 'success' }))
  }
  await clock.advance(250)
  assert.equal(batches.at(-1)!.queues![0]!.running.length, 100)
})
