import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, NetworkError } from '../../lib/core/errors.ts'
import {
  type FollowerInput,
  type FollowerState,
  INITIAL_FOLLOWER_STATE,
  isRefused,
  needsNewVersion,
  nextTryMs,
  step,
} from '../../lib/leader/follower_state.ts'
import { DEFAULT_TIMINGS, type Observation } from '../../lib/leader/lease_state.ts'

const held: Observation = { record: { holderIdentity: 'b', leaseDurationSeconds: 15 }, sinceMs: 1000 }
const ours: Observation = { record: { holderIdentity: 'a', leaseDurationSeconds: 15 }, sinceMs: 2000 }
const free: Observation = { record: { holderIdentity: '', leaseDurationSeconds: 1 }, sinceMs: 1000 }
const refused = new ApiError('no', { reason: 'Forbidden' }, { code: 403 })
const broken = new NetworkError('broke', { phase: 'body' })

function after(state: FollowerState, ...inputs: readonly FollowerInput[]): FollowerState {
  return inputs.reduce((before, input) => step(before, input, DEFAULT_TIMINGS, () => 0.5), state)
}

const tried = after(INITIAL_FOLLOWER_STATE, { kind: 'tried', nowMs: 2000 }) // polls again at 2000 + 2000 × 1.6, jitter 125
const lostRace = after(INITIAL_FOLLOWER_STATE, { kind: 'tried', nowMs: 2000, lostRace: true })
const watched = after(tried, { kind: 'opening' }, { kind: 'opened' })

test("the next try is at the next poll, at the record's expiry, or by a watch event", () => {
  const rows: readonly (readonly [string, FollowerState, Observation | undefined, number])[] = [
    ['initially: at once', INITIAL_FOLLOWER_STATE, undefined, -Infinity],
    ['without a watch: polls', tried, held, 5200],
    ['with a watch that is not open yet: polls', after(tried, { kind: 'opening' }), held, 5200],
    ['without a watch: when the record expires before the poll', tried, { ...held, sinceMs: -12_000 }, 3125],
    ['with a watch: only when the record expires', watched, held, 16_125],
    ['a record that expired before the last try is no hint', watched, { ...held, sinceMs: -13_000 }, 5200],
    ['a record that was free at the last try is no hint', watched, free, 5200],
    ['no record', watched, undefined, 5200],
    ['released: after the jitter', after(watched, { kind: 'observed', nowMs: 9000, free: true }), free, 9125],
    [
      'released, observed twice: from the first',
      after(watched, { kind: 'observed', nowMs: 9000, free: true }, { kind: 'observed', nowMs: 9100, free: true }),
      free,
      9125,
    ],
    [
      'released, and acquired by another meanwhile',
      after(watched, { kind: 'observed', nowMs: 9000, free: true }, { kind: 'observed', nowMs: 9010, free: false }),
      { ...held, sinceMs: 9010 },
      24_135,
    ],
    ['after a lost race: soon', lostRace, undefined, 2125],
    [
      'and the next one too: not at once',
      after(lostRace, { kind: 'tried', nowMs: 3000, lostRace: true }),
      undefined,
      6200,
    ],
    [
      'released, tried, and failed',
      after(watched, { kind: 'observed', nowMs: 9000, free: true }, { kind: 'tried', nowMs: 9200 }),
      free,
      12_400,
    ],
    [
      'after a broken watch: polls',
      after(watched, { kind: 'ended', nowMs: 9000, lastedMs: 7000, error: broken }),
      held,
      12_200,
    ],
    ['with our own record, as the response was lost: polls, with or without a watch', watched, ours, 5200],
    ['with our own record, without a watch: polls', tried, ours, 5200],
    ['with our own record, observed after the poll was due: at once', watched, { ...ours, sinceMs: 9000 }, 5200],
  ]
  for (const [what, state, observed, expected] of rows) assert.equal(nextTryMs(state, observed, 'a'), expected, what)
})

test('a watch that lasted is reopened at once, one that broke early with back-off, a refused one after 10 minutes', () => {
  const again = (state: FollowerState): number => (state.watch.kind === 'closed' ? state.watch.againMs : NaN)
  assert.equal(again(after(watched, { kind: 'ended', nowMs: 9000, lastedMs: 4400 })), 9000)
  assert.equal(again(after(watched, { kind: 'ended', nowMs: 9000, lastedMs: 4400, error: broken })), 9000)
  assert.equal(again(after(watched, { kind: 'ended', nowMs: 9000, lastedMs: 4399 })), 9000 + 1250)
  assert.equal(
    again(after(tried, { kind: 'opening' }, { kind: 'ended', nowMs: 9000, lastedMs: 6000, error: broken })),
    9000 + 1250,
    'never open',
  )
  assert.equal(
    again(after(tried, { kind: 'opening' }, { kind: 'ended', nowMs: 9000, lastedMs: 1, error: refused })),
    9000 + 600_000,
  )
  let state = tried
  const pauses: number[] = []
  for (let failure = 0; failure < 9; failure++) {
    state = after(state, { kind: 'opening' }, { kind: 'ended', nowMs: 0, lastedMs: 0, error: broken })
    pauses.push(again(state))
  }
  assert.deepEqual(pauses, [1250, 2500, 5000, 10_000, 20_000, 40_000, 75_000, 75_000, 75_000])
  const healthy = after(state, { kind: 'opening' }, { kind: 'opened' }, {
    kind: 'ended',
    nowMs: 0,
    lastedMs: 60_000,
    error: broken,
  })
  assert.equal(
    again(after(healthy, { kind: 'opening' }, { kind: 'ended', nowMs: 0, lastedMs: 0, error: broken })),
    1250,
    'a watch that lasted resets the back-off',
  )
})

test('needsNewVersion is true if events may be missing, and false after a broken connection', () => {
  const rows: readonly (readonly [unknown, boolean])[] = [
    [undefined, false],
    [broken, false],
    [refused, false],
    [new ApiError('gone', { reason: 'Expired' }, { code: 410 }), true],
    [new ApiError('timeout', { reason: 'Timeout' }, { code: 504 }), true],
    [new SyntaxError('not JSON'), true],
  ]
  for (const [error, expected] of rows) assert.equal(needsNewVersion(error), expected, String(error))
  assert.deepEqual(
    [refused, broken, ...[401, 404, 405].map((code) => new ApiError('', {}, { code }))].map(isRefused),
    [true, false, false, true, true],
  )
})
