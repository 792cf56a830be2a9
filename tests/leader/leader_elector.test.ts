import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countListeners } from '../async/counted_signal.ts'
import { Api } from '../../lib/client/api.ts'
import { LeadershipLost, NetworkError } from '../../lib/core/errors.ts'
import type { HttpResponse, Transport } from '../../lib/core/transport.ts'
import type { Clock } from '../../lib/async/clock.ts'
import { bodyOf, refusal, silence } from '../client/transports.ts'
import {
  alone,
  candidate,
  holderOn,
  leading,
  LEASE,
  leaseOn,
  pair,
  patchLease,
  PATH,
  setup,
  TARGET,
  where,
} from './candidates.ts'
import { isWatch } from './weather.ts'

const START = '2026-01-01T00:00:00.000000Z'

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

test('a missing Lease is created with our name, in the form that client-go writes', async () => {
  const marks = { labels: { app: 'foo' }, annotations: { note: 'bar' } }
  const { server, a } = await leading(0, marks)
  assert.deepEqual(a.network.take(), [`GET ${PATH}/lock`, `POST ${PATH}`])
  const { metadata: { labels, annotations }, spec } = await leaseOn(server)
  assert.deepEqual({ labels, annotations }, marks)
  assert.deepEqual(spec, {
    holderIdentity: 'a',
    leaseDurationSeconds: 15,
    acquireTime: START,
    renewTime: START,
    leaseTransitions: 0,
  })
  assert.deepEqual([a.leads, a.elector.isLeader, a.outcome], [1, true, undefined])
})

