/** The options of drawn operators: what each row may be, and which public options it covers. */
import {
  CACHE_SHAPE,
  CLUSTER_SHAPE,
  CONTROLLER_SHAPE,
  FINALIZE_SHAPE,
  GROUP_SHAPE,
  OPERATOR_SHAPE,
  OWNS_SHAPE,
  SCHEDULE_SHAPE,
  TASK_SHAPE,
  WATCHES_SHAPE,
} from '../../lib/operator/description/checks.ts'
import type { Chance } from '../tools/chance.ts'

interface Row {
  /** The public options, as `shape.option`. */
  readonly covers: readonly string[]
  /** The first is the simplest one, to which a failing drawing is shrunk. */
  readonly values: readonly unknown[]
}

const NO = [false, true] as const

/** One drawing has one value of each row. */
export const OPTIONS = {
  place: {
    covers: ['controller.cluster', 'controller.clusters', 'cache.cluster', 'watches.cluster', 'group.namespaces'],
    values: ['own', 'west', 'each of west', 'group'],
  },
  labels: { covers: ['cache.labels'], values: NO },
  fields: { covers: ['cache.fields'], values: NO },
  spaces: { covers: ['cache.namespaces'], values: ['all', 'list', 'by labels', 'record', 'others'] },
  commonSpaces: { covers: ['operator.namespaces', 'cluster.namespaces'], values: ['all', 'list', 'by labels'] },
  strip: { covers: ['cache.strip', 'operator.cache'], values: ['none', 'kind', 'all kinds', 'fails'] },
  live: { covers: ['cache.read'], values: NO },
  filter: {
    covers: ['controller.when', 'controller.eventFilter', 'operator.controllers'],
    values: ['none', 'when', 'eventFilter', 'when of all'],
  },
  compact: { covers: ['cache.compact'], values: NO },
  finalize: { covers: ['finalize.finalizer'], values: ['none', 'named', 'by default', 'slow'] },
  source: {
    covers: ['watches.queue', 'watches.optional'],
    values: ['none', 'watches', 'watches own', 'optional', 'from', 'every', 'every with keys'],
  },
  // What the map functions of sources do.
  maps: { covers: [], values: ['at once', 'slow', 'fail once'] },
  owns: { covers: ['owns.anyOwner', 'owns.queue'], values: ['none', 'controller', 'any owner', 'metadata'] },
  // How the owned kind is cached.
  services: { covers: [], values: ['all', 'labels', 'list', 'strip', 'live', 'compact'] },
  queue: { covers: ['controller.queue'], values: ['none', 'priority', 'after', 'rate limited'] },
  concurrency: { covers: ['controller.concurrency'], values: [1, 3] },
  warmup: { covers: ['controller.warmup'], values: NO },
  backoff: { covers: ['controller.backoff', 'controller.limiter'], values: ['short', 'limiter'] },
  holdEvents: { covers: ['controller.holdEvents'], values: NO },
  timeout: { covers: ['controller.timeout'], values: NO },
  second: {
    covers: ['controller.everyReplica', 'controller.fieldManager', 'controller.name'],
    values: ['none', 'leader', 'by key', 'every replica', 'of metadata'],
  },
  // Whether the second controller has a finalizer, too.
  finalizesTwice: { covers: [], values: NO },
  election: {
    covers: ['operator.leaderElection', 'operator.sharding'],
    values: ['one replica', 'default', 'quick', 'buckets', 'ring'],
  },
  buckets: { covers: [], values: [4, 7] },
  unsharded: { covers: [], values: NO },
  bars: { covers: ['cache.optional', 'owns.optional'], values: ['none', 'cached', 'owned'] },
  versions: { covers: [], values: ['one', 'two', 'second of old'] },
  admission: { covers: ['operator.webhooks'], values: ['none', 'default', 'validate'] },
  task: { covers: ['task.everyReplica', 'task.restart'], values: ['none', 'leader', 'failing', 'every replica'] },
  schedule: { covers: ['schedule.timeZone'], values: NO },
  zones: { covers: [], values: NO },
  west: { covers: ['cluster.optional'], values: ['there', 'optional', 'late', 'optional and late'] },
  account: { covers: ['owns.rights'], values: NO },
  health: { covers: ['operator.health'], values: NO },
  // Whether a webhook of others changes what the operator writes.
  meddled: { covers: [], values: NO },
  child: { covers: [], values: ['apply', 'createOrUpdate', 'get, then write', 'recreate'] },
  generated: { covers: [], values: NO },
  shares: { covers: [], values: NO },
  sweeps: { covers: [], values: NO },
  annotates: { covers: [], values: NO },
  fails: { covers: [], values: NO },
  waits: { covers: [], values: ['none', 'by the context', 'elsewhere'] },
  requeues: { covers: [], values: NO },
} as const satisfies Readonly<Record<string, Row>>

