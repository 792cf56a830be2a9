/** Cases of wrapped clients for any API server. */
import assert from 'node:assert/strict'
import { intercepted, namespaced } from '../../lib/client/wrappers.ts'
import { defineIndex } from '../../lib/core/object_indexer.ts'
import { Deployment } from '../../lib/kinds/mod.ts'
import { type Case, casesOf, CLUSTER_ROLE, CONFIG_MAP, FOO, methods } from './case_bench.ts'

const byName = defineIndex(CONFIG_MAP, ({ metadata }) => metadata.name)

export const WRAPPER_CASES: readonly Case[] = casesOf({
  async 'a client for one namespace fills it in, and another namespace throws before anything is sent'(
    it,
    { namespace },
  ) {
    const client = namespaced(it.client, namespace)
    const made = await client.create(CONFIG_MAP, { metadata: { name: 'a' } })
    assert.equal(made.metadata.namespace, namespace)
    const here = { name: 'a' } as unknown as { namespace: string; name: string }
    assert.equal((await client.get(CONFIG_MAP, here))?.metadata.uid, made.metadata.uid)
    assert.equal((await client.get(CONFIG_MAP, { metadata: here }))?.metadata.uid, made.metadata.uid)
    assert.equal((await client.apply(CONFIG_MAP, { metadata: { name: 'a' }, data: { x: '1' } })).data?.['x'], '1')
    assert.equal(
      (await client.edit(CONFIG_MAP, here, (draft) => {
        draft.data = { x: '2' }
      }))?.data?.['x'],
      '2',
    )
    for (const ref of [here, made]) {
      assert.equal(
        (await client.createOrUpdate(CONFIG_MAP, ref, (draft) => {
          draft.data = { x: `3 by ${JSON.stringify(ref)}` }
        })).result,
        'updated',
      )
    }
    const another = await client.createOrUpdate(CONFIG_MAP, { ...here, name: 'b' }, () => {})
    assert.deepEqual([another.object.metadata.namespace, another.result], [namespace, 'created'])
    await client.delete(CONFIG_MAP, another.object)
    assert.equal((await client.patch(CONFIG_MAP, here, { merge: { data: { x: '4' } } })).data?.['x'], '4')
    assert.deepEqual((await client.lookup(byName, 'a')).map(({ metadata }) => metadata.namespace), [namespace])
    methods(it)
    const there = { namespace: 'elsewhere', name: 'a' }
    const refused: readonly (() => Promise<unknown>)[] = [
      () => client.get(CONFIG_MAP, there),
      () => client.list(CONFIG_MAP, { namespace: 'elsewhere' }),
      () => client.create(CONFIG_MAP, { metadata: there }),
      () => client.update(CONFIG_MAP, { ...made, metadata: { ...made.metadata, namespace: 'elsewhere' } }),
      () => client.apply(CONFIG_MAP, { metadata: there }),
      () => client.edit(CONFIG_MAP, there, () => {}),
      () => client.createOrUpdate(CONFIG_MAP, there, () => {}),
      () => client.patch(CONFIG_MAP, there, { merge: {} }),
      () => client.setStatus(FOO, there, {}),
      () => client.delete(CONFIG_MAP, there),
      () => client.deleteAll(CONFIG_MAP, { namespace: 'elsewhere' }),
      () => client.live.get(CONFIG_MAP, there),
      async () => await client.subresource(Deployment, there, 'scale').get(),
      async () => await client.pages(CONFIG_MAP, { namespace: 'elsewhere' })[Symbol.asyncIterator]().next(),
      async () => await client.watch(CONFIG_MAP, { namespace: 'elsewhere' })[Symbol.asyncIterator]().next(),
    ]
    for (const call of refused) {
      await assert.rejects(
        call(),
        (error: Error) =>
          error instanceof TypeError && error.message.endsWith(`: this client is for namespace "${namespace}" only`),
        call.toString(),
      )
    }
    assert.deepEqual(methods(it), [])
  },
  async 'a client for one namespace lists, watches and deletes there, and does not affect cluster-scoped kinds'(
    it,
    { namespace },
  ) {
    const client = namespaced(it.client, namespace)
    await it.client.create(CONFIG_MAP, { metadata: { name: `of-${namespace}`, namespace: 'default' } })
    for (const name of ['a', 'b']) await client.create(CONFIG_MAP, { metadata: { name, labels: { mine: 'yes' } } })
    const isHere = ({ metadata }: { metadata: { namespace?: string | undefined } }): boolean =>
      metadata.namespace === namespace
    const listed = await client.list(CONFIG_MAP)
    assert.ok(listed.length >= 2 && listed.every(isHere))
    for await (const page of client.pages(CONFIG_MAP, { limit: 100 })) assert.ok(page.items.every(isHere))
    for await (const { object } of client.watch(CONFIG_MAP, { labels: 'mine' })) {
      assert.ok(isHere(object))
      if (object.metadata.name === 'b') break
    }
    assert.equal((await client.deleteAll(CONFIG_MAP, { labels: 'mine' })).length, 2)
    assert.deepEqual(await client.lookup(byName, `of-${namespace}`), [])
    const unset = { labels: 'none', namespace: undefined } as unknown as { labels: string }
    await assert.rejects(
      client.deleteAll(CLUSTER_ROLE, unset),
      /it is cluster-scoped, and all its objects would be deleted$/,
    )
    const role = await client.create(CLUSTER_ROLE, { metadata: { name: `role-${namespace}` } })
    assert.equal((await client.get(CLUSTER_ROLE, role))?.metadata.namespace, undefined)
    assert.equal(await client.delete(CLUSTER_ROLE, role), true)
    assert.equal(await it.client.delete(CONFIG_MAP, { namespace: 'default', name: `of-${namespace}` }), true)
  },
  async 'an intercepted client calls its hooks, also for reads and writes of edit and createOrUpdate, and in live'(
    it,
    { namespace },
  ) {
    const calls: string[] = []
    const client = intercepted(it.client, {
      get: (inner, resource, ref) => {
        calls.push('get')
        return inner.get(resource, ref)
      },
      create: async (inner, resource, object, options) => {
        calls.push('create')
        return await inner.create(resource, object, { ...options, fieldManager: 'hook' })
      },
      update: (inner, resource, object, options) => {
        calls.push('update')
        return inner.update(resource, object, options)
      },
      delete: () => Promise.reject(new Error('read-only')),
      watch: async function* () {
        yield* []
      },
    })
    const { object } = await client.createOrUpdate(CONFIG_MAP, { namespace, name: 'a' }, () => {})
    await client.edit(CONFIG_MAP, object, (draft) => {
      draft.data = { x: '1' }
    })
    await client.live.get(CONFIG_MAP, object)
    assert.deepEqual(calls, ['get', 'create', 'get', 'update', 'get'])
    assert.match(it.network.requests.find(({ method }) => method === 'POST')!.path, /fieldManager=hook/)
    await assert.rejects(client.delete(CONFIG_MAP, object), /^Error: read-only$/)
    for await (const _ of client.watch(CONFIG_MAP, { namespace })) assert.fail()
    assert.equal(
      (await client.list(CONFIG_MAP, { namespace, labels: '!x', fields: 'metadata.name=a' })).length,
      1,
      'what has no hook is as it was',
    )
  },
}, { caches: false })
