import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as z from 'zod'
import { type Client, Cluster, defineResource, type KubeObject, operator, type Transport } from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import { ConfigMap, Namespace } from 'kubeloop/kinds'
import { FakeClock, type World, world } from 'kubeloop/testing'
import sample, { Foo } from '../../examples/1_sample_controller.ts'
import { nextTurn } from '../../lib/async/clock.ts'
import { GarbageCollector } from '../../lib/simcluster/garbage_collector.ts'
import { refusal } from '../client/transports.ts'
import { recordingLog } from '../manager/parts.ts'
import { CRD } from '../../lib/core/resource.ts'

/** An operator that does nothing: the collector under test runs beside it. */
const idle = operator({ name: 'idle' }).add(
  'wait',
  ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
)

const map = (name: string, owners: readonly { metadata: { name: string; uid: string } }[] = []) => ({
  metadata: {
    namespace: 'default',
    name,
    ownerReferences: owners.map(({ metadata }) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      name: metadata.name,
      uid: metadata.uid,
      blockOwnerDeletion: true,
    })),
  },
})
const ref = (name: string) => ({ namespace: 'default', name })
const exists = async (w: World, name: string): Promise<boolean> =>
  (await w.client.get(ConfigMap, ref(name))) !== undefined

test('dependents are deleted after their owner, recursively', async () => {
  const w = await world(idle)
  const owner = await w.client.create(ConfigMap, map('owner'))
  const child = await w.client.create(ConfigMap, map('child', [owner]))
  await w.client.create(ConfigMap, map('grandchild', [child]))
  await w.client.create(ConfigMap, map('stranger'))
  await w.client.delete(ConfigMap, ref('owner'))
  await w.settle()
  assert.deepEqual([await exists(w, 'child'), await exists(w, 'grandchild'), await exists(w, 'stranger')], [
    false,
    false,
    true,
  ])
  await w.stop()
})

test('foreground deletion removes the owner last', async () => {
  const w = await world(idle)
  const owner = await w.client.create(ConfigMap, map('owner'))
  await w.client.create(ConfigMap, {
    ...map('child', [owner]),
    metadata: { ...map('child', [owner]).metadata, finalizers: ['test/held'] },
  })
  await w.client.delete(ConfigMap, ref('owner'), { propagation: 'Foreground' })
  await w.settle()
  assert.deepEqual([await exists(w, 'owner'), await exists(w, 'child')], [true, true])
  await w.client.edit(ConfigMap, ref('child'), (draft) => void (draft.metadata.finalizers = []))
  await w.settle()
  assert.deepEqual([await exists(w, 'owner'), await exists(w, 'child')], [false, false])
  await w.stop()
})

test('orphaned dependents are kept without the owner reference', async () => {
  const w = await world(idle)
  const owner = await w.client.create(ConfigMap, map('owner'))
  await w.client.create(ConfigMap, map('child', [owner]))
  await w.client.delete(ConfigMap, ref('owner'), { propagation: 'Orphan' })
  await w.settle()
  assert.equal(await exists(w, 'owner'), false)
  const child = await w.client.get(ConfigMap, ref('child'))
  assert.ok(child && (child.metadata.ownerReferences ?? []).length === 0)
  await w.stop()
})

test('an object with two owners is deleted after both of them', async () => {
  const w = await world(idle)
  const [a, b] = [await w.client.create(ConfigMap, map('a')), await w.client.create(ConfigMap, map('b'))]
  await w.client.create(ConfigMap, map('child', [a, b]))
  await w.client.delete(ConfigMap, ref('a'))
  await w.settle()
  assert.deepEqual((await w.client.get(ConfigMap, ref('child')))?.metadata.ownerReferences?.map(({ name }) => name), [
    'b',
  ])
  await w.client.delete(ConfigMap, ref('b'))
  await w.settle()
  assert.equal(await exists(w, 'child'), false)
  await w.stop()
})

test('an object with an owner that never existed is deleted', async () => {
  const w = await world(idle)
  await w.client.create(
    ConfigMap,
    map('child', [{ metadata: { name: 'absent', uid: '00000000-0000-0000-0000-000000000000' } }]),
  )
  await w.settle()
  assert.equal(await exists(w, 'child'), false)
  await w.stop()
})

test('an object of the same name with a different uid is not an owner', async () => {
  const w = await world(idle)
  const owner = await w.client.create(ConfigMap, map('owner'))
  await w.client.create(ConfigMap, map('child', [{ metadata: { name: 'owner', uid: `${owner.metadata.uid}x` } }]))
  await w.settle()
  assert.equal(await exists(w, 'child'), false)
  await w.stop()
})

