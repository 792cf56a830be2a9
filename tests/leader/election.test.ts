/** Properties of several electors on one server, with faulty machines and networks. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import type { Fence } from '../../lib/core/fence.ts'
import type { Transport } from '../../lib/core/transport.ts'
import { DEFAULT_TIMINGS, type LeaseRecord } from '../../lib/leader/lease_state.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { type Candidate, candidate } from './candidates.ts'
import { Host } from './host.ts'
import { isWatch, through, type Weather, WEATHERS } from './weather.ts'
import { LeadershipLost } from '../../lib/core/errors.ts'
import { Stream } from '../cache/scripted_server.ts'
import { answer, refusal } from '../client/transports.ts'
import { tries } from '../tools/fuzz.ts'
import { mutated } from '../tools/hostile.ts'

const FAULTS_END_MS = 90_000
const SLOWEST = 0.85
const FASTEST = 1.15

type Fault =
  /** The event loop is blocked; with `asleep`, the monotonic clock is stopped, too. */
  | { readonly kind: 'suspend'; readonly forMs: number; readonly asleep: boolean }
  /** The process crashes; another starts in its place. */
  | { readonly kind: 'crash'; readonly forMs: number }
  /** The process stops and releases its lease; another starts in its place. */
  | { readonly kind: 'stop'; readonly forMs: number }
  /** The wall clock is set. */
  | { readonly kind: 'set'; readonly byMs: number }

const some = fc.oneof(fc.integer({ min: 100, max: 4000 }), fc.integer({ min: 4000, max: 40_000 }))
const fault = (sleeps: boolean): fc.Arbitrary<Fault> =>
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant('suspend' as const), forMs: some, asleep: fc.constant(sleeps) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash' as const), forMs: some }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('stop' as const), forMs: some }) },
    // A clock that is set back during an equally long sleep cannot be detected.
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('set' as const),
        byMs: sleeps ? fc.integer({ min: 0, max: 8000 }) : fc.integer({ min: -60_000, max: 8000 }),
      }),
    },
  )
const machine = fc.boolean().chain((sleeps) =>
  fc.record({
    rate: fc.double({ min: SLOWEST, max: FASTEST, noNaN: true }),
    aheadMs: fc.integer({ min: -1e9, max: 1e9 }),
    startsMs: fc.integer({ min: 0, max: 20_000 }),
    jitter: fc.double({ min: 0, max: 0.999, noNaN: true }),
    writesEveryMs: fc.integer({ min: 50, max: 900 }),
    weather: fc.array(fc.constantFrom<Weather>('fair', 'fair', 'fair', 'fair', ...WEATHERS), {
      minLength: 3,
      maxLength: 25,
    }),
    faults: fc.array(fc.tuple(fc.integer({ min: 0, max: FAULTS_END_MS }), fault(sleeps)), { maxLength: 4 }),
  })
)
const input = fc.record({
  machines: fc.array(machine, { minLength: 2, maxLength: 5 }),
  slowMs: fc.integer({ min: 100, max: 25_000 }),
})
type Input = typeof input extends fc.Arbitrary<infer T> ? T : never

/** The result of one run. */
interface Outcome {
  readonly terms: number
  readonly writes: number
  /** Writes of a term that began after the next term had begun. */
  readonly stale: readonly string[]
  /** How long after the last fault there was a leader; undefined without one. */
  readonly healedMs: number | undefined
  readonly transitions: readonly string[]
}

