/** Runs the clusters of a group, which its provider adds and removes while the operator runs. */
import { jsonEqual } from '../core/equal.ts'
import type { ClusterConfig } from '../core/cluster_config.ts'
import { isDomainName } from '../core/names.ts'
import type { Runnable } from '../core/runnable.ts'
import { firstOf } from '../core/errors.ts'
import { formatMs } from '../core/duration.ts'
import { aborted, abortScope, untilAborted } from '../async/abort.ts'
import { isInTime } from '../async/clock.ts'
import type { Controller } from '../controller/controller.ts'
import type { Source } from '../controller/source.ts'
import type { Manager } from '../manager/manager.ts'
import type { RandomPartEnvironment } from '../observe/environment.ts'
import type { ClusterChange } from './description/context.ts'
import type { GroupDescription } from './description/description.ts'
import { untilDone } from './description/optional.ts'

/** What runs for one cluster of a group. */
export interface Engaged {
  readonly caches: Runnable
  readonly recorder: Runnable
  readonly controllers: readonly Controller[]
  /** What starts with the leader: its controllers, and the installation of definitions. */
  readonly leader: readonly Runnable[]
  /** Aborts the `stopping` signals of the running reconciles. */
  stop(): void
  /** Aborts the running reconciles. */
  abandon(): void
  /** Closes the connections and forgets the cluster. */
  close(): void
}

export interface FleetSetup extends RandomPartEnvironment {
  readonly manager: Manager
  /** How long a removed cluster waits for its running reconciles. */
  readonly graceMs: number
  readonly engage: (name: string, config: ClusterConfig) => Engaged
  /** Reads the provider's changes, and opens it again with back-off when it or `change` throws. */
  readonly read: (change: (change: ClusterChange) => void) => Source
}

/** What the provider has said last of a name. */
interface Member {
  config: ClusterConfig
  /** Ends the wait to add it, or what runs. */
  remove: () => Promise<void>
}

/** A removal that takes longer is logged. */
const LONG_REMOVAL_MS = 1000
/** How long work may run on after it was aborted. Then the removed cluster is closed, and its name is free. */
const ABORTED_MS = 5000
/** The maximum number of names in a log line. */
const MAX_NAMES = 5

/** Adds the provider of a group, and what runs its clusters. */
export function addFleet({ name: group }: GroupDescription, setup: FleetSetup): void {
  const { manager, clock, log, graceMs, engage, read } = setup
  const caches = host(`clusters of "${group}"`, { role: 'cache' })
  const recorders = host(`recorders of "${group}"`, { role: 'recorder' })
  const everywhere = host(`controllers of "${group}" on every replica`, { everyReplica: true })
  const warm = host(`warm-up of "${group}"`, {})
  const leader = host(`controllers of "${group}"`, { warmup: (signal) => warm.start(signal) })
  const members = new Map<string, Member>()
  /** The clusters that still end, by name: each waits for the one before. */
  const ending = new Map<string, Promise<void>>()

  /** Runs a cluster. Returns what ends it, which at last no longer waits for work that ignores its abort. */
  const run = (name: string, config: ClusterConfig): () => Promise<void> => {
    const engaged = engage(name, config)
    const stopControllers = [
      ...engaged.leader.map((each) => leader.add(each)),
      ...engaged.controllers.filter((each) => each.everyReplica).map((each) => everywhere.add(each)),
      ...engaged.controllers.flatMap(({ name, warmup }) => warmup ? [warm.add({ name, start: warmup })] : []),
    ]
    const [stopCaches, stopRecorder] = [caches.add(engaged.caches), recorders.add(engaged.recorder)]
    log.info(`The cluster "${name}" of "${group}" was added`)
    const work = (): string =>
      firstOf(engaged.controllers.flatMap((each) => each.working()), MAX_NAMES).join(', ') || 'its controllers'
    return async () => {
      engaged.stop()
      const waits = `The cluster "${name}" of "${group}" waits`
      const limit = graceMs === Infinity ? 'without a limit' : `aborted after ${formatMs(graceMs)}`
      const stopTimers = [
        clock.after(graceMs, () => engaged.abandon()),
        clock.after(LONG_REMOVAL_MS, () => log.info(`${waits} for ${work()} (${limit})`)),
      ]
      const ended = Promise.all(stopControllers.map((stop) => stop()))
      if (!(await isInTime(clock, graceMs + ABORTED_MS, ended))) {
        log.warn(`${waits} no longer for ${work()}, which ignores its abort of ${formatMs(ABORTED_MS)} ago`)
      }
      for (const stopTimer of stopTimers) stopTimer()
      await stopCaches()
      await stopRecorder()
      engaged.close()
      log.info(`The cluster "${name}" of "${group}" was removed`)
    }
  }
  const add = (name: string, config: ClusterConfig): void => {
    const before = ending.get(name)
    const member: Member = { config, remove: everywhere.add({ name: `addition of "${name}"`, start }) }
    members.set(name, member)
    async function start(signal: AbortSignal): Promise<void> {
      const begin = async (): Promise<void> => {
        if (typeof name !== 'string' || name.length > 63 || !isDomainName(name)) {
          throw new TypeError('the name must be lower-case letters, digits and dashes')
        }
        member.remove = run(name, following(member))
      }
      const report = (reason: string, error: unknown): void =>
        log.error(`Cannot add the cluster "${name}" of "${group}": ${reason} (tried again with back-off)`, { error })
      await untilAborted(before ?? Promise.resolve(), signal)
      await untilDone(begin, report, { ...setup, name }, signal)
    }
  }
  const remove = (name: string): void => {
    const ended = Promise.all([ending.get(name), members.get(name)?.remove()]).then(() => {
      if (ending.get(name) === ended) ending.delete(name)
    })
    if (members.delete(name)) ending.set(name, ended)
  }
  const change = (each: ClusterChange): void => {
    if ('remove' in each) return remove(each.remove)
    const { add: name, config } = each
    const known = members.get(name)
    if (known && isSame(known.config, config)) return void (known.config = config)
    remove(name)
    add(name, config)
  }
  for (const each of [caches, recorders, everywhere, leader]) manager.add(each)
  const start = (signal: AbortSignal): Promise<void> =>
    read(change).start({ add: () => {}, passes: () => false }, signal)
  manager.add({ name: `provider of "${group}"`, everyReplica: true, start })
}

