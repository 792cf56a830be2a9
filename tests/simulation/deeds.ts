/** What happens to a simulated operator: deeds of people, faults of the network, and changes of its replicas. */
import { ConfigMap, Lease, Namespace, Secret, Service } from 'kubeloop/kinds'
import {
  type AnyResource,
  type Client,
  type ClusterChange,
  type DeleteOptions,
  isReason,
  type KubeObject,
  type OtherCluster,
  owners,
} from 'kubeloop'
import type { Fault } from 'kubeloop/testing'
import type { Chance } from '../tools/chance.ts'
import { isCommon, isServed, type Known, selects } from './model.ts'
import { type Drawing, hasLeader, hasVersions, isShared } from './options.ts'
import { DRAIN, SHARD } from './sharder.ts'
import type { Stage } from './stage.ts'
import { type KnownZone, playZone, Zone } from './zones.ts'
import { CRD } from '../../lib/core/resource.ts'
import {
  Bar,
  BARS,
  bucketLease,
  Foo,
  identityOf,
  isUnsharded,
  type Key,
  KEYS,
  NAMES,
  NAMESPACES,
  OldFoo,
  passes,
  REFUSED,
  type Subject,
  TERMINAL,
  WEST,
} from './subject.ts'

/** One deed; `number` decides its details. */
export interface Deed {
  readonly deed: keyof typeof WEIGHTS | 'clear'
  readonly key: Key
  readonly number: number
  /** The time that passes afterwards, in milliseconds. */
  readonly waitMs: number
}

/** What the deeds of one run share. */
export interface Play {
  readonly draw: Drawing
  /** The drawing before an upgrade. */
  readonly earlier: Drawing | undefined
  readonly stage: Stage
  /** Where the objects are. */
  readonly place: OtherCluster | undefined
  readonly client: Client
  readonly known: Map<string, Known>
  /** The keys that another source has named, perhaps before their objects were created. */
  readonly poked: Set<string>
  readonly zones: Map<string, KnownZone>
  /** The namespaces that labels select. */
  team: ReadonlySet<string>
  /** Those that were in it at any time. */
  readonly teams: Set<string>
  /** The operators of the running replicas. */
  readonly subjects: Map<number, Subject>
  /** Ends all faults so far. */
  calm: AbortController
  /** Sets the cluster of the objects back to an earlier state. */
  restore?: (() => Promise<void>) | undefined
  /** Whether a namespace was deleted. */
  isRazed: boolean
  /** Counts up for values. */
  count: number
  /** Whether every request had a known outcome so far. */
  isCertain: boolean
  /** Whether the faults have ended, and their consequences. */
  isClear: boolean
  /** Whether one replica leads, from the beginning to the end or since the faults have ended. */
  isSteady: boolean
  problem(text: string): void
  startReplica(): void
}

const WEIGHTS = {
  create: 50,
  edit: 20,
  delete: 12,
  poke: 10,
  zone: 8,
  drift: 12,
  extra: 5,
  remove: 8,
  pass: 8,
  hide: 6,
  join: 8,
  leave: 6,
  empty: 3,
  refuse: 3,
  terminal: 4,
  blank: 4,
  disown: 4,
  lend: 4,
  tag: 4,
  team: 4,
  unteam: 3,
  raze: 3,
  hold: 4,
  pin: 2,
  unfinish: 3,
  'end streams': 3,
  define: 5,
  undefine: 3,
  down: 4,
  part: 3,
  wait: 12,
  close: 8,
  compact: 6,
  backup: 5,
  restore: 8,
  fault: 30,
  gap: 14,
  slow: 5,
  garble: 5,
  stale: 5,
  behind: 5,
  'hand over': 2,
  'lose lease': 4,
  kill: 6,
  stop: 5,
  start: 8,
  suspend: 6,
  skew: 3,
  'late leases': 4,
  sharder: 3,
  shuffle: 8,
} as const

/** The deeds after which another replica may lead. */
const UNSTEADY: readonly string[] = [
  'fault',
  'lose lease',
  'kill',
  'stop',
  'hand over',
  'suspend',
  'skew',
  'slow',
  'garble',
  'restore',
  'late leases',
  'shuffle',
]

export function isSteady(deeds: readonly Deed[]): boolean {
  return !deeds.some(({ deed }) => UNSTEADY.includes(deed))
}

const WAITS = [0, 0, 100, 500, 2000, 15_000, 40_000]

