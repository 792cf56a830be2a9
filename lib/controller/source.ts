/** Where a controller's keys come from: the contract that every source fits, one's own included. */
import type { ObjectKey } from '../core/objects.ts'
import type { Delta } from '../cache/store.ts'

/** What is no news, such as first lists, waits behind what is: the priority that controller-runtime gives it. */
export const LOW_PRIORITY = -100

/** How keys are added to the queue. */
export interface SinkOptions {
  /** Keys of a higher one are worked on first. Default: 0. */
  readonly priority?: number | undefined
  /** Why, in a few words; asked only where somebody wants to know. */
  readonly cause?: (() => string) | undefined
}

/** What a controller takes from its sources. */
export interface Sink {
  /** Queues a key, given as its parts or as `namespace/name`. Throws a TypeError for one without a name. */
  add(key: ObjectKey | string, options?: SinkOptions): void
  /** Whether a change is of interest to the controller whatever its kind; a source that knows changes asks. Never throws. */
  passes(delta: Delta): boolean
}

/**
 * A place where keys come from: those of kubeloop (KindSource, StreamSource, TickerSource), or one of one's own. It is started once, by one
 * controller.
 *
 * @example
 * ```ts
 * import { Controller, type Source } from 'kubeloop'
 * const once: Source = {
 *   name: 'once',
 *   start: async (sink) => sink.add({ namespace: 'default', name: 'a' }, { priority: 10, cause: () => 'by hand' }),
 * }
 * const controller = new Controller({ name: 'greeter', sources: [once], reconcile: async ({ key }) => console.log(key.name) })
 * ```
 */
export interface Source {
  /** How it is called in errors and logs. */
  readonly name: string
  /**
   * Adds keys until the signal is aborted, or until there will be no more; settles when all that it began has ended.
   * A rejection ends the controller: it would be deaf without saying so.
   */
  start(sink: Sink, signal: AbortSignal): Promise<void>
  /** Settles when the keys of all that exists are in the sink: the controller begins its work only then. Default: at once. */
  synced?(signal: AbortSignal): Promise<void>
  /** Whether nothing that it has heard of is on its way to the sink. Default: true. */
  readonly idle?: boolean
  /** What {@link synced} waits for and why, for the error of a sync that takes too long. Default: the source's name. */
  readonly missing?: readonly string[]
}
