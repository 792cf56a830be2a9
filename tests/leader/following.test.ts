/** Tests of followers with a watch: how soon they lead, and how many requests they send. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import { Api } from '../../lib/client/api.ts'
import { NetworkError } from '../../lib/core/errors.ts'
import type { HttpResponse, Transport } from '../../lib/core/transport.ts'
import { FakeClock } from '../../lib/testing/fake_clock.ts'
import { refusal, silence } from '../client/transports.ts'
import { type Candidate, candidate, holderOn, LEASE, leaseOn, patchLease, PATH, TARGET } from './candidates.ts'
import { isWatch, through } from './weather.ts'

const WATCH = `GET ${PATH}`
const GET = `GET ${PATH}/lock`
const PUT = `PUT ${PATH}/lock`

function setup(): { clock: FakeClock; server: Transport } {
  const clock = new FakeClock()
  return { clock, server: new ApiServer({ clock }).handle }
}

/** Starts a leader, and a follower that has observed it. */
async function pair(
  server: Transport,
  clock: FakeClock,
  over: Parameters<typeof candidate>[3] = {},
): Promise<{ a: Candidate; b: Candidate }> {
  const a = candidate(server, clock, 'a')
  const b = candidate(server, clock, 'b', over)
  a.start()
  await clock.advance(1)
  b.start()
  await clock.advance(0)
  return { a, b }
}

test('a follower sends nothing while its watch is open', async () => {
  const { clock, server } = setup()
  const { b } = await pair(server, clock)
  assert.deepEqual(b.network.take(), [GET, WATCH])
  const watch = new URL(b.network.requests.at(-1)!.path, 'http://localhost').searchParams
  assert.equal(watch.get('fieldSelector'), 'metadata.name=lock')
  assert.ok(Number(watch.get('timeoutSeconds')) >= 300)
  await clock.advance(290_000)
  assert.deepEqual([b.network.take(), b.leads], [[], 0])
})

test("a follower that lost a race reads the lease at once, as the winner's time counts from that read", async () => {
  const { clock, server } = setup()
  const racing = ['a', 'b'].map((identity) => candidate(server, clock, identity, { random: () => 0.999 }))
  for (const each of racing) each.start()
  await clock.advance(0)
  const loser = racing.find(({ leads }) => leads === 0)!
  assert.equal(racing.filter(({ leads }) => leads === 1).length, 1)
  assert.deepEqual(loser.network.take(), [GET, `POST ${PATH}`])
  await clock.advance(250)
  assert.deepEqual(loser.network.take(), [GET, WATCH])
})

test('a watch that the server closes is reopened at its last version, without a read', async () => {
  const { clock, server } = setup()
  const { b } = await pair(server, clock)
  await clock.advance(1000)
  b.network.take()
  await clock.advance(620_000)
  assert.deepEqual(b.network.take(), [WATCH, WATCH])
})

test('a released lease is acquired within the jitter', async () => {
  const { clock, server } = setup()
  const { a, b } = await pair(server, clock, { random: () => 0.999 })
  await clock.advance(100_000)
  b.network.take()
  a.stop()
  await clock.advance(249)
  assert.equal(b.leads, 0)
  await clock.advance(1)
  assert.deepEqual([b.leads, b.network.take(), (await leaseOn(server)).spec.leaseTransitions], [1, [GET, PUT], 1])
})

test('a follower creates a deleted lease if its leader is gone', async () => {
  const { clock, server } = setup()
  const { a, b } = await pair(server, clock)
  a.network.intercept = silence
  await clock.advance(1000)
  await new Api({ transport: server }).delete(TARGET, {})
  await clock.advance(0)
  assert.deepEqual([b.leads, await holderOn(server)], [1, 'b'])
})

test('a follower leads as soon as the lease of a crashed leader expires, counted from the last renewal on the watch', async () => {
  const { clock, server } = setup()
  const { a, b } = await pair(server, clock)
  await clock.advance(5999) // the last renewal is at 6 s
  a.network.intercept = silence
  b.network.take()
  await clock.advance(14_999)
  assert.deepEqual([b.leads, b.network.take()], [0, []])
  await clock.advance(1)
  assert.deepEqual([b.leads, b.network.take()], [1, [GET, PUT]])
})

/** A network that loses the responses to the first `times` updates, after the server has applied them. */
function losing(times: number): NonNullable<Candidate['network']['intercept']> {
  return (
    request,
    next,
  ) => (request.method === 'PUT' && times-- > 0
    ? through('answer lost', request, next, new FakeClock(), 0)
    : next(request))
}

