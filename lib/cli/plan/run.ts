/** Runs an operator against mirrors of its clusters until it is at rest, and returns what it wrote to them. */
import type { Log, Operator, Transport } from 'kubeloop'
import { FakeClock } from '../../async/fake_clock.ts'
import { type Duration, toMs } from '../../core/duration.ts'
import { formatKey } from '../../core/objects.ts'
import { messageOf } from '../../core/errors.ts'
import { groupResourceOf } from '../../core/resource.ts'
import type { ReconcileReport } from '../../controller/controller.ts'
import { controllerName, type OperatorDescription } from '../../operator/description/description.ts'
import { checkSharding } from '../../operator/sharding/ring.ts'
import { writePrivate } from '../../runtime/os/user_files.ts'
import { Activity } from '../../testing/world/activity.ts'
import { consoleLog } from '../../testing/world/console_log.ts'
import { makeFaults } from '../../testing/world/faults.ts'
import { Mirror } from '../../testing/mirror/mirror.ts'
import { type ClusterRecord, readRecord, recordOf } from '../../testing/mirror/record.ts'
import { seededRandom } from '../../testing/world/random.ts'
import { callIn, type Replica } from '../../testing/world/replica.ts'
import { Services } from '../../testing/world/services.ts'
import { startReplica } from '../../testing/world/start_replica.ts'
import { type AskedPath, type AskedRight, rightsRecorder } from '../../testing/rights_recorder.ts'
import { Trace } from '../../testing/world/trace.ts'
import { endings } from '../../testing/world/world_time.ts'
import { clustersOf, recordedClusters, type Sources } from './clusters.ts'
import { plannedChanges, Writers } from './changes.ts'
import { answerOfOthers } from './other_webhooks.ts'
import type { Plan } from './result.ts'

export interface PlanRequest {
  readonly kubeconfig?: string | undefined
  readonly context?: string | undefined
  /** The operator's own namespace. Default: that of the kubeconfig's context. */
  readonly namespace?: string | undefined
  /** A record to read instead of clusters. */
  readonly from?: string | undefined
  /** The file for a record. Default: none is written. */
  readonly record?: string | undefined
  /** Whether the plan has the rights that the operator asked for. */
  readonly rights?: boolean | undefined
  /** How much of the operator's time passes. Default: 1 s. */
  readonly time?: Duration | undefined
  /** How long it may work, in real time. Default: 5 min. */
  readonly timeout?: Duration | undefined
}

/**
 * Resolves with the plan of the operator that a file exports, for the answer to the command.
 *
 * @throws Error if it is not exported, there is no cluster, or a record cannot be read or written.
 */
export async function planAnswer(
  description: OperatorDescription,
  exported: readonly unknown[],
  request: PlanRequest,
): Promise<{ readonly objects: readonly [Plan]; readonly notes: readonly string[] }> {
  const isWanted = (each: unknown): each is Operator => (each as Partial<Operator> | null)?.description === description
  const operator = exported.find(isWanted)
  if (!operator) {
    const { name } = description.options
    throw new Error(`Cannot plan the operator "${name}": its file does not export it; add export default, as for tests`)
  }
  const notes = new Set<string>()
  const note = (text: string): void => void notes.add(text)
  const sources = request.from === undefined
    ? await clustersOf(description, request)
    : recordedClusters(await readRecord(request.from), note)
  const { plan, record } = await planOf(operator, { ...request, sources, notes })
  if (request.record !== undefined) await writePrivate(request.record, `${JSON.stringify(record)}\n`)
  return { objects: [plan], notes: [] }
}

/** Resolves with the plan, and with a record of what was read. `notes`: what else is noted, by the sources. */
export async function planOf(
  operator: Operator,
  request: PlanRequest & { readonly sources: Sources; readonly notes?: Set<string>; readonly log?: Log },
): Promise<{ readonly plan: Plan; readonly record: ClusterRecord }> {
  const { description } = operator
  // A plan runs without sharding; the replicas in a cluster use it.
  checkSharding(description)
  const { sources, notes = new Set<string>(), namespace = sources.config.namespace } = request
  const clock: FakeClock = new FakeClock({ settle: () => activity.rest(), nowMs: Date.parse(sources.at) })
  const log = request.log ?? consoleLog(clock)
  const stopping = new AbortController()
  const faults = makeFaults(clock, description.clusters.map(({ name }) => name))
  const halt = (): void => stopping.abort(new DOMException('The operator does not come to rest', 'AbortError'))
  const activity = new Activity(faults, halt, toMs(request.timeout ?? '5m'))
  const services = new Services(activity, faults)
  const running = new Map<Replica, () => void>()
  const note = (text: string): void => void notes.add(text)
  const all = new Map<string | null, Mirror>()
  const mirrorOf = mirroring(operator, { clock, note, running, sources, activity })
  const writers = new Writers()
  const trace = new Trace(clock)
  let reconciles = 0
  const rights: (AskedRight | AskedPath)[] = []
  const recorder = request.rights
    ? rightsRecorder(description, (line) => void ('verb' in line && rights.push(line)))
    : undefined
  const connect = (name: string | null): Transport => {
    const mirror = all.get(name) ?? all.set(name, mirrorOf(name)).get(name)!
    const counting = activity.counting(mirror.handle)
    return recorder?.around(counting, name) ?? counting
  }
  startReplica(0, {
    ...{ operator, replicas: 1, seed: 1, clock, random: seededRandom(1), log, activity, services, recorder, trace },
    clusters: {
      connectionsOf: () => ({
        // A server on this machine may call webhooks in this process.
        cluster: { server: 'https://localhost', namespace },
        transport: connect(null),
        transports: Object.fromEntries(description.clusters.map(({ name }) => [name, connect(name)])),
        connect,
      }),
    },
    ...{ running, signal: stopping.signal, onRan() {} },
    onReport(report: ReconcileReport) {
      reconciles++
      writers.note(report)
    },
    // As in a cluster: only a world is stricter.
    options: { crds: undefined, freeze: false, fieldValidation: 'Warn' },
  })
  const [replica] = running.keys()
  const unrest = await restlessness(activity, () => clock.advance(toMs(request.time ?? '1s')))
  const failed = [
    ...(unrest === undefined ? [] : [{ what: `operator "${description.options.name}"`, error: unrest }]),
    ...failuresOf(replica!, description, note),
  ]
  const found = await plannedChanges(all, writers, {
    manager: description.options.name,
    ...(sources.isLive && { send: sources.connect }),
  })
  await endings({ description, clock, log, isLogOwn: true, faults, activity, services, stopping, trace }).stop().catch(
    (error: unknown) => {
      if (failed.length === 0) failed.push({ what: 'the stop of the operator', error: messageOf(error) })
    },
  )
  sources.close()
  const mirrors = [...all.values()]
  const plan: Plan = {
    operator: description.options.name,
    changes: found.changes,
    failed,
    notes: [...notes, ...mirrors.flatMap((each) => each.refusals)],
    ...(recorder && { rights }),
    counts: { reconciles, ...readBy(mirrors), ...found.counts },
  }
  const about = { operator: plan.operator, at: sources.at, namespace: namespace ?? 'default' }
  return { plan, record: recordOf(about, all) }
}

