import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventOf, occurrence } from '../../lib/events/event.ts'
import {
  again,
  type Answer,
  begin,
  isFinished,
  MAX_TRIES,
  type Series,
  type Standing,
  step,
  unwritten,
  writeOf,
} from '../../lib/events/series.ts'
import { FOO } from './fixture.ts'

const event = eventOf(occurrence('Normal', FOO, 'A', 'x', { controller: 'c' }), {
  instance: 'i',
  wallMs: 0,
  serial: 0x10n,
})
const now = (monotonicMs: number): { wallMs: number; monotonicMs: number } => ({
  wallMs: 1000 + monotonicMs,
  monotonicMs,
})

/** A series of three occurrences. */
function series(standing: Standing, tries = 0): Series {
  return { ...again(again(begin(event, now(0)), now(1)), now(2)), standing, tries }
}

const missing: Standing = { kind: 'missing', maybe: 0 }
const maybe: Standing = { kind: 'missing', maybe: 2 }
const stored: Standing = { kind: 'stored', written: 1, writes: 0 }
const written: Standing = { kind: 'stored', written: 3, writes: 0 }
const last = MAX_TRIES - 1

/** Columns: standing and tries before, answer, then standing, tries, name, due time and lost occurrences after. */
const TABLE: readonly (readonly [Standing, number, Answer, Standing | undefined, number, string, number, number])[] = [
  [missing, 3, 'written', written, 0, 'a.10', 1100, 0],
  [missing, 3, 'taken', missing, 4, 'a.11', 0, 0],
  [maybe, 3, 'taken', { kind: 'stored', written: 2, writes: 0 }, 0, 'a.10', 1100, 0],
  [missing, 3, 'unknown', { kind: 'missing', maybe: 3 }, 4, 'a.10', 0, 0],
  [maybe, 3, 'unknown', maybe, 4, 'a.10', 0, 0],
  [missing, 3, 'unsent', missing, 4, 'a.10', 0, 0],
  [missing, 0, 'refused', undefined, 0, '', 0, 3],
  [missing, last, 'unsent', undefined, 0, '', 0, 3],
  [missing, last, 'unknown', undefined, 0, '', 0, 3],
  [missing, last, 'taken', undefined, 0, '', 0, 3],
  [stored, 3, 'written', { kind: 'stored', written: 3, writes: 1 }, 0, 'a.10', 2100, 0],
  [{ ...stored, writes: 8 }, 3, 'written', { kind: 'stored', written: 3, writes: 9 }, 0, 'a.10', 300_100, 0],
  [{ ...stored, writes: 99_999 }, 3, 'written', { kind: 'stored', written: 3, writes: 100_000 }, 0, 'a.10', 300_100, 0],
  [stored, 3, 'missing', missing, 0, 'a.10', 0, 0],
  [stored, 3, 'unsent', stored, 4, 'a.10', 0, 0],
  [stored, 3, 'unknown', stored, 4, 'a.10', 0, 0],
  [stored, 3, 'refused', written, 0, 'a.10', 0, 2],
  [{ ...stored, writes: 8 }, last, 'unknown', { ...written, writes: 8 }, 0, 'a.10', 0, 2],
]

test('each answer leads to the state of the table', () => {
  for (const [standing, tries, answer, expected, triesAfter, name, dueMs, lost] of TABLE) {
    const before = series(standing, tries)
    const after = step(before, writeOf(before)!, answer, 100)
    const seen = after.series &&
      {
        ...after.series.standing,
        tries: after.series.tries,
        name: after.series.event.metadata.name,
        dueMs: after.series.dueMs,
      }
    const label = `${JSON.stringify(standing)} ${tries} ${answer}`
    assert.deepEqual([seen, after.lost], [expected && { ...expected, tries: triesAfter, name, dueMs }, lost], label)
  }
})

test('the next write depends on what the server has', () => {
  const lastObservedTime = '1970-01-01T00:00:01.002000Z'
  assert.deepEqual(writeOf(begin(event, now(0))), {
    kind: 'create',
    namespace: 'default',
    name: 'a.10',
    body: event,
    count: 1,
  })
  assert.deepEqual(writeOf(series(missing)), {
    kind: 'create',
    namespace: 'default',
    name: 'a.10',
    body: { ...event, series: { count: 3, lastObservedTime } },
    count: 3,
  })
  assert.deepEqual(writeOf(series(stored)), {
    kind: 'patch',
    namespace: 'default',
    name: 'a.10',
    body: { series: { count: 3, lastObservedTime } },
    count: 3,
  })
  assert.equal(writeOf(series(written)), undefined)
})

test('an occurrence during a write does not count as written', () => {
  const before = begin(event, now(0))
  const after = step(again(before, now(5)), writeOf(before)!, 'written', 10).series!
  assert.deepEqual([unwritten(after), after.dueMs], [1, 1010])
})

test('a series is finished six minutes after its last occurrence, by the monotonic clock, and not before all is written', () => {
  assert.deepEqual(
    [isFinished(series(written), 360_001), isFinished(series(written), 360_002), isFinished(series(stored), 999_999)],
    [false, true, false],
  )
})

test('a wall clock that is set back does not set back the time of the last occurrence', () => {
  const later = again(begin(event, { wallMs: 5000, monotonicMs: 0 }), { wallMs: 1000, monotonicMs: 10 })
  assert.deepEqual([later.lastMs, later.lastMonotonicMs], [5000, 10])
})