/** The kinds whose watches a gap interrupts, by its number. */
const GAPS: readonly AnyResource[] = [Foo, Service, Secret, Zone, Namespace]
const DRIFT = ['drift', 1] as const
const POKE = ['poke', 2] as const
/** What happens while nobody watches, each with the place of its kind in GAPS. */
const UNSEEN = [
  ...[['delete', 0], ['delete', 0], ['edit', 0], ['edit', 0], ['leave', 0], ['join', 0]] as const,
  ...[['remove', 1], DRIFT, ['disown', 1], ['lend', 1], POKE, ['zone', 3]] as const,
] as const
/** The same for namespaces. */
const UNSEEN_LABELS = [['team', 4], ['unteam', 4]] as const
type Unseen = (typeof UNSEEN | typeof UNSEEN_LABELS)[number]
/** After this time without faults all is as it should be: longer than any lease, back-off and lost answer. */
const CLEAR_MS = 100_000
/** After a gap, a list is late, too. */
const GAP_MS = 10_000
/** Longer than the lease needs to go to another replica. */
const LAG_MS = 6000
const DOWN_MS = 20_000
const LAST_WAIT_MS = 40_000
/** A kind that is installed is watched after this time. */
const DEFINED_MS = 75_000
/** How long the sharder is down. */
const SHARDER_DOWN_MS = 20_000
const KILL_LEADER = { deed: 'kill', number: 1, waitMs: LAST_WAIT_MS } as const
const HAND_OVER = { deed: 'hand over', number: 1, waitMs: LAST_WAIT_MS } as const

/** The numbers, modulo 8, of deletions that are undone by a restore: of a state before, or of one after. */
const [SAVED_BEFORE, SAVED_AFTER] = [2, 5]
/** The number of a creation whose object is selected, and passes. */
const PASSING = 0
/** The number of a deletion in the foreground, which no restore undoes. */
const FOREGROUND = 0
/** How often a deed concerns the object of the one before. */
const SAME_KEY = 0.5

export function drawDeeds(chance: Chance, draw: Drawing): readonly Deed[] {
  const deeds = drawStorm(chance)
  return chance.below(2) === 0 ? deeds : [
    ...deeds,
    ...drawEnd(
      chance,
      draw,
      chance.pick(KEYS.filter((key) => selects(draw, key, { labelled: true, inTeam: key.namespace === 'a' }))),
    ),
  ]
}

/** Returns an interruption of watches, and what they miss. */
function drawGap(
  chance: Chance,
  key: Key,
  [deed, at]: Unseen,
): readonly [gap: Deed, missed: Deed] {
  const number = chance.below(100_000)
  return [
    { deed: 'gap', key, number: number * GAPS.length + at, waitMs: 0 },
    { deed, key, number, waitMs: chance.pick(WAITS) },
  ]
}

/** Whether Secrets name keys. */
const isOfSecrets = (source: Drawing['source']): boolean => source === 'watches' || source === 'watches own'

/** Whether objects of the kind whose definition comes and goes name keys. */
const hasBars = ({ source, bars }: Drawing): boolean => source === 'optional' || bars === 'owned'

/** Returns an end without faults, whose last deed may be missed: nothing that happens later makes up for it. */
function drawEnd(chance: Chance, draw: Drawing, key: Key): readonly Deed[] {
  const { filter, finalize, second, services, source, spaces, commonSpaces, warmup } = draw
  // A standby that knows the keys of deleted objects.
  const isWarm = warmup && second === 'by key' && chance.below(2) === 0
  // Another replica, which has missed the same, takes over.
  const isTakeover = isWarm || chance.below(isShared(draw) ? 2 : 3) === 0
  // Deletions matter most to a leader that did not see them, and to a finalizer beside a filter.
  const isHidden = filter !== 'none' && finalize !== 'none' && !isTakeover
  const isDeleted = isWarm || ((isTakeover || isHidden) && chance.below(2) === 0)
  // Without a finalizer of the operator, only what the garbage collector waits for keeps a deleted object.
  const isForeground = finalize === 'none' && !isTakeover && chance.below(3) === 0
  const isTeam = (spaces === 'by labels' || commonSpaces === 'by labels') && chance.below(3) === 0
  const isPoked = isOfSecrets(source) && chance.below(3) === 0
  const unseen = isTeam
    ? UNSEEN_LABELS
    : isPoked
    ? [POKE]
    : services === 'labels' && chance.below(2) === 0
    ? [DRIFT]
    : UNSEEN
  const what = isDeleted || isForeground ? UNSEEN[0] : chance.pick<Unseen>(unseen)
  const [gap, drawn] = drawGap(chance, key, what)
  const missed = isForeground ? { ...drawn, number: FOREGROUND } : drawn
  const before = (['clear', 'team', 'create', 'pass', 'join'] as const).map((deed): Deed => ({
    ...{ deed, key, number: PASSING },
    waitMs: deed === 'clear' ? CLEAR_MS : deed === 'join' ? 15_000 : 0,
  }))
  if (hasBars(draw) && chance.below(3) === 0) {
    const defined = { ...missed, deed: 'define', waitMs: DEFINED_MS } as const
    return [...before, defined, { ...missed, deed: 'poke', waitMs: LAST_WAIT_MS }]
  }
  if (isForeground) return [...before, { ...missed, deed: 'pin', waitMs: 0 }, { ...missed, waitMs: LAST_WAIT_MS }]
  // Or one whose caches are behind.
  if (isTakeover && !isWarm && chance.below(2) === 0) {
    const edit = { ...missed, deed: 'edit', waitMs: 500 } as const
    return [...before, { ...missed, deed: 'behind', waitMs: 0 }, edit, { ...missed, ...HAND_OVER }]
  }
  if (isTakeover) return [...before, gap, { ...missed, waitMs: 0 }, { ...missed, ...KILL_LEADER }]
  if (missed.deed === 'team') before.push({ ...missed, deed: 'unteam', waitMs: 15_000 })
  // Without a gap, the key may be in work, or the object pass the filter no more.
  const other = { ...missed, deed: missed.deed === 'delete' ? 'hide' : 'edit', waitMs: 100 } as const
  const first = (isDeleted && isHidden) || chance.below(3) === 0 ? other : gap
  return [...before, first, { ...missed, waitMs: LAST_WAIT_MS }]
}

