/** Logs failures of keys: repeated ones less and less often, many keys with the same reason as one line. */
import { BoundedMap } from '../async/bounded_map.ts'
import { messageOf } from '../core/errors.ts'
import { formatMs } from '../core/duration.ts'
import { parseKey } from '../core/objects.ts'
import type { Clock } from '../async/clock.ts'
import type { WriteRecord } from '../client/client.ts'
import type { Log } from '../observe/log.ts'
import type { Disposition } from './result.ts'

/** The end of a run, as far as the log needs it. */
export interface RunEnding {
  readonly kind: string
  readonly key: string
  readonly attempt: number
  readonly disposition: Disposition
  /** The delay of the next try, after a failure or `{ requeue: true }`. */
  readonly retryInMs: number | undefined
  readonly writes: readonly WriteRecord[]
  /** Whether the controller stops, so that the next try comes after the next start. Default: false. */
  readonly isLast?: boolean | undefined
}

/** Keys whose last failure is stored; the next failure of another key counts as new. */
const MAX_KEYS = 10_000

/** Failures with a delay of at least 10 s are all logged. */
const LONG_WAIT_MS = 10_000

/** The first success of a key after failures that were logged. */
interface Recovery {
  /** In a row, with any messages. */
  readonly failures: number
}

/** What to log: a failure in full, a repeated one in short, a success after failures, or nothing. */
export type Verdict = 'new' | 'again' | Recovery | undefined

/**
 * Returns what to log at the end of a run: `new` for a failure that differs from the one before, `again` for an equal
 * one, a {@link Recovery} for the first success after logged failures.
 *
 * Equal failures are logged when their number has doubled, and when the next try is 10 s or more away. A failure
 * without retry is not logged again for the run that its own writes (usually of the status) cause. A success for an
 * object that is gone is not a recovery. `id` identifies the key among all that are reported here.
 */
export type FailureFold = (id: string, ending: Pick<RunEnding, 'disposition' | 'retryInMs' | 'writes'>) => Verdict

/** A key whose last run failed. */
interface Failing {
  readonly message: string
  /** In a row, with any messages; runs caused by own writes are not counted. */
  readonly failures: number
  readonly repeats: number
  readonly wrote: boolean
  /** Whether a failure was logged since the last success; the second one: with this message. */
  readonly isLogged: boolean
  readonly isMessageLogged: boolean
}

/**
 * Returns a fold without failures. `passes` is called before a line is logged, with the error's message or undefined
 * for a recovery; if it returns false, nothing is logged. Default: all pass.
 */
export function foldFailures(passes: (id: string, message?: string) => boolean = () => true): FailureFold {
  const failing = new BoundedMap<string, Failing>(MAX_KEYS)
  return (id, { disposition, retryInMs = 0, writes }) => {
    const last = failing.get(id)
    if (last) failing.delete(id)
    if (!('error' in disposition)) {
      const isGone = disposition.kind === 'forget' && disposition.isGone
      return last?.isLogged && !isGone && passes(id) ? { failures: last.failures } : undefined
    }
    const message = messageOf(disposition.error)
    const wrote = changesIn(writes).length > 0
    const isEqual = last?.message === message
    const isEcho = isEqual && disposition.kind === 'drop' && last.wrote && !wrote
    const repeats = isEqual ? last.repeats + (isEcho ? 0 : 1) : 0
    const isDue = !isEqual || (!isEcho && ((repeats & (repeats - 1)) === 0 || retryInMs >= LONG_WAIT_MS))
    const isLogged = isDue && passes(id, message)
    // Moved to the end: the first key is the one that has not run for the longest time.
    failing.set(id, {
      message,
      failures: (last?.failures ?? 0) + (isEcho ? 0 : 1),
      repeats,
      wrote,
      isLogged: isLogged || last?.isLogged === true,
      isMessageLogged: isLogged || (isEqual && last.isMessageLogged),
    })
    if (!isLogged) return undefined
    return isEqual && last.isMessageLogged ? 'again' : 'new'
  }
}

/** The key of a finalizer's name on the error of its cleanup. Registered, as bundles may contain this module twice. */
const FINALIZER = Symbol.for('kubeloop.finalizer')

/** Notes the finalizer whose cleanup threw this error. */
export function nameFinalizer(error: unknown, finalizer: string): void {
  // Not enumerable, so that no log prints it. A frozen error is left as it is.
  if (error instanceof Error) Reflect.defineProperty(error, FINALIZER, { value: finalizer, configurable: true })
}

function finalizerOfFailure(error: unknown): string | undefined {
  return error instanceof Error ? (error as { readonly [FINALIZER]?: string })[FINALIZER] : undefined
}

