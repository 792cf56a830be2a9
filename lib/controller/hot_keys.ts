/** Notices keys that are reconciled over and over and write each time: nothing fails, so nothing else would say so. */
import { formatMs } from '../core/duration.ts'
import type { Clock } from '../async/clock.ts'
import type { WriteRecord } from '../client/client.ts'
import { inCluster, withoutValues } from './change_summary.ts'
import { changesIn } from './failures.ts'

/** A key is hot with more runs that write than this in so long. */
const MAX_RUNS = 50
const WITHIN_MS = 10_000
/** From here on it is noted why a key is queued and what its runs write. */
const NOTED_RUNS = MAX_RUNS / 2
const MAX_NOTES = 8

/** Each key that is told apart has an id of its own. */
export interface HotKeys {
  /** Whether it is worth noting why a key is queued. */
  notes(id: string): boolean
  /** Notes why a key was queued, or what a run of it wrote. */
  note(id: string, text: string): void
  /**
   * Counts a run, and notes the causes that it names. Returns what is wrong with a key that has just become hot, at most once in 10 s
   * for each.
   */
  ended(id: string, run: HotRun): string | undefined
}

interface HotRun {
  readonly kind: string
  readonly key: string
  readonly causes?: readonly string[]
  readonly writes: readonly WriteRecord[]
}

interface Counted {
  readonly beganMs: number
  runs: number
  readonly notes: Set<string>
}

export function hotKeys(clock: Pick<Clock, 'monotonic'>): HotKeys {
  /** Keys whose runs wrote in the last 10 s, in the order in which their counts began. */
  const keys = new Map<string, Counted>()
  const notes = (id: string): boolean => keys.get(id)?.runs! >= NOTED_RUNS
  const note = (id: string, text: string): void => {
    const counted = keys.get(id)
    if (counted && counted.notes.size < MAX_NOTES) counted.notes.add(withoutValues(text))
  }
  return {
    notes,
    note,
    ended(id, { kind, key, causes = [], writes }) {
      if (notes(id)) { for (const cause of causes) note(id, cause) }
      const changes = changesIn(writes)
      if (changes.length === 0) return undefined
      const nowMs = clock.monotonic()
      for (const [old, { beganMs }] of keys) {
        if (nowMs - beganMs <= WITHIN_MS) break
        keys.delete(old)
      }
      const counted = keys.get(id) ?? { beganMs: nowMs, runs: 0, notes: new Set() }
      keys.set(id, counted)
      counted.runs++
      if (notes(id)) {
        for (const { verb, kind, key, cluster } of changes) note(id, `${verb} ${kind} "${key}"${inCluster(cluster)}`)
      }
      if (counted.runs !== MAX_RUNS + 1) return undefined
      return `${kind} "${key}" was reconciled ${counted.runs} times in ${
        formatMs(nowMs - counted.beganMs)
      } and wrote each time ` +
        `(causes and writes: ${[...counted.notes].join(', ')}); does it cause itself, or undo what another one writes?`
    },
  }
}
