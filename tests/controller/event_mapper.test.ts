import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { KubeObject } from '../../lib/core/objects.ts'
import type { KeyMapper } from '../../lib/controller/handlers.ts'
import { EventMapper } from '../../lib/controller/event_mapper.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { countedSignal } from '../async/counted_signal.ts'
import { nextTurn } from '../../lib/async/clock.ts'
import { keptLog, pod } from '../cache/scripted_server.ts'
import { SlowClock } from '../runtime/slow_clock.ts'
import { settle } from './fixture.ts'

function mapping(map: KeyMapper) {
  const clock = new FakeClock()
  const { lines, log } = keptLog()
  const signal = countedSignal()
  const reported: string[] = []
  const made = new EventMapper({
    map,
    adderOf: () => (key) => void reported.push(key),
    clock,
    log,
    signal: signal.controller.signal,
  })
  const retrying = made.retry()
  return {
    mapping: made,
    clock,
    lines,
    reported,
    settle: () => settle(clock),
    add: (object: KubeObject) => made.take({ kind: 'added', object, initial: false }),
    async end(): Promise<void> {
      signal.controller.abort(new Error('the test is over'))
      await Promise.all([retrying, made.tried, made.drained(), settle(clock)])
      assert.deepEqual([clock.pending, signal.listeners()], [0, 0])
    },
  }
}

test('a function that fails for all objects causes a few lines, and a few objects are named', async () => {
  const m = mapping(() => assert.fail('mine'))
  for (let i = 0; i < 1000; i++) m.add(pod(`p${i}`, '1'))
  await m.settle()
  assert.deepEqual(m.mapping.failures, [
    'the keys of Pod "default/p0" (mine)',
    'the keys of Pod "default/p1" (mine)',
    'the keys of Pod "default/p2" (mine)',
    'the keys of 997 more objects',
  ])
  await m.clock.advance(10_000)
  assert.equal(m.lines.length, 5)
  await m.end()
})

test('retries of parked events yield to the event loop', async () => {
  let calls = 0
  const m = mapping(() => (calls++, assert.fail('mine')))
  for (let i = 0; i < 100; i++) m.add(pod(`p${i}`, '1'))
  await m.settle()
  calls = 0
  await m.clock.advance(100)
  assert.ok(calls < 10, `${calls} tries in one turn`)
  await m.end()
})

test('drained resolves when all keys are reported, also those of parked events', async () => {
  let isBroken = true
  const m = mapping(({ metadata }) => (isBroken ? assert.fail('mine') : [{ name: metadata.name }]))
  m.add(pod('a', '1'))
  let isDrained = false
  void m.mapping.drained().then(() => (isDrained = true))
  await m.settle()
  assert.deepEqual([isDrained, m.mapping.idle], [false, true])
  isBroken = false
  await m.clock.advance(100)
  await m.settle()
  assert.deepEqual([isDrained, m.reported], [true, ['a']])
  isBroken = true
  m.add(pod('b', '2'))
  let isFreed = false
  void m.mapping.drained().then(() => (isFreed = true))
  await m.settle()
  await m.end()
  assert.ok(isFreed, 'the wait outlasts the end')
})

