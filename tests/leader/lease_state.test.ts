import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { microTime } from '../../lib/core/duration.ts'
import {
  checkTimings,
  claim,
  DEFAULT_TIMINGS,
  type LeaseRecord,
  leftMs,
  mayAcquire,
  type Moment,
  type Observation,
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

test('a MicroTime has exactly six decimals', () => {
  assert.deepEqual([microTime(WALL), microTime(WALL + 1), microTime(WALL + 120)], [
    NOW,
    '2026-01-01T00:00:00.001000Z',
    '2026-01-01T00:00:00.120000Z',
  ])
})

test('claim writes the record as client-go does: transitions count takeovers, and renewing keeps acquireTime', () => {
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
    assert.deepEqual(claim(current, 'a', WALL, DEFAULT_TIMINGS), expected, what)
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

test('a leader acts until the deadline after its last write was sent, by whichever clock moved further', () => {
  const sent: Moment = { monotonicMs: 500, wallMs: WALL }
  const left = (monotonic: number, wall: number): number =>
    leftMs(sent, { monotonicMs: 500 + monotonic, wallMs: WALL + wall }, DEFAULT_TIMINGS)
  assert.equal(left(0, 0), 10_000)
  assert.equal(left(4000, 4000), 6000)
  assert.equal(left(100, 12_000), -2000) // suspended: the monotonic clock was stopped
  assert.equal(left(4000, -3_600_000), 6000) // the wall clock was set back
})

test('the timeout of a try is half the deadline, at least 1 s, and at most the deadline', () => {
  assert.deepEqual(
    [10_000, 3000, 1500, 900].map((renewDeadlineMs) => tryTimeoutMs({ ...DEFAULT_TIMINGS, renewDeadlineMs })),
    [5000, 1500, 1000, 900],
  )
})

/**
 * A model of one Lease with optimistic locking, and candidates that drive the pure functions. The run sets the delay
 * and the loss of requests and responses; clocks run at different rates from different starts.
 */
class Model {
  now = 0
  record: LeaseRecord | undefined
  version = 0
  /** The max number of leaders at one moment. */
  maxLeaders = 0
  /** The number of terms. */
  terms = 0
  readonly #candidates: Candidate[]
  #inFlight: { at: number; readonly run: () => void }[] = []

  constructor(rates: readonly number[], leadFrom: 'sent' | 'answered') {
    this.#candidates = rates.map((rate, index) => new Candidate(this, `c${index}`, rate, leadFrom))
  }

  after(ms: number, run: () => void): void {
    this.#inFlight.push({ at: this.now + ms, run })
  }

  /** Advances the time, and counts the leaders before and after each event. */
  pass(ms: number): void {
    const end = this.now + ms
    for (;;) {
      this.#inFlight.sort((a, b) => a.at - b.at)
      const next = this.#inFlight[0]
      if (!next || next.at > end) break
      this.#inFlight.shift()
      this.now = next.at
      this.#countLeaders()
      next.run()
      this.#countLeaders()
    }
    this.now = end
    this.#countLeaders()
  }

  step(index: number, network: Network): void {
    this.#candidates[index % this.#candidates.length]!.step(network)
    this.#countLeaders()
  }

  #countLeaders(): void {
    this.maxLeaders = Math.max(this.maxLeaders, this.#candidates.filter((candidate) => candidate.leads).length)
  }
}

interface Network {
  readonly there: number
  readonly back: number
  readonly lost: 'neither' | 'request' | 'answer'
}

class Candidate {
  readonly #model: Model
  readonly #identity: string
  readonly #rate: number
  readonly #leadFrom: 'sent' | 'answered'
  #observed: Observation | undefined
  #version = 0
  #renewed: Moment | undefined
  #call = 0

  constructor(model: Model, identity: string, rate: number, leadFrom: 'sent' | 'answered') {
    this.#model = model
    this.#identity = identity
    this.#rate = rate
    this.#leadFrom = leadFrom
  }

  get leads(): boolean {
    return this.#renewed !== undefined && leftMs(this.#renewed, this.#moment(), DEFAULT_TIMINGS) > 0
  }

  /** Tries once. An earlier try without a response is abandoned, though the server may still apply it. */
  step(network: Network): void {
    const call = ++this.#call
    if (this.#renewed && !this.leads) this.#renewed = undefined
    if (this.#renewed) return this.#write(call, network)
    this.#send(
      call,
      network,
      () => ({ record: this.#model.record, version: this.#model.version }),
      ({ record, version }) => {
        this.#version = version
        if (record) this.#observed = observe(this.#observed, record, this.#moment().monotonicMs)
        else this.#observed = undefined
        if (!this.#observed || mayAcquire(this.#observed, this.#identity, this.#moment().monotonicMs)) {
          this.#write(
            call,
            network,
          )
        }
      },
    )
  }

  #write(call: number, network: Network): void {
    const { monotonicMs, wallMs } = this.#moment()
    const record = claim(this.#observed?.record, this.#identity, wallMs, DEFAULT_TIMINGS)
    const version = this.#version
    this.#send(call, network, () => {
      if (this.#model.version !== version) return undefined
      this.#model.record = record
      return ++this.#model.version
    }, (written) => {
      if (written === undefined) {
        this.#renewed = undefined // conflict: a real leader reads again; this model gives up
        return
      }
      this.#version = written
      this.#observed = observe(this.#observed, record, this.#moment().monotonicMs)
      if (!this.#renewed) this.#model.terms++
      this.#renewed = this.#leadFrom === 'sent' ? { monotonicMs, wallMs } : this.#moment()
    })
  }

  #send<T>(call: number, { there, back, lost }: Network, serve: () => T, answer: (value: T) => void): void {
    if (lost === 'request') return
    this.#model.after(there, () => {
      const value = serve()
      if (lost === 'answer') return
      this.#model.after(back, () => {
        if (call === this.#call) answer(value)
      })
    })
  }

  #moment(): Moment {
    const elapsed = this.#model.now * this.#rate
    return { monotonicMs: elapsed, wallMs: WALL + elapsed + this.#rate * 1e9 }
  }
}

const delay = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 500 }), fc.integer({ min: 500, max: 40_000 }))
const run = fc.record({
  // Deadline and duration allow a factor of 1.5 between the fastest and the slowest clock.
  rates: fc.array(fc.double({ min: 0.82, max: 1.22, noNaN: true }), { minLength: 2, maxLength: 5 }),
  steps: fc.array(
    fc.record({
      index: fc.nat(4),
      pass: fc.oneof(fc.integer({ min: 0, max: 3000 }), fc.integer({ min: 3000, max: 20_000 })),
      network: fc.record({
        there: delay,
        back: delay,
        lost: fc.constantFrom<Network['lost']>('neither', 'neither', 'neither', 'request', 'answer'),
      }),
    }),
    { minLength: 5, maxLength: 60 },
  ),
})

