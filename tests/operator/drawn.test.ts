/**
 * Operators whose options are drawn at random, in random weather, beside a model of what such an operator may touch and
 * must have done when it is at rest. What breaks here lies between options that each work alone.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  conditions,
  type ControllerOptions,
  defineResource,
  EventChannel,
  type KubeObject,
  type ObjectOf,
  operator,
} from 'kubeloop'
import { Namespace, Secret, Service } from 'kubeloop/kinds'
import { conditionList } from 'kubeloop/schema'
import { world } from 'kubeloop/testing'
import fc from 'fast-check'
import * as z from 'zod'
import { tries } from '../tools/fuzz.ts'

const Foo = defineResource({
  group: 'drawn.example',
  version: 'v1',
  kind: 'Foo',
  spec: z.object({ value: z.string() }),
  status: z.object({ conditions: conditionList }),
})
type Foo = ObjectOf<typeof Foo>
type Key = { readonly namespace: string; readonly name: string }
const FINALIZER = 'drawn.example/first'
const NAMESPACES = ['a', 'b'] as const
const NAMES = ['x', 'y'] as const

const drawing = fc.record({
  labels: fc.boolean(),
  namespaces: fc.constantFrom('all', 'list', 'record', 'others'),
  fields: fc.boolean(),
  strip: fc.boolean(),
  live: fc.boolean(),
  when: fc.constantFrom('all', 'when', 'eventFilter'),
  finalize: fc.boolean(),
  source: fc.constantFrom('none', 'watches', 'from', 'every', 'every with keys'),
  elsewhere: fc.boolean(),
  owns: fc.boolean(),
  second: fc.boolean(),
  replicas: fc.constantFrom(1, 2),
  warmup: fc.boolean(),
  concurrency: fc.constantFrom(1, 3),
})
type Drawing = typeof drawing extends fc.Arbitrary<infer D> ? D : never

const object = { namespace: fc.constantFrom(...NAMESPACES), name: fc.constantFrom(...NAMES) }
const deed = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ deed: fc.constant('create'), ...object, selected: fc.boolean(), passes: fc.boolean() }),
  },
  { weight: 3, arbitrary: fc.record({ deed: fc.constantFrom('delete', 'edit', 'poke'), ...object }) },
  { weight: 3, arbitrary: fc.record({ deed: fc.constantFrom('drift', 'extra', 'remove'), ...object }) },
  { weight: 2, arbitrary: fc.record({ deed: fc.constantFrom('pass', 'hide'), ...object }) },
  {
    weight: 3,
    arbitrary: fc.record({ deed: fc.constantFrom('close', 'compact', 'kill', 'wait', 'short'), ...object }),
  },
)
type Deed = typeof deed extends fc.Arbitrary<infer D> ? D : never

const passes = ({ metadata: { labels } }: Pick<KubeObject, 'metadata'>): boolean => labels?.['passes'] === 'yes'

/** Returns the drawn operator with the open streams of keys. */
function drawn(draw: Drawing) {
  const app = operator({ name: 'drawn', crds: 'install', leaderElection: { namespace: 'a' } })
  const west = app.cluster('west', { server: 'https://west.example' })
  const cluster = draw.elsewhere ? { cluster: west } : {}
  app.cache(Foo, {
    ...cluster,
    ...(draw.labels && { labels: 'selected=yes' }),
    ...(draw.fields && { fields: 'metadata.name!=y' }),
    ...(draw.strip &&
      { strip: (foo: object) => void delete (foo as { metadata: Record<string, unknown> }).metadata['annotations'] }),
    ...(draw.live && { read: 'live' as const }),
    ...(draw.namespaces === 'list' && { namespaces: ['a'] }),
    ...(draw.namespaces === 'record' && { namespaces: { a: {}, b: { labels: 'selected=yes' } } }),
    ...(draw.namespaces === 'others' && { namespaces: { a: { labels: 'selected=yes' }, '*': {} } }),
  })
  const options: ControllerOptions<Foo> = {
    ...cluster,
    concurrency: draw.concurrency,
    warmup: draw.warmup,
    ...(draw.when === 'when' && { when: passes }),
    ...(draw.when === 'eventFilter' && { eventFilter: (each: KubeObject) => each.kind !== 'Foo' || passes(each) }),
  }
  const streams = new Set<EventChannel<Key>>()
  const reach = <T>({ client, clientOf }: { client: T; clientOf(of: typeof west): T }): T =>
    draw.elsewhere ? clientOf(west) : client
  let first = app.controllerFor(Foo, { ...options, name: 'first' })
  if (draw.owns) first = first.owns(Service)
  if (draw.source === 'watches') first = first.watches(Secret, ({ metadata }) => [metadata as Key], cluster)
  if (draw.source === 'every') first = first.every('20s')
  if (draw.source === 'every with keys') first = first.every('20s', () => [{ namespace: 'b', name: 'x' }])
  if (draw.source === 'from') {
    first = first.from('keys', ({ signal }) => {
      const stream = new EventChannel<Key>()
      streams.add(stream)
      signal.addEventListener('abort', () => streams.delete(stream), { once: true })
      return stream
    })
  }
  if (draw.finalize) first = first.finalize(async () => {}, { finalizer: FINALIZER })
  first.reconcile(async (foo, context) => {
    const { namespace, name } = foo.metadata
    const spec = { ports: [{ port: 80 }], selector: { app: foo.spec.value } }
    await reach(context).apply(Service, { metadata: { namespace, name }, spec }, { owner: foo })
    if (draw.second) await new Promise<void>((resolve) => context.clock.after(700, resolve))
    await reach(context).setStatus(Foo, foo, { conditions: withCondition(foo, 'First', context.clock.now()) })
  })
  if (draw.second) {
    app.controllerFor(Foo, { ...options, name: 'second' }).reconcile(async (foo, context) => {
      await new Promise<void>((resolve) => context.clock.after(400, resolve))
      await reach(context).setStatus(Foo, foo, { conditions: withCondition(foo, 'Second', context.clock.now()) })
    })
  }
  return { app, west, streams }
}

