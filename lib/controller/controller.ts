/** Workers between a queue and a reconcile: one key is never worked on twice at once, and no outcome is lost. */
import { messageOf } from '../core/errors.ts'
import { formatKey, keyOf } from '../core/objects.ts'
import type { Runnable } from '../core/runnable.ts'
import { aborted, abortScope } from '../async/abort.ts'
import { type Clock, nextTurn, systemClock, turnBudgetOf } from '../async/clock.ts'
import { Latch } from '../async/latch.ts'
import { type Log, rarely, safeLog } from '../observe/log.ts'
import { guardedCalls } from '../observe/guarded_calls.ts'
import { exponentialLimiter, type RateLimiter } from '../queue/rate_limiter.ts'
import { WorkQueue } from '../queue/work_queue.ts'
import type { ControllerMeter, ControllerMetrics } from './metrics.ts'
import { type HotKeys, hotKeys } from './hot_keys.ts'
import { RunHistory } from './run_history.ts'
import type { Predicate } from './predicates.ts'
import { guarded } from './predicate_guard.ts'
import { Reconciler, type ReconcileReport } from './reconciler.ts'
import type { Result } from './result.ts'
import type { Run } from './run.ts'
import type { SinkOptions, Source } from './source.ts'
import { SourceSet } from './source_set.ts'

export type { ReconcileReport } from './reconciler.ts'

/** What a {@link Controller} is made of. */
export interface ControllerDependencies {
  /** In logs and metrics. */
  readonly name: string
  /** The kind in whose name keys are reconciled, for logs. Default: the name. */
  readonly kind?: string | undefined
  /** Where the keys come from; {@link Controller.watch} adds more. Default: none. */
  readonly sources?: readonly Source[] | undefined
  readonly reconcile: (run: Run) => Promise<Result>
  /** Default: the real clock. */
  readonly clock?: Clock | undefined
  /** Default: none. One that throws stops nothing. */
  readonly log?: Log | undefined
  /** Makes the id of a run, for its log. Default: crypto.randomUUID. */
  readonly uuid?: (() => string) | undefined
  /** How many keys are worked on at once. Default: 1. */
  readonly concurrency?: number | undefined
  /** Aborts a run's signal after so long. Default: never. */
  readonly timeoutMs?: number | undefined
  /** How long a failing key waits, and one that asks for `requeue`. Default: 5 ms doubling to 1000 s. */
  readonly backoff?: { readonly baseMs?: number | undefined; readonly maxMs?: number | undefined } | undefined
  /** Instead of `backoff`; for this controller alone. Where it throws or returns nonsense, the default back-off is used and the log says so. */
  readonly limiter?: RateLimiter<string> | undefined
  /** Which changes of any kind are worth a reconcile, before each source is asked too. Default: all. */
  readonly when?: Predicate | undefined
  /** How long the first lists may take. Default: 2 minutes, as in controller-runtime. */
  readonly syncTimeoutMs?: number | undefined
  /** Whether {@link Controller.warmup} is there. Default: false. */
  readonly warmup?: boolean | undefined
  /** See {@link Runnable.everyReplica}. */
  readonly everyReplica?: boolean | undefined
  /** Aborted when running reconciles shall be given up. */
  readonly abandon?: AbortSignal | undefined
  /** Says what else is missing, for the error of a sync that takes too long: the sources name what they wait for. */
  readonly unsynced?: (() => readonly string[]) | undefined
  /** Called after every run; failures, and keys that run over and over, are then not logged. What it throws is logged. */
  readonly onReconcile?: ((report: ReconcileReport) => void) | undefined
  /** Where it is measured, under its name, which must be its own there while it runs. Default: nowhere. */
  readonly meter?: ControllerMeter | undefined
}

