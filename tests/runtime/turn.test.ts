import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextTurn, TurnBudget, turnBudgetOf } from '../../lib/runtime/os/turn.ts'

/** A budget with a clock that a test moves. */
function budgeting() {
  const clock = { nowMs: 0, monotonic: () => clock.nowMs }
  return { clock, budget: new TurnBudget(clock) }
}

test('a turn is spent after 8 ms, counted from the first look over all who look, and the next one is new', async () => {
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
  // Time in which nothing was done does not count.
  clock.nowMs += 60_000
  assert.equal(budget.isSpent, false)
})

test('of those that wait one goes on in each turn, in their order, and with it begins the time of the turn', async () => {
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

test('work in steps takes one turn’s time of each turn, beside other work of the same budget, and has its result', async () => {
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
  let over = false
  void results.then(() => (over = true))
  while (!over) {
    turns.push([])
    await nextTurn()
  }
  assert.deepEqual(await results, ['a done', 'b done'])
  const busy = turns.filter((steps) => steps.length > 0)
  // The first look of a turn that nobody waited for comes after the first step.
  assert.deepEqual(busy, [['a1', 'a2', 'a3', 'b1'], ['a4'], ['b2', 'b3'], ['b4']])
})

test('work whose step throws rejects', async () => {
  const { budget } = budgeting()
  await assert.rejects(
    budget.run((function* (): Generator<undefined, void> {
      yield
      throw new Error('mine')
    })()),
    /mine/,
  )
})

test('all work on one clock has one budget; another clock has another', () => {
  const [one, other] = [budgeting(), budgeting()]
  assert.equal(turnBudgetOf(one.clock), turnBudgetOf(one.clock))
  assert.notEqual(turnBudgetOf(one.clock), turnBudgetOf(other.clock))
})