test('kinds defined after the start are collected', async () => {
  const w = await world(sample)
  const foo = await w.client.create(Foo, { metadata: ref('foo'), spec: { deploymentName: 'd' } })
  await w.client.create(ConfigMap, {
    metadata: {
      ...ref('child'),
      ownerReferences: [{ apiVersion: foo.apiVersion, kind: foo.kind, name: 'foo', uid: foo.metadata.uid }],
    },
  })
  await w.settle()
  assert.equal(await exists(w, 'child'), true)
  await w.client.delete(Foo, ref('foo'))
  await w.settle()
  assert.equal(await exists(w, 'child'), false)
  await w.stop()
})

test('a cluster-scoped owner can have namespaced dependents', async () => {
  const w = await world(idle)
  const owner = await w.client.create(Namespace, { metadata: { name: 'owner' } })
  await w.client.create(ConfigMap, {
    metadata: {
      ...ref('child'),
      ownerReferences: [{ apiVersion: 'v1', kind: 'Namespace', name: 'owner', uid: owner.metadata.uid }],
    },
  })
  await w.settle()
  assert.equal(await exists(w, 'child'), true)
  await w.stop()
})

interface Alone {
  readonly client: Client
  readonly clock: FakeClock
  readonly collector: GarbageCollector
  readonly lines: string[]
  readonly stop: AbortController
  /** Whether discovery is refused. */
  refuses: boolean
  /** Called after the server has answered discovery, before the collector receives the answer. */
  meanwhile: (() => Promise<unknown>) | undefined
  /** Number of discovery requests. */
  discoveries: number
  start(): Promise<void>
  exists(name: string): Promise<boolean>
}

/** Returns a collector without a world; its discovery fails while `refuses` is true. */
async function alone(): Promise<Alone> {
  const clock = new FakeClock({
    settle: async () => {
      for (let turn = 0; turn < 20; turn++) await nextTurn()
    },
  })
  const server = new ApiServer({ clock })
  const { client } = new Cluster({ name: 'test', transport: server.handle, clock })
  const lines: string[] = []
  const transport: Transport = (request) => {
    if (request.path === '/apis') self.discoveries++
    if (request.path !== '/apis') return server.handle(request)
    if (self.refuses) return Promise.resolve(refusal(403, 'Forbidden'))
    return server.handle(request).then(async (response) => {
      await self.meanwhile?.()
      return response
    })
  }
  const collector = new GarbageCollector({ transport, clock, log: recordingLog(lines) })
  const stop = new AbortController()
  const self: Alone = {
    client,
    clock,
    collector,
    lines,
    stop,
    refuses: false,
    meanwhile: undefined,
    discoveries: 0,
    start: () => collector.start(stop.signal),
    exists: async (name) => (await client.get(ConfigMap, ref(name))) !== undefined,
  }
  await client.create(
    ConfigMap,
    map('child', [{ metadata: { name: 'absent', uid: '00000000-0000-0000-0000-000000000000' } }]),
  )
  return self
}

test('failed discovery is retried with back-off until it succeeds', async () => {
  const one = await alone()
  one.refuses = true
  const running = one.start()
  const discoveries: number[] = []
  for (const ms of [0, 999, 1, 1999, 1, 3999, 1]) {
    await one.clock.advance(ms)
    discoveries.push(one.discoveries)
  }
  assert.deepEqual(discoveries, [1, 1, 2, 2, 3, 3, 4])
  assert.equal(one.collector.idle, true, 'a back-off does not count as work')
  const [first] = one.lines.filter((line) => line.startsWith('error'))
  assert.match(
    first!,
    /^error The garbage collector cannot discover kinds: .*Forbidden.*; retrying in 1 s$/,
  )
  await one.clock.advance(10 * 60_000)
  const before = one.discoveries
  await one.clock.advance(2 * 60_000)
  assert.equal(one.discoveries - before, 2, 'the back-off has a maximum')
  one.refuses = false
  await one.clock.advance(60_000)
  assert.equal(await one.exists('child'), false)
  const after = one.discoveries
  await one.clock.advance(10 * 60_000)
  assert.equal(one.discoveries, after, 'after a success, only a change starts another discovery')
  one.stop.abort()
  await one.clock.advance(0)
  await running
})

test('a cluster-scoped object whose owner would be in a namespace is kept, without an error', async () => {
  const one = await alone()
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'absent', uid: '00000000-0000-0000-0000-000000000000' }
  await one.client.create(Namespace, { metadata: { name: 'kept', ownerReferences: [owner] } })
  const running = one.start()
  await one.clock.advance(60_000)
  assert.equal((await one.client.get(Namespace, { name: 'kept' }))?.metadata.deletionTimestamp, undefined)
  assert.deepEqual(one.lines.filter((line) => line.startsWith('error')), [])
  one.stop.abort()
  await one.clock.advance(0)
  await running
})