function withCondition(foo: Foo, type: string, now: number) {
  return conditions.setCondition(foo.status?.conditions, { type, status: 'True', reason: 'Done', message: '' }, now)
}

/** What is known of an object since it was created. */
interface Known {
  readonly selected: boolean
  readonly value: string
  passed: boolean
  /** Another source than the kind itself has named it. */
  named: boolean
  /** Its Service was changed by others. */
  drifted: boolean
}

/** Whether the description selects an object. */
function selects(draw: Drawing, { namespace, name }: Key, labelled: boolean): boolean {
  if (draw.fields && name === 'y') return false
  if (draw.namespaces === 'list' && namespace !== 'a') return false
  const selective = draw.labels || (draw.namespaces === 'record' && namespace === 'b') ||
    (draw.namespaces === 'others' && namespace === 'a')
  return !selective || labelled
}

async function live(draw: Drawing, deeds: readonly Deed[]): Promise<string[]> {
  const { app, west, streams } = drawn(draw)
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const namespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  const w = await world(app, { replicas: draw.replicas, objects: NAMESPACES.map(namespace), log })
  for (const name of NAMESPACES) await w.clientOf(west).create(Namespace, { metadata: { name } })
  const client = draw.elsewhere ? w.clientOf(west) : w.client
  const known = new Map<string, Known>()
  /** The keys that another source has named, perhaps before their objects were created. */
  const poked = new Set<string>()
  let count = 0
  let replicas: number = draw.replicas
  for (const { deed, namespace, name, ...labels } of deeds) {
    const ref = { namespace, name }
    const key = `${namespace}/${name}`
    const label = (value: boolean) => (value ? 'yes' : 'no')
    const mark = async (value: boolean) => {
      if (
        !await client.patch(Foo, ref, { merge: { metadata: { labels: { passes: label(value) } } } }).catch(() => {})
      ) return
      if (value) known.get(key)!.passed = true
    }
    if (deed === 'create' && 'selected' in labels && !await client.get(Foo, ref)) {
      const { selected, passes } = labels
      const value = `v${++count}`
      // A key of the object before may be queued still, and its run reads this one.
      const { passed = false, named = poked.has(key) } = known.get(key) ?? {}
      const isSelected = selects(draw, ref, selected)
      known.set(key, { selected: isSelected, value, passed: passed || passes, named, drifted: false })
      const metadata = {
        ...ref,
        labels: { selected: label(selected), passes: label(passes) },
        annotations: { kept: 'yes' },
      }
      await client.create(Foo, { metadata, spec: { value } })
    }
    if (deed === 'delete') await client.delete(Foo, ref)
    if (deed === 'pass' || deed === 'hide') await mark(deed === 'pass')
    if (deed === 'edit' && await client.get(Foo, ref)) {
      const value = `v${++count}`
      const done = await client.patch(Foo, ref, { merge: { spec: { value } } }).catch(() => undefined)
      if (done) known.set(key, { ...known.get(key)!, value })
    }
    if (deed === 'poke') {
      for (const stream of streams) stream.send(ref)
      if (draw.source === 'watches') {
        await client.createOrUpdate(Secret, ref, (secret) => void (secret.data = { [`k${++count}`]: '' }))
      }
      if (['watches', 'from'].includes(draw.source)) poked.add(key)
      if (known.has(key) && poked.has(key)) known.get(key)!.named = true
    }
    if (deed === 'drift' || deed === 'extra' || deed === 'remove') {
      const selector = deed === 'drift' ? { app: 'other' } : { extra: 'yes' }
      const done = deed === 'remove'
        ? await client.delete(Service, ref)
        : await client.patch(Service, ref, { merge: { spec: { selector } } }).catch(() => false)
      if (done && known.has(key)) known.get(key)!.drifted = true
    }
    if (deed === 'close') w.closeWatches(draw.elsewhere ? west : undefined)
    if (deed === 'compact') w.compact(draw.elsewhere ? west : undefined)
    if (deed === 'kill' && replicas > 1) {
      replicas--
      w.kill()
    }
    if (deed === 'wait' || deed === 'short') await w.advance(deed === 'wait' ? '30s' : '500ms')
  }
  await w.advance('2m')
  const wrong = (await w.settle()).map(({ key, error }) => `${JSON.stringify(key)} fails: ${error}`)
  for (const namespace of NAMESPACES) {
    for (const name of NAMES) {
      const [foo, service] = await Promise.all(
        [Foo, Service].map((kind) => client.get<KubeObject>(kind, { namespace, name })),
      )
      wrong.push(
        ...judged(draw, { namespace, name }, known.get(`${namespace}/${name}`), foo as Foo | undefined, service),
      )
    }
  }
  await w.stop()
  return wrong
}

