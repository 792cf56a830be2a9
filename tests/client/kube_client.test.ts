import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import { nextTurn } from '../../lib/async/clock.ts'
import { Api } from '../../lib/client/api.ts'
import { KubeClient } from '../../lib/client/kube_client.ts'
import type { ResourceOf } from '../../lib/core/resource.ts'
import type { Transport } from '../../lib/core/transport.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { FOO, type Foo, FOO_CRD, NAMESPACE } from './case_bench.ts'
import { CRD } from '../../lib/core/resource.ts'
import { CASES } from './cases.ts'
import { answer, bodyOf, recorder, refusal } from './transports.ts'

async function serve(): Promise<Transport> {
  const clock = new FakeClock()
  const { handle } = new ApiServer({ clock })
  const api = new Api({ transport: handle })
  await api.create({ resource: CRD }, FOO_CRD, {})
  await api.create({ resource: NAMESPACE }, { metadata: { name: 'cases' } }, {})
  await clock.advance(10_000)
  return handle
}

for (const { name, run, realOnly } of CASES) {
  test(name, { skip: realOnly ?? false }, async () => await run({ transport: await serve(), namespace: 'cases' }))
}

const REF = { namespace: 'ns', name: 'a' }
const foo = {
  apiVersion: 'cases.dev/v1',
  kind: 'Foo',
  metadata: { ...REF, uid: 'u', resourceVersion: '1', creationTimestamp: '' },
  spec: { size: 1 },
}

test('the read after a conflict is aborted, too, by a transport that ignores its signal', async () => {
  for (const verb of ['edit', 'createOrUpdate', 'createIfMissing'] as const) {
    let reads = 0
    const stop = new AbortController()
    const isNew = verb === 'createIfMissing'
    const transport: Transport = async ({ method }) => {
      if (method !== 'GET') return refusal(409, isNew ? 'AlreadyExists' : 'Conflict')
      if (reads++ === 0) return isNew ? refusal(404, 'NotFound', { name: 'a' }) : answer(200, foo)
      stop.abort(new Error('enough'))
      return await new Promise(() => {})
    }
    const client = new KubeClient({ api: new Api({ transport }), fieldManager: 'me' })
    const { signal } = stop
    const change = (draft: { spec?: { size: number } }): void => void (draft.spec = { size: 2 })
    const written = verb === 'edit'
      ? client.edit(FOO, REF, change, { signal })
      : isNew
      ? client.createIfMissing(FOO, { metadata: REF, spec: { size: 1 } }, { signal })
      : client.createOrUpdate(FOO, REF, change, { signal })
    const late = (async () => {
      for (let turn = 0; turn < 10; turn++) await nextTurn()
      return 'still waits'
    })()
    await assert.rejects(Promise.race([written, late]), /^Error: enough$/, verb)
    assert.equal(reads, 2)
  }
})

test('a dry run of an apply is not compared with what other controllers apply', async () => {
  const { transport, requests } = recorder(() => Promise.resolve(answer(200, foo)))
  const client = new KubeClient({ api: new Api({ transport }), fieldManager: 'me' })
  for (const [writer, dryRun] of [['a', false], ['b', true], ['a', false]] as const) {
    await client.as(writer, undefined).apply(FOO, { metadata: REF, spec: { size: 1 } }, { dryRun })
  }
  await client.as('a', undefined).apply(FOO, { metadata: REF, spec: { size: 2 } })
  assert.deepEqual(requests.map(({ method }) => method), ['PATCH', 'PATCH', 'PATCH', 'PATCH'])
})

test("the result of createOrUpdate does not depend on the server's bookkeeping", async () => {
  const { metadata } = foo
  const answers = [
    ['unchanged', { ...foo, metadata: { ...metadata, resourceVersion: '2' } }],
    ['unchanged', { ...foo, metadata: { ...metadata, generation: 2 } }],
    ['unchanged', { ...foo, metadata: { ...metadata, managedFields: [{ manager: 'me' }] } }],
    ['updated', { ...foo, metadata: { ...metadata, labels: { a: 'b' } } }],
    ['updated', { ...foo, spec: { size: 2 } }],
  ] as const
  for (const [result, updated] of answers) {
    const transport: Transport = ({ method }) => Promise.resolve(answer(200, method === 'GET' ? foo : updated))
    const client = new KubeClient({ api: new Api({ transport }), fieldManager: 'me' })
    const outcome = await client.createOrUpdate(FOO, REF, (draft) => void (draft.spec = { size: 9 }))
    assert.deepEqual([outcome.result, outcome.object], [result, updated], JSON.stringify(updated))
  }
})

test('a status that is an ordinary field is edited', async () => {
  const transport: Transport = ({ method, body }) => Promise.resolve(answer(200, method === 'GET' ? foo : body))
  const client = new KubeClient({ api: new Api({ transport }), fieldManager: 'me' })
  const edited = await client.edit(FOO as ResourceOf<Foo>, REF, (draft) => void (draft.status = { phase: 'Edited' }))
  assert.equal(edited?.status?.phase, 'Edited')
})

test('an update without a version and a cached object sends its status, and nothing is compared', async () => {
  const client = new KubeClient({
    api: new Api({ transport: () => Promise.resolve(answer(200, foo)) }),
    fieldManager: 'me',
  })
  const { resourceVersion: _, ...metadata } = foo.metadata
  const unversioned = { ...foo, metadata, status: { phase: 'Mine' } } as unknown as Foo
  assert.deepEqual(await client.update(FOO as ResourceOf<Foo>, unversioned), foo)
})

