import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TerminalError } from '../../lib/core/errors.ts'
import type { Log, LogFields } from '../../lib/observe/log.ts'
import { type Result, RetryError, type Run } from '../../lib/controller/result.ts'
import type { Sink, Source } from '../../lib/controller/source.ts'
import { aborted } from '../../lib/async/abort.ts'
import { nextTurn, sleep } from '../../lib/async/clock.ts'
import { memoryMeter } from '../observe/memory_meter.ts'
import { Controller, type ReconcileReport } from '../../lib/controller/controller.ts'
import { keptLog, pod } from '../cache/scripted_server.ts'
import { controlling, gated } from './fixture.ts'

/** A source whose sink the test controls. */
function tap(): { readonly source: Source; readonly add: Sink['add'] } {
  let sink: Sink | undefined
  return {
    source: { name: 'tap', start: (its, signal) => (sink = its, aborted(signal)) },
    add: (key, options) => sink!.add(key, options),
  }
}

/** Returns the order of the next runs of a key added at 5, between a key at 6 and one at 4 if it stays at 5. */
async function nextTo(outcome: () => Result, rivals: readonly number[]): Promise<string[]> {
  const { source, add } = tap()
  const begun: string[] = []
  const hold = { blocker: Promise.withResolvers<void>() }
  const c = controlling({
    sources: [source],
    reconcile: async ({ key }) => {
      begun.push(key.name)
      if (key.name === 'blocker') return hold.blocker.promise
      if (key.name === 'it' && begun.filter((name) => name === 'it').length === 1) return outcome()
      return undefined
    },
  })
  await c.start()
  add('it', { priority: 5 })
  await c.settle()
  // The key becomes due while the only worker is busy, so it is ordered among the others.
  add('blocker', { priority: 100 })
  await c.settle()
  await c.clock.advance(10)
  for (const rival of rivals) add(`at ${rival}`, { priority: rival })
  hold.blocker.resolve()
  await c.settle()
  await c.end()
  return begun.slice(2)
}

test('a key keeps its priority after a requeue and after an error', async () => {
  const order = ['at 6', 'it', 'at 4']
  assert.deepEqual(await nextTo(() => ({ requeueAfter: 5 }), [4, 6]), order)
  assert.deepEqual(await nextTo(() => assert.fail('mine'), [4, 6]), order)
})

test('a result and a RetryError change the key’s priority', async () => {
  assert.deepEqual(await nextTo(() => ({ requeueAfter: 5, priority: 7 }), [4, 6]), ['it', 'at 6', 'at 4'])
  assert.deepEqual(await nextTo(() => ({ requeueAfter: 5, priority: -7 }), [4, 6]), ['at 6', 'at 4', 'it'])
  const again = (priority: number) => (): Result => {
    throw new RetryError('mine', { priority })
  }
  assert.deepEqual(await nextTo(again(7), [4, 6]), ['it', 'at 6', 'at 4'])
  assert.deepEqual(await nextTo(again(-7), [4, 6]), ['at 6', 'at 4', 'it'])
})

test('the controller’s own limiter decides the delay of a failing key', async () => {
  const at: number[] = []
  await using c = controlling({
    pods: [pod('a', '1')],
    limiter: { when: () => 70, failures: () => 3, forget() {} },
    reconcile: async ({ attempt }) => {
      at.push(c.clock.monotonic())
      assert.equal(attempt, 4)
      throw new Error('mine')
    },
  })
  await c.start()
  await c.clock.advance(150)
  assert.deepEqual(at, [0, 70, 140])
})

const measured = (): {
  readonly meter: ReturnType<typeof memoryMeter>
  readonly value: (name: string, result?: string) => number | undefined
} => {
  const meter = memoryMeter()
  return {
    meter,
    value: (name, result) =>
      meter.value(`controller_runtime_${name}`, { controller: 'test', ...(result ? { result } : {}) }),
  }
}

