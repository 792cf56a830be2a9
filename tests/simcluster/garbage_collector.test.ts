import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as z from 'zod'
import {
  type Client,
  Cluster,
  defineResource,
  dynamicResource,
  type KubeObject,
  operator,
  type Transport,
} from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import { ClusterRole, ConfigMap, Namespace, Node, Secret } from 'kubeloop/kinds'
import { FakeClock, world } from 'kubeloop/testing'
import sample, { Foo } from '../../examples/1_sample_controller.ts'
import { nextTurn } from '../../lib/async/clock.ts'
import { GarbageCollector } from '../../lib/simcluster/garbage_collector.ts'
import { refusal } from '../client/transports.ts'
import { recordingLog } from '../manager/parts.ts'
import { CRD } from '../../lib/core/resource.ts'
import { definitionOf } from '../tools/definitions.ts'

/** An operator that does nothing: the collector under test runs beside it. */
const idle = operator({ name: 'idle' }).add(
  'wait',
  ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
)

type Owner = { readonly apiVersion: string; readonly kind: string; readonly metadata: { name: string; uid: string } }

const map = (name: string, ...owners: readonly Owner[]) => ({
  metadata: {
    namespace: 'default',
    name,
    ownerReferences: owners.map(({ apiVersion, kind, metadata: { name, uid } }) => ({
      ...{ apiVersion, kind, name, uid, blockOwnerDeletion: true },
    })),
  },
})
const ABSENT: Owner = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'absent', uid: '00000000-0000-0000-0000-000000000000' },
}
const ref = (name: string) => ({ namespace: 'default', name })
const isThere = async (client: Client, name: string): Promise<boolean> =>
  (await client.get(ConfigMap, ref(name))) !== undefined

interface InWorld {
  readonly client: Client
  settle(): Promise<unknown>
  /** Which of these ConfigMaps exist. */
  exist(...names: string[]): Promise<boolean[]>
}

/** Runs with the collector of a world. */
async function inWorld(work: (cluster: InWorld) => Promise<void>, app: typeof sample = idle): Promise<void> {
  const { client, settle, stop } = await world(app)
  await work({ client, settle, exist: (...names) => Promise.all(names.map((name) => isThere(client, name))) })
  await stop()
}

test('dependents are deleted after their owner, recursively', () =>
  inWorld(async ({ client, settle, exist }) => {
    const owner = await client.create(ConfigMap, map('owner'))
    const child = await client.create(ConfigMap, map('child', owner))
    await client.create(ConfigMap, map('grandchild', child))
    await client.create(ConfigMap, map('stranger'))
    await client.delete(ConfigMap, ref('owner'))
    await settle()
    assert.deepEqual(await exist('child', 'grandchild', 'stranger'), [false, false, true])
  }))

test('foreground deletion removes the owner last', () =>
  inWorld(async ({ client, settle, exist }) => {
    const { metadata } = map('child', await client.create(ConfigMap, map('owner')))
    await client.create(ConfigMap, { metadata: { ...metadata, finalizers: ['test/held'] } })
    await client.delete(ConfigMap, ref('owner'), { propagation: 'Foreground' })
    await settle()
    assert.deepEqual(await exist('owner', 'child'), [true, true])
    await client.edit(ConfigMap, ref('child'), (draft) => void (draft.metadata.finalizers = []))
    await settle()
    assert.deepEqual(await exist('owner', 'child'), [false, false])
  }))

test('an owner without a namespace is removed after its dependents in one', () =>
  inWorld(async ({ client, settle }) => {
    const { metadata } = map('child', await client.create(Node, { metadata: { name: 'owner' } }))
    await client.create(ConfigMap, { metadata: { ...metadata, finalizers: ['test/held'] } })
    await client.delete(Node, { name: 'owner' }, { propagation: 'Foreground' })
    await settle()
    await client.edit(ConfigMap, ref('child'), (draft) => void (draft.metadata.finalizers = []))
    await settle()
    assert.equal(await client.get(Node, { name: 'owner' }), undefined)
  }))

test('foreground deletion also deletes a dependent that does not block, and does not wait for it', () =>
  inWorld(async ({ client, settle, exist }) => {
    const { metadata } = map('child', await client.create(ConfigMap, map('owner')))
    const ownerReferences = metadata.ownerReferences.map((each) => ({ ...each, blockOwnerDeletion: false }))
    await client.create(ConfigMap, { metadata: { ...metadata, ownerReferences, finalizers: ['test/held'] } })
    await client.delete(ConfigMap, ref('owner'), { propagation: 'Foreground' })
    await settle()
    assert.deepEqual(await exist('owner', 'child'), [false, true])
    assert.ok((await client.get(ConfigMap, ref('child')))?.metadata.deletionTimestamp)
  }))

