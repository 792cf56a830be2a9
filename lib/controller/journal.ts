/** Why keys are queued, and how often they ran: what the live view tells of a run. Bounded, whatever happens. */

/** More of the same says nothing; a key that waits for long gathers many. */
const MOST_CAUSES = 8
/** Keys whose runs are counted; the count of one that was not worked on for longest begins anew. */
const MOST_COUNTED = 10_000

export interface JournalEntry {
  /** The first reason first; none for a key that was added for nothing new. */
  readonly causes: readonly string[]
  /** The runs of this key, this one included. */
  readonly count: number
}

export class Journal {
  /** Reasons for the next run of a key. */
  readonly #waiting = new Map<string, string[]>()
  /** Reasons for the run that is under way. */
  readonly #current = new Map<string, readonly string[]>()
  readonly #counts = new Map<string, number>()
  readonly #most: number

  constructor(most: number = MOST_COUNTED) {
    this.#most = most
  }

  note(key: string, cause: string): void {
    const causes = this.#waiting.get(key)
    if (!causes) this.#waiting.set(key, [cause])
    else if (causes.length < MOST_CAUSES && !causes.includes(cause)) causes.push(cause)
  }

  /** The key was handed out: what is noted from now on is about the run after this one. */
  begin(key: string): void {
    this.#current.set(key, this.#waiting.get(key) ?? [])
    this.#waiting.delete(key)
  }

  /** The run is over. */
  end(key: string): JournalEntry {
    const causes = this.#current.get(key) ?? []
    this.#current.delete(key)
    const count = (this.#counts.get(key) ?? 0) + 1
    // Taken out first, so that the map is in the order of the last runs.
    this.#counts.delete(key)
    this.#counts.set(key, count)
    const [oldest] = this.#counts.keys()
    if (this.#counts.size > this.#most && oldest !== undefined) this.#counts.delete(oldest)
    return { causes, count }
  }
}
