/**
 * Cases of the client's verbs for any API server, embedded or real. Each case has its own namespace.
 */
import assert from 'node:assert/strict'
import { ApiError, isReason } from '../../lib/core/errors.ts'
import type { DesiredMeta, KubeObject } from '../../lib/core/objects.ts'
import {
  bench,
  type Case,
  casesOf,
  CLUSTER_ROLE,
  CONFIG_MAP,
  type ConfigMap,
  FOO,
  methods,
  MISSING,
  results,
  SERVICE,
} from './case_bench.ts'
import { refuses } from './transports.ts'

export const CLIENT_CASES: readonly Case[] = [
  ...casesOf({
    async 'create creates an object, and a second one of its name is AlreadyExists'(it, { namespace }) {
      const made = await it.client.create(CONFIG_MAP, {
        metadata: { name: 'a', namespace },
        data: { x: '1', gone: undefined },
      })
      assert.deepEqual(
        [made.apiVersion, made.kind, made.data, made.metadata.namespace],
        ['v1', 'ConfigMap', { x: '1' }, namespace],
      )
      assert.ok(made.metadata.uid && made.metadata.resourceVersion)
      await assert.rejects(
        it.client.create(CONFIG_MAP, { metadata: { name: 'a', namespace } }),
        (error: Error) =>
          error.message === `Cannot create ConfigMap "${namespace}/a": configmaps "a" already exists` &&
          isReason(error, 'AlreadyExists'),
      )
      assert.deepEqual(results(it), ['create ConfigMap created'])
    },
    async 'create lets the server generate a name'(it, { namespace }) {
      const made = await it.client.create(CONFIG_MAP, {
        metadata: { generateName: 'gen-', namespace },
      })
      assert.match(made.metadata.name, /^gen-.{5}$/)
      assert.equal(it.writes[0]!.key, `${namespace}/${made.metadata.name}`)
    },
    async 'update replaces the object at the version that was read, and conflicts if it has changed'(
      it,
      { namespace },
    ) {
      const first = await it.client.create(FOO, { metadata: { name: 'a', namespace }, spec: { size: 1, list: ['x'] } })
      const second = await it.client.update(FOO, { ...first, spec: { size: 2 } })
      assert.deepEqual(second.spec, { size: 2 })
      await assert.rejects(
        it.client.update(FOO, { ...first, spec: { size: 3 } }),
        (error: Error) =>
          isReason(error, 'Conflict') && error.message.startsWith(`Cannot update Foo "${namespace}/a": `),
      )
      await it.client.update(FOO, second)
      assert.deepEqual(results(it), ['create Foo created', 'update Foo changed', 'update Foo unchanged'])
      await refuses('NotFound', it.client.update(FOO, { ...second, metadata: { ...second.metadata, name: 'nope' } }))
    },
    async 'update does not change the status, and setStatus does not change the spec'({ client }, { namespace }) {
      const made = await client.create(FOO, { metadata: { name: 'a', namespace }, spec: { size: 1 } })
      assert.equal((await client.update(FOO, { ...made, status: { phase: 'Forged' } })).status, undefined)
      const set = await client.setStatus(FOO, { namespace, name: 'a' }, { phase: 'Ready' })
      assert.deepEqual([set.spec, set.status], [{ size: 1 }, { phase: 'Ready' }])
    },
    async 'setStatus replaces the whole status, and sends nothing if the cache has it already'(it, { namespace }) {
      const made = await it.client.create(FOO, { metadata: { name: 'a', namespace }, spec: { size: 1 } })
      results(it)
      const first = await it.client.setStatus(FOO, made, { phase: 'Ready', count: 1, nested: { a: 'x' } })
      const second = await it.client.setStatus(FOO, made, {
        phase: 'Ready',
        count: undefined,
        nested: { a: undefined },
      })
      assert.deepEqual([first.status, second.status], [{ phase: 'Ready', count: 1, nested: { a: 'x' } }, {
        phase: 'Ready',
        nested: {},
      }])
      it.cached.set('a', second)
      methods(it)
      assert.equal(await it.client.setStatus(FOO, made, { count: undefined, nested: {}, phase: 'Ready' }), second)
      assert.deepEqual([methods(it), results(it)], [[], [
        'status Foo changed',
        'status Foo changed',
        'status Foo unchanged',
      ]])
      const emptied = await it.client.setStatus(FOO, made, {})
      assert.deepEqual(emptied.status, {})
    },
    async 'setStatus of a deleted object does not change a later one of the same name'(it, { namespace }) {
      const old = await it.client.create(FOO, { metadata: { name: 'a', namespace }, spec: { size: 1 } })
      await it.client.delete(FOO, old)
      await refuses('NotFound', it.client.setStatus(FOO, old, { phase: 'Ready' }))
      const namesake = await it.client.create(FOO, { metadata: { name: 'a', namespace }, spec: { size: 2 } })
      await assert.rejects(
        it.client.setStatus(FOO, old, { phase: 'Ready' }),
        (error: Error) =>
          isReason(error, 'Conflict') &&
          error.message ===
            `Cannot set the status of Foo "${namespace}/a": the object with uid "${old.metadata.uid}" was deleted, and another one has its name now` &&
          error.cause instanceof ApiError,
      )
      // The cached later object is no result for the old one.
      it.cached.set('a', await it.client.setStatus(FOO, namesake, { phase: 'Ready' }))
      await refuses('Conflict', it.client.setStatus(FOO, old, { phase: 'Ready' }))
      assert.equal((await it.client.setStatus(FOO, { namespace, name: 'a' }, { phase: 'Done' })).status?.phase, 'Done')
    },
    async 'the error for an invalid status names the field'({ client }, { namespace }) {
      const made = await client.create(FOO, { metadata: { name: 'a', namespace }, spec: { size: 1 } })
      await assert.rejects(
        client.setStatus(FOO, made, { count: 'many' as never }),
        (error: Error) => isReason(error, 'Invalid') && error.causes.some(({ field }) => field === 'status.count'),
      )
    },
    async "apply creates an object, changes it, removes fields no longer desired, and keeps others' fields"(
      it,
      { namespace },
    ) {
      const desired = (
        data: Record<string, string>,
      ): { metadata: DesiredMeta & { namespace: string }; data: Record<string, string> } => ({
        metadata: { name: 'a', namespace },
        data,
      })
      it.cached.set('a', await it.client.apply(CONFIG_MAP, desired({ x: '1', y: '1' })))
      it.cached.set(
        'a',
        await it.client.patch(CONFIG_MAP, { namespace, name: 'a' }, { merge: { data: { theirs: 'kept' } } }, {
          fieldManager: 'other',
        }),
      )
      it.cached.set('a', await it.client.apply(CONFIG_MAP, desired({ x: '2' })))
      assert.deepEqual((it.cached.get('a') as ConfigMap).data, { x: '2', theirs: 'kept' })
      assert.deepEqual(results(it), ['apply ConfigMap created', 'patch ConfigMap changed', 'apply ConfigMap changed'])
    },
    async 'apply is forced by default'({ client }, { namespace }) {
      const ref = { namespace, name: 'a' }
      await client.apply(CONFIG_MAP, { metadata: ref, data: { x: '1' } })
      await client.patch(CONFIG_MAP, ref, { merge: { data: { x: '2' } } }, { fieldManager: 'other' })
      await refuses(
        'Conflict',
        client.apply(CONFIG_MAP, { metadata: ref, data: { x: '3' } }, { force: false }),
        /conflict with "other"/,
      )
      assert.equal((await client.apply(CONFIG_MAP, { metadata: ref, data: { x: '3' } })).data?.['x'], '3')
    },
    async 'apply is not sent again while the object has the result of the last one'(it, { namespace }) {
      const desired = { metadata: { name: 'a', namespace }, spec: { selector: { app: 'a' }, ports: [{ port: 80 }] } }
      it.cached.set('a', await it.client.apply(SERVICE, desired))
      assert.equal(
        (it.cached.get('a') as unknown as { spec: { ports: { targetPort: number }[] } }).spec.ports[0]!.targetPort,
        80,
        'the server filled something in',
      )
      methods(it)
      results(it)
      assert.equal(await it.client.apply(SERVICE, structuredClone(desired)), it.cached.get('a'))
      assert.deepEqual([methods(it), results(it)], [[], ['apply Service unchanged']])

      // It is sent after another desired object, a change by others, a new object of the name, or a deletion.
      await it.client.apply(SERVICE, { ...desired, spec: { ...desired.spec, sessionAffinity: 'ClientIP' } })
      it.cached.set('a', await it.client.apply(SERVICE, desired))
      assert.deepEqual(methods(it), ['PATCH', 'PATCH'])
      const before = it.cached.get('a')!
      it.cached.set(
        'a',
        await it.client.patch(SERVICE, { namespace, name: 'a' }, {
          merge: { spec: { ports: [{ port: 80, targetPort: 8080 }] } },
        }, { fieldManager: 'other' }),
      )
      methods(it)
      it.cached.set('a', await it.client.apply(SERVICE, desired))
      assert.deepEqual(methods(it), ['PATCH'])
      // Another writer's key in an atomic map: no desired field has changed.
      const spec = (object: KubeObject | undefined): { selector?: object } => (object as { spec?: object })?.spec ?? {}
      const patch = { merge: { spec: { selector: { theirs: 'yes' } } } }
      const drifted = await it.client.patch(SERVICE, { namespace, name: 'a' }, patch, { fieldManager: 'other' })
      assert.deepEqual(spec(drifted).selector, { app: 'a', theirs: 'yes' })
      it.cached.set('a', drifted)
      it.cached.set('a', await it.client.apply(SERVICE, desired))
      assert.deepEqual([methods(it), spec(it.cached.get('a')).selector], [['PATCH', 'PATCH'], { app: 'a' }])
      // A label of another writer stays, and costs one request.
      const labels = { merge: { metadata: { labels: { theirs: 'yes' } } } }
      it.cached.set('a', await it.client.patch(SERVICE, { namespace, name: 'a' }, labels, { fieldManager: 'other' }))
      methods(it)
      for (let time = 0; time < 2; time++) it.cached.set('a', await it.client.apply(SERVICE, desired))
      assert.deepEqual([methods(it), it.cached.get('a')?.metadata.labels], [['PATCH'], { theirs: 'yes' }])
      for (
        const metadata of [{ ...before.metadata, uid: 'another' }, {
          ...before.metadata,
          deletionTimestamp: '2026-01-01T00:00:00Z',
        }]
      ) {
        it.cached.set('a', { ...it.cached.get('a')!, metadata })
        methods(it)
        await it.client.apply(SERVICE, desired)
        assert.deepEqual(methods(it), ['PATCH'])
      }
      it.cached.delete('a')
      methods(it)
      await it.client.apply(SERVICE, desired)
      assert.deepEqual(methods(it), ['PATCH'], 'without a cached object it is sent without a read')
    },
    async 'an owner sets the namespace and becomes the controller, once'({ client }, { namespace }) {
      const owner = await client.create(FOO, { metadata: { name: 'owner', namespace }, spec: { size: 1 } })
      const reference = {
        apiVersion: 'cases.dev/v1',
        kind: 'Foo',
        name: 'owner',
        uid: owner.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      }
      const applied = await client.apply(CONFIG_MAP, { metadata: { name: 'a' } }, { owner })
      assert.deepEqual([applied.metadata.namespace, applied.metadata.ownerReferences], [namespace, [reference]])
      const created = await client.create(CONFIG_MAP, { metadata: { generateName: 'b-' } }, { owner })
      assert.deepEqual(created.metadata.ownerReferences, [reference])
      assert.deepEqual(
        (await client.update(CONFIG_MAP, created, { owner })).metadata.resourceVersion,
        created.metadata.resourceVersion,
      )
      const plain = await client.create(CONFIG_MAP, { metadata: { name: 'c', namespace } })
      const edited = await client.edit(CONFIG_MAP, plain, () => {}, { owner })
      assert.equal(edited, undefined) // it is not in this client's cache
      const adopted = await client.live.edit(CONFIG_MAP, plain, () => {}, { owner })
      assert.deepEqual(adopted?.metadata.ownerReferences, [reference])
    },
    async 'owners that the API forbids throw before anything is sent'(it, { namespace }) {
      const owner = await it.client.create(FOO, { metadata: { name: 'owner', namespace }, spec: { size: 1 } })
      const other = await it.client.create(FOO, { metadata: { name: 'other', namespace }, spec: { size: 1 } })
      const owned = await it.client.create(CONFIG_MAP, { metadata: { name: 'a' } }, { owner })
      const cached = { metadata: { name: 'cached' }, spec: { size: 1 } }
      it.cached.set('cached', await it.client.create(FOO, cached, { owner }))
      methods(it)
      // Two owners with one field manager would take it from each other in turn.
      await assert.rejects(it.client.apply(FOO, cached, { owner: other }), {
        name: 'AlreadyOwned',
        message: `Cannot make Foo "other" own Foo "${namespace}/cached": Foo "owner" controls it already`,
      })
      await assert.rejects(it.client.update(CONFIG_MAP, owned, { owner: other }), {
        name: 'AlreadyOwned',
        message: `Cannot make Foo "other" own ConfigMap "${namespace}/a": Foo "owner" controls it already`,
      })
      await assert.rejects(
        it.client.apply(CONFIG_MAP, { metadata: { name: 'b', namespace: 'elsewhere' } }, { owner }),
        /owners do not reach across namespaces/,
      )
      await assert.rejects(
        it.client.create(CLUSTER_ROLE, { metadata: { generateName: 'c-' } }, { owner }),
        /Cannot make Foo "owner" own a new ClusterRole: .*the object is cluster-scoped/,
      )
      assert.deepEqual(methods(it), [])
    },
    async 'edit changes a draft of the newest object, and sends nothing without a change'(it, { namespace }) {
      const ref = { namespace, name: 'a' }
      it.cached.set('a', deepFreeze(await it.client.create(FOO, { metadata: ref, spec: { size: 1, list: ['x'] } })))
      results(it)
      methods(it)
      assert.equal(
        await it.client.edit(FOO, ref, (foo) => {
          foo.spec.list = ['x']
        }),
        it.cached.get('a'),
      )
      assert.deepEqual([methods(it), results(it)], [[], []])
      const edited = await it.client.edit(FOO, ref, (foo) => {
        foo.spec.list!.push('y')
      })
      assert.deepEqual([edited?.spec.list, methods(it)], [['x', 'y'], ['PUT']])
      // The cache still has the first version; the conflict makes edit read the server.
      const again = await it.client.edit(FOO, ref, (foo) => {
        foo.spec.list!.push('z')
      })
      assert.deepEqual([again?.spec.list, methods(it)], [['x', 'y', 'z'], ['PUT', 'GET', 'PUT']])
      assert.equal(
        await it.client.edit(FOO, { namespace, name: 'nope' }, () => assert.fail('nothing to change')),
        undefined,
      )
    },
  }),
  ...casesOf({
    async 'edit gives up after five conflicts, and at once on any other error'(it, context) {
      const { namespace } = context
      const ref = { namespace, name: 'a' }
      await it.client.create(FOO, { metadata: ref, spec: { size: 0 } })
      const other = bench(context, false)
      it.network.intercept = async (request, next) => {
        if (request.method === 'PUT') {
          await other.client.edit(FOO, ref, (foo) => {
            foo.spec.size++
          })
        }
        return await next(request)
      }
      methods(it)
      await refuses(
        'Conflict',
        it.client.edit(FOO, ref, (foo) => {
          foo.spec.list = ['mine']
        }),
      )
      assert.deepEqual(methods(it).filter((method) => method === 'PUT').length, 5)
      it.network.intercept = undefined
      await refuses(
        'Invalid',
        it.client.edit(FOO, ref, (foo) => {
          foo.spec.size = -1
        }),
      )
      assert.deepEqual(methods(it), ['GET', 'PUT'])
      await assert.rejects(
        it.client.edit(FOO, ref, () => {
          throw new Error('mine')
        }),
        /^Error: mine$/,
      )
    },
  }, { caches: false }),
  ...casesOf({
    async 'edit resolves with undefined if the object is deleted meanwhile'(it, { namespace }) {
      const made = await it.client.create(FOO, {
        metadata: { name: 'a', namespace },
        spec: { size: 1 },
      })
      it.cached.set('a', made)
      await it.client.delete(FOO, made)
      assert.equal(
        await it.client.edit(FOO, made, (foo) => {
          foo.spec.size = 2
        }),
        undefined,
      )
    },
    async 'patch sends each format unchanged'({ client }, { namespace }) {
      const ref = { namespace, name: 'a' }
      const made = await client.create(CONFIG_MAP, {
        metadata: { ...ref, finalizers: ['cases.dev/one'] },
        data: { x: '1', y: '1' },
      })
      assert.deepEqual((await client.patch(CONFIG_MAP, ref, { merge: { data: { x: null, z: '1' } } })).data, {
        y: '1',
        z: '1',
      })
      assert.deepEqual(
        (await client.patch(CONFIG_MAP, made, { json: [{ op: 'replace', path: '/data/y', value: '2' }] })).data,
        { y: '2', z: '1' },
      )
      const strategic = await client.patch(CONFIG_MAP, ref, {
        strategic: { metadata: { finalizers: ['cases.dev/two'] } },
      })
      assert.deepEqual([...strategic.metadata.finalizers ?? []].sort(), ['cases.dev/one', 'cases.dev/two'])
      await client.patch(CONFIG_MAP, ref, { merge: { metadata: { finalizers: null } } })
      await refuses('NotFound', client.patch(CONFIG_MAP, { ...ref, name: 'nope' }, { merge: {} }))
      await client.create(FOO, { metadata: ref, spec: { size: 1 } })
      await refuses('UnsupportedMediaType', client.patch(FOO, ref, { strategic: {} }))
    },
    async 'patch of a subresource changes nothing else'(it, { namespace }) {
      const made = await it.client.create(FOO, {
        metadata: { name: 'a', namespace },
        spec: { size: 1 },
      })
      const patched = await it.client.patch(FOO, made, { merge: { spec: { size: 9 }, status: { phase: 'Ready' } } }, {
        subresource: 'status',
      })
      assert.deepEqual([patched.spec, patched.status], [{ size: 1 }, { phase: 'Ready' }])
      await it.client.patch(FOO, patched, { merge: { status: { phase: 'Ready' } } }, { subresource: 'status' })
      assert.deepEqual(results(it), ['create Foo created', 'status Foo changed', 'status Foo unchanged'])
    },
    async 'a patch that removes the last finalizer is a change, although the server keeps the version; an empty one is none'(
      it,
      { namespace },
    ) {
      const metadata = { name: 'a', namespace, finalizers: ['cases.dev/one', 'cases.dev/two'] }
      const made = await it.client.create(FOO, { metadata, spec: { size: 1 } })
      await it.client.delete(FOO, made)
      const going = await it.client.live.get(FOO, made)
      const held = await it.client.patch(FOO, going!, { merge: { metadata: { finalizers: ['cases.dev/two'] } } })
      await it.client.patch(FOO, held, { merge: {} })
      await it.client.patch(FOO, held, { merge: { metadata: { finalizers: null } } })
      assert.deepEqual(results(it).slice(2), ['patch Foo changed', 'patch Foo unchanged', 'patch Foo changed'])
    },
    async 'delete resolves with whether the object existed'(it, { namespace }) {
      const made = await it.client.create(CONFIG_MAP, { metadata: { name: 'a', namespace } })
      assert.equal(await it.client.delete(CONFIG_MAP, made), true)
      assert.equal(await it.client.delete(CONFIG_MAP, made), false)
      assert.deepEqual(results(it), ['create ConfigMap created', 'delete ConfigMap deleted'])
      await assert.rejects(
        it.client.delete(MISSING, { namespace, name: 'a' }),
        /it does not serve this kind/,
      )
    },
    async 'cluster-scoped objects have no namespace, and names keep their case and colons'({ client }, { namespace }) {
      const name = `Cases:${namespace}`
      const made = await client.create(CLUSTER_ROLE, { metadata: { name } })
      assert.deepEqual([made.metadata.namespace, made.metadata.name], [undefined, name])
      assert.equal((await client.get(CLUSTER_ROLE, { name }))?.metadata.uid, made.metadata.uid)
      assert.equal(
        (await client.edit(CLUSTER_ROLE, made, (role) => {
          role.metadata.labels = { a: 'b' }
        }))?.metadata.labels?.['a'],
        'b',
      )
      assert.equal(await client.delete(CLUSTER_ROLE, made), true)
    },
    async 'a read resolves with undefined without the object, and throws if the kind is not served'(
      { client },
      { namespace },
    ) {
      assert.equal(await client.live.get(FOO, { namespace, name: 'nope' }), undefined)
      assert.equal(await client.live.get(CONFIG_MAP, { namespace: 'no-such-namespace', name: 'nope' }), undefined)
      await refuses('NotFound', client.get(MISSING, { namespace, name: 'a' }), /it does not serve this kind/)
      await assert.rejects(
        client.list({ ...MISSING, group: 'nope.dev' }),
        /Cannot list nopes\.nope\.dev: .*does not serve this kind/,
      )
    },
    async 'lists select by namespace, labels and fields, and their items have a kind'({ client }, { namespace }) {
      for (const [name, team] of [['a', 'x'], ['b', 'y'], ['c', 'x']] as const) {
        await client.create(FOO, { metadata: { name, namespace, labels: { team } }, spec: { size: 1 } })
      }
      const names = async (options: object): Promise<string[]> =>
        (await client.list(FOO, { namespace, ...options })).map(({ kind, metadata }) => `${kind} ${metadata.name}`)
      assert.deepEqual(await names({}), ['Foo a', 'Foo b', 'Foo c'])
      assert.deepEqual(await names({ labels: { team: 'x' } }), ['Foo a', 'Foo c'])
      assert.deepEqual(await names({ labels: 'team notin (x)' }), ['Foo b'])
      assert.deepEqual(await names({ fields: 'metadata.name=c' }), ['Foo c'])
      await refuses('BadRequest', names({ labels: 'team in' }))
    },
    async 'a missing name or namespace throws before anything is sent'(it, { namespace }) {
      const calls: readonly (readonly [RegExp, () => Promise<unknown>])[] = [
        [
          /^Cannot create configmaps: the object has neither a name nor a generateName$/,
          () => it.client.create(CONFIG_MAP, { metadata: { namespace } }),
        ],
        [
          /^Cannot create ConfigMap "a": it needs a namespace; set metadata.namespace, or give an owner that has one$/,
          () => it.client.create(CONFIG_MAP, { metadata: { name: 'a' } as never }),
        ],
        [
          /^Cannot create ConfigMap with generateName "a-": it needs a namespace/,
          () => it.client.create(CONFIG_MAP, { metadata: { generateName: 'a-' } as never }),
        ],
        [
          /^Cannot apply configmaps: the object has no name$/,
          () => it.client.apply(CONFIG_MAP, { metadata: { namespace, generateName: 'a-' } }),
        ],
        [
          /^Cannot delete configmaps: the object has no name$/,
          () => it.client.delete(CONFIG_MAP, { namespace, name: '' }),
        ],
        [
          /^Cannot delete ConfigMap "a": it needs a namespace/,
          () => it.client.delete(CONFIG_MAP, { namespace: '', name: 'a' }),
        ],
        [
          /^Cannot patch ConfigMap "a": it needs a namespace/,
          () => it.client.patch(CONFIG_MAP, { name: 'a' } as never, { merge: {} }),
        ],
        [
          /^Cannot set the status of Foo "a": it needs a namespace/,
          () => it.client.setStatus(FOO, { metadata: { name: 'a' } } as never, {}),
        ],
        [
          /^Cannot address ConfigMap: the name "\.\." is empty, /,
          () => it.client.delete(CONFIG_MAP, { namespace, name: '..' }),
        ],
      ]
      for (const [message, call] of calls) {
        await assert.rejects(
          call,
          (error: Error) => error instanceof TypeError && message.test(error.message),
          message.source,
        )
      }
      assert.deepEqual([methods(it), it.writes], [[], []])
    },
  }),
]

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(deepFreeze)
  return value
}
