/** Tests of followers with a watch: how soon they lead, and how many requests they send. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Api } from '../../lib/client/api.ts'
import { NetworkError } from '../../lib/core/errors.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { countAllListeners } from '../async/counted_signal.ts'
import { answer, refusal, silence } from '../client/transports.ts'
import {
  type Candidate,
  candidate,
  holderOn,
  leading,
  leaseOn,
  pair,
  PATH,
  setup,
  TARGET,
  where,
} from './candidates.ts'
import { isWatch, through } from './weather.ts'

const WATCH = `GET ${PATH}`
const GET = `GET ${PATH}/lock`
const PUT = `PUT ${PATH}/lock`

test('a follower sends nothing while its watch is open', async () => {
  const { clock, b } = await pair({ random: () => 0.5 })
  assert.deepEqual(b.network.take(), [GET, WATCH])
  const watch = new URL(b.network.requests.at(-1)!.path, 'http://localhost').searchParams
  assert.equal(watch.get('fieldSelector'), 'metadata.name=lock')
  assert.equal(watch.get('timeoutSeconds'), '450')
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

test('a watch that the server closes is reopened at its last version, without a read or another listener', async (t) => {
  const all = countAllListeners()
  t.after(all.end)
  const { clock, b } = await pair()
  await clock.advance(1000)
  b.network.take()
  const listening: number[] = []
  for (let time = 0; time < 4; time++) {
    await clock.advance(310_000)
    listening.push(all.listeners())
    assert.deepEqual(b.network.take(), [WATCH])
  }
  assert.equal(new Set(listening).size, 1, listening.join())
})

test('a released lease is acquired within the jitter', async () => {
  const { clock, server, a, b } = await pair({ random: () => 0.999 })
  await clock.advance(100_000)
  b.network.take()
  a.stop()
  await clock.advance(249)
  assert.equal(b.leads, 0)
  await clock.advance(1)
  assert.deepEqual([b.leads, b.network.take(), (await leaseOn(server)).spec.leaseTransitions], [1, [GET, PUT], 1])
})

test('a follower leads as soon as the lease of a crashed leader expires, counted from the last renewal on the watch', async () => {
  const { clock, a, b } = await pair()
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
    const { clock, server, a, b } = await pair({ random: () => 0.999 })
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

test('an elector that lost its lease by missing responses gets it back with its next start', async () => {
  const { clock, server, a, b } = await pair()
  a.network.intercept = losing(Infinity)
  await clock.advance(12_000)
  assert.ok(a.outcome instanceof Error)
  assert.equal(await holderOn(server), 'a')
  a.network.intercept = losing(1)
  a.start()
  await clock.advance(2000)
  assert.deepEqual([a.leads, a.elector.isLeader, b.leads], [2, true, 0])
})

test('a follower that may not watch logs the missing verb, polls as client-go does, and is as safe', async () => {
  const { clock, a, b } = await pair({}, where(isWatch, () => refusal(403, 'Forbidden', {}, 'leases is forbidden')))
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
  const { clock, b } = await pair(
    {},
    where(isWatch, () => Promise.reject(new NetworkError('broke', { phase: 'response' }))),
  )
  await clock.advance(600_000)
  const taken = b.network.take()
  assert.equal(taken.filter((each) => each === GET).length, 301)
  const watches = taken.filter((each) => each === WATCH).length
  assert.ok(watches <= 16, `${watches} watches in ten minutes`)
})

test('a watch that missed a change is detected when the record seems to expire, and replaced', async () => {
  const clock = new FakeClock()
  let watches = 0
  const intercept = where(
    (request) => isWatch(request) && watches++ === 0,
    (request, next) => through('answer lost', request, next, clock, 0),
  )
  const { a, b } = await pair({}, intercept, clock)
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

test('of many followers that wake at once one leads, and the others follow with few requests', async () => {
  const { clock, server, a } = await leading(1)
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

test('with a watch that gets no response, the follower polls', async () => {
  const { clock, b } = await pair({}, where(isWatch, silence))
  await clock.advance(10_000)
  assert.deepEqual(b.network.take(), [GET, WATCH, GET, GET, GET, GET, GET])
})

test('a watch that ignores its signal does not delay the winner', async () => {
  const { clock, server, a, b } = await pair()
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

for (
  const [what, next, asked] of [
    ['response', () => refusal(403, 'Forbidden'), [GET, GET, GET, GET, GET]],
    ['line', undefined, []],
  ] as const
) {
  test(`a late ${what} of a watch that was given up changes nothing`, async () => {
    let watches = 0
    let release!: () => void
    const late = new Promise<void>((resolve) => (release = resolve))
    const { clock, b } = await pair(
      {},
      where((request) => isWatch(request) && (watches++ === 0 || next !== undefined), async () => {
        if (watches > 1) return next!()
        const response = answer(200, { type: 'DELETED', object: { metadata: { name: 'lock', resourceVersion: '99' } } })
        const body = async function* () {
          await late
          yield* response.body
        }
        if (what === 'response') await late
        return { ...response, body: { ...response.body, [Symbol.asyncIterator]: body } }
      }),
    )
    await clock.advance(200_000)
    assert.equal(b.network.take().filter((each) => each === WATCH).length, 2)
    release()
    await clock.advance(10_000)
    assert.deepEqual(b.network.take(), asked)
  })
}

test('an expired version is read again', async () => {
  let watches = 0
  const { clock, b } = await pair(
    {},
    where((request) => isWatch(request) && watches++ === 0, () => refusal(410, 'Expired')),
  )
  await clock.advance(10_000)
  assert.deepEqual(b.network.take(), [GET, WATCH, GET, WATCH])
})

test('a follower creates a deleted lease if its leader is gone', async () => {
  const { clock, server, a, b } = await pair()
  a.network.intercept = silence
  await clock.advance(1000)
  await new Api({ transport: server }).delete(TARGET, {})
  await clock.advance(0)
  assert.deepEqual([b.leads, await holderOn(server)], [1, 'b'])
})
