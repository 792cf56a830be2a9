/** What happens to a simulated operator: deeds of people, faults of the network, and changes of its replicas. */
import { ConfigMap, Lease, Secret, Service } from 'kubeloop/kinds'
import { type AnyResource, type Client, type ClusterChange, isReason, type OtherCluster } from 'kubeloop'
import type { Fault } from 'kubeloop/testing'
import type { Chance } from './chance.ts'
import { isCommon, type Known, selects } from './model.ts'
import type { Drawing } from './options.ts'
import type { Stage } from './stage.ts'
import { CRD } from '../../lib/core/resource.ts'
import { Bar, BARS, Foo, type Key, NAMES, NAMESPACES, REFUSED, type Subject, TERMINAL, WEST } from './subject.ts'

/** One deed; `number` decides its details. */
export interface Deed {
  readonly deed: keyof typeof WEIGHTS
  readonly key: Key
  readonly number: number
  /** The time that passes afterwards, in milliseconds. */
  readonly waitMs: number
}

/** What the deeds of one run share. */
export interface Play {
  readonly draw: Drawing
  readonly stage: Stage
  /** Where the objects are. */
  readonly place: OtherCluster | undefined
  readonly client: Client
  readonly known: Map<string, Known>
  /** The keys that another source has named, perhaps before their objects were created. */
  readonly poked: Set<string>
  /** The operators of the running replicas. */
  readonly subjects: Map<number, Subject>
  /** Ends all faults. */
  readonly calm: AbortSignal
  /** Sets the cluster of the objects back to an earlier state. */
  restore?: (() => void) | undefined
  /** Counts up for values. */
  count: number
  /** Whether every request had a known outcome so far. */
  isCertain: boolean
  /** Whether one replica leads from the beginning to the end. */
  readonly isSteady: boolean
  problem(text: string): void
  startReplica(): void
}

const WEIGHTS = {
  create: 50,
  edit: 20,
  delete: 12,
  poke: 10,
  drift: 8,
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
  tag: 4,
  hold: 4,
  unfinish: 3,
  'end streams': 3,
  define: 5,
  undefine: 3,
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
]

export function isSteady(deeds: readonly Deed[]): boolean {
  return !deeds.some(({ deed }) => UNSTEADY.includes(deed))
}

const WAITS = [0, 0, 100, 500, 2000, 15_000, 40_000]

/** What happens while nobody watches. */
const UNSEEN = ['delete', 'delete', 'edit', 'edit', 'remove', 'drift', 'leave', 'join', 'poke'] as const

/** The numbers, modulo 8, of deletions that are undone by a restore: of a state before, or of one after. */
const [SAVED_BEFORE, SAVED_AFTER] = [2, 5]
/** The number of a creation whose object is selected, and passes. */
const PASSING = 0
/** How often a deed concerns the object of the one before. */
const SAME_KEY = 0.5

export function drawDeeds(chance: Chance): readonly Deed[] {
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
        return [{ ...each, waitMs: 0 }, { ...each, deed: chance.pick(UNSEEN) }]
      case 'behind':
        // The next leader has not seen what the one before made.
        return [
          { ...each, waitMs: 0 },
          { ...each, deed: 'create', number: PASSING, waitMs: 2000 },
          { ...each, deed: 'hand over' },
        ]
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
  const effects = EFFECTS.filter(({ status }) => status === undefined || (ONLY[status]?.includes(verb) ?? true))
  const effect = effects[Math.floor(rest / verbs.length) % effects.length]!
  return { resource, verb, times: 1 + Math.floor(rest / 500) % 3, ...effect }
}

