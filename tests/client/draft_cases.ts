/** Cases of createOrUpdate, preconditions and owner references for any API server. */
import assert from 'node:assert/strict'
import { hasOwner } from '../../lib/core/owner_references.ts'
import { metadataOf } from '../../lib/core/resource.ts'
import { intercepted, namespaced } from '../../lib/client/wrappers.ts'
import { type Case, casesOf, CONFIG_MAP, FOO, type Foo, methods, results, SERVICE } from './case_bench.ts'
import { refusal, refuses } from './transports.ts'

export const DRAFT_CASES: readonly Case[] = [
  ...casesOf({
    async 'an integer beyond 2^53 is unchanged after an edit of its object'(it, context) {
      const ref = { namespace: context.namespace, name: 'wide' }
      await it.client.create(FOO, { metadata: ref, spec: { size: 1 } })
      const wide = '9007199254740993'
      const patch = {
        method: 'PATCH',
        path: `/apis/cases.dev/v1/namespaces/${context.namespace}/foos/wide`,
        headers: { 'content-type': 'application/merge-patch+json' },
      } as const
      const wideNow = async (): Promise<string | undefined> =>
        /"wide":\s*([\d.e+]+)/.exec(
          await (await context.transport({ method: 'GET', path: patch.path, headers: { accept: 'application/json' } }))
            .body.text(),
        )?.[1]
      await (await context.transport({ ...patch, body: `{"spec":{"wide":${wide}}}` })).body.text()
      assert.equal(await wideNow(), wide)
      const label = (name: string) => (draft: { metadata: { labels?: Record<string, string> | undefined } }): void => {
        draft.metadata.labels = { ...draft.metadata.labels, [name]: '' }
      }
      await it.client.live.edit(FOO, ref, label('live'))
      // The cache has the number as JSON.parse returns it.
      it.cached.set('wide', JSON.parse(JSON.stringify(await it.client.live.get(FOO, ref))))
      await it.client.edit(FOO, ref, label('cached'))
      const edited = await it.client.live.createOrUpdate(FOO, ref, label('ensured'))
      await it.client.update(FOO, {
        ...edited.object,
        metadata: { ...edited.object.metadata, labels: { ...edited.object.metadata.labels, updated: '' } },
      })
      assert.equal(await wideNow(), wide)
      assert.deepEqual(
        Object.keys((await it.client.live.get(FOO, ref))!.metadata.labels!).sort(),
        ['cached', 'ensured', 'live', 'updated'],
      )
      await assert.rejects(
        it.client.update(FOO, it.cached.get('wide') as never),
        /Cannot update Foo ".*": "wide" is an integer beyond 2\^53/,
      )
    },
  }, { realOnly: 'the embedded API keeps numbers as doubles' }),
  ...casesOf({
    async 'createOrUpdate creates, changes nothing, and updates'(it, { namespace }) {
      const ref = { namespace, name: 'a' }
      const created = await it.client.createOrUpdate(CONFIG_MAP, ref, (draft) => {
        draft.data = { x: '1' }
      })
      assert.deepEqual(
        [created.result, created.object.data, created.object.metadata.name],
        ['created', { x: '1' }, 'a'],
      )
      const unchanged = await it.client.createOrUpdate(CONFIG_MAP, ref, (draft) => {
        draft.data = { ...draft.data, x: '1' }
      })
      assert.deepEqual([unchanged.result, unchanged.object], ['unchanged', created.object])
      const updated = await it.client.createOrUpdate(CONFIG_MAP, created.object, (draft) => {
        draft.data!['y'] = '2'
      })
      assert.deepEqual([updated.result, updated.object.data], ['updated', { x: '1', y: '2' }])
      assert.deepEqual([methods(it), results(it)], [['GET', 'POST', 'GET', 'GET', 'PUT'], [
        'create ConfigMap created',
        'update ConfigMap changed',
      ]])
    },
    async 'createOrUpdate sends the changes of a draft, and reports unchanged if the server changed nothing'(
      it,
      { namespace },
    ) {
      const ref = { namespace, name: 'a' }
      await it.client.createOrUpdate(FOO, ref, (draft) => {
        draft.spec = { size: 1 }
      })
      methods(it)
      // The server drops the field.
      const dropped = await it.client.createOrUpdate(FOO, ref, (draft) => {
        Object.assign(draft, { dropped: 'Forged' })
      }, { fieldValidation: 'Ignore' })
      assert.deepEqual([dropped.result, methods(it)], ['unchanged', ['GET', 'PUT']])
      const trial = await it.client.createOrUpdate(FOO, ref, (draft) => {
        draft.spec = { size: 2 }
      }, { dryRun: true })
      assert.deepEqual([trial.result, trial.object.spec], ['updated', { size: 2 }])
      assert.equal((await it.client.get(FOO, ref))?.spec.size, 1)
    },
    async 'edit may not rename, before anything is written'(it, { namespace }) {
      const ref = { namespace, name: 'a' }
      await it.client.create(CONFIG_MAP, { metadata: ref })
      methods(it)
      const message =
        `Cannot edit ConfigMap "${namespace}/a": the change function must not set another name or namespace`
      for (const other of [{ name: 'b' }, { namespace: 'b' }]) {
        const change = ({ metadata }: { metadata: object }): void => void Object.assign(metadata, other)
        await assert.rejects(it.client.edit(CONFIG_MAP, ref, change), { name: 'TypeError', message })
      }
      assert.deepEqual(methods(it), ['GET', 'GET'])
    },
    async 'createOrUpdate may not rename, must not wait, and passes on what the change throws, before anything is written'(
      it,
      { namespace },
    ) {
      const ref = { namespace, name: 'a' }
      const what = `Cannot create or update ConfigMap "${namespace}/a": `
      for (const exists of [false, true]) {
        if (exists) await it.client.create(CONFIG_MAP, { metadata: ref })
        methods(it)
        await assert.rejects(
          it.client.createOrUpdate(CONFIG_MAP, ref, (draft) => {
            draft.metadata.name = 'b'
          }),
          { name: 'TypeError', message: `${what}the change function must not set another name or namespace` },
        )
        await assert.rejects(
          it.client.createOrUpdate(CONFIG_MAP, ref, (draft) => {
            draft.metadata.namespace = 'b'
          }),
          TypeError,
        )
        const lost = { message: `${what}the change function must change the draft, and not be async` }
        await assert.rejects(
          it.client.createOrUpdate(CONFIG_MAP, ref, async () => {
            throw new Error('unheard')
          }),
          lost,
        )
        await assert.rejects(it.client.createOrUpdate(CONFIG_MAP, ref, (draft) => ({ ...draft, data: {} })), lost)
        await assert.rejects(
          it.client.createOrUpdate(CONFIG_MAP, ref, () => {
            throw new Error('mine')
          }),
          /^Error: mine$/,
        )
        assert.deepEqual(methods(it), ['GET', 'GET', 'GET', 'GET', 'GET'])
      }
    },
  }, { caches: false }),
  ...casesOf({
    async 'createOrUpdate retries on Conflict, and if the object was created or deleted meanwhile; other errors are thrown'(
      it,
      { namespace },
    ) {
      const made = await it.client.create(FOO, { metadata: { name: 'a', namespace }, spec: { size: 1 } })
      let calls = 0
      const change = (draft: { spec?: { size: number } }): void => {
        calls++
        draft.spec = { size: (draft.spec?.size ?? 0) + 10 }
      }
      const ensure = async (client = it.client): Promise<unknown> => {
        methods(it)
        calls = 0
        const { object, result } = await client.createOrUpdate(FOO, made, change)
        return [result, object.spec.size, calls, methods(it)]
      }
      // The cache of this client does not have it yet.
      assert.deepEqual(await ensure(), ['updated', 11, 2, ['POST', 'GET', 'PUT']])
      it.cached.set('a', made)
      assert.deepEqual(await ensure(), ['updated', 21, 2, ['PUT', 'GET', 'PUT']])
      await it.client.live.delete(FOO, made)
      assert.deepEqual(await ensure(), ['created', 10, 2, ['PUT', 'GET', 'POST']])
      it.network.intercept = (request, next) => {
        return request.method === 'PUT' ? Promise.resolve(refusal(409, 'Conflict')) : next(request)
      }
      await refuses('Conflict', ensure())
      assert.deepEqual([calls, methods(it).filter((method) => method === 'PUT').length], [5, 5])
      it.network.intercept = (request, next) => {
        return request.method === 'PUT' ? Promise.resolve(refusal(403, 'Forbidden')) : next(request)
      }
      await refuses('Forbidden', ensure())
      assert.deepEqual([calls, methods(it)], [1, ['PUT']])
      it.network.intercept = () => Promise.reject(new Error('no way'))
      await assert.rejects(ensure(it.client.live), /^Error: no way$/)
      assert.equal(calls, 0, 'nothing was read')
      it.network.intercept = undefined
      methods(it)
      // The namespace is missing, not the object.
      const nowhere = it.client.createOrUpdate(CONFIG_MAP, { namespace: 'nowhere', name: 'z' }, () => {})
      await refuses('NotFound', nowhere)
      assert.deepEqual(methods(it), ['POST'])
    },
    async 'createIfMissing creates, and leaves an existing object alone'(it, context) {
      const { client, cached } = it
      const { namespace } = context
      const owner = await client.create(FOO, { metadata: { name: 'owner', namespace }, spec: { size: 1 } })
      methods(it)
      const ensure = async (x: string, of = client): Promise<unknown> => {
        const { result, object } = await of.createIfMissing(CONFIG_MAP, { metadata: { name: 'a' }, data: { x } }, {
          owner,
        })
        assert.deepEqual([object.metadata.namespace, hasOwner(object, owner)], [namespace, true])
        return [result, object.data?.['x'], methods(it)]
      }
      const trial = { dryRun: true }
      const tried = await client.createIfMissing(CONFIG_MAP, { metadata: { name: 'a', namespace } }, trial)
      assert.deepEqual([tried.result, methods(it)], ['created', ['POST']])
      assert.deepEqual(await ensure('1'), ['created', '1', ['POST']])
      // The cache does not have it yet; then it has.
      assert.deepEqual(await ensure('2'), ['unchanged', '1', ['POST', 'GET']])
      cached.set('a', (await client.live.get(CONFIG_MAP, { namespace, name: 'a' }))!)
      methods(it)
      assert.deepEqual(await ensure('2'), ['unchanged', '1', []])
      assert.deepEqual(await ensure('2', client.live), ['unchanged', '1', ['GET']])
      // It is deleted between the two requests.
      cached.delete('a')
      it.network.intercept = async (request, next) => {
        if (request.method === 'GET') await client.live.delete(CONFIG_MAP, { namespace, name: 'a' })
        return await next(request)
      }
      assert.deepEqual(await ensure('3'), ['created', '3', ['POST', 'GET', 'DELETE', 'POST']])
      it.network.intercept = undefined
      const within = await namespaced(client, namespace).createIfMissing(CONFIG_MAP, { metadata: { name: 'b' } })
      const hooked = intercepted(client, { create: () => Promise.reject(new Error('hooked')) })
      await assert.rejects(
        hooked.createIfMissing(CONFIG_MAP, { metadata: { name: 'c', namespace } }),
        /^Error: hooked$/,
      )
      assert.deepEqual([within.result, methods(it)], ['created', ['POST']])
      await assert.rejects(
        client.createIfMissing(CONFIG_MAP, { metadata: { generateName: 'a-', namespace } }),
        /^TypeError: Cannot create a missing ConfigMap: the object has no name; use create$/,
      )
      await refuses('NotFound', client.createIfMissing(CONFIG_MAP, { metadata: { name: 'a', namespace: 'nowhere' } }))
      await assert.rejects(
        client.createIfMissing(metadataOf(CONFIG_MAP) as never, { metadata: { name: 'a' } } as never),
        TypeError,
      )
    },
    async 'a changed status that an update does not write is a TypeError'(it, { namespace }) {
      const { client, cached } = it
      const ref = { namespace, name: 'a' }
      await client.create(FOO, { metadata: ref, spec: { size: 1 } })
      const made = await client.setStatus(FOO, ref, { phase: 'Ready' })
      const status = { phase: 'Forged' }
      const forge = (draft: object): void => void Object.assign(draft, { status, spec: { size: 2 } })
      const why = 'the status was changed, and only setStatus writes the status of this kind; other changes were sent'
      const fails = async (call: Promise<unknown>, verb: string, sent: readonly string[]): Promise<void> => {
        await assert.rejects(call, { name: 'TypeError', message: `Cannot ${verb} Foo "${ref.namespace}/a": ${why}` })
        assert.deepEqual(methods(it), sent)
      }
      methods(it)
      await fails(client.live.edit(FOO, ref, forge), 'edit', ['GET', 'PUT'])
      await fails(client.live.createOrUpdate(FOO, ref, forge), 'create or update', ['GET', 'PUT'])
      const removes = (draft: { readonly status?: unknown }): void => void delete (draft as { status?: unknown }).status
      await fails(client.live.edit(FOO, ref, removes), 'edit', ['GET', 'PUT'])
      cached.set('a', (await client.live.get(FOO, ref))!)
      methods(it)
      await fails(client.update(FOO, { ...(cached.get('a') as Foo), status }), 'update', ['PUT'])
      const stored = (await client.live.get(FOO, ref))!
      assert.deepEqual([stored.status, stored.spec.size], [made.status, 2])
      // No change: a status that is left out, or that of the cached object.
      const { status: _, ...rest } = stored
      cached.set('a', await client.update(FOO, rest))
      cached.set('a', await client.update(FOO, { ...(cached.get('a') as Foo), spec: { size: 4 } }))
      await client.edit(FOO, ref, (draft) => void (draft.spec.size = 5))
      await client.update(FOO, { ...(await client.live.get(FOO, ref))!, status })
    },
    async 'a patch of an old version conflicts, in every format'({ client }, { namespace }) {
      const first = await client.create(SERVICE, {
        metadata: { name: 'a', namespace },
        spec: { ports: [{ port: 80 }] },
      })
      const second = await client.patch(SERVICE, first, { merge: { metadata: { labels: { a: '1' } } } }, {
        resourceVersion: first.metadata.resourceVersion,
      })
      const patches = [
        { merge: { metadata: { labels: { a: '2' } } } },
        { strategic: { metadata: { labels: { a: '2' } } } },
        { json: [{ op: 'add', path: '/metadata/labels/a', value: '2' }] },
      ] as const
      for (const patch of patches) {
        await refuses(
          'Conflict',
          client.patch(SERVICE, first, patch, { resourceVersion: first.metadata.resourceVersion }),
        )
      }
      assert.equal((await client.live.get(SERVICE, first))?.metadata.labels?.['a'], '1')
      let at = second
      for (const patch of patches) {
        at = await client.patch(SERVICE, at, patch, { resourceVersion: at.metadata.resourceVersion })
      }
      assert.equal(at.metadata.labels?.['a'], '2')
    },
  }),
]