test('all series, also of the queue, exist from the start at 0; at the end they are removed and the name is free', async () => {
  const { meter, value } = measured()
  const c = controlling({ meter, concurrency: 3 })
  await c.start()
  const names = [
    'reconcile_errors_total',
    'terminal_reconcile_errors_total',
    'reconcile_panics_total',
    'reconcile_timeouts_total',
    'reconcile_time_seconds',
    'active_workers',
  ]
  assert.deepEqual(names.map((name) => value(name)), names.map(() => 0))
  assert.deepEqual(
    ['success', 'error', 'requeue_after', 'requeue'].map((result) => value('reconcile_total', result)),
    [0, 0, 0, 0],
  )
  assert.equal(value('max_concurrent_reconciles'), 3)
  assert.ok(meter.series().includes('workqueue_adds_total{controller="test",name="test"}'))
  const namesake = controlling({ meter })
  await namesake.start()
  assert.equal(
    String(namesake.ended()?.error),
    'Error: Cannot start controller "test": another controller with this name is running; give it a name of its own, or another registry, or their metrics mix',
  )
  const other = controlling({ meter, name: 'other' })
  await other.start()
  await other.end()
  assert.equal(value('max_concurrent_reconciles'), 3)
  await c.end()
  assert.deepEqual(meter.series(), [])
  await using again = controlling({ meter })
  await again.start()
})

test('results, errors and durations are counted', async () => {
  const { meter, value } = measured()
  const script: (() => Result | Promise<Result>)[] = [
    () => undefined,
    () => assert.fail('mine'),
    () => {
      throw new TerminalError('mine')
    },
    () => ({ requeueAfter: '1h' }),
    () => new Promise((resolve) => void c.clock.after(250, () => resolve())),
  ]
  await using c = controlling({
    meter,
    pods: script.map((_, i) => pod(`p${i}`, '1')),
    concurrency: 5,
    reconcile: async ({ key }) => await (script[Number(key.name[1])]!)(),
    limiter: { when: () => 1e6, failures: () => 0, forget() {} },
  })
  await c.start()
  assert.equal(value('active_workers'), 1)
  await c.clock.advance(250)
  await c.settle()
  assert.deepEqual(
    ['success', 'error', 'requeue_after', 'requeue'].map((result) => value('reconcile_total', result)),
    [2, 2, 1, 0],
  )
  assert.deepEqual(
    [value('reconcile_errors_total'), value('terminal_reconcile_errors_total'), value('reconcile_panics_total')],
    [2, 1, 0],
  )
  assert.deepEqual(
    meter.observed('controller_runtime_reconcile_time_seconds', { controller: 'test' }),
    [0, 0, 0, 0, 0.25],
  )
  // The buckets of controller-runtime and of client-go's work queue.
  assert.equal(
    meter.buckets.get('controller_runtime_reconcile_time_seconds')?.join(' '),
    '0.005 0.01 0.025 0.05 0.1 0.15 0.2 0.25 0.3 0.35 0.4 0.45 0.5 0.6 0.7 0.8 0.9 1 1.25 1.5 1.75 2 2.5 3 3.5 4 4.5 ' +
      '5 6 7 8 9 10 15 20 25 30 40 50 60',
  )
  for (const name of ['queue', 'work']) {
    const limits = meter.buckets.get(`workqueue_${name}_duration_seconds`)
    assert.equal(limits?.join(' '), '1e-8 1e-7 0.000001 0.00001 0.0001 0.001 0.01 0.1 1 10 100 1000')
  }
  assert.equal(value('active_workers'), 0)
})

