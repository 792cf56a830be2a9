/** Tests of one term: fence, release, callbacks, labels, health and metrics. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Api } from '../../lib/client/api.ts'
import { LeadershipLost } from '../../lib/core/errors.ts'
import type { Fence } from '../../lib/core/fence.ts'
import type { Clock } from '../../lib/async/clock.ts'
import { microTime } from '../../lib/core/duration.ts'
import { ConfigMap } from '../../lib/kinds/mod.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { recorder, refusal, silence } from '../client/transports.ts'
import { memoryMeter } from '../observe/memory_meter.ts'
import {
  alone,
  type Candidate,
  candidate,
  holderOn,
  is,
  leading,
  leaseOn,
  pair,
  patchLease,
  setup,
  where,
} from './candidates.ts'
import { Host } from './host.ts'

const NAME = { name: 'lock' }
const MAP = { resource: ConfigMap, namespace: 'default', name: 'map' }

/** Returns a single candidate, started this long ago, on a machine whose event loop can be blocked. */
async function onHost(forMs: number): Promise<{ clock: FakeClock; host: Host; a: Candidate }> {
  const { clock, server } = setup()
  const host = new Host(clock)
  const a = candidate(server, host, 'a')
  a.start()
  await clock.advance(forMs)
  return { clock, host, a }
}

test('the fence before the start is that of the first term; the next start has another', async () => {
  const { clock, a } = alone()
  const first = a.elector.fence
  assert.throws(() => first.check(), /this process does not hold it yet$/)
  let given: Fence | undefined
  a.lead = (fence) => void (given = fence)
  a.start()
  await clock.advance(0)
  assert.equal(given, first)
  first.check()
  a.stop()
  await clock.advance(0)
  assert.equal(first.signal.aborted, true)
  assert.throws(
    () => first.check(),
    /^LeadershipLost: Cannot write under the lease "default\/lock": its term has ended$/,
  )
  const again = new AbortController()
  const running = a.elector.start(again.signal, (fence) => void (given = fence))
  await clock.advance(0)
  assert.equal(given, a.elector.fence)
  assert.notEqual(given, first)
  given!.check()
  assert.throws(() => first.check(), LeadershipLost)
  await assert.rejects(
    a.elector.start(new AbortController().signal, () => {}),
    /^Error: Cannot start the elector of lease "default\/lock": it is already running$/,
  )
  again.abort()
  await running
  assert.equal(clock.pending, 0)
})

test('the fence of a start that never led falls at its end', async () => {
  const { clock, b } = await pair()
  await clock.advance(5000)
  b.stop()
  await clock.advance(0)
  assert.throws(() => b.elector.fence.check(), LeadershipLost)
})

test("the end of a term aborts writes of the leader's clients, not of others or of the elector", async () => {
  const { clock, server, a } = alone()
  const network = recorder(server)
  const api = new Api({ transport: network.transport })
  const leaders = api.fenced(a.elector.fence)
  await assert.rejects(
    leaders.create(MAP, { metadata: { name: 'map', namespace: 'default' } }, {}),
    /this process does not hold it yet$/,
  )
  a.start()
  await clock.advance(0)
  await leaders.create(MAP, { metadata: { name: 'map', namespace: 'default' } }, {})
  network.intercept = silence
  const open = leaders.patch(MAP, 'merge', {}, {})
  a.network.intercept = where(is('PUT'), () => refusal(500, 'InternalError'))
  const refused = assert.rejects(
    open,
    /^LeadershipLost: Cannot renew lease "default\/lock" for 10 s: .*refused: InternalError$/,
  )
  await clock.advance(10_000)
  await refused
  network.intercept = undefined
  await assert.rejects(leaders.patch(MAP, 'merge', {}, {}), LeadershipLost)
  await leaders.get(MAP)
  await api.patch(MAP, 'merge', {}, {})
  assert.ok(a.outcome instanceof LeadershipLost)
  assert.throws(() => a.elector.fence.check(), (error) => error === a.outcome)
})

test('a check of the fence after a suspension ends the term at once, before the next renewal', async () => {
  const { clock, host, a } = await onHost(500)
  host.suspend(true)
  await clock.advance(12_000)
  host.resume()
  a.network.take()
  assert.throws(() => a.elector.fence.check(), LeadershipLost)
  await clock.advance(0)
  assert.match(
    String(a.outcome),
    /^LeadershipLost: .* for 10 s: the machine was suspended, or its clock set forward, by 10\.5 s$/,
  )
  assert.deepEqual(a.network.take(), [])
})

