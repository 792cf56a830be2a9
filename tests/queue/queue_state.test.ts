import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { QueueState } from '../../lib/queue/queue_state.ts'
import { QueueModel } from './queue_model.ts'
import { tries } from '../tools/fuzz.ts'

const AGING = { patienceMs: 20, every: 3 }

type Operation =
  | { readonly do: 'add'; readonly key: string; readonly priority: number }
  | {
    readonly do: 'addAt'
    readonly key: string
    readonly priority: number
    readonly ms: number
    readonly retry: boolean
  }
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'take' | 'dropDelayed' }
  | { readonly do: 'done' | 'forget' | 'remove'; readonly key: string }

/** Applies the same operations to the state and to the model, and checks that both stay equal. */
class Pair {
  readonly state = new QueueState<string>(AGING)
  readonly model = new QueueModel(AGING.patienceMs, AGING.every)
  now = 0

  do(each: Operation): void {
    const { state, model } = this
    switch (each.do) {
      case 'add':
        same('a new turn', state.add(each.key, each.priority, this.now), model.add(each.key, each.priority, this.now))
        break
      case 'addAt':
        state.addAt(each.key, this.now + each.ms, each.priority, each.retry)
        model.addAt(each.key, this.now + each.ms, each.priority, each.retry)
        break
      case 'pass':
        this.now += each.ms
        same('promoted', state.promote(this.now), model.promote(this.now))
        break
      case 'take': {
        const before = model.working.map(({ key }) => key)
        this.take()
        const taken = model.working.at(-1)
        if (taken && model.working.length > before.length) {
          assert.ok(!before.includes(taken.key), `"${taken.key}" was handed out twice`)
          same('priority', state.turnOf(taken.key)?.priority, taken.priority)
        }
        break
      }
      case 'done':
        state.done(each.key)
        model.done(each.key, this.now)
        break
      case 'forget':
        same('taken back', state.cancelRetry(each.key), model.cancelRetry(each.key))
        break
      case 'remove':
        state.remove(each.key)
        model.remove(each.key)
        break
      case 'dropDelayed':
        state.dropDelayed()
        model.delayed = []
        break
    }
    same('length', state.length, model.ready.length)
    same('processing', state.processing, model.working.length)
    same('delayed', state.delayed, model.delayed.length)
    same('next due', state.nextDueMs(), model.nextDueMs())
    same('idle', state.idle, model.ready.length + model.working.length === 0)
  }

  /** Returns the key that both hand out, after a peek at the state. */
  take(): string | undefined {
    const peeked = this.state.peek(this.now)?.key
    const taken = this.state.take(this.now)
    same('taken', taken, this.model.take(this.now))
    same('taken as peeked', taken, peeked)
    return taken
  }

  /** Checks that both hand out all remaining keys in the same order. */
  finish(): void {
    assert.deepEqual(sorted(this.state.depths()), sorted(this.model.depths()))
    this.do({ do: 'pass', ms: 1_000_000 })
    for (const { key } of [...this.model.working]) this.do({ do: 'done', key })
    while (this.model.ready.length > 0) this.do({ do: 'done', key: this.take()! })
    assert.deepEqual([this.state.idle, this.state.delayed, this.state.take(this.now)], [true, 0, undefined])
  }
}

/** A cheap assert.equal, because it is called millions of times. */
function same(what: string, actual: unknown, expected: unknown): void {
  if (actual !== expected) assert.equal(actual, expected, what)
}

function sorted(depths: ReadonlyMap<number, number>): [number, number][] {
  return [...depths].sort(([a], [b]) => a - b)
}

const key = fc.constantFrom('a', 'b', 'c', 'd', 'e')
const priority = fc.constantFrom(0, 0, 0, -100, -100, 7, 0.5)
const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('add' as const), key, priority }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('addAt' as const), key, priority, ms: fc.nat(50), retry: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.nat(15) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('take' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('done' as const), key }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('forget' as const), key }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), key }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('dropDelayed' as const) }) },
)

test('for random operations, the state equals the simple model and keeps the bound of aging', () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 400, size: 'max' }), (operations) => {
      const pair = new Pair()
      for (const each of operations) pair.do(each)
      pair.finish()
    }),
    { numRuns: tries(200) },
  )
})

test('the state equals the model over a million operations, with many keys, many priorities and a backlog', () => {
  fc.assert(
    fc.property(
      fc.integer(),
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 1, max: 60 }),
      (seed, keys, priorities) => {
        const pair = new Pair()
        const random = randomNumbers(seed)
        for (let i = 0; i < 10_000; i++) pair.do(randomOperation(random, keys, priorities))
        pair.finish()
      },
    ),
    { numRuns: tries(100) },
  )
})

/** The mulberry32 generator. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor(((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32 * below)
  }
}

function randomOperation(random: (below: number) => number, keys: number, priorities: number): Operation {
  const key = `key-${random(keys)}`
  const priority = random(priorities) - 20
  const choice = random(1000)
  if (choice < 350) return { do: 'add', key, priority }
  if (choice < 450) return { do: 'addAt', key, priority, ms: random(60), retry: random(2) === 0 }
  if (choice < 500) return { do: 'forget', key }
  if (choice < 600) return { do: 'pass', ms: random(12) }
  if (choice < 800) return { do: 'take' }
  if (choice < 999) return { do: 'done', key }
  return { do: 'dropDelayed' }
}

/** Adds keys with priority 0, or `key:priority`. */
function add(state: QueueState<string>, ...keys: string[]): void {
  for (const each of keys) {
    const [key = '', priority = '0'] = each.split(':')
    state.add(key, Number(priority), 0)
  }
}