function drawStorm(chance: Chance): readonly Deed[] {
  let key: Key | undefined
  return Array.from({ length: 4 + chance.below(20) }, () => {
    const other = { namespace: chance.pick(NAMESPACES), name: chance.pick(NAMES) }
    if (!key || chance.below(100) >= SAME_KEY * 100) key = other
    const each: Deed = {
      deed: chance.weighted(WEIGHTS),
      key,
      number: chance.below(1_000_000),
      waitMs: chance.pick(WAITS),
    }
    switch (each.deed) {
      case 'gap':
        return drawGap(chance, key, chance.pick(UNSEEN))
      case 'behind':
        // The next leader has not seen what the one before made.
        return [
          { ...each, waitMs: 0 },
          { ...each, deed: 'create', number: PASSING, waitMs: 2000 },
          { ...each, deed: 'hand over' },
        ]
      case 'shuffle':
        // While its reconcile runs.
        return [{ ...each, deed: 'create', number: PASSING, waitMs: 0 }, { ...each, deed: 'edit', waitMs: 100 }, each]
      case 'raze': {
        const made = {
          ...each,
          deed: 'create',
          key: { ...key, namespace: 'b' },
          number: PASSING,
          waitMs: 2000,
        } as const
        return [{ ...made, deed: 'team' }, made, { ...each, waitMs: 5000 }, made]
      }
      case 'hide':
        return each.number % 2 === 0
          ? [{ ...each, deed: 'create', number: PASSING, waitMs: 2000 }, each, { ...each, deed: 'delete' }]
          : [each]
      case 'delete':
        return each.number % 8 === SAVED_BEFORE || each.number % 8 === SAVED_AFTER
          ? [each, { ...each, deed: 'restore' }]
          : [each]
      default:
        return [each]
    }
  }).flat() as readonly Deed[]
}

export const textOf = ({ deed, key, number, waitMs }: Deed): string => {
  const what = deed === 'fault'
    ? `fault ${faultText(faultOf(number))}`
    : deed === 'create'
    ? `create ${number % 4}`
    : deed
  return `${what} ${key.namespace}/${key.name}, then ${waitMs} ms`
}

function faultText({ resource, ...fault }: Fault): string {
  return JSON.stringify({ ...(resource && { resource: resource.kind }), ...fault })
}

const FAULTED: readonly (readonly [AnyResource, readonly string[]])[] = [
  [Foo, ['watch', 'list', 'patch', 'get', 'update']],
  [Service, ['watch', 'list', 'patch', 'create', 'get']],
  [ConfigMap, ['watch', 'list', 'create']],
  [Secret, ['watch', 'list']],
  [Lease, ['update', 'get', 'patch', 'watch']],
]

const EFFECTS: readonly Omit<Fault, 'verb' | 'resource'>[] = [
  { status: 500 },
  { status: 429, retryAfter: '1s' },
  { status: 503 },
  { status: 409 },
  { status: 410 },
  { delay: '3s' },
  { cut: true },
  { cut: 'answer' },
  { cut: 'line' },
  { drop: 'request' },
  { drop: 'answer' },
  { lag: '2s' },
  { repeat: true },
]

/** Statuses that a server answers only to some requests. */
const ONLY: Readonly<Record<number, readonly string[]>> = { 409: ['create', 'update', 'patch'], 410: ['watch'] }

function faultOf(number: number): Fault {
  const [resource, verbs] = FAULTED[number % FAULTED.length]!
  const rest = Math.floor(number / FAULTED.length)
  const verb = verbs[rest % verbs.length]!
  const effects = EFFECTS.filter(({ status, lag, repeat }) =>
    (status === undefined || (ONLY[status]?.includes(verb) ?? true)) &&
    ((lag === undefined && !repeat) || verb === 'watch')
  )
  const effect = effects[Math.floor(rest / verbs.length) % effects.length]!
  return { resource, verb, times: 1 + Math.floor(rest / 500) % 3, ...effect }
}

