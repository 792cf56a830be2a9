/** Decides what a failed write means for its events, and counts and logs those that are dropped. */
import { formatMs } from '../core/duration.ts'
import { ApiError, isReason, messageOf, NetworkError } from '../core/errors.ts'
import { formatKey, keyOf } from '../core/objects.ts'
import type { Log } from '../observe/log.ts'
import { isMissingObject, withVerbs } from '../client/codec.ts'
import type { Occurrence } from './event.ts'
import { DENIED_MS, type DropCause, type EventLimits, type Job } from './event_state.ts'
import type { EventMeter } from './metrics.ts'
import type { Answer, Write } from './series.ts'

/** What a failed write means for its events. */
interface WriteOutcome {
  readonly answer: Answer
  /** The cause of the drop if the write is refused. */
  readonly cause: DropCause
  /** Whether no warning is logged, because nothing is wrong with the recorder or its rights. */
  readonly quiet?: boolean
}

/**
 * Classifies the error of a failed Event write.
 *
 * | error | write | answer | |
 * |---|---|---|---|
 * | 409 AlreadyExists | create | taken | |
 * | 404 that names the Event | patch | missing | |
 * | 403 for a terminating namespace, 404 for a missing one | create | refused | no warning: the objects are deleted too |
 * | other 403, other 404 | any | refused | a right, a quota or the kind is missing: later writes are not sent |
 * | 401, 429, other 409 | any | unsent | the server did not carry it out |
 * | 408, 5xx | any | unknown | |
 * | other 4xx | any | refused | |
 * | no connection | any | unsent | |
 * | incomplete answer | any | unknown | |
 */
export function writeOutcome(error: unknown, kind: Write['kind']): WriteOutcome {
  const failed = (answer: Answer): WriteOutcome => ({ answer, cause: 'failed' })
  const refused = (cause: DropCause, quiet = false): WriteOutcome => ({ answer: 'refused', cause, quiet })
  if (!(error instanceof ApiError)) {
    return failed(error instanceof NetworkError && error.phase === 'connect' ? 'unsent' : 'unknown')
  }
  if (isReason(error, 'AlreadyExists') && kind === 'create') return failed('taken')
  if (error.code === 404) {
    if (isMissingObject(error)) return kind === 'patch' ? failed('missing') : refused('refused', true)
    return refused('forbidden')
  }
  if (error.code === 403) return isTerminating(error) ? refused('refused', true) : refused('forbidden')
  if (error.code === 401 || error.code === 409 || error.code === 429) return failed('unsent')
  if (error.code === 408 || error.code >= 500) return failed('unknown')
  return refused('refused')
}

function isTerminating({ status }: ApiError): boolean {
  return status.details?.causes?.some(({ reason }) => reason === 'NamespaceTerminating') ?? false
}

/** The warnings for causes that do not depend on a single event. */
const WARNINGS: Partial<Readonly<Record<DropCause, string>>> = {
  queue:
    'Dropping events: too many wait to be written. The API server cannot be reached, or too many events come at once',
  memory: 'Dropping events: too many different events repeat too fast to be stored until they are written',
}

export class DroppedEvents {
  readonly #log: Log
  readonly #limits: EventLimits
  readonly #measure: ((cause: DropCause, count: number) => void) | undefined
  readonly #dropped = new Map<DropCause, number>()
  /** The warnings that are not logged again for now. */
  readonly #warned = new Set<string>()

  constructor(options: { readonly log: Log; readonly limits: EventLimits; readonly meter: EventMeter | undefined }) {
    this.#log = options.log
    this.#limits = options.limits
    this.#measure = options.meter?.droppedEvents()
  }

  count(cause: DropCause, count: number): void {
    this.#dropped.set(cause, (this.#dropped.get(cause) ?? 0) + count)
    this.#measure?.(cause, count)
    const text = WARNINGS[cause]
    if (text && this.#once(cause)) this.#log.warn(text)
  }

  /** Called when no event waits any more: the next overload is logged again. */
  reset(): void {
    if (this.#warned.size === 0) return
    for (const cause of Object.keys(WARNINGS)) this.#warned.delete(cause)
  }

  /** Logs that the spam filter rejects the events of an object. */
  exhausted({ reason, regarding: { kind, metadata } }: Occurrence): void {
    const { burst, refillMs } = this.#limits
    const about = `${kind} "${formatKey(keyOf({ metadata }))}"`
    const rule = `there are more than ${burst} different ones; one is written every ${formatMs(refillMs)}`
    this.#log.warn(`Dropping events about ${about} with the reason ${reason}: ${rule}`)
  }

  /** Logs a failed write. `lost`: how many occurrences are dropped because of it. */
  failed({ write, event }: Job, error: unknown, { cause, quiet }: WriteOutcome, lost: number): void {
    const about = `event ${event.reason} about ${event.regarding.kind} "${formatKey(event.regarding)}"`
    if (cause === 'forbidden') {
      const isFirst = this.#once(`${cause} ${write.kind}`)
      // A quota and a webhook refuse in the same way, and name no rule.
      const refused = withVerbs(messageOf(error), 'create', 'patch')
      const next = `one is tried every ${formatMs(DENIED_MS)}`
      this.#log[isFirst ? 'warn' : 'debug'](
        `${refused}. Events of namespace "${write.namespace}" are dropped without further warnings; ${next}`,
        { error },
      )
    } else if (lost === 0) this.#log.debug(`Cannot write the ${about} yet: ${messageOf(error)}`)
    else this.#log[quiet ? 'debug' : 'warn'](`Dropping the ${about}: ${messageOf(error)}`, { error })
  }

  logTotal(): void {
    if (this.#dropped.size > 0) this.#log.warn('Events were dropped', Object.fromEntries(this.#dropped))
  }

  /** Counts and logs an event that was recorded after the recorder had stopped. */
  late({ reason }: Occurrence): void {
    this.#measure?.('stopped', 1)
    if (this.#once('late')) this.#log.warn(`Dropping event ${reason} and all later ones: the recorder has stopped`)
  }

  #once(what: string): boolean {
    if (this.#warned.has(what)) return false
    this.#warned.add(what)
    return true
  }
}
