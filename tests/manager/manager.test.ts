import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import { aborted } from '../../lib/async/abort.ts'
import { LeadershipLost } from '../../lib/core/errors.ts'
import type { LeaderElector } from '../../lib/leader/leader_elector.ts'
import { Manager, type ManagerOptions } from '../../lib/manager/manager.ts'
import { ManagerStopping, StopTimeout } from '../../lib/manager/runnable_group.ts'
import { nextTurn } from '../../lib/async/clock.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { countedSignal } from '../async/counted_signal.ts'
import { silence } from '../client/transports.ts'
import { type Candidate, candidate, holderOn, patchLease } from '../leader/candidates.ts'
import { type Part, part, type Place, PLACES, recordingLog, STARTS, STOPS, watchOutcome } from './parts.ts'

interface Setup {
  readonly clock: FakeClock
  readonly manager: Manager
  readonly told: string[]
  readonly lines: string[]
  readonly stop: AbortController
  add(place: Place, name: string, options?: Parameters<typeof part>[2]): Part
  start(): { outcome: 'resolved' | unknown }
  /** Starts, and lets all that is ready run. */
  begin(): Promise<{ outcome: 'resolved' | unknown }>
  /** Aborts the signal of the start, and lets all that ends at once end. */
  end(): Promise<void>
}

function setup(options: Partial<ManagerOptions> = {}, clock = new FakeClock()): Setup {
  const told: string[] = []
  const lines: string[] = []
  const manager = new Manager({ clock, log: recordingLog(lines), ...options })
  const stop = new AbortController()
  const start = (): { outcome: unknown } => watchOutcome(manager.start(stop.signal))
  return {
    clock,
    manager,
    told,
    lines,
    stop,
    add: (place, name, options) => {
      const made = Object.assign(part(name, told, options), PLACES[place])
      manager.add(made)
      return made
    },
    start,
    async begin() {
      const running = start()
      await clock.advance(0)
      return running
    },
    async end() {
      stop.abort()
      await clock.advance(0)
    },
  }
}

function withElector(options: Partial<ManagerOptions> = {}): Setup & { server: ApiServer; candidate: Candidate } {
  const clock = new FakeClock()
  const server = new ApiServer({ clock })
  const one = candidate(server.handle, clock, 'a')
  return { ...setup({ elector: one.elector, ...options }, clock), server, candidate: one }
}

/** The same, while another candidate leads. */
async function following(
  options?: Partial<ManagerOptions>,
): Promise<ReturnType<typeof withElector> & { other: Candidate }> {
  const made = withElector(options)
  const other = candidate(made.server.handle, made.clock, 'other')
  other.start()
  await made.clock.advance(0)
  return { ...made, other }
}

const messageOf = (outcome: unknown): string => (outcome as Error).message

test('runnables start in the order of their groups, each group when the one before is ready', async () => {
  const { add, start, told, clock } = setup()
  const parts = STARTS.toReversed().map((phase) => add(phase, phase, { unready: true })).toReversed()
  start()
  for (const [index, each] of parts.entries()) {
    await clock.advance(0)
    assert.deepEqual(told, STARTS.slice(0, index + 1).map((phase) => `+${phase}`))
    each.becomeReady()
  }
})

test('runnables stop in the order of their groups, each group when the one before has ended', async () => {
  const { add, told, stop, clock, begin } = setup()
  const parts = new Map(STARTS.map((phase) => [phase, add(phase, phase, { lingers: true })]))
  const running = await begin()
  told.length = 0
  stop.abort()
  for (const [index, phase] of STOPS.entries()) {
    await clock.advance(1000)
    assert.deepEqual(told, [...STOPS.slice(0, index).flatMap((before) => [`-${before}`, `.${before}`]), `-${phase}`])
    assert.equal(running.outcome, undefined)
    parts.get(phase)!.end()
  }
  await clock.advance(0)
  assert.deepEqual([running.outcome, clock.pending], ['resolved', 0])
})

