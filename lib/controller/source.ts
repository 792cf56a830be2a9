/** The interface between a controller and its sources of keys. */
import { formatMs } from '../core/duration.ts'
import type { KubeObject, ObjectKey } from '../core/objects.ts'
import { isInTime } from '../async/clock.ts'
import type { PartEnvironment } from '../observe/environment.ts'
import type { Delta } from '../cache/store.ts'

/**
 * The priority of keys without a change, such as those of first lists: new events come first. From controller-runtime.
 */
export const LOW_PRIORITY = -100

/** How keys are added to the queue. */
export interface SinkOptions {
  /** Keys with a higher priority are reconciled first. Default: 0. */
  readonly priority?: number | undefined
  /** The delay. Default: 0. */
  readonly afterMs?: number | undefined
  /** Uses the delay of the back-off, and counts as a failure of the key. Default: false. */
  readonly rateLimited?: boolean | undefined
  /** Returns why the key is queued, in a few words. Called only if the cause is shown or logged. */
  readonly cause?: (() => string) | undefined
}

/** Receives the keys of a source. */
export interface Sink {
  /**
   * Queues a key, given as an object or as `namespace/name`.
   *
   * @throws TypeError if the key has no name.
   */
  add(key: ObjectKey | string, options?: SinkOptions): void
  /**
   * Returns whether the controller's `when` passes an event. A source of events calls it before {@link add}. Never
   * throws.
   */
  passes(delta: Delta): boolean
  /** Called by the source of the controller's own kind with each event, before all predicates. */
  sees?(delta: Delta): void
}

/**
 * A source of keys: one of kubeloop's (KindSource, StreamSource, TickerSource), or your own. It is started once, by one
 * controller.
 *
 * @example
 * ```ts
 * import { Controller } from 'kubeloop'
import { type Run, type Source } from 'kubeloop/parts'
 * const once: Source = {
 *   name: 'once',
 *   start: async (sink) => sink.add({ namespace: 'default', name: 'a' }, { priority: 10, cause: () => 'by hand' }),
 * }
 * const reconcile = async ({ key }: Run) => console.log(key.name)
 * const controller = new Controller({ name: 'greeter', sources: [once], reconcile })
 * ```
 */
export interface Source {
  /** The source's name in errors and logs. */
  readonly name: string
  /**
   * Adds keys until the signal is aborted or there are no more, and resolves when all its work has ended. A rejection
   * stops the controller, which would otherwise miss keys silently.
   */
  start(sink: Sink, signal: AbortSignal): Promise<void>
  /**
   * Resolves when the keys of all existing objects are in the sink; the controller then starts its workers. Default: at
   * once.
   */
  synced?(signal: AbortSignal): Promise<void>
  /** Whether no key is on its way to the sink. Default: true. */
  readonly idle?: boolean
  /**
   * Whether a warm-up starts the source on a replica that waits for the lease, as it reads from a cache. Others start
   * with the lease: a waiting replica must not receive messages that it cannot handle. Default: false.
   */
  readonly warms?: boolean
  /** What {@link synced} waits for and why, for the error of a sync timeout. Default: the source's name. */
  readonly missing?: readonly string[]
  /** What has failed and is tried again. Default: nothing. */
  readonly failing?: readonly SourceFailure[]
}

/** A failure of a source. */
export interface SourceFailure {
  /** The object whose map function failed; undefined if the source itself failed. */
  readonly object?: KubeObject
  readonly error: unknown
}

/** How long a stopped source may take to end before a warning is logged. A generator ends only after its own waits. */
const END_MS = 5_000

/** Resolves when `ended` fulfils, or after 5 s with a warning. Rejects if `ended` rejects before that. */
export async function endsInTime(
  ended: Promise<unknown>,
  { clock, log }: PartEnvironment,
  warning: (limit: string) => string,
): Promise<void> {
  if (!(await isInTime(clock, END_MS, ended))) log.warn(warning(formatMs(END_MS)))
}
