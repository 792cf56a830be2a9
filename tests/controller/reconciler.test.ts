import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLog } from '../../lib/observe/log.ts'
import { type RunArgument, Runs } from '../../lib/controller/reconciler.ts'
import type { Result, Run } from '../../lib/controller/result.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { countedSignal } from '../async/counted_signal.ts'

const RUN = { key: { namespace: 'default', name: 'a' }, log: silentLog, attempt: 3, onWrite: undefined }

function running(timeoutMs?: number, stopping?: AbortSignal) {
  const clock = new FakeClock()
  const { controller, listeners } = countedSignal()
  const runs = new Runs({ kind: 'Pod', clock, timeoutMs, stopping, abandon: controller.signal })
  const once = (reconcile: (run: Run) => Promise<Result>, run: RunArgument = RUN) =>
    runs.once('default/a', reconcile, run)
  return { clock, runs, once, listeners, abandon: () => controller.abort(new Error('over')) }
}

test('a run that has ended is not kept, whether it returned or threw, and all runs share one listener', async () => {
  const { clock, runs, once, listeners } = running(1000)
  const steps: ((run: Run) => Promise<Result>)[] = [
    async () => undefined,
    async ({ signal }) => void signal.aborted,
    async () => assert.fail('mine'),
    () => {
      throw new Error('at once')
    },
  ]
  for (let i = 0; i < 1000; i++) await once(steps[i % steps.length]!)
  assert.deepEqual([runs.keys.length, listeners(), clock.pending], [0, 1, 0])
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const ends = gates.map((gate) => once(() => gate.promise))
  assert.deepEqual([runs.keys.length, listeners(), clock.pending], [2, 1, 2])
  gates[0]!.resolve()
  await ends[0]
  assert.equal(runs.keys.length, 1)
  gates[1]!.reject(new Error('mine'))
  await ends[1]
  assert.deepEqual([runs.keys.length, listeners(), clock.pending], [0, 1, 0])
  runs.stop()
  assert.equal(listeners(), 0)
})

test('the signal of a stop is aborted by the stop, and with the run’s own signal', async () => {
  for (const by of ['stop', 'timeout', 'abandon', 'end'] as const) {
    const stop = countedSignal()
    const { clock, once, abandon } = running(1000, stop.controller.signal)
    const gate = Promise.withResolvers<void>()
    let run: Run | undefined
    const end = once((its) => (run = its, void its.stopping.aborted, gate.promise))
    assert.deepEqual([run!.stopping.aborted, run!.signal.aborted, stop.listeners()], [false, false, 1])
    if (by === 'stop') stop.controller.abort(new Error('stop'))
    if (by === 'timeout') await clock.advance(1000)
    if (by === 'abandon') abandon()
    assert.deepEqual(
      [run!.stopping.aborted, run!.signal.aborted],
      by === 'end' ? [false, false] : [true, by !== 'stop'],
    )
    let late: Run | undefined
    await once(async (its) => void (late = its))
    assert.equal(late!.stopping.aborted, true, 'it is first read after the end')
    gate.resolve()
    await end
    assert.deepEqual([run!.stopping.aborted, run!.signal.aborted, stop.listeners()], [true, true, 0])
    assert.equal((run!.stopping.reason as Error).message === 'stop', by === 'stop')
  }
})

test('abandoning aborts all runs in progress and later ones with its reason, but no run that has ended', async () => {
  const { once, abandon } = running()
  const signals: AbortSignal[] = []
  const keep = async ({ signal }: Run): Promise<void> => void signals.push(signal)
  await once(keep)
  const gate = Promise.withResolvers<void>()
  const held = [1, 2].map(() => once((run) => (void keep(run), gate.promise)))
  abandon()
  await once(keep)
  assert.deepEqual(
    signals.map(({ reason }) => (reason as Error).message),
    ['The reconcile of this Pod has ended; await all its calls before it returns', 'over', 'over', 'over'],
  )
  gate.resolve()
  await Promise.all(held)
})

test('a run gets its own key, log, attempt and signal, and its end has the result and the duration', async () => {
  const { clock, once } = running()
  const own = (): void => {}
  const end = await once(async ({ key, log, attempt, onWrite, signal }) => {
    assert.deepEqual([key, log, attempt, onWrite, signal.aborted], [RUN.key, RUN.log, 3, own, false])
    await clock.advance(7)
    return { requeueAfter: 5 }
  }, { ...RUN, onWrite: own })
  assert.deepEqual(end, { outcome: { kind: 'returned', result: { requeueAfter: 5 } }, timedOut: false, durationMs: 7 })
})

function watching() {
  const clock = new FakeClock()
  const reported: string[] = []
  const onSlow = (key: string, ms: number): void => void reported.push(`${key} ${ms}`)
  const runs = new Runs({ kind: 'Pod', clock, timeoutMs: undefined, abandon: undefined, onSlow })
  /** Begins a run. Returns a function that ends it. */
  const begin = (key: string): () => Promise<void> => {
    const gate = Promise.withResolvers<void>()
    const ended = runs.once(key, () => gate.promise, RUN)
    return async () => {
      gate.resolve()
      await ended
    }
  }
  return { clock, reported, runs, begin }
}

test('a slow run is reported once, after a minute, also long after a check that found none', async () => {
  const { clock, reported, begin } = watching()
  for (const round of [0, 1, 2]) {
    await begin(`fast-${round}`)()
    await clock.advance(90_000)
    assert.equal(clock.pending, 0)
    const end = begin(`slow-${round}`)
    await clock.advance(59_999)
    assert.deepEqual(reported, [])
    await clock.advance(1)
    assert.deepEqual(reported.splice(0), [`slow-${round} 60000`])
    await clock.advance(600_000)
    await end()
    assert.deepEqual([reported, clock.pending], [[], 0])
  }
})

test('one timer serves all runs, however many begin and end', async () => {
  const { clock, reported, begin } = watching()
  for (let i = 0; i < 1000; i++) {
    await begin(`key-${i}`)()
    if (i % 100 === 0) await clock.advance(1000)
    assert.ok(clock.pending <= 1, `${clock.pending} timers`)
  }
  begin('a')
  await clock.advance(10_000)
  begin('b')
  await clock.advance(49_999)
  assert.deepEqual(reported, [])
  await clock.advance(1)
  assert.deepEqual([reported.splice(0), clock.pending], [['a 60000'], 1])
  await clock.advance(10_000)
  assert.deepEqual([reported.splice(0), clock.pending], [['b 60000'], 0])
})

test('the keys of the runs in progress include those that were reported as slow', async () => {
  const { clock, runs, begin } = watching()
  const endA = begin('a')
  await clock.advance(60_000)
  const endB = begin('b')
  assert.deepEqual(runs.keys, ['a', 'b'])
  await endA()
  assert.deepEqual(runs.keys, ['b'])
  await endB()
  assert.deepEqual(runs.keys, [])
  begin('c')
  runs.stop()
  assert.deepEqual(runs.keys, [])
})

test('after the stop nothing is reported and no timer is left; a later run is watched again', async () => {
  const { clock, reported, runs, begin } = watching()
  begin('a')
  runs.stop()
  runs.stop()
  assert.equal(clock.pending, 0)
  await clock.advance(120_000)
  assert.deepEqual(reported, [])
  begin('b')
  await clock.advance(60_000)
  assert.deepEqual(reported, ['b 60000'])
})