test('a failing runnable stops the others in order, and the start rejects with its error', async () => {
  const { add, told, clock, lines, manager, begin } = setup()
  const failing = add('others', 'failing')
  add('caches', 'cache')
  add('leader', 'leader')
  const running = await begin()
  const error = new Error('disk full')
  failing.end(error)
  await clock.advance(0)
  assert.deepEqual([running.outcome, manager.stopping.reason, lines], [error, error, []])
  assert.equal(told.join(' '), '+cache +failing +leader .failing -failing -leader .leader -cache .cache')
})

test('a runnable that cannot become ready stops the started ones; later groups do not start', async () => {
  const { add, told, clock, begin } = setup()
  add('servers', 'server')
  const cache = add('caches', 'cache', { unready: true })
  add('others', 'other')
  const running = await begin()
  const error = new Error('cannot list')
  cache.becomeReady(error)
  await clock.advance(0)
  assert.equal(running.outcome, error)
  assert.deepEqual(told, ['+server', '+cache', '-cache', '.cache', '-server', '.server'])
})

test('the start rejects with the first failure; later ones are logged', async () => {
  const { add, clock, lines, begin } = setup()
  const first = add('others', 'first')
  const second = add('caches', 'second', { lingers: true })
  const running = await begin()
  const error = new Error('first')
  first.end(error)
  await clock.advance(0)
  second.end(new Error('second'))
  await clock.advance(0)
  assert.equal(running.outcome, error)
  assert.deepEqual(lines, ['error "second" failed while the manager was stopping: second'])
})

test('a rejection with undefined is a failure', async () => {
  const { manager, begin } = setup()
  manager.add({ name: 'a', everyReplica: true, start: () => Promise.reject() })
  const running = await begin()
  assert.match(messageOf(running.outcome), /^"a" failed without an error$/)
})

test('runnables that do not end within the grace period are named, after their writes are fenced off', async () => {
  const { add, stop, manager, clock, told, begin } = setup({ graceMs: 5000 })
  add('leader', 'stuck', { lingers: true })
  add('servers', 'server')
  const running = await begin()
  stop.abort()
  await clock.advance(4499)
  assert.deepEqual([running.outcome, manager.abandon.aborted], [undefined, false])
  await clock.advance(1)
  assert.equal(manager.abandon.aborted, true)
  await clock.advance(499)
  assert.equal(running.outcome, undefined, 'what obeys its signal has time to end')
  await clock.advance(1)
  await lastTurns(clock)
  assert.match(
    messageOf(running.outcome),
    /^Cannot stop the group "leader" in time: the grace period of 5 s is over; still running: "stuck"$/,
  )
  assert.deepEqual(told, ['+server', '+stuck', '-stuck', '-server', '.server'])
})

test('work that obeys the signal at the end of the grace period, 30 s by default, ends in time, at most 2 s before it', async () => {
  for (
    const [graceMs, abandonMs] of [[500, 450], [20_000, 18_000], [undefined, 28_000], [3_600_000, 3_598_000]] as const
  ) {
    const { manager, start, stop, clock } = withElector({ graceMs })
    const begun: number[] = []
    manager.add(async () => {
      await aborted(manager.stopping)
      begun.push(clock.monotonic())
      await aborted(manager.abandon)
    })
    const running = start()
    await clock.advance(10_000)
    assert.deepEqual([manager.stopping.aborted, begun], [false, []])
    stop.abort(new Error('the end'))
    const stoppedMs = clock.monotonic()
    await clock.advance(0)
    assert.deepEqual([(manager.stopping.reason as Error).message, begun], ['the end', [stoppedMs]])
    await clock.advance(abandonMs - 1)
    assert.equal(running.outcome, undefined)
    await clock.advance(1)
    await lastTurns(clock)
    assert.deepEqual([running.outcome, clock.pending], ['resolved', 0])
  }
})

