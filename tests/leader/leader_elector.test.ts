import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import { Api } from '../../lib/client/api.ts'
import { LeadershipLost, NetworkError } from '../../lib/core/errors.ts'
import type { HttpResponse, Transport } from '../../lib/core/transport.ts'
import type { Clock } from '../../lib/async/clock.ts'
import { FakeClock } from '../../lib/testing/fake_clock.ts'
import { bodyOf, refusal, silence } from '../client/transports.ts'
import { candidate, holderOn, LEASE, leaseOn, meddle, PATH, TARGET } from './candidates.ts'
import { isWatch } from './weather.ts'

const START = '2026-01-01T00:00:00.000000Z'

function setup(): { clock: FakeClock; server: Transport } {
  const clock = new FakeClock()
  return { clock, server: new ApiServer({ clock }).handle }
}

async function createLease(server: Transport, spec: object, metadata: object = {}): Promise<void> {
  await new Api({ transport: server }).create({ resource: LEASE, namespace: 'default' }, {
    metadata: { name: 'lock', ...metadata },
    spec,
  }, {})
}

const held = {
  holderIdentity: 'other',
  leaseDurationSeconds: 15,
  acquireTime: START,
  renewTime: START,
  leaseTransitions: 3,
}

test('without a Lease it is created in our name, in the form that client-go writes', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  a.start()
  await clock.advance(0)
  assert.deepEqual(a.network.take(), [`GET ${PATH}/lock`, `POST ${PATH}`])
  assert.deepEqual((await leaseOn(server)).spec, {
    holderIdentity: 'a',
    leaseDurationSeconds: 15,
    acquireTime: START,
    renewTime: START,
    leaseTransitions: 0,
  })
  assert.deepEqual([a.leads, a.elector.isLeader, a.outcome], [1, true, undefined])
})

test('renewing is one PUT each period and no GET; acquireTime and transitions stay', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  a.start()
  await clock.advance(1999)
  a.network.take()
  for (let renewal = 1; renewal <= 20; renewal++) {
    await clock.advance(2000)
    assert.deepEqual(a.network.take(), [`PUT ${PATH}/lock`])
  }
  assert.deepEqual((await leaseOn(server)).spec, {
    holderIdentity: 'a',
    leaseDurationSeconds: 15,
    acquireTime: START,
    renewTime: '2026-01-01T00:00:40.000000Z',
    leaseTransitions: 0,
  })
  assert.equal(a.leads, 1)
})

test('labels, annotations and unknown fields of the Lease survive a takeover and renewals', async () => {
  const { clock, server } = setup()
  await createLease(server, { ...held, holderIdentity: '' }, { labels: { app: 'x' }, annotations: { note: 'keep' } })
  const a = candidate(server, clock, 'a')
  a.start()
  await clock.advance(4000)
  a.stop()
  await clock.advance(0)
  const { metadata, spec } = await leaseOn(server)
  assert.deepEqual([metadata.labels, metadata.annotations, spec.leaseTransitions, await holderOn(server)], [
    { app: 'x' },
    { note: 'keep' },
    4,
    '',
  ])
})

test('a Lease of another is taken when it did not change for its own duration since it was first seen, however old it looks', async () => {
  const { clock, server } = setup()
  await createLease(server, { ...held, leaseDurationSeconds: 30, renewTime: '2020-01-01T00:00:00.000000Z' })
  const a = candidate(server, clock, 'a')
  a.start()
  await clock.advance(29_999)
  assert.deepEqual([a.leads, a.elector.isLeader], [0, false])
  assert.deepEqual(a.lines.filter((line) => line.includes('Waiting')), [
    'info Waiting for the lease "default/lock", which "other" holds',
  ])
  await clock.advance(1)
  assert.equal(a.leads, 1)
  assert.deepEqual((await leaseOn(server)).spec, {
    holderIdentity: 'a',
    leaseDurationSeconds: 15,
    acquireTime: '2026-01-01T00:00:30.000000Z',
    renewTime: '2026-01-01T00:00:30.000000Z',
    leaseTransitions: 4,
  })
})

test("who annotates the Lease does not keep a dead leader's alive", async () => {
  const { clock, server } = setup()
  await createLease(server, held)
  const a = candidate(server, clock, 'a')
  a.start()
  for (let second = 0; second < 8; second++) {
    await meddle(server, { metadata: { annotations: { at: String(second) } } })
    await clock.advance(2000)
  }
  assert.equal(a.leads, 1)
})