const NEW: Known = {
  ...{ labelled: false, inTeam: false, wasSelected: false, value: '', passed: false, named: false },
  ...{
    drifted: false,
    disowned: false,
    orphaned: false,
    unowned: false,
    copied: false,
    tagged: undefined,
    restored: false,
  },
  ...{ goneMs: -Infinity, dueMs: 0 },
}

/** Plays one deed. */
export async function play(of: Play, { deed, key, number }: Deed): Promise<void> {
  const { draw, stage, client, known } = of
  const text = `${key.namespace}/${key.name}`
  const own = known.get(text)
  const label = async (name: 'selected' | 'passes', value: boolean): Promise<boolean> =>
    await sent(client.patch(Foo, key, { merge: { metadata: { labels: { [name]: value ? 'yes' : 'no' } } } }))
  switch (deed) {
    case 'create':
      return await create(of, key, number)
    case 'edit':
    case 'empty':
    case 'terminal':
    case 'refuse': {
      const value = VALUES[deed] ?? `v${++of.count}`
      if (deed === 'refuse' && draw.admission === 'none') return
      const isChanged = own?.value !== value
      const written = isOld(draw, number)
        ? client.patch(OldFoo, key, { merge: { spec: { text: value } } })
        : client.patch(Foo, key, { merge: { spec: { value } } })
      if (!await sent(written) || !own) return
      own.value = value
      if (isChanged) due(of, own)
      return
    }
    case 'delete':
      if (number % 8 === SAVED_BEFORE) await backup(of)
      await remove(of, key, {
        propagation: number % 3 === 0 ? 'Foreground' : number % 7 === 1 ? 'Orphan' : 'Background',
      })
      return number % 8 === SAVED_AFTER ? await backup(of) : undefined
    case 'pass':
    case 'hide':
      if (own && deed === 'pass') own.passed = true
      return void await label('passes', deed === 'pass')
    case 'join':
    case 'leave':
      if (!own) return
      own.wasSelected ||= selects(draw, key, { ...own, labelled: deed === 'join' })
      if (!await label('selected', deed === 'join')) return
      noteGone(of, key, own, { ...own, labelled: deed === 'join' })
      own.labelled = deed === 'join'
      return
    case 'team':
    case 'unteam':
      return await setTeam(of, key.namespace, deed === 'team')
    case 'raze':
      return await raze(of)
    case 'hold':
      // An object that is being deleted gets no new finalizers.
      return void await sent(client.edit(
        Foo,
        key,
        ({ metadata }) => void (metadata.finalizers = [...metadata.finalizers ?? [], HELD]),
      ))
    case 'blank': {
      if (!own || !selects(draw, key, own)) return
      const none = { merge: { status: { conditions: null } } }
      return void await sent(client.subresource(Foo, key, 'status').patch(none))
    }
    case 'disown': {
      if (own) {
        own.disowned = own.drifted = true
        own.unowned ||= !of.isClear || !isServed(draw, key, own)
      }
      const disowned = await patchService(of, key, { metadata: { ownerReferences: null } })
      if (own && disowned) own.unowned ||= !await isSeen(of, key, disowned)
      return
    }
    case 'tag': {
      const tagged = await patchService(of, key, { metadata: { labels: { tag: 'yes' } } })
      if (tagged && own) own.tagged = tagged.metadata.uid
      return
    }
    case 'lend':
      return await lend(of, key)
    case 'unfinish':
      return void await sent(client.patch(Foo, key, { merge: { metadata: { finalizers: null } } }))
    case 'pin':
      // A deletion of the owner in the foreground waits for it.
      return void await patchService(of, key, { metadata: { finalizers: [HELD] } })
    case 'drift':
    case 'extra': {
      const selector = deed === 'drift' ? { app: 'other' } : { extra: 'yes' }
      // Without its label it leaves the cache.
      const isHidden = draw.services === 'labels' && number % 4 > 0
      const change = isHidden ? { metadata: { labels: { drawn: null } } } : { spec: { selector } }
      const drifted = await patchService(of, key, change)
      return drifted && own ? await drift(of, key, own, drifted) : undefined
    }
    case 'remove': {
      const removed = await client.get(Service, key)
      // The deletion of one that is being deleted changes nothing.
      if (removed?.metadata.deletionTimestamp || !await client.delete(Service, key)) return
      if (own) await drift(of, key, own, removed!)
      return await dueOwners(of, removed)
    }
    case 'poke':
      return await poke(of, key)
    case 'zone': {
      const isWatched = draw.commonSpaces !== 'by labels' || of.team.has('a')
      const at = { name: key.name, number, nowMs: stage.clock.monotonic(), isWatched }
      return draw.zones ? await playZone(client, of.zones, at, sent) : undefined
    }
    case 'end streams':
      for (const { streams } of of.subjects.values()) for (const stream of streams) stream.close()
      return
    case 'define':
      return void await client.createIfMissing(CRD, BARS!)
    case 'undefine':
      // Those that were not seen by then never are.
      if (hasBars(draw)) { for (const each of known.values()) each.dueMs = 0 }
      return void await client.delete(CRD, { ...BARS!.metadata, namespace: '' })
    case 'down':
      // The cluster of a provider has no faults of its own.
      if (draw.place === 'group') return
      return stage.fault({
        ...{ cluster: 'west', status: 503, times: Infinity },
        until: AbortSignal.any([of.calm.signal, stage.after(DOWN_MS)]),
      })
    case 'clear':
      of.calm.abort()
      of.calm = new AbortController()
      of.isSteady = of.isClear = true
      return
    case 'part': {
      of.isCertain = false
      await tellProviders(of, { remove: 'west' })
      stage.clock.after(5000, () => void tellProviders(of, { add: 'west', config: WEST }))
      return
    }
    case 'close':
      return stage.closeWatches(of.place)
    case 'compact':
      return stage.compact(of.place)
    case 'backup':
      return await backup(of)
    case 'restore': {
      if (!of.restore) return
      of.isCertain = false
      delayWrites(of, 60_000)
      return await of.restore()
    }
    case 'gap': {
      // What happens meanwhile comes by a list, if the history is gone by then.
      const resource = GAPS[number % GAPS.length]!
      delayWrites(of, GAP_MS)
      stage.fault({ resource, verb: 'watch', delay: '3s', times: 2 * stage.running.length, until: of.calm.signal })
      stage.closeWatches(of.place)
      if (number % 16 > 3) stage.clock.after(2500, () => stage.compact(of.place))
      return
    }
    case 'slow':
    case 'garble':
      of.isCertain = false
      for (const replica of stage.running) {
        if (deed === 'slow') stage.slow(replica, [50, 500, 2000][number % 3]!, of.calm.signal)
        else stage.garble(replica, number % 2 === 0 ? 'watch' : 'answer', of.calm.signal)
      }
      return
    case 'stale': {
      // As of another API server, which has not seen the latest changes. A new process asks for the latest ones.
      const resource: AnyResource = [Foo, Service][number % 2]!
      const stale = (await client.get(resource, key))?.metadata.resourceVersion
      if (stale === undefined) return
      const until = AbortSignal.any([of.calm.signal, stage.nextStart])
      stage.fault({ resource, stale, verb: number % 3 === 0 ? 'list' : 'watch', times: 2, until })
      return stage.closeWatches(of.place)
    }
    case 'fault':
    case 'lose lease': {
      const fault: Fault = deed === 'fault'
        ? faultOf(number)
        : { resource: Lease, verb: 'update', status: 500, times: 5 }
      if (fault.cut || fault.drop || fault.resource === Lease || fault.delay) of.isCertain = false
      return stage.fault({ ...fault, until: of.calm.signal })
    }
    case 'late leases': {
      of.isCertain = false
      const lag = (['3s', '10s', '60s'] as const)[number % 3]!
      return stage.fault({ resource: Lease, verb: 'watch', lag, times: Infinity, until: of.calm.signal })
    }
    case 'shuffle':
      return await stage.sharder?.shuffle()
    case 'sharder':
      return stage.sharder?.stop(SHARDER_DOWN_MS)
    case 'behind':
      return stage.lagStandbys(LAG_MS, of.calm.signal)
    case 'hand over': {
      const leader = await leaderOf(of, key)
      if (leader !== undefined) stage.stop(leader)
      return
    }
    case 'kill':
    case 'stop':
    case 'suspend': {
      of.isCertain = false
      const replica = number % 3 === 0 ? stage.running[number % stage.running.length] : await leaderOf(of, key)
      if (replica === undefined) return
      if (deed === 'kill') kill(of, replica)
      else if (deed === 'stop') stage.stop(replica)
      else {
        const ms = [3000, 12_000, 20_000, 90_000][number % 4]!
        stage.suspend(replica, ms)
        delayWrites(of, ms + GAP_MS)
      }
      return
    }
    case 'start':
      return of.startReplica()
    case 'skew':
      if (stage.running.length > 0) {
        stage.skew(stage.running[number % stage.running.length]!, (number % 7 - 3) * 600_000)
      }
      return
    case 'wait':
  }
}

