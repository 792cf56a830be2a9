/** Cases of finalizer runs with objects as stale as in a cache, for any API server. */
import assert from 'node:assert/strict'
import { type Client, defineResource, type Resource, type Transport } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'
import { Finalizer } from '../../lib/controller/finalizer.ts'
import type { Result } from '../../lib/controller/result.ts'
import type { KubeObject } from '../../lib/core/objects.ts'
import type { HttpRequest, HttpResponse } from '../../lib/core/transport.ts'
import { Api } from '../../lib/client/api.ts'
import { KubeClient } from '../../lib/client/kube_client.ts'
import { refusal } from '../client/transports.ts'
import * as z from 'zod'

const OURS = 'example.dev/ours'

/** A custom resource: servers handle its metadata in other code than that of built-in kinds. */
export const Thing = defineResource({ group: 'test.dev', version: 'v1', kind: 'Thing', spec: z.object({}) })
export const KINDS: readonly Resource<KubeObject, object>[] = [ConfigMap as never, Thing as never]

export interface Place {
  readonly transport: Transport
  readonly resource: Resource<KubeObject, object>
  /** A unique name in the namespace `default`. */
  readonly name: string
}

type Instead = (request: HttpRequest) => HttpResponse | undefined

/** Runs a finalizer on one object. `instead` answers requests in place of the server. */
function working({ transport, resource, name }: Place, instead: Instead = () => undefined) {
  const REF = { namespace: 'default', name }
  const asked: string[] = []
  const admin: Client = new KubeClient({ api: new Api({ transport }), fieldManager: 'admin' })
  const client = new KubeClient({
    api: new Api({
      transport: (request) => {
        asked.push(request.method)
        const answer = instead(request)
        return answer ? Promise.resolve(answer) : transport(request)
      },
    }),
    fieldManager: 'test',
    // The finalizer must work with a stale cache.
    reader: () => ({ get: async () => undefined, list: async () => [], lookup: async () => [] }),
  })
  const finalizer = new Finalizer(resource, OURS)
  const done: string[] = []
  return {
    client,
    asked,
    done,
    what: `${resource.kind} "default/${name}"`,
    create: (finalizers: readonly string[] = []) =>
      admin.create(resource, { metadata: { ...REF, finalizers }, ...(resource.group ? { spec: {} } : {}) }),
    /** Changes the finalizers of others. */
    others: (finalizers: string[]) =>
      admin.edit(resource, REF, (draft) => void (draft.metadata.finalizers = finalizers)),
    async finalizers(): Promise<readonly string[] | 'gone'> {
      const object = await admin.get(resource, REF)
      return object ? (object.metadata.finalizers ?? []) : 'gone'
    },
    delete: () => admin.delete(resource, REF),
    async deleted(): Promise<KubeObject> {
      await admin.delete(resource, REF)
      return (await admin.get(resource, REF))!
    },
    run: (
      object: KubeObject,
      cleanup: (object: KubeObject) => Result | Promise<Result> = () => {},
      by = client,
    ): Promise<Result> =>
      finalizer.run(object, {
        client: by,
        read: (found) => by.live.get(resource, found),
        reconcile: async ({ metadata }) =>
          void done.push(
            `reconciled ${metadata.uid === object.metadata.uid ? 'it' : 'another'} with ${metadata.finalizers?.join()}`,
          ),
        cleanup: async (deleted) => {
          done.push('cleaned up')
          return await cleanup(deleted)
        },
      }),
  }
}

