import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LeadershipLost } from '../../lib/core/errors.ts'
import { DEFAULT_TIMINGS, momentOf } from '../../lib/leader/lease_state.ts'
import { LeaseFence } from '../../lib/leader/lease_fence.ts'
import { bothFences } from '../../lib/async/both_fences.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { Host } from './host.ts'

const LOST = /^LeadershipLost: the time is over$/

function setup(): { clock: FakeClock; host: Host; fence: LeaseFence } {
  const clock = new FakeClock()
  const host = new Host(clock)
  const fence = new LeaseFence({
    clock: host,
    timings: DEFAULT_TIMINGS,
    title: 'lease "default/lock"',
    expired: () => new LeadershipLost('the time is over'),
  })
  return { clock, host, fence }
}

test('before the lease is acquired the fence blocks writes, and its signal is not aborted', async () => {
  const { clock, fence } = setup()
  assert.throws(
    () => fence.check(),
    /^Error: Cannot write under the lease "default\/lock": this process does not hold it yet$/,
  )
  assert.deepEqual(
    [fence.holds(), fence.signal.aborted, fence.renewedAgoMs, clock.pending],
    [false, false, undefined, 0],
  )
})

test('it holds until the deadline after the last renewal was sent; then a timer lets it fall, and check throws its reason', async () => {
  const { clock, host, fence } = setup()
  assert.equal(fence.renew(momentOf(host)), true)
  await clock.advance(4000)
  const sent = momentOf(host)
  await clock.advance(3000) // a slow response
  assert.equal(fence.renew(sent), true)
  await clock.advance(6999)
  fence.check()
  assert.deepEqual([fence.signal.aborted, fence.renewedAgoMs], [false, 9999])
  await clock.advance(1)
  assert.equal(fence.signal.aborted, true)
  assert.throws(() => fence.check(), (error) => error === fence.signal.reason && LOST.test(String(error)))
  assert.equal(clock.pending, 0)
})

test('it falls at the first check after the deadline if the timer is late', () => {
  const { host, fence } = setup()
  fence.renew(momentOf(host))
  host.setWall(10_000)
  assert.equal(fence.signal.aborted, false)
  assert.throws(() => fence.check(), LOST)
  assert.equal(fence.signal.aborted, true)
})

test('it stays down, whatever is renewed, and only the first reason counts', async () => {
  const { clock, host, fence } = setup()
  fence.renew(momentOf(host))
  fence.fall(new LeadershipLost('another holds it'))
  fence.fall(new LeadershipLost('late'))
  assert.equal(fence.renew(momentOf(host)), false)
  assert.throws(() => fence.check(), /^LeadershipLost: another holds it$/)
  assert.equal(clock.pending, 0)
  const { clock: later, host: there, fence: other } = setup()
  const sent = momentOf(there)
  other.renew(sent)
  await later.advance(9000)
  there.suspend(true)
  await later.advance(5000)
  there.resume()
  // The renewal was sent in time, but its response is read too late.
  assert.equal(other.renew({ monotonicMs: sent.monotonicMs + 9000, wallMs: sent.wallMs + 9000 }), false)
  assert.throws(() => other.check(), LOST)
})

test('a first renewal that is too late does not count, and a later one may', async () => {
  const { clock, host, fence } = setup()
  const sent = momentOf(host)
  await clock.advance(10_000)
  assert.deepEqual([fence.renew(sent), fence.holds(), fence.signal.aborted, clock.pending], [false, false, false, 0])
  assert.deepEqual([fence.renew(momentOf(host)), fence.holds()], [true, true])
  fence.fall(new Error('end'))
})

test('a wall clock that is set back extends nothing, and does not hide a later suspension', async () => {
  const { clock, host, fence } = setup()
  fence.renew(momentOf(host))
  await clock.advance(1000)
  host.setWall(-3_600_000)
  assert.equal(fence.renewedAgoMs, 1000)
  await clock.advance(1000)
  assert.equal(fence.renewedAgoMs, 2000)
  host.suspend(true)
  await clock.advance(7999)
  host.resume()
  assert.equal(fence.renewedAgoMs, 9999)
  await clock.advance(1)
  assert.equal(fence.holds(), false)
})

test('time that a clock has shown stays elapsed until the next renewal, even if the clock is set back', async () => {
  const { clock, host, fence } = setup()
  fence.renew(momentOf(host))
  host.setWall(6000)
  assert.equal(fence.renewedAgoMs, 6000)
  host.setWall(-6000)
  await clock.advance(1000)
  assert.equal(fence.renewedAgoMs, 7000)
  fence.renew(momentOf(host))
  assert.equal(fence.renewedAgoMs, 0)
  fence.fall(new Error('end'))
})

test('one timer serves all renewals', async () => {
  const { clock, host, fence } = setup()
  for (let renewal = 0; renewal < 100; renewal++) {
    fence.renew(momentOf(host))
    await clock.advance(2000)
    assert.equal(clock.pending, 1)
  }
  fence.fall(new Error('end'))
  assert.equal(clock.pending, 0)
})

test('a write is open until it ends; one without a response stays open for the margin', async () => {
  const { clock, fence } = setup()
  assert.equal(fence.settled, true)
  const both = bothFences({ signal: new AbortController().signal, check() {} }, fence)
  const [first, second] = [fence.opened(), both.opened!()]
  assert.equal(fence.settled, false)
  first('answered')
  assert.equal(fence.settled, false)
  second('unsent')
  assert.equal(fence.settled, true)
  fence.opened()('unknown')
  await clock.advance(4999)
  assert.equal(fence.settled, false)
  await clock.advance(1)
  assert.equal(fence.settled, true)
})
