/** Builds the operator of a drawing. Its functions report what they do to the observer of their replica. */
import {
  type AnyResource,
  type ClusterChange,
  conditions,
  type Context,
  type ControllerBuilder,
  type ControllerOptions,
  defineIndex,
  defineResource,
  draft,
  dynamicResource,
  EventChannel,
  isReason,
  type KubeObject,
  limiters,
  metadataOf,
  type ObjectOf,
  type Operator,
  operator,
  type OtherCluster,
  owners,
  TerminalError,
} from 'kubeloop'
import { ConfigMap, Secret, Service } from 'kubeloop/kinds'
import { conditionList } from 'kubeloop/schema'
import * as z from 'zod'
import { groupResourceOf } from '../../lib/core/resource.ts'
import { bucketOf } from '../../lib/operator/sharding/bucket_state.ts'
import { crdOf } from '../../lib/schema/crds.ts'
import { type Drawing, hasVersions } from './options.ts'
import { RING, type Sharded } from './sharder.ts'
import { addZones, type Place } from './zones.ts'

export const Foo = defineResource({
  group: 'drawn.example',
  version: 'v1',
  kind: 'Foo',
  spec: z.object({ value: z.string(), note: z.string().optional() }),
  status: z.object({ conditions: conditionList }),
})
export type Foo = ObjectOf<typeof Foo>
/** Its older version has another name for the value. */
export const OldFoo = defineResource({
  ...{ group: Foo.group, kind: Foo.kind, version: 'v1beta1' },
  spec: z.object({ text: z.string(), note: z.string().optional() }),
  status: z.object({ conditions: conditionList }),
})
/** Its definition comes and goes. */
export const Bar = dynamicResource({ group: 'drawn.example', version: 'v1', kind: 'Bar' })
export const [BARS] = crdOf([
  defineResource({ group: Bar.group, version: Bar.version, kind: Bar.kind, spec: z.object({ at: z.string() }) }),
])
export type Key = { readonly namespace: string; readonly name: string }

export const NAMESPACES = ['a', 'b'] as const
export const NAMES = ['x', 'y'] as const
export const KEYS: readonly Key[] = NAMESPACES.flatMap((namespace) => NAMES.map((name) => ({ namespace, name })))
/** The label of each Service of the operator. */
const DRAWN = { drawn: 'yes' }
const SERVICES = {
  labels: { labels: 'drawn=yes' },
  list: { namespaces: ['a'] as string[] },
  strip: { strip: (service: object) => void delete (service as { spec?: unknown }).spec },
  live: { read: 'live' },
  compact: { compact: true },
} as const
/** The namespaces by labels. */
const TEAM = { labels: 'team=a' }
const IDENTITY = 'sim'
/** Returns the name of a replica in its Leases. */
export const identityOf = (replica: number): string => replica === 0 ? IDENTITY : `${IDENTITY}-${replica}`
/** The finalizers of both controllers. */
const [FIRST, SECOND] = ['drawn.example/first', 'drawn.example/second']
/** The key that `every` names. */
export const NAMED: Key = { namespace: 'b', name: 'x' }
/** The value that an admission refuses, and the one that it writes for an empty one. */
export const REFUSED = 'refused'
export const DEFAULTED = 'defaulted'
/** The value with which no retry helps. */
export const TERMINAL = 'terminal'

/** Called by the functions of one replica. */
export interface Observer {
  /** A run of a controller for a key begins; the result ends it. */
  run(controller: string, key: string): () => void
  problem(text: string): void
  /** A read does not show a write before it. Where a cluster was set back, it need not. */
  unseen(text: string): void
  /** Takes some time, as a call that no signal ends. */
  elsewhere(ms: number): Promise<void>
  /** A controller has listed all objects. */
  listed(foos: readonly KubeObject[]): void
  /** A controller has read an object, or got it as the answer to a write. */
  saw(controller: string, object: KubeObject): void
  /** Whether a run of this key and value has failed before; it fails once. */
  failsFirst(key: string, value: string): boolean
}

export interface Subject {
  readonly app: Operator
  readonly west: OtherCluster
  /** The open streams of keys. */
  readonly streams: ReadonlySet<EventChannel<Key>>
  /** The providers of the group of clusters. */
  readonly providers: ReadonlySet<EventChannel<ClusterChange>>
}

export const WEST = { server: 'https://west.example' }

export const passes = ({ metadata: { labels } }: Pick<KubeObject, 'metadata'>): boolean => labels?.['passes'] === 'yes'

