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
}