async function play({ machines, slowMs }: Input): Promise<Outcome> {
  const clock = new FakeClock()
  const { transitions, transport: server } = counting(new ApiServer({ clock }).handle)
  const stale: string[] = []
  const running = new Set<Candidate>()
  let [terms, writes, starts] = [0, 0, 0]
  let healed = false
  let ended = false

  /** Writes under the lease while the fence holds. */
  const work = (host: Host, name: string, everyMs: number, stopped: () => boolean) => (fence: Fence): void => {
    const term = ++terms
    const write = (): void => {
      if (stopped()) return
      try {
        fence.check()
      } catch {
        return
      }
      writes++
      if (term !== terms) stale.push(`${name} wrote in term ${term} at ${clock.monotonic()} ms, in term ${terms}`)
      host.after(everyMs, write)
    }
    write()
  }

  const enter = (machine: Input['machines'][number], index: number): void => {
    if (ended) return
    const host = new Host(clock, machine)
    const identity = `c${index}.${++starts}`
    let at = 0
    const network: Transport = (request) =>
      through(healed ? 'fair' : machine.weather[at++ % machine.weather.length]!, request, server, clock, slowMs)
    const one = candidate(host.online(network), host, identity, { random: () => machine.jitter })
    running.add(one)
    let isGone = false
    one.lead = work(host, identity, machine.writesEveryMs, () => isGone || ended || one.outcome !== undefined)
    one.host = host
    one.crash = () => {
      isGone = true
      host.suspend(false)
      running.delete(one)
      crashed.add(one)
    }
    one.onEnd = () => {
      isGone = true
      if (running.delete(one) && !healed) clock.after(1000, () => enter(machine, index))
    }
    current[index] = one
    one.start()
  }
  const crashed = new Set<Candidate>()
  const current: Candidate[] = []

  machines.forEach((machine, index) => {
    clock.after(machine.startsMs, () => enter(machine, index))
    for (const [atMs, what] of machine.faults) {
      clock.after(atMs, () => {
        const one = current[index]
        if (!one?.host || one.host.blocked || !running.has(one)) return
        if (what.kind === 'set') return one.host.setWall(what.byMs)
        if (what.kind === 'suspend') one.host.suspend(what.asleep)
        if (what.kind === 'crash') one.crash!()
        if (what.kind === 'stop') return one.stop()
        clock.after(what.forMs, () => (what.kind === 'crash' ? enter(machine, index) : one.host!.resume()))
      })
    }
  })

  await clock.advance(FAULTS_END_MS)
  healed = true
  // Delayed responses arrive, and blocked machines continue.
  await clock.advance(40_000)
  let healedMs: number | undefined
  for (let ms = 0; ms <= 60_000 && healedMs === undefined; ms += 500) {
    if ([...running].some(({ elector }) => elector.isLeader)) healedMs = ms
    await clock.advance(500)
  }
  if (running.size === 0) healedMs = 0

  ended = true
  for (const one of crashed) one.host!.resume()
  for (const one of [...running, ...crashed]) one.stop()
  await clock.advance(40_000)
  for (const one of [...running, ...crashed]) assert.ok(one.outcome, 'an elector did not end')
  assert.equal(clock.pending, 0, 'a timer was left')
  return { terms, writes, stale, healedMs, transitions }
}

/** Checks at each successful write of the Lease that transitions count exactly the changes of holder. */
function counting(inner: Transport): { transport: Transport; transitions: string[] } {
  const transitions: string[] = []
  let before: LeaseRecord = {}
  return {
    transitions,
    transport: async (request) => {
      const response = await inner(request)
      if (request.method === 'GET' || response.status >= 300 || isWatch(request)) return response
      const text = await response.body.text()
      const { spec } = JSON.parse(text) as { spec: LeaseRecord }
      const isNewHolder = Boolean(spec.holderIdentity) && request.method === 'PUT' &&
        spec.holderIdentity !== before.holderIdentity
      const expected = (before.leaseTransitions ?? 0) + (isNewHolder ? 1 : 0)
      if (spec.leaseTransitions !== expected) {
        transitions.push(`${spec.leaseTransitions} instead of ${expected} for "${spec.holderIdentity}"`)
      }
      before = spec
      return { ...response, body: { ...response.body, text: () => Promise.resolve(text) } }
    },
  }
}

test('no write begins after a later term has begun, and after the last fault there is a leader', async () => {
  const total = { terms: 0, writes: 0, changed: 0 }
  const { durationMs, retryPeriodMs, renewDeadlineMs } = DEFAULT_TIMINGS
  // The lease must expire on the slowest clock; a hanging request and a pause may be added.
  const boundMs = (durationMs + renewDeadlineMs / 2 + retryPeriodMs * 2.2) / SLOWEST + 1000
  await fc.assert(
    fc.asyncProperty(input, async (world) => {
      const { terms, writes, stale, healedMs, transitions } = await play(world)
      assert.deepEqual(stale, [])
      assert.deepEqual(transitions, [])
      assert.ok(
        healedMs !== undefined && healedMs <= boundMs,
        `no leader ${healedMs ?? 60_000} ms after the last fault`,
      )
      total.terms += terms
      total.writes += writes
      if (terms > 1) total.changed++
    }),
    { seed: 11, numRuns: tries(150, 'everywhere'), endOnFailure: true },
  )
  const { terms, writes, changed } = total
  assert.ok(
    terms > 300 && changed > 75 && writes > 15_000,
    `only ${terms} terms, ${writes} writes, ${changed} runs with a change of leader: too few to prove the property`,
  )
})