test('a follower whose winning response is lost polls again, and does not wait until its own record expires', async () => {
  for (const watches of [true, false]) {
    const { clock, server } = setup()
    const { a, b } = await pair(server, clock, { random: () => 0.999 })
    const lose = losing(1)
    b.network.intercept = (
      request,
      next,
    ) => (isWatch(request) && !watches ? Promise.resolve(refusal(403, 'Forbidden')) : lose(request, next))
    await clock.advance(100)
    a.network.intercept = silence
    await clock.advance(15_250)
    assert.deepEqual(
      [await holderOn(server), b.leads, b.elector.isLeader],
      ['b', 0, false],
      'it does not lead by a write that was not answered',
    )
    await clock.advance(4400)
    const { spec } = await leaseOn(server)
    assert.deepEqual([b.leads, b.elector.isLeader, spec.leaseTransitions], [1, true, 1], `watches: ${watches}`)
    b.stop()
    await clock.advance(0)
    assert.equal(await holderOn(server), '')
  }
})

test('while every response is lost, our own record is read once per polling interval', async () => {
  const { clock, server } = setup()
  const { a, b } = await pair(server, clock)
  b.network.intercept = losing(Infinity)
  a.stop()
  await clock.advance(0)
  assert.equal(await holderOn(server), 'b')
  b.network.take()
  await clock.advance(20_000)
  assert.deepEqual(b.network.take(), Array.from({ length: 10 }, () => [GET, PUT]).flat())
  assert.deepEqual([b.leads, b.elector.isLeader], [0, false])
  b.network.intercept = undefined
  await clock.advance(2000)
  assert.equal(b.leads, 1)
})

test('a follower that is stopped after its winning response was lost releases the lease', async () => {
  const { clock, server } = setup()
  const { a, b } = await pair(server, clock)
  b.network.intercept = losing(1)
  a.stop()
  await clock.advance(0)
  assert.equal(await holderOn(server), 'b')
  b.stop()
  await clock.advance(0)
  assert.deepEqual([await holderOn(server), b.leads, b.outcome], ['', 0, 'resolved'])
})

test('a process that restarts under its fixed name leads at once, though its first response is lost', async () => {
  const { clock, server } = setup()
  const { b: other } = await pair(server, clock)
  const again = candidate(server, clock, 'a')
  again.network.intercept = losing(1)
  again.start()
  await clock.advance(2000)
  assert.deepEqual([again.leads, other.leads], [1, 0])
})

test('an elector that lost its lease by missing responses gets it back with its next start', async () => {
  const { clock, server } = setup()
  const { a, b } = await pair(server, clock)
  a.network.intercept = losing(Infinity)
  await clock.advance(12_000)
  assert.ok(a.outcome instanceof Error)
  assert.equal(await holderOn(server), 'a')
  a.network.intercept = losing(1)
  a.start()
  await clock.advance(2000)
  assert.deepEqual([a.leads, a.elector.isLeader, b.leads], [2, true, 0])
})

test("annotating the Lease does not extend a crashed leader's term, though the watch reports it", async () => {
  const { clock, server } = setup()
  const { a, b } = await pair(server, clock)
  a.network.intercept = silence
  for (let second = 1; second <= 15; second++) {
    await clock.advance(1000)
    await patchLease(server, { metadata: { annotations: { at: String(second) } } })
  }
  await clock.advance(0)
  assert.equal(b.leads, 1)
})

test('a follower that may not watch logs the missing verb, polls as client-go does, and is as safe', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  const b = candidate(server, clock, 'b')
  b.network.intercept = (
    request,
    next,
  ) => (isWatch(request) ? Promise.resolve(refusal(403, 'Forbidden', {}, 'leases is forbidden')) : next(request))
  a.start()
  await clock.advance(1)
  b.start()
  await clock.advance(660_000)
  const taken = b.network.take()
  assert.equal(taken.filter((each) => each === GET).length, 331)
  assert.equal(taken.filter((each) => each === WATCH).length, 2) // at once, and after ten minutes
  const warnings = b.lines.filter((line) => line.includes('verb watch'))
  assert.match(
    warnings[0]!,
    /^info Cannot watch .*leases is forbidden \(the verb watch on leases makes the handover prompt\); polling every 2 s to 4\.4 s instead$/,
  )
  assert.equal(warnings.length, 2)
  a.stop()
  await clock.advance(2000)
  assert.equal(b.leads, 1)
})

test('a watch that always breaks at once costs few requests, and polling continues', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  const b = candidate(server, clock, 'b')
  b.network.intercept = (
    request,
    next,
  ) => (isWatch(request) ? Promise.reject(new NetworkError('broke', { phase: 'response' })) : next(request))
  a.start()
  await clock.advance(1)
  b.start()
  await clock.advance(600_000)
  const taken = b.network.take()
  assert.equal(taken.filter((each) => each === GET).length, 301)
  const watches = taken.filter((each) => each === WATCH).length
  assert.ok(watches <= 16, `${watches} watches in ten minutes`)
})

test('a broken watch is reopened at its last version, and reports what happened meanwhile', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  const b = candidate(server, clock, 'b')
  let watches = 0
  b.network.intercept = (
    request,
    next,
  ) => (isWatch(request) && watches++ === 0 ? through('slow there', request, next, clock, 5500) : next(request))
  a.start()
  await clock.advance(1)
  b.start()
  await clock.advance(7000) // broke at the renewal at 6 s
  assert.equal(watches, 2)
  b.network.take()
  a.stop()
  await clock.advance(0)
  assert.deepEqual([b.leads, b.network.take()], [1, [GET, PUT]])
})

