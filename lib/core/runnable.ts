/** What a manager runs. */

export interface Runnable {
  /** How it is called in logs and errors. */
  readonly name: string
  /** Works until the signal is aborted; settles when all that it began has ended. A rejection stops the manager. */
  start(signal: AbortSignal): Promise<void>
  /** Settles when it is of use to others. Default: at once. */
  ready?(signal: AbortSignal): Promise<void>
  /**
   * Begins on every replica before the election is won, and is not waited for; {@link start} comes with the lease, and has
   * to wait by itself for a warm-up that is under way. The signal ends with the manager.
   */
  warmup?(signal: AbortSignal): Promise<void>
  /** What it is to others, which decides when it starts and stops. Default: work. */
  readonly role?: RunnableRole | undefined
  /** Whether it runs on every replica, or on the leader alone. Default: the leader's for work, as in controller-runtime; every replica's for a role other than preparation. */
  readonly everyReplica?: boolean | undefined
}

/**
 * A server answers others, a webhook the API server, work reads from a cache, a recorder writes down what the rest tells. A
 * preparation runs on the leader, once the lease is won; the leader's other work begins when it is ready.
 */
export type RunnableRole = 'server' | 'webhook' | 'cache' | 'recorder' | 'preparation'