const VALUES: Readonly<Record<string, string>> = { empty: '', refuse: REFUSED, terminal: TERMINAL }
/** The finalizer of others. */
const HELD = 'other.example/hold'
async function remove(of: Play, key: Key, options: DeleteOptions): Promise<void> {
  const { client, draw, known } = of
  const foo = await client.get(Foo, key)
  // A watch that a fault has broken may miss it for a while.
  if (!of.isClear) delayWrites(of, GAP_MS)
  const own = known.get(`${key.namespace}/${key.name}`)
  if (!await client.delete(Foo, key, options) || !foo || !own) return
  if (options.propagation === 'Orphan') own.disowned = own.orphaned = true
  // Between two shards, none is told.
  const { [SHARD]: shard, [DRAIN]: drain } = foo.metadata.labels ?? {}
  if (draw.election === 'ring' && (drain !== undefined || !isLive(of, shard))) return
  if (draw.filter === 'none' || passes(foo)) noteGone(of, key, own)
}

/**
 * Notes that an object is no longer selected, if it was and the operator is told so. For a shard, one that leaves its
 * selection is not gone.
 */
function noteGone({ draw, stage }: Play, key: Key, known: Known, labels?: Known): void {
  if (draw.election === 'ring' && labels) return
  const isGone = selects(draw, key, known) && !(labels && selects(draw, key, labels))
  if (isGone) known.goneMs = stage.clock.monotonic()
}