/** Returns what is wrong with an object and its Service when the operator is at rest. */
function judged(
  draw: Drawing,
  key: Key,
  known: Known | undefined,
  foo: Foo | undefined,
  service: KubeObject | undefined,
): string[] {
  const wrong: string[] = []
  const expect = (holds: boolean, what: string): void => {
    if (!holds) wrong.push(`${key.namespace}/${key.name}: ${what}`)
  }
  if (!foo || !known) {
    expect(!service, 'the Service of an object that is gone')
    return wrong
  }
  const { metadata, status } = foo
  const named = known.named || (draw.source === 'every with keys' && key.namespace === 'b' && key.name === 'x')
  const touched = service !== undefined || metadata.finalizers?.includes(FINALIZER) || status !== undefined
  if (!known.selected) expect(!touched, 'touched, but not selected')
  else if (draw.when !== 'all' && !known.passed && !named) expect(!touched, 'touched, but never passed')
  expect(metadata.annotations?.['kept'] === 'yes', 'its annotation was lost')
  if (!known.selected) return wrong
  expect(metadata.deletionTimestamp === undefined, 'its finalizer was not removed')
  if (metadata.deletionTimestamp || (draw.when !== 'all' && !passes(foo))) return wrong
  const types = status?.conditions?.map(({ type }) => type).sort().join()
  expect(types === (draw.second ? 'First,Second' : 'First'), `conditions ${types}`)
  expect(!draw.finalize || metadata.finalizers?.includes(FINALIZER) === true, 'no finalizer')
  if (!known.drifted || draw.owns) {
    const selector = (service as { spec?: { selector?: object } } | undefined)?.spec?.selector
    expect(JSON.stringify(selector) === JSON.stringify({ app: known.value }), `Service ${JSON.stringify(selector)}`)
  }
  return wrong
}

test('a drawn operator touches what it selects, and everything of it is done when it is at rest', async () => {
  await fc.assert(
    fc.asyncProperty(drawing, fc.array(deed, { minLength: 4, maxLength: 16, size: 'max' }), async (draw, deeds) => {
      assert.deepEqual(await live(draw, deeds), [])
    }),
    { numRuns: tries(15) },
  )
})