test('a lease is kept while a write is open, or shortly after one got no response', async () => {
  for (const [how, keeps] of [['open', true], ['lost', true], ['lost long ago', false], ['answered', false]] as const) {
    const { clock, server, a } = alone()
    const network = recorder(server)
    const api = new Api({ transport: network.transport }).fenced(a.elector.fence)
    a.start()
    await clock.advance(1000)
    network.intercept = (request, next) => {
      request.beforeSend?.()
      return how === 'open' ? silence(request) : how === 'answered' ? next(request) : Promise.reject(new Error('reset'))
    }
    const writing = api.create(MAP, { metadata: { name: 'map', namespace: 'default' } }, {}).catch((error: unknown) =>
      error
    )
    await clock.advance(how === 'lost long ago' ? 5000 : 1)
    a.stop()
    await clock.advance(0)
    await writing
    assert.deepEqual([a.outcome, await holderOn(server)], ['resolved', keeps ? 'a' : ''], how)
    assert.equal(
      a.lines.some((line) =>
        line.startsWith('warn Keeping the lease "default/lock" until it expires: a write of the leader')
      ),
      keeps,
      how,
    )
  }
})

test('labels and annotations are added to the Lease at its creation and at each renewal; all else stays', async () => {
  const { clock, server } = await leading(0, { labels: { app: 'x' }, annotations: { own: 'x' } })
  assert.deepEqual((await leaseOn(server)).metadata.labels, { app: 'x' })
  await patchLease(server, {
    metadata: { labels: { app: 'y', other: 'z' }, annotations: { note: 'keep' }, finalizers: ['example.dev/keep'] },
  })
  await clock.advance(2000)
  const { labels, annotations, finalizers } = (await leaseOn(server)).metadata
  assert.deepEqual([labels, annotations, finalizers], [{ app: 'x', other: 'z' }, { note: 'keep', own: 'x' }, [
    'example.dev/keep',
  ]])
})

test('callbacks are called for every change of holder and each term, in order; their errors are logged', async () => {
  const { clock, server } = setup()
  const events: string[] = []
  const note = (what: string) => async (): Promise<void> => {
    events.push(`${what} …`)
    await Promise.resolve()
    events.push(what)
    if (what === 'stopped') throw new Error('oh no')
  }
  const onNewLeader = (identity: string): Promise<void> => note(`leader "${identity}"`)()
  const a = candidate(server, clock, 'a', {
    callbacks: { onNewLeader, onStartedLeading: note('started'), onStoppedLeading: note('stopped') },
  })
  const seen: string[] = []
  const b = candidate(server, clock, 'b', {
    callbacks: {
      onNewLeader: (identity) => void seen.push(identity),
      onStoppedLeading: () => assert.fail('it never led'),
    },
  })
  a.start()
  await clock.advance(1)
  b.start()
  await clock.advance(10_000)
  b.stop()
  a.stop()
  await clock.advance(0)
  assert.deepEqual(events.filter((each) => !each.endsWith('…')), ['leader "a"', 'started', 'stopped', 'leader ""'])
  assert.ok(events.every((each, at) => at % 2 === 0 ? each.endsWith('…') : events[at - 1] === `${each} …`))
  assert.deepEqual(seen, ['a'])
  assert.deepEqual(a.lines.filter((line) => line.startsWith('error')), ['error onStoppedLeading failed: oh no'])
  assert.deepEqual([a.outcome, b.lines.filter((line) => line.startsWith('error'))], ['resolved', []])
})

test('a callback that never ends blocks nothing but the end, for at most the renew deadline', async () => {
  const { clock, server, a } = await leading(60_000, {
    callbacks: { onStartedLeading: () => new Promise<void>(() => {}) },
  })
  assert.equal(a.elector.isLeader, true)
  a.stop()
  await clock.advance(0)
  assert.equal(await holderOn(server), '')
  await clock.advance(9999)
  assert.equal(a.outcome, undefined)
  await clock.advance(1)
  assert.deepEqual([a.outcome, clock.pending], ['resolved', 0])
})

test('checkHealthy throws only for a leader whose renewal is older than the lease and the tolerance', async () => {
  const { clock, server } = setup()
  const host = new Host(clock)
  const a = candidate(server, host, 'a')
  a.elector.checkHealthy()
  a.start()
  await clock.advance(300_000)
  a.elector.checkHealthy()
  // The health check may be the first code to run after a long pause.
  host.suspend(false)
  await clock.advance(20_000)
  host.resume()
  a.elector.checkHealthy(5000)
  assert.throws(
    () => a.elector.checkHealthy(4999),
    /^Error: Cannot report healthy: this process leads, but has not renewed the lease "default\/lock" for 20 s$/,
  )
  await clock.advance(0)
  assert.ok(a.outcome instanceof LeadershipLost)
  a.elector.checkHealthy()
})