test('followers that may not watch wait between one and 2.2 periods between tries, after the try before has ended', async () => {
  const { clock, server } = setup()
  await createLease(server, { ...held, leaseDurationSeconds: 3600 })
  for (const [random, ms] of [[0, 2000], [0.5, 3200], [0.999, 4397.6]] as const) {
    const a = candidate(server, clock, 'a', { random: () => random })
    a.network.intercept = (
      request,
      next,
    ) => (isWatch(request) ? Promise.resolve(refusal(403, 'Forbidden')) : next(request))
    a.start()
    await clock.advance(0)
    assert.deepEqual(a.network.take(), [`GET ${PATH}/lock`, `GET ${PATH}`])
    await clock.advance(ms - 1)
    assert.equal(a.network.take().length, 0, `before ${ms}`)
    await clock.advance(2)
    assert.equal(a.network.take().length, 1, `after ${ms}`)
    a.stop()
    await clock.advance(0)
  }
  assert.equal(clock.pending, 0)
})

test('a conflict while renewing falls back to reading; the lease is still ours', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  a.start()
  await clock.advance(1000)
  a.network.take()
  await meddle(server, { metadata: { labels: { touched: 'yes' } } })
  await clock.advance(1000)
  assert.deepEqual(a.network.take(), [`PUT ${PATH}/lock`, `GET ${PATH}/lock`, `PUT ${PATH}/lock`])
  assert.deepEqual([a.elector.isLeader, (await leaseOn(server)).metadata.labels], [true, { touched: 'yes' }])
  await clock.advance(2000)
  assert.deepEqual(a.network.take(), [`PUT ${PATH}/lock`])
})

test('a Lease that was deleted is made anew by its leader', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  a.start()
  await clock.advance(1000)
  await new Api({ transport: server }).delete(TARGET, {})
  await clock.advance(1000)
  assert.deepEqual([a.elector.isLeader, a.leads, await holderOn(server)], [true, 1, 'a'])
})

test("a leader that finds another in its place ends at once, and leaves the other's lease alone", async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  a.start()
  await clock.advance(1000)
  await meddle(server, { spec: { holderIdentity: 'b' } })
  const before = await leaseOn(server)
  await clock.advance(1000)
  assert.ok(a.outcome instanceof LeadershipLost)
  assert.match(a.outcome.message, /^Cannot renew lease "default\/lock": "b" holds it now$/)
  assert.equal(a.elector.isLeader, false)
  a.stop()
  await clock.advance(60_000)
  assert.deepEqual(await leaseOn(server), before)
})

test('a leader that cannot renew ends at the deadline, counted from when its last success was sent', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  a.start()
  await clock.advance(3000)
  a.network.intercept = () => Promise.resolve(refusal(503, 'ServiceUnavailable', {}, 'etcd is away'))
  await clock.advance(8999)
  assert.deepEqual([a.outcome, a.elector.isLeader], [undefined, true])
  await clock.advance(1)
  assert.ok(a.outcome !== undefined && a.outcome !== 'resolved' && a.outcome instanceof LeadershipLost)
  assert.match(
    a.outcome.message,
    /^Cannot renew lease "default\/lock" for 10 s: Cannot update Lease "default\/lock": etcd is away$/,
  )
  assert.ok(a.outcome.cause instanceof Error)
  assert.deepEqual([a.elector.isLeader, clock.pending], [false, 0])
})

test('the pause between tries does not reach beyond the deadline', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a', {
    timings: { durationMs: 11_000, renewDeadlineMs: 10_000, retryPeriodMs: 8000 },
  })
  a.start()
  await clock.advance(0)
  a.network.intercept = () => Promise.resolve(refusal(500, 'InternalError'))
  await clock.advance(9999)
  assert.equal(a.elector.isLeader, true)
  await clock.advance(1)
  assert.deepEqual([a.elector.isLeader, a.outcome instanceof LeadershipLost], [false, true])
})

test('an answer that was long under way does not lengthen the term', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  a.network.intercept = (request, next) => {
    if (request.method === 'PUT') return silence(request)
    return request.method === 'POST' ? later(clock, 4900, next(request)) : next(request)
  }
  a.start()
  await clock.advance(4900)
  assert.equal(a.leads, 1)
  await clock.advance(5099)
  assert.equal(a.elector.isLeader, true)
  await clock.advance(1)
  assert.deepEqual([a.elector.isLeader, a.outcome instanceof LeadershipLost], [false, true])
})

