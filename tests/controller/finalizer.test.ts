import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Client } from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import { systemClock } from '../../lib/async/clock.ts'
import { Api } from '../../lib/client/api.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { installCrds } from '../../lib/crds/install.ts'
import { ApiError } from '../../lib/core/errors.ts'
import { Finalizer } from '../../lib/controller/finalizer.ts'
import type { Result } from '../../lib/controller/result.ts'
import type { KubeObject } from '../../lib/core/objects.ts'
import { CASES, KINDS, Thing } from './finalizer_cases.ts'

const server = new ApiServer()
const api = new Api({ transport: server.handle })
await installCrds(
  [Thing],
  { api, clock: systemClock, log: silentLog, fieldManager: 'test' },
  new AbortController().signal,
)

for (const resource of KINDS) {
  for (const [index, [name, run]] of CASES.entries()) {
    test(`${resource.kind}: ${name}`, () => run({ transport: server.handle, resource, name: `case-${index}` }))
  }
}

test('the last thousand objects are stored, counted from their last run', async () => {
  const finalizer = new Finalizer(Thing, 'example.dev/ours')
  const client = { patch: async () => undefined } as unknown as Client
  const cleaned: number[] = []
  const clean = async (number: number, ...results: [{ requeueAfter: '1s' }] | []): Promise<void> => {
    const metadata = {
      name: 'a',
      namespace: 'default',
      uid: `${number}`,
      resourceVersion: '1',
      creationTimestamp: '',
      deletionTimestamp: 'now',
      finalizers: ['example.dev/ours'],
    }
    const object: KubeObject = { apiVersion: 'test.dev/v1', kind: 'Thing', metadata }
    const cleanup = async () => (cleaned.push(number), results[0])
    const reconcile = () => Promise.reject(new Error('it is being deleted'))
    await finalizer.run(object, { client, read: async () => undefined, reconcile, cleanup })
  }
  for (const number of [0, 1]) await clean(number, { requeueAfter: '1s' })
  await clean(0)
  for (let number = 2; number <= 1000; number++) await clean(number)
  cleaned.length = 0
  for (const number of [0, 2, 1000]) await clean(number)
  assert.deepEqual(cleaned, [])
  // 1 was forgotten first, because 0 was seen again; 0 is next.
  await clean(1001)
  await clean(0)
  assert.deepEqual(cleaned, [1001, 0])
})

test('an object that the server has again as before its cleanup, as after a restore of etcd, is worked on again', async () => {
  const OURS = 'example.dev/ours'
  const object = (changes: object): KubeObject => {
    const metadata = { name: 'a', namespace: 'default', uid: '1', resourceVersion: '1', creationTimestamp: '' }
    return { apiVersion: 'test.dev/v1', kind: 'Thing', metadata: { ...metadata, ...changes } }
  }
  const [living, deleted] = [object({ finalizers: [OURS] }), object({ finalizers: [OURS], deletionTimestamp: 'now' })]
  const cases:
    readonly (readonly [isEnded: boolean, cached: KubeObject, live: KubeObject | undefined, did: string[]])[] = [
      [true, living, living, ['reconcile']],
      [true, deleted, deleted, ['cleanup']],
      [false, living, living, ['reconcile']],
      // The cache is older than the cleanup.
      [true, living, undefined, []],
      [true, deleted, object({ deletionTimestamp: 'now' }), []],
      [true, living, object({ uid: '2', finalizers: [OURS] }), []],
      [false, living, deleted, []],
    ]
  for (const [isEnded, cached, live, wanted] of cases) {
    const finalizer = new Finalizer(Thing, OURS)
    const did: string[] = []
    let result: Result = isEnded ? undefined : { requeueAfter: '1s' }
    const work = {
      client: { patch: async () => living } as unknown as Client,
      read: async () => live,
      reconcile: async () => void did.push('reconcile'),
      cleanup: async () => (did.push('cleanup'), result),
    }
    await finalizer.run(deleted, work)
    did.length = 0
    result = undefined
    await finalizer.run(cached, work)
    assert.deepEqual(did, wanted)
  }
})

test('after a conflict, an object that has left the selection gets no finalizer, and loses the one that it has', async () => {
  for (const isDeleted of [false, true]) {
    const name = 'example.dev/ours'
    const metadata = { name: 'a', namespace: 'default', uid: 'u', resourceVersion: '1', creationTimestamp: '' }
    const deletion = { deletionTimestamp: 'now', finalizers: [name] }
    const object = { apiVersion: 'v1', kind: 'Thing', metadata: { ...metadata, ...(isDeleted && deletion) } }
    const calls: string[] = []
    const status = { kind: 'Status', reason: 'Conflict', code: 409, message: 'changed' }
    const client = {
      patch: async () => {
        calls.push('patch')
        if (calls.filter((call) => call === 'patch').length === 1) {
          throw new ApiError('changed', status as never, { code: 409 })
        }
        return object
      },
      live: { get: async () => (calls.push('live read'), object) },
    } as unknown as Client
    await new Finalizer(Thing, name).run(object, {
      client,
      read: async () => void calls.push('read within the selection'),
      reconcile: async () => void calls.push('reconcile'),
      cleanup: async () => void calls.push('cleanup'),
    })
    const expected = isDeleted ? ['cleanup', 'patch', 'live read', 'patch'] : ['patch', 'read within the selection']
    assert.deepEqual(calls, expected)
  }
})