test('for any map function, the owners of each last change are reported after it, and no object is mapped twice at once', async () => {
  const names = ['a', 'b', 'c']
  const event = fc.record({
    name: fc.constantFrom(...names),
    owner: fc.constantFrom('x', 'y', 'z'),
    isGone: fc.boolean(),
    passMs: fc.constantFrom(0, 0, 0, 50, 100, 400),
  })
  const behaviour = fc.constantFrom('sync', 'async', 'slow', 'throw', 'reject', 'hang')
  await fc.assert(
    fc.asyncProperty(
      fc.array(event, { maxLength: 25, size: 'max' }),
      fc.array(behaviour, { maxLength: 40, size: 'max' }),
      async (events, behaviours) => {
        const inWork = new Set<string>()
        const m = mapping(({ metadata: { name, labels } }) => {
          const key = [{ name: `${name}-${labels!['owner']}` }]
          const behaves = behaviours.shift() ?? 'sync'
          if (behaves === 'sync') return key
          if (behaves === 'throw') throw new Error('mine')
          assert.ok(!inWork.has(name), `"${name}" is mapped twice at once`)
          if (behaves === 'hang') return new Promise(() => {})
          inWork.add(name)
          const answer = async (): Promise<typeof key> => {
            if (behaves === 'slow') await new Promise<void>((resolve) => void m.clock.after(150, resolve))
            inWork.delete(name)
            if (behaves === 'reject') throw new Error('mine')
            return key
          }
          return answer()
        })
        const known = new Map<string, KubeObject>()
        /** For each object's last event: its owners, and the number of keys reported before it. */
        const last = new Map<string, { readonly owners: readonly string[]; readonly at: number }>()
        for (const [i, { name, owner, isGone, passMs }] of events.entries()) {
          const object = pod(name, `${i}`, { labels: { owner } })
          const old = known.get(name)
          const at = m.reported.length
          if (isGone && old) {
            known.delete(name)
            m.mapping.take({ kind: 'deleted', object: old, stale: false })
            last.set(name, { owners: [old.metadata.labels!['owner']!], at })
          } else {
            known.set(name, object)
            m.mapping.take(old ? { kind: 'updated', object, old } : { kind: 'added', object, initial: false })
            last.set(name, { owners: [owner, ...(old ? [old.metadata.labels!['owner']!] : [])], at })
          }
          await m.clock.advance(passMs)
        }
        for (let i = 0; i < 400 && (!m.mapping.idle || m.mapping.failures.length > 0); i++) {
          await m.clock.advance(10_000)
        }
        for (const [name, { owners, at }] of last) {
          for (const owner of owners) {
            assert.ok(
              m.reported.slice(at).includes(`${name}-${owner}`),
              `${name}-${owner} was not reported after the last event`,
            )
          }
        }
        assert.deepEqual([m.mapping.idle, m.mapping.failures], [true, []])
        await m.end()
      },
    ),
    { numRuns: 60 },
  )
})

test('a try in progress at the stop is neither reported nor logged, whether it succeeds or fails', async () => {
  for (const works of [true, false]) {
    const gate = Promise.withResolvers<{ name: string }[]>()
    let calls = 0
    const m = mapping(() => (calls++ === 0 ? assert.fail('mine') : gate.promise))
    m.add(pod('a', '1'))
    await m.settle()
    await m.clock.advance(100)
    await m.settle()
    assert.deepEqual([calls, m.lines.length, m.mapping.idle], [2, 1, false])
    const ended = m.end()
    if (works) gate.resolve([{ name: 'late' }])
    else gate.reject(new Error('late'))
    await ended
    assert.deepEqual([m.reported, m.lines.length], [[], 1])
  }
})

test('settled results of a map function are handled in turns of the event loop, in their order', async () => {
  const clock = new SlowClock(0)
  const stop = new AbortController()
  const reported: string[] = []
  const m = new EventMapper({
    map: async ({ metadata: { name } }) => [{ name }],
    adderOf: () => (key) => void reported.push(key),
    clock,
    log: keptLog().log,
    signal: stop.signal,
  })
  const names = Array.from({ length: 12 }, (_, i) => `p${i}`)
  for (const name of names) m.take({ kind: 'added', object: pod(name, '1'), initial: true })
  clock.lookMs = 10
  await nextTurn()
  assert.ok(reported.length > 0 && reported.length < 12, `${reported.length} in one turn`)
  for (let turn = 0; turn < 60; turn++) await nextTurn()
  assert.deepEqual(reported, names)
  assert.equal(m.idle, true)
})

test('thousands of keys of one event are queued in turns of the event loop, each once, also if a later one is invalid', async () => {
  const clock = new SlowClock(10)
  const stop = new AbortController()
  const reported: string[] = []
  const all = Array.from({ length: 1001 }, (_, i) => ({ name: `k${i}` }))
  const m = new EventMapper({
    map: () => [...all, all[0]!, undefined as never],
    adderOf: () => (key) => void reported.push(key),
    clock,
    log: keptLog().log,
    signal: stop.signal,
  })
  m.take({ kind: 'added', object: pod('a', '1'), initial: false })
  await nextTurn()
  assert.ok(reported.length > 0 && reported.length < all.length, `${reported.length} in one turn`)
  assert.equal(m.idle, false)
  for (let turn = 0; turn < 60; turn++) await nextTurn()
  assert.deepEqual(reported, all.map(({ name }) => name))
  assert.equal(m.failing.length, 1)
})