/** Takes and finishes all waiting keys. */
function takeAll(state: QueueState<string>): string[] {
  const taken: string[] = []
  for (let key = state.take(0); key !== undefined; key = state.take(0)) {
    taken.push(key)
    state.done(key)
  }
  return taken
}

test('a key that waited for the patience leaves by the guaranteed hand-out, no matter how many urgent keys come', () => {
  for (
    const { patienceMs, every, before } of [{ patienceMs: 1000, every: 8, before: 0 }, {
      patienceMs: 50,
      every: 2,
      before: 5,
    }]
  ) {
    const state = new QueueState<string>({ patienceMs, every })
    for (let i = 0; i < before; i++) state.add(`before-${i}`, -100, 0)
    state.add('starved', -100, 0)
    let [stream, live] = [0, 0]
    /** Adds urgent keys, so that one always waits. */
    const next = (nowMs: number): string => {
      for (; live === 0; live++) state.add(`live-${stream++}`, 0, nowMs)
      const key = state.take(nowMs)!
      if (key.startsWith('live')) live--
      state.done(key)
      return key
    }
    // The order is strict until a key has waited for the patience, no matter how many keys leave.
    for (let i = 0; i < 100; i++) assert.match(next(patienceMs - 1), /^live/)
    // No key left by age before, so the first leaves at once and the last one with the (before * every + 1)-th
    // hand-out.
    const order = Array.from({ length: before * every + 1 }, () => next(patienceMs))
    assert.deepEqual(order.flatMap((key, at) => key.startsWith('live') ? [] : [[key, at]]), [
      ...Array.from({ length: before }, (_, i) => [`before-${i}`, i * every]),
      ['starved', before * every],
    ])
    // Worst case, just after a hand-out by age: (m + 1) * every.
    for (let i = 0; i < before; i++) state.add(`again-${i}`, -100, patienceMs)
    state.add('last', -100, patienceMs)
    const worst = Array.from({ length: (before + 1) * every }, () => next(2 * patienceMs))
    assert.equal(worst.indexOf('last'), (before + 1) * every - 1)
  }
})

test('a hundred thousand keys that waited for the patience delay an urgent key only by their share', () => {
  const state = new QueueState<string>({ patienceMs: 1000, every: 8 })
  for (let i = 0; i < 100_000; i++) state.add(`initial-${i}`, -100, 0)
  const handOuts = (what: string): number => {
    for (let count = 1;; count++) {
      const key = state.take(5000)!
      state.done(key)
      if (key === what) return count
    }
  }
  // With h keys before it: h + 1 + ceil((h + 1) / (every - 1)) at the latest; here the first hand-out goes by age.
  for (const h of [0, 6, 7, 50]) {
    for (let i = 0; i < 7; i++) state.done(state.take(5000)!)
    for (let i = 0; i <= h; i++) state.add(`live-${i}`, 0, 5000)
    assert.equal(handOuts(`live-${h}`), h + 1 + Math.ceil((h + 1) / 7), `${h} before it`)
  }
  // The backlog leaves completely and in order, first by age and then by priority.
  let expected = 100_000 - state.length
  const takeOne = (): void => {
    const key = state.take(5000)!
    if (key.startsWith('initial')) assert.equal(key, `initial-${expected++}`)
    state.done(key)
  }
  for (let i = 0; i < 10; i++) state.add(`stream-${i}`, 0, 5000)
  const before = expected
  for (let i = 0; i < 16_000; i++) {
    takeOne()
    for (let j = 0; state.length < 100_010 - expected; j++) state.add(`stream-${i}-${j}`, 0, 5000)
  }
  assert.equal(expected - before, 2000)
  while (state.length > 0) takeOne()
  assert.deepEqual([expected, state.idle], [100_000, true])
})

test('aging can be turned off, and invalid options are refused', () => {
  const state = new QueueState<string>({ patienceMs: Infinity })
  add(state, 'low:-1')
  for (let i = 0; i < 100; i++) {
    add(state, `live-${i}`, `live-${i}-too`)
    assert.match(state.take(1e12)!, /^live/)
  }
  const refused = (options: { patienceMs?: number; every?: number }, message: string): void =>
    assert.throws(() => new QueueState(options), { name: 'RangeError', message })
  refused({ patienceMs: NaN }, 'Cannot make a queue: aging.patienceMs is NaN, and must be 0 or more')
  refused({ every: 1 }, 'Cannot make a queue: aging.every is 1, and must be an integer, 2 or more')
})

test('a key that is raised a hundred thousand times leaves few empty priorities', () => {
  const state = new QueueState<string>()
  add(state, 'other:-1', 'other too:1000000')
  for (let priority = 0; priority < 100_000; priority++) state.add('a', priority, 0)
  assert.deepEqual([state.length, takeAll(state)], [3, ['other too', 'a', 'other']])
})
