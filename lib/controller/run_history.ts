/** Stores why keys are queued and how often they ran, in bounded memory. */
import { BoundedMap } from '../async/bounded_map.ts'
import type { Clock } from '../async/clock.ts'

/** Causes stored per key: a key that waits for a long time collects many. */
const MAX_CAUSES = 8
/** Keys whose runs are counted; the one that has not run for the longest time is forgotten. */
const MAX_COUNTED = 10_000

export interface RunRecord {
  /** The first cause first; empty if the key was added without a new cause. */
  readonly causes: readonly string[]
  /** The number of runs of this key, including this one. */
  readonly count: number
}

const NOT_NOTED: RunRecord = { causes: [], count: 0 }

/** A cause of a run. A run before `dueMs` has other causes. */
interface Waiting {
  readonly cause: string
  readonly dueMs: number
  /** Whether a successful run removes it. */
  readonly isRetry: boolean
}

export class RunHistory {
  /** Causes of the next runs of a key. */
  readonly #waiting = new Map<string, readonly Waiting[]>()
  /** Causes of the run in progress. */
  readonly #current = new Map<string, readonly string[]>()
  readonly #counts: BoundedMap<string, number>
  /** Whether the runs of all keys are shown. */
  readonly isShown: boolean
  readonly #isOften: (key: string) => boolean

  /** Without `isShown`, only keys that run often have causes, and runs without causes are not counted. */
  constructor(isShown: boolean, isOften: (key: string) => boolean, max: number = MAX_COUNTED) {
    this.isShown = isShown
    this.#isOften = isOften
    this.#counts = new BoundedMap(max)
  }

  /** Whether causes of this key are noted. */
  wants(key: string): boolean {
    return this.isShown || this.#isOften(key)
  }

  /** Notes why a key was queued. `dueMs`: the monotonic time it is queued for; default: now. */
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

  /** Removes the causes that are retries: the queue has forgotten them. */
  forgetRetries(key: string): void {
    const waiting = this.#waiting.get(key)
    if (waiting) this.#keep(key, waiting.filter(({ isRetry }) => !isRetry))
  }

  /** Removes all causes: the queue has dropped the key. */
  forget(key: string): void {
    this.#waiting.delete(key)
  }

  /** Begins a run. Later notes, and those with a later time, belong to the runs after it. */
  begin(key: string, clock: Pick<Clock, 'monotonic'>): void {
    const waiting = this.#waiting.get(key) ?? []
    if (waiting.length === 0 && !this.isShown) return
    const nowMs = clock.monotonic()
    const due = waiting.filter(({ dueMs }) => dueMs <= nowMs)
    this.#current.set(key, [...new Set(due.map(({ cause }) => cause))])
    // The queue keeps only the earliest of several times, so the others never come.
    this.#keep(key, due.some(({ dueMs }) => dueMs > -Infinity) ? [] : waiting.filter(({ dueMs }) => dueMs > nowMs))
  }

  #keep(key: string, waiting: readonly Waiting[]): void {
    if (waiting.length > 0) this.#waiting.set(key, waiting)
    else this.#waiting.delete(key)
  }

  /** Ends a run. Returns its causes and the number of the key's runs. */
  end(key: string): RunRecord {
    const causes = this.#current.get(key)
    if (!causes) return NOT_NOTED
    this.#current.delete(key)
    const count = (this.#counts.get(key) ?? 0) + 1
    this.#counts.set(key, count)
    return { causes, count }
  }
}