/** Returns the name of the Lease of the bucket of a key. */
export function bucketLease({ place, buckets }: Drawing, kind: AnyResource, key: string): string {
  return `drawn-bucket-${bucketOf(groupResourceOf(kind) + (place === 'own' ? '' : '@west'), key, buckets)}`
}

/** Returns the kinds that a ring distributes for one of the releases; undefined without a ring. */
export function shardedOf(draws: readonly Drawing[]): readonly Sharded[] | undefined {
  if (draws[0]!.election !== 'ring') return undefined
  const isOwned = { isOwned: true } as const
  return [
    { resource: Foo, isOwned: false },
    ...(draws.some((each) => each.owns !== 'none' && !isUnsharded(each)) ? [{ resource: Service, ...isOwned }] : []),
    ...(draws.some(({ bars }) => bars === 'owned') ? [{ resource: Bar, ...isOwned }] : []),
  ]
}

/** Whether each shard watches all Services. */
export const isUnsharded = ({ owns, unsharded }: Drawing): boolean => unsharded || owns === 'any owner'

export function finalizersOf({ finalize, finalizesTwice, second }: Drawing): readonly string[] {
  const first = finalize === 'none' ? [] : [finalize === 'by default' ? 'drawn/first' : FIRST]
  return [...first, ...(finalizesTwice && second === 'leader' ? [SECOND] : [])]
}

export function subjectOf(draw: Drawing, observer: Observer): Subject {
  const stripped = (draft: object): void => {
    const { metadata } = draft as Pick<KubeObject, 'metadata'> & { metadata: { annotations?: unknown } }
    // For one form of an object, so that it does not flood the log.
    if (draw.strip === 'fails' && metadata.name === 'y' && 'spec' in draft) {
      throw new Error('this object cannot be stripped')
    }
    delete metadata.annotations
  }
  const common = draw.commonSpaces === 'all' ? {} : { namespaces: draw.commonSpaces === 'list' ? ['a'] : TEAM }
  const app = operator({
    ...common,
    name: 'drawn',
    leaderElection: {
      namespace: 'a',
      identity: IDENTITY,
      ...(draw.election === 'quick' && { duration: '6s', renewDeadline: '4s', retryPeriod: '1s' }),
    },
    ...(draw.election === 'buckets' && { sharding: { buckets: draw.buckets } }),
    ...(draw.election === 'ring' && { sharding: { ring: RING, ...(isUnsharded(draw) && { unsharded: [Service] }) } }),
    ...(draw.health && { health: 8081 }),
    ...((draw.strip === 'all kinds' || draw.strip === 'fails') && { cache: { strip: stripped } }),
    ...(draw.filter === 'when of all' && { controllers: { when: passes } }),
  })
  const providers = new Set<EventChannel<ClusterChange>>()
  const group = draw.place === 'group'
    ? app.clusters('fleet', ({ signal }) => {
      const changes = new EventChannel<ClusterChange>()
      providers.add(changes)
      signal.addEventListener('abort', () => providers.delete(changes), { once: true })
      void changes.send({ add: 'west', config: WEST })
      return changes
    }, common)
    : undefined
  const isOptional = draw.west === 'optional' || draw.west === 'optional and late'
  const west = group
    ? { name: 'west' }
    : app.cluster('west', WEST, { ...common, ...(isOptional && { optional: true }) })
  const elsewhere = draw.place === 'own' || group ? {} : { cluster: west }
  const cachedIn = group ? { cluster: group } : elsewhere
  const selection = {
    ...cachedIn,
    ...(draw.labels && { labels: 'selected=yes' }),
    ...(draw.fields && { fields: 'metadata.name!=y' }),
    ...(draw.spaces === 'list' && { namespaces: ['a'] }),
    ...(draw.spaces === 'by labels' && { namespaces: TEAM }),
    ...(draw.spaces === 'record' && { namespaces: { a: {}, b: { labels: 'selected=yes' } } }),
    ...(draw.spaces === 'others' && { namespaces: { a: { labels: 'selected=yes' }, '*': {} } }),
  }
  const cached = {
    ...selection,
    ...(draw.strip === 'kind' && { strip: stripped }),
    ...(draw.live && { read: 'live' as const }),
    ...(draw.compact && { compact: true }),
  } as const
  app.cache(Foo, cached)
  if (hasVersions(draw)) {
    app.convert(OldFoo, Foo, {
      up: ({ spec: { text, ...spec } }) => ({ spec: { ...spec, value: text } }),
      down: ({ spec: { value, ...spec } }) => ({ spec: { ...spec, text: value } }),
    })
    app.cache(OldFoo, cached)
  }
  if (draw.second === 'of metadata') app.cache(metadataOf(Foo), selection)
  if (draw.services !== 'all') app.cache(Service, { ...cachedIn, ...SERVICES[draw.services] })
  if (draw.bars === 'cached') app.cache(Bar, { ...cachedIn, optional: true })
  const streams = new Set<EventChannel<Key>>()
  const options = { ...optionsOf(draw, west), ...(group && { clusters: group }) }
  const place: Place = draw.source === 'watches own'
    ? { cluster: 'own' }
    : draw.place === 'each of west'
    ? {}
    : elsewhere
  const first = sourcesOf(draw, app.controllerFor(Foo, { ...options, name: 'first' }), place, streams, observer)
  if (draw.finalize !== 'none') {
    const cleanup = async (foo: Foo, context: Context): Promise<void> => {
      const end = observer.run('first', keyText(foo.metadata))
      observer.saw('first', foo)
      if (draw.finalize === 'slow') await context.sleep('3s').finally(end)
      else end()
    }
    first.finalize(cleanup, draw.finalize === 'by default' ? {} : { finalizer: FIRST })
  }
  first.reconcile(async (foo, context) => {
    const end = observer.run('first', keyText(foo.metadata))
    observer.saw('first', foo)
    try {
      return await reconcile(draw, foo, context, west, observer)
    } finally {
      end()
    }
  })
  if (draw.second !== 'none') addSecond(draw, app, options, west, observer)
  if (draw.zones) {
    const clientOf = (context: Context): Context['client'] => clientIn(draw, context, west)
    addZones(app, options as ControllerOptions<KubeObject>, place, clientOf, (key) => observer.run('zone', key))
  }
  addRest(draw, app, observer)
  return { app, west, streams, providers }
}

