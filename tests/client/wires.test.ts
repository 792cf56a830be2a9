/** Tests that every verb of every client passes all options on to the request. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Api } from '../../lib/client/api.ts'
import type { Client, SendOptions } from '../../lib/client/client.ts'
import { KubeClient } from '../../lib/client/kube_client.ts'
import { dryRun, withWriteOptions } from '../../lib/client/wrappers.ts'
import type { Fence } from '../../lib/core/fence.ts'
import type { KubeObject } from '../../lib/core/objects.ts'
import { FOO, type Foo } from './case_bench.ts'
import { answer, bodyOf, recorder, silence } from './transports.ts'

const REF = { namespace: 'ns', name: 'a' }
const foo: Foo = {
  apiVersion: 'cases.dev/v1',
  kind: 'Foo',
  metadata: { ...REF, uid: 'u', resourceVersion: '1', creationTimestamp: '' },
  spec: { size: 1 },
}
const owner: KubeObject = { ...foo, metadata: { ...foo.metadata, name: 'owner', uid: 'o' } }
const relabel = (draft: { metadata: { labels?: Record<string, string> | undefined } }): void => {
  draft.metadata.labels = { a: `${Math.random()}` }
}

/** Every verb that writes fields, and whether it can be forced. */
const WRITES: Readonly<Record<string, (client: Client, options: SendOptions) => Promise<unknown>>> = {
  create: (client, options) => client.create(FOO, { metadata: REF, spec: { size: 1 } }, options),
  update: (client, options) => client.update(FOO, foo, options),
  apply: (client, options) => client.apply(FOO, { metadata: REF, spec: { size: 1 } }, options),
  edit: (client, options) => client.edit(FOO, REF, relabel, options),
  createOrUpdate: (client, options) => client.createOrUpdate(FOO, REF, relabel, options),
  patch: (client, options) => client.patch(FOO, REF, { merge: {} }, options),
  'patch of a part': (client, options) => client.patch(FOO, REF, { json: [] }, { ...options, subresource: 'status' }),
  setStatus: (client, options) => client.setStatus(FOO, REF, { phase: 'x' }, options),
  'create of a part': (client, options) =>
    client.subresource(FOO, REF, 'scale').create({ spec: { replicas: 1 } }, options),
  'update of a part': (client, options) =>
    client.subresource(FOO, REF, 'scale').update({ spec: { replicas: 1 } }, options),
  'patch of a part by its verbs': (client, options) =>
    client.subresource(FOO, REF, 'scale').patch({ strategic: {} }, options),
  'apply of a part': (client, options) =>
    client.subresource(FOO, REF, 'status').apply({ status: { phase: 'x' } }, options),
}

const DELETIONS: Readonly<
  Record<string, (client: Client, options: { dryRun?: boolean; signal?: AbortSignal }) => Promise<unknown>>
> = {
  delete: (client, options) => client.delete(FOO, REF, options),
  deleteAll: (client, options) => client.deleteAll(FOO, { namespace: 'ns', ...options }),
}

const READS: Readonly<Record<string, (client: Client) => Promise<unknown>>> = {
  get: (client) => client.get(FOO, REF),
  list: (client) => client.list(FOO),
  lookup: (client) => client.lookup({ resource: FOO, keys: () => 'x' }, 'x'),
  pages: (client) => client.pages(FOO)[Symbol.asyncIterator]().next(),
  watch: (client) => client.watch(FOO)[Symbol.asyncIterator]().next(),
  'a part': (client) => client.subresource(FOO, REF, 'scale').get(),
  kindOf: (client) => client.kindOf(foo),
}

function setup(options: { fence?: Fence } = {}) {
  const kinds = { groupVersion: 'cases.dev/v1', resources: [{ name: 'foos', kind: 'Foo', namespaced: true }] }
  const network = recorder(async ({ method, path }) => {
    if (path === '/apis/cases.dev/v1') return answer(200, kinds)
    if (method === 'DELETE' || /\/foos(\?|$)/.test(path) && method === 'GET') {
      return answer(200, path.includes('watch=') ? '' : { metadata: { resourceVersion: '1' }, items: [] })
    }
    return answer(200, foo)
  })
  const api = new Api({ transport: network.transport, ...options })
  const reported: string[] = []
  const client = new KubeClient({
    api,
    fieldManager: 'me',
    fieldValidation: 'Warn',
    onWrite: ({ verb }) => reported.push(verb),
  })
  const last = (): URLSearchParams => new URLSearchParams(network.requests.at(-1)!.path.split('?')[1])
  return { network, api, client, reported, last }
}