test('a timeout is counted only if the run’s own deadline has passed', async () => {
  const cases: readonly [string, Partial<Parameters<typeof controlling>[0]>, (run: Run) => Promise<Result>, number][] =
    [
      [
        'the deadline passed, and the run failed',
        { timeoutMs: 1000 },
        ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
        1,
      ],
      ['the deadline came, and the run succeeded', { timeoutMs: 1000 }, ({ signal }) => aborted(signal), 1],
      ['no deadline', {}, async () => undefined, 0],
      ['it ended in time', { timeoutMs: 1000 }, async () => undefined, 0],
      ['a timeout of its own', { timeoutMs: 1000 }, () => Promise.reject(new DOMException('mine', 'TimeoutError')), 0],
    ]
  for (const [what, options, reconcile, expected] of cases) {
    const { meter, value } = measured()
    let runs = 0
    const c = controlling({
      meter,
      pods: [pod('a', '1')],
      ...options,
      reconcile: (run) => (runs++ === 0 ? reconcile(run) : Promise.resolve()),
    })
    await c.start()
    await c.clock.advance(1000)
    await c.settle()
    assert.equal(value('reconcile_timeouts_total'), expected, what)
    await c.end()
  }
  // Abandoned before the deadline, and still running after it.
  const { meter, value } = measured()
  const abandon = new AbortController()
  const gate = gated()
  const c = controlling({
    meter,
    pods: [pod('a', '1')],
    timeoutMs: 1000,
    abandon: abandon.signal,
    reconcile: gate.reconcile,
  })
  await c.start()
  abandon.abort(new Error('over'))
  await c.clock.advance(2000)
  gate.release('a')
  await c.settle()
  assert.equal(value('reconcile_timeouts_total'), 0)
  await c.end()
})

test('every line of a run, the user’s and ours, has the run’s fields, and those within it one id per run', async () => {
  const lines: { message: string; fields: LogFields | undefined }[] = []
  const write = (message: string, fields?: LogFields): void => void lines.push({ message, fields })
  const log: Log = { debug() {}, info: write, warn: write, error: write }
  let runs = 0
  await using c = controlling({
    pods: [pod('a', '1')],
    log,
    reconcile: async ({ log }) => {
      log.info('mine', { more: 1 })
      log.warn('mine too')
      if (runs++ === 0) throw new Error('broken')
      await sleep(c.clock, 60_001)
    },
  })
  await c.start()
  await c.clock.advance(60_006)
  await c.settle()
  const ids = lines.map(({ fields }) => fields?.['reconcileID'])
  assert.deepEqual(lines.map(({ message }) => message), [
    'mine',
    'mine too',
    'Cannot reconcile Pod "default/a": broken (retry 1 in 5 ms)',
    'mine',
    'mine too',
    'The reconcile of Pod "default/a" has run for 1 m: it blocks the key and a worker until it ends',
    'Pod "default/a" works again after 1 failure',
  ])
  for (const { fields } of lines) {
    assert.deepEqual(
      [fields?.['controller'], fields?.['kind'], fields?.['namespace'], fields?.['name']],
      ['test', 'Pod', 'default', 'a'],
    )
  }
  assert.match(String(ids[0]), /^[0-9a-f-]{36}$/)
  assert.deepEqual(ids, [ids[0], ids[0], ids[0], ids[3], ids[3], undefined, ids[3]])
  assert.notEqual(ids[0], ids[3])
  assert.equal(lines[0]!.fields?.['more'], 1)
})

test('a reconcile that never ends blocks only its key and its worker, and is logged once, after a minute', async () => {
  const gate = gated()
  await using c = controlling({
    pods: [pod('stuck', '1'), pod('b', '1')],
    concurrency: 2,
    reconcile: (run) => (run.key.name === 'stuck' ? gate.reconcile(run) : Promise.resolve()),
  })
  await c.start()
  await c.clock.advance(59_999)
  assert.deepEqual(c.lines.filter((line) => line.startsWith('warn')), [])
  await c.clock.advance(1)
  c.stream.send('MODIFIED', pod('stuck', '6'))
  await c.clock.advance(300_000)
  assert.deepEqual(c.lines.filter((line) => line.startsWith('warn')), [
    'warn The reconcile of Pod "default/stuck" has run for 1 m: it blocks the key and a worker until it ends',
  ])
  assert.deepEqual(gate.begun, ['stuck'])
  gate.release('stuck')
  await c.settle()
  assert.deepEqual(gate.begun, ['stuck', 'stuck'])
  gate.release('stuck')
})

