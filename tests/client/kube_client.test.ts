import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import { Api } from '../../lib/client/api.ts'
import { KubeClient } from '../../lib/client/kube_client.ts'
import type { Transport } from '../../lib/core/transport.ts'
import { FakeClock } from '../../lib/testing/fake_clock.ts'
import { CASES, CRD, FOO, FOO_CRD, NAMESPACE } from './client_cases.ts'
import { answer, bodyOf, recorder, silence } from './transports.ts'

async function serve(): Promise<Transport> {
  const clock = new FakeClock()
  const { handle } = new ApiServer({ clock })
  const api = new Api({ transport: handle })
  await api.create({ resource: CRD }, FOO_CRD, {})
  await api.create({ resource: NAMESPACE }, { metadata: { name: 'cases' } }, {})
  await clock.advance(10_000)
  return handle
}

for (const { name, run } of CASES) {
  test(name, async () => await run({ transport: await serve(), namespace: 'cases' }))
}

const REF = { namespace: 'ns', name: 'a' }
const foo = { apiVersion: 'cases.dev/v1', kind: 'Foo', metadata: { ...REF, uid: 'u', resourceVersion: '1', creationTimestamp: '' }, spec: { size: 1 } }

test('a client that is bound to a run ends with it, and tells that run of its writes', async () => {
  const told: string[] = []
  const client = new KubeClient({ api: new Api({ transport: () => Promise.resolve(answer(200, foo)) }), fieldManager: 'me', onWrite: () => told.push('all') })
  const run = new AbortController()
  const bound = client.bound(run.signal, () => told.push('run'))
  await bound.patch(FOO, REF, { merge: {} })
  await bound.live.patch(FOO, REF, { merge: {} })
  await client.patch(FOO, REF, { merge: {} })
  assert.deepEqual(told, ['run', 'run', 'all'])
  run.abort(new Error('the run has ended'))
  for (const call of [bound.patch(FOO, REF, { merge: {} }), bound.live.get(FOO, REF), bound.get(FOO, REF), bound.delete(FOO, REF)]) await assert.rejects(call, /^Error: the run has ended$/)
  await client.patch(FOO, REF, { merge: {} })
})

test('each write may be ended by a signal of its own', async () => {
  const client = new KubeClient({ api: new Api({ transport: silence }), fieldManager: 'me' })
  const calls: readonly ((signal: AbortSignal) => Promise<unknown>)[] = [
    (signal) => client.create(FOO, { metadata: REF, spec: { size: 1 } }, { signal }),
    (signal) => client.update(FOO, foo, { signal }),
    (signal) => client.apply(FOO, { metadata: REF, spec: { size: 1 } }, { signal }),
    (signal) => client.patch(FOO, REF, { merge: {} }, { signal }),
    (signal) => client.delete(FOO, REF, { signal }),
  ]
  for (const call of calls) {
    const stop = new AbortController()
    const outcome = assert.rejects(call(stop.signal), /^Error: enough$/)
    stop.abort(new Error('enough'))
    await outcome
  }
})

test('every write says who owns its fields, and what to do about unknown ones', async () => {
  const { transport, requests } = recorder(() => Promise.resolve(answer(200, foo)))
  const client = new KubeClient({ api: new Api({ transport }), fieldManager: 'me', fieldValidation: 'Strict' })
  await client.create(FOO, { metadata: REF, spec: { size: 1 } })
  await client.update(FOO, foo)
  await client.apply(FOO, { metadata: REF, spec: { size: 1 } }, { fieldManager: 'other' })
  await client.patch(FOO, REF, { merge: {} }, { dryRun: true })
  await client.setStatus(FOO, REF, {})
  await client.delete(FOO, REF)
  assert.deepEqual(requests.map(({ path }) => path.split('?')[1]), [
    'fieldManager=me&fieldValidation=Strict', 'fieldManager=me&fieldValidation=Strict', 'fieldManager=other&fieldValidation=Strict&force=true',
    'dryRun=All&fieldManager=me&fieldValidation=Strict', 'fieldManager=me&fieldValidation=Strict', undefined,
  ])
  assert.deepEqual(bodyOf(requests.at(-1)), { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Background' })
})

test('one field manager\'s last apply is not another\'s', async () => {
  const { transport, requests } = recorder(() => Promise.resolve(answer(200, foo)))
  const api = new Api({ transport })
  const reader = { watches: () => true, get: () => Promise.resolve(foo as never), list: () => Promise.resolve([]), lookup: () => Promise.resolve([]) }
  const client = new KubeClient({ api, reader: () => reader, fieldManager: 'me' })
  const desired = { metadata: REF, spec: { size: 1 } }
  for (const fieldManager of ['me', 'me', 'other', 'other', 'me']) await client.apply(FOO, desired, { fieldManager })
  assert.equal(requests.length, 2)
})
