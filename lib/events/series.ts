/**
 * One Event on its way to the server and there, decided without I/O: equal occurrences are counted, and the count is written
 * ever more rarely.
 *
 * | standing | write | answer | next |
 * |---|---|---|---|
 * | missing | create | written | stored; the next write after a pause |
 * | missing | create | taken, no create before may have been carried out | missing, under another name |
 * | missing | create | taken, one may have been | stored with that one's count |
 * | missing | create | unknown | missing; that create may have been carried out |
 * | stored | patch | written | stored; the next write after twice the pause |
 * | stored | patch | missing | missing: it expired, and is created anew with the whole count |
 * | stored | patch | refused | stored; what was not written is lost |
 * | missing | create | refused | nothing is left |
 * | any | any | unsent, unknown | the same with one try more; at the last as refused |
 */
import { microTime } from '../core/micro_time.ts'
import { type EventBody, type EventSeries, nextName } from './event.ts'

export interface Series {
  readonly event: EventBody
  /** How often it occurred. */
  readonly count: number
  /** When it occurred last, by the wall clock. */
  readonly lastMs: number
  /** The same by the monotonic clock. */
  readonly heardMs: number
  /** When the count may be written next, by the monotonic clock. */
  readonly dueMs: number
  /** Failed tries in a row of what is to be written now. */
  readonly tries: number
  readonly standing: Standing
}

export type Standing =
  /** The server has no such Event, as far as we know. `maybe`: the count of the first create whose answer was lost; 0 without. */
  | { readonly kind: 'missing'; readonly maybe: number }
  /** The server has the Event with the count `written`, after so many `writes`. */
  | { readonly kind: 'stored'; readonly written: number; readonly writes: number }

/** A request to the server. `count` is what it says. */
export interface Write {
  readonly kind: 'create' | 'patch'
  readonly namespace: string
  readonly name: string
  readonly body: object
  readonly count: number
}

/** What became of a write: `unsent` means that it surely was not carried out, `unknown` that it may have been. */
export type Answer = 'written' | 'missing' | 'taken' | 'unsent' | 'unknown' | 'refused'

/** A moment by both clocks. */
export interface Moment {
  readonly wallMs: number
  readonly monotonicMs: number
}

/** client-go's maxTriesPerEvent. */
export const MAX_TRIES = 12

/** As client-go's finishTime: what occurs again after so long a silence is an Event of its own. */
export const FINISH_MS: number = 6 * 60_000

/** The longest time that a count at the server may be old. Shorter than FINISH_MS, so that no series ends unwritten. */
const LONGEST_PAUSE_MS = 5 * 60_000
const FIRST_PAUSE_MS = 1000

/** It occurred for the first time. */
export function begin(event: EventBody, now: Moment): Series {
  const { wallMs, monotonicMs } = now
  return {
    event,
    count: 1,
    lastMs: wallMs,
    heardMs: monotonicMs,
    dueMs: monotonicMs,
    tries: 0,
    standing: { kind: 'missing', maybe: 0 },
  }
}

/** It occurred again. */
export function again(series: Series, now: Moment): Series {
  return { ...series, count: series.count + 1, lastMs: Math.max(series.lastMs, now.wallMs), heardMs: now.monotonicMs }
}

/** How many occurrences the server does not know of. */
export function unwritten({ count, standing }: Series): number {
  return standing.kind === 'missing' ? count : count - standing.written
}

/** Whether it has been silent for so long that the next occurrence begins another. */
export function isFinished(series: Series, nowMs: number): boolean {
  return nowMs - series.heardMs >= FINISH_MS && unwritten(series) === 0
}

/** What is to be sent, if anything. */
export function writeOf(series: Series): Write | undefined {
  const { event, count, lastMs, standing } = series
  if (unwritten(series) === 0) return undefined
  // The server refuses a series of one.
  const more: { series?: EventSeries } = count > 1 ? { series: { count, lastObservedTime: microTime(lastMs) } } : {}
  const { namespace, name } = event.metadata
  return standing.kind === 'missing'
    ? { kind: 'create', namespace, name, body: { ...event, ...more }, count }
    : { kind: 'patch', namespace, name, body: more, count }
}

/** What is left after a write was answered, and how many occurrences are lost by it. */
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
  const dueMs = nowMs + Math.min(FIRST_PAUSE_MS * 2 ** Math.min(writes, 30), LONGEST_PAUSE_MS)
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
  // The Event stays known, or the next occurrence would make another beside it.
  return {
    series: standing.kind === 'stored' ? { ...series, tries: 0, standing: { ...standing, written: count } } : undefined,
    lost,
  }
}
