/** Notices runs that do not end: each holds its key and a worker, and nothing else would say so. */
import type { Clock } from '../async/clock.ts'

/** One run under way. */
export interface RunningKey {
  readonly key: string
  readonly beganMs: number
}

export class SlowRuns {
  readonly #clock: Clock
  readonly #afterMs: number
  readonly #tell: (run: RunningKey, ms: number) => void
  /** Runs that were not reported, the oldest first. */
  readonly #runs = new Set<RunningKey>()
  /** Runs that were reported and have not ended. */
  readonly #reported = new Set<RunningKey>()
  /** One timer that looks again, rather than a new one for every run. */
  #cancel: (() => void) | undefined

  /** `tell` hears of a run once, when it has taken `afterMs`. */
  constructor(clock: Clock, afterMs: number, tell: (run: RunningKey, ms: number) => void) {
    this.#clock = clock
    this.#afterMs = afterMs
    this.#tell = tell
  }

  begin(run: RunningKey): void {
    this.#runs.add(run)
    this.#cancel ??= this.#clock.after(this.#afterMs, () => this.#look())
  }

  end(run: RunningKey): void {
    if (!this.#runs.delete(run)) this.#reported.delete(run)
  }

  /** The keys of the runs under way, the oldest first. */
  get keys(): readonly string[] {
    return [...this.#reported, ...this.#runs].map(({ key }) => key)
  }

  /** Nothing more is told. */
  stop(): void {
    this.#runs.clear()
    this.#reported.clear()
    this.#cancel?.()
    this.#cancel = undefined
  }

  #look(): void {
    this.#cancel = undefined
    const nowMs = this.#clock.monotonic()
    for (const run of this.#runs) {
      const leftMs = run.beganMs + this.#afterMs - nowMs
      if (leftMs > 0) return void (this.#cancel = this.#clock.after(leftMs, () => this.#look()))
      this.#runs.delete(run)
      this.#reported.add(run)
      this.#tell(run, nowMs - run.beganMs)
    }
  }
}
