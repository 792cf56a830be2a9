import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { exponentialLimiter } from '../../lib/queue/rate_limiter.ts'
import { WorkQueue } from '../../lib/queue/work_queue.ts'
import { type Clock } from '../../lib/async/clock.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { partMeter } from '../../lib/manager/metrics.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { countedSignal } from '../async/counted_signal.ts'
import { tries } from '../tools/fuzz.ts'

const never = new AbortController().signal

test('waiting workers are served first come, first served', async () => {
  const queue = new WorkQueue<string>({ clock: new FakeClock() })
  const order: string[] = []
  const workers = ['first', 'second'].map((name) => queue.get(never).then((key) => order.push(`${name} ${key}`)))
  queue.add('a')
  // A late worker must not overtake the waiting ones while a hand-out is scheduled.
  workers.push(queue.get(never).then((key) => order.push(`third ${key}`)))
  queue.add('b')
  queue.add('c')
  await Promise.all(workers)
  assert.deepEqual(order, ['first a', 'second b', 'third c'])
})

test('an aborted get leaves the key to other workers, and no listener', async () => {
  const queue = new WorkQueue<string>({ clock: new FakeClock() })
  const { controller, listeners } = countedSignal()
  const gone = [queue.get(controller.signal), queue.get(controller.signal)]
  assert.equal(listeners(), 2)
  controller.abort(new Error('stop'))
  for (const each of gone) await assert.rejects(each, /stop/)
  await assert.rejects(queue.get(controller.signal), /stop/)
  assert.equal(listeners(), 0)
  const patient = countedSignal()
  for (const key of ['a', 'b', 'c']) {
    const stays = queue.get(patient.controller.signal)
    assert.equal(patient.listeners(), 1)
    queue.add(key)
    assert.equal(await stays, key)
    assert.equal(patient.listeners(), 0)
  }
})

test('a worker that aborts while a hand-out is scheduled loses no key', async () => {
  const queue = new WorkQueue<string>({ clock: new FakeClock() })
  const controller = new AbortController()
  const gone = queue.get(controller.signal)
  queue.add('a')
  controller.abort(new Error('stop'))
  await assert.rejects(gone, /stop/)
  assert.equal(await queue.get(never), 'a')
})

test('a timer that fires too early adds no key and is set again', async () => {
  const timers: { fire: () => void; ms: number }[] = []
  let now = 0
  const clock: Clock = {
    now: () => now,
    monotonic: () => now,
    after: (ms, fire) => (timers.push({ fire, ms }), () => {}),
  }
  const queue = new WorkQueue<string>({ clock })
  queue.add('a', { afterMs: 10 })
  now = 9.4
  timers.shift()!.fire()
  assert.deepEqual([queue.length, queue.delayed, timers.length], [0, 1, 1])
  now = 10
  timers.shift()!.fire()
  assert.deepEqual([queue.length, queue.delayed, timers.length], [1, 0, 0])
})

test('a removed key neither leaves nor holds a timer, and can be added again', async () => {
  const clock = new FakeClock()
  const queue = new WorkQueue<string>({ clock })
  queue.add('a')
  queue.add('a', { afterMs: 5 })
  queue.remove('a')
  assert.deepEqual([queue.length, queue.delayed, clock.pending], [0, 0, 0])
  queue.add('a')
  assert.equal(await queue.get(never), 'a')
})

test('a shutdown without drain ends a drain', async () => {
  const queue = new WorkQueue<string>({ clock: new FakeClock() })
  queue.add('stuck')
  await queue.get(never)
  const drain = queue.shutDown({ drain: true })
  await queue.shutDown()
  await drain
})

test('onTake is called with each key that is handed out, before a later add can belong to the next turn', async () => {
  const received: string[] = []
  const queue = new WorkQueue<string>({ clock: new FakeClock(), onTake: (key) => received.push(key) })
  const got = queue.get(never)
  queue.add('a')
  assert.deepEqual(received, [])
  await got
  assert.deepEqual(received, ['a'])
})

