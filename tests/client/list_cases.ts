/** Cases of pages, watches and deletions for any API server. */
import assert from 'node:assert/strict'
import type { ListPage, WatchChange } from '../../lib/client/client.ts'
import { isReason } from '../../lib/core/errors.ts'
import { asJson } from '../../lib/core/exact_json.ts'
import { markPartial } from '../../lib/core/partial.ts'
import { metadataOf } from '../../lib/core/resource.ts'
import {
  type Case,
  casesOf,
  CLUSTER_ROLE,
  CONFIG_MAP,
  type ConfigMap,
  FOO,
  methods,
  MISSING,
  results,
} from './case_bench.ts'
import { namespaced } from '../../lib/client/wrappers.ts'
import { refuses } from './transports.ts'

const names = (objects: readonly { metadata: { name: string } }[]): string[] =>
  objects.map(({ metadata }) => metadata.name)

export const LIST_CASES: readonly Case[] = casesOf({
  async 'each page is requested when the consumer asks for it'(it, { namespace }) {
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      await it.client.create(CONFIG_MAP, { metadata: { name, namespace, labels: { team: 'x' } } })
    }
    await it.client.create(CONFIG_MAP, { metadata: { name: 'other', namespace } })
    methods(it)
    const seen: ListPage<ConfigMap>[] = []
    for await (const page of it.client.pages(CONFIG_MAP, { namespace, labels: { team: 'x' }, limit: 2 })) {
      seen.push(page)
      assert.equal(methods(it).length, 1)
    }
    assert.deepEqual(seen.map(({ items }) => names(items)), [['a', 'b'], ['c', 'd'], ['e']])
    assert.deepEqual(seen[0]!.items.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`), [
      'v1 ConfigMap',
      'v1 ConfigMap',
    ])
    assert.equal(new Set(seen.map(({ resourceVersion }) => resourceVersion)).size, 1, 'all pages have one version')
    assert.equal(seen[2]!.continue, undefined)
    for await (
      const page of it.client.pages(CONFIG_MAP, {
        namespace,
        labels: 'team=x',
        limit: 4,
        continue: seen[0]!.continue!,
      })
    ) {
      assert.deepEqual(names(page.items), ['c', 'd', 'e'])
    }
    methods(it)
    for await (const page of it.client.pages(CONFIG_MAP, { namespace, limit: 1 })) if (page.continue) break
    assert.equal(methods(it).length, 1, 'leaving the loop sends no further request')
  },
  async 'pages of a kind that is not served throw'({ client }, { namespace }) {
    await assert.rejects(async () => {
      for await (const _ of client.pages(MISSING, { namespace }));
    }, /Cannot list nopes\.cases\.dev .*it does not serve this kind/)
  },
  async "a watch from a list's version misses nothing, and leaving the loop closes it"({ client }, { namespace }) {
    const first = await client.create(FOO, {
      metadata: { name: 'a', namespace, labels: { team: 'x' } },
      spec: { size: 1 },
    })
    let resourceVersion = ''
    for await (const page of client.pages(FOO, { namespace })) resourceVersion = page.resourceVersion
    await client.update(FOO, { ...first, spec: { size: 2 } })
    await client.create(FOO, { metadata: { name: 'hidden', namespace }, spec: { size: 2 } })
    await client.delete(FOO, first)
    const seen: string[] = []
    for await (const { type, object } of client.watch(FOO, { namespace, labels: 'team=x', resourceVersion })) {
      seen.push(`${type} ${object.kind} ${object.metadata.name} ${object.spec.size}`)
      if (type === 'DELETED') break
    }
    assert.deepEqual(seen, ['MODIFIED Foo a 2', 'DELETED Foo a 2'])
  },
  async 'objects of metadata-only pages and watches have their kind'({ client }, { namespace }) {
    const made = await client.create(CONFIG_MAP, { metadata: { name: 'a', namespace }, data: { x: '1' } })
    const kind = metadataOf(CONFIG_MAP)
    const whole = markPartial({ apiVersion: 'v1', kind: 'ConfigMap', metadata: made.metadata })
    const only = { namespace, fields: 'metadata.name=a' }
    for await (const { items } of client.pages(kind, only)) {
      assert.deepEqual(items.map((item) => asJson(item, '')), [whole])
    }
    for await (const { object } of client.watch(kind, only)) {
      assert.deepEqual(asJson(object, ''), whole)
      break
    }
  },
  async 'a watch without a version begins with the existing objects, and an abort throws its reason'(
    { client },
    { namespace },
  ) {
    for (const name of ['a', 'b']) await client.create(CONFIG_MAP, { metadata: { name, namespace } })
    const stop = new AbortController()
    const seen: WatchChange<ConfigMap>[] = []
    await assert.rejects(async () => {
      for await (const change of client.watch(CONFIG_MAP, { namespace, signal: stop.signal })) {
        seen.push(change)
        if (seen.length === 2) stop.abort(new Error('enough'))
      }
    }, /^Error: enough$/)
    assert.deepEqual(seen.map(({ type, object }) => `${type} ${object.metadata.name}`).sort(), ['ADDED a', 'ADDED b'])
    const ended = client.watch(CONFIG_MAP, { namespace, signal: stop.signal })[Symbol.asyncIterator]()
    await assert.rejects(ended.next(), /^Error: enough$/)
  },
  async 'a watch that the server refuses throws the reason'({ client }, { namespace }) {
    const first = async (options: object): Promise<unknown> =>
      await client.watch(FOO, { namespace, ...options })[Symbol.asyncIterator]().next()
    await assert.rejects(
      first({ labels: 'team in' }),
      (error: Error) =>
        isReason(error, 'BadRequest') &&
        error.message.startsWith(`Cannot watch foos.cases.dev in namespace "${namespace}": `),
    )
    await refuses('NotFound', client.watch(MISSING, { namespace })[Symbol.asyncIterator]().next())
  },
  async 'deleteAll deletes the selected objects of one namespace by one request'(it, { namespace }) {
    for (const [name, team] of [['a', 'x'], ['b', 'y'], ['c', 'x']] as const) {
      await it.client.create(CONFIG_MAP, {
        metadata: { name, namespace, labels: { team }, ...(name === 'c' ? { finalizers: ['cases.dev/hold'] } : {}) },
      })
    }
    methods(it)
    results(it)
    const trial = await it.client.deleteAll(CONFIG_MAP, { namespace, labels: { team: 'x' }, dryRun: true })
    assert.deepEqual(names(trial).sort(), ['a', 'c'])
    const gone = await it.client.deleteAll(CONFIG_MAP, { namespace, labels: { team: 'x' } })
    assert.deepEqual(gone.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort(), [
      'ConfigMap a',
      'ConfigMap c',
    ])
    assert.deepEqual([methods(it), it.writes.splice(0).map(({ verb, kind, key }) => `${verb} ${kind} ${key}`)], [
      ['DELETE', 'DELETE'],
      [`delete ConfigMap ${namespace}/*`],
    ])
    const left = await it.client.live.list(CONFIG_MAP, { namespace, labels: 'team' })
    assert.deepEqual(left.map(({ metadata }) => [metadata.name, metadata.deletionTimestamp !== undefined]), [[
      'b',
      false,
    ], ['c', true]])
    await it.client.patch(CONFIG_MAP, { namespace, name: 'c' }, { merge: { metadata: { finalizers: null } } })
    await it.client.deleteAll(CONFIG_MAP, { namespace, fields: 'metadata.name=b' })
    assert.deepEqual(await it.client.live.list(CONFIG_MAP, { namespace, labels: 'team' }), [])
    assert.deepEqual(await it.client.deleteAll(CONFIG_MAP, { namespace, labels: 'team=none' }), [])
  },
  async 'deleteAll needs a namespace for a namespaced kind only'(it, { namespace }) {
    const role = await it.client.create(CLUSTER_ROLE, {
      metadata: { name: `all-${namespace}`, labels: { of: namespace } },
    })
    methods(it)
    await assert.rejects(
      it.client.deleteAll(CONFIG_MAP, { labels: 'a=b' }),
      /^TypeError: Cannot delete all configmaps: it needs a namespace; the server deletes in one namespace at a time$/,
    )
    for (const limit of ['labels', 'fields']) {
      const unlimited = new RegExp(`^TypeError: Cannot delete: ${limit} is undefined, and would limit nothing`)
      await assert.rejects(it.client.deleteAll(CONFIG_MAP, { namespace, [limit]: undefined }), unlimited)
    }
    for (const limit of ['uid', 'resourceVersion']) {
      const deleted = it.client.delete(CONFIG_MAP, { namespace, name: 'a' }, { [limit]: undefined })
      await assert.rejects(deleted, new RegExp(`^TypeError: Cannot delete: ${limit} is undefined`))
    }
    const wide =
      /^TypeError: Cannot delete all clusterroles\.rbac\.authorization\.k8s\.io in a namespace: it is cluster-/
    await assert.rejects(it.client.deleteAll(CLUSTER_ROLE, { namespace }), wide)
    await assert.rejects(namespaced(it.client, namespace).deleteAll(CLUSTER_ROLE, {}), wide)
    assert.deepEqual(methods(it), [])
    assert.deepEqual(names(await it.client.deleteAll(CLUSTER_ROLE, { labels: { of: namespace } })), [
      role.metadata.name,
    ])
    await refuses(
      'NotFound',
      it.client.deleteAll(MISSING, { namespace }),
      /^Cannot delete all nopes\.cases\.dev in namespace/,
    )
  },
  async 'delete with a version spares a newer one, and a dry run deletes nothing'({ client }, { namespace }) {
    const first = await client.create(CONFIG_MAP, { metadata: { name: 'a', namespace } })
    const second = await client.update(CONFIG_MAP, { ...first, data: { x: '1' } })
    await refuses('Conflict', client.delete(CONFIG_MAP, first, { resourceVersion: first.metadata.resourceVersion }))
    assert.equal(await client.delete(CONFIG_MAP, first, { dryRun: true }), true)
    assert.ok(await client.live.get(CONFIG_MAP, first))
    assert.equal(
      await client.delete(CONFIG_MAP, second, {
        resourceVersion: second.metadata.resourceVersion,
        uid: first.metadata.uid,
        gracePeriodSeconds: 0,
      }),
      true,
    )
  },
})