test('a success resets the back-off', async () => {
  const one = await alone()
  one.refuses = true
  const running = one.start()
  await one.clock.advance(10_000)
  one.refuses = false
  await one.clock.advance(60_000)
  one.refuses = true
  one.lines.length = 0
  await one.client.create(CRD, Foo.definition.crd)
  await one.clock.advance(0)
  assert.match(one.lines.join('\n'), /retrying in 1 s/)
  one.stop.abort()
  await one.clock.advance(0)
  await running
})

test('a change of a definition ends the back-off', async () => {
  const one = await alone()
  one.refuses = true
  const running = one.start()
  await one.clock.advance(100_000)
  one.refuses = false
  const before = one.discoveries
  await one.client.create(CRD, Foo.definition.crd)
  await one.clock.advance(0)
  assert.ok(one.discoveries > before)
  const foo = await one.client.create(Foo, { metadata: ref('foo'), spec: { deploymentName: 'd' } })
  await one.client.create(ConfigMap, {
    metadata: {
      ...ref('of-foo'),
      ownerReferences: [{ apiVersion: foo.apiVersion, kind: foo.kind, name: 'foo', uid: foo.metadata.uid }],
    },
  })
  await one.client.delete(Foo, ref('foo'))
  await one.clock.advance(0)
  assert.equal(await one.exists('of-foo'), false)
  one.stop.abort()
  await one.clock.advance(0)
  await running
})

test('a definition created during discovery is not missed', async () => {
  const one = await alone()
  const running = one.start()
  await one.clock.advance(0)
  const other = defineResource({ group: 'other.example.com', version: 'v1', kind: 'Other', spec: z.object({}) })
  one.meanwhile = async () => {
    one.meanwhile = undefined
    await one.client.create(CRD, Foo.definition.crd)
    for (let turn = 0; turn < 20; turn++) await nextTurn()
  }
  await one.client.create(CRD, other.definition.crd)
  for (let times = 0; times < 5; times++) await one.clock.advance(0)
  const foo = await one.client.create(Foo, { metadata: ref('foo'), spec: { deploymentName: 'd' } })
  await one.client.create(ConfigMap, {
    metadata: {
      ...ref('of-foo'),
      ownerReferences: [{ apiVersion: foo.apiVersion, kind: foo.kind, name: 'foo', uid: foo.metadata.uid }],
    },
  })
  await one.client.delete(Foo, ref('foo'))
  await one.clock.advance(0)
  assert.equal(await one.exists('of-foo'), false)
  one.stop.abort()
  await one.clock.advance(0)
  await running
})

test('a stopped collector leaves no timer, also during a back-off', async () => {
  for (const refuses of [false, true]) {
    const one = await alone()
    one.refuses = refuses
    const running = one.start()
    await one.clock.advance(100)
    one.stop.abort()
    await one.clock.advance(0)
    await running
    assert.equal(one.clock.pending, 0)
  }
})

test('a second start throws and leaves nothing running', async () => {
  const one = await alone()
  const running = one.start()
  await one.clock.advance(0)
  await assert.rejects(one.start(), /started already/)
  one.stop.abort()
  await one.clock.advance(0)
  await running
  assert.equal(one.clock.pending, 0)
})

test('a removed kind is not watched, until it is defined again', async () => {
  const one = await alone()
  const running = one.start()
  const collects = async (name: string): Promise<boolean> => {
    const foo = await one.client.create(Foo, { metadata: ref(name), spec: { deploymentName: 'd' } })
    await one.client.create(ConfigMap, {
      metadata: {
        ...ref(name),
        ownerReferences: [{ apiVersion: foo.apiVersion, kind: foo.kind, name, uid: foo.metadata.uid }],
      },
    })
    await one.client.delete(Foo, ref(name))
    await one.clock.advance(1000)
    return !(await one.exists(name))
  }
  await one.clock.advance(0)
  for (const name of ['first', 'second']) {
    await one.client.create(CRD, Foo.definition.crd)
    await one.clock.advance(1000)
    assert.equal(await collects(name), true)
    await one.client.delete(CRD, { metadata: { name: Foo.definition.crd.metadata.name } } as KubeObject)
    await one.clock.advance(10_000)
  }
  assert.equal(one.collector.idle, true)
  one.stop.abort()
  await one.clock.advance(0)
  await running
})