test('a stop that takes longer than a second logs once what it waits for and how long', async () => {
  for (const [graceMs, time] of [[5000, 'up to 4 s more'], [Infinity, 'without a limit']] as const) {
    const { manager, add, start, stop, clock, lines } = setup({ graceMs })
    const stuck = [add('leader', 'stuck', { lingers: true }), add('others', 'other', { lingers: true })]
    add('servers', 'server')
    const keys = Array.from({ length: 7 }, (_, at) => `the reconcile of Foo "default/${at}"`)
    const busy = Object.assign(part('busy', [], { lingers: true }), { working: () => keys })
    manager.add(busy)
    manager.add({
      ...part('failing', []),
      working() {
        throw new Error('mine')
      },
      start: () => busy.start(new AbortController().signal),
    })
    const running = start()
    await manager.elected
    stop.abort()
    await clock.advance(999)
    assert.deepEqual(lines, [])
    stuck[1]!.end()
    await clock.advance(1)
    assert.deepEqual(lines, [
      `info Waiting ${time} for "stuck", ${keys.slice(0, 4).join(', ')}, and 4 more`,
    ])
    for (const each of [...stuck, busy]) each.end()
    await clock.advance(3999)
    assert.equal(running.outcome, 'resolved')
    assert.deepEqual([lines.length, clock.pending], [1, 0])
  }
})

test('a short stop, or one with a grace period of a second, does not log what it waits for', async () => {
  for (const graceMs of [30_000, 1000, 0]) {
    const { add, stop, clock, lines, begin } = setup({ graceMs })
    const one = add('leader', 'one', { lingers: true })
    const running = await begin()
    stop.abort()
    await clock.advance(900)
    one.end()
    await clock.advance(1000)
    await lastTurns(clock)
    assert.notEqual(running.outcome, undefined)
    assert.deepEqual([lines.filter((line) => line.includes('Waiting')), clock.pending], [[], 0])
  }
})

test('a failure and a stop timeout are both in an AggregateError; each alone is thrown as it is', async () => {
  const { add, clock, begin } = setup({ graceMs: 5000 })
  const failing = add('others', 'failing')
  add('leader', 'stuck', { lingers: true })
  const running = await begin()
  const error = new Error('disk full')
  failing.end(error)
  await clock.advance(5000)
  await lastTurns(clock)
  assert.ok(running.outcome instanceof AggregateError)
  assert.equal(running.outcome.errors[0], error)
  assert.ok(running.outcome.errors[1] instanceof StopTimeout)
  assert.deepEqual(running.outcome.errors[1].running, ['stuck'])
})

test('a grace period of 0 waits for no runnable, without a failure', async () => {
  const { add, stop, manager, clock, lines, begin } = setup({ graceMs: 0 })
  const stuck = add('others', 'stuck', { lingers: true })
  const running = await begin()
  stop.abort()
  await lastTurns(clock)
  assert.deepEqual([running.outcome, manager.abandon.aborted, clock.pending], ['resolved', true, 0])
  assert.match(lines.join(), /warn Cannot stop the group "others" in time: .*still running: "stuck"/)
  stuck.end(new Error('too late'))
  await clock.advance(0)
  assert.match(lines.at(-1)!, /^error "stuck" failed while the manager was stopping: too late$/)
})

test('a runnable that ends at once on the abort is not named, even without a grace period', async () => {
  const { add, stop, clock, lines, begin } = setup({ graceMs: 0 })
  for (const phase of STARTS) add(phase, phase)
  const running = await begin()
  stop.abort()
  await lastTurns(clock)
  assert.deepEqual([running.outcome, lines], ['resolved', []])
})

test('a grace period of Infinity has no limit', async () => {
  const { add, stop, manager, clock, begin } = setup({ graceMs: Infinity })
  const stuck = add('others', 'stuck', { lingers: true })
  const running = await begin()
  stop.abort()
  await clock.advance(1000 * 3_600_000)
  assert.deepEqual([running.outcome, manager.abandon.aborted, clock.pending], [undefined, false, 0])
  stuck.end()
  await clock.advance(0)
  assert.equal(running.outcome, 'resolved')
})