test('an option that is undefined is absent, also one that a patch refuses; a patch is one of three', async () => {
  const { transport, requests } = recorder(() => Promise.resolve(answer(200, foo)))
  const client = new KubeClient({ api: new Api({ transport }), fieldManager: 'me' })
  for (const [patch, given] of [[{ merge: {}, json: [] }, 'merge and json'], [{}, '']] as const) {
    const message = `Cannot patch by ${given}: give merge, json or strategic`
    await assert.rejects(client.patch(FOO, REF, patch as never), { name: 'TypeError', message })
  }
  assert.equal(requests.length, 0)
  await client.patch(FOO, REF, { merge: {} }, { owner: undefined } as never)
  assert.equal(requests.length, 1)
})

test("a call's options override the client's, and deletions send theirs", async () => {
  const { transport, requests } = recorder(() => Promise.resolve(answer(200, { ...foo, items: [] })))
  const client = new KubeClient({ api: new Api({ transport }), fieldManager: 'me', fieldValidation: 'Strict' })
  await client.setStatus(FOO, REF, {}, { fieldManager: 'other', fieldValidation: 'Ignore', dryRun: true })
  await client.subresource(FOO, REF, 'scale').update({ spec: { replicas: 1 } }, { fieldValidation: 'Warn' })
  await client.delete(FOO, REF, {
    propagation: 'Orphan',
    gracePeriodSeconds: 0,
    uid: 'u',
    resourceVersion: '7',
    dryRun: true,
  })
  const owner = { ...foo, metadata: { ...foo.metadata, uid: 'u' } }
  await assert.rejects(
    client.patch(FOO, REF, { merge: {} }, { owner } as never),
    /^TypeError: Cannot patch Foo: use edit or apply to set its owner$/,
  )
  await client.deleteAll(FOO, { namespace: 'ns', labels: { a: 'b' }, fields: 'metadata.name=a', gracePeriodSeconds: 5 })
  assert.deepEqual(requests.map(({ method, path }) => `${method} ${path}`), [
    'PATCH /apis/cases.dev/v1/namespaces/ns/foos/a/status?dryRun=All&fieldManager=other&fieldValidation=Ignore',
    'PUT /apis/cases.dev/v1/namespaces/ns/foos/a/scale?fieldManager=me&fieldValidation=Warn',
    'DELETE /apis/cases.dev/v1/namespaces/ns/foos/a',
    'DELETE /apis/cases.dev/v1/namespaces/ns/foos?labelSelector=a%3Db&fieldSelector=metadata.name%3Da',
  ])
  assert.deepEqual(requests.slice(1).map(bodyOf), [
    { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: REF, spec: { replicas: 1 } },
    {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      propagationPolicy: 'Orphan',
      gracePeriodSeconds: 0,
      preconditions: { uid: 'u', resourceVersion: '7' },
      dryRun: ['All'],
    },
    { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Background', gracePeriodSeconds: 5 },
  ])
})

test("the body of a subresource has its own kind, or the object's", async () => {
  const { transport, requests } = recorder(() => Promise.resolve(answer(201, { kind: 'Status', status: 'Success' })))
  const client = new KubeClient({ api: new Api({ transport }), fieldManager: 'me' })
  const body = {
    apiVersion: 'v9',
    kind: 'Wrong',
    metadata: { name: 'wrong', labels: { a: 'b' } },
    spec: { replicas: 1 },
  }
  for (const name of ['eviction', 'token', 'binding', 'scale', 'toString', 'approval']) {
    await client.subresource(FOO, REF, name).create(body as never)
  }
  assert.deepEqual(
    requests.map((request) => bodyOf(request)),
    [
      ['policy/v1', 'Eviction'],
      ['authentication.k8s.io/v1', 'TokenRequest'],
      ['v1', 'Binding'],
      ['autoscaling/v1', 'Scale'],
      ['cases.dev/v1', 'Foo'],
      ['cases.dev/v1', 'Foo'],
    ].map(([apiVersion, kind]) => ({ ...body, apiVersion, kind, metadata: { labels: { a: 'b' }, ...REF } })),
  )
  assert.ok(
    requests.every(({ method, path }) =>
      method === 'POST' && path.startsWith('/apis/cases.dev/v1/namespaces/ns/foos/a/')
    ),
  )
})

test('a returned token is in no error, however the response breaks, and in no write record', async () => {
  const reported: unknown[] = []
  const broken = ['{"kind":"TokenRequest","status":{"token":"hunter2"', '{"status":{"token":"hunter2"}}x', '["hunter2"']
  const client = new KubeClient({
    api: new Api({ transport: () => Promise.resolve(answer(201, broken.shift() ?? '{"status":{"token":"hunter2"}}')) }),
    fieldManager: 'me',
    onWrite: (write) => reported.push(write),
  })
  const token = client.subresource({ ...FOO, kind: 'ServiceAccount' }, REF, 'token')
  for (let i = 0; i < 3; i++) {
    await assert.rejects(
      token.create({}),
      (error: Error) =>
        error.message.startsWith('Cannot create the token of ServiceAccount "ns/a": ') &&
        !error.stack!.includes('hunter2'),
    )
  }
  assert.equal((await token.create({})).status.token, 'hunter2')
  assert.deepEqual(reported, [
    { verb: 'create', group: 'cases.dev', kind: 'ServiceAccount/token', key: 'ns/a', result: 'created' },
  ])
})
