/** Runs the workers that take keys from a queue and reconcile them. */
import { messageOf } from '../core/errors.ts'
import { formatKey, keyOf, parseKey } from '../core/objects.ts'
import type { Runnable } from '../core/runnable.ts'
import { aborted, abortScope } from '../async/abort.ts'
import { nextTurn, turnBudgetOf } from '../async/clock.ts'
import { Latch } from '../async/latch.ts'
import { environmentOf, type PartEnvironment, type PartOptions } from '../observe/environment.ts'
import { guardedCalls, rarely, writesDebug } from '../observe/log.ts'
import { exponentialLimiter, type RateLimiter } from '../queue/rate_limiter.ts'
import { WorkQueue } from '../queue/work_queue.ts'
import type { ControllerMeter, ControllerMetrics } from './metrics.ts'
import { type WriteLoops, writeLoops } from './write_loops.ts'
import { RunHistory } from './run_history.ts'
import { GoneKeys } from './gone_keys.ts'
import { guardedPredicate, type Predicate } from './predicates.ts'
import { Reconciler, type ReconcileReport } from './reconciler.ts'
import type { Result, Run } from './result.ts'
import type { SinkOptions, Source, SourceFailure } from './source.ts'
import { SourceSet } from './source_set.ts'

export type { ReconcileReport } from './reconciler.ts'

/** Options of {@link Controller}. */
export interface ControllerDependencies extends PartOptions {
  /** The name in logs and metrics. */
  readonly name: string
  /** The reconciled kind, for logs. Default: the name. */
  readonly kind?: string | undefined
  /** The sources of keys; {@link Controller.watch} adds more. Default: none. */
  readonly sources?: readonly Source[] | undefined
  readonly reconcile: (run: Run) => Promise<Result>
  /**
   * The namespaces of the kind. A key in another one is not queued, and the first one is logged, unless they `vary`.
   * Default: all.
   */
  readonly namespaces?: Pick<ReadonlySet<string>, 'has'> & { readonly vary?: true } | undefined
  /** Returns the id of a run, for its log. Default: crypto.randomUUID. */
  readonly uuid?: (() => string) | undefined
  /** Whether the keys have no namespaces: that of another kind's object is dropped. Default: false. */
  readonly isClusterScoped?: boolean | undefined
  /** The maximum number of keys reconciled at once. Default: 1. */
  readonly concurrency?: number | undefined
  /** Aborts a run's signal after this time. Default: never. */
  readonly timeoutMs?: number | undefined
  /** The delay of a key that failed or was requeued. Default: 5 ms, doubling to 1000 s. */
  readonly backoff?: { readonly baseMs?: number | undefined; readonly maxMs?: number | undefined } | undefined
  /**
   * Replaces `backoff`; not shared with other controllers. If it throws or returns an invalid delay, the default
   * back-off is used and the error is logged.
   */
  readonly limiter?: RateLimiter<string> | undefined
  /** Whether the events of a key in its back-off wait for its retry. Default: false, they run it at once. */
  readonly holdEvents?: boolean | undefined
  /** Which events of any kind cause a reconcile, in addition to each source's own `when`. Default: all. */
  readonly when?: Predicate | undefined
  /** The maximum time for the first lists. Default: 2 minutes, as in controller-runtime. */
  readonly syncTimeoutMs?: number | undefined
  /** Whether the controller has {@link Controller.warmup}. Default: false. */
  readonly warmup?: boolean | undefined
  /** Whether `reconcile` does nothing for a deleted object: a warm-up then drops its key at once. Default: false. */
  readonly skipsGone?: boolean | undefined
  /** See {@link Runnable.everyReplica}. */
  readonly everyReplica?: boolean | undefined
  /** Aborts the `stopping` signals of running reconciles. */
  readonly stopping?: AbortSignal | undefined
  /** Aborts the signals of running reconciles. */
  readonly abandon?: AbortSignal | undefined
  /** Names what else is missing, for the error of a sync timeout, beside what the sources wait for. */
  readonly unsynced?: (() => readonly string[]) | undefined
  /**
   * Called after every run; failures and keys that run over and over are then not logged. Its own errors are logged.
   */
  readonly onReconcile?: ((report: ReconcileReport) => void) | undefined
  /** Measures the controller under its name, which must be unique in the meter while it runs. Default: not measured. */
  readonly meter?: ControllerMeter | undefined
}

/**
 * Reconciles the keys of its sources.
 *
 * @example
 * ```ts
 * import { Cluster, Controller, KindSource, loadConfig, Manager } from 'kubeloop'
import { type Run } from 'kubeloop/parts'
 * import { ConfigMap } from 'kubeloop/kinds'
 * const cluster = new Cluster({ name: 'copier', config: (await loadConfig()).cluster })
 * const source = new KindSource({ informers: cluster.cache.declare(ConfigMap) })
 * const reconcile = async ({ key }: Run) => console.log(key.namespace, key.name)
 * const manager = new Manager()
 * manager.add(cluster)
 * manager.add(new Controller({ name: 'copier', sources: [source], reconcile }))
 * await manager.start(AbortSignal.timeout(60_000))
 * ```
 */
