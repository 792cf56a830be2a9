/** The contract between the holder of a lease and the sender of requests: whether writes are still allowed. */

/**
 * A fence around writes. While it is up, writes may begin. Once it is down, no write begins, open writes are aborted,
 * and it never goes up again. A request that the server has received cannot be recalled.
 *
 * The idea is Martin Kleppmann's ("How to do distributed locking", 2016), reversed: the API server checks no token, so
 * the writer checks its own clock at the last moment before it sends.
 */
export interface Fence {
  /** Throws once the fence is down. Called on a connected socket right before a write, and at every retry. */
  check(): void
  /** Aborted when the fence goes down, with the error that {@link check} throws from then on. */
  readonly signal: AbortSignal
  /**
   * Called for each write before it is passed to the transport, so that a lease is not released while a write may still
   * be carried out. The returned function is called once, when the write has ended. A wrapper of a fence must forward
   * it.
   */
  opened?(): (end: WriteEnd) => void
}

/** How a write ended for its sender: nothing was sent, the server answered, or the outcome is unknown. */
export type WriteEnd = 'unsent' | 'answered' | 'unknown'
