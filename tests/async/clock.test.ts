import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isInTime, nextTurn, sleep, systemClock, TurnBudget, turnBudgetOf, within } from '../../lib/async/clock.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { countedSignal } from './counted_signal.ts'

test('sleep resolves after its time and leaves no timer', async () => {
  const clock = new FakeClock()
  let awake = false
  const sleeping = sleep(clock, 1000, new AbortController().signal).then(() => (awake = true))
  await clock.advance(999)
  assert.equal(awake, false)
  await clock.advance(1)
  await sleeping
  assert.equal(clock.pending, 0)
})

test('sleep rejects with the reason of an abort and leaves no timer', async () => {
  const clock = new FakeClock()
  const controller = new AbortController()
  const sleeping = sleep(clock, 1000, controller.signal)
  controller.abort(new Error('stop'))
  await assert.rejects(sleeping, /stop/)
  assert.equal(clock.pending, 0)
})

test('the system clock fires in order, skips cancelled timers, and delays timers above 2^31 ms', async () => {
  const fired: string[] = []
  const cancelFar = systemClock.after(2 ** 31 + 1000, () => fired.push('far'))
  systemClock.after(1, () => fired.push('cancelled'))()
  const began = systemClock.monotonic()
  await new Promise<void>((resolve) => systemClock.after(5, () => (fired.push('near'), resolve())))
  cancelFar()
  assert.deepEqual(fired, ['near'])
  assert.ok(systemClock.monotonic() - began >= 3)
  assert.ok(systemClock.now() > Date.UTC(2026, 0, 1))
})

test('within aborts its signal at the limit, and leaves neither timer nor listener', async () => {
  const clock = new FakeClock()
  const { controller: parent, listeners } = countedSignal()
  const late = (): Error => new Error('too late')
  const hanging = (signal: AbortSignal): Promise<never> =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  const limited = within(clock, 1000, late, hanging, parent.signal)
  const refused = assert.rejects(limited, /too late/)
  await clock.advance(999)
  assert.equal(clock.pending, 1)
  await clock.advance(1)
  await refused
  assert.equal(await within(clock, 1000, late, async (signal) => signal.aborted, parent.signal), false)
  await assert.rejects(within(clock, 1000, late, () => Promise.reject(new Error('mine')), parent.signal), /mine/)
  assert.deepEqual([clock.pending, listeners()], [0, 0])
  const ended = assert.rejects(within(clock, 1000, late, hanging, parent.signal), /parent/)
  parent.abort(new Error('parent'))
  await ended
  assert.deepEqual([clock.pending, listeners()], [0, 0])
})

test('timers of a fake clock that are due at one time fire in the order in which they were set', async () => {
  const clock = new FakeClock()
  const fired: number[] = []
  for (let at = 0; at < 8; at++) clock.after(1000, () => fired.push(at))
  await clock.advance(1000)
  assert.deepEqual(fired, [0, 1, 2, 3, 4, 5, 6, 7])
})

test('isInTime clears its timer with the promise, and ignores a later rejection', async () => {
  const clock = new FakeClock()
  assert.equal(await isInTime(clock, 1000, Promise.resolve()), true)
  await assert.rejects(isInTime(clock, 1000, Promise.reject(new Error('mine'))), /mine/)
  assert.equal(clock.pending, 0)
  const { promise, reject } = Promise.withResolvers<void>()
  let answer: boolean | undefined
  const asked = isInTime(clock, 1000, promise).then((isIn) => (answer = isIn))
  await clock.advance(999)
  assert.equal(answer, undefined)
  await clock.advance(1)
  await asked
  assert.equal(answer, false)
  reject(new Error('late'))
  assert.equal(clock.pending, 0)
})

/** Returns a budget with a clock that the test moves. */
function budgeting() {
  const clock = { nowMs: 0, monotonic: () => clock.nowMs }
  return { clock, budget: new TurnBudget(clock) }
}

test("a turn's time is spent 8 ms after the first check of any work, and each turn starts anew", async () => {
  const { clock, budget } = budgeting()
  clock.nowMs = 1000
  assert.equal(budget.isSpent, false)
  clock.nowMs += 7.9
  assert.equal(budget.isSpent, false)
  clock.nowMs += 0.1
  assert.deepEqual([budget.isSpent, budget.isSpent], [true, true])
  await nextTurn()
  assert.equal(budget.isSpent, false)
  clock.nowMs += 8
  assert.equal(budget.isSpent, true)
  await nextTurn()
  // Time without work does not count.
  clock.nowMs += 60_000
  assert.equal(budget.isSpent, false)
})

test("one waiting caller continues in each turn, in order, and starts that turn's time", async () => {
  const { clock, budget } = budgeting()
  const went: string[] = []
  for (const name of ['a', 'b', 'c']) void budget.turn().then(() => went.push(name))
  await Promise.resolve()
  assert.deepEqual(went, [])
  for (const expected of [['a'], ['a', 'b'], ['a', 'b', 'c']]) {
    await nextTurn()
    assert.deepEqual(went, expected)
    clock.nowMs += 8
    assert.equal(budget.isSpent, true)
  }
  await nextTurn()
  assert.equal(budget.isSpent, false)
})

test("work in steps shares each turn's time with other work, and resolves to its result", async () => {
  const { clock, budget } = budgeting()
  const turns: string[][] = [[]]
  function* work(name: string): Generator<undefined, string> {
    for (let step = 1; step <= 4; step++) {
      turns.at(-1)!.push(`${name}${step}`)
      clock.nowMs += 4
      yield
    }
    return `${name} done`
  }
  const results = Promise.all([budget.run(work('a')), budget.run(work('b'))])
  for (let turn = 0; turn < 20; turn++) {
    turns.push([])
    await nextTurn()
  }
  assert.deepEqual(await results, ['a done', 'b done'])
  const busy = turns.filter((steps) => steps.length > 0)
  // In a turn without a waiting caller, the first check comes after the first step.
  assert.deepEqual(busy, [['a1', 'a2', 'a3', 'b1'], ['a4'], ['b2', 'b3'], ['b4']])
})

test('work rejects if a step throws', async () => {
  const { budget } = budgeting()
  await assert.rejects(
    budget.run((function* (): Generator<undefined, void> {
      yield
      throw new Error('mine')
    })()),
    /mine/,
  )
})

test('all work on one clock shares one budget', () => {
  const [one, other] = [budgeting(), budgeting()]
  assert.equal(turnBudgetOf(one.clock), turnBudgetOf(one.clock))
  assert.notEqual(turnBudgetOf(one.clock), turnBudgetOf(other.clock))
})
