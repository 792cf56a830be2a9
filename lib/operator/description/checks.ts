/** Refuses mistakes in an operator's description, with their places in the user's file. */
import { toMs } from '../../core/duration.ts'
import { checkLabels, isDomainName } from '../../core/names.ts'
import type { KubeObject } from '../../core/objects.ts'
import { checkOptionNames, type OptionShape, type ShapeOf } from '../../core/option_names.ts'
import { groupResourceOf, resourceId } from '../../core/resource.ts'
import { LOG_LEVELS } from '../../observe/log.ts'
import { callerFrame } from '../../observe/stack.ts'
import { checkTimings } from '../../leader/lease_state.ts'
import { type CacheOptions, checkOptions, describeOptions, isSubsumed, scopesOf } from '../../cache/cache_options.ts'
import { parseAddress } from '../../manager/servers/address.ts'
import { placeOf, refuseAt, rethrowAt } from './places.ts'
import type { ControllerDefaults, ControllerOptions, FinalizeOptions, OwnsOptions, WatchOptions } from './context.ts'
import type {
  CacheDeclaration,
  CacheSelection,
  LeaderElectionOptions,
  Namespaces,
  OperatorOptions,
  ScheduleOptions,
  TaskOptions,
} from './options.ts'
import {
  type AdmissionDescription,
  allControllers,
  type CacheDescription,
  type ControllerDescription,
  controllerTitle,
  finalizerOf,
  groupOf,
  hasWebhooks,
  type OperatorDescription,
  type TaskDescription,
  timingsOf,
} from './description.ts'

/** @throws RangeError for what is no number of runs at a time. */
function concurrency(value: number): void {
  if (Number.isInteger(value) && value > 0) return
  throw new RangeError(`its concurrency is ${value}, and must be an integer of at least 1`)
}

/** @throws TypeError for a name that does not fit into a Lease, or into the source of an Event. */
export function checkName(name: string): void {
  if (name.length <= 63 && isDomainName(name)) return
  throw new TypeError(`Cannot use the name "${name}": it must be at most 63 lower-case letters, digits and dashes`)
}

// The names of all options, and the values of those that have a choice.
const BOOLEAN = [true, false]
const LIST = [] as const
const LEADER_ELECTION: ShapeOf<LeaderElectionOptions> = {
  lease: checkName,
  namespace: checkName,
  duration: toMs,
  renewDeadline: toMs,
  retryPeriod: toMs,
  identity: 0,
  labels: checkLabels,
  onNewLeader: 0,
}
const SELECTION: ShapeOf<CacheSelection<KubeObject>> = { labels: 0, fields: 0, strip: 0 }
const NAMESPACES: OptionShape = { '*': SELECTION }
const PLACES = [LIST, { labels: 0 }] as const

const DEFAULTS = {
  concurrency,
  when: 0,
  timeout: toMs,
  backoff: { base: toMs, max: toMs },
  holdEvents: BOOLEAN,
  logLevel: LOG_LEVELS,
} satisfies ShapeOf<ControllerDefaults>

export const OPERATOR_SHAPE: ShapeOf<OperatorOptions> = {
  name: 0,
  log: 0,
  leaderElection: [...BOOLEAN, LEADER_ELECTION],
  namespaces: PLACES,
  sharding: { ring: checkName, buckets: 0, unsharded: [LIST] },
  cache: { ...SELECTION, namespaces: [LIST, NAMESPACES] },
  crds: ['install', 'verify', 'ignore', { mode: ['install'], narrow: BOOLEAN }],
  syncTimeout: toMs,
  grace: ['forever', toMs],
  health: parseAddress,
  metrics: [{ address: parseAddress, registry: 0, tls: [...BOOLEAN, { certs: 0 }], auth: BOOLEAN }, parseAddress],
  controllers: DEFAULTS,
  profiling: parseAddress,
  tracing: BOOLEAN,
  webhooks: {
    port: parseAddress,
    host: 0,
    certs: {
      ...{ secret: 0, namespace: 0, ca: { secret: 0, namespace: 0 } },
      ...{ duration: toMs, renewBefore: toMs },
      algorithm: ['ECDSA-256', 'ECDSA-384', 'RSA-2048', 'RSA-4096'],
    },
    clientCa: 0,
    service: { name: 0, namespace: 0, port: 0 },
    url: 0,
    shutdownDelay: toMs,
  },
}