function optionsOf(draw: Drawing, west: OtherCluster): ControllerOptions<Foo> {
  return {
    concurrency: draw.concurrency,
    warmup: draw.warmup,
    holdEvents: draw.holdEvents,
    ...(draw.place === 'west' && { cluster: west }),
    ...(draw.place === 'each of west' && { clusters: [west] }),
    ...(draw.timeout && { timeout: '20s' }),
    ...(draw.backoff === 'short'
      ? { backoff: { base: '10ms', max: '20s' } }
      : { limiter: () => limiters.exponentialLimiter({ baseMs: 10, maxMs: 20_000 }) }),
    ...(draw.filter === 'when' && { when: passes }),
    ...(draw.filter === 'eventFilter' && { eventFilter: (each: KubeObject) => each.kind !== 'Foo' || passes(each) }),
    ...(draw.queue === 'priority' && { queue: ({ metadata }) => ({ priority: metadata.name === 'x' ? 5 : -5 }) }),
    ...(draw.queue === 'after' && { queue: () => ({ after: '300ms' }) }),
    ...(draw.queue === 'rate limited' && { queue: () => ({ rateLimited: true }) }),
  }
}

function sourcesOf(
  draw: Drawing,
  builder: ControllerBuilder<Foo, Operator>,
  place: Place,
  streams: Set<EventChannel<Key>>,
  observer: Observer,
): ControllerBuilder<Foo, Operator> {
  let first = builder
  const keysOf = ({ metadata }: KubeObject): Key[] => [{ namespace: metadata.namespace!, name: metadata.name }]
  const map = draw.maps === 'at once' ? keysOf : async (object: KubeObject): Promise<Key[]> => {
    if (draw.maps === 'slow') await observer.elsewhere(700)
    else if (observer.failsFirst(`map ${keyText(object.metadata)}`, object.metadata.resourceVersion!)) {
      throw new Error('this object cannot be mapped yet')
    }
    return keysOf(object)
  }
  const rights = ['update', 'delete'] as const
  if (draw.owns === 'controller') first = first.owns(Service, { rights })
  if (draw.owns === 'any owner') {
    first = first.owns(Service, { rights, anyOwner: true, queue: () => ({ after: '200ms' }) })
  }
  if (draw.owns === 'metadata') first = first.owns(metadataOf(Service), { rights })
  if (draw.bars === 'owned') first = first.owns(Bar, { optional: true })
  if (draw.source === 'watches' || draw.source === 'watches own') {
    first = first.watches(Secret, map, { ...place, queue: () => ({ priority: 1 }) })
  }
  if (draw.source === 'optional') first = first.watches(Bar, map, { ...place, optional: true })
  if (draw.source === 'every') first = first.every('20s')
  if (draw.source === 'every with keys') first = first.every('20s', () => [NAMED])
  if (draw.source === 'from') {
    first = first.from('keys', ({ signal }) => {
      const stream = new EventChannel<Key>()
      streams.add(stream)
      signal.addEventListener('abort', () => streams.delete(stream), { once: true })
      // A channel that is closed is done, and a stream that ends is opened again.
      return (async function* () {
        for await (const key of stream) yield key
      })()
    })
  }
  return first
}