test('every write sends field manager, validation and dry run of the call, the client or the wrapper', async () => {
  const { client, network, last, reported } = setup()
  const given = (query: URLSearchParams): unknown[] =>
    ['fieldManager', 'fieldValidation', 'dryRun'].map((name) => query.get(name))
  for (const [name, write] of Object.entries(WRITES)) {
    await write(client, {})
    assert.deepEqual(given(last()), ['me', 'Warn', null], name)
    assert.equal(network.requests.at(-1)!.headers?.['accept'], 'application/json', name)
    assert.equal(client.live, client.live)
    await write(client.live, {})
    assert.deepEqual(given(last()), ['me', 'Warn', null], `${name}, live`)
    await write(client, { fieldManager: 'call', fieldValidation: 'Ignore', dryRun: true })
    assert.deepEqual(given(last()), ['call', 'Ignore', 'All'], `${name} as given`)
    const wrapped = withWriteOptions(client, { fieldManager: 'wrapper', fieldValidation: 'Strict' })
    await write(wrapped, {})
    assert.deepEqual(given(last()), ['wrapper', 'Strict', null], `${name}, wrapped`)
    await write(wrapped, { fieldManager: 'call' })
    assert.deepEqual(given(last()), ['call', 'Strict', null], `${name}, wrapped, as given`)
    await write(withWriteOptions(wrapped, { fieldManager: 'outer' }), { fieldManager: undefined } as never)
    assert.deepEqual(given(last()), ['outer', 'Strict', null], `${name}, wrapped twice`)
    const before = reported.length
    for (
      const trial of [
        dryRun(client),
        dryRun(client).live,
        withWriteOptions(dryRun(client), { fieldManager: 'wrapper' }),
      ]
    ) {
      await write(trial, { dryRun: false })
      assert.equal(last().get('dryRun'), 'All', `${name}, as a dry run`)
    }
    assert.equal(reported.length, before, `${name}: a dry run is not reported`)
  }
})

test('a dry-run deletion sends dryRun in its body, and is not reported', async () => {
  const { client, network, reported } = setup()
  for (const [name, remove] of Object.entries(DELETIONS)) {
    for (
      const call of [
        () => remove(client, { dryRun: true }),
        () => remove(dryRun(client), {}),
        () => remove(dryRun(client).live, { dryRun: false }),
      ]
    ) {
      await call()
      assert.deepEqual((bodyOf(network.requests.at(-1)) as { dryRun?: unknown }).dryRun, ['All'], name)
    }
    assert.deepEqual(reported, [])
  }
  for (const remove of Object.values(DELETIONS)) await remove(client, {})
  assert.deepEqual(reported, ['delete', 'delete'])
})