export const CONTROLLER_SHAPE: ShapeOf<ControllerOptions<KubeObject>> = {
  ...DEFAULTS,
  name: 0,
  queue: 0,
  eventFilter: 0,
  everyReplica: BOOLEAN,
  warmup: BOOLEAN,
  limiter: 0,
  syncTimeout: toMs,
  cluster: 0,
  clusters: 0,
  fieldManager: 0,
}

export const OWNS_SHAPE: ShapeOf<OwnsOptions<KubeObject>> = {
  when: 0,
  queue: 0,
  anyOwner: BOOLEAN,
  optional: BOOLEAN,
  rights: [LIST],
}

/** Of each item of the list. */
export const OWNED_RIGHTS: OptionShape = { rights: ['update', 'delete', 'deletecollection'] }

export const WATCHES_SHAPE: ShapeOf<WatchOptions<KubeObject>> = { when: 0, queue: 0, cluster: 0, optional: BOOLEAN }

export const FINALIZE_SHAPE: ShapeOf<FinalizeOptions> = { finalizer: 0 }

export const CACHE_SHAPE: ShapeOf<CacheDeclaration<KubeObject>> = {
  ...SELECTION,
  namespaces: [LIST, NAMESPACES],
  read: ['live'],
  compact: BOOLEAN,
  cluster: 0,
  optional: BOOLEAN,
}

export const TASK_SHAPE: ShapeOf<TaskOptions> = { everyReplica: BOOLEAN, restart: BOOLEAN }

export const SCHEDULE_SHAPE: ShapeOf<ScheduleOptions> = { timeZone: 0 }

export const GROUP_SHAPE: OptionShape = { namespaces: PLACES }

export const CLUSTER_SHAPE: OptionShape = { namespaces: PLACES, optional: BOOLEAN }

/**
 * Checks a declaration of a kind's cache, as a kind has one watch per cluster.
 *
 * @throws TypeError with the place in the user's file, if the declaration contradicts itself or an earlier one.
 */
export function checkCache(
  { caches }: OperatorDescription,
  { resource, options, cluster, declaredAt }: CacheDescription,
): void {
  rethrowAt(declaredAt, () => scopesOf(resource, options))
  const known = caches.find((each) => each.cluster === cluster && resourceId(each.resource) === resourceId(resource))
  if (!known || isSubsumed(options, known.options)) return
  const before = `it was declared with ${describeOptions(known.options)}${placeOf(known)}`
  const now = `now with ${describeOptions(options)}`
  refuseAt(declaredAt, `Cannot cache ${groupResourceOf(resource)} twice: ${before}, ${now}; declare it once`)
}

export function checkNamespaces(cluster: string, namespaces: Namespaces | undefined): void {
  rethrowAt(callerFrame(), () => checkOptions(`the kinds of "${cluster}"`, { namespaces }))
}

/** Checks the name, the cache options of all kinds, and the timings of an election. */
export function checkDefaults(
  { name, cache, namespaces, leaderElection }: OperatorOptions,
  declaredAt: () => string | undefined,
): void {
  rethrowAt(declaredAt, () => {
    checkName(name ?? '')
    if (namespaces && cache?.namespaces) {
      throw new TypeError('Cannot cache by two lists of namespaces: give namespaces or cache.namespaces')
    }
    checkOptions('all kinds', { namespaces, ...cache } as CacheOptions)
    checkTimings(timingsOf(leaderElection))
  })
}

/** @throws TypeError with the place in the user's file, if the options of metrics contradict each other. */
export function checkMetrics({ name, metrics }: OperatorOptions, declaredAt: () => string | undefined): void {
  if (typeof metrics !== 'object') return
  const { address, tls, auth } = metrics
  const problem = auth && !tls
    ? 'metrics.auth needs metrics.tls: true or { certs }, as tokens must not be sent in plain text'
    : typeof tls === 'object' && !tls.certs
    ? 'metrics.tls.certs must be a folder with tls.crt and tls.key'
    : tls && address === undefined && "metrics.tls needs metrics.address, such as ':8443'"
  if (problem) refuseAt(declaredAt, `Cannot describe operator "${name}": ${problem}`)
}

/**
 * Checks the names and values of options.
 *
 * @param cannot The start of the message, such as `Cannot control Foo`.
 * @throws TypeError with the place in the user's file, for an option that does not exist or has an invalid value.
 */
export function checkShape(cannot: string, options: unknown, shape: OptionShape): void {
  const declaredAt = callerFrame()
  checkOptionNames(options, shape, (problem) => refuseAt(declaredAt, `${cannot}: ${problem}`))
}