const LEASE = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'lock', namespace: 'default', uid: 'u', resourceVersion: '7', annotations: { a: 'b' } },
  spec: {
    ...{ holderIdentity: 'other', leaseDurationSeconds: 20, leaseTransitions: 1 },
    ...{ acquireTime: '2026-01-01T00:00:00.000000Z', renewTime: '2026-01-01T00:00:00.000000Z' },
  },
}
const durations = fc.constantFrom(20, 1, 0, -5, 0.5, 1e308, 2 ** 31, 3e6, '20', 'x', null, {}, [20])
const leases = fc.oneof(
  fc.constantFrom(null, {}, { ...LEASE, spec: null }, { ...LEASE, metadata: null }),
  mutated(LEASE),
  mutated(LEASE.spec).map((spec) => ({ ...LEASE, spec })),
  durations.map((leaseDurationSeconds) => ({ ...LEASE, spec: { ...LEASE.spec, leaseDurationSeconds } })),
)

test('fuzz: a Lease of others with any fields is neither taken while it is held, nor read in a loop, nor an end', async () => {
  const [runMs, maxRequests] = [60_000, 150]
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(leases, fc.nat(40_000), fc.boolean()), { minLength: 1, maxLength: 3 }),
      fc.boolean(),
      async (changes, accepts) => {
        const clock = new FakeClock()
        const stream = new Stream()
        /** When each record came first: neither metadata nor a record that was not read extends a term. */
        const sinceMs = new Map<string, number>()
        let requests = 0
        const taken: string[] = []
        // deno-lint-ignore no-explicit-any -- any JSON
        let lease: any = changes[0]![0]
        const server: Transport = (request) => {
          // An answer that never comes ends a loop.
          if (++requests > maxRequests) return new Promise(() => {})
          if (isWatch(request)) return Promise.resolve(stream.answer(request))
          if (request.method === 'GET') return Promise.resolve(answer(200, lease))
          const { holderIdentity, leaseDurationSeconds } = lease?.spec ?? {}
          const isHeld = typeof holderIdentity === 'string' && !['', 'me'].includes(holderIdentity) &&
            // Without a readable duration it is held for good.
            !(clock.monotonic() >= sinceMs.get(JSON.stringify(lease.spec))! + (leaseDurationSeconds ?? 0) * 1000)
          const written = JSON.parse(request.body as string)
          if (written.metadata?.resourceVersion !== lease?.metadata?.resourceVersion) {
            return Promise.resolve(refusal(409, 'Conflict'))
          }
          if (isHeld) taken.push(`at ${clock.monotonic()} ms: ${JSON.stringify(lease)}`)
          if (!accepts) return Promise.resolve(refusal(422, 'Invalid'))
          lease = { ...written, metadata: { ...written.metadata, resourceVersion: String(1000 + requests) } }
          return Promise.resolve(answer(200, lease))
        }
        const me = candidate(server, clock, 'me', { random: () => 0.5 })
        me.start()
        for (const [changed, afterMs, isWatched] of changes) {
          lease = changed
          const record = JSON.stringify(lease?.spec)
          if (!sinceMs.has(record)) sinceMs.set(record, clock.monotonic())
          if (isWatched) stream.text(`${JSON.stringify({ type: 'MODIFIED', object: lease })}\n`)
          await clock.advance(afterMs)
        }
        await clock.advance(runMs)
        assert.deepEqual(taken, [])
        assert.ok(requests < maxRequests, `${requests} requests`)
        const ended = (): unknown => me.outcome instanceof LeadershipLost ? undefined : me.outcome
        assert.equal(ended(), undefined)
        me.stop()
        await clock.advance(20_000)
        assert.ok(me.outcome !== undefined && [undefined, 'resolved'].includes(ended() as string))
        assert.equal(clock.pending, 0)
      },
    ),
    { numRuns: tries(60) },
  )
})