test('priorityOf returns the priority of a key in work, and retry keeps it by default', async () => {
  const clock = new FakeClock()
  const queue = new WorkQueue<string>({ clock })
  queue.add('a', { priority: -100 })
  assert.equal(queue.priorityOf('a'), 0)
  await queue.get(never)
  queue.add('a', { priority: 3 })
  assert.equal(queue.priorityOf('a'), -100)
  queue.done('a')
  await queue.get(never)
  assert.equal(queue.priorityOf('a'), 3)
  for (const [priority, expected] of [[undefined, 3], [7, 7]] as const) {
    queue.retry('a', { priority })
    queue.done('a')
    await clock.advance(1000)
    assert.equal(await queue.get(never), 'a')
    assert.equal(queue.priorityOf('a'), expected)
  }
  // A retry that keeps its wait can raise it.
  queue.retry('a')
  queue.add('a', { priority: -1 })
  queue.done('a')
  await queue.get(never)
  queue.retry('a', { keepsWait: true, priority: 9 })
  queue.done('a')
  await clock.advance(1000)
  await queue.get(never)
  assert.equal(queue.priorityOf('a'), 9)
})

test('a rate-limited add uses the delay of the limiter or its own, whichever is shorter, and always counts a failure', async () => {
  const clock = new FakeClock()
  const queue = new WorkQueue<string>({ clock, limiter: exponentialLimiter({ baseMs: 100 }) })
  queue.add('a', { rateLimited: true })
  queue.add('b', { rateLimited: true, afterMs: 40 })
  queue.add('c', { rateLimited: true, afterMs: 400 })
  queue.add('waits')
  queue.add('waits', { rateLimited: true })
  assert.deepEqual(['a', 'b', 'c', 'waits'].map((key) => queue.failures(key)), [1, 1, 1, 1])
  assert.deepEqual([queue.length, queue.delayed], [1, 4])
  await clock.advance(40)
  assert.equal(queue.length, 2)
  await clock.advance(60)
  assert.deepEqual([queue.length, queue.delayed], [4, 0])
})

test('a delay of 0 from the limiter adds the key at once', () => {
  const queue = new WorkQueue<string>({ clock: new FakeClock(), limiter: exponentialLimiter({ baseMs: 0, maxMs: 0 }) })
  queue.add('a', { rateLimited: true })
  assert.deepEqual([queue.retry('b'), queue.length, queue.delayed], [0, 2, 0])
})

test('a retry that keeps its wait is cancelled by forget, as the retry before it', async () => {
  const clock = new FakeClock()
  const queue = new WorkQueue<string>({ clock, limiter: exponentialLimiter({ baseMs: 100 }) })
  queue.add('a')
  await queue.get(never)
  assert.equal(queue.retry('a'), 100)
  queue.done('a')
  await clock.advance(40)
  queue.add('a')
  await queue.get(never)
  assert.equal(queue.retry('a', { keepsWait: true }), 60)
  queue.done('a')
  queue.forget('a')
  assert.deepEqual([queue.delayed, clock.pending], [0, 0])
})

test('forget keeps delayed and rate-limited adds from before and during the work', async () => {
  const clock = new FakeClock()
  const queue = new WorkQueue<string>({ clock })
  const run = async (during: () => void): Promise<void> => {
    queue.add('a')
    assert.equal(await queue.get(never), 'a')
    during()
    queue.forget('a')
    queue.done('a')
  }
  await run(() => queue.add('a', { rateLimited: true }))
  assert.deepEqual([queue.length, queue.delayed, queue.failures('a')], [0, 1, 0])
  await clock.advance(5)
  assert.deepEqual([queue.length, queue.delayed], [1, 0])
  await run(() => queue.add('a', { afterMs: 10 }))
  await clock.advance(10)
  assert.equal(queue.length, 1)
  await run(() => queue.add('a', { rateLimited: true, afterMs: 1 }))
  await clock.advance(1)
  assert.equal(queue.length, 1)
  // After an earlier failure and an add by another source, forget cancels the retry and keeps the add.
  await run(() => {})
  queue.retry('a')
  queue.retry('a')
  queue.add('a', { rateLimited: true })
  queue.forget('a')
  await clock.advance(19)
  assert.deepEqual([queue.length, queue.delayed], [0, 1])
  await clock.advance(1)
  assert.deepEqual([queue.length, queue.delayed, clock.pending], [1, 0, 0])
})