/** Logs a new failure with its stack, a repeated one by the first line of its message, and a recovery. */
export function logFailure(
  log: Log,
  verdict: Verdict,
  { kind, key, attempt, disposition, retryInMs, isLast }: RunEnding,
): void {
  if (typeof verdict === 'object') {
    const { failures } = verdict
    return log.info(`${kind} "${key}" works again after ${failures} ${failures === 1 ? 'failure' : 'failures'}`)
  }
  if (!verdict || !('error' in disposition)) return
  const { error } = disposition
  const message = messageOf(error)
  const retry = isLast ? 'retried after the next start' : `retry ${attempt} in ${formatMs(retryInMs ?? 0)}`
  const next = retryInMs === undefined ? `not retried${disposition.kind === 'retry' ? ' here' : ''}` : retry
  const finalizer = finalizerOfFailure(error)
  const what = finalizer === undefined
    ? `Cannot reconcile ${kind} "${key}"`
    : `Cannot clean up ${kind} "${key}" for its finalizer "${finalizer}"`
  log.error(
    `${what}: ${verdict === 'new' ? message : firstLine(message)} (${next})`,
    verdict === 'new' ? { attempt, error } : { attempt },
  )
}

/** The maximum number of lines about one reason with several keys within 10 s; the other keys are counted. */
const MAX_LINES = 5
const WITHIN_MS = 10_000
/** The maximum number of reasons counted at a time; failures for other reasons are all logged. */
const MAX_REASONS = 100

/** One reason within one period. */
interface Group {
  lines: number
  /** Keys with a line. */
  readonly named: Set<string>
  /** Keys without a line. */
  readonly more: Set<string>
  /** The last message of those; undefined for recoveries. */
  message: string | undefined
}

/**
 * Logs the failures of one controller's keys, and the first success after them. While a server is down, all keys fail
 * for the same reason: five lines within 10 s name keys, and one line at the end of that time counts the others.
 */
export class FailureLog {
  readonly #kind: string
  readonly #clock: Clock
  readonly #log: Log
  readonly #fold = foldFailures((key, message) => this.#passes(key, message))
  /** By reason, see {@link reasonOf}; undefined for recoveries. */
  readonly #groups = new Map<string | undefined, Group>()
  #beganMs = -Infinity
  /** Set while keys are counted. */
  #stopTimer: (() => void) | undefined

  /** `log`: for lines without a key. */
  constructor(kind: string, clock: Clock, log: Log) {
    this.#kind = kind
    this.#clock = clock
    this.#log = log
  }

  /** Logs the end of a run if necessary. `log` adds the fields of that run. */
  ended(ending: RunEnding, log: Log): void {
    logFailure(log, this.#fold(ending.key, ending), ending)
  }

  /** Logs the counted keys and cancels the timer. */
  stop(): void {
    this.#endPeriod()
  }

  #passes(key: string, message: string | undefined): boolean {
    const nowMs = this.#clock.monotonic()
    if (nowMs - this.#beganMs >= WITHIN_MS) {
      this.#endPeriod()
      this.#beganMs = nowMs
    }
    const reason = message === undefined ? undefined : reasonOf(key, message)
    let group = this.#groups.get(reason)
    if (!group) {
      if (this.#groups.size >= MAX_REASONS) return true
      this.#groups.set(reason, group = { lines: 0, named: new Set(), more: new Set(), message })
    }
    // Failures of a single key are not counted, but logged.
    if (group.lines < MAX_LINES || (group.named.size === 1 && group.named.has(key))) {
      group.lines++
      group.named.add(key)
      return true
    }
    // A key that fails again is the last one.
    if (!group.named.has(key) && (group.more.delete(key) || group.more.size < MAX_KEYS)) {
      group.more.add(key)
      group.message = message
      this.#stopTimer ??= this.#clock.after(this.#beganMs + WITHIN_MS - nowMs, () => this.#endPeriod())
    }
    return false
  }

  #endPeriod(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    for (const { more, message } of this.#groups.values()) {
      if (more.size === 0) continue
      const keys = `${more.size} more ${more.size === 1 ? 'key' : 'keys'} of ${this.#kind}`
      if (message === undefined) this.#log.info(`${keys} work${more.size === 1 ? 's' : ''} again`)
      else {
        const last = [...more].at(-1)
        this.#log.error(`${keys} failed for the same reason, the last one "${last}": ${firstLine(message)}`)
      }
    }
    this.#groups.clear()
  }
}

/** Returns the message without the key's names, so that it is equal for all keys. */
function reasonOf(key: string, message: string): string {
  const { namespace, name } = parseKey(key)
  const names = [name, namespace].filter(Boolean).map((each) => each!.replace(/[^\w-]/g, '\\$&'))
  return firstLine(message).replace(new RegExp(`(?<![a-z0-9])(?:${names.join('|')})(?![a-z0-9])`, 'g'), '…')
}

function firstLine(text: string): string {
  const end = text.indexOf('\n')
  return end < 0 ? text : `${text.slice(0, end).trimEnd()} …`
}

/** Returns the writes that changed an object on the server. */
export function changesIn(writes: readonly WriteRecord[]): readonly WriteRecord[] {
  return writes.filter(({ result }) => result !== 'unchanged')
}
