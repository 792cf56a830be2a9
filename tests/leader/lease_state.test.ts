import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  checkTimings,
  claim,
  DEFAULT_TIMINGS,
  type LeaseRecord,
  mayAcquire,
  observe,
  released,
  tryTimeoutMs,
} from '../../lib/leader/lease_state.ts'

const WALL = Date.UTC(2026, 0, 1)
const NOW = '2026-01-01T00:00:00.000000Z'
const EARLIER = '2025-12-31T00:00:00.123456Z'
const held: LeaseRecord = {
  holderIdentity: 'b',
  leaseDurationSeconds: 15,
  acquireTime: EARLIER,
  renewTime: EARLIER,
  leaseTransitions: 4,
}

test('timings that allow two leaders, or none, throw', () => {
  checkTimings(DEFAULT_TIMINGS)
  checkTimings({ durationMs: 1000, renewDeadlineMs: 900, retryPeriodMs: 700 })
  const table: readonly (readonly [number, number, number, RegExp])[] = [
    [15_000, 15_000, 2000, /duration \(15000 ms\) must be longer than renewDeadline \(15000 ms\)/],
    [15_000, 10_000, 10_000, /renewDeadline \(10000 ms\) must be longer than 1\.2 × retryPeriod/],
    [15_000, 2400, 2000, /must be longer than 1\.2 × retryPeriod/],
    [15_500, 10_000, 2000, /duration is 15500 ms, and must be a whole number of seconds/],
    [999, 500, 100, /a whole number of seconds, at least 1/],
    [15_000, 10_000, 0, /retryPeriod is 0 ms, and must be finite and greater than 0/],
    [15_000, -1, 1, /renewDeadline is -1 ms/],
    [NaN, 10_000, 2000, /duration is NaN/],
    [15_000, NaN, 2000, /renewDeadline is NaN/],
    [15_000, 10_000, NaN, /retryPeriod is NaN/],
    [Infinity, 10_000, 2000, /duration is Infinity/],
  ]
  for (const [durationMs, renewDeadlineMs, retryPeriodMs, message] of table) {
    assert.throws(
      () => checkTimings({ durationMs, renewDeadlineMs, retryPeriodMs }),
      (error: Error) => error instanceof RangeError && message.test(error.message),
      message.source,
    )
  }
})

test('claim writes the record as client-go does: transitions count takeovers, and only renewing keeps acquireTime', () => {
  const ours = { holderIdentity: 'a', leaseDurationSeconds: 15, renewTime: NOW }
  const rows: readonly (readonly [string, LeaseRecord | undefined, LeaseRecord])[] = [
    ['no lease', undefined, { ...ours, acquireTime: NOW, leaseTransitions: 0 }],
    ['a lease without a spec', {}, { ...ours, acquireTime: NOW, leaseTransitions: 1 }],
    ["another's", held, { ...ours, acquireTime: NOW, leaseTransitions: 5 }],
    ['released', { ...held, holderIdentity: '', leaseDurationSeconds: 1 }, {
      ...ours,
      acquireTime: NOW,
      leaseTransitions: 5,
    }],
    ['ours', { ...held, holderIdentity: 'a' }, { ...ours, acquireTime: EARLIER, leaseTransitions: 4 }],
    ['ours without a time', { holderIdentity: 'a' }, { ...ours, acquireTime: NOW, leaseTransitions: 0 }],
  ]
  for (const [what, current, expected] of rows) {
    assert.deepEqual(claim(current, 'a', WALL, DEFAULT_TIMINGS, true), expected, what)
    assert.deepEqual(claim(current, 'a', WALL, DEFAULT_TIMINGS), { ...expected, acquireTime: NOW }, what)
  }
})

test('claim keeps unknown fields of the record', () => {
  const record = { ...held, strategy: 'OldestEmulationVersion', preferredHolder: 'c' } as LeaseRecord
  for (const next of [claim(record, 'a', WALL, DEFAULT_TIMINGS), released(record, WALL)] as Record<string, unknown>[]) {
    assert.deepEqual([next['strategy'], next['preferredHolder']], ['OldestEmulationVersion', 'c'])
  }
})

test('a released record has no holder, lasts a second, and keeps its transitions', () => {
  assert.deepEqual(released(held, WALL), {
    holderIdentity: '',
    leaseDurationSeconds: 1,
    acquireTime: NOW,
    renewTime: NOW,
    leaseTransitions: 4,
  })
})

test('the lease may be acquired if it is ours, free, or has not changed for its own duration', () => {
  const rows: readonly (readonly [string, LeaseRecord, number, boolean])[] = [
    ['ours', { ...held, holderIdentity: 'a' }, 0, true],
    ['free', { ...held, holderIdentity: '' }, 0, true],
    ['without a holder', { leaseDurationSeconds: 15 }, 0, true],
    ["another's, just seen", held, 0, false],
    ["another's, almost expired", held, 14_999, false],
    ["another's, expired", held, 15_000, true],
    ["another's of 60 s, whatever our own duration is", { ...held, leaseDurationSeconds: 60 }, 59_999, false],
    ["another's of 60 s, expired", { ...held, leaseDurationSeconds: 60 }, 60_000, true],
    ['however old its renewTime looks', { ...held, renewTime: '1999-01-01T00:00:00.000000Z' }, 0, false],
    ['however new its renewTime looks', { ...held, renewTime: '2099-01-01T00:00:00.000000Z' }, 15_000, true],
  ]
  for (const [what, record, waitedMs, expected] of rows) {
    assert.equal(mayAcquire({ record, sinceMs: 1000 }, 'a', 1000 + waitedMs), expected, what)
  }
})

test('the time of a record counts from when it was first seen; only a different record restarts it', () => {
  const first = observe(undefined, held, 100)
  assert.deepEqual(first, { record: held, sinceMs: 100 })
  assert.equal(observe(first, { ...held }, 900), first)
  assert.deepEqual(observe(first, { ...held, renewTime: NOW }, 900).sinceMs, 900)
})

test('the timeout of a try is half the deadline, at least 1 s, and at most the deadline', () => {
  assert.deepEqual(
    [10_000, 3000, 1500, 900].map((renewDeadlineMs) => tryTimeoutMs({ ...DEFAULT_TIMINGS, renewDeadlineMs })),
    [5000, 1500, 1000, 900],
  )
})