test('if a limiter throws or returns an invalid number, the default back-off is used and an error is logged', async () => {
  const wrong: readonly (() => number)[] = [
    () => {
      throw new Error('mine')
    },
    () => NaN,
    () => Infinity,
    () => -1,
    (() => undefined) as unknown as () => number,
    (() => Promise.resolve(5)) as unknown as () => number,
  ]
  for (const fails of wrong) {
    const clock = new FakeClock()
    const lines: string[] = []
    const log = { ...silentLog, error: (line: string) => void lines.push(line) }
    const queue = new WorkQueue<string>({
      clock,
      log,
      limiter: { when: fails, failures: fails, forget: () => void fails() },
    })
    assert.deepEqual(
      [queue.failures('a'), queue.retry('a'), queue.retry('a'), queue.failures('a'), queue.failures('b')],
      [0, 5, 10, 2, 0],
      String(fails),
    )
    queue.add('b', { rateLimited: true })
    await clock.advance(5)
    assert.deepEqual([queue.length, queue.delayed], [2, 0])
    queue.forget('a')
    assert.deepEqual([queue.failures('a'), queue.retry('a')], [0, 5])
    assert.match(lines[0]!, /^A rate limiter failed; the default back-off is used instead: .* \(failure 1\)$/)
    assert.ok(lines.length <= 4, lines.join('\n'))
  }
})

test('errors of onTake and of metrics lose no key, and are logged', async () => {
  const lines: string[] = []
  const log = { ...silentLog, error: (line: string) => void lines.push(line) }
  const broken = (): never => {
    throw new Error('mine')
  }
  const series = { with: () => ({ inc: broken, dec: broken, set: broken, observe: broken }), remove: broken }
  const meters = [
    { counter: () => series, gauge: () => series, histogram: () => series, onScrape: () => broken },
    { counter: broken, gauge: broken, histogram: broken, onScrape: broken },
  ]
  for (const meter of meters) {
    lines.length = 0
    const clock = new FakeClock()
    const queue = new WorkQueue<string>({ clock, log, meter: partMeter(meter), name: 'own', onTake: broken })
    const waiting = queue.get(never)
    queue.add('a')
    queue.add('b', { afterMs: 10 })
    assert.equal(await waiting, 'a')
    queue.done('a')
    await clock.advance(10)
    assert.equal(await queue.get(never), 'b')
    queue.done('b')
    await queue.shutDown({ drain: true })
    assert.equal(queue.idle, true)
    assert.ok(lines.includes('onTake of the queue "own" threw: mine (failure 1)'), lines.join('\n'))
    assert.ok(lines.includes('A metric of the queue "own" threw: mine (failure 1)'), lines.join('\n'))
  }
})

test('the age of a key that is added while a worker waits starts at its add, also after another worker was served', async () => {
  const clock = new FakeClock()
  const queue = new WorkQueue<string>({ clock })
  const [busy, waits] = [queue.get(never), queue.get(never)]
  queue.add('busy')
  assert.equal(await busy, 'busy')
  await clock.advance(5000)
  queue.add('low', { priority: -100 })
  for (let i = 0; i < 20; i++) queue.add(`live-${i}`)
  const order = [await waits]
  for (let i = 0; i < 20; i++) order.push(await queue.get(never))
  assert.deepEqual(order, [...Array.from({ length: 20 }, (_, i) => `live-${i}`), 'low'])
})

test('the order by priority is strict for a second; then the oldest key gets every eighth hand-out', async () => {
  const clock = new FakeClock()
  const queue = new WorkQueue<string>({ clock })
  queue.add('starved', { priority: -100 })
  const handOutsToStarved = async (most: number): Promise<number | undefined> => {
    for (let count = 1; count <= most; count++) {
      queue.add(`live-${count}`)
      const key = (await queue.get(never))!
      queue.done(key)
      if (key === 'starved') return count
    }
    return undefined
  }
  await clock.advance(999)
  assert.equal(await handOutsToStarved(100), undefined)
  await clock.advance(1)
  assert.equal(await handOutsToStarved(1), 1)
  queue.add('starved again', { priority: -100 })
  await clock.advance(1000)
  queue.add('starved', { priority: -100 })
  await clock.advance(1000)
  // Two low keys, the second one is expected: (1 + 1) * 8.
  assert.equal(await handOutsToStarved(100), 16)
  // Earlier adds must not make a later key older.
  queue.add('starved', { priority: -100 })
  await clock.advance(999)
  assert.equal(await handOutsToStarved(100), undefined)
})

