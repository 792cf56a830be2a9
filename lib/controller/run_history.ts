/** Why keys are queued, and how often they ran: what the live view tells of a run. Bounded, whatever happens. */
import { BoundedMap } from '../async/bounded_map.ts'

/** More of the same says nothing; a key that waits for long gathers many. */
const MAX_CAUSES = 8
/** Keys whose runs are counted; the count of one that was not worked on for longest begins anew. */
const MAX_COUNTED = 10_000

export interface RunRecord {
  /** The first reason first; none for a key that was added for nothing new. */
  readonly causes: readonly string[]
  /** The runs of this key, this one included. */
  readonly count: number
}

/** A reason for a run: one that has a time is none for a run before it. */
interface Waiting {
  readonly cause: string
  readonly dueMs: number
  /** Whether a run that succeeds takes it back. */
  readonly isRetry: boolean
}

export class RunHistory {
  /** Reasons for the next runs of a key. */
  readonly #waiting = new Map<string, readonly Waiting[]>()
  /** Reasons for the run that is under way. */
  readonly #current = new Map<string, readonly string[]>()
  readonly #counts: BoundedMap<string, number>

  constructor(max: number = MAX_COUNTED) {
    this.#counts = new BoundedMap(max)
  }

  /** Notes why a key was queued. `dueMs`: the monotonic time that it is queued for; default: at once. */
  note(
    key: string,
    cause: string,
    { dueMs = -Infinity, isRetry = false }: { readonly dueMs?: number; readonly isRetry?: boolean } = {},
  ): void {
    const waiting = this.#waiting.get(key) ?? []
    if (waiting.length < MAX_CAUSES && !waiting.some((each) => each.cause === cause && each.dueMs === dueMs)) {
      this.#waiting.set(key, [...waiting, { cause, dueMs, isRetry }])
    }
  }

  /** A retry that waits for its time was taken back. */
  forgetRetries(key: string): void {
    this.#keep(key, (this.#waiting.get(key) ?? []).filter(({ isRetry }) => !isRetry))
  }

  /** The key was handed out: what is noted from now on, or for a later time, is about a run after this one. */
  begin(key: string, nowMs: number): void {
    const waiting = this.#waiting.get(key) ?? []
    const led = waiting.filter(({ dueMs }) => dueMs <= nowMs)
    this.#current.set(key, [...new Set(led.map(({ cause }) => cause))])
    // Of several times the queue keeps the earliest: with that none is left.
    this.#keep(key, led.some(({ dueMs }) => dueMs > -Infinity) ? [] : waiting.filter(({ dueMs }) => dueMs > nowMs))
  }

  #keep(key: string, waiting: readonly Waiting[]): void {
    if (waiting.length > 0) this.#waiting.set(key, waiting)
    else this.#waiting.delete(key)
  }

  /** The keys that were handed out and whose runs have not ended. */
  get running(): readonly string[] {
    return [...this.#current.keys()]
  }

  /** The run is over. */
  end(key: string): RunRecord {
    const causes = this.#current.get(key) ?? []
    this.#current.delete(key)
    const count = (this.#counts.get(key) ?? 0) + 1
    this.#counts.set(key, count)
    return { causes, count }
  }
}
