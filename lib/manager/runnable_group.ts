/** Runnables that start and stop together. */
import { messageOf } from '../core/errors.ts'
import type { Runnable } from '../core/runnable.ts'
import { abortScope, untilAborted } from '../async/abort.ts'
import { nextTurn } from '../async/clock.ts'
import { ManagerStopping, stopReason, StopTimeout } from './stopping.ts'

/** A function that is run: it is called by its name, and by `anonymous` where it has none. */
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

  /** `onError` hears of each runnable that rejects, and of each that was added after the start and cannot become ready. */
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

  /** Names what a stop waits for: what each runnable works on, or its name. Empty before the stop. */
  unfinished(): string[] {
    if (!this.#stopping) return []
    return [...this.#running.values()].flatMap((runnable) => {
      const work = workOf(runnable)
      return work.length > 0 ? work : [`"${runnable.name}"`]
    })
  }

  /** Queues a runnable, or launches it at once in a group that was started. Throws ManagerStopping when the group is stopping. */
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
   * Launches what is queued, each a turn of the event loop after the one before, and settles when the slowest is ready. Rejects when
   * one cannot become ready, and with the signal's reason as soon as that is aborted: then no more are launched, and what was
   * launched runs on until the group is stopped.
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
      // Noticed at once. A runnable may abort the signal while it is launched, and then this is not waited for.
      isReady.catch(failed)
      ready.push(isReady)
      if (this.#queued.length > 0) await untilAborted(Promise.race([nextTurn(), failure]), signal)
    }
    await untilAborted(Promise.all(ready), signal)
  }

  /**
   * Aborts every runnable and waits until all have ended, or until `deadline`; then it rejects with StopTimeout, naming those
   * that are left. A group that never started launches nothing any more. A second stop is the first one.
   */
  stopAndWait(deadline: AbortSignal): Promise<void> {
    // Before anything else of the stop: what is told of the abort may try to add, and is refused.
    this.#stopping ??= Promise.resolve().then(() => this.#untilEnded(deadline))
    this.#queued.length = 0
    this.#scope.abort(stopReason())
    return this.#stopping
  }

  async #untilEnded(deadline: AbortSignal): Promise<void> {
    // Whoever was told only now that the time is over may still end at once.
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

  /** Settles with the readiness; a throw is a rejection. */
  async #becomeReady(runnable: Runnable): Promise<void> {
    await runnable.ready?.(this.#scope.signal)
  }

  #failed(error: unknown, runnable: Runnable): void {
    const { signal } = this.#scope
    // Being told to stop is no failure, in whatever way a runnable says so.
    if (!(signal.aborted && isAbort(error, signal))) this.#onError(error, runnable)
  }
}

/** What a runnable works on; a runnable that throws must not end the stop. */
function workOf(runnable: Runnable): readonly string[] {
  try {
    return runnable.working?.() ?? []
  } catch {
    return [] // a nicety: its name is logged instead
  }
}

/** A function as a runnable: work, as any other. */
export function asRunnable(what: Runnable | RunnableFunction): Runnable {
  return typeof what === 'function' ? { name: what.name || 'anonymous', start: what } : what
}

function isAbort(error: unknown, signal: AbortSignal): boolean {
  if (error === signal.reason) return true
  return error instanceof Error && (error.name === 'AbortError' || isAbort(error.cause, signal))
}

/** Errors in one, each still to be found by a caller. */
export function aggregate(errors: readonly unknown[]): unknown {
  return errors.length === 1 ? errors[0] : new AggregateError(errors, errors.map(messageOf).join('; '))
}
