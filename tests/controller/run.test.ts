import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLog } from '../../lib/observe/log.ts'
import type { Result } from '../../lib/controller/result.ts'
import { type Run, Runs } from '../../lib/controller/run.ts'
import { FakeClock } from '../../lib/testing/fake_clock.ts'
import { countedSignal } from '../async/counted_signal.ts'

const RUN = { key: { namespace: 'default', name: 'a' }, log: silentLog, attempt: 3, onWrite: undefined }

function running(timeoutMs?: number) {
  const clock = new FakeClock()
  const { controller, listeners } = countedSignal()
  const runs = new Runs({ kind: 'Pod', clock, timeoutMs, abandon: controller.signal })
  return { clock, runs, listeners, abandon: () => controller.abort(new Error('over')) }
}

test('a run that has ended is not kept, however it ended, and any number of runs share one listener', async () => {
  const { clock, runs, listeners } = running(1000)
  const steps: ((run: Run) => Promise<Result>)[] = [
    async () => undefined,
    async ({ signal }) => void signal.aborted,
    async () => assert.fail('mine'),
    () => {
      throw new Error('at once')
    },
  ]
  for (let i = 0; i < 1000; i++) await runs.once(steps[i % steps.length]!, RUN)
  assert.deepEqual([runs.running, listeners(), clock.pending], [0, 1, 0])
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const ends = gates.map((gate) => runs.once(() => gate.promise, RUN))
  assert.deepEqual([runs.running, listeners(), clock.pending], [2, 1, 2])
  gates[0]!.resolve()
  await ends[0]
  assert.equal(runs.running, 1)
  gates[1]!.reject(new Error('mine'))
  await ends[1]
  assert.deepEqual([runs.running, listeners(), clock.pending], [0, 1, 0])
  runs.stop()
  assert.equal(listeners(), 0)
})

test('abandoning aborts every run that is under way, with its reason, and those that begin later; not what has ended', async () => {
  const { runs, abandon } = running()
  const signals: AbortSignal[] = []
  const keep = async ({ signal }: Run): Promise<void> => void signals.push(signal)
  await runs.once(keep, RUN)
  const gate = Promise.withResolvers<void>()
  const held = [1, 2].map(() => runs.once((run) => (void keep(run), gate.promise), RUN))
  abandon()
  await runs.once(keep, RUN)
  assert.deepEqual(signals.map(({ reason }) => (reason as Error).message), [
    'The reconcile of this Pod has ended, and what it left behind does not go on',
    'over',
    'over',
    'over',
  ])
  gate.resolve()
  await Promise.all(held)
})

test('a run is given what belongs to it', async () => {
  const { runs } = running()
  const own = (): void => {}
  const end = await runs.once(async ({ key, log, attempt, onWrite, signal }) => {
    assert.deepEqual([key, log, attempt, onWrite, signal.aborted], [RUN.key, RUN.log, 3, own, false])
    return { requeueAfter: 5 }
  }, { ...RUN, onWrite: own })
  assert.deepEqual(end, { outcome: { kind: 'returned', result: { requeueAfter: 5 } }, timedOut: false })
})
