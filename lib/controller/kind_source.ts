/** The changes of a kind: what its informers tell, filtered by predicates and turned into keys by a map function. */
import { aborted, abortScope, untilAborted } from '../async/abort.ts'
import { type Clock, systemClock } from '../async/clock.ts'
import { type Log, safeLog } from '../observe/log.ts'
import { groupResourceOf } from '../core/resource.ts'
import { describeUnsynced } from '../cache/cache.ts'
import type { HandlerRegistration, Informer } from '../cache/informer.ts'
import type { Delta } from '../cache/store.ts'
import { changeSummary } from './change_summary.ts'
import { type KeyMapper, ownKey } from './handlers.ts'
import { EventMapper } from './event_mapper.ts'
import type { Predicate } from './predicates.ts'
import { guarded } from './predicate_guard.ts'
import type { Sink, Source } from './source.ts'

/** Options of {@link KindSource}. */
export interface KindSourceOptions {
  /** Those of one kind: one for each namespace that is watched. They are started and stopped by others. */
  readonly informers: readonly Informer[]
  /** Whose keys a change concerns. Default: {@link ownKey}. */
  readonly map?: KeyMapper | undefined
  /** Whether the watched kind is the controller's own, for the words of the live view. Default: true where `map` is {@link ownKey}. */
  readonly own?: boolean | undefined
  /** Where the watched kind is, for the words of the live view. Default: nothing is said of it. */
  readonly cluster?: string | undefined
  /** Whether the controller begins without first lists that are not in by then; their keys come when they are. Default: false. */
  readonly optional?: boolean | undefined
  /** Which changes are worth a reconcile, beside what the controller says of all kinds. Default: all. */
  readonly when?: Predicate | undefined
  /** Default: the real clock. */
  readonly clock?: Clock | undefined
  /** Default: none. One that throws stops nothing. */
  readonly log?: Log | undefined
}

/**
 * The keys of what exists and of what is changed of a kind, as its informers tell. It is synced when every key of the first lists is in the sink, except those of
 * objects whose map function fails: they come when it works, and {@link KindSource.missing} names them.
 *
 * @example
 * ```ts
 * import { Cluster, handlers, KindSource, loadConfig } from 'kubeloop'
 * import { Deployment, ReplicaSet } from 'kubeloop/kinds'
 * const cluster = new Cluster({ name: 'mine', config: (await loadConfig()).cluster })
 * const own = new KindSource({ informers: cluster.cache.declare(Deployment) })
 * const owned = new KindSource({ informers: cluster.cache.declare(ReplicaSet), map: handlers.controllerKey(Deployment) })
 * ```
 */
export class KindSource implements Source {
  readonly name: string
  readonly #options: KindSourceOptions & {
    readonly map: KeyMapper
    readonly own: boolean
    readonly clock: Clock
    readonly log: Log
  }
  readonly #wanted: (delta: Delta) => boolean
  #mapping: EventMapper | undefined
  /** One for each informer, in their order, from the start on. */
  #registrations: readonly HandlerRegistration[] = []

  constructor(options: KindSourceOptions) {
    const { map = ownKey, own = map === ownKey, clock = systemClock } = options
    const parts = { clock, log: safeLog(options.log) }
    this.#options = { ...options, ...parts, map, own }
    this.name = [...new Set(options.informers.map(({ resource }) => groupResourceOf(resource)))].join(', ')
    this.#wanted = guarded(options.when, parts)
  }

  /** Whether no change is on its way to the sink; one whose map function failed does not count while it waits for the next try. */
  get idle(): boolean {
    return this.#mapping?.idle ?? true
  }

  /** Lists that are not in yet and objects that cannot be mapped, and why. */
  get missing(): readonly string[] {
    const unsynced = this.#options.informers.filter((informer) => !informer.isSynced).map(describeUnsynced)
    return [...unsynced, ...(this.#mapping?.failures ?? [])]
  }

  /** Adds keys until the signal is aborted or every informer has ended and what they told is mapped. */
  async start(sink: Sink, signal: AbortSignal): Promise<void> {
    if (this.#mapping) throw new Error(`Cannot start the source of ${this.name}: it was started already`)
    const { informers, map, own, cluster, clock, log } = this.#options
    const scope = abortScope(signal)
    const tell = (keys: Iterable<string>, delta: Delta, priority: number): void => {
      const options = { priority, cause: () => changeSummary(delta, own, cluster) }
      for (const key of keys) sink.add(key, options)
    }
    const mapping = (this.#mapping = new EventMapper({ map, tell, clock, log, signal: scope.signal }))
    const hear = (delta: Delta): void => {
      if (!scope.signal.aborted && sink.passes(delta) && this.#wanted(delta)) mapping.take(delta)
    }
    const registrations: HandlerRegistration[] = []
    this.#registrations = registrations
    const retrying = mapping.retry()
    try {
      for (const informer of informers) registrations.push(informer.addHandler(hear))
      await Promise.race([aborted(scope.signal), Promise.all(informers.map((informer) => informer.ended))])
      // What was heard before the end is still mapped, unless it is an abort.
      await mapping.drained()
    } finally {
      for (const registration of registrations) registration.remove()
      scope.abort(new DOMException(`The source of ${this.name} has ended`, 'AbortError'))
      await retrying
      scope[Symbol.dispose]()
    }
  }

  /** Settles when the keys of all that existed at the first lists are in the sink, or will not come because the informer ended. */
  async synced(signal: AbortSignal): Promise<void> {
    const { informers, optional } = this.#options
    const waited = informers.map((each, i) => {
      // An informer has told others before it has told this one.
      return optional && !each.isSynced
        ? undefined
        : Promise.race([(this.#registrations[i] ?? each).synced(signal), each.ended])
    })
    await Promise.all(waited)
    if (this.#mapping) await untilAborted(this.#mapping.tried, signal)
  }
}