test('metrics show whether the lease is held, and count renewals that had to read it first', async () => {
  const { clock, server } = setup()
  const meter = memoryMeter()
  const a = candidate(server, clock, 'a', { meter })
  const status = (): number | undefined => meter.value('leader_election_master_status', NAME)
  assert.deepEqual([status(), meter.value('leader_election_slowpath_total', NAME)], [0, 0])
  a.start()
  await clock.advance(1000)
  assert.deepEqual([status(), meter.value('leader_election_slowpath_total', NAME)], [1, 0])
  await patchLease(server, { metadata: { labels: { touched: 'yes' } } })
  await clock.advance(5000)
  assert.deepEqual([status(), meter.value('leader_election_slowpath_total', NAME)], [1, 1])
  a.stop()
  await clock.advance(0)
  assert.equal(status(), 0)
  const b = candidate(server, clock, 'b', { meter })
  b.start()
  await clock.advance(1000)
  assert.equal(status(), 1)
  await patchLease(server, { spec: { holderIdentity: 'c' } })
  await clock.advance(1000)
  assert.deepEqual([b.outcome instanceof LeadershipLost, status()], [true, 0])
})

test('a blocked event loop is logged with its duration, and is the reason if the lease is lost by it', async () => {
  const { clock, host, a } = await onHost(500)
  host.suspend(false)
  await clock.advance(8700)
  host.resume()
  await clock.advance(0)
  assert.deepEqual(a.lines.filter((line) => line.startsWith('warn')), [
    'warn Renewing the lease "default/lock" late: the event loop was blocked, or the process suspended, for 7.2 s; the lease would have been lost in 800 ms',
  ])
  assert.equal(a.elector.isLeader, true)
  host.suspend(false)
  await clock.advance(14_000)
  host.resume()
  await clock.advance(0)
  assert.match(
    String(a.outcome),
    /^LeadershipLost: Cannot renew lease "default\/lock" for 10 s: the event loop was blocked, or the process suspended, for 12 s$/,
  )
})

test("a block by the leader's start is measured from the start of the term, and the lease is renewed right after it", async () => {
  const { clock, server } = setup()
  let heldMs = 0
  const held: Clock = {
    now: () => clock.now() + heldMs,
    monotonic: () => clock.monotonic() + heldMs,
    after: (ms, fire) => clock.after(ms, fire),
  }
  const a = candidate(server, held, 'a')
  a.lead = () => void (heldMs += 5000)
  a.start()
  await clock.advance(0)
  await clock.advance(0)
  assert.deepEqual(a.lines.filter((line) => line.startsWith('warn')), [
    'warn Renewing the lease "default/lock" late: the event loop was blocked, or the process suspended, for 3 s; the lease would have been lost in 5 s',
  ])
  assert.equal((await leaseOn(server)).spec.renewTime, microTime(held.now()))
  assert.equal(a.elector.isLeader, true)
  a.stop()
  await clock.advance(0)

  const b = candidate(server, held, 'b')
  b.lead = () => void (heldMs += 13_000)
  b.start()
  await clock.advance(5000)
  assert.equal(b.leads, 1)
  assert.match(
    String(b.outcome),
    /^LeadershipLost: Cannot renew lease "default\/lock" for 10 s: the event loop was blocked, or the process suspended, for 11 s$/,
  )
})

test('a slightly late renewal is not logged', async () => {
  const { clock, host, a } = await onHost(1500)
  host.suspend(false)
  await clock.advance(1400)
  host.resume()
  await clock.advance(10_000)
  assert.deepEqual(a.lines.filter((line) => line.startsWith('warn')), [])
})

test('an election that ends before its first try leaves the lease of an earlier term alone', async () => {
  const { clock, server } = setup()
  const { elector, network } = candidate(server, clock, 'a')
  const stop = new AbortController()
  const first = elector.start(stop.signal, () => {}, { mayRelease: () => false })
  await clock.advance(0)
  stop.abort()
  await first
  assert.equal(await holderOn(server), 'a')
  network.take()
  await elector.start(AbortSignal.abort(new Error('over')), () => {})
  assert.deepEqual([await holderOn(server), network.take(), clock.pending], ['a', [], 0])
})
