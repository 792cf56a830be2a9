/**
 * The state machine of one Event, without I/O: equal occurrences are counted, and the count is written ever more
 * rarely.
 *
 * | standing | write | answer | next |
 * |---|---|---|---|
 * | missing | create | written | stored; the next write after a pause |
 * | missing | create | taken, no earlier create has an unknown result | missing, with another name |
 * | missing | create | taken, an earlier create has an unknown result | stored, with the count of that create |
 * | missing | create | unknown | missing; this create may have been carried out |
 * | stored | patch | written | stored; the next write after twice the pause |
 * | stored | patch | missing | missing: the Event expired, and is created again with the whole count |
 * | stored | patch | refused | stored; the unwritten count is dropped |
 * | missing | create | refused | forgotten |
 * | any | any | unsent, unknown | the same with one more try; after the last try as refused |
 */
import { microTime } from '../core/duration.ts'
import { type EventBody, type EventSeries, nextName } from './event.ts'

export interface Series {
  readonly event: EventBody
  /** How often it occurred. */
  readonly count: number
  /** When it last occurred, by the wall clock. */
  readonly lastMs: number
  /** The same by the monotonic clock. */
  readonly lastMonotonicMs: number
  /** When the count may be written next, by the monotonic clock. */
  readonly dueMs: number
  /** Failed tries in a row of the current write. */
  readonly tries: number
  readonly standing: Standing
}

export type Standing =
  /** The server probably lacks the Event. `maybe`: the count of the first create with an unknown result; 0 if none. */
  | { readonly kind: 'missing'; readonly maybe: number }
  /** The server has the Event with the count `written`, after `writes` patches. */
  | { readonly kind: 'stored'; readonly written: number; readonly writes: number }

/** A request to the server. `count`: the count that it writes. */
export interface Write {
  readonly kind: 'create' | 'patch'
  readonly namespace: string
  readonly name: string
  readonly body: object
  readonly count: number
}

/** The result of a write. `unsent`: it was certainly not carried out; `unknown`: it may have been. */
export type Answer = 'written' | 'missing' | 'taken' | 'unsent' | 'unknown' | 'refused'

/** A moment by both clocks. */
export interface Moment {
  readonly wallMs: number
  readonly monotonicMs: number
}

/** client-go's maxTriesPerEvent. */
export const MAX_TRIES = 12

/** As client-go's finishTime: an occurrence after such a long silence becomes a new Event. */
export const FINISH_MS: number = 6 * 60_000

/** The max delay of a count. It is shorter than FINISH_MS, so that no series ends unwritten. */
const MAX_PAUSE_MS = 5 * 60_000
const FIRST_PAUSE_MS = 1000

/** Returns the series of a first occurrence. */
export function begin(event: EventBody, now: Moment): Series {
  const { wallMs, monotonicMs } = now
  return {
    event,
    count: 1,
    lastMs: wallMs,
    lastMonotonicMs: monotonicMs,
    dueMs: monotonicMs,
    tries: 0,
    standing: { kind: 'missing', maybe: 0 },
  }
}

/** Returns the series after another occurrence. */
export function again(series: Series, now: Moment): Series {
  return {
    ...series,
    count: series.count + 1,
    lastMs: Math.max(series.lastMs, now.wallMs),
    lastMonotonicMs: now.monotonicMs,
  }
}

/** Returns the number of occurrences that are not written. */
export function unwritten({ count, standing }: Series): number {
  return standing.kind === 'missing' ? count : count - standing.written
}

/** Returns whether the next occurrence starts a new series. */
export function isFinished(series: Series, nowMs: number): boolean {
  return nowMs - series.lastMonotonicMs >= FINISH_MS && unwritten(series) === 0
}

/** Returns the next write, if there is one. */
export function writeOf(series: Series): Write | undefined {
  const { event, count, lastMs, standing } = series
  if (unwritten(series) === 0) return undefined
  // The server refuses a series with a count of 1.
  const more: { series?: EventSeries } = count > 1 ? { series: { count, lastObservedTime: microTime(lastMs) } } : {}
  const { namespace, name } = event.metadata
  return standing.kind === 'missing'
    ? { kind: 'create', namespace, name, body: { ...event, ...more }, count }
    : { kind: 'patch', namespace, name, body: more, count }
}

/** Returns the series after the answer to a write (undefined: forgotten), and the number of dropped occurrences. */
export function step(
  series: Series,
  write: Write,
  answer: Answer,
  nowMs: number,
): { series: Series | undefined; lost: number } {
  const { standing, event } = series
  switch (answer) {
    case 'written':
      return keep(stored(series, write.count, nowMs))
    case 'missing':
      return keep({ ...series, tries: 0, standing: { kind: 'missing', maybe: 0 } })
    case 'taken':
      if (standing.kind === 'missing' && standing.maybe > 0) return keep(stored(series, standing.maybe, nowMs))
      return retry({
        ...series,
        event: { ...event, metadata: { ...event.metadata, name: nextName(event.metadata.name) } },
      })
    case 'unknown':
      if (standing.kind === 'stored' || standing.maybe > 0) return retry(series)
      return retry({ ...series, standing: { kind: 'missing', maybe: write.count } })
    case 'unsent':
      return retry(series)
    case 'refused':
      return giveUp(series)
    default:
      return answer satisfies never
  }
}

function stored(series: Series, written: number, nowMs: number): Series {
  const writes = series.standing.kind === 'stored' ? series.standing.writes + 1 : 0
  const dueMs = nowMs + Math.min(FIRST_PAUSE_MS * 2 ** Math.min(writes, 30), MAX_PAUSE_MS)
  return { ...series, tries: 0, dueMs, standing: { kind: 'stored', written, writes } }
}

function keep(series: Series): { series: Series; lost: number } {
  return { series, lost: 0 }
}

function retry(series: Series): { series: Series | undefined; lost: number } {
  const tries = series.tries + 1
  return tries < MAX_TRIES ? keep({ ...series, tries }) : giveUp(series)
}

function giveUp(series: Series): { series: Series | undefined; lost: number } {
  const { standing, count } = series
  const lost = unwritten(series)
  // A stored Event is kept, so that the next occurrence does not create a second one.
  return {
    series: standing.kind === 'stored' ? { ...series, tries: 0, standing: { ...standing, written: count } } : undefined,
    lost,
  }
}