test('a renewal that hangs is given up in time for another try', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  a.start()
  await clock.advance(1000)
  a.network.intercept = silence
  await clock.advance(2000)
  a.network.intercept = undefined
  a.network.take()
  await clock.advance(4000) // sent at 2 s, given up at 7 s, and tried again at once
  assert.deepEqual(a.network.take(), [`PUT ${PATH}/lock`])
  await clock.advance(60_000)
  assert.deepEqual([a.elector.isLeader, a.leads, a.outcome], [true, 1, undefined])
  assert.match(
    a.lines.join('\n'),
    /warn Cannot renew lease "default\/lock": the server did not answer within 5 s; trying again/,
  )
})

test('a transport that is deaf to its signal cannot hold up the end of a term, nor revive it by a late answer', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  a.start()
  await clock.advance(0)
  a.network.intercept = (request, next) => later(clock, 20_000, next(request))
  await clock.advance(10_000)
  assert.deepEqual([a.outcome instanceof LeadershipLost, a.elector.isLeader], [true, false])
  await clock.advance(60_000)
  assert.deepEqual([a.elector.isLeader, a.leads, clock.pending], [false, 1, 0])
})

test('a machine that was suspended has lost its term, though its monotonic clock stood still', async () => {
  const { clock, server } = setup()
  let asleepMs = 0
  const own: Clock = {
    now: () => clock.now() + asleepMs,
    monotonic: () => clock.monotonic(),
    after: (ms, fn) => clock.after(ms, fn),
  }
  const a = candidate(server, own, 'a')
  a.start()
  await clock.advance(1000)
  asleepMs = 20_000
  assert.equal(a.elector.isLeader, false)
  a.network.take()
  await clock.advance(1000)
  assert.ok(a.outcome instanceof LeadershipLost)
  assert.match(a.outcome.message, /for 10 s: the machine was suspended, or its clock set forward, by 19 s$/)
  assert.deepEqual(a.network.take(), [])
})

test('a create whose answer is lost is found to be ours at the next try', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  let lost = 0
  a.network.intercept = async (request, next) => {
    const answer = await next(request)
    if (request.method === 'POST' && lost++ === 0) throw new Error('connection reset')
    return answer
  }
  a.start()
  await clock.advance(0)
  assert.deepEqual([a.leads, lost], [0, 1])
  await clock.advance(2000)
  assert.deepEqual([a.leads, (await leaseOn(server)).spec.leaseTransitions, (await leaseOn(server)).spec.acquireTime], [
    1,
    0,
    START,
  ])
})

test('a renewal whose answer is lost is found to be ours at the next try', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  a.start()
  await clock.advance(1000)
  a.network.intercept = async (request, next) => {
    a.network.intercept = undefined
    await next(request)
    throw new Error('connection reset')
  }
  await clock.advance(60_000)
  assert.deepEqual([a.elector.isLeader, a.leads, (await leaseOn(server)).spec.leaseTransitions], [true, 1, 0])
})

test('a lost race is ordinary; a refusal is a warning, and is tried again', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  const refusals = [
    refusal(409, 'AlreadyExists'),
    refusal(409, 'Conflict'),
    refusal(403, 'Forbidden', {}, 'leases is forbidden'),
  ]
  a.network.intercept = (
    request,
    next,
  ) => (request.method === 'POST' && refusals.length > 0 ? Promise.resolve(refusals.shift()!) : next(request))
  a.start()
  await clock.advance(6000)
  assert.equal(a.leads, 1)
  assert.deepEqual(
    a.lines.filter((line) => line.includes('Cannot')).map((line) => line.replace(/ Cannot create [^:]*: /, ' ')),
    [
      'debug Cannot acquire lease "default/lock": refused: AlreadyExists; trying again',
      'debug Cannot acquire lease "default/lock": refused: Conflict; trying again',
      'warn Cannot acquire lease "default/lock": leases is forbidden; trying again',
    ],
  )
})