const keyText = ({ namespace, name }: { readonly namespace?: string | undefined; readonly name: string }): string =>
  `${namespace}/${name}`

/** Returns the client of the cluster of the objects. */
function clientIn(draw: Drawing, context: Pick<Context, 'client' | 'clientOf'>, west: OtherCluster): Context['client'] {
  return draw.place === 'west' ? context.clientOf(west) : context.client
}

async function reconcile(draw: Drawing, foo: Foo, context: Context, west: OtherCluster, observer: Observer) {
  const { namespace, name } = foo.metadata
  const { value } = foo.spec
  const key = { namespace, name }
  const client = clientIn(draw, context, west)
  const kept = foo.metadata.finalizers?.find((each) => each === 'foregroundDeletion' || each === 'orphan')
  if (draw.finalize === 'none' && kept) {
    observer.problem(`${keyText(key)} is reconciled while ${kept} treats its dependents`)
  }
  if (value === TERMINAL) throw new TerminalError('no retry helps')
  if (draw.fails && observer.failsFirst(keyText(key), value)) throw new Error('this value fails once')
  const written = await writeService(draw, client, foo)
  observer.saw('first', written)
  // What was written is read, unless it is gone again: reads are never older than one's own writes.
  const seen = await client.get(Service, key)
  if (seen) observer.saw('first', seen)
  for (const each of draw.meddled ? [written, seen] : []) {
    if (each && !each.metadata.labels?.['meddled']) observer.problem(`${keyText(key)} lacks what a webhook wrote`)
  }
  if (draw.bars !== 'none') {
    const bars = await client.list(Bar, { namespace }).catch((error: unknown) => {
      if (isReason(error, 'NotFound')) return []
      throw error
    })
    for (const bar of bars) observer.saw('first', bar)
  }
  // Newer metadata alone is no state of the cached object.
  await client.live.get(metadataOf(Foo), key)
  const whole = await client.get(Foo, key)
  if (whole && !whole.spec) observer.problem(`${keyText(key)} is read without its spec`)
  if (draw.shares) await share(client, foo, 'first')
  observer.listed(await client.list(Foo))
  if (draw.generated) {
    const labels = { 'generated-for': name }
    const own = (await client.list(ConfigMap, { namespace, labels: `generated-for=${name}` }))
      .filter(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === foo.metadata.uid))
    if (own.length === 0) {
      await client.create(ConfigMap, { metadata: { namespace, generateName: `${name}-`, labels } }, { owner: foo })
    }
  }
  if (draw.sweeps) await sweep(client, foo, observer)
  if (draw.waits === 'by the context') await context.sleep('700ms')
  if (draw.waits === 'elsewhere') await observer.elsewhere(700)
  if (draw.annotates) {
    await client.edit(
      Foo,
      foo,
      ({ metadata }) => void (metadata.annotations = { ...metadata.annotations, seen: value }),
    )
  }
  await client.setStatus(Foo, foo, withCondition(foo, 'First', context.clock.now()))
  if (!draw.live) await checkIndex(client, key, observer)
  return draw.requeues ? { requeueAfter: '30s' } as const : undefined
}

