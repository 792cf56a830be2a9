/** A group of runnables that start and stop together. */
import { messageOf } from '../core/errors.ts'
import type { Runnable } from '../core/runnable.ts'
import { abortScope, isAbort, untilAborted } from '../async/abort.ts'
import { nextTurn } from '../async/clock.ts'

/** Thrown by `add` when the group or the manager is stopping or has stopped. */
export class ManagerStopping extends Error {
  override readonly name = 'ManagerStopping'
}

/** Thrown when runnables do not end in time. They may still run, but their writes are fenced off. */
export class StopTimeout extends Error {
  override readonly name = 'StopTimeout'
  /** The names of the runnables that have not ended. */
  readonly running: readonly string[]

  constructor(message: string, options: { readonly running: readonly string[]; readonly cause: unknown }) {
    super(message, { cause: options.cause })
    this.running = options.running
  }
}

/** Returns the abort reason of the runnables' signals. */
export function stopReason(): DOMException {
  return new DOMException('The manager is stopping', 'AbortError')
}

/** A runnable as a function; its name is the function's, or `anonymous`. */
export type RunnableFunction = (signal: AbortSignal) => Promise<void>

/** Starts runnables together, waits until they are ready, and stops them. */
export class RunnableGroup {
  readonly name: string
  readonly #onError: (error: unknown, runnable: Runnable) => void
  readonly #queued: Runnable[] = []
  readonly #running = new Map<Promise<void>, Runnable>()
  readonly #scope = abortScope()
  #started = false
  /** Set by the first stop. */
  #stopping: Promise<void> | undefined

  /** `onError` gets each runnable that rejects, and each added after the start that cannot become ready. */
  constructor(name: string, onError: (error: unknown, runnable: Runnable) => void) {
    this.name = name
    this.#onError = onError
  }

  /** Whether the group was started. It cannot start after a stop. */
  get started(): boolean {
    return this.#started
  }

  /** The number of runnables that have started and not ended. */
  get running(): number {
    return this.#running.size
  }

  /** The runnables that have started and not ended. */
  get members(): readonly Runnable[] {
    return [...this.#running.values()]
  }

  /** Returns what a stop waits for: the current work of each runnable, or its name. Empty before the stop. */
  unfinished(): string[] {
    if (!this.#stopping) return []
    return [...this.#running.values()].flatMap((runnable) => {
      const work = workOf(runnable)
      return work.length > 0 ? work : [`"${runnable.name}"`]
    })
  }

  /**
   * Queues a runnable; starts it at once if the group was started. Throws ManagerStopping when the group is stopping.
   */
  add(what: Runnable | RunnableFunction): void {
    const runnable = asRunnable(what)
    if (this.#stopping) {
      throw new ManagerStopping(`Cannot add "${runnable.name}" to the group "${this.name}": it is stopping`)
    }
    if (!this.#started) return void this.#queued.push(runnable)
    this.#launch(runnable)
    if (runnable.ready) this.#becomeReady(runnable).catch((error: unknown) => this.#failed(error, runnable))
  }

  /**
   * Starts the queued runnables, one per turn of the event loop, and resolves when all are ready. Rejects if one cannot
   * become ready, and with the signal's reason when that is aborted. After a rejection no more are started, and the
   * started ones run until the group is stopped.
   */
  async start(signal: AbortSignal): Promise<void> {
    if (this.#stopping) throw new ManagerStopping(`Cannot start the group "${this.name}": it is stopping`)
    if (this.#started) throw new Error(`Cannot start the group "${this.name}": it was started already`)
    signal.throwIfAborted()
    this.#started = true
    const ready: Promise<void>[] = []
    let failed: (error: unknown) => void = () => {}
    const failure = new Promise<never>((_, reject) => (failed = reject))
    failure.catch(() => {})
    for (let next = this.#queued.shift(); next; next = this.#queued.shift()) {
      this.#launch(next)
      const isReady = this.#becomeReady(next)
      // Handled at once: if the runnable aborts the signal during its start, nothing awaits this promise.
      isReady.catch(failed)
      ready.push(isReady)
      if (this.#queued.length > 0) await untilAborted(Promise.race([nextTurn(), failure]), signal)
    }
    await untilAborted(Promise.all(ready), signal)
  }

  /**
   * Aborts every runnable and resolves when all have ended. Rejects with a StopTimeout that names the remaining ones
   * when `deadline` is aborted. A group that was not started cannot start any more. A second call returns the promise
   * of the first.
   */
  stopAndWait(deadline: AbortSignal): Promise<void> {
    // Set before the abort: a runnable that calls `add` in an abort listener is refused.
    this.#stopping ??= Promise.resolve().then(() => this.#untilEnded(deadline))
    this.#queued.length = 0
    this.#scope.abort(stopReason())
    return this.#stopping
  }

  async #untilEnded(deadline: AbortSignal): Promise<void> {
    // A runnable that ends at once on the abort is not late.
    if (deadline.aborted && this.#running.size > 0) await nextTurn()
    if (this.#running.size === 0) return
    try {
      await untilAborted(Promise.all(this.#running.keys()), deadline)
    } catch (cause) {
      const running = [...this.#running.values()].map(({ name }) => name)
      const left = running.map((name) => `"${name}"`).join(', ')
      throw new StopTimeout(
        `Cannot stop the group "${this.name}" in time: ${messageOf(cause)}; still running: ${left}`,
        { running, cause },
      )
    }
  }

  #launch(runnable: Runnable): void {
    const run = this.#run(runnable).then(() => void this.#running.delete(run))
    this.#running.set(run, runnable)
  }

  /** Never rejects. */
  async #run(runnable: Runnable): Promise<void> {
    try {
      await runnable.start(this.#scope.signal)
    } catch (error) {
      this.#failed(error, runnable)
    }
  }

  /** Makes a throw of `ready` a rejection. */
  async #becomeReady(runnable: Runnable): Promise<void> {
    await runnable.ready?.(this.#scope.signal)
  }

  #failed(error: unknown, runnable: Runnable): void {
    const { signal } = this.#scope
    // An abort error, or an error caused by one, is not a failure during a stop.
    if (!(signal.aborted && isAbort(error, signal))) this.#onError(error, runnable)
  }
}

function workOf(runnable: Runnable): readonly string[] {
  try {
    return runnable.working?.() ?? []
  } catch {
    // The stop goes on; the runnable's name is logged instead.
    return []
  }
}

export function asRunnable(what: Runnable | RunnableFunction): Runnable {
  return typeof what === 'function' ? { name: what.name || 'anonymous', start: what } : what
}

/** Returns a single error as it is, and several as an AggregateError. */
export function aggregate(errors: readonly unknown[]): unknown {
  return errors.length === 1 ? errors[0] : new AggregateError(errors, errors.map(messageOf).join('; '))
}