test('when told to stop, the leader gives the lease back, and the next one has it within a try', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  const b = candidate(server, clock, 'b', { random: () => 0.99 })
  a.start()
  await clock.advance(1)
  b.start()
  await clock.advance(5000)
  a.network.take()
  a.stop()
  await clock.advance(0)
  assert.deepEqual([a.outcome, a.elector.isLeader, a.network.take()], ['resolved', false, [
    `GET ${PATH}/lock`,
    `PUT ${PATH}/lock`,
  ]])
  assert.deepEqual((bodyOf(a.network.requests.at(-1)) as { spec: unknown }).spec, {
    holderIdentity: '',
    leaseDurationSeconds: 1,
    acquireTime: '2026-01-01T00:00:05.001000Z',
    renewTime: '2026-01-01T00:00:05.001000Z',
    leaseTransitions: 0,
  })
  assert.equal(b.leads, 0)
  await clock.advance(4400)
  assert.deepEqual([b.leads, (await leaseOn(server)).spec.leaseTransitions], [1, 1])
})

test('a leader that dies is followed when its lease has expired, and not before', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  const b = candidate(server, clock, 'b')
  a.start()
  await clock.advance(1)
  b.start()
  await clock.advance(5999) // the last renewal is at 6 s
  a.network.intercept = silence
  await clock.advance(14_999)
  assert.deepEqual([b.leads, a.elector.isLeader], [0, false])
  await clock.advance(2002)
  assert.deepEqual([b.leads, a.outcome instanceof LeadershipLost], [1, true])
})

test("what is released is decided by the record that is fetched: a new leader's lease is not blanked", async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  a.start()
  await clock.advance(1000)
  await meddle(server, { spec: { holderIdentity: 'b' } })
  a.stop()
  await clock.advance(0)
  assert.deepEqual([a.outcome, await holderOn(server)], ['resolved', 'b'])
})

test('a release that meets a conflict reads again and tries again', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  a.start()
  await clock.advance(1000)
  let met = 0
  a.network.intercept = async (request, next) => {
    if (request.method === 'PUT' && met++ < 2) await meddle(server, { metadata: { labels: { met: String(met) } } })
    return await next(request)
  }
  a.stop()
  await clock.advance(0)
  assert.deepEqual([a.outcome, met, await holderOn(server)], ['resolved', 3, ''])
})

test('a release that gets no answer ends at the renew deadline, with a warning', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  a.start()
  await clock.advance(1000)
  a.network.intercept = silence
  a.stop()
  await clock.advance(9999)
  assert.equal(a.outcome, undefined)
  await clock.advance(1)
  assert.deepEqual([a.outcome, clock.pending], ['resolved', 0])
  assert.match(
    a.lines.at(-1)!,
    /^warn Cannot release lease "default\/lock": the server did not answer within 10 s; others wait for its end$/,
  )
})

test('a release of a Lease that is gone has nothing to do', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  a.start()
  await clock.advance(1000)
  await new Api({ transport: server }).delete(TARGET, {})
  a.stop()
  await clock.advance(0)
  assert.deepEqual([a.outcome, a.lines.filter((line) => line.startsWith('warn'))], ['resolved', []])
})

test('a lease is kept when the work in its name has not ended', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  a.start({ mayRelease: () => false })
  await clock.advance(1000)
  a.network.take()
  a.stop()
  await clock.advance(60_000)
  assert.deepEqual([a.outcome, a.network.take(), await holderOn(server)], ['resolved', [], 'a'])
  assert.match(a.lines.at(-1)!, /^warn Keeping the lease "default\/lock" until it expires/)
})

test('a follower that is told to stop ends at once and touches nothing', async () => {
  const { clock, server } = setup()
  await createLease(server, held)
  const a = candidate(server, clock, 'a')
  a.start()
  await clock.advance(5000)
  a.network.take()
  const before = await leaseOn(server)
  a.stop()
  await clock.advance(0)
  assert.deepEqual([a.outcome, a.leads, a.network.take(), clock.pending], ['resolved', 0, [], 0])
  assert.deepEqual(await leaseOn(server), before)
})

test('a follower that lost a race has nothing to give back', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  a.network.intercept = async (request, next) => {
    if (request.method === 'POST') await createLease(server, held)
    return await next(request)
  }
  a.start()
  await clock.advance(3000)
  a.network.take()
  a.stop()
  await clock.advance(0)
  assert.deepEqual([a.outcome, a.network.take()], ['resolved', []])
})

test('an abort in the middle of a write gives back what the server may have carried out', async () => {
  for (const method of ['POST', 'PUT']) {
    const { clock, server } = setup()
    if (method === 'PUT') await createLease(server, { ...held, holderIdentity: '' })
    const a = candidate(server, clock, 'a')
    a.network.intercept = async (request, next) => {
      if (request.method !== method) return await next(request)
      a.network.intercept = undefined
      const answer = next(request)
      a.stop()
      await answer
      throw request.signal!.reason
    }
    a.start()
    await clock.advance(0)
    assert.deepEqual([a.outcome, a.leads, await holderOn(server)], ['resolved', 0, ''], method)
  }
})