test('an invalid grace period is refused', () => {
  for (const graceMs of [-1, NaN]) {
    assert.throws(() => setup({ graceMs }), /^RangeError: Cannot make a manager: graceMs is/)
  }
})

test('a manager starts once', async () => {
  const { start, clock, begin, end } = setup()
  await begin()
  assert.match(messageOf((await settled(start, clock)).outcome), /^Cannot start the manager: it was started already$/)
  await end()
  assert.match(messageOf((await settled(start, clock)).outcome), /it was started already/)
})

test('runnables can be added until the stop, and then to no group', async () => {
  const { add, stop, told, begin } = setup()
  const stuck = add('others', 'stuck', { lingers: true })
  await begin()
  for (const phase of STARTS) add(phase, `late ${phase}`)
  assert.deepEqual(told, ['+stuck', ...STARTS.map((phase) => `+late ${phase}`)])
  stop.abort()
  for (const phase of STARTS) assert.throws(() => add(phase, 'too late'), ManagerStopping)
  stuck.end()
})

test("the leader's work waits for the lease; elected resolves when it is ready", async () => {
  const { add, start, manager, clock, told, other } = await following()
  add('others', 'other')
  const leader = add('leader', 'leader', { unready: true })
  const elected = watchOutcome(manager.elected)
  start()
  await clock.advance(10_000)
  assert.deepEqual([told, elected.outcome], [['+other'], undefined])
  other.stop()
  await clock.advance(2000)
  assert.deepEqual([told, elected.outcome], [['+other', '+leader'], undefined])
  leader.becomeReady()
  await clock.advance(0)
  assert.equal(elected.outcome, 'resolved')
})

test("the lease is renewed during the stop, and released when the leader's work has ended", async () => {
  const { add, stop, clock, server, begin } = withElector({ graceMs: Infinity })
  const slow = add('leader', 'slow', { lingers: true })
  const cache = add('caches', 'cache', { lingers: true })
  const running = await begin()
  stop.abort()
  await clock.advance(60_000)
  const follower = candidate(server.handle, clock, 'b')
  follower.start()
  await clock.advance(30_000)
  assert.deepEqual([await holderOn(server.handle), follower.leads], ['a', 0])
  slow.end()
  await clock.advance(2000)
  assert.deepEqual([running.outcome, follower.leads], [undefined, 1], 'a webhook may still drain, with its caches')
  cache.end()
  await clock.advance(0)
  assert.equal(running.outcome, 'resolved')
})

test('a lease that cannot be released safely is left to expire', async () => {
  const { add, stop, clock, server, begin } = withElector({ graceMs: 5000 })
  add('leader', 'stuck', { lingers: true })
  const running = await begin()
  stop.abort()
  await clock.advance(5000)
  await lastTurns(clock)
  assert.match(messageOf(running.outcome), /still running: "stuck"/)
  assert.equal(await holderOn(server.handle), 'a')
  assert.equal(clock.pending, 0)
})

test("a manager that never led does not start the leader's work, and ends its campaign first", async () => {
  const { add, start, clock, told, server, candidate: own, other, end } = await following({ graceMs: Infinity })
  const slow = add('others', 'slow', { lingers: true })
  add('leader', 'leader')
  const running = start()
  await clock.advance(1000)
  await end()
  other.stop()
  await clock.advance(60_000)
  assert.deepEqual([own.elector.isLeader, await holderOn(server.handle)], [false, ''])
  slow.end()
  await clock.advance(0)
  assert.deepEqual([running.outcome, told], ['resolved', ['+slow', '-slow', '.slow']])
})

test('a lease that is won after the stop starts nothing, without a failure', async () => {
  const fence = { check() {}, signal: new AbortController().signal }
  const elector = {
    fence,
    async start(signal: AbortSignal, lead: (given: typeof fence) => void) {
      await aborted(signal)
      for (let turn = 0; turn < 20; turn++) await nextTurn()
      lead(fence)
    },
  } as unknown as LeaderElector
  const { add, stop, clock, told, lines, begin } = setup({ elector })
  add('leader', 'leader')
  const running = await begin()
  stop.abort()
  for (let turn = 0; turn < 30; turn++) await clock.advance(0)
  assert.deepEqual([running.outcome, told, lines], ['resolved', [], []])
})