/** @throws TypeError with the place in the user's file, if an admission has no function, or a value that is not one. */
export function checkAdmission({ resource, hooks, declaredAt }: AdmissionDescription): void {
  const cannot = `Cannot admit ${resource.kind}`
  checkShape(cannot, hooks, { default: 0, validate: 0 })
  for (const name of ['default', 'validate'] as const) {
    const { [name]: hook } = hooks
    if (hook !== undefined && typeof hook !== 'function') refuseAt(declaredAt, `${cannot}: ${name} is not a function`)
  }
  if (hooks.default || hooks.validate) return
  refuseAt(declaredAt, `${cannot}: give default, validate, or both: app.admission(Kind, { validate: (object) => [] })`)
}

/** The largest second, minute, hour, day, month and day of the week. */
const LARGEST = [59, 59, 23, 31, 12, 7]

/** Five or six fields without larger numbers, or a name such as `@daily`. The start checks the rest. */
function mayBeCron(cron: string): boolean {
  const words = cron.trim().split(/\s+/)
  return words[0]!.startsWith('@') || words.length > 4 && words.length < 7 &&
      words.every((word, at) => word.split(/[/#]\d+|\D/).every((number) => +number <= LARGEST.at(at - words.length)!))
}

/** @throws TypeError with the place in the user's file, if the name is taken or the schedule is invalid. */
export function checkTask({ tasks }: OperatorDescription, { name, task, schedule, declaredAt }: TaskDescription): void {
  const refuse = (what: string): never =>
    refuseAt(declaredAt, `Cannot ${schedule ? 'schedule' : 'add'} "${name}": ${what}`)
  const namesake = tasks.find((each) => each.name === name)
  if (namesake) refuse(`there is another ${namesake.schedule ? 'schedule' : 'task'} of this name${placeOf(namesake)}`)
  if (!schedule) return
  const { cron, timeZone } = schedule
  if (typeof task !== 'function') refuse("give it a function: app.schedule('report', '0 2 * * *', async () => {})")
  if (typeof cron !== 'string' || !mayBeCron(cron)) {
    refuse(`${JSON.stringify(cron)} is not a cron expression, such as "0 2 * * *"`)
  }
  try {
    new Intl.DateTimeFormat('en', { timeZone })
  } catch {
    refuse(`${JSON.stringify(timeZone)} is not a time zone, such as "Europe/Berlin"`)
  }
}

/** Checks a description before a start connects to anything. */
export function checkDescription(description: OperatorDescription): void {
  const { options, tasks } = description
  const controllers = allControllers(description)
  const cannot = `Cannot start operator "${options.name}"`
  if (controllers.length === 0 && tasks.length === 0 && !hasWebhooks(description)) {
    throw new TypeError(`${cannot}: it has no controller and no task; call app.controllerFor(Kind).reconcile(…)`)
  }
  const names = new Map<string, ControllerDescription>()
  const finalizers = new Map<string, ControllerDescription>()
  for (const controller of controllers) {
    const name = controllerTitle(controller)
    const wrong = (what: string): TypeError => new TypeError(`${cannot}: ${what}${placeOf(controller)}`)
    if (!controller.step) {
      throw wrong(`the controller for ${controller.resource.kind} has no reconcile; end it with .reconcile(…)`)
    }
    if (controller.finalize && controller.options.everyReplica) {
      throw wrong(`"${name}" has everyReplica and a finalizer, which the first replica would remove for all`)
    }
    const namesake = names.get(name)
    if (namesake) throw wrong(`two controllers are called "${name}"${placeOf(namesake)}; give one of them another name`)
    names.set(name, controller)
    const finalizer = finalizerOf(controller, options.name)
    if (finalizer === undefined) continue
    const id = `${groupResourceOf(controller.resource)} ${
      controller.options.cluster?.name ?? groupOf(controller)?.name ?? ''
    } ${finalizer}`
    const other = finalizers.get(id)
    if (other) {
      const what = `two controllers for ${controller.resource.kind} have the finalizer "${finalizer}"${placeOf(other)}`
      throw wrong(`${what}; give one of them another`)
    }
    finalizers.set(id, controller)
  }
}

/** @throws TypeError that names the missing method of a log. */
export function checkLog({ name, log }: OperatorOptions): void {
  const missing = log && LOG_LEVELS.find((level) => typeof log[level] !== 'function')
  if (missing) throw new TypeError(`Cannot describe operator "${name}": its log has no method "${missing}"`)
}