/** Notes that a Service was changed by others; unless it is watched, nothing tells its owner. */
async function drift(of: Play, key: Key, known: Known, service: KubeObject): Promise<void> {
  known.drifted = true
  known.unowned ||= !isServed(of.draw, key, known) || !await isSeen(of, key, service)
}

const isLive = ({ stage }: Play, shard: string | undefined): boolean =>
  stage.running.some((each) => identityOf(each) === shard)

/** Whether the shard of a key sees an object that it owns, as it has the same one. */
async function isSeen(of: Play, key: Key, { kind, metadata: { labels } }: KubeObject): Promise<boolean> {
  const { client, draw } = of
  if (draw.election !== 'ring' || (kind === Service.kind && isUnsharded(draw))) return true
  const foo = await client.get(Foo, key)
  return foo?.metadata.labels?.[SHARD] === labels?.[SHARD] && isLive(of, labels?.[SHARD])
}

/** Gives a namespace the label that selects, or takes it away. */
async function setTeam(of: Play, namespace: string, isIn: boolean): Promise<void> {
  const { client, draw, known, team } = of
  if (team.has(namespace) === isIn) return
  if (isIn) of.teams.add(namespace)
  of.team = new Set(isIn ? [...team, namespace] : [...team].filter((name) => name !== namespace))
  await writeTeam(of)
  for (const key of KEYS.filter((each) => each.namespace === namespace)) {
    const own = known.get(`${namespace}/${key.name}`)
    if (!own) continue
    const before = { ...own }
    own.inTeam = isIn
    own.copied = false
    const isSelected = selects(draw, key, own)
    own.wasSelected ||= isSelected
    if (isSelected && !selects(draw, key, before)) due(of, own)
    if (isIn) continue
    // What happened just before may not have been seen, and will not be.
    if (!isSelected) {
      own.goneMs = -Infinity
      const isQuiet = of.isClear && selects(draw, key, before) && await client.get(Foo, key)
      own.copied = Boolean(isQuiet && await client.get(ConfigMap, { namespace, name: `${key.name}-mirror` }))
    }
    if (draw.commonSpaces !== 'by labels') continue
    own.unowned ||= own.drifted
    own.dueMs = 0
  }
  if (!isIn) { for (const zone of of.zones.values()) Object.assign(zone, { dueMs: 0, isUnseen: true }) }
}

/** Deletes a namespace, and makes it again when it is gone. */
async function raze(of: Play): Promise<void> {
  const { client, stage } = of
  // The Leases are in the other one.
  const name = 'b'
  // A restore would bring back one that is being deleted, and an account would lose its rights there.
  if (of.restore || of.draw.account) return
  of.isRazed = true
  for (const key of KEYS.filter(({ namespace }) => namespace === name)) await remove(of, key, {})
  await client.delete(Namespace, { name })
  const make = async (): Promise<void> => {
    const labels = { team: of.team.has(name) ? 'a' : 'b' }
    const { result } = await client.createIfMissing(Namespace, { metadata: { name, labels } })
    if (result === 'unchanged') stage.clock.after(2000, make)
  }
  await make()
}

/** Writes the labels of the namespaces of all clusters. */
async function writeTeam({ client, stage, team }: Play): Promise<void> {
  for (const each of new Set([stage.clientOf(undefined), client])) {
    for (const name of NAMESPACES) {
      const merge = { metadata: { labels: { team: team.has(name) ? 'a' : 'b' } } }
      await sent(each.patch(Namespace, { name }, { merge }))
    }
  }
}

/** Notes that a key needs a run from now on. */
function due({ stage }: Play, known: Known): void {
  known.dueMs = stage.clock.monotonic()
}