function play(
  { rates, steps }: { rates: readonly number[]; steps: readonly { index: number; pass: number; network: Network }[] },
  leadFrom: 'sent' | 'answered',
): Model {
  const model = new Model(rates, leadFrom)
  for (const { index, pass, network } of steps) {
    model.step(index, network)
    model.pass(pass)
  }
  model.pass(60_000)
  return model
}

test('no two candidates lead at once, whatever the network and the clocks do', () => {
  let terms = 0
  let changes = 0
  fc.assert(
    fc.property(run, (input) => {
      const model = play(input, 'sent')
      terms += model.terms
      changes += model.terms > 1 ? 1 : 0
      assert.ok(model.maxLeaders <= 1, `${model.maxLeaders} lead at once`)
    }),
    { seed: 7, numRuns: 2000 },
  )
  assert.ok(
    terms > 2000 && changes > 200,
    `only ${terms} terms, ${changes} runs with a change of leader: too few to prove the property`,
  )
})

test('the property fails if a term counts from the response instead of the send time', () => {
  const outcome = fc.check(fc.property(run, (input) => play(input, 'answered').maxLeaders <= 1), {
    seed: 7,
    numRuns: 5000,
  })
  assert.equal(outcome.failed, true)
})

test('the property fails if clock rates differ by more than duration / deadline', () => {
  const wide = run.map((input) => ({ ...input, rates: input.rates.map((_, index) => (index === 0 ? 0.6 : 1.2)) }))
  const outcome = fc.check(fc.property(wide, (input) => play(input, 'sent').maxLeaders <= 1), {
    seed: 7,
    numRuns: 5000,
  })
  assert.equal(outcome.failed, true)
})