test('foreground deletion ends in a circle of owners', () =>
  inWorld(async ({ client, settle, exist }) => {
    const a = await client.create(ConfigMap, map('a'))
    const b = await client.create(ConfigMap, map('b', a))
    const c = await client.create(ConfigMap, map('c', b))
    await client.edit(ConfigMap, ref('a'), (draft) => {
      draft.metadata.ownerReferences = map('a', c).metadata.ownerReferences
    })
    await client.delete(ConfigMap, ref('b'), { propagation: 'Foreground' })
    await settle()
    assert.deepEqual(await exist('a', 'b', 'c'), [false, false, false])
  }))

test('orphaned dependents are kept without the owner reference', () =>
  inWorld(async ({ client, settle, exist }) => {
    await client.create(ConfigMap, map('child', await client.create(ConfigMap, map('owner'))))
    await client.delete(ConfigMap, ref('owner'), { propagation: 'Orphan' })
    await settle()
    assert.deepEqual(await exist('owner', 'child'), [false, true])
    const child = await client.get(ConfigMap, ref('child'))
    assert.equal(child!.metadata.ownerReferences?.length ?? 0, 0)
  }))

test('an object with two owners is deleted after both of them', () =>
  inWorld(async ({ client, settle, exist }) => {
    const [a, b] = [await client.create(ConfigMap, map('a')), await client.create(ConfigMap, map('b'))]
    await client.create(ConfigMap, map('child', a, b))
    await client.delete(ConfigMap, ref('a'))
    await settle()
    const child = await client.get(ConfigMap, ref('child'))
    assert.deepEqual(child?.metadata.ownerReferences?.map(({ name }) => name), ['b'])
    await client.delete(ConfigMap, ref('b'))
    await settle()
    assert.deepEqual(await exist('child'), [false])
  }))

test('an object whose owner never existed, or has another uid, is deleted', () =>
  inWorld(async ({ client, settle, exist }) => {
    const owner = await client.create(ConfigMap, map('owner'))
    const other = { ...owner, metadata: { name: 'owner', uid: `${owner.metadata.uid}x` } }
    await client.create(ConfigMap, map('child', ABSENT))
    await client.create(ConfigMap, map('other', other))
    await settle()
    assert.deepEqual(await exist('child', 'other'), [false, false])
  }))

test('kinds defined after the start are collected', () =>
  inWorld(async ({ client, settle, exist }) => {
    const foo = await client.create(Foo, { metadata: ref('foo'), spec: { deploymentName: 'd' } })
    await client.create(ConfigMap, map('child', foo))
    await settle()
    assert.deepEqual(await exist('child'), [true])
    await client.delete(Foo, ref('foo'))
    await settle()
    assert.deepEqual(await exist('child'), [false])
  }, sample))

test('a cluster-scoped owner can have namespaced dependents', () =>
  inWorld(async ({ client, settle, exist }) => {
    // Names of roles may have any letters.
    const [owner, name] = [await client.create(ClusterRole, { metadata: { name: 'Owner~a' } }), 'Child~a']
    await client.create(ConfigMap, map('child', owner))
    await client.create(ClusterRole, { metadata: { ...map(name, owner).metadata, namespace: undefined, name } })
    await settle()
    assert.deepEqual(await exist('child'), [true])
    await client.delete(ClusterRole, { name: 'Owner~a' })
    await settle()
    assert.deepEqual([...await exist('child'), await client.get(ClusterRole, { name })], [false, undefined])
  }))

interface Alone {
  readonly client: Client
  readonly clock: FakeClock
  readonly collector: GarbageCollector
  readonly lines: string[]
  readonly stop: AbortController
  /** Whether discovery is refused. */
  refuses: boolean
  /** The path of a kind of which the collector gets no list and no watch. */
  hidden: string | undefined
  hide(path: string): void
  /** Called after the server has answered discovery, before the collector receives the answer. */
  meanwhile: (() => Promise<unknown>) | undefined
  /** The paths of the collector's requests. */
  readonly paths: string[]
  /** Number of discovery requests. */
  readonly discoveries: number
  exists(name: string): Promise<boolean>
  /** Creates and deletes a Foo, and resolves with whether its dependent is deleted. */
  collectsFoo(name: string): Promise<boolean>
}