export const CASES: readonly (readonly [name: string, run: (place: Place) => Promise<void>])[] = [
  ['the finalizer is added before the reconcile, in the same run', async (place) => {
    const { create, run, done, asked, finalizers } = working(place)
    await run(await create())
    assert.deepEqual([done, asked], [[`reconciled it with ${OURS}`], ['PATCH']])
    assert.deepEqual(await finalizers(), [OURS])
  }],
  ['a finalizer that another writer added in the meantime stays', async (place) => {
    const { create, others, run, done, finalizers } = working(place)
    const [bare, other] = [await create(), await others(['b/b'])]
    await run(bare)
    assert.deepEqual(await finalizers(), ['b/b', OURS])
    await others(['c/c', 'b/b'])
    await run(other!)
    assert.deepEqual(await finalizers(), ['c/c', 'b/b', OURS])
    assert.equal(done.length, 2)
  }],
  ['a new object with the same name is reconciled with its own finalizer', async (place) => {
    const { create, delete: remove, run, done, finalizers } = working(place)
    const stale = await create()
    await remove()
    await create()
    await run(stale)
    assert.deepEqual([done, await finalizers()], [[`reconciled another with ${OURS}`], [OURS]])
  }],
  ['a deleted object is cleaned up, and then the finalizer is removed', async (place) => {
    const { create, deleted, run, done, asked, finalizers } = working(place)
    await create([OURS])
    const seen: unknown[] = []
    await run(await deleted(), ({ metadata }) => void seen.push(metadata.deletionTimestamp !== undefined))
    assert.deepEqual([done, seen, asked, await finalizers()], [['cleaned up'], [true], ['PATCH'], 'gone'])
  }],
  ['all duplicates of it are removed, and those of others stay in their order', async (place) => {
    const { create, deleted, run, finalizers } = working(place)
    await create([OURS, 'b/b', OURS, 'c/c', OURS])
    await run(await deleted())
    assert.deepEqual(await finalizers(), ['b/b', 'c/c'])
  }],
  [
    'if others remove theirs during the cleanup, there is no second cleanup, and no finalizer is lost',
    async (place) => {
      const { create, deleted, others, run, done, asked, finalizers } = working(place)
      await create(['b/b', 'c/c', OURS, 'd/d'])
      await run(await deleted(), async () => void (await others(['c/c', OURS, 'd/d'])))
      assert.deepEqual([done, asked, await finalizers()], [['cleaned up'], ['PATCH', 'GET', 'PATCH'], ['c/c', 'd/d']])
    },
  ],
  ['an incomplete cleanup keeps the finalizer and the key', async (place) => {
    const { create, deleted, run, asked, finalizers } = working(place)
    await create([OURS])
    const object = await deleted()
    for (const result of [{ requeueAfter: '5s' }, { requeue: true }, { requeue: true, requeueAfter: 0 }] as const) {
      assert.deepEqual(await run(object, () => result), result)
    }
    assert.deepEqual([asked, await finalizers()], [[], [OURS]])
  }],
  ['a cleanup that fails, or returns no delay, keeps the finalizer', async (place) => {
    const { create, deleted, run, asked, finalizers } = working(place)
    await create([OURS])
    const object = await deleted()
    await assert.rejects(
      run(object, () => Promise.reject(new Error('the cloud is down'))),
      /^Error: the cloud is down$/,
    )
    await assert.rejects(
      run(object, () => ({ requeueAfter: 0 })),
      /Cannot clean up again after 0: a cleanup returns nothing when it is complete/,
    )
    await assert.rejects(run(object, () => ({ requeue: false })), RangeError)
    await assert.rejects(run(object, () => ({}) as never), RangeError)
    assert.deepEqual(await run(object, () => ({ requeueAter: '5s' }) as never), { requeueAter: '5s' })
    assert.deepEqual([asked, await finalizers()], [[], [OURS]])
  }],
  ['an abandoned run does not remove the finalizer', async (place) => {
    const { client, create, deleted, run, asked, finalizers } = working(place)
    await create([OURS])
    const object = await deleted()
    const running = new AbortController()
    await assert.rejects(
      run(object, () => running.abort(new Error('it took too long')), client.bound(running)),
      /it took too long/,
    )
    const fence = {
      signal: new AbortController().signal,
      check: () => {
        throw new Error('the lease is lost')
      },
    }
    await assert.rejects(run(object, () => {}, client.fenced(fence)), /the lease is lost/)
    assert.deepEqual([asked, await finalizers()], [[], [OURS]])
  }],
  ['the error of a refused write names the write, and keeps its cause', async (place) => {
    let code = 403
    const { what, create, run, done, asked } = working(
      place,
      ({ method }) => (method === 'PATCH' ? refusal(code, '', {}, `the server says ${code}`) : undefined),
    )
    const stale = await create()
    const message = 'Cannot add the finalizer "example.dev/ours" to ' +
      `${what}: Cannot patch ${what}: the server says 403`
    await assert.rejects(
      run(stale),
      (error: Error) => error.message === message && (error.cause as { code: number }).code === 403,
    )
    assert.deepEqual([asked.splice(0), done], [['PATCH'], []])
    // An object that is invalid for another reason is not retried.
    code = 422
    await assert.rejects(run(stale), /Cannot add the finalizer .*the server says 422/)
    assert.deepEqual([asked.splice(0), done], [['PATCH', 'GET'], []])
    code = 409
    await assert.rejects(run(stale), /the server says 409/)
    assert.equal(asked.splice(0).filter((method) => method === 'PATCH').length, 5)
  }],
]