test('an abort that comes with the answer does not begin a term', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  a.network.intercept = async (request, next) => {
    const answer = await next(request)
    if (request.method === 'POST') a.stop()
    return answer
  }
  a.start()
  await clock.advance(0)
  assert.deepEqual([a.outcome, a.leads, await holderOn(server)], ['resolved', 0, ''])
})

test('an abort in the middle of a renewal still gives the lease back', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  a.start()
  await clock.advance(1000)
  a.network.intercept = async (request, next) => {
    a.network.intercept = undefined
    const answer = next(request)
    a.stop()
    return await answer
  }
  await clock.advance(1000)
  assert.deepEqual([a.outcome, await holderOn(server), clock.pending], ['resolved', '', 0])
})

test('an abort in the middle of the read that a conflict made necessary still gives the lease back', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  a.start()
  await clock.advance(1000)
  await meddle(server, { metadata: { labels: { touched: 'yes' } } })
  a.network.intercept = async (request, next) => {
    if (request.method !== 'GET') return await next(request)
    a.network.intercept = undefined
    const answer = next(request)
    a.stop()
    return await answer
  }
  await clock.advance(1000)
  assert.equal(a.network.intercept, undefined)
  assert.deepEqual([a.outcome, await holderOn(server), clock.pending], ['resolved', '', 0])
})

test('an elector whose signal was aborted before sends nothing', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  a.stop()
  a.start()
  await clock.advance(0)
  assert.deepEqual([a.outcome, a.network.take(), clock.pending], ['resolved', [], 0])
})

test('an elector runs once at a time, and can run again', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  a.start()
  await clock.advance(0)
  await assert.rejects(
    a.elector.start(new AbortController().signal, () => {}),
    /^Error: Cannot start the elector of lease "default\/lock": it runs already$/,
  )
  a.stop()
  await clock.advance(0)
  const again = new AbortController()
  let leads = 0
  const second = a.elector.start(again.signal, () => void leads++)
  await clock.advance(0)
  assert.deepEqual([leads, a.elector.isLeader], [1, true])
  again.abort()
  await clock.advance(0)
  await second
})

test('an elector leaves no timer behind, and no listener for each of its tries', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  const listeners = countListeners(a.stopping.signal)
  a.start()
  await clock.advance(60_000)
  assert.equal(listeners(), 1) // the pause between two renewals
  a.stop()
  await clock.advance(0)
  assert.deepEqual([a.outcome, clock.pending], ['resolved', 0])
})

test('names that are missing and timings that cannot work are refused before anything is sent', () => {
  const { clock, server } = setup()
  for (const name of ['lease', 'namespace', 'identity'] as const) {
    assert.throws(
      () => candidate(server, clock, 'a', { [name]: '' }),
      new RegExp(`^TypeError: Cannot elect a leader: ${name} is empty$`),
    )
  }
  assert.throws(
    () => candidate(server, clock, 'a', { timings: { durationMs: 1, renewDeadlineMs: 1, retryPeriodMs: 1 } }),
    RangeError,
  )
})

test("what is sent is valid for the server's own types: whole seconds and six decimals", async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a', { timings: { durationMs: 3000, renewDeadlineMs: 2000, retryPeriodMs: 500 } })
  a.start()
  await clock.advance(500)
  a.stop()
  await clock.advance(0)
  const specs = a.network.requests.filter(({ body }) => body).map((request) =>
    (bodyOf(request) as { spec: Record<string, unknown> }).spec
  )
  assert.equal(specs.length, 3)
  for (const { leaseDurationSeconds, acquireTime, renewTime } of specs) {
    assert.ok(Number.isInteger(leaseDurationSeconds))
    for (const time of [acquireTime, renewTime]) assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
  }
})

function later(clock: Clock, ms: number, answer: Promise<HttpResponse>): Promise<HttpResponse> {
  return new Promise((resolve, reject) => void clock.after(ms, () => answer.then(resolve, reject)))
}