test('invalid adds are refused, and no key is queued or counted', () => {
  const queue = new WorkQueue<string>({ clock: new FakeClock() })
  const refused = (add: () => void, message: string): void => assert.throws(add, { name: 'RangeError', message })
  for (const priority of [NaN, Infinity]) {
    refused(
      () => queue.add('a', { priority }),
      `Cannot add "a": its priority is ${priority}, and must be a finite number`,
    )
    refused(
      () => queue.retry('a', { priority }),
      `Cannot add "a": its priority is ${priority}, and must be a finite number`,
    )
  }
  refused(() => queue.add('a', { afterMs: NaN, rateLimited: true }), 'Cannot add "a": its delay is NaN')
  assert.deepEqual([queue.length, queue.delayed, queue.failures('a')], [0, 0, 0])
})

test('with any number of workers and any adds, no key is handed out twice at once and none is lost', async () => {
  const add = fc.record({
    key: fc.constantFrom('a', 'b', 'c'),
    priority: fc.constantFrom(0, 0, -100, 5),
    afterMs: fc.constantFrom(0, 0, 3, 7),
    passMs: fc.nat(4),
  })
  const many = { maxLength: 25, size: 'max' } as const
  const workers = fc.integer({ min: 1, max: 4 })
  await fc.assert(
    fc.asyncProperty(workers, fc.array(add, many), fc.array(fc.nat(6), many), async (count, adds, works) => {
      const clock = new FakeClock()
      const queue = new WorkQueue<string>({ clock })
      const inWork = new Set<string>()
      const stop = new AbortController()
      const lastAdded = new Map<string, number>()
      const lastBegun = new Map<string, number>()
      let step = 0
      const work = async (): Promise<void> => {
        for (let key = await queue.get(stop.signal); key !== undefined; key = await queue.get(stop.signal)) {
          assert.ok(!inWork.has(key), `"${key}" is in two hands`)
          inWork.add(key)
          lastBegun.set(key, step++)
          const ms = works.shift() ?? 0
          if (ms > 0) await new Promise<void>((resolve) => void clock.after(ms, resolve))
          inWork.delete(key)
          queue.done(key)
        }
      }
      const workers = Array.from({ length: count }, work)
      for (const { key, afterMs, passMs, priority } of adds) {
        lastAdded.set(key, step++)
        queue.add(key, { afterMs, priority })
        if (passMs > 0) await clock.advance(passMs)
      }
      await clock.advance(1000)
      assert.deepEqual([queue.idle, queue.delayed, inWork.size], [true, 0, 0])
      for (const [key, at] of lastAdded) {
        assert.ok((lastBegun.get(key) ?? -1) > at, `"${key}" was not worked on after it was added last`)
      }
      await queue.shutDown({ drain: true })
      await Promise.all(workers)
    }),
    { numRuns: tries(60) },
  )
})

test('many keys that are due at the same time are added over several turns of the event loop, completely and in order', async () => {
  const clock = new FakeClock()
  const queue = new WorkQueue<number>({ clock })
  const keys = Array.from({ length: 1000 }, (_, i) => i)
  for (const key of keys) queue.add(key, { afterMs: 1000 })
  const lengths: number[] = []
  const watch = clock.after(1000, function look() {
    lengths.push(queue.length)
    if (lengths.length < 8) clock.after(0, look)
  })
  await clock.advance(1000)
  watch()
  assert.ok(lengths.every((length, i) => length - (lengths[i - 1] ?? 0) <= 256), lengths.join())
  assert.deepEqual([queue.length, queue.delayed], [1000, 0])
  const taken: (number | undefined)[] = []
  for (const _ of keys) taken.push(await queue.get(new AbortController().signal))
  assert.deepEqual(taken, keys)
})

test('dropped keys are gone, also delayed ones and their failures; one in work stays, and may be added again', async () => {
  const clock = new FakeClock()
  const queue = new WorkQueue<string>({ clock })
  queue.add('b/working')
  assert.equal(await queue.get(new AbortController().signal), 'b/working')
  queue.add('b/working')
  queue.add('b/waiting')
  queue.add('b/later', { afterMs: 1000 })
  queue.retry('b/failed')
  queue.add('a/waiting')
  queue.retry('a/failed')
  const dropped = queue.drop((key) => key.startsWith('b/'))
  assert.deepEqual([...dropped].toSorted(), ['b/failed', 'b/later', 'b/waiting', 'b/working'])
  assert.deepEqual([queue.length, queue.delayed], [1, 1])
  assert.deepEqual([queue.failures('b/failed'), queue.failures('a/failed')], [0, 1])
  queue.add('b/working')
  queue.done('b/working')
  assert.equal(queue.length, 2)
})