test('applies are forced by default, and preconditions are sent', async () => {
  const { client, network, last } = setup()
  const force = async (write: Promise<unknown>): Promise<string | null> => (await write, last().get('force'))
  assert.equal(await force(client.apply(FOO, { metadata: REF, spec: { size: 1 } })), 'true')
  assert.equal(await force(client.apply(FOO, { metadata: REF, spec: { size: 1 } }, { force: false })), 'false')
  assert.equal(await force(client.subresource(FOO, REF, 'status').apply({ status: {} })), 'true')
  assert.equal(await force(client.subresource(FOO, REF, 'status').apply({ status: {} }, { force: false })), 'false')
  assert.equal(await force(client.patch(FOO, REF, { merge: {} })), null)
  const [part, atVersion] = [{ metadata: { labels: {} } }, { metadata: { labels: {}, resourceVersion: '7' } }]
  const operation = { op: 'remove', path: '/spec/a' }
  for (
    const [patch, sent] of [
      [{ merge: part }, atVersion],
      [{ strategic: part }, atVersion],
      [{ json: [operation] }, [operation, { op: 'add', path: '/metadata/resourceVersion', value: '7' }]],
    ] as const
  ) {
    await client.patch(FOO, REF, patch, { resourceVersion: '7', subresource: 'status' })
    const { path } = network.requests.at(-1)!
    const root = '/apis/cases.dev/v1/namespaces/ns/foos/a/status'
    assert.deepEqual([path.split('?')[0], bodyOf(network.requests.at(-1))], [root, sent])
  }
  await client.setStatus(FOO, foo, { phase: 'x' })
  const replaces = { op: 'add', path: '/status', value: { phase: 'x' } }
  const [isIt, isVersion] = [{ op: 'test', path: '/metadata/uid', value: 'u' }, {
    op: 'add',
    path: '/metadata/resourceVersion',
    value: '1',
  }]
  assert.deepEqual(bodyOf(network.requests.at(-1)), [isIt, isVersion, replaces])
  // Metadata alone says which object, but no status that was read.
  await client.setStatus(FOO, { metadata: foo.metadata }, { phase: 'x' })
  assert.deepEqual(bodyOf(network.requests.at(-1)), [isIt, replaces])
  for (
    const write of [
      client.create(FOO, { metadata: { name: 'a' }, spec: { size: 1 } }, { owner }),
      client.update(FOO, foo, { owner }),
      client.edit(FOO, REF, () => {}, { owner }),
      client.apply(FOO, { metadata: { name: 'a' }, spec: { size: 1 } }, { owner }),
      client.createOrUpdate(FOO, REF, () => {}, { owner }),
    ]
  ) {
    await write
    const { metadata } = bodyOf(network.requests.at(-1)) as KubeObject
    assert.deepEqual([metadata.namespace, metadata.ownerReferences?.map(({ uid, controller }) => [uid, controller])], [
      'ns',
      [['o', true]],
    ])
  }
})

test('no write of any client passes a fallen fence; every read does', async () => {
  const fallen = new AbortController()
  const fence: Fence = { signal: fallen.signal, check: () => fallen.signal.throwIfAborted() }
  const { client, network } = setup()
  const fenced = client.fenced(fence)
  const clients: Readonly<Record<string, Client>> = {
    fenced,
    live: fenced.live,
    bound: fenced.bound(new AbortController()),
    'bound and live': fenced.bound(new AbortController()).live,
    'fenced when bound': client.bound(new AbortController()).fenced(fence),
    wrapped: withWriteOptions(fenced, { fieldManager: 'x' }),
  }
  fallen.abort(new Error('the lease is lost'))
  for (const [what, each] of Object.entries(clients)) {
    for (const [name, write] of [...Object.entries(WRITES), ...Object.entries(DELETIONS)]) {
      await assert.rejects(write(each, {}), /^Error: the lease is lost$/, `${name}, ${what}`)
    }
    for (const [name, read] of Object.entries(READS)) await assert.doesNotReject(read(each), `${name}, ${what}`)
  }
  assert.deepEqual(network.requests.filter(({ method }) => method !== 'GET'), [])
  await client.delete(FOO, REF)
})

test('the end of a run aborts every verb of its client, live or not, and no other client', async () => {
  const { client, network } = setup()
  const run = new AbortController()
  const bound = client.bound(run)
  await bound.kindOf(foo)
  run.abort(new Error('the run has ended'))
  const sent = network.requests.length
  for (const each of [bound, bound.live, bound.fenced({ signal: new AbortController().signal, check() {} })]) {
    for (const [name, call] of [...Object.entries(WRITES), ...Object.entries(DELETIONS), ...Object.entries(READS)]) {
      await assert.rejects(call(each, {}), /^Error: the run has ended$/, name)
    }
  }
  assert.equal(network.requests.length, sent)
  await client.get(FOO, REF)
  // The request for a kind is that of all clients, so it goes on.
  const late = new AbortController()
  const found = new KubeClient({ api: new Api({ transport: silence }), fieldManager: 'me' }).bound(late).kindOf(foo)
  late.abort(new Error('too late'))
  await assert.rejects(found, /^Error: too late$/)
})