test('a reconcile that returns no promise, and one that floods the queue with its own key, work', async () => {
  const { source, add } = tap()
  let runs = 0
  await using c = controlling({
    sources: [source],
    reconcile: (() => {
      // The end lets the test fail, instead of the file, if the runs hold the event loop.
      if (++runs < 1000) add('a')
    }) as unknown as () => Promise<void>,
  })
  await c.start()
  add('a')
  for (let turn = 1; turn <= 2; turn++) {
    await nextTurn()
    assert.ok(runs <= 2 * turn, `${runs} runs in ${turn} turns of the event loop`)
  }
  c.stop()
})

test('long runs of many controllers that begin in the same turn are spread over later turns', async () => {
  const clock = { nowMs: 0, monotonic: () => clock.nowMs, now: () => 0, after: () => () => {} }
  const stop = new AbortController()
  const { log } = keptLog()
  let runs = 0
  let costMs = 0
  const taps = Array.from({ length: 10 }, () => tap())
  const controllers = taps.map(({ source }, i) =>
    new Controller({
      name: `c${i}`,
      kind: 'Pod',
      sources: [source],
      clock,
      log,
      reconcile: async () => {
        runs++
        clock.nowMs += costMs
      },
    })
  )
  const running = controllers.map((controller) => controller.start(stop.signal))
  for (let turn = 0; turn < 5; turn++) await nextTurn()
  for (const { add } of taps) for (let key = 0; key < 20; key++) add(`key-${key}`)
  for (let turn = 0; turn < 3; turn++) await nextTurn()
  assert.ok(runs >= 20, `${runs} runs in three turns`)
  costMs = 5
  for (let turn = 0; turn < 10; turn++) {
    const before = runs
    await nextTurn()
    assert.ok(runs - before <= 2, `${runs - before} runs of 5 ms in one turn`)
  }
  costMs = 0
  for (let turn = 0; turn < 60; turn++) await nextTurn()
  assert.equal(runs, 200)
  stop.abort()
  await Promise.all(running)
})

test('a run caused by an event during the back-off does not count, and does not extend the delay', async () => {
  const { source, add } = tap()
  const begun: [atMs: number, attempt: number][] = []
  const outcomes: ('fails' | 'requeues' | 'succeeds')[] = []
  await using c = controlling({
    sources: [source],
    reconcile: async ({ attempt }) => {
      begun.push([c.clock.monotonic() - beganMs, attempt])
      const outcome = outcomes.shift() ?? 'fails'
      if (outcome === 'succeeds') return undefined
      if (outcome === 'requeues') return { requeue: true }
      throw new Error('mine')
    },
  })
  const beganMs = c.clock.monotonic()
  await c.start()
  add('a')
  await c.settle()
  for (let event = 0; event < 14; event++) {
    if (event % 2 === 1) outcomes.push('requeues')
    add('a')
    await c.settle()
  }
  assert.deepEqual(begun.splice(0), [[0, 1], ...Array.from({ length: 14 }, () => [0, 1])])
  await c.clock.advance(4)
  add('a')
  await c.settle()
  await c.clock.advance(1)
  await c.clock.advance(10)
  await c.clock.advance(20)
  assert.deepEqual(begun.splice(0), [[4, 1], [5, 2], [15, 3], [35, 4]], 'the wait doubles with each that ended')
  outcomes.push('succeeds')
  add('a')
  await c.settle()
  await c.clock.advance(3_600_000)
  assert.deepEqual(begun.splice(0), [[35, 4]], 'a success ends the wait')
  add('a')
  await c.settle()
  await c.clock.advance(5)
  assert.deepEqual(begun.map(([, attempt]) => attempt), [1, 2])
})

