/** Detects keys that are reconciled over and over and write each time, which no error reports. */
import { formatMs } from '../core/duration.ts'
import type { Clock } from '../async/clock.ts'
import type { WriteRecord } from '../client/client.ts'
import { inCluster, withoutValues } from './change_summary.ts'
import { changesIn } from './failures.ts'

/** A key is hot if more than 50 runs within 10 s write. */
const MAX_RUNS = 50
const WITHIN_MS = 10_000
/** From this run on, causes and writes are noted. */
const NOTED_RUNS = MAX_RUNS / 2
const MAX_NOTES = 8

/** `id` identifies a key among all that are counted here. */
export interface WriteLoops {
  /** Returns whether the key has run often enough that the causes of its runs are noted. */
  notes(id: string): boolean
  /** Counts a run that wrote, with its causes. Returns a warning when the key becomes hot, at most once in 10 s. */
  ended(id: string, run: HotRun): string | undefined
}

interface HotRun {
  readonly kind: string
  readonly key: string
  readonly causes: readonly string[]
  readonly writes: readonly WriteRecord[]
}

interface Counted {
  readonly beganMs: number
  runs: number
  readonly notes: Set<string>
}

/** Returns `apply Deployment "default/web" in west`. */
export function describeWrite({ verb, kind, key, cluster }: WriteRecord): string {
  return `${verb} ${kind} "${key}"${inCluster(cluster)}`
}

export function writeLoops(clock: Pick<Clock, 'monotonic'>): WriteLoops {
  /** Keys whose runs wrote in the last 10 s, ordered by the begin of their counts. */
  const keys = new Map<string, Counted>()
  const notes = (id: string): boolean => keys.get(id)?.runs! >= NOTED_RUNS
  const note = (id: string, text: string): void => {
    const counted = keys.get(id)
    if (counted && counted.notes.size < MAX_NOTES) counted.notes.add(withoutValues(text))
  }
  return {
    notes,
    ended(id, { kind, key, causes, writes }) {
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
      if (notes(id)) { for (const change of changes) note(id, describeWrite(change)) }
      if (counted.runs !== MAX_RUNS + 1) return undefined
      return `${kind} "${key}" was reconciled ${counted.runs} times in ${
        formatMs(nowMs - counted.beganMs)
      } and wrote each time ` +
        `(causes and writes: ${
          [...counted.notes].join(', ')
        }); does it trigger itself, or undo the changes of another writer (controllers that apply one object need a fieldManager each)?`
    },
  }
}
