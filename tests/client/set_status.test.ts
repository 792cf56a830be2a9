/** Tests statuses that several writers set: two controllers on a kind, stripped objects, and large numbers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { conditions, defineResource, operator, predicates } from 'kubeloop'
import { Deployment } from 'kubeloop/kinds'
import { conditionList } from 'kubeloop/schema'
import { world } from 'kubeloop/testing'
import * as z from 'zod'
import { Api } from '../../lib/client/api.ts'
import { KubeClient } from '../../lib/client/kube_client.ts'
import { isReason } from '../../lib/core/errors.ts'
import { FOO, type Foo } from './case_bench.ts'
import { answer, recorder, refusal } from './transports.ts'

const T = defineResource({
  group: 'x.io',
  version: 'v1',
  kind: 'T',
  spec: z.object({}),
  status: z.object({ conditions: conditionList, one: z.string().optional(), two: z.string().optional() }),
})

test('two controllers on one kind that each set a condition end with both', async () => {
  const app = operator({ name: 'both', crds: 'install' })
  const errors: string[] = []
  for (const [name, ms] of [['One', 1000], ['Two', 500]] as const) {
    app.controllerFor(T, { name: name.toLowerCase() }).reconcile(
      async (t, { client, clock }) => {
        if (conditions.condition(t, name)) return
        await new Promise<void>((resolve) => clock.after(ms, resolve))
        const mine = { type: name, status: 'True', reason: 'Done', message: '' } as const
        await client.setStatus(T, t, { conditions: conditions.setCondition(t.status?.conditions, mine, clock.now()) })
      },
    )
  }
  await using w = await world(app, {
    log: { debug() {}, info() {}, warn() {}, error: (message) => errors.push(message) },
  })
  await w.client.create(T, { metadata: { namespace: 'default', name: 'a' }, spec: {} })
  await w.advance('5s')
  const [t] = await w.client.list(T)
  assert.deepEqual([t?.status?.conditions?.map(({ type }) => type), errors], [['Two', 'One'], []])
})

test('the status of a stripped object is merged with what others change later', async () => {
  const app = operator({ name: 'stripped' }).cache(Deployment, {
    strip: (object) => {
      delete (object as { spec?: object }).spec
      delete (object as { status?: { observedGeneration?: number } }).status?.observedGeneration
    },
  })
  const condition = (type: string) => ({ type, status: 'True' })
  app.controllerFor(Deployment, { when: predicates.generationChanged }).reconcile(
    async (deployment, { client, clock }) => {
      await new Promise<void>((resolve) => clock.after(1000, resolve))
      await client.setStatus(Deployment, deployment, { replicas: 1, conditions: [condition('Mine')] })
    },
  )
  await using w = await world(app)
  const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } }
  const ref = { namespace: 'default', name: 'a' }
  await w.client.create(Deployment, { metadata: ref, spec: { selector: { matchLabels: { a: 'b' } }, template } })
  await w.client.setStatus(Deployment, ref, { observedGeneration: 1 })
  await w.advance('500ms')
  await w.client.setStatus(Deployment, ref, { observedGeneration: 1, conditions: [condition('Theirs')] })
  await w.advance('5s')
  const { conditions, ...rest } = (await w.client.get(Deployment, ref))!.status!
  assert.deepEqual([rest, conditions?.map(({ type }) => type)], [{ replicas: 1 }, ['Theirs', 'Mine']])
})

test('a refused test of the uid is a conflict; an invalid status without a name is not', async () => {
  const metadata = { namespace: 'ns', name: 'a', uid: 'u', resourceVersion: '1', creationTimestamp: '' }
  const read = { apiVersion: 'cases.dev/v1', kind: 'Foo', metadata, spec: { size: 1 }, status: {} } as Foo
  for (const causes of [[], [{ reason: 'FieldValueInvalid', field: 'status.phase', message: 'no' }]]) {
    const transport = () => Promise.resolve(refusal(422, 'Invalid', { causes }))
    const client = new KubeClient({ api: new Api({ transport }), fieldManager: 'me' })
    await assert.rejects(
      client.setStatus(FOO, read, { phase: 'Mine' }),
      (error: Error) => isReason(error, causes.length === 0 ? 'Conflict' : 'Invalid'),
    )
  }
})

test("numbers beyond 2^53 of others' conditions and of the own status are sent exactly", async () => {
  const wide = '9007199254740993'
  const status = (type: string, more = ''): string => `"conditions":[{"type":"${type}","count":${wide}${more}}]`
  const foo = (version: string, text: string): string =>
    `{"apiVersion":"cases.dev/v1","kind":"Foo","metadata":{"namespace":"ns","name":"a","uid":"u","resourceVersion":"${version}"},"status":{${text}}}`
  const { transport, requests } = recorder((request) => {
    if (request.method === 'GET') return Promise.resolve(answer(200, foo('2', status('Theirs'))))
    const isStale = (request.body as string).includes('"/metadata/resourceVersion","value":"1"')
    return Promise.resolve(isStale ? refusal(409, 'Conflict') : answer(200, foo('3', '')))
  })
  const client = new KubeClient({ api: new Api({ transport }), fieldManager: 'me' })
  const set = async (read: Foo): Promise<unknown> =>
    await client.setStatus(FOO, read, { conditions: [{ type: 'Mine', total: Number(wide) } as never] })
  const read = JSON.parse(foo('1', '')) as Foo
  await assert.rejects(set(read), /TypeError: Cannot set the status of Foo "ns\/a": "total" is an integer beyond 2\^53/)
  requests.length = 0
  const exact = (await client.get(FOO, { namespace: 'ns', name: 'a' }))!
  await set({ ...exact, metadata: read.metadata, status: {} })
  const sent = requests.at(-1)!.body as string
  assert.ok(sent.includes(`"conditions":[{"type":"Theirs","count":${wide}},{"type":"Mine","total":${wide}}]`), sent)
  assert.deepEqual(requests.map(({ method }) => method), ['GET', 'PATCH', 'GET', 'PATCH'])
  // A cached object has its numbers as JSON.parse reads them.
  requests.length = 0
  const cached = JSON.parse(foo('2', status('Theirs'))) as Foo
  const reader = { ...client, watches: () => true, get: () => Promise.resolve(cached as never) }
  const caching = new KubeClient({ api: new Api({ transport }), fieldManager: 'me', reader: () => reader as never })
  await caching.setStatus(FOO, read, { conditions: [{ type: 'Mine' }] })
  assert.ok((requests.at(-1)!.body as string).includes(`"count":${wide}}`))
  assert.deepEqual(requests.map(({ method }) => method), ['GET', 'PATCH'])
  // The own number is rounded, whatever is known of others'.
  const known = { ...client, watches: () => true, get: () => Promise.resolve(exact as never) }
  const knowing = new KubeClient({ api: new Api({ transport }), fieldManager: 'me', reader: () => known as never })
  const rounded = JSON.parse(foo('1', '"count":9007199254740995')) as Foo
  const mine = { type: 'Mine', total: rounded.status!.count } as never
  await assert.rejects(knowing.setStatus(FOO, rounded, { conditions: [mine] }), TypeError)
})