test('a watch that missed a change is detected when the record seems to expire, and replaced', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  const b = candidate(server, clock, 'b')
  let watches = 0
  b.network.intercept = (
    request,
    next,
  ) => (isWatch(request) && watches++ === 0 ? through('answer lost', request, next, clock, 0) : next(request))
  a.start()
  await clock.advance(1)
  b.start()
  await clock.advance(14_999)
  b.network.take()
  await clock.advance(1)
  assert.deepEqual([b.leads, b.network.take()], [0, [GET, WATCH]])
  await clock.advance(60_000)
  assert.deepEqual([b.leads, b.network.take()], [0, []])
  a.stop()
  await clock.advance(0)
  assert.equal(b.leads, 1)
})

test('an expired version is read again', async () => {
  const { clock, server } = setup()
  let watches = 0
  const a = candidate(server, clock, 'a')
  const b = candidate(server, clock, 'b')
  b.network.intercept = (
    request,
    next,
  ) => (isWatch(request) && watches++ === 0 ? Promise.resolve(refusal(410, 'Expired')) : next(request))
  a.start()
  await clock.advance(1)
  b.start()
  await clock.advance(10_000)
  assert.deepEqual(b.network.take(), [GET, WATCH, GET, WATCH])
})

test('of many followers that wake at once one leads, and the others follow with few requests', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  a.start()
  await clock.advance(1)
  const many = Array.from(
    { length: 20 },
    (_, index) => candidate(server, clock, `f${index}`, { random: () => index / 20 }),
  )
  for (const each of many) each.start()
  await clock.advance(10_000)
  for (const each of many) each.network.take()
  a.stop()
  await clock.advance(5000)
  assert.equal(many.reduce((sum, { leads }) => sum + leads, 0), 1)
  const asked = many.flatMap((each) => each.network.take()).filter((each) => each === GET).length
  assert.ok(asked <= 3, `${asked} asked: the others knew already that another was faster`)
  assert.equal((await leaseOn(server)).spec.leaseTransitions, 1)
})

test('many followers without jitter: a loser does not retry at once', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  a.start()
  await clock.advance(1)
  const many = Array.from({ length: 20 }, (_, index) => candidate(server, clock, `f${index}`))
  for (const each of many) each.start()
  await clock.advance(10_000)
  for (const each of many) each.network.take()
  a.stop()
  await clock.advance(1000)
  assert.equal(many.reduce((sum, { leads }) => sum + leads, 0), 1)
  for (const each of many) assert.ok(each.network.take().length <= 3)
})

test('a stopped follower leaves no watch, no timer and no listener', async () => {
  const { clock, server } = setup()
  await new Api({ transport: server }).create({ resource: LEASE, namespace: 'default' }, {
    metadata: { name: 'lock' },
    spec: { holderIdentity: 'x', leaseDurationSeconds: 3600 },
  }, {})
  const b = candidate(server, clock, 'b')
  let open = 0
  b.network.intercept = async (request, next) => {
    const response = await next(request)
    if (!isWatch(request)) return response
    open++
    request.signal!.addEventListener('abort', () => open--)
    return response
  }
  b.start()
  await clock.advance(5000)
  assert.equal(open, 1)
  b.stop()
  await clock.advance(0)
  assert.deepEqual([b.outcome, open, clock.pending], ['resolved', 0, 0])
})

test('the watch ends when the lease is acquired', async () => {
  const { clock, server } = setup()
  const { a, b } = await pair(server, clock)
  const watch = b.network.requests.find(isWatch)!
  a.stop()
  await clock.advance(1000)
  assert.deepEqual([b.leads, watch.signal!.aborted], [1, true])
  b.network.take()
  await clock.advance(2000)
  assert.deepEqual(b.network.take(), [PUT])
})

test('with a watch that gets no response, the follower polls', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  const b = candidate(server, clock, 'b')
  b.network.intercept = (request, next): Promise<HttpResponse> => (isWatch(request) ? silence(request) : next(request))
  a.start()
  await clock.advance(1)
  b.start()
  await clock.advance(10_000)
  assert.deepEqual(b.network.take(), [GET, WATCH, GET, GET, GET, GET, GET])
})

test('a watch that ignores its signal does not delay the winner', async () => {
  const { clock, server } = setup()
  const { a, b } = await pair(server, clock)
  b.stop()
  await clock.advance(0)
  const c = candidate(server, clock, 'c')
  c.network.intercept = async (request, next) => {
    if (!isWatch(request)) return await next(request)
    const response = await next(request)
    return {
      ...response,
      body: { ...response.body, [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) },
    }
  }
  c.start()
  await clock.advance(5000)
  a.stop()
  await clock.advance(16_000)
  assert.deepEqual([c.leads, c.elector.isLeader], [1, true])
})
