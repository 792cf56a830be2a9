/** Who may still write: the contract between what holds a lease and what sends requests. */

/**
 * A fence around writes. While it stands, writes may begin; once it has fallen, none may, and those that are open are
 * aborted. It never stands up again. What a server has already received cannot be called back.
 *
 * The idea is Martin Kleppmann's ("How to do distributed locking", 2016), turned round: the API server checks no token, so
 * the writer checks its own clock at the last moment before it sends.
 */
export interface Fence {
  /** Throws, saying why, once the fence has fallen. Called on a connected socket right before a write, and at every retry. */
  check(): void
  /** Aborted when the fence falls, with what {@link check} throws from then on. */
  readonly signal: AbortSignal
  /**
   * Told of each write before it is handed to the transport, so that a lease is not given back over a write that may still be
   * carried out. What it returns is called once, when the write has ended. Whoever wraps a fence passes it on.
   */
  opened?(): (end: WriteEnd) => void
}

/** How a write ended for the one who sent it: nothing of it was sent, the server answered, or nobody knows. */
export type WriteEnd = 'unsent' | 'answered' | 'unknown'