/** Writes the Service of an object, in one of the ways that there are. */
async function writeService(
  { child, services, strip }: Drawing,
  client: Context['client'],
  foo: Foo,
): Promise<KubeObject> {
  const { namespace, name } = foo.metadata
  const key = { namespace, name }
  const spec = { ports: [{ port: 80 }], selector: { app: foo.spec.value } }
  const wanted = { metadata: { ...key, labels: DRAWN }, spec }
  if (child === 'apply') return await client.apply(Service, wanted, { owner: foo })
  // One that the cache hides is not found, and a stripped one cannot be written.
  const isStripped = services === 'strip' || strip === 'all kinds' || strip === 'fails'
  if (child === 'createOrUpdate' || services === 'labels' || isStripped) {
    const { object } = await client.createOrUpdate(Service, key, (service) => {
      service.spec = { ...service.spec, ...spec }
      service.metadata.labels = { ...service.metadata.labels, ...DRAWN }
      owners.setController(service, foo)
    })
    return object
  }
  const found = await client.get(Service, key)
  if (child === 'recreate' && found) {
    const isOwned = found.metadata.ownerReferences?.some(({ uid }) => uid === foo.metadata.uid)
    const isWanted = JSON.stringify(found.spec?.selector) === JSON.stringify(spec.selector)
    if (isOwned && isWanted && found.metadata.labels?.['drawn']) return found
    await client.delete(Service, found)
  }
  if (!found || child === 'recreate') return await client.create(Service, wanted, { owner: foo })
  const copy = draft(found)
  copy.spec = { ...copy.spec, ...spec }
  copy.metadata.labels = { ...copy.metadata.labels, ...DRAWN }
  return await client.update(Service, copy, { owner: foo })
}

/** Makes an object, and deletes all that have its label. Each list shows what was done before. */
async function sweep(client: Context['client'], foo: Foo, observer: Observer): Promise<void> {
  const { namespace, name } = foo.metadata
  const labels = { 'swept-for': name }
  const key = { namespace, name: `${name}-swept` }
  const { object } = await client.createOrUpdate(ConfigMap, key, (map) => {
    map.metadata.labels = { ...map.metadata.labels, ...labels }
    map.data = { value: foo.spec.value }
  })
  const { uid } = object.metadata
  const listed = async (): Promise<boolean> =>
    (await client.list(ConfigMap, { namespace, labels: `swept-for=${name}` })).some((each) => each.metadata.uid === uid)
  // A leader before this one may have deleted it.
  if (!await listed() && (await client.live.get(ConfigMap, key))?.metadata.uid === uid) {
    observer.unseen(`${keyText(key)} is written, and not in a list`)
  }
  await client.deleteAll(ConfigMap, { namespace, labels: `swept-for=${name}` })
  if (await listed()) observer.unseen(`${keyText(key)} is deleted with all of its label, and in a list`)
}

const stateOf = ({ spec, status }: Foo): string => `${spec.value} ${status?.conditions?.map(({ type }) => type).sort()}`
const byState = defineIndex(Foo, stateOf)

/**
 * Reports an index that differs from what a get returns before and after it. In a namespace that is not selected, both
 * ask the server.
 */
async function checkIndex(client: Context['client'], key: Key, observer: Observer): Promise<void> {
  const before = await client.get(Foo, key)
  const found = before ? await client.lookup(byState, stateOf(before), { namespace: key.namespace }) : []
  const after = await client.get(Foo, key)
  const wrong = found.filter((each) => stateOf(each) !== stateOf(before!))
  if (wrong.length > 0) observer.problem(`the index has ${wrong.map(stateOf)} as ${stateOf(before!)}`)
  if (!before || after?.metadata.resourceVersion !== before.metadata.resourceVersion) return
  const isFound = found.some(({ metadata }) => metadata.resourceVersion === before.metadata.resourceVersion)
  if (!isFound) observer.problem(`${keyText(key)} is not in the index at ${before.metadata.resourceVersion}`)
}

/** Returns the value of an object in one of its versions. */
const valueOf = ({ spec }: { readonly spec: Foo['spec'] | { readonly text: string } }): string =>
  'text' in spec ? spec.text : spec.value

/** Applies the part of one controller of an object that both write. */
async function share(client: Context['client'], foo: Foo, part: string): Promise<void> {
  const { namespace, name } = foo.metadata
  await client.apply(ConfigMap, { metadata: { namespace, name: `${name}-shared` }, data: { [part]: valueOf(foo) } }, {
    owner: foo,
  })
}

function withCondition(foo: Foo, type: string, now: number) {
  return {
    conditions: conditions.setCondition(
      foo.status?.conditions,
      { type, status: 'True', reason: 'Done', message: '' },
      now,
    ),
  }
}