test('a TerminalError ends the retry of an earlier failure and its count', async () => {
  const { source, add } = tap()
  const begun: [atMs: number, attempt: number][] = []
  const outcomes = [new Error('not now'), new Error('not now'), new TerminalError('never'), new Error('not now')]
  const reports: ReconcileReport[] = []
  await using c = controlling({
    sources: [source],
    onReconcile: (report) => reports.push(report),
    reconcile: async ({ attempt }) => {
      begun.push([c.clock.monotonic() - beganMs, attempt])
      const outcome = outcomes.shift()
      if (outcome) throw outcome
    },
  })
  const beganMs = c.clock.monotonic()
  await c.start()
  add('a')
  await c.clock.advance(5)
  add('a')
  await c.clock.advance(3_600_000)
  assert.deepEqual(begun.splice(0), [[0, 1], [5, 2], [5, 2]])
  add('a')
  await c.clock.advance(3_600_000)
  assert.deepEqual(begun.map(([, attempt]) => attempt), [1, 2], 'the back-off begins again')
  assert.deepEqual(reports.at(-2)!.causes, ['queued'], 'the retry was forgotten by the history, too')
})

/** The times of the runs of a key that fails `fails` times, with an event at each of the times. */
const HELD: Readonly<Record<string, [holdEvents: boolean, eventsMs: number[], begunMs: number[]]>> = {
  'runs at once': [false, [500, 700], [0, 500, 700, 1000]],
  'waits for the retry with holdEvents': [true, [500, 700], [0, 1000]],
  'waits for the retry with holdEvents, whatever the number of tries': [true, [500, 1500, 2500], [0, 1000, 3000]],
  'runs at once after a success': [true, [500, 1500], [0, 1000, 1500]],
}
for (const [what, [holdEvents, eventsMs, begunMs]] of Object.entries(HELD)) {
  test(`an event of a key in its back-off ${what}`, async () => {
    const { source, add } = tap()
    const begun: number[] = []
    const fails = what.includes('tries') ? 2 : what.includes('at once after') || holdEvents ? 1 : 3
    await using c = controlling({
      sources: [source],
      holdEvents,
      backoff: { baseMs: 1000 },
      reconcile: async () => {
        if (begun.push(c.clock.monotonic() - beganMs) <= fails) throw new Error('down')
      },
    })
    const beganMs = c.clock.monotonic()
    await c.start()
    add('a')
    await c.settle()
    for (const ms of eventsMs) {
      await c.clock.advance(ms - (c.clock.monotonic() - beganMs))
      add('a')
      await c.settle()
    }
    await c.clock.advance(60_000)
    assert.deepEqual(begun, begunMs)
  })
}

test('with holdEvents, an event during a run that fails and an earlier requeueAfter wait for the retry, too', async () => {
  const { source, add } = tap()
  const begun: number[] = []
  const reports: ReconcileReport[] = []
  await using c = controlling({
    sources: [source],
    holdEvents: true,
    backoff: { baseMs: 60_000 },
    onReconcile: (report) => reports.push(report),
    reconcile: async () => {
      const run = begun.push(c.clock.monotonic() - beganMs)
      if (run === 1) return { requeueAfter: '10s' }
      // The run of the retry reads before this event.
      if (run === 4) add('a')
      if (run > 2) return undefined
      add('a', { cause: () => 'changed' })
      add('b')
      throw new Error('down')
    },
  })
  await c.clock.advance(10_000)
  const beganMs = c.clock.monotonic()
  await c.start()
  add('a')
  await c.clock.advance(5_000)
  add('a')
  await c.clock.advance(3_600_000)
  assert.deepEqual(begun, [0, 5_000, 5_000, 65_000, 65_000], 'another key, or an event of the last run, is not held')
  assert.deepEqual(reports.at(-2)?.causes, ['requeued after 10 s', 'changed', 'retry 1'], 'held causes are kept')
})