test('a lost lease ends the manager without a wait, and running work cannot write', async () => {
  const { add, manager, clock, server, lines, begin } = withElector()
  add('leader', 'stuck', { lingers: true })
  add('caches', 'cache', { lingers: true })
  const running = await begin()
  await patchLease(server.handle, { spec: { holderIdentity: 'thief' } })
  await clock.advance(2000)
  await lastTurns(clock)
  assert.ok(running.outcome instanceof LeadershipLost)
  assert.equal(manager.abandon.aborted, true)
  assert.equal(await holderOn(server.handle), 'thief')
  assert.match(lines.join('\n'), /still running: "stuck"/)
  assert.equal(
    lines[0],
    'error Cannot renew lease "default/lock": "thief" holds it now',
    'why comes before what it did',
  )
})

test('a lease that is lost during the stop ends the grace period', async () => {
  const { add, stop, manager, clock, candidate: own, begin } = withElector({ graceMs: Infinity })
  add('leader', 'stuck', { lingers: true })
  const running = await begin()
  stop.abort()
  own.network.intercept = silence
  await clock.advance(9999)
  assert.deepEqual([running.outcome, manager.abandon.aborted], [undefined, false])
  await clock.advance(1)
  await lastTurns(clock)
  assert.ok(running.outcome instanceof LeadershipLost)
  assert.deepEqual([manager.abandon.aborted, clock.pending], [true, 0])
})

test("a stop while the leader's work becomes ready is no failure", async () => {
  const { add, server, begin, end } = withElector()
  add('leader', 'leader', { unready: true })
  const running = await begin()
  await end()
  assert.deepEqual([running.outcome, await holderOn(server.handle)], ['resolved', ''])
})

test('a manager that has ended leaves no timer, and no listener on the signal of its start', async () => {
  const { add, clock, manager } = withElector()
  const [failing] = [add('others', 'failing'), ...STARTS.map((place) => add(place, place))]
  const { controller, listeners } = countedSignal()
  const running = watchOutcome(manager.start(controller.signal))
  await clock.advance(10_000)
  assert.equal(listeners(), 1)
  failing!.end(new Error('x'))
  await clock.advance(0)
  assert.deepEqual([messageOf(running.outcome), listeners(), clock.pending], ['x', 0, 0])
  assert.equal(manager.abandon.aborted, false)
})

/** Reports `~name` when its warm-up starts and `!name` when it ends. */
function warming(
  name: string,
  told: string[],
  options: Parameters<typeof part>[2] & { warmth?: Promise<void> } = {},
): Part {
  return Object.assign(part(name, told, options), {
    async warmup(signal: AbortSignal) {
      told.push(`~${name}`)
      await (options.warmth ?? aborted(signal))
      told.push(`!${name}`)
    },
  })
}

test('a warm-up runs on every replica before the lease is won, after the caches, and no step waits for it', async () => {
  const { add, manager, clock, told, other, begin } = await following()
  manager.add(warming('controller', told))
  manager.add(Object.assign(warming('everywhere', told), { everyReplica: true }))
  const cache = add('caches', 'cache', { unready: true })
  await begin()
  assert.deepEqual(told, ['+cache'])
  cache.becomeReady()
  for (let turn = 0; turn < 3; turn++) await clock.advance(500)
  assert.deepEqual(told, ['+cache', '+everywhere', '~controller', '~everywhere'])
  other.stop()
  await clock.advance(20_000)
  assert.deepEqual(told.slice(4), ['+controller'])
})

