import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { formatKey } from '../../lib/core/objects.ts'
import type { ReconcileReport } from '../../lib/controller/controller.ts'
import type { Result } from '../../lib/controller/result.ts'
import type { Source } from '../../lib/controller/source.ts'
import { aborted } from '../../lib/async/abort.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { NODE, pod, refusal } from '../cache/scripted_server.ts'
import { memoryMeter } from '../observe/memory_meter.ts'
import { controlling, type Fed, fed, gated } from './fixture.ts'
import { tries } from '../tools/fuzz.ts'

test('all initial keys are queued before the first reconcile, also those of a slow informer', async () => {
  const runs: string[] = []
  const answer = Promise.withResolvers<void>()
  const feeds = (clock: FakeClock): Fed[] => {
    const slow = fed(clock, [pod('slow', '1')])
    const [list] = slow.server.lists.splice(0)
    slow.server.lists.push(async (request) => (await answer.promise, await list!(request)))
    return [fed(clock, [pod('a', '1'), pod('b', '2')]), slow]
  }
  await using c = controlling({ feeds, reconcile: async ({ key }) => void runs.push(formatKey(key)) })
  await c.start()
  assert.deepEqual([runs, c.controller.idle], [[], false])
  answer.resolve()
  await c.settle()
  assert.deepEqual([runs, c.controller.idle], [['default/a', 'default/b', 'default/slow'], true])
})

test('at most `concurrency` keys are reconciled at once', async () => {
  const gate = gated()
  await using c = controlling({
    pods: ['a', 'b', 'c', 'd'].map((name) => pod(name, '1')),
    reconcile: gate.reconcile,
    concurrency: 2,
  })
  await c.start()
  assert.deepEqual(gate.begun, ['a', 'b'])
  gate.release('b')
  await c.settle()
  assert.deepEqual(gate.begun, ['a', 'b', 'c'])
  for (const name of ['a', 'c']) gate.release(name)
  await c.settle()
  gate.release('d')
})

test('a failing key is retried after 5, 10, 20 ms and so on, counts its attempts, and starts again after a success', async () => {
  const at: string[] = []
  let failures = 4
  await using c = controlling({
    pods: [pod('a', '1')],
    reconcile: async ({ attempt }) => {
      at.push(`${c.clock.monotonic()} #${attempt}`)
      if (failures-- > 0) throw new Error('mine')
    },
  })
  await c.start()
  await c.clock.advance(100)
  await c.settle()
  assert.deepEqual(at, ['0 #1', '5 #2', '15 #3', '35 #4', '75 #5'])
  assert.match(
    c.lines.filter((line) => line.startsWith('error')).join('\n'),
    /^error Cannot reconcile Pod "default\/a": mine \(retry 1 in 5 ms\)\n.*\(retry 2 in 10 ms\)/,
  )
  failures = 1
  at.length = 0
  c.stream.send('MODIFIED', pod('a', '6'))
  await c.settle()
  await c.clock.advance(5)
  await c.settle()
  assert.deepEqual(at, ['100 #1', '105 #2'])
})