test('renewing is one PUT per period and no GET; acquireTime and transitions stay', async () => {
  const { clock, server, a } = await leading(1999)
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

test("another's Lease is acquired if it has not changed for its own duration since it was first seen, however old it looks", async () => {
  const { clock, server, a } = alone()
  await createLease(server, { ...held, leaseDurationSeconds: 30, renewTime: '2020-01-01T00:00:00.000000Z' })
  a.start()
  await clock.advance(29_999)
  assert.deepEqual([a.leads, a.elector.isLeader], [0, false])
  assert.deepEqual(a.lines.filter((line) => line.includes('Waiting')), [
    'info Waiting for the lease "default/lock", which "other" holds; it expires in 30 s unless renewed',
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

test('a follower that may not watch waits 1 to 2.2 periods between the end of a try and the next one', async () => {
  const { clock, server } = setup()
  await createLease(server, { ...held, leaseDurationSeconds: 3600 })
  for (const [random, ms] of [[0, 2000], [0.5, 3200], [0.999, 4397.6]] as const) {
    const a = candidate(server, clock, 'a', { random: () => random })
    a.network.intercept = where(isWatch, () => refusal(403, 'Forbidden'))
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

test('a conflict while renewing falls back to reading, and the lease is kept', async () => {
  const { clock, server, a } = await leading(1000)
  a.network.take()
  await patchLease(server, { metadata: { labels: { touched: 'yes' } } })
  await clock.advance(1000)
  assert.deepEqual(a.network.take(), [`PUT ${PATH}/lock`, `GET ${PATH}/lock`, `PUT ${PATH}/lock`])
  assert.deepEqual([a.elector.isLeader, (await leaseOn(server)).metadata.labels], [true, { touched: 'yes' }])
  await clock.advance(2000)
  assert.deepEqual(a.network.take(), [`PUT ${PATH}/lock`])
})

test('a deleted Lease is created again by its leader', async () => {
  const { clock, server, a } = await leading(1000)
  await new Api({ transport: server }).delete(TARGET, {})
  // A server may also answer a PUT by 404.
  a.network.intercept = async (request, next) =>
    request.method === 'PUT' ? refusal(404, 'NotFound', { name: 'lock' }) : await next(request)
  a.network.take()
  await clock.advance(1000)
  assert.deepEqual(a.network.take(), [`PUT ${PATH}/lock`, `GET ${PATH}/lock`, `POST ${PATH}`])
  assert.deepEqual([a.elector.isLeader, a.leads, await holderOn(server)], [true, 1, 'a'])
})

test("a leader that finds another holder ends at once, and does not change the other's lease", async () => {
  const { clock, server, a } = await leading(1000)
  await patchLease(server, { spec: { holderIdentity: 'b' } })
  const before = await leaseOn(server)
  await clock.advance(1000)
  assert.ok(a.outcome instanceof LeadershipLost)
  assert.match(a.outcome.message, /^Cannot renew lease "default\/lock": "b" holds it now$/)
  assert.equal(a.elector.isLeader, false)
  a.stop()
  await clock.advance(60_000)
  assert.deepEqual(await leaseOn(server), before)
})

test('of two processes with one identity, the later one leads, and the other ends without releasing its lease', async () => {
  for (const isStopped of [false, true]) {
    const { clock, server, a } = await leading(1000)
    const b = candidate(server, clock, 'a')
    b.start()
    await clock.advance(500)
    assert.equal(b.leads, 1)
    if (isStopped) a.stop()
    await clock.advance(1500)
    if (isStopped) assert.equal(a.outcome, 'resolved')
    else {
      assert.match(
        String(a.outcome),
        /lease "default\/lock": "a", another process \(give it an identity of its own\), holds it now/,
      )
    }
    await clock.advance(20_000)
    assert.deepEqual([b.outcome, b.elector.isLeader, b.leads], [undefined, true, 1])
    assert.equal(await holderOn(server), 'a')
    b.stop()
    await clock.advance(0)
  }
})

test('a leader that cannot renew ends at the deadline, counted from the send time of its last success', async () => {
  const { clock, a } = await leading(3000)
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
  assert.deepEqual(
    a.lines.flatMap((line) => /^warn Cannot renew .*; (.*)$/.exec(line)?.[1] ?? []),
    ['trying again', 'trying again', 'trying again', 'the lease is lost in 2 s'],
  )
})

test('the pause between tries does not exceed the deadline', async () => {
  const { clock, a } = await leading(0, {
    timings: { durationMs: 11_000, renewDeadlineMs: 10_000, retryPeriodMs: 8000 },
  })
  a.network.intercept = () => Promise.resolve(refusal(500, 'InternalError'))
  await clock.advance(9999)
  assert.equal(a.elector.isLeader, true)
  await clock.advance(1)
  assert.deepEqual([a.elector.isLeader, a.outcome instanceof LeadershipLost], [false, true])
  // A later term does not end with the failure of this one.
  a.network.intercept = undefined
  a.start()
  await clock.advance(0)
  a.network.intercept = silence
  await clock.advance(10_000)
  assert.match(String(a.outcome), /for 10 s: the server did not answer$/)
})

test('a lost race is logged at debug; a refusal is a warning, and is retried', async () => {
  const { clock, a } = alone()
  const refusals = [
    refusal(409, 'AlreadyExists'),
    refusal(409, 'Conflict'),
    refusal(403, 'Forbidden', {}, 'leases is forbidden'),
  ]
  a.network.intercept = where(
    (request) => request.method === 'POST' && refusals.length > 0,
    () => Promise.resolve(refusals.shift()!),
  )
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

test('a stopped leader releases the lease, and the next one acquires it with its next try', async () => {
  const { clock, server, a, b } = await pair({ random: () => 0.99 })
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

test("a release is decided by the fetched record: a new leader's lease is not cleared", async () => {
  const { clock, server, a } = await leading(1000)
  await patchLease(server, { spec: { holderIdentity: 'b' } })
  a.stop()
  await clock.advance(0)
  assert.deepEqual([a.outcome, await holderOn(server)], ['resolved', 'b'])
})

for (const [conflicts, tries, holder] of [[2, 3, ''], [9, 5, 'a']] as const) {
  test(`a release with ${conflicts} conflicts is tried ${tries} times`, async () => {
    const { clock, server, a } = await leading(1000)
    let met = 0
    a.network.intercept = async (request, next) => {
      if (request.method === 'PUT' && met++ < conflicts) {
        await patchLease(server, { metadata: { labels: { met: String(met) } } })
      }
      return await next(request)
    }
    a.stop()
    await clock.advance(0)
    assert.deepEqual([a.outcome, met, await holderOn(server)], ['resolved', tries, holder])
  })
}

test('a release without a response ends at the renew deadline, with a warning', async () => {
  const { clock, a } = await leading(1000)
  a.network.intercept = silence
  a.stop()
  await clock.advance(9999)
  assert.equal(a.outcome, undefined)
  await clock.advance(1)
  assert.deepEqual([a.outcome, clock.pending], ['resolved', 0])
  assert.match(
    a.lines.at(-1)!,
    /^warn Cannot release lease "default\/lock": the server did not answer within 10 s; other candidates wait until it expires$/,
  )
})

test("a lease is kept while the leader's work has not ended", async () => {
  const { clock, server, a } = alone()
  a.start({ mayRelease: () => false })
  await clock.advance(1000)
  a.network.take()
  a.stop()
  await clock.advance(60_000)
  assert.deepEqual([a.outcome, a.network.take(), await holderOn(server)], ['resolved', [], 'a'])
  assert.match(a.lines.at(-1)!, /^warn Keeping the lease "default\/lock" until it expires/)
})

test('a stopped follower ends at once and writes nothing', async () => {
  const { clock, server, a } = alone()
  await createLease(server, held)
  a.start()
  await clock.advance(5000)
  a.network.take()
  const before = await leaseOn(server)
  a.stop()
  await clock.advance(0)
  assert.deepEqual([a.outcome, a.leads, a.network.take(), clock.pending], ['resolved', 0, [], 0])
  assert.deepEqual(await leaseOn(server), before)
})

test('a stopped follower that lost a race releases nothing', async () => {
  const { clock, server, a } = alone()
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

test('an abort during the write that acquires, or together with its answer, begins no term and releases the lease', async () => {
  for (const [method, isAnswered] of [['POST', false], ['PUT', false], ['POST', true]] as const) {
    const { clock, server } = setup()
    if (method === 'PUT') await createLease(server, { ...held, holderIdentity: '' })
    const a = candidate(server, clock, 'a')
    a.network.intercept = async (request, next) => {
      if (request.method !== method) return await next(request)
      a.network.intercept = undefined
      const answer = next(request)
      if (isAnswered) await answer
      a.stop()
      await answer
      if (!isAnswered) throw request.signal!.reason
      return await answer
    }
    a.start()
    await clock.advance(0)
    assert.deepEqual([a.outcome, a.leads, await holderOn(server)], ['resolved', 0, ''], method)
  }
})

test('an abort during a renewal, or during the read after a conflict, still releases the lease', async () => {
  for (const method of ['PUT', 'GET']) {
    const { clock, server, a } = await leading(1000)
    if (method === 'GET') await patchLease(server, { metadata: { labels: { touched: 'yes' } } })
    a.network.intercept = async (request, next) => {
      if (request.method !== method) return await next(request)
      a.network.intercept = undefined
      const answer = next(request)
      a.stop()
      return await answer
    }
    await clock.advance(1000)
    assert.equal(a.network.intercept, undefined)
    assert.deepEqual([a.outcome, await holderOn(server), clock.pending], ['resolved', '', 0])
  }
})

test('an elector leaves no timer and no listener: per try, for its wait, nor after a loss', async () => {
  const { clock, server, a } = await leading(1)
  const b = candidate(server, clock, 'b')
  const listeners = countListeners(b.stopping.signal)
  b.start()
  await clock.advance(1)
  a.stop()
  await clock.advance(60_000)
  assert.deepEqual([b.elector.isLeader, listeners()], [true, 1]) // the pause between two renewals
  b.network.intercept = () => Promise.resolve(refusal(503, 'ServiceUnavailable', {}, 'etcd is away'))
  await clock.advance(10_000)
  assert.deepEqual([b.outcome instanceof LeadershipLost, clock.pending, listeners()], [true, 0, 0])
})

test('missing names and invalid timings throw before anything is sent', () => {
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

test('labels that the server would refuse throw before anything is sent, and the others are accepted', () => {
  const { clock, server } = setup()
  for (
    const [labels, problem] of [
      [{ team: 'a b' }, 'Cannot set the label "team": a value is text of at most 63 letters'],
      [{ team: 1 as never }, 'Cannot set the label "team": a value is text'],
      [{ ok: 'yes', team: 'a'.repeat(64) }, 'Cannot set the label "team": a value is text'],
      [{ 'a/b/c': '' }, 'Cannot set the label "a/b/c": a name has 1 to 63 letters'],
      [{ 'Example.dev/team': '' }, 'Cannot set the label "Example.dev/team": what is before the slash must be'],
      [['team'] as never, 'labels must be an object'],
    ] as const
  ) assert.throws(() => candidate(server, clock, 'a', { labels }), new RegExp(`^TypeError: ${problem}`))
  candidate(server, clock, 'a', { labels: { empty: '', 'example.dev/team': 'A-1_b.c' } })
})

function later(clock: Clock, ms: number, answer: Promise<HttpResponse>): Promise<HttpResponse> {
  return new Promise((resolve, reject) => void clock.after(ms, () => answer.then(resolve, reject)))
}

test('a missing Deno permission ends the election instead of being retried for ever', async () => {
  const { clock, a } = alone()
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

test('a missing rule for leases is logged once, with the rule, and again after a success', async () => {
  const { clock, server, a } = alone()
  const warned = (): string[] => a.lines.splice(0).filter((line) => line.startsWith('warn'))
  const forbid = (): Promise<HttpResponse> => Promise.resolve(refusal(403, 'Forbidden', {}, FORBIDDEN))
  await createLease(server, held)
  a.network.intercept = forbid
  a.start()
  await clock.advance(10_000)
  assert.deepEqual(warned(), [`warn ${SAID}`])
  // Another failure is logged, too.
  a.network.intercept = () => Promise.reject(new Error('cut'))
  await clock.advance(3000)
  assert.equal(warned().length > 0, true)
  a.network.intercept = undefined
  await clock.advance(20_000)
  assert.equal(a.leads, 1)
  // The same for renewals, and again after a success.
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

test('a missing rule for leases is logged again while it stays, less and less often', async () => {
  const { clock, a } = alone()
  a.network.intercept = () => Promise.resolve(refusal(403, 'Forbidden', {}, FORBIDDEN))
  a.start()
  const at: number[] = []
  for (let second = 0; second < 600; second++) {
    await clock.advance(1000)
    for (const line of a.lines.splice(0)) if (line.startsWith('warn')) at.push(second)
  }
  // Tries come every 2 to 4.4 seconds.
  assert.ok(at.length >= 3 && at.length <= 5, at.join())
  assert.ok(at[0]! < 5 && at[1]! > 60 && at[1]! < 145, at.join())
  assert.ok(at[2]! - at[1]! > 60, at.join())
})

test('check logs a refusal before the election, which does not log it again', async () => {
  const { clock, a } = alone()
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
  assert.deepEqual(a.network.take(), [], 'check sends nothing during the election')
})

test('a transport that ignores its signal cannot delay the end of a term, nor revive it by a late response', async () => {
  const { clock, a } = await leading(0)
  a.network.intercept = (request, next) => later(clock, 20_000, next(request))
  await clock.advance(10_000)
  assert.deepEqual([a.outcome instanceof LeadershipLost, a.elector.isLeader], [true, false])
  await clock.advance(60_000)
  assert.deepEqual([a.elector.isLeader, a.leads, clock.pending], [false, 1, 0])
})

test('a release of a deleted Lease does nothing', async () => {
  const { clock, server, a } = await leading(1000)
  await new Api({ transport: server }).delete(TARGET, {})
  a.stop()
  await clock.advance(0)
  assert.deepEqual([a.outcome, a.lines.filter((line) => line.startsWith('warn'))], ['resolved', []])
})

test('a hanging renewal is aborted in time for another try', async () => {
  const { clock, a } = await leading(1000)
  a.network.intercept = silence
  await clock.advance(2000)
  a.network.intercept = undefined
  a.network.take()
  await clock.advance(4000) // sent at 2 s, aborted at 7 s, and retried at once
  assert.deepEqual(a.network.take(), [`PUT ${PATH}/lock`])
  await clock.advance(60_000)
  assert.deepEqual([a.elector.isLeader, a.leads, a.outcome], [true, 1, undefined])
  assert.match(
    a.lines.join('\n'),
    /warn Cannot renew lease "default\/lock": the server did not answer within 5 s; trying again/,
  )
})