/** How many listeners a signal was given and not relieved of. */
function countListeners(signal: AbortSignal): () => number {
  const kept = new Set<unknown>()
  const { addEventListener, removeEventListener } = signal
  signal.addEventListener = function (this: AbortSignal, ...args: Parameters<typeof addEventListener>): void {
    kept.add(args[1])
    addEventListener.apply(signal, args)
  } as typeof addEventListener
  signal.removeEventListener = function (this: AbortSignal, ...args: Parameters<typeof removeEventListener>): void {
    kept.delete(args[1])
    removeEventListener.apply(signal, args)
  } as typeof removeEventListener
  return () => kept.size
}

test('what Deno does not permit ends the election instead of being tried for ever', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  const cause = new NetworkError('Cannot connect to 127.0.0.1:1: Deno needs --allow-net=127.0.0.1:1', {
    phase: 'connect',
    code: 'NotCapable',
  })
  a.network.intercept = () => Promise.reject(cause)
  a.start()
  await clock.advance(0)
  assert.ok(a.outcome instanceof Error)
  assert.equal(
    a.outcome.message,
    'Cannot acquire lease "default/lock": Cannot connect to 127.0.0.1:1: Deno needs --allow-net=127.0.0.1:1',
  )
  assert.deepEqual([a.leads, a.lines], [0, []])
})

const FORBIDDEN =
  'leases is forbidden: User "u" cannot get resource "leases" in API group "coordination.k8s.io" in the namespace "default"'
const LACKS =
  'its role lacks { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update", "watch"] }'
const SAID =
  `Cannot acquire lease "default/lock": Cannot get Lease "default/lock": ${FORBIDDEN}; ${LACKS}; trying again`

test('a role without the rule for leases is said once, with the rule, until it was right in between', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  const warned = (): string[] => a.lines.splice(0).filter((line) => line.startsWith('warn'))
  const forbid = (): Promise<HttpResponse> => Promise.resolve(refusal(403, 'Forbidden', {}, FORBIDDEN))
  await createLease(server, held)
  a.network.intercept = forbid
  a.start()
  await clock.advance(10_000)
  assert.deepEqual(warned(), [`warn ${SAID}`])
  // Another failure is another line.
  a.network.intercept = () => Promise.reject(new Error('cut'))
  await clock.advance(3000)
  assert.equal(warned().length > 0, true)
  a.network.intercept = undefined
  await clock.advance(20_000)
  assert.equal(a.leads, 1)
  // The same for renewals, and again after one that went well.
  for (let time = 0; time < 2; time++) {
    a.network.intercept = forbid
    await clock.advance(6000)
    const lines = warned()
    assert.equal(lines.length, 1, lines.join('\n'))
    assert.match(
      lines[0]!,
      /^warn Cannot renew lease "default\/lock": .*; its role lacks \{ .* verbs: \["get", "create", "update", "watch"\] \}; trying again$/,
    )
    a.network.intercept = undefined
    await clock.advance(4000)
  }
  assert.equal(a.outcome, undefined)
})

test('the lease may be checked before the election, which does not say the same again', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  const never = new AbortController().signal
  await a.elector.check(never)
  assert.deepEqual(
    [a.network.take(), a.lines.splice(0)],
    [[`GET ${PATH}/lock`], []],
    'a lease that is missing is no refusal',
  )
  a.network.intercept = () => Promise.resolve(refusal(403, 'Forbidden', {}, FORBIDDEN))
  await a.elector.check(never)
  a.start()
  await clock.advance(3000)
  assert.deepEqual(a.lines.filter((line) => line.startsWith('warn')), [`warn ${SAID}`])
  a.network.take()
  await a.elector.check(never)
  assert.deepEqual(a.network.take(), [], 'the election asks itself')
})

test('a refusal is said again when the lease could be read in between', async () => {
  const { clock, server } = setup()
  const a = candidate(server, clock, 'a')
  const forbid = (): Promise<HttpResponse> => Promise.resolve(refusal(403, 'Forbidden', {}, FORBIDDEN))
  const warned = (): string[] => a.lines.splice(0).filter((line) => line.startsWith('warn'))
  await createLease(server, held)
  a.network.intercept = forbid
  a.start()
  await clock.advance(5000)
  assert.deepEqual(warned(), [`warn ${SAID}`])
  a.network.intercept = undefined
  await clock.advance(5000)
  assert.deepEqual([warned(), a.leads], [[], 0])
  a.network.intercept = forbid
  // The holder does not renew: from its end on the lease is tried.
  await clock.advance(20_000)
  const lines = warned()
  assert.equal(lines.length, 1, lines.join('\n'))
  assert.match(lines[0]!, /^warn Cannot acquire lease "default\/lock": .*; its role lacks/)
})