/**
 * Returns a configuration for the connection, which stays when the provider gives new functions: each function, such as
 * the one that gets a token, calls the newest function of its name.
 */
function following(member: Pick<Member, 'config'>): ClusterConfig {
  type Functions = Readonly<Record<string, (...args: readonly unknown[]) => unknown>>
  const latest = (): Functions => member.config as unknown as Functions
  const names = Object.entries(latest()).filter(([, value]) => typeof value === 'function').map(([name]) => name)
  return Object.assign(
    {},
    member.config,
    ...names.map((name) => ({ [name]: (...args: []) => latest()[name]!(...args) })),
  )
}

/** Compares configurations, but not what their functions do: each reading of a configuration makes new functions. */
function isSame(...configs: readonly [ClusterConfig, ClusterConfig]): boolean {
  const asText = (_: string, value: unknown): unknown => typeof value === 'function' ? [] : value
  const [a, b] = configs.map((config) => JSON.parse(JSON.stringify(config, asText) ?? 'null') as unknown)
  return jsonEqual(a, b)
}

/** One for all: an error holds the functions of its stack, and so the cluster, as long as its signal is held. */
const REMOVED = new DOMException('The cluster was removed', 'AbortError')

interface Hosted {
  readonly runnable: Runnable
  readonly stop: AbortController
  ended: Promise<void>
}

interface Host extends Runnable {
  /** Runs a runnable while the host runs. Returns what stops it, and resolves when it has ended. */
  add(runnable: Runnable): () => Promise<void>
}

/** Returns a runnable that runs others, which come and go. It rejects with the first failure of one of them. */
function host(name: string, place: Pick<Runnable, 'role' | 'everyReplica' | 'warmup'>): Host {
  const all = new Set<Hosted>()
  let running: ReturnType<typeof abortScope> | undefined
  const launch = (each: Hosted, { signal, abort }: NonNullable<typeof running>): void => {
    const { runnable } = each
    const scope = abortScope(signal, each.stop.signal)
    const fail = (error: unknown): void => {
      if (!scope.signal.aborted) abort(error)
    }
    // Logs a cluster that is late.
    runnable.ready?.(scope.signal).catch(fail)
    each.ended = runnable.start(scope.signal).catch(fail).finally(() => {
      scope[Symbol.dispose]()
      all.delete(each)
    })
  }
  return {
    ...place,
    name,
    async start(signal) {
      const scope = (running = abortScope(signal))
      for (const each of all) launch(each, scope)
      await aborted(scope.signal)
      await Promise.all([...all].map(({ ended }) => ended))
      scope[Symbol.dispose]()
      if (!signal.aborted) throw scope.signal.reason
    },
    working: () => [...all].flatMap(({ runnable }) => runnable.working?.() ?? []),
    async beforeLeading(signal) {
      await Promise.all([...all].map(async ({ runnable }) => await runnable.beforeLeading?.(signal)))
    },
    add(runnable) {
      const each: Hosted = { runnable, stop: new AbortController(), ended: Promise.resolve() }
      all.add(each)
      if (running && !running.signal.aborted) launch(each, running)
      return async () => {
        each.stop.abort(REMOVED)
        await each.ended
        all.delete(each) // also one that was not launched
      }
    },
  }
}