/** Notes that the owners of a Service in one of its states need a run from now on. */
async function dueOwners(of: Play, service: KubeObject | undefined): Promise<void> {
  const { draw, known } = of
  for (const { kind, name, controller } of service?.metadata.ownerReferences ?? []) {
    const key = { namespace: service!.metadata.namespace!, name }
    const isMapped = draw.owns === 'any owner' || (draw.owns !== 'none' && controller === true)
    const owner = known.get(`${key.namespace}/${name}`)
    const isTold = kind === Foo.kind && isMapped && owner && isServed(draw, key, owner)
    if (isTold && await isSeen(of, key, service!)) due(of, owner)
  }
}

/** Changes a Service as others do. Returns its new state, if there is one. */
async function patchService(of: Play, key: Key, merge: object): Promise<KubeObject | undefined> {
  const before = await of.client.get(Service, key)
  const write = of.client.patch(Service, key, { merge })
  if (!await sent(write)) return undefined
  const after = await write
  if (after.metadata.resourceVersion !== before?.metadata.resourceVersion) {
    await dueOwners(of, after)
    if (of.isClear) await dueOwners(of, before)
  }
  return after
}

/** Gives the Service of a key a second owner, or takes it away again. */
async function lend(of: Play, key: Key): Promise<void> {
  const owner = await of.client.get(Foo, { ...key, name: NAMES.find((name) => name !== key.name)! })
  const service = await of.client.get(Service, key)
  if (!owner || !service) return
  const { ownerReferences = [] } = service.metadata
  const others = ownerReferences.filter(({ uid }) => uid !== owner.metadata.uid)
  const isLent = others.length < ownerReferences.length
  const { apiVersion, kind, metadata: { name, uid } } = owner
  const [own, other] = [key.name, name].map((each) => of.known.get(`${key.namespace}/${each}`))
  if (own) own.disowned = true
  if (other && [of.draw, of.earlier].some((each) => each?.owns === 'any owner')) other.named = true
  const lent = isLent ? others : [...others, { apiVersion, kind, name, uid }]
  await patchService(of, key, { metadata: { ownerReferences: lent } })
}

async function tellProviders({ subjects }: Play, change: ClusterChange): Promise<void> {
  for (const { providers } of subjects.values()) for (const changes of providers) await changes.send(change)
}

/** Removes what would keep objects in deletion for ever. */
export async function release({ client }: Play, key: Key): Promise<void> {
  for (const kind of [Service, Foo] as const) {
    await client.edit(kind as typeof Foo, key, ({ metadata }) => {
      if (metadata.finalizers?.includes(HELD)) metadata.finalizers = metadata.finalizers.filter((each) => each !== HELD)
    })
  }
}

/** Whether a write of this number is one of the older version. */
const isOld = (draw: Drawing, number: number): boolean => hasVersions(draw) && number % 3 === 1

const REFUSALS = ['NotFound', 'Invalid', 'InternalError', 'Forbidden'] as const
/** Whether a write of people was accepted. A refusal has no effect on the model. */
async function sent(write: Promise<unknown>): Promise<boolean> {
  try {
    await write
    return true
  } catch (error) {
    // Forbidden: in a namespace that is being deleted.
    if (REFUSALS.some((reason) => isReason(error, reason))) return false
    throw error
  }
}

/**
 * Until an owner that is gone has left the cache, its dependents are made and collected again, as by other controllers:
 * not in no time.
 */
function delayWrites({ stage }: Play, ms: number): void {
  const noticed = new AbortController()
  stage.clock.after(ms, () => noticed.abort())
  for (const replica of stage.running) stage.slow(replica, 50, noticed.signal)
}

/** Returns the replica that reconciles a key. */
async function leaderOf({ draw, stage }: Play, { namespace, name }: Key): Promise<number | undefined> {
  if (!isShared(draw)) return stage.leader
  const holder = draw.election === 'ring'
    ? (await stage.clientOf(undefined).get(Foo, { namespace, name }).catch(() => undefined))?.metadata.labels?.[SHARD]
    : await stage.holder(bucketLease(draw, Foo, `${namespace}/${name}`))
  return stage.running.find((each) => holder === identityOf(each))
}

/** Ends a replica at once. What is deleted meanwhile is seen by those that have begun to watch before. */
function kill({ draw, known, stage }: Play, replica: number): void {
  const isFollowed = (draw.warmup || draw.election === 'buckets') && draw.election !== 'ring' &&
    stage.running.length > 1
  if (!isFollowed) { for (const each of known.values()) each.goneMs = -Infinity }
  stage.kill(replica)
}