/** Lets the operator come to rest, and its time pass. Resolves with the reason if it does not come to rest. */
async function restlessness(activity: Activity, advance: () => Promise<void>): Promise<string | undefined> {
  try {
    await activity.rest()
    await advance()
    return undefined
  } catch (error) {
    const [message = ''] = messageOf(error).split('; does a reconcile')
    return `${message}${error === activity.restless ? '; see --timeout' : ''}`
  }
}

/** Counts the objects that were read of the clusters, and the requests for them. */
function readBy(mirrors: readonly Mirror[]): Pick<Plan['counts'], 'read' | 'requests'> {
  return {
    read: mirrors.reduce((sum, each) => sum + [...each.loaded()].length, 0),
    requests: mirrors.reduce((sum, { reads }) => sum + reads, 0),
  }
}

interface MirrorsOptions {
  readonly clock: FakeClock
  readonly note: (text: string) => void
  readonly running: ReadonlyMap<Replica, unknown>
  readonly sources: Sources
  readonly activity: Activity
}

/** Returns a function that makes a mirror of a cluster, by its name; null is the operator's own. */
function mirroring(
  { description: { conversions, clusters } }: Operator,
  { clock, note, running, sources, activity }: MirrorsOptions,
): (name: string | null) => Mirror {
  return (name) => {
    const isOptional = clusters.find((each) => each.name === name)?.optional === true
    return new Mirror({
      cluster: sources.connect(name),
      where: name === null ? '' : ` of the cluster "${name}"`,
      api: {
        clock,
        random: seededRandom(2),
        callWebhook: async (address, body, { signal }) => {
          const replicas = name === null ? [...running.keys()] : []
          return answerOfOthers(address, body, { replicas, conversions, note }) ??
            await callIn(replicas, address, body, signal)
        },
      },
      note,
      fail: (error) => isOptional ? note(error.message) : activity.fail(error),
    })
  }
}

/** Returns what fails or still runs, and the kinds without which nothing is reconciled. */
function failuresOf(
  { runs, parts }: Replica,
  { clusters, groups }: OperatorDescription,
  note: (text: string) => void,
): Plan['failed'][number][] {
  if (!parts) return []
  const failing = runs.failing(parts.controllers.values()).map(
    ({ controller, kind, key, task, source, error, place }) => {
      const where = key ? ` ${kind} ${formatKey(key)}` : ''
      const what = task === undefined
        ? `controller ${controller}${source ? `, ${source}` : ''}${where}`
        : `task ${task}`
      return { what, error: messageOf(error), ...(place !== undefined && { place }) }
    },
  )
  const working = [...parts.controllers.values()].flatMap(({ name, running }) =>
    running.map((key) => ({ what: `controller ${name} ${key}`, error: 'it still runs; see --time and --timeout' }))
  )
  const caches = [parts.cluster, ...clusters.map(parts.clusterOf)].flatMap(({ cache }) => [...cache.informers()])
  const unsynced = caches.filter(({ isSynced }) => !isSynced).flatMap(({ optional, resource, failure }) => {
    const why = failure === undefined ? 'it was not listed' : messageOf(failure)
    const kind = groupResourceOf(resource)
    if (!optional) return [{ what: `the cache of ${kind}`, error: `nothing is reconciled without it: ${why}` }]
    note(`Without ${kind}, which is optional: ${why}`)
    return []
  })
  // The caches of clusters that providers add are not known here.
  const ofGroups = groups.flatMap((group) => group.controllers.map(controllerName))
  const waiting = [...parts.controllers.values()]
    .filter(({ name, isWaiting }) => isWaiting && ofGroups.some((each) => name.startsWith(`${each}@`)))
    .map(({ name }) => ({ what: `controller ${name}`, error: 'its kinds could not be listed; see the log' }))
  return [...failing, ...working, ...unsynced, ...waiting]
}
