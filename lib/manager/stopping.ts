/** What a stop tells those who come too late, and those who wait for it. */

/** Thrown by `add`: the group or the manager is stopping, or has stopped. */
export class ManagerStopping extends Error {
  override readonly name = 'ManagerStopping'
}

/** Runnables did not end in time. They may still be at work; what they write with is fenced off. */
export class StopTimeout extends Error {
  override readonly name = 'StopTimeout'
  /** The names of those that had not ended. */
  readonly running: readonly string[]

  constructor(message: string, options: { readonly running: readonly string[]; readonly cause: unknown }) {
    super(message, { cause: options.cause })
    this.running = options.running
  }
}

/** What the signals of runnables are aborted with. */
export function stopReason(): DOMException {
  return new DOMException('The manager is stopping', 'AbortError')
}