export class Controller implements Runnable {
  readonly name: string
  readonly everyReplica: boolean | undefined
  /**
   * Fills the queue before this process leads, so that reconciles begin as soon as it does. Starts only sources with
   * {@link Source.warms}; keys of objects that were deleted meanwhile are dropped. Resolves when {@link start} is
   * called, or when the signal is aborted and the sources have ended. Present only with the option `warmup`.
   */
  readonly warmup?: (signal: AbortSignal) => Promise<void>
  readonly #dependencies: ControllerDependencies & PartEnvironment & { readonly kind: string }
  readonly #queue: WorkQueue<string>
  readonly #sources: SourceSet
  readonly #history: RunHistory
  readonly #loops: WriteLoops
  #metrics: ControllerMetrics | undefined
  #reconciling: Reconciler | undefined
  readonly #started = new Latch()
  #isWarm = false
  /** Whether it has started, and its last reconcile has ended. */
  #hasWorked = false
  /** Present while a warm-up waits for the start. */
  #gone: GoneKeys | undefined

  /** @throws RangeError if the concurrency is not an integer of at least 1. */
  constructor(dependencies: ControllerDependencies) {
    const {
      name,
      kind = name,
      meter,
      onReconcile,
      concurrency = 1,
      backoff,
      holdEvents = false,
      limiter = exponentialLimiter(backoff),
    } = dependencies
    const environment = environmentOf(dependencies)
    const { clock, log } = environment
    if (!Number.isInteger(concurrency) || concurrency < 1) {
      throw new RangeError(
        `Cannot make controller "${name}": its concurrency is ${concurrency}, and must be an integer of at least 1`,
      )
    }
    this.name = name
    this.everyReplica = dependencies.everyReplica
    if (dependencies.warmup) this.warmup = (signal) => this.#warmUp(signal)
    this.#dependencies = { ...dependencies, ...environment, kind }
    const loops = (this.#loops = writeLoops(clock))
    const history = (this.#history = new RunHistory(Boolean(onReconcile) || writesDebug(log), loops.notes))
    const gone = (): GoneKeys | undefined => this.#gone
    const onTake = (key: string): void => history.begin(key, clock)
    const queue = (this.#queue = new WorkQueue({ clock, log, limiter, meter, name, onTake }))
    const { namespaces, isClusterScoped } = dependencies
    let hasWarned = namespaces?.vary
    const warnOnce = (key: string, remedy: string): void => {
      if (hasWarned) return
      hasWarned = true
      log.warn(`Controller "${name}" drops keys in namespaces that it does not watch, such as "${key}": ${remedy}`)
    }
    this.#sources = new SourceSet({
      controller: name,
      sources: dependencies.sources ?? [],
      clock,
      log,
      syncTimeoutMs: dependencies.syncTimeoutMs ?? 120_000,
      unsynced: dependencies.unsynced,
      sink: {
        add(key, options) {
          const given = typeof key === 'string' ? key : formatKey(keyOf(key))
          const text = isClusterScoped ? parseKey(given).name : given
          if (text === '') throw new TypeError('Cannot queue a key: it is empty')
          const { namespace } = namespaces ? parseKey(text) : {}
          if (namespace !== undefined && !namespaces!.has(namespace)) {
            return warnOnce(text, `watch ${kind} in "${namespace}", or leave such keys out`)
          }
          if (gone()?.ignores(text)) return
          if (history.wants(text)) history.note(text, causeIn(options))
          // The retry comes anyway, and reads the freshest object.
          if (!holdEvents || !queue.isRetrying(text)) queue.add(text, options)
        },
        sees: ({ object, kind }) => gone()?.note(formatKey(keyOf(object)), kind !== 'deleted'),
        passes: guardedPredicate(dependencies.when, { clock, log }),
      },
    })
  }

  /**
   * Whether no key waits or is reconciled, and no event is being mapped. Keys queued for a later time do not count, nor
   * those of a controller that is stopped, although its sources may still end.
   */
  get idle(): boolean {
    return this.#hasWorked || (this.#queue.idle && this.#sources.idle)
  }

  /** Whether its keys wait for the first reconcile: for the lease, or for the first list of another kind. */
  get isWaiting(): boolean {
    return this.#reconciling === undefined && this.#sources.idle
  }

  /** What has failed in sources and is tried again, by the names of the sources. */
  get failing(): readonly (SourceFailure & { readonly source: string })[] {
    return this.#sources.failing
  }

  /** The number of keys that wait for a worker, without those that are queued for a later time. */
  get queued(): number {
    return this.#queue.length
  }

  /** The keys of the running reconciles, for tools. */
  get running(): readonly string[] {
    return this.#reconciling?.running ?? []
  }

  /**
   * Adds a source, which ends with the controller or with `signal`. In a running controller it starts at once. Resolves
   * when its first keys are queued, or it has ended. Rejects if it fails before that.
   */
  async watch(source: Source, signal?: AbortSignal): Promise<void> {
    await this.#sources.add(source, signal)
  }

  /**
   * Queues the keys of all existing objects, then reconciles. Resolves when the signal is aborted and the running
   * reconciles have ended. Rejects after the sync timeout, or if a source fails.
   */
  async start(signal: AbortSignal): Promise<void> {
    if (this.#started.isOpen) throw new Error(`Cannot start controller "${this.name}": it was started already`)
    this.#started.open()
    this.#gone?.expire()
    this.#gone = undefined
    const { concurrency = 1, log } = this.#dependencies
    const scope = abortScope(signal)
    let workers: Promise<void>[] = []
    try {
      this.#measure()
      await this.#sources.sync(scope.signal)
      if (signal.aborted) return
      log.debug(`Controller "${this.name}" runs`, { workers: concurrency, queued: this.#queue.length })
      const reconciler = (this.#reconciling = this.#reconciler(scope.signal))
      workers = Array.from({ length: concurrency }, () => this.#work(reconciler, scope.signal))
      await Promise.race([Promise.all(workers), this.#sources.failure])
    } finally {
      scope.abort(new DOMException(`Controller "${this.name}" has ended`, 'AbortError'))
      await Promise.allSettled(workers)
      this.#hasWorked = true
      this.#reconciling?.stop()
      await this.#end({ synced: this.#reconciling !== undefined || signal.aborted })
      scope[Symbol.dispose]()
    }
  }

  /**
   * Drops the keys that match, as they are no longer its own. A running reconcile of one ends as usual, but its key
   * does not come back by its result. Keys that are queued after this are reconciled.
   */
  drop(matches: (key: string) => boolean): void {
    const dropped = this.#queue.drop(matches)
    for (const key of dropped) this.#history.forget(key)
    this.#reconciling?.drop(dropped)
  }

  /** Returns the running reconciles: `the reconcile of Foo "default/a"`. */
  working(): readonly string[] {
    const { kind } = this.#dependencies
    return this.running.map((key) => `the reconcile of ${kind} "${key}"`)
  }

  async #warmUp(signal: AbortSignal): Promise<void> {
    if (this.#isWarm) throw new Error(`Cannot warm controller "${this.name}" up: it was warmed up already`)
    this.#isWarm = true
    // A controller that already runs needs no warm-up: it leads at once, or runs on every replica.
    if (this.#started.isOpen) return
    const { clock, skipsGone = false } = this.#dependencies
    this.#gone = new GoneKeys(clock, skipsGone, (key) => {
      this.#queue.remove(key)
      this.#queue.forget(key)
      this.#history.forget(key)
    })
    const scope = abortScope(signal)
    let synced = false
    try {
      this.#measure()
      await this.#sources.sync(scope.signal, true)
      synced = true
      await Promise.race([this.#started.opened, aborted(scope.signal), this.#sources.failure])
    } catch (error) {
      // After the start, `start` rejects with it.
      if (!this.#started.isOpen) throw error
    } finally {
      if (!this.#started.isOpen) await this.#end({ synced })
      scope[Symbol.dispose]()
    }
  }

  /** Creates the metrics. Throws if the name is in use. */
  #measure(): void {
    const { meter, concurrency = 1, log } = this.#dependencies
    if (!meter) return
    this.#metrics ??= guardedCalls(
      meter.controller(this.name, concurrency),
      rarely(log, `A metric of the controller "${this.name}" threw`),
    )
  }

  #reconciler(ending: AbortSignal): Reconciler {
    const own = { controller: this.name, queue: this.#queue, history: this.#history, loops: this.#loops }
    return new Reconciler({ ...this.#dependencies, ...own, ending, metrics: this.#metrics })
  }

  async #end({ synced }: { readonly synced: boolean }): Promise<void> {
    await this.#sources.stop({ failed: !synced })
    await this.#queue.shutDown()
    this.#metrics?.remove()
    this.#metrics = undefined
  }

  async #work(reconciler: Reconciler, signal: AbortSignal): Promise<void> {
    const budget = turnBudgetOf(this.#dependencies.clock)
    while (!signal.aborted) {
      let key: string | undefined
      try {
        key = await this.#queue.get(signal)
      } catch (error) {
        if (signal.aborted) return
        throw error
      }
      // The workers of all controllers share the time of one turn; the others wait for later turns.
      if (key !== undefined && budget.isSpent) await budget.turn()
      // A key received together with the abort is not reconciled.
      if (key === undefined || signal.aborted) return
      await reconciler.run(key)
      // A reconcile that never waits must not block timers and sockets, which renew leases.
      await nextTurn()
    }
  }
}

/** Returns a key's cause, for the live view. If the source's function throws, the key is queued all the same. */
function causeIn(options: SinkOptions | undefined): string {
  try {
    return options?.cause?.() ?? 'queued'
  } catch (error) {
    return `its cause threw: ${messageOf(error)}`
  }
}
