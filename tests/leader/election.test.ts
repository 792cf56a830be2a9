/** Several electors against one server over a bad network: what must hold whatever happens. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import type { Clock } from '../../lib/async/clock.ts'
import { sleep } from '../../lib/async/clock.ts'
import { NetworkError } from '../../lib/core/errors.ts'
import type { Transport } from '../../lib/core/transport.ts'
import { FakeClock } from '../../lib/testing/fake_clock.ts'
import { refusal } from '../client/transports.ts'
import { candidate, holderOn, type Candidate } from './candidates.ts'

/** What the network does to the requests of one candidate, one after the other. */
type Weather = 'fair' | 'slow there' | 'slow back' | 'request lost' | 'answer lost' | 'refused' | 'hangs'

const weather = fc.array(fc.constantFrom<Weather>('fair', 'fair', 'fair', 'slow there', 'slow back', 'request lost', 'answer lost', 'refused', 'hangs'), { minLength: 3, maxLength: 25 })
const world = fc.record({
  candidates: fc.array(fc.record({
    rate: fc.double({ min: 0.85, max: 1.15, noNaN: true }),
    startsMs: fc.integer({ min: 0, max: 20_000 }),
    diesMs: fc.option(fc.integer({ min: 20_000, max: 80_000 }), { nil: undefined }),
    stopsMs: fc.option(fc.integer({ min: 20_000, max: 80_000 }), { nil: undefined }),
    jitter: fc.double({ min: 0, max: 0.999, noNaN: true }),
    weather,
  }), { minLength: 2, maxLength: 5 }),
  slowMs: fc.integer({ min: 100, max: 25_000 }),
})

test('never do two electors lead at once; when the network heals, one does', async () => {
  let terms = 0
  let runsWithChange = 0
  await fc.assert(fc.asyncProperty(world, async ({ candidates, slowMs }) => {
    const clock = new FakeClock()
    const server = new ApiServer({ clock }).handle
    let healed = false
    const all = candidates.map(({ rate, jitter, weather }, index) => {
      const own = skewed(clock, rate)
      const one = candidate(server, own, `c${index}`, { random: () => jitter })
      let at = 0
      one.network.intercept = async (request, next) => await through(healed ? 'fair' : weather[at++ % weather.length]!, next, request, clock, slowMs)
      return one
    })
    const look = (): void => {
      const leaders = all.filter(({ elector }) => elector.isLeader)
      assert.ok(leaders.length <= 1, `${leaders.length} lead at ${clock.monotonic()} ms`)
    }
    const dead = new Set<Candidate>()
    for (let ms = 0; ms < 100_000; ms += 250) {
      candidates.forEach(({ startsMs, diesMs, stopsMs }, index) => {
        const one = all[index]!
        if (startsMs >= ms && startsMs < ms + 250) one.start()
        if (stopsMs !== undefined && stopsMs >= ms && stopsMs < ms + 250) one.stop()
        if (diesMs !== undefined && diesMs >= ms && diesMs < ms + 250) {
          dead.add(one)
          one.network.intercept = ({ signal }) => new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true }))
        }
      })
      await clock.advance(250)
      look()
    }
    healed = true
    for (let ms = 0; ms < 60_000; ms += 250) {
      await clock.advance(250)
      look()
    }
    const alive = all.filter((one) => !dead.has(one) && one.outcome === undefined)
    if (alive.length > 0) {
      assert.equal(alive.filter(({ elector }) => elector.isLeader).length, 1, 'nobody leads though the network is well')
    }
    for (const one of all) one.stop()
    await clock.advance(60_000)
    for (const one of all) assert.ok(one.outcome, 'an elector did not end')
    assert.equal(clock.pending, 0, 'a timer was left')
    if (alive.length > 0) assert.equal(await holderOn(server), '', 'the lease was not given back')
    const began = all.reduce((sum, { leads }) => sum + leads, 0)
    terms += began
    if (began > 1) runsWithChange++
  }), { seed: 11, numRuns: 150, endOnFailure: true })
  assert.ok(terms > 150 && runsWithChange > 30, `only ${terms} terms, ${runsWithChange} runs with a change of leader: the property says little`)
})

async function through(kind: Weather, next: Transport, request: Parameters<Transport>[0], clock: Clock, slowMs: number): ReturnType<Transport> {
  const { signal } = request
  switch (kind) {
    case 'fair':
      await sleep(clock, 5, signal)
      return await next(request)
    case 'slow there':
      // On its way for long: the server carries it out even when the caller has given it up.
      return await orAbort(sleep(clock, slowMs).then(() => next({ ...request, signal: undefined })), signal)
    case 'slow back': {
      const answer = next(request)
      await sleep(clock, slowMs, signal)
      return await answer
    }
    case 'request lost': throw new NetworkError('the request was lost', { phase: 'response' })
    case 'answer lost':
      await next(request)
      throw new NetworkError('the answer was lost', { phase: 'response' })
    case 'refused': return refusal(500, 'InternalError')
    case 'hangs': return await orAbort(new Promise(() => {}), signal)
  }
}

function orAbort<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    promise.then(resolve, reject)
  })
}

/** A clock that runs at a rate of its own and was set by nobody. */
function skewed(clock: FakeClock, rate: number): Clock {
  return {
    now: () => clock.now() + clock.monotonic() * (rate - 1) + rate * 1e9,
    monotonic: () => clock.monotonic() * rate,
    after: (ms, fn) => clock.after(ms / rate, fn),
  }
}
