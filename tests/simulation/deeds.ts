/** What happens to a simulated operator: deeds of people, faults of the network, and changes of its replicas. */
import { ConfigMap, Lease, Secret, Service } from 'kubeloop/kinds'
import { type AnyResource, type Client, isReason, type OtherCluster } from 'kubeloop'
import type { Fault } from 'kubeloop/testing'
import type { Chance } from './chance.ts'
import { type Known, selects } from './model.ts'
import type { Drawing } from './options.ts'
import type { Stage } from './stage.ts'
import { Foo, type Key, NAMES, NAMESPACES, REFUSED, type Subject } from './subject.ts'

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
  /** Counts up for values. */
  count: number
  /** Whether every request had a known outcome so far. */
  isCertain: boolean
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
  unfinish: 3,
  wait: 12,
  close: 8,
  compact: 6,
  fault: 30,
  gap: 14,
  'lose lease': 4,
  kill: 6,
  stop: 5,
  start: 8,
  suspend: 6,
  skew: 3,
} as const

const WAITS = [0, 0, 100, 500, 2000, 15_000, 40_000]

export function drawDeeds(chance: Chance): readonly Deed[] {
  return Array.from({ length: 4 + chance.below(20) }, () => ({
    deed: chance.weighted(WEIGHTS),
    key: { namespace: chance.pick(NAMESPACES), name: chance.pick(NAMES) },
    number: chance.below(1_000_000),
    waitMs: chance.pick(WAITS),
  })).map((each) => each.deed === 'gap' ? { ...each, waitMs: 0 } : each)
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
  ...{ labelled: false, wasSelected: false, value: '', passed: false, named: false, drifted: false },
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
    case 'refuse': {
      const value = deed === 'empty' ? '' : deed === 'refuse' ? REFUSED : `v${++of.count}`
      if (deed === 'refuse' && draw.admission === 'none') return
      if (await sent(client.patch(Foo, key, { merge: { spec: { value } } })) && own) own.value = value
      return
    }
    case 'delete':
      return void await client.delete(Foo, key)
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
    case 'close':
      return stage.closeWatches(of.place)
    case 'compact':
      return stage.compact(of.place)
    case 'gap': {
      // What happens meanwhile comes by a list, if the history is gone by then.
      const resource = [Foo, Service, ConfigMap][number % 3]!
      stage.fault({ resource, verb: 'watch', delay: '3s', times: stage.running.length, until: of.calm })
      stage.closeWatches(of.place)
      if (number % 2 === 0) stage.clock.after(2500, () => stage.compact(of.place))
      return
    }
    case 'fault':
    case 'lose lease': {
      const fault: Fault = deed === 'fault'
        ? faultOf(number)
        : { resource: Lease, verb: 'update', status: 500, times: 5 }
      if (fault.cut || fault.drop || fault.resource === Lease || fault.delay) of.isCertain = false
      return stage.fault({ ...fault, until: of.calm })
    }
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

async function create({ draw, client, known, poked }: Play, key: Key, number: number): Promise<void> {
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
  if (draw.source === 'watches' || draw.source === 'from') {
    poked.add(text)
    const own = known.get(text)
    if (own) own.named = true
  }
  for (const { streams } of subjects.values()) for (const stream of streams) stream.send(key)
  if (draw.source !== 'watches') return
  await client.createOrUpdate(Secret, key, (secret) => void (secret.data = { at: btoa(String(++of.count)) }))
}