export type Drawing = { readonly [K in keyof typeof OPTIONS]: (typeof OPTIONS)[K]['values'][number] }

/** Public options without a row, each with the reason. */
export const NOT_DRAWN: Readonly<Record<string, string>> = {
  'operator.name': 'changes nothing but names',
  'operator.log': 'the log of the simulation is given at the start',
  'operator.crds': 'worlds install; tests/crds and tests/e2e have the others',
  'operator.syncTimeout': 'ends the start: tests/operator/refused.test.ts',
  'controller.syncTimeout': 'the same',
  'operator.grace': 'limits a stop, which the simulation bounds itself',
  'operator.metrics': 'a server with a socket: tests/manager',
  'operator.profiling': 'the same',
  'operator.tracing': 'changes no request: tests/operator/tracing.test.ts',
  'controller.logLevel': 'the log of the simulation has all lines',
  'owns.when': 'as the filter of the kind itself: tests/controller/handlers.test.ts',
  'watches.when': 'the same',
}

const SHAPES = {
  operator: OPERATOR_SHAPE,
  controller: CONTROLLER_SHAPE,
  cache: CACHE_SHAPE,
  owns: OWNS_SHAPE,
  watches: WATCHES_SHAPE,
  finalize: FINALIZE_SHAPE,
  task: TASK_SHAPE,
  schedule: SCHEDULE_SHAPE,
  group: GROUP_SHAPE,
  cluster: CLUSTER_SHAPE,
}

/** Returns the names of all public options, as `shape.option`. */
export function publicOptions(): readonly string[] {
  return Object.entries(SHAPES).flatMap(([shape, options]) => Object.keys(options).map((name) => `${shape}.${name}`))
}

export function drawOptions(chance: Chance): Drawing {
  return Object.fromEntries(
    Object.entries<Row>(OPTIONS).map(([name, { values }]) => [name, chance.pick(values)]),
  ) as Drawing
}

/** Returns a drawing without what needs one leader, or what a ring cannot distribute, if it has none or is a ring. */
export function withoutRefused(drawing: Drawing): Drawing {
  if (!isShared(drawing)) return drawing
  const { place, task, second, spaces, commonSpaces } = drawing
  const shared = {
    ...drawing,
    place: place === 'group' ? 'each of west' : place,
    task: task === 'none' ? task : 'every replica',
    schedule: false,
  } as const
  return drawing.election === 'buckets' ? shared : {
    ...shared,
    place: 'own',
    zones: false,
    second: second === 'every replica' ? 'by key' : second,
    spaces: spaces === 'by labels' ? 'list' : spaces,
    commonSpaces: commonSpaces === 'by labels' ? 'all' : commonSpaces,
  }
}

/** Whether all replicas work at the same time. */
export const isShared = ({ election }: Drawing): boolean => election === 'buckets' || election === 'ring'

/** Whether the kind has a version that is converted. Webhooks are called in the operator's own cluster. */
export const hasVersions = ({ place, versions }: Drawing): boolean => place === 'own' && versions !== 'one'

export const hasLeader = ({ election }: Drawing): boolean => election === 'default' || election === 'quick'

/** Returns each drawing that has the simplest value in one more row. */
export function simplerDrawings(drawing: Drawing): readonly Drawing[] {
  return Object.entries<Row>(OPTIONS)
    .filter(([name, { values }]) => drawing[name as keyof Drawing] !== values[0])
    .map(([name, { values }]) => ({ ...drawing, [name]: values[0] }))
}