/** Runs a collector without a world; its discovery fails while `refuses` is true. */
async function alone(work: (one: Alone) => Promise<void>, refuses = false): Promise<void> {
  const clock = new FakeClock({
    settle: async () => {
      for (let turn = 0; turn < 20; turn++) await nextTurn()
    },
  })
  const server = new ApiServer({ clock })
  const { client } = new Cluster({ name: 'test', transport: server.handle, clock })
  const lines: string[] = []
  const transport: Transport = (request) => {
    self.paths.push(request.path)
    if (self.hidden && request.path.startsWith(`${self.hidden}?`)) return Promise.resolve(refusal(403, 'Forbidden'))
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
    ...{ client, clock, collector, lines, stop, refuses, hidden: undefined, meanwhile: undefined, paths: [] },
    get discoveries() {
      return self.paths.filter((path) => path === '/apis').length
    },
    hide: (path) => (self.hidden = path, server.closeWatches()),
    exists: (name) => isThere(client, name),
    async collectsFoo(name) {
      const foo = await client.create(Foo, { metadata: ref(name), spec: { deploymentName: 'd' } })
      await client.create(ConfigMap, map(name, foo))
      await client.delete(Foo, ref(name))
      await clock.advance(1000)
      return !(await isThere(client, name))
    },
  }
  await client.create(ConfigMap, map('child', ABSENT))
  const running = collector.start(stop.signal)
  await work(self)
  stop.abort()
  await clock.advance(0)
  await running
  assert.equal(clock.pending, 0)
}

test('failed discovery is retried with back-off until it succeeds', () =>
  alone(async (one) => {
    const discoveries: number[] = []
    for (const ms of [0, 999, 1, 1999, 1, 3999, 1]) {
      await one.clock.advance(ms)
      discoveries.push(one.discoveries)
    }
    assert.deepEqual(discoveries, [1, 1, 2, 2, 3, 3, 4])
    assert.equal(one.collector.idle, true, 'a back-off does not count as work')
    const [first] = one.lines.filter((line) => line.startsWith('error'))
    assert.match(first!, /^error The garbage collector cannot discover kinds: .*Forbidden.*; retrying in 1 s$/)
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
  }, true))

test('a cluster-scoped object whose owner would be in a namespace is kept, without an error', () =>
  alone(async ({ client, clock, lines }) => {
    const { ownerReferences } = map('kept', ABSENT).metadata
    await client.create(Namespace, { metadata: { name: 'kept', ownerReferences } })
    await clock.advance(60_000)
    assert.equal((await client.get(Namespace, { name: 'kept' }))?.metadata.deletionTimestamp, undefined)
    assert.deepEqual(lines.filter((line) => line.startsWith('error')), [])
  }))

// An object may come and go between two watches. kube-controller-manager, too, looks at its dependents until it has
// seen it.
test('a dependent is deleted after an owner that no watch has delivered', () =>
  alone(async (one) => {
    const { client, clock, collector } = one
    one.hide('/api/v1/secrets')
    await clock.advance(0)
    await client.create(ConfigMap, map('orphan', await client.create(Secret, { metadata: ref('owner') })))
    await clock.advance(60_000)
    assert.equal(await one.exists('orphan'), true)
    await client.delete(Secret, ref('owner'))
    await clock.advance(120_000)
    assert.equal(await one.exists('orphan'), false)
    one.hidden = undefined
    const other = await client.create(Secret, { metadata: ref('other') })
    await client.create(ConfigMap, map('seen', other))
    const both = map('both', other, await client.create(Secret, { metadata: ref('kept') }))
    await client.create(ConfigMap, both)
    await clock.advance(120_000)
    one.paths.length = 0
    await clock.advance(120_000)
    assert.doesNotMatch(one.paths.join('\n'), /\/secrets\/(?:other|kept)/, 'the cache has the owners')
    assert.equal(await one.exists('seen'), true)
    assert.equal(collector.idle, true)
    // The collector has an owner, and then a dependent, that was deleted and created again meanwhile.
    one.hide('/api/v1/secrets')
    await client.delete(Secret, ref('other'))
    await client.create(ConfigMap, map('again', await client.create(Secret, { metadata: ref('other') })))
    await clock.advance(120_000)
    assert.equal(await one.exists('again'), true)
    one.hide('/api/v1/configmaps')
    await client.delete(ConfigMap, ref('again'))
    await client.create(ConfigMap, map('again'))
    await client.delete(ConfigMap, ref('both'))
    await client.create(ConfigMap, both)
    await client.delete(Secret, ref('other'))
    await clock.advance(120_000)
    assert.equal(await one.exists('again'), true)
    assert.equal((await client.get(ConfigMap, ref('both')))?.metadata.ownerReferences?.length, 2)
  }))

