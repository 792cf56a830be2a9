/** Equal failures of a key in a row are told once, and then ever more rarely: for the log and for the live view. */
import { messageOf } from '../core/errors.ts'
import { formatMs } from '../core/duration.ts'
import type { WriteRecord } from '../client/client.ts'
import type { Log } from '../observe/log.ts'
import type { Disposition } from './result.ts'

/** What of a run decides how its failure is told. */
export interface RunEnding {
  readonly kind: string
  readonly key: string
  readonly attempt: number
  readonly disposition: Disposition
  /** When the next try comes, after a failure or `{ requeue: true }`. */
  readonly retryInMs: number | undefined
  readonly writes: readonly WriteRecord[]
}

/** Keys whose last failure is remembered; for one that is forgotten, the next failure counts as new. */
const MAX_KEYS = 10_000

/** Waits from here on are long enough for a line each. */
const LONG_WAIT_MS = 10_000

/**
 * How to tell the end of a run: `new` for a failure unlike the one before, `again` for an equal one that is to be told in short,
 * undefined for nothing. Equal ones are told when their number has doubled, and when the next try is far. A failure that is not
 * retried is not told again for the run that its own writes led to, most often that of its status.
 */
export type Telling = (
  id: string,
  ending: Pick<RunEnding, 'disposition' | 'retryInMs' | 'writes'>,
) => 'new' | 'again' | undefined

/** Begins with no failures; each key that is told apart has an id of its own. */
export function foldFailures(): Telling {
  /** The keys whose last run failed. */
  const failing = new Map<string, { readonly message: string; readonly repeats: number; readonly wrote: boolean }>()
  return (id, { disposition, retryInMs = 0, writes }) => {
    const last = failing.get(id)
    if (last) failing.delete(id)
    if (!('error' in disposition)) return undefined
    const message = messageOf(disposition.error)
    const wrote = changesIn(writes).length > 0
    const isEqual = last?.message === message
    const isEcho = isEqual && disposition.kind === 'drop' && last.wrote && !wrote
    const repeats = isEqual ? last.repeats + (isEcho ? 0 : 1) : 0
    // Behind the others: the first one is that which has not run for longest.
    failing.set(id, { message, repeats, wrote })
    if (failing.size > MAX_KEYS) failing.delete(failing.keys().next().value!)
    if (!isEqual) return 'new'
    return !isEcho && ((repeats & (repeats - 1)) === 0 || retryInMs >= LONG_WAIT_MS) ? 'again' : undefined
  }
}

/** Logs a failure as it is to be told: the error with its stack where it is new, one line without it where it is equal. */
export function logFailure(
  log: Log,
  told: ReturnType<Telling>,
  { kind, key, attempt, disposition, retryInMs }: RunEnding,
): void {
  if (!told || !('error' in disposition)) return
  const { error } = disposition
  const next = retryInMs === undefined ? 'not retried' : `retry ${attempt} in ${formatMs(retryInMs)}`
  log.error(
    `Cannot reconcile ${kind} "${key}": ${messageOf(error)} (${next})`,
    told === 'new' ? { attempt, error } : { attempt },
  )
}

/** The writes that changed something on the server. */
export function changesIn(writes: readonly WriteRecord[]): readonly WriteRecord[] {
  return writes.filter(({ result }) => result !== 'unchanged')
}
