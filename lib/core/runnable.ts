/** The unit that a manager starts and stops. */

export interface Runnable {
  /** The name in logs and errors. */
  readonly name: string
  /** Works until the signal is aborted. Settles when all of its work has ended. A rejection stops the manager. */
  start(signal: AbortSignal): Promise<void>
  /** Resolves when the runnable is ready, such as a synced cache. Default: at once. */
  ready?(signal: AbortSignal): Promise<void>
  /**
   * Called on every replica before the election is won, and not awaited. {@link start} is called with the lease, and
   * must itself wait for a running warm-up. The signal is aborted when the manager stops.
   */
  warmup?(signal: AbortSignal): Promise<void>
  /**
   * Called on a cache when the lease is won. The leader's work starts when it resolves: when the cache has the writes
   * of the last leader. A rejection stops the manager. Default: resolves at once.
   */
  beforeLeading?(signal: AbortSignal): Promise<void>
  /** Names its running work for the log line of a slow stop: `the reconcile of Foo "default/a"`. Default: its name. */
  working?(): readonly string[]
  /** Decides when it starts and stops. Default: work. */
  readonly role?: RunnableRole | undefined
  /**
   * Runs on every replica; false: on the leader alone. Default: false for work, as in controller-runtime; true for
   * roles other than preparation.
   */
  readonly everyReplica?: boolean | undefined
}

/**
 * A server answers requests, a webhook those of the API server; work reads from a cache; a recorder sends Events. A
 * preparation runs on the leader once the lease is won; the leader's other work starts when it is ready.
 */
export type RunnableRole = 'server' | 'webhook' | 'cache' | 'recorder' | 'preparation'

/** How long a start waits for what it can do without: an optional informer or cluster. */
export const OPTIONAL_MS = 5_000
