/**
 * Changes that Deno's watcher misses. It reads all modules of a run first and begins to watch them when the run waits for something
 * for the first time (`watch_recv` in Deno's cli/util/file_watcher.rs: the paths to watch are a branch of the same `select!` as the
 * run). What is saved in between is not what runs, and restarts nothing until it is saved again. On Deno 2.9.6, of files that were
 * replaced as soon as the run had printed its first line, one in eight was lost when it threw, every other one when it went on.
 * Once it watches, it loses nothing, however the run ends.
 */
import { aborted, abortScope, untilAborted, type AbortScope } from '../async/abort.ts'
import { sleep, type Clock } from '../async/clock.ts'
import { Latch } from '../async/latch.ts'

/** When each file was last written, as the system counts. */
export type FileTimes = ReadonlyMap<string, number>

/** How often the files are looked at while a run loads. */
const LOOK_MS = 1000
/** A run that has not said by then that it is past loading has failed, or waits for something: it is watched. */
const LONGEST_LOAD_MS = 5000
/** How long the watcher may take to start a run for a change that it saw: it waits for 200 ms itself, and the operator has 1 s to stop. */
const WATCHER_MS = 3000

/** The files that are new or were written again. */
export function changedFiles(before: FileTimes, after: FileTimes): string[] {
  return [...after].filter(([file, time]) => before.get(file) !== time).map(([file]) => file)
}

/** One run, from before it reads its files. */
interface Run {
  readonly before: FileTimes
  /** It is watched from here on. */
  readonly watched: Latch
  /** Aborted when there is another run, or it was seen to have missed a change. */
  readonly over: AbortScope
}

export interface MissedChangesOptions {
  readonly clock: Clock
  /** The files that a run may read, as they are now. */
  look(): Promise<FileTimes>
}

/** Tells when a run has missed a change. Of a runtime that says nothing of its loading, nothing is told. */
export class MissedChanges {
  readonly #options: MissedChangesOptions
  #run = new Latch<Run>()
  #current: Run | undefined
  /** What changed while the run before loaded: told, or written at each start. */
  #told: readonly string[] = []

  constructor(options: MissedChangesOptions) {
    this.#options = options
  }

  /** A run is about to read its files: not before this has settled. */
  async loading(): Promise<void> {
    const before = await this.#options.look()
    this.#current?.over.abort()
    const run: Run = { before, watched: new Latch(), over: abortScope() }
    this.#current = run
    if (this.#run.isOpen) this.#run = new Latch()
    this.#run.open(run)
  }

  /** The run is past its loading. */
  watched(): void {
    this.#current?.watched.open()
  }

  /**
   * Settles when files changed while a run loaded, and no other run was started for them in time. Files that changed while the run
   * before loaded do not count: an operator that writes a module whenever it starts would be started for ever. Rejects with the
   * signal's reason.
   */
  async next(signal: AbortSignal): Promise<void> {
    for (;;) {
      const run = await untilAborted(this.#run.opened, signal)
      const scope = abortScope(signal, run.over.signal)
      try {
        if (await this.#missed(run, scope.signal)) {
          this.#run = new Latch()
          return
        }
        await aborted(scope.signal)
      } catch (error) {
        if (!run.over.signal.aborted) throw error
      } finally {
        scope[Symbol.dispose]()
      }
      signal.throwIfAborted()
    }
  }

  /** Whether the run has missed a change. Rejects when there is another run. */
  async #missed({ before, watched }: Run, signal: AbortSignal): Promise<boolean> {
    const { clock, look } = this.#options
    const told = this.#told
    this.#told = []
    const endMs = clock.monotonic() + LONGEST_LOAD_MS
    for (let isLast = false; !isLast;) {
      await firstOf(clock, LOOK_MS, watched, signal)
      // Before the look: what changes after that, its watcher sees.
      isLast = watched.isOpen || clock.monotonic() >= endMs
      const changed = changedFiles(before, await look())
      const isNew = changed.some((file) => !told.includes(file))
      if (isNew) await sleep(clock, WATCHER_MS, signal)
      this.#told = changed
      if (isNew) return true
    }
    return false
  }
}

/** Settles when the latch is open or the time is over. Rejects with the signal's reason. */
async function firstOf(clock: Clock, ms: number, latch: Latch, signal: AbortSignal): Promise<void> {
  const timer = abortScope(signal)
  try {
    await Promise.race([sleep(clock, ms, timer.signal), latch.opened])
  } finally {
    timer.abort()
    timer[Symbol.dispose]()
  }
}