const NEW: Known = {
  ...{ labelled: false, wasSelected: false, value: '', passed: false, named: false, drifted: false, disowned: false },
  ...{ tagged: undefined, restored: false, dueMs: 0 },
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
      if (!await sent(client.patch(Foo, key, { merge: { spec: { value } } })) || !own) return
      own.value = value
      if (isChanged) due(of, own)
      return
    }
    case 'delete':
      if (number % 8 === SAVED_BEFORE) await backup(of)
      await client.delete(Foo, key, number % 3 === 0 ? { propagation: 'Foreground' } : {})
      return number % 8 === SAVED_AFTER ? await backup(of) : undefined
    case 'pass':
    case 'hide':
      if (own && deed === 'pass') own.passed = true
      return void await label('passes', deed === 'pass')
    case 'join':
    case 'leave':
      if (!own) return
      own.wasSelected ||= selects(draw, key, deed === 'join')
      if (await label('selected', deed === 'join')) own.labelled = deed === 'join'
      return
    case 'hold':
      // An object that is being deleted gets no new finalizers.
      return void await sent(client.edit(
        Foo,
        key,
        ({ metadata }) => void (metadata.finalizers = [...metadata.finalizers ?? [], HELD]),
      ))
    case 'blank': {
      if (!own || !selects(draw, key, own.labelled)) return
      const none = { merge: { status: { conditions: null } } }
      return void await sent(client.subresource(Foo, key, 'status').patch(none))
    }
    case 'disown':
    case 'tag': {
      if (deed === 'disown' && own) own.disowned = own.drifted = true
      const metadata = deed === 'disown' ? { ownerReferences: null } : { labels: { tag: 'yes' } }
      const write = client.patch(Service, key, { merge: { metadata } })
      if (await sent(write) && own && deed === 'tag') own.tagged = (await write).metadata.uid
      return
    }
    case 'unfinish':
      return void await sent(client.patch(Foo, key, { merge: { metadata: { finalizers: null } } }))
    case 'drift':
    case 'extra':
    case 'remove': {
      const selector = deed === 'drift' ? { app: 'other' } : { extra: 'yes' }
      const done = deed === 'remove'
        ? await client.delete(Service, key)
        : await sent(client.patch(Service, key, { merge: { spec: { selector } } }))
      if (done && own) own.drifted = true
      return
    }
    case 'poke':
      return await poke(of, key)
    case 'end streams':
      for (const { streams } of of.subjects.values()) for (const stream of streams) stream.close()
      return
    case 'define':
      return void await client.createIfMissing(CRD, BARS!)
    case 'undefine':
      return void await client.delete(CRD, { ...BARS!.metadata, namespace: '' })
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
      return of.restore()
    }
    case 'gap': {
      // What happens meanwhile comes by a list, if the history is gone by then.
      const resource = [Foo, Foo, Service, Secret][number % 4]!
      delayWrites(of, 5000)
      stage.fault({ resource, verb: 'watch', delay: '3s', times: 2 * stage.running.length, until: of.calm })
      stage.closeWatches(of.place)
      if (number % 3 !== 0) stage.clock.after(2500, () => stage.compact(of.place))
      return
    }
    case 'slow':
    case 'garble':
      of.isCertain = false
      for (const replica of stage.running) {
        if (deed === 'slow') stage.slow(replica, [50, 500, 2000][number % 3]!, of.calm)
        else stage.garble(replica, number % 2 === 0 ? 'watch' : 'answer')
      }
      return
    case 'stale': {
      // As of another API server, which has not seen the latest changes.
      const resource: AnyResource = [Foo, Service][number % 2]!
      const stale = (await client.get(resource, key))?.metadata.resourceVersion
      if (stale === undefined) return
      stage.fault({ resource, stale, verb: number % 3 === 0 ? 'list' : 'watch', times: 2, until: of.calm })
      return stage.closeWatches(of.place)
    }
    case 'fault':
    case 'lose lease': {
      const fault: Fault = deed === 'fault'
        ? faultOf(number)
        : { resource: Lease, verb: 'update', status: 500, times: 5 }
      if (fault.cut || fault.drop || fault.resource === Lease || fault.delay) of.isCertain = false
      return stage.fault({ ...fault, until: of.calm })
    }
    case 'behind':
      return stage.lagStandbys(3000, of.calm)
    case 'hand over':
      if (stage.leader !== undefined) stage.stop(stage.leader)
      return
    case 'kill':
    case 'stop':
    case 'suspend': {
      of.isCertain = false
      const replica = number % 3 === 0 ? stage.running[number % stage.running.length] : stage.leader
      if (replica === undefined) return
      if (deed === 'kill') stage.kill(replica)
      else if (deed === 'stop') stage.stop(replica)
      else stage.suspend(replica, [3000, 12_000, 20_000, 90_000][number % 4]!)
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
/** Notes that a key needs a run from now on. */
function due({ stage }: Play, known: Known): void {
  known.dueMs = stage.clock.monotonic()
}

async function tellProviders({ subjects }: Play, change: ClusterChange): Promise<void> {
  for (const { providers } of subjects.values()) for (const changes of providers) await changes.send(change)
}

/** Removes what would keep objects in deletion for ever. */
export async function release({ client }: Play, key: Key): Promise<void> {
  await client.edit(Foo, key, ({ metadata }) => {
    if (metadata.finalizers?.includes(HELD)) metadata.finalizers = metadata.finalizers.filter((each) => each !== HELD)
  })
}

/** Whether a write of people was accepted. A refusal has no effect on the model. */
async function sent(write: Promise<unknown>): Promise<boolean> {
  try {
    await write
    return true
  } catch (error) {
    if (isReason(error, 'NotFound') || isReason(error, 'Invalid') || isReason(error, 'InternalError')) return false
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

/** Keeps the state of the cluster for a restore. */
async function backup(of: Play): Promise<void> {
  const { client, known, stage } = of
  if (!await client.get(CRD, { namespace: '', name: `foos.${Foo.group}` })) return
  const [then, restore] = [structuredClone(known), stage.backup(of.place)]
  of.restore = () => {
    restore()
    for (const [key, now] of known) {
      const before = then.get(key) ?? now
      known.set(key, {
        ...before,
        drifted: true,
        restored: true,
        wasSelected: before.wasSelected || now.wasSelected,
        passed: before.passed || now.passed,
        named: before.named || now.named,
        disowned: before.disowned || now.disowned,
      })
    }
  }
}

async function create(of: Play, key: Key, number: number): Promise<void> {
  const { draw, client, known, poked } = of
  const text = `${key.namespace}/${key.name}`
  if (await client.get(Foo, key)) return
  const [labelled, passing] = [number % 2 === 0, number % 4 < 2]
  const value = `v${number}`
  // A key of the object before may be queued still, and its run reads this one.
  const { passed = false, named = poked.has(text), wasSelected = false } = known.get(text) ?? {}
  const before = known.get(text)
  known.set(text, {
    ...NEW,
    labelled,
    wasSelected: wasSelected || selects(draw, key, labelled),
    value,
    passed: passed || passing,
    named,
    disowned: before?.disowned === true,
    dueMs: of.stage.clock.monotonic(),
  })
  const labels = { selected: labelled ? 'yes' : 'no', passes: passing ? 'yes' : 'no' }
  const metadata = { ...key, labels, annotations: { kept: 'yes' } }
  if (!await sent(client.create(Foo, { metadata, spec: { value, note: 'kept' } }))) {
    if (before) known.set(text, before)
    else known.delete(text)
  }
}

async function poke(of: Play, key: Key): Promise<void> {
  const { draw, client, known, poked, subjects } = of
  const text = `${key.namespace}/${key.name}`
  if (draw.source !== 'watches' && draw.source !== 'from' && draw.source !== 'optional') return
  poked.add(text)
  const own = known.get(text)
  if (own) own.named = true
  if (draw.source === 'from') {
    let sentTo = 0
    for (const [replica, { streams }] of subjects) {
      if (of.isSteady && streams.size > 0 && draw.election !== 'one replica' && replica !== of.stage.leader) {
        of.problem(`replica ${replica} reads keys, and does not lead`)
      }
      for (const stream of streams) sentTo += Number(await stream.send(key).then(() => true, () => false))
    }
    if (of.isSteady && sentTo > 0 && own) due(of, own)
    return
  }
  const at = btoa(String(++of.count))
  const isSent = draw.source === 'watches'
    ? await sent(client.createOrUpdate(Secret, key, (secret) => void (secret.data = { at })))
    : await sent(client.createOrUpdate(Bar, key, (bar) => void Object.assign(bar, { spec: { at } })))
  if (isSent && own && isCommon(draw, key)) due(of, own)
}
