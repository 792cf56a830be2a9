/** Runnables that start and stop together. */
import { messageOf } from '../core/errors.ts'
import type { Runnable } from '../core/runnable.ts'
import { abortScope, untilAborted } from '../async/abort.ts'
import { nextTurn } from '../runtime/turn.ts'

export class RunnableGroup {
  readonly name: string
  readonly #onError: (error: unknown, runnable: Runnable) => void
  readonly #queued: Runnable[] = []
  readonly #running = new Map<Promise<void>, Runnable>()
  readonly #scope = abortScope()
  #started = false
  #stopped = false

  /** `onError` hears of each runnable that rejects. */
  constructor(name: string, onError: (error: unknown, runnable: Runnable) => void) {
    this.name = name
    this.#onError = onError
  }

  /** Whether it was started; a group that was stopped before never is. */
  get started(): boolean {
    return this.#started
  }

  /** How many have begun and not ended. */
  get running(): number {
    return this.#running.size
  }

  /** Queues a runnable, or launches it at once in a group that was started. Throws when the group is stopping. */
  add(runnable: Runnable): void {
    if (this.#stopped) throw new Error(`Cannot add "${runnable.name}" to the group "${this.name}": it is stopping`)
    if (this.#started) this.#launch(runnable)
    else this.#queued.push(runnable)
  }

  /**
   * Launches what is queued and settles when the slowest is ready. Rejects when one cannot become ready, and with the
   * signal's reason as soon as that is aborted; what was launched then runs on until the group is stopped.
   */
  async start(signal: AbortSignal): Promise<void> {
    if (this.#stopped) throw new Error(`Cannot start the group "${this.name}": it is stopping`)
    if (this.#started) throw new Error(`Cannot start the group "${this.name}": it was started already`)
    signal.throwIfAborted()
    this.#started = true
    const launched = this.#queued.splice(0)
    for (const runnable of launched) this.#launch(runnable)
    const ready = Promise.all(launched.map(async (runnable) => await runnable.ready?.(this.#scope.signal)))
    // A runnable may abort the signal while it is launched; what is not waited for must not become an unhandled rejection.
    ready.catch(() => {})
    await untilAborted(ready, signal)
  }

  /** Aborts every runnable and waits until all have ended, or until `deadline`; then it rejects, naming those that are left. */
  async stopAndWait(deadline: AbortSignal): Promise<void> {
    this.#stopped = true
    this.#queued.length = 0
    this.#scope.abort(new DOMException('The manager is stopping', 'AbortError'))
    // Whoever was told only now that the time is over may still end at once.
    if (deadline.aborted && this.#running.size > 0) await nextTurn()
    if (this.#running.size === 0) return
    try {
      await untilAborted(Promise.all(this.#running.keys()), deadline)
    } catch (cause) {
      const left = [...this.#running.values()].map(({ name }) => `"${name}"`).join(', ')
      throw new Error(`Cannot stop the group "${this.name}" in time: ${messageOf(cause)}; still running: ${left}`, { cause })
    }
  }

  #launch(runnable: Runnable): void {
    const run = this.#run(runnable).then(() => void this.#running.delete(run))
    this.#running.set(run, runnable)
  }

  /** Never rejects. */
  async #run(runnable: Runnable): Promise<void> {
    const { signal } = this.#scope
    try {
      await runnable.start(signal)
    } catch (error) {
      // Being told to stop is no failure, in whatever way a runnable says so.
      if (!(signal.aborted && isAbort(error, signal))) this.#onError(error, runnable)
    }
  }
}

function isAbort(error: unknown, signal: AbortSignal): boolean {
  if (error === signal.reason) return true
  return error instanceof Error && (error.name === 'AbortError' || isAbort(error.cause, signal))
}

/** Errors in one, each still to be found by a caller. */
export function aggregate(errors: readonly unknown[]): unknown {
  return errors.length === 1 ? errors[0] : new AggregateError(errors, errors.map(messageOf).join('; '))
}