/** A pod of an owner. */
const owned = (name: string, version: number, owner: string): KubeObject => {
  const { metadata, ...rest } = pod(name, `${version}`)
  return { ...rest, metadata: { ...metadata, labels: { owner } } }
}

for (
  const [old, now, keys] of [
    [['a'], [], ['a']],
    [[], ['a'], ['a']],
    [['a'], ['a'], ['a']],
    [['a'], ['b'], ['b', 'a']],
    [['a', 'a'], [], ['a']],
    [[], [], []],
  ] as const
) {
  test(`an update from the keys [${old}] to [${now}] queues [${keys}]`, async () => {
    const m = mapping(({ metadata: { labels } }) =>
      labels!['owner']!.split(' ').filter(Boolean).map((name) => ({ name }))
    )
    m.mapping.take({ kind: 'updated', object: owned('p', 2, now.join(' ')), old: owned('p', 1, old.join(' ')) })
    assert.deepEqual(m.reported, keys)
    await m.end()
  })
}

test('updates of one object that wait are joined, so that others are mapped soon, and no owner is lost', async () => {
  const calls: string[] = []
  const events: string[] = []
  const m = mapping(async ({ metadata: { name, resourceVersion, labels } }, _, event) => {
    calls.push(`${name} ${resourceVersion}`)
    if (event.kind === 'updated') {
      events.push(`${event.old.metadata.resourceVersion}→${event.object.metadata.resourceVersion}`)
    }
    await nextTurn()
    return [{ name: labels!['owner']! }]
  })
  const versions = Array.from(
    { length: 101 },
    (_, i) => owned('hot', i, i === 0 ? 'first' : i === 1 ? 'second' : 'last'),
  )
  for (let i = 1; i <= 100; i++) m.mapping.take({ kind: 'updated', object: versions[i]!, old: versions[i - 1]! })
  m.add(owned('other', 1, 'other'))
  await m.mapping.tried
  assert.deepEqual(calls, ['hot 1', 'hot 0', 'hot 100', 'hot 99', 'hot 98', 'hot 1', 'other 1'])
  assert.deepEqual([...new Set(events)], ['0→1', '1→100'])
  assert.deepEqual([...new Set(m.reported)], ['second', 'first', 'last', 'other'])
  m.add(owned('other', 2, 'other'))
  m.mapping.take({ kind: 'updated', object: versions[1]!, old: versions[0]! })
  await m.mapping.tried
  assert.deepEqual(calls.slice(7), ['other 2', 'hot 1', 'hot 0'], 'no event joins one that was mapped')
  await m.end()
})

test('only updates are joined: a deletion and a new object keep their place', async () => {
  const calls: string[] = []
  const m = mapping(async ({ metadata }, _, event) => {
    calls.push(`${event.kind} ${metadata.name} ${metadata.resourceVersion}`)
    await nextTurn()
    return []
  })
  const at = (version: number, name = 'a'): KubeObject => pod(name, `${version}`)
  m.add(at(0, 'slow'))
  m.add(at(1))
  m.mapping.take({ kind: 'updated', object: at(2), old: at(1) })
  m.mapping.take({ kind: 'updated', object: at(2, 'b'), old: at(1, 'b') })
  m.mapping.take({ kind: 'deleted', object: at(3), stale: false })
  m.add(at(4))
  m.mapping.take({ kind: 'updated', object: at(5), old: at(4) })
  await m.mapping.tried
  assert.deepEqual(calls, [
    'added slow 0',
    'added a 1',
    'updated a 2',
    'updated a 1',
    'updated b 2',
    'updated b 1',
    'deleted a 3',
    'added a 4',
    'updated a 5',
    'updated a 4',
  ])
  await m.end()
})
