/** Cases of createOrUpdate, preconditions and owner references for any API server. */
import assert from 'node:assert/strict'
import { isReason } from '../../lib/core/errors.ts'
import { AlreadyOwned, hasOwner, removeOwner, setController, setOwner } from '../../lib/core/owner_references.ts'
import { bench, type Case, CONFIG_MAP, FOO, methods, results, SERVICE } from './case_bench.ts'

export const DRAFT_CASES: readonly Case[] = [
  {
    name: 'an integer beyond 2^53 is unchanged after an edit of its object',
    realOnly: 'the embedded API keeps numbers as doubles',
    async run(context) {
      const it = bench(context)
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
      assert.deepEqual(Object.keys((await it.client.live.get(FOO, ref))!.metadata.labels!).sort(), [
        'cached',
        'ensured',
        'live',
        'updated',
      ])
      await assert.rejects(
        it.client.update(FOO, it.cached.get('wide') as never),
        /Cannot update Foo ".*": "wide" is an integer beyond 2\^53/,
      )
    },
  },
  {
    name: 'createOrUpdate creates, changes nothing, and updates',
    async run(context) {
      const it = bench(context, false)
      const ref = { namespace: context.namespace, name: 'a' }
      const created = await it.client.createOrUpdate(CONFIG_MAP, ref, (draft) => {
        draft.data = { x: '1' }
      })
      assert.deepEqual([created.result, created.object.data, created.object.metadata.name], [
        'created',
        { x: '1' },
        'a',
      ])
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
  },
  {
    name: 'createOrUpdate sends the changes of a draft, and reports unchanged if the server changed nothing',
    async run(context) {
      const it = bench(context, false)
      const ref = { namespace: context.namespace, name: 'a' }
      await it.client.createOrUpdate(FOO, ref, (draft) => {
        draft.spec = { size: 1 }
      })
      methods(it)
      // An update does not write the status.
      const status = await it.client.createOrUpdate(FOO, ref, (draft) => {
        Object.assign(draft, { status: { phase: 'Forged' } })
      })
      assert.deepEqual([status.result, status.object.status, methods(it)], ['unchanged', undefined, ['GET', 'PUT']])
      const trial = await it.client.createOrUpdate(FOO, ref, (draft) => {
        draft.spec = { size: 2 }
      }, { dryRun: true })
      assert.deepEqual([trial.result, trial.object.spec], ['updated', { size: 2 }])
      assert.equal((await it.client.get(FOO, ref))?.spec.size, 1)
    },
  },
  {
    name: 'createOrUpdate sets an owner on a new and on an existing object',
    async run(context) {
      const { client } = bench(context, false)
      const { namespace } = context
      const owner = await client.create(FOO, { metadata: { name: 'owner', namespace }, spec: { size: 1 } })
      const once = (): Promise<{ result: string }> =>
        client.createOrUpdate(CONFIG_MAP, { namespace, name: 'a' }, () => {}, { owner })
      assert.deepEqual([(await once()).result, (await once()).result], ['created', 'unchanged'])
      await client.create(CONFIG_MAP, { metadata: { name: 'b', namespace } })
      const found = await client.createOrUpdate(CONFIG_MAP, { namespace, name: 'b' }, () => {}, { owner })
      assert.deepEqual([found.result, hasOwner(found.object, owner)], ['updated', true])
    },
  },
  {
    name: 'edit may not rename, before anything is written',
    async run(context) {
      const it = bench(context, false)
      const { namespace } = context
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
  },
  {
    name:
      'createOrUpdate may not rename, must not wait, and passes on what the change throws, before anything is written',
    async run(context) {
      const it = bench(context, false)
      const { namespace } = context
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
        await assert.rejects(
          it.client.createOrUpdate(CONFIG_MAP, ref, async () => {
            throw new Error('unheard')
          }),
          (error: Error) => error.message.startsWith(`${what}the change function is async`),
        )
        await assert.rejects(
          it.client.createOrUpdate(CONFIG_MAP, ref, () => {
            throw new Error('mine')
          }),
          /^Error: mine$/,
        )
        assert.deepEqual(methods(it), ['GET', 'GET', 'GET', 'GET'])
      }
    },
  },
  {
    name: 'createOrUpdate throws failed reads, AlreadyExists and Conflict',
    async run(context) {
      const it = bench(context)
      const { namespace } = context
      const made = await it.client.create(FOO, { metadata: { name: 'a', namespace }, spec: { size: 1 } })
      // The cache of this client does not have it yet.
      await assert.rejects(
        it.client.createOrUpdate(FOO, made, (draft) => {
          draft.spec = { size: 2 }
        }),
        (error: Error) => isReason(error, 'AlreadyExists'),
      )
      it.cached.set('a', made)
      await it.client.live.edit(FOO, made, (draft) => {
        draft.spec.size = 3
      })
      await assert.rejects(
        it.client.createOrUpdate(FOO, made, (draft) => {
          draft.spec!.size = 2
        }),
        (error: Error) => isReason(error, 'Conflict'),
      )
      it.network.intercept = () => Promise.reject(new Error('no way'))
      await assert.rejects(
        it.client.live.createOrUpdate(FOO, made, () => assert.fail('nothing was read')),
        /^Error: no way$/,
      )
    },
  },
  {
    name: 'a patch of an old version conflicts, in every format',
    async run(context) {
      const { client } = bench(context)
      const { namespace } = context
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
        await assert.rejects(
          client.patch(SERVICE, first, patch, { resourceVersion: first.metadata.resourceVersion }),
          (error: Error) => isReason(error, 'Conflict'),
          JSON.stringify(patch),
        )
      }
      assert.equal((await client.live.get(SERVICE, first))?.metadata.labels?.['a'], '1')
      let at = second
      for (const patch of patches) {
        at = await client.patch(SERVICE, at, patch, { resourceVersion: at.metadata.resourceVersion })
      }
      assert.equal(at.metadata.labels?.['a'], '2')
    },
  },
  {
    name: 'owner references of drafts are set, kept, refused and removed',
    async run(context) {
      const { client } = bench(context, false)
      const { namespace } = context
      const foo = async (name: string) => await client.create(FOO, { metadata: { name, namespace }, spec: { size: 1 } })
      const [one, two, three] = [await foo('one'), await foo('two'), await foo('three')]
      const made = await client.create(CONFIG_MAP, { metadata: { name: 'a', namespace } })
      const owned = await client.edit(CONFIG_MAP, made, (draft) => {
        setController(draft, one)
        setOwner(draft, two)
      })
      assert.deepEqual(owned!.metadata.ownerReferences?.map(({ name, controller }) => [name, controller]), [[
        'one',
        true,
      ], ['two', undefined]])
      assert.deepEqual([hasOwner(owned!, one), hasOwner(owned!, two), hasOwner(owned!, three)], [true, true, false])
      await assert.rejects(
        client.edit(CONFIG_MAP, made, (draft) => setController(draft, three)),
        (error: Error) =>
          error instanceof AlreadyOwned && error.controller.name === 'one' &&
          error.message === `Cannot make Foo "three" own ConfigMap "${namespace}/a": Foo "one" controls it already`,
      )
      const left = await client.edit(CONFIG_MAP, made, (draft) => removeOwner(draft, one))
      assert.deepEqual(left!.metadata.ownerReferences?.map(({ name }) => name), ['two'])
    },
  },
  {
    name: 'the signal aborts edit, whatever it waits for',
    async run(context) {
      const it = bench(context, false)
      const ref = { namespace: context.namespace, name: 'a' }
      await it.client.create(FOO, { metadata: ref, spec: { size: 1 } })
      const stop = new AbortController()
      it.network.intercept = async (request, next) => {
        if (request.method === 'GET') stop.abort(new Error('enough'))
        return await next(request)
      }
      await assert.rejects(
        it.client.edit(FOO, ref, () => assert.fail('too late'), { signal: stop.signal }),
        /^Error: enough$/,
      )
      assert.deepEqual(methods(it), ['POST', 'GET'])
    },
  },
]