/** Keeps the state of the cluster for a restore. */
async function backup(of: Play): Promise<void> {
  const { client, draw, known, stage } = of
  const crd = await client.get(CRD, { namespace: '', name: `foos.${Foo.group}` })
  // A restore would take away what only a start installs again.
  if (of.isRazed || !crd || (hasVersions(draw) && crd.spec.versions.length === 1)) return
  const [then, zonesThen, teamThen] = [structuredClone(known), structuredClone(of.zones), of.team]
  const restore = stage.backup(of.place)
  of.restore = async () => {
    restore()
    of.team = teamThen
    for (const [name, now] of of.zones) of.zones.set(name, zonesThen.get(name) ?? now)
    for (const [key, now] of known) {
      const before = then.get(key) ?? now
      const [namespace, name] = key.split('/') as [string, string]
      const inTeam = teamThen.has(namespace)
      const isSelected = selects(draw, { namespace, name }, { ...before, inTeam })
      known.set(key, {
        ...before,
        inTeam,
        drifted: true,
        restored: true,
        wasSelected: before.wasSelected || now.wasSelected || isSelected,
        passed: before.passed || now.passed,
        named: before.named || now.named,
        disowned: before.disowned || now.disowned,
        orphaned: before.orphaned || now.orphaned,
        unowned: before.unowned || now.unowned,
      })
    }
    await writeTeam(of)
  }
}

async function create(of: Play, key: Key, number: number): Promise<void> {
  const { draw, client, known, poked } = of
  const text = `${key.namespace}/${key.name}`
  if (await client.get(Foo, key)) return
  const [labelled, passing] = [number % 2 === 0, number % 4 < 2]
  const inTeam = of.team.has(key.namespace)
  const mayBeIn = !of.isCertain && of.teams.has(key.namespace)
  const value = `v${number}`
  // A key of the object before may be queued still, and its run reads this one.
  const { passed = false, named = poked.has(text), wasSelected = false } = known.get(text) ?? {}
  const before = known.get(text)
  known.set(text, {
    ...NEW,
    labelled,
    inTeam,
    // A watch that was garbled does not show at once that the namespace has left.
    wasSelected: wasSelected || selects(draw, key, { labelled, inTeam: inTeam || mayBeIn }),
    value,
    passed: passed || passing,
    named,
    disowned: before?.disowned === true,
    orphaned: before?.orphaned === true,
    dueMs: of.stage.clock.monotonic(),
  })
  const labels = { selected: labelled ? 'yes' : 'no', passes: passing ? 'yes' : 'no' }
  const metadata = { ...key, labels, annotations: { kept: 'yes' } }
  const written = isOld(draw, number)
    ? client.create(OldFoo, { metadata, spec: { text: value, note: 'kept' } })
    : client.create(Foo, { metadata, spec: { value, note: 'kept' } })
  // What cannot be converted for the answer is stored.
  if (!await sent(written) && !await client.get(Foo, key)) {
    if (before) known.set(text, before)
    else known.delete(text)
  }
}

async function poke(of: Play, key: Key): Promise<void> {
  const { draw, draw: { source, zones }, client, known, poked, stage, subjects } = of
  const text = `${key.namespace}/${key.name}`
  const own = known.get(text)
  const isSecret = isOfSecrets(source)
  if (isSecret || source === 'from' || hasBars(draw)) {
    poked.add(text)
    if (own) own.named = true
  }
  if (source === 'from') {
    let sentTo = 0
    for (const replica of stage.running) {
      const { streams } = subjects.get(replica)!
      if (of.isSteady && streams.size > 0 && hasLeader(of.draw) && replica !== stage.leader) {
        of.problem(`replica ${replica} reads keys, and does not lead`)
      }
      for (const stream of streams) sentTo += Number(await stream.send(key).then(() => true, () => false))
    }
    if (of.isSteady && sentTo > 0 && own) due(of, own)
  }
  const at = String(++of.count)
  if (hasBars(draw)) {
    const owner = draw.bars === 'owned' ? await client.get(Foo, key) : undefined
    const write = client.createOrUpdate(Bar, key, (bar) => {
      Object.assign(bar, { spec: { at } })
      if (owner) owners.setController(Object.assign(bar, { metadata: { ...bar.metadata, ownerReferences: [] } }), owner)
    })
    const isTold = await sent(write) &&
      (source === 'optional' || (owner && await isSeen(of, key, (await write).object)))
    if (isTold && own && isCommon(draw, key, own)) due(of, own)
  }
  if (!isSecret && !zones) return
  const place = source === 'watches own' ? stage.clientOf(undefined) : client
  const isSent = await sent(place.createOrUpdate(Secret, key, (secret) => void (secret.data = { at: btoa(at) })))
  if (!isSent || !isCommon(of.draw, key, { labelled: true, inTeam: of.team.has(key.namespace) })) return
  if (own && isSecret) due(of, own)
  const zone = of.zones.get(key.name)
  if (zone && zones) zone.dueMs = stage.clock.monotonic()
}
