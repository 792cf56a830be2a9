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
import { tries } from '../tools/fuzz.ts'

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

/** `honours`: whether the writers check the fence. */
async function play({ machines, slowMs }: Input, { honours = true }: { honours?: boolean } = {}): Promise<Outcome> {
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
        if (honours) fence.check()
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

test('without the fence the property fails: writes begin in ended terms', async () => {
  const outcome = await fc.check(
    fc.asyncProperty(input, async (world) => (await play(world, { honours: false })).stale.length === 0),
    { seed: 11, numRuns: tries(100, 'everywhere'), endOnFailure: true },
  )
  assert.equal(outcome.failed, true)
})
