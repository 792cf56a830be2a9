/** A source of keys from the events of a kind's informers, through predicates and a map function. */
import { aborted, abortScope, untilAborted } from '../async/abort.ts'
import { environmentOf, type PartEnvironment, type PartOptions } from '../observe/environment.ts'
import { groupResourceOf } from '../core/resource.ts'
import { describeUnsynced } from '../cache/cache.ts'
import type { HandlerRegistration, Informer } from '../cache/informer.ts'
import type { Delta } from '../cache/store.ts'
import { changeSummary } from './change_summary.ts'
import { type KeyMapper, ownKey } from './handlers.ts'
import { EventMapper } from './event_mapper.ts'
import { guardedPredicate, type Predicate } from './predicates.ts'
import type { Sink, SinkOptions, Source, SourceFailure } from './source.ts'

/** Options of {@link KindSource}. */
export interface KindSourceOptions extends PartOptions {
  /** The informers of one kind, one per watched namespace. The source does not start or stop them. */
  readonly informers: readonly Informer[]
  /** Returns the keys of an event. Default: {@link ownKey}. */
  readonly map?: KeyMapper | undefined
  /**
   * Whether the watched kind is the controller's own, for the live view; with an explicit `true`, a warm-up also drops
   * the keys of deleted objects. Default: true if `map` is {@link ownKey}.
   */
  readonly own?: boolean | undefined
  /** The cluster of the watched kind, for the live view. Default: none is shown. */
  readonly cluster?: string | undefined
  /** Whether the controller starts without first lists that are incomplete then; their keys follow. Default: false. */
  readonly optional?: boolean | undefined
  /**
   * Whether the source starts in a warm-up, which drops the keys of deleted objects, whatever else has queued them: it
   * must be false for another kind than the controller's own, if `reconcile` works for keys without an object.
   * Default: true.
   */
  readonly warms?: boolean | undefined
  /** Which events cause a reconcile, in addition to the controller's own `when`. Default: all. */
  readonly when?: Predicate | undefined
  /** Returns how the keys of an event are queued, if not as by default. Must not throw. */
  readonly queue?: ((delta: Delta) => Omit<SinkOptions, 'cause'> | undefined) | undefined
}

/**
 * Adds the keys of all objects of a kind, and of each change. It is synced when all keys of the first lists are in the
 * sink, except for objects whose map function fails: {@link KindSource.missing} names them, and their keys follow when
 * it works.
 *
 * @example
 * ```ts
 * import { Cluster, handlers, KindSource, loadConfig } from 'kubeloop'
 * import { Deployment, ReplicaSet } from 'kubeloop/kinds'
 * const cluster = new Cluster({ name: 'mine', config: (await loadConfig()).cluster })
 * const own = new KindSource({ informers: cluster.cache.declare(Deployment) })
 * const map = handlers.controllerKey(Deployment)
 * const owned = new KindSource({ informers: cluster.cache.declare(ReplicaSet), map })
 * ```
 */
export class KindSource implements Source {
  readonly name: string
  /** A cache is filled on every replica. */
  readonly warms: boolean
  readonly #options: KindSourceOptions & PartEnvironment & { readonly map: KeyMapper; readonly own: boolean }
  /** By default, `own` is a guess: an object of another kind may have the same name. */
  readonly #isPrimary: boolean
  readonly #passes: (delta: Delta) => boolean
  #mapping: EventMapper | undefined
  /** One per informer, in the same order; empty before the start. */
  #registrations: readonly HandlerRegistration[] = []

  constructor(options: KindSourceOptions) {
    const { map = ownKey, own = map === ownKey } = options
    const environment = environmentOf(options)
    this.#options = { ...options, ...environment, map, own }
    this.#isPrimary = options.own === true && map === ownKey
    this.warms = options.warms ?? true
    this.name = [...new Set(options.informers.map(({ resource }) => groupResourceOf(resource)))].join(', ')
    this.#passes = guardedPredicate(options.when, environment)
  }

  /** Whether no event is being mapped. An event whose map function failed does not count while it waits for a retry. */
  get idle(): boolean {
    return this.#mapping?.idle ?? true
  }

  get failing(): readonly SourceFailure[] {
    return this.#mapping?.failing ?? []
  }

  /** First lists that are incomplete, and objects whose map function fails, each with its error. */
  get missing(): readonly string[] {
    const unsynced = describeUnsynced(this.#options.informers.filter(({ isSynced }) => !isSynced))
    return [...unsynced, ...(this.#mapping?.failures ?? [])]
  }

  /** Adds keys until the signal is aborted, or all informers have ended and their events are mapped. */
  async start(sink: Sink, signal: AbortSignal): Promise<void> {
    if (this.#mapping) throw new Error(`Cannot start the source of ${this.name}: it was started already`)
    const { informers, map, own, cluster, queue, clock, log } = this.#options
    const scope = abortScope(signal)
    const adderOf = (delta: Delta, priority: number): (key: string) => void => {
      const cause = (): string => changeSummary(delta, own, cluster)
      const stated = queue?.(delta)
      const options = stated ? { ...stated, priority: stated.priority ?? priority, cause } : { priority, cause }
      return (key) => sink.add(key, options)
    }
    const mapping = (this.#mapping = new EventMapper({ map, adderOf, clock, log, signal: scope.signal }))
    const onEvent = (delta: Delta): void => {
      if (scope.signal.aborted) return
      if (this.#isPrimary) sink.sees?.(delta)
      if (sink.passes(delta) && this.#passes(delta)) mapping.take(delta)
    }
    const registrations: HandlerRegistration[] = []
    this.#registrations = registrations
    const retrying = mapping.retry()
    try {
      for (const informer of informers) registrations.push(informer.addHandler(onEvent))
      await Promise.race([aborted(scope.signal), Promise.all(informers.map((informer) => informer.ended))])
      // Events from before the end of the informers are still mapped, except after an abort.
      await mapping.drained()
    } finally {
      for (const registration of registrations) registration.remove()
      scope.abort(new DOMException(`The source of ${this.name} has ended`, 'AbortError'))
      await retrying
      scope[Symbol.dispose]()
    }
  }

  /** Resolves when the keys of the first lists are in the sink, or their informers have ended. */
  async synced(signal: AbortSignal): Promise<void> {
    const { informers, optional } = this.#options
    const waited = informers.map((each, i) => {
      // The informer may have synced before its events have reached this handler.
      return optional && !each.isSynced
        ? undefined
        : Promise.race([(this.#registrations[i] ?? each).synced(signal), each.ended])
    })
    await Promise.all(waited)
    if (this.#mapping) await untilAborted(this.#mapping.tried, signal)
  }
}