function addSecond(
  draw: Drawing,
  app: Operator,
  options: ControllerOptions<Foo>,
  west: OtherCluster,
  observer: Observer,
): void {
  const Kind = (hasVersions(draw) && draw.versions === 'second of old' ? OldFoo : Foo) as typeof Foo
  const work = async (foo: Foo, context: Context): Promise<void> => {
    observer.saw('second', foo)
    await context.sleep('400ms')
    const client = clientIn(draw, context, west)
    if (draw.shares) await share(client, foo, 'second')
    await client.setStatus(Kind, foo, withCondition(foo, 'Second', context.clock.now()))
  }
  const observed = async (key: Key, run: () => Promise<void>): Promise<void> => {
    const end = observer.run('second', keyText(key))
    await run().finally(end)
  }
  const own = {
    ...options,
    name: 'second',
    fieldManager: 'drawn-second',
    everyReplica: draw.second === 'every replica',
    // A warm-up is for those that wait for the lease.
    warmup: draw.warmup && draw.second !== 'every replica',
  }
  if (draw.second === 'of metadata') {
    // The cache of whole objects may be behind that of their metadata.
    return void app.controllerFor(metadataOf(Foo), own as ControllerOptions<KubeObject>).reconcile((part, context) =>
      observed(part.metadata, async () => {
        observer.saw('second', part)
        const foo = await clientIn(draw, context, west).live.get(Kind, part.metadata)
        if (foo?.metadata.uid === part.metadata.uid) await work(foo, context)
      })
    )
  }
  const second = app.controllerFor(Kind, own)
  if (finalizersOf(draw).includes(SECOND)) {
    second.finalize((foo, context) => observed(foo.metadata, () => context.sleep('1s')), { finalizer: SECOND })
  }
  if (draw.second !== 'by key') {
    return void second.reconcile((foo, context) => observed(foo.metadata, () => work(foo, context)))
  }
  // A copy without an owner, which is deleted by the key of an object that is gone.
  second.reconcileKey((key, context) =>
    observed(key, async () => {
      const client = clientIn(draw, context, west)
      const foo = await client.get(Kind, key)
      const metadata = { namespace: key.namespace, name: `${key.name}-mirror` }
      if (!foo || foo.metadata.deletionTimestamp) return void await client.delete(ConfigMap, metadata)
      await work(foo, context)
      await client.apply(ConfigMap, { metadata, data: { value: valueOf(foo) } })
    })
  )
}

const SERVICE_VERBS = ['get', 'create', 'update', 'patch', 'delete']
const CONFIG_MAP_VERBS = ['get', 'list', 'create', 'update', 'patch', 'delete', 'deletecollection']

/** What the functions of the operator do beside what its description says, as rules for its account. */
export function ownRules({ owns, commonSpaces, services }: Drawing) {
  // The rights on an owned kind are described, where it is watched.
  const isDescribed = owns !== 'none' && commonSpaces !== 'list' && services !== 'list'
  return [
    ...(isDescribed ? [] : [{ apiGroups: [''], resources: ['services'], verbs: SERVICE_VERBS }]),
    { apiGroups: [''], resources: ['configmaps'], verbs: CONFIG_MAP_VERBS },
    { apiGroups: [Foo.group], resources: [Foo.plural], verbs: ['update'] },
    // Also where they are not watched.
    { apiGroups: [Bar.group], resources: [Bar.plural], verbs: ['list'] },
  ]
}

/** Adds what is beside the controllers. */
function addRest(draw: Drawing, app: Operator, observer: Observer): void {
  const beat = async ({ client, clock }: Pick<Context, 'client' | 'clock'>, name: string): Promise<void> => {
    await client.apply(ConfigMap, { metadata: { namespace: 'a', name }, data: { at: String(clock.now()) } })
  }
  if (draw.task !== 'none') {
    app.add('beat', async (context) => {
      for (let count = 1; !context.signal.aborted; count++) {
        await beat(context, 'task')
        if (draw.task === 'failing' && count === 3 && ['1', '2'].some((time) => observer.failsFirst('task', time))) {
          throw new Error('this beat fails')
        }
        await context.sleep('10s')
      }
    }, { everyReplica: draw.task === 'every replica' })
  }
  if (draw.schedule) app.schedule('tick', '*/20 * * * * *', { timeZone: 'Europe/Berlin' }, (each) => beat(each, 'tick'))
  if (draw.admission !== 'none' && draw.place === 'own') {
    app.admission(Foo, {
      ...(draw.admission === 'default' && {
        default(foo) {
          if (foo.spec.value === '') foo.spec.value = DEFAULTED
        },
      }),
      validate: ({ spec }) => spec.value === REFUSED ? [{ field: 'spec.value', message: 'is refused' }] : [],
    })
  }
}