test('requeue runs the key after the limiter’s back-off: it counts like a failure until the next success, but is not an error', async () => {
  const at: string[] = []
  const meter = memoryMeter()
  const script: (Error | Result)[] = [
    { requeue: true },
    new Error('1'),
    { requeue: true, priority: 1 },
    { requeue: true, requeueAfter: '10s' },
    { requeue: true },
    undefined,
  ]
  await using c = controlling({
    meter,
    pods: [pod('a', '1')],
    reconcile: async ({ attempt }) => {
      at.push(`${c.clock.monotonic()} #${attempt}`)
      const next = script.shift()
      if (next instanceof Error) throw next
      return next
    },
  })
  await c.start()
  await c.clock.advance(60_000)
  assert.deepEqual(at, ['0 #1', '5 #2', '15 #3', '35 #4', '10035 #1', '10040 #2'])
  const total = (result: string): number | undefined =>
    meter.value('controller_runtime_reconcile_total', { controller: 'test', result })
  assert.deepEqual(['success', 'requeue', 'requeue_after', 'error'].map(total), [1, 3, 1, 1])
  assert.equal(meter.value('controller_runtime_reconcile_errors_total', { controller: 'test' }), 1)
  assert.deepEqual(c.lines.filter((line) => line.startsWith('error')).length, 1)
  c.stream.send('MODIFIED', pod('a', '6'))
  await c.settle()
  assert.match(at.at(-1)!, /#1$/)
})

test('a timeout aborts the run’s signal with a reason; the key has no other run until the run ends', async () => {
  let signal: AbortSignal | undefined
  const gate = Promise.withResolvers<void>()
  let runs = 0
  await using c = controlling({
    pods: [pod('a', '1')],
    timeoutMs: 1000,
    reconcile: (run) => {
      runs++
      signal = run.signal
      return gate.promise
    },
  })
  await c.start()
  await c.clock.advance(999)
  assert.equal(signal?.aborted, false)
  await c.clock.advance(1)
  assert.equal((signal?.reason as Error).name, 'TimeoutError')
  assert.match(String(signal?.reason), /Cannot finish the reconcile of Pod "default\/a": it took longer than 1 s/)
  c.stream.send('MODIFIED', pod('a', '6'))
  await c.settle()
  assert.equal(runs, 1)
  gate.resolve()
  await c.settle()
  assert.equal(runs, 2)
})

test('after a stop no run begins, the running ones end without an abort, and keys that wait are no work', async () => {
  const gate = gated()
  const sourceEnds = Promise.withResolvers<void>()
  const signals: AbortSignal[] = []
  const c = controlling({
    pods: [pod('a', '1'), pod('b', '2')],
    reconcile: (run) => (signals.push(run.signal), gate.reconcile(run)),
  })
  await c.start()
  await c.controller.watch({ name: 'late', synced: async () => {}, start: () => sourceEnds.promise })
  c.stop()
  await c.settle()
  assert.deepEqual([c.ended(), signals[0]!.aborted, c.controller.idle], [undefined, false, false])
  gate.fail('a')
  await c.settle()
  assert.deepEqual([c.ended(), c.controller.idle], [undefined, true])
  sourceEnds.resolve()
  await c.end()
  assert.deepEqual(gate.begun, ['a'])
})

test('a key that is received together with the abort is not reconciled', async () => {
  let runs = 0
  const c = controlling({ reconcile: async () => void runs++ })
  await c.start()
  c.stream.send('ADDED', pod('a', '6'))
  // After the worker has received the key, before it continues.
  c.feeds[0]!.informer.addHandler(() => queueMicrotask(() => c.stop()))
  await c.settle()
  assert.deepEqual(c.ended(), {})
  await c.end()
  assert.equal(runs, 0)
})

test('a key that is dropped while it waits, or its worker for a turn, does not run, and may be added again', async () => {
  class SteppingClock extends FakeClock {
    stepMs = 0
    override monotonic(): number {
      return super.monotonic() + this.stepMs
    }
  }
  const clock = new SteppingClock()
  const runs: string[] = []
  const causes: string[] = []
  await using c = controlling({
    clock,
    pods: [pod('a', '1'), pod('b', '1'), pod('c', '1')],
    onReconcile: (report) => void causes.push(...report.causes),
    concurrency: 2,
    async reconcile({ key: { name } }) {
      runs.push(name)
      if (name === 'b') return { requeueAfter: 60_000 }
      // The time of the turn is spent, so the other worker waits with its key.
      clock.stepMs += 1000
      for (let ticks = 0; ticks < 10; ticks++) await undefined
      c.controller.drop((key) => key !== 'default/a')
      return undefined
    },
  })
  await c.start()
  await clock.advance(300_000)
  assert.deepEqual([runs, c.controller.idle], [['a'], true])
  c.stream.send('MODIFIED', pod('b', '6'))
  await c.settle()
  c.stream.send('MODIFIED', pod('c', '7', { spec: 1 }))
  await c.settle()
  // What a key was queued for is dropped with it.
  assert.deepEqual([runs, causes], [['a', 'b', 'c'], ['added', 'metadata changed', 'spec none→1']])
})

test('a sync timeout of the first lists rejects the start with what is missing and why, and leaves nothing', async () => {
  const feeds = (clock: FakeClock): Fed[] => {
    const refused = fed(clock, undefined)
    refused.server.lists.splice(0, 1, ...Array.from({ length: 20 }, () => refusal(403, 'Forbidden')))
    return [refused, fed(clock, undefined, NODE)]
  }
  const c = controlling({ feeds, syncTimeoutMs: 30_000, unsynced: () => ['nodes', 'leases'] })
  await c.start()
  await c.clock.advance(29_999)
  assert.equal(c.ended(), undefined)
  await c.clock.advance(1)
  await c.settle()
  assert.equal(
    String(c.ended()?.error),
    'Error: Cannot start controller "test": its sources were not in sync within 30 s; still missing: pods ' +
      '(Cannot list pods: scripted Forbidden), nodes, leases',
  )
  assert.equal(c.listeners(), 0)
  for (const { informer } of c.feeds) informer.stop()
  await c.settle()
  assert.equal(c.clock.pending, 0)
})

test('a controller starts once, and needs at least one worker', async () => {
  const c = controlling({})
  await c.start()
  await assert.rejects(c.controller.start(new AbortController().signal), /it was started already/)
  await c.end()
  for (const concurrency of [0, -1, 1.5, NaN]) {
    assert.throws(() => controlling({ concurrency }), /its concurrency is .*, and must be an integer of at least 1/)
  }
})

test('a report has the causes, count and outcome of its own run; a throwing listener stops nothing', async () => {
  const reports: ReconcileReport[] = []
  const gate = gated()
  await using c = controlling({
    pods: [pod('a', '1', { spec: 1 })],
    reconcile: gate.reconcile,
    onReconcile: (report) => {
      reports.push(report)
      throw new Error('the listener’s')
    },
  })
  await c.start()
  c.stream.send('MODIFIED', pod('a', '6', { spec: 2 }))
  await c.settle()
  gate.fail('a')
  await c.settle()
  gate.release('a')
  await c.settle()
  c.stream.send('MODIFIED', pod('a', '7', { spec: 3 }))
  await c.settle()
  gate.release('a', { requeueAfter: 1000 })
  await c.settle()
  await c.clock.advance(1000)
  await c.settle()
  gate.release('a', { requeue: true })
  await c.settle()
  await c.clock.advance(5)
  await c.settle()
  gate.release('a')
  await c.settle()
  assert.deepEqual(
    reports.map((
      { causes, count, attempt, disposition, retryInMs },
    ) => [causes.join(', '), count, attempt, disposition.label, retryInMs]),
    [
      ['added', 1, 1, 'error', 5],
      ['spec 1→2', 2, 1, 'success', undefined],
      ['spec 2→3', 3, 1, 'requeue_after', undefined],
      ['requeued after 1 s', 4, 1, 'requeue', 5],
      ['requeued', 5, 2, 'success', undefined],
    ],
  )
  assert.equal(
    c.lines.filter((line) => line.startsWith('error The onReconcile listener of controller "test" threw')).length,
    5,
  )
})

test('a key is not asked for its cause if nothing shows it', async () => {
  let asked = 0
  for (const onReconcile of [undefined, () => {}]) {
    const source: Source = {
      name: 'own',
      async start(sink, signal) {
        sink.add('default/a', { cause: () => `${++asked}` })
        await aborted(signal)
      },
    }
    await using c = controlling({ sources: [source], onReconcile })
    await c.start()
    assert.equal(asked, onReconcile ? 1 : 0)
  }
})

test('with random events and failures, each key is reconciled at its last version, and never twice at once', async () => {
  const event = fc.record({ name: fc.constantFrom('a', 'b', 'c'), passMs: fc.nat(12) })
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 3 }),
      fc.array(event, { maxLength: 20, size: 'max' }),
      fc.array(fc.constantFrom('ok', 'slow', 'fail', 'later'), { maxLength: 30, size: 'max' }),
      async (concurrency, events, outcomes) => {
        const inWork = new Set<string>()
        const seen = new Map<string, string>()
        await using c = controlling({
          pods: [pod('a', '1')],
          concurrency,
          reconcile: async ({ key }) => {
            assert.ok(!inWork.has(key.name), `"${key.name}" is in two hands`)
            inWork.add(key.name)
            const version = c.feeds[0]!.informer.store.get(formatKey(key))?.metadata.resourceVersion ?? ''
            const outcome = outcomes.shift() ?? 'ok'
            if (outcome === 'slow') await new Promise<void>((resolve) => void c.clock.after(7, resolve))
            inWork.delete(key.name)
            if (outcome === 'fail') throw new Error('mine')
            seen.set(key.name, version)
            return outcome === 'later' ? { requeueAfter: 3 } : undefined
          },
        })
        await c.start()
        const last = new Map([['a', '1']])
        for (const [i, { name, passMs }] of events.entries()) {
          last.set(name, `${10 + i}`)
          c.stream.send('MODIFIED', pod(name, `${10 + i}`))
          await c.clock.advance(passMs)
        }
        for (let i = 0; i < 40; i++) await c.clock.advance(500)
        await c.settle()
        assert.deepEqual([...seen].sort(), [...last].sort())
        assert.equal(c.controller.idle, true)
      },
    ),
    { numRuns: tries(40) },
  )
})