test('a success resets the back-off', () =>
  alone(async (one) => {
    await one.clock.advance(10_000)
    one.refuses = false
    await one.clock.advance(60_000)
    one.refuses = true
    one.lines.length = 0
    await one.client.create(CRD, Foo.definition.crd)
    await one.clock.advance(0)
    assert.match(one.lines.join('\n'), /retrying in 1 s/)
  }, true))

test('a change of a definition ends the back-off', () =>
  alone(async (one) => {
    await one.clock.advance(100_000)
    one.refuses = false
    const before = one.discoveries
    await one.client.create(CRD, Foo.definition.crd)
    await one.clock.advance(0)
    assert.ok(one.discoveries > before)
    assert.equal(await one.collectsFoo('foo'), true)
    const after = one.discoveries
    await one.clock.advance(10 * 60_000)
    assert.equal(one.discoveries, after)
  }, true))

test('a definition created during discovery is not missed', () =>
  alone(async (one) => {
    await one.clock.advance(0)
    const other = defineResource({ group: 'other.example.com', version: 'v1', kind: 'Other', spec: z.object({}) })
    one.meanwhile = async () => {
      one.meanwhile = undefined
      await one.client.create(CRD, Foo.definition.crd)
      for (let turn = 0; turn < 20; turn++) await nextTurn()
    }
    await one.client.create(CRD, other.definition.crd)
    for (let times = 0; times < 5; times++) await one.clock.advance(0)
    assert.equal(await one.collectsFoo('foo'), true)
  }))

for (const refuses of [false, true]) {
  test(`a stop leaves no timer${refuses ? ' of a back-off' : ''}`, () =>
    alone(({ clock }) => clock.advance(100), refuses))
}

test('a second start throws and leaves nothing running', () =>
  alone(async ({ clock, collector, stop }) => {
    await clock.advance(0)
    await assert.rejects(collector.start(stop.signal), /started already/)
  }))

test('a removed kind is not watched, until it is defined again, also if it could not be listed', () =>
  alone(async (one) => {
    const { client, clock, collector, lines, paths } = one
    const remove = async (): Promise<void> => {
      await client.delete(CRD, { metadata: { name: Foo.definition.crd.metadata.name } } as KubeObject)
      await clock.advance(10_000)
    }
    await clock.advance(0)
    one.hide('/apis/samplecontroller.k8s.io/v1alpha1/foos')
    await client.create(CRD, Foo.definition.crd)
    await clock.advance(1000)
    await remove()
    one.hidden = undefined
    for (const name of ['first', 'second']) {
      await client.create(CRD, Foo.definition.crd)
      await clock.advance(1000)
      assert.equal(await one.collectsFoo(name), true)
      await remove()
      paths.length = 0
      await clock.advance(600_000)
      assert.doesNotMatch(paths.join(), /foos/)
    }
    assert.doesNotMatch(lines.join(), /cannot watch/)
    assert.equal(collector.idle, true)
  }))

test('a kind is collected in a version that is served, if its group prefers another one and after it has changed', () =>
  alone(async ({ client, clock }) => {
    const crd = definitionOf({ versions: ['v1beta1'], scope: 'Namespaced' })
    await client.create(CRD, definitionOf({ kind: 'Bar' }))
    await client.create(CRD, crd)
    for (const version of ['v1beta1', 'v2']) {
      const [before] = crd.spec.versions
      const versions = [{ ...before, served: false, storage: false }, { ...before, name: version }]
      if (version !== before.name) await client.patch(CRD, crd, { merge: { spec: { versions } } })
      await clock.advance(1000)
      const kind = dynamicResource({ group: 'example.com', version, kind: 'Foo', plural: 'foos' })
      const { metadata } = map(version, await client.create(ConfigMap, map('owner')))
      await client.create(kind, { metadata })
      await client.delete(ConfigMap, ref('owner'))
      await clock.advance(1000)
      assert.equal(await client.get(kind, ref(version)), undefined, version)
    }
  }))
