/** The names of all options of an operator's description, and the values of those that have a choice. */
import type { OptionShape, ShapeOf } from '../core/option_names.ts'
import type { KubeObject } from '../core/objects.ts'
import type { ControllerOptions, FinalizeOptions, OwnsOptions, WatchOptions } from './context.ts'
import type { CacheDeclaration, CacheSelection, LeaderElectionOptions, OperatorOptions } from './description.ts'

const BOOLEAN = [true, false]
const LIST = [] as const
const LEADER_ELECTION: ShapeOf<LeaderElectionOptions> = {
  lease: 0,
  namespace: 0,
  duration: 0,
  renewDeadline: 0,
  retryPeriod: 0,
  identity: 0,
  labels: 0,
  onNewLeader: 0,
}
const SELECTION: ShapeOf<CacheSelection<KubeObject>> = { labels: 0, fields: 0, strip: 0 }
const NAMESPACES: OptionShape = { '*': SELECTION }

export const OPERATOR_SHAPE: ShapeOf<OperatorOptions> = {
  name: 0,
  log: 0,
  leaderElection: [...BOOLEAN, LEADER_ELECTION],
  namespaces: [LIST],
  cache: { ...SELECTION, namespaces: [LIST, NAMESPACES] },
  crds: ['install', 'verify', 'ignore', { mode: ['install'], narrow: BOOLEAN }],
  syncTimeout: 0,
  grace: 0,
  health: 0,
  metrics: { address: 0, registry: 0 },
  profiling: 0,
}

export const CONTROLLER_SHAPE: ShapeOf<ControllerOptions<KubeObject>> = {
  name: 0,
  concurrency: 0,
  when: 0,
  eventFilter: 0,
  timeout: 0,
  everyReplica: BOOLEAN,
  warmup: BOOLEAN,
  backoff: { base: 0, max: 0 },
  limiter: 0,
  syncTimeout: 0,
  cluster: 0,
}

export const OWNS_SHAPE: ShapeOf<OwnsOptions<KubeObject>> = { when: 0, anyOwner: BOOLEAN, optional: BOOLEAN }

export const WATCHES_SHAPE: ShapeOf<WatchOptions<KubeObject>> = { when: 0, cluster: 0, optional: BOOLEAN }

export const FINALIZE_SHAPE: ShapeOf<FinalizeOptions> = { finalizer: 0 }

export const CACHE_SHAPE: ShapeOf<CacheDeclaration<KubeObject>> = {
  ...SELECTION,
  namespaces: [LIST, NAMESPACES],
  read: ['live'],
  cluster: 0,
  optional: BOOLEAN,
}

export const TASK_SHAPE: OptionShape = { everyReplica: BOOLEAN }

export const CLUSTER_SHAPE: OptionShape = { namespaces: [LIST], optional: BOOLEAN }
