/** Events that nobody will see: counted, and said once. */
import { formatMs } from '../core/duration.ts'
import { messageOf } from '../core/errors.ts'
import { formatKey, keyOf } from '../core/objects.ts'
import type { Log } from '../observe/log.ts'
import { withRule } from '../client/codec.ts'
import type { Occurrence } from './event.ts'
import { DENIED_MS, type DropCause, type EventLimits, type Job } from './event_state.ts'
import type { EventMeter } from './metrics.ts'
import type { WriteOutcome } from './write_outcome.ts'

/** What is said when the first is dropped for a cause that is about no single event. */
const SAID: Partial<Readonly<Record<DropCause, string>>> = {
  queue:
    'Dropping events: too many wait to be written. Either the API server cannot be reached, or there are very many at once',
  memory: 'Dropping events: too many different ones are repeated too fast to be remembered until they are written',
}

export class DroppedEvents {
  readonly #log: Log
  readonly #limits: EventLimits
  readonly #measure: ((cause: DropCause, count: number) => void) | undefined
  readonly #dropped = new Map<DropCause, number>()
  /** What is not said again for now. */
  readonly #said = new Set<string>()

  constructor(options: { readonly log: Log; readonly limits: EventLimits; readonly meter: EventMeter | undefined }) {
    this.#log = options.log
    this.#limits = options.limits
    this.#measure = options.meter?.droppedEvents()
  }

  /** Counts what was dropped. */
  count(cause: DropCause, count: number): void {
    this.#dropped.set(cause, (this.#dropped.get(cause) ?? 0) + count)
    this.#measure?.(cause, count)
    const text = SAID[cause]
    if (text && this.#once(cause)) this.#log.warn(text)
  }

  /** All that waited was written: the next jam is another. */
  calm(): void {
    if (this.#said.size === 0) return
    for (const cause of Object.keys(SAID)) this.#said.delete(cause)
  }

  /** An object's allowance is used up. */
  exhausted({ reason, regarding: { kind, metadata } }: Occurrence): void {
    const { burst, refillMs } = this.#limits
    const about = `${kind} "${formatKey(keyOf({ metadata }))}"`
    const rule = `more than ${burst} different ones; one passes every ${formatMs(refillMs)}`
    this.#log.warn(`Dropping events about ${about} with the reason ${reason}: ${rule}`)
  }

  /** A write has failed, and so many occurrences are lost by it. */
  failed({ write, event }: Job, error: unknown, { cause, quiet }: WriteOutcome, lost: number): void {
    const about = `event ${event.reason} about ${event.regarding.kind} "${formatKey(event.regarding)}"`
    if (cause === 'forbidden') {
      const isNews = this.#once(`${cause} ${write.kind}`)
      const refused = withRule(
        messageOf(error),
        ['create', 'patch'],
        `; the operator's role needs create and patch on events in the group events.k8s.io`,
      )
      this.#log[isNews ? 'warn' : 'debug'](
        `${refused}. Events of namespace "${write.namespace}" are dropped quietly; one is tried every ${
          formatMs(DENIED_MS)
        }`,
        { error },
      )
    } else if (lost === 0) this.#log.debug(`Cannot write the ${about} yet: ${messageOf(error)}`)
    else this.#log[quiet ? 'debug' : 'warn'](`Dropping the ${about}: ${messageOf(error)}`, { error })
  }

  /** What there is to say at the end. */
  sum(): void {
    if (this.#dropped.size > 0) this.#log.warn('Events were dropped', Object.fromEntries(this.#dropped))
  }

  /** Something was recorded when nothing is written any more. */
  late({ reason }: Occurrence): void {
    this.#measure?.('stopped', 1)
    if (this.#once('late')) this.#log.warn(`Dropping events from ${reason} on: the recorder has stopped`)
  }

  #once(what: string): boolean {
    if (this.#said.has(what)) return false
    this.#said.add(what)
    return true
  }
}