/**
 * Reconciles the keys of its sources.
 *
 * @example
 * ```ts
 * import { Cluster, Controller, KindSource, loadConfig, Manager, type Run } from 'kubeloop'
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
   * Fills the queue before there is a lease, so that the work can begin at once with it; {@link start} goes on from there. Settles
   * when that has come, or the signal is aborted and everything has ended. There only when it was asked for.
   */
  readonly warmup?: (signal: AbortSignal) => Promise<void>
  readonly #dependencies: ControllerDependencies & { readonly kind: string; readonly clock: Clock; readonly log: Log }
  readonly #queue: WorkQueue<string>
  readonly #sources: SourceSet
  /** Kept only while somebody listens. */
  readonly #journal: RunHistory | undefined
  readonly #hot: HotKeys
  #metrics: ControllerMetrics | undefined
  #reconciling: Reconciler | undefined
  readonly #started = new Latch()
  #isWarm = false

  /** @throws RangeError when the concurrency is none. */
  constructor(dependencies: ControllerDependencies) {
    const {
      name,
      kind = name,
      clock = systemClock,
      meter,
      onReconcile,
      concurrency = 1,
      backoff,
      limiter = exponentialLimiter(backoff),
    } = dependencies
    const log = safeLog(dependencies.log)
    if (!Number.isInteger(concurrency) || concurrency < 1) {
      throw new RangeError(
        `Cannot make controller "${name}": its concurrency is ${concurrency}, and must be a whole number from 1 on`,
      )
    }
    this.name = name
    this.everyReplica = dependencies.everyReplica
    if (dependencies.warmup) this.warmup = (signal) => this.#warmUp(signal)
    this.#dependencies = { ...dependencies, kind, clock, log }
    const journal = (this.#journal = onReconcile ? new RunHistory() : undefined)
    const hot = (this.#hot = hotKeys(clock))
    const onTake = journal && ((key: string) => journal.begin(key, clock.monotonic()))
    const queue = (this.#queue = new WorkQueue({ clock, log, limiter, meter, name, onTake }))
    this.#sources = new SourceSet({
      controller: name,
      sources: dependencies.sources ?? [],
      clock,
      log,
      syncTimeoutMs: dependencies.syncTimeoutMs ?? 120_000,
      unsynced: dependencies.unsynced,
      sink: {
        add(key, options) {
          const text = typeof key === 'string' ? key : formatKey(keyOf(key))
          if (text === '') throw new TypeError('Cannot queue a key: it is empty')
          if (journal || hot.notes(text)) (journal ?? hot).note(text, causeIn(options))
          queue.add(text, options)
        },
        passes: guarded(dependencies.when, { clock, log }),
      },
    })
  }

  /** Whether no key waits or is in work and no event waits to be mapped; keys that wait for their time do not count. */
  get idle(): boolean {
    return this.#queue.idle && this.#sources.idle
  }

  /** The keys in work, for tools; none without `onReconcile`. */
  get running(): readonly string[] {
    return this.#journal?.running ?? []
  }

  /**
   * Adds a source, which ends with the controller or with `signal`. In a controller that runs it starts at once;
   * settles when its initial keys are queued, or when it has ended. Rejects when it fails before that.
   */
  async watch(source: Source, signal?: AbortSignal): Promise<void> {
    await this.#sources.add(source, signal)
  }

  /**
   * Queues the keys of everything that exists, then works until the signal is aborted and the running reconciles
   * have ended. Rejects when the first lists take too long, or a source fails.
   */
  async start(signal: AbortSignal): Promise<void> {
    if (this.#started.isOpen) throw new Error(`Cannot start controller "${this.name}": it was started already`)
    this.#started.open()
    const { concurrency = 1, log } = this.#dependencies
    const scope = abortScope(signal)
    let workers: Promise<void>[] = []
    try {
      this.#measure()
      await this.#sources.sync(scope.signal)
      if (signal.aborted) return
      log.debug(`Controller "${this.name}" runs`, { workers: concurrency, queued: this.#queue.length })
      const reconciler = (this.#reconciling = this.#reconciler())
      workers = Array.from({ length: concurrency }, () => this.#work(reconciler, scope.signal))
      await Promise.race([Promise.all(workers), this.#sources.failure])
    } finally {
      scope.abort(new DOMException(`Controller "${this.name}" has ended`, 'AbortError'))
      await Promise.allSettled(workers)
      this.#reconciling?.stop()
      await this.#end({ synced: this.#reconciling !== undefined || signal.aborted })
      scope[Symbol.dispose]()
    }
  }

  /** Names the reconciles under way: `the reconcile of Foo "default/a"`. */
  working(): readonly string[] {
    const { kind } = this.#dependencies
    return (this.#reconciling?.running ?? []).map((key) => `the reconcile of ${kind} "${key}"`)
  }

  async #warmUp(signal: AbortSignal): Promise<void> {
    if (this.#isWarm) throw new Error(`Cannot warm controller "${this.name}" up: it was warmed up already`)
    this.#isWarm = true
    // What runs on every replica, or leads at once, needs none.
    if (this.#started.isOpen) return
    const scope = abortScope(signal)
    let synced = false
    try {
      this.#measure()
      await this.#sources.sync(scope.signal)
      synced = true
      await Promise.race([this.#started.opened, aborted(scope.signal), this.#sources.failure])
    } catch (error) {
      // From the start on it is the start that fails.
      if (!this.#started.isOpen) throw error
    } finally {
      if (!this.#started.isOpen) await this.#end({ synced: synced || signal.aborted })
      scope[Symbol.dispose]()
    }
  }

  /** The series are there from the beginning, and throw when the name is taken. */
  #measure(): void {
    const { meter, concurrency = 1, log } = this.#dependencies
    if (!meter) return
    this.#metrics ??= guardedCalls(
      meter.controller(this.name, concurrency),
      rarely(log, `A metric of the controller "${this.name}" threw`),
    )
  }

  #reconciler(): Reconciler {
    const { kind, reconcile, clock, log, uuid, timeoutMs, abandon, onReconcile } = this.#dependencies
    const own = {
      controller: this.name,
      queue: this.#queue,
      journal: this.#journal,
      hot: this.#hot,
      metrics: this.#metrics,
    }
    return new Reconciler({ ...own, kind, reconcile, clock, log, uuid, timeoutMs, abandon, onReconcile })
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
      // Workers of many controllers that go on in one turn share its time, and the rest of them wait for later ones.
      if (key !== undefined && budget.isSpent) await budget.turn()
      // A key that was handed out with the abort is not begun any more.
      if (key === undefined || signal.aborted) return
      await reconciler.run(key)
      // A reconcile that never waits must not keep timers and sockets waiting: leases are renewed by them.
      await nextTurn()
    }
  }
}

/** What a source of a user's says of a key is for the live view alone: where it throws, the key is queued all the same. */
function causeIn(options: SinkOptions | undefined): string {
  try {
    return options?.cause?.() ?? 'queued'
  } catch (error) {
    return `its cause threw: ${messageOf(error)}`
  }
}