test('a warm-up is aborted at once on a stop, and the stop waits for it', async () => {
  const { add, start, manager, clock, told, server, end } = withElector({ graceMs: Infinity })
  let cool = (): void => {}
  manager.add(warming('controller', told, { warmth: new Promise((resolve) => (cool = resolve)) }))
  const other = add('others', 'other', { lingers: true })
  manager.add(warming('second', told))
  const running = start()
  for (let turn = 0; turn < 3; turn++) await clock.advance(0)
  told.length = 0
  await end()
  assert.deepEqual(told, ['-other', '!second'])
  other.end()
  await clock.advance(60_000)
  assert.deepEqual([running.outcome, await holderOn(server.handle)], [undefined, 'a']) // the lease is kept for it, too
  cool()
  await clock.advance(0)
  assert.deepEqual([running.outcome, await holderOn(server.handle)], ['resolved', ''])
})

test('a warm-up runs for a runnable that is added later, too, but not during a stop', async () => {
  const { add, manager, stop, clock, told, begin } = setup()
  const stuck = add('others', 'stuck', { lingers: true })
  await begin()
  manager.add(warming('late', told))
  await clock.advance(0)
  assert.deepEqual(told, ['+stuck', '~late', '+late'])
  stop.abort()
  assert.throws(() => manager.add(warming('too late', told)), ManagerStopping)
  stuck.end()
})

test('the recorder stops last, after the release of the lease', async () => {
  const { add, clock, server, told, begin, end } = withElector()
  let holder: string | undefined
  const recorder = add('recorder', 'recorder', { lingers: true })
  add('servers', 'server')
  const running = await begin()
  recorder.signal!.addEventListener('abort', () => void holderOn(server.handle).then((found) => (holder = found)))
  await end()
  assert.deepEqual([told.slice(-3), holder, running.outcome], [['-server', '.server', '-recorder'], '', undefined])
  recorder.end()
  await clock.advance(0)
  assert.equal(running.outcome, 'resolved')
})

test('the fence passes no write before the lease is won or after it is lost', async () => {
  const { manager, clock, server, other, begin } = await following()
  await begin()
  assert.throws(() => manager.fence.check(), /this process does not hold it yet/)
  assert.equal(manager.fence.signal.aborted, false)
  other.stop()
  await clock.advance(4000)
  manager.fence.check()
  await patchLease(server.handle, { spec: { holderIdentity: 'thief' } })
  await clock.advance(4000)
  assert.throws(() => manager.fence.check())
  assert.equal(manager.fence.signal.aborted, true)
})

test('the fence closes shortly before the end of the grace period, before the stop ends its wait', async () => {
  for (const make of [setup, withElector]) {
    const { add, stop, manager, clock, begin } = make({ graceMs: 5000 })
    add('leader', 'stuck', { lingers: true })
    let waiting: boolean | undefined
    const running = await begin()
    manager.fence.signal.addEventListener('abort', () => (waiting = running.outcome === undefined))
    stop.abort()
    await clock.advance(4499)
    manager.fence.check()
    await clock.advance(1)
    assert.deepEqual([waiting, manager.fence.signal.aborted], [true, true])
    assert.throws(() => manager.fence.check(), /the grace period of 5 s is about to end/)
    await clock.advance(500)
  }
})

/** A group that stops without time left waits one turn. */
async function lastTurns(clock: FakeClock): Promise<void> {
  for (let turn = 0; turn < 2 * STOPS.length; turn++) await clock.advance(0)
}

async function settled(start: () => { outcome: unknown }, clock: FakeClock): Promise<{ outcome: unknown }> {
  const result = start()
  await clock.advance(0)
  return result
}

/** Returns a preparation. */
function preparation(told: string[], options?: Parameters<typeof part>[2]): Part & { readonly role: 'preparation' } {
  return Object.assign(part('preparation', told, options), { role: 'preparation' as const })
}

test("a preparation starts with the lease, and the leader's work when it is ready; work on every replica does not wait", async () => {
  const { add, start, manager, clock, told, other } = await following()
  const prepares = preparation(told, { unready: true })
  manager.add(prepares)
  for (const place of ['leader', 'others'] as const) add(place, place)
  start()
  await clock.advance(5000)
  assert.deepEqual(told, ['+others'])
  other.stop()
  await clock.advance(20_000)
  assert.deepEqual([told, manager.isElected], [['+others', '+preparation'], false])
  prepares.becomeReady()
  await clock.advance(0)
  assert.deepEqual([told, manager.isElected], [['+others', '+preparation', '+leader'], true])
})

test('a stop during a preparation is no failure: it aborts it at once, waits for it, and keeps the lease until it has ended', async () => {
  const { add, manager, clock, told, lines, server, begin, end } = withElector({ graceMs: Infinity })
  const prepares = preparation(told, { unready: true, lingers: true })
  manager.add(prepares)
  const slow = add('others', 'slow', { lingers: true })
  add('leader', 'leader')
  const running = await begin()
  told.length = 0
  await end()
  assert.deepEqual(told.toSorted(), ['-preparation', '-slow'])
  slow.end()
  await clock.advance(60_000)
  assert.deepEqual([running.outcome, await holderOn(server.handle)], [undefined, 'a'])
  prepares.end()
  await clock.advance(0)
  assert.deepEqual([running.outcome, await holderOn(server.handle)], ['resolved', ''])
  assert.deepEqual([told.includes('+leader'), lines.filter((line) => line.startsWith('error'))], [false, []])
})

test('the lease is not released if a preparation does not end within the grace period', async () => {
  const { stop, manager, clock, told, server, begin } = withElector({ graceMs: 5000 })
  manager.add(preparation(told, { unready: true, lingers: true }))
  const running = await begin()
  stop.abort()
  await clock.advance(6000)
  assert.match(
    messageOf(running.outcome),
    /Cannot stop the group "preparation" in time: .*still running: "preparation"/,
  )
  assert.equal(await holderOn(server.handle), 'a')
})

/** A cache whose `beforeLeading` the test settles. */
function lagging({ add, told }: Setup, place: Place = 'caches') {
  const caughtUp = Promise.withResolvers<void>()
  const signals: AbortSignal[] = []
  Object.assign(add(place, place), {
    beforeLeading: (signal: AbortSignal) => {
      told.push(`?${place}`)
      signals.push(signal)
      return caughtUp.promise
    },
  })
  return { ...caughtUp, signals }
}

test("with the lease, each cache catches up before the leader's work; work on every replica does not wait", async () => {
  const s = withElector()
  const { signals, resolve } = lagging(s)
  lagging(s, 'others')
  s.add('leader', 'leader')
  s.start()
  await s.clock.advance(1000)
  assert.deepEqual(s.told, ['+caches', '+others', '?caches'])
  assert.deepEqual([s.candidate.elector.isLeader, s.manager.isElected], [true, false])
  resolve()
  await s.clock.advance(0)
  assert.deepEqual([s.told.at(-1), s.manager.isElected, signals[0]!.aborted], ['+leader', true, false])
  s.stop.abort()
  await s.clock.advance(0)
})

test('without an election, no cache catches up', async () => {
  const s = setup()
  lagging(s)
  s.add('leader', 'leader')
  s.start()
  await s.clock.advance(0)
  assert.deepEqual(s.told, ['+caches', '+leader'])
  s.stop.abort()
  await s.clock.advance(0)
})

test('a stop ends the wait for the caches and releases the lease; a cache that rejects stops the manager', async () => {
  for (const ends of ['stop', 'rejects'] as const) {
    const s = withElector()
    const { signals, reject } = lagging(s)
    s.add('leader', 'leader')
    const running = s.start()
    await s.clock.advance(1000)
    if (ends === 'stop') s.stop.abort(new Error('enough'))
    else reject(new Error('broken'))
    await s.clock.advance(0)
    assert.equal(signals[0]!.aborted, true)
    if (ends === 'stop') reject(signals[0]!.reason)
    await s.clock.advance(1000)
    assert.ok(!s.told.includes('+leader'))
    assert.equal(
      ends === 'stop' ? running.outcome : messageOf(running.outcome),
      ends === 'stop' ? 'resolved' : 'broken',
    )
    assert.equal(await holderOn(s.server.handle), '')
  }
})
