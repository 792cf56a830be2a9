import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LeadershipLost, NetworkError, operator, TerminalError, type WorkContext } from 'kubeloop'
import { aborted } from '../../lib/async/abort.ts'
import { create, failures, replicas, restingClock, type Started, starting } from './starting.ts'

/** Returns a task that throws in its first calls and then waits for the stop, and the times of its calls. */
function failing(times: number, error: unknown = new Error('no disk')) {
  const callsMs: number[] = []
  const task = async ({ clock, signal }: WorkContext): Promise<void> => {
    callsMs.push(clock.monotonic())
    if (callsMs.length <= times) throw error
    await aborted(signal)
  }
  return { callsMs, task }
}

test('a task of the name of another one, or of a schedule, is refused with the places of both', () => {
  const task = async (): Promise<void> => {}
  const app = operator({ name: 'x' }).add('report', task)
  const place = '\\(\\S+tasks\\.test\\.ts:\\d+:\\d+\\)'
  for (
    const [verb, declare] of [
      ['add', () => app.add('report', task, { everyReplica: true })],
      ['schedule', () => app.schedule('report', '@daily', task)],
    ] as const
  ) {
    const problem = `Cannot ${verb} "report": there is another task of this name ${place} ${place}`
    assert.throws(declare, new RegExp(`^TypeError: ${problem}$`))
  }
  assert.deepEqual(app.add('other', task).description.tasks.map(({ name }) => name), ['report', 'other'])
})

test('the waits are longer by up to a fifth, so that replicas do not fail at the same time', async () => {
  const { callsMs, task } = failing(1)
  await using s = await starting(operator({ name: 'x' }).add('broken', task), { random: () => 1 })
  await s.clock.advance(1199)
  assert.equal(callsMs.length, 1)
  await s.clock.advance(1)
  assert.equal(callsMs.length, 2)
})

test('the back-off begins anew when a task has run for five minutes', async () => {
  for (const [ranMs, lastWaitMs] of [[300_000, 1000], [299_999, 8000]] as const) {
    const callsMs: number[] = []
    const app = operator({ name: 'x' }).add('broken', async ({ clock, sleep }) => {
      callsMs.push(clock.monotonic())
      if (callsMs.length === 4) await sleep(ranMs)
      throw new Error('no disk')
    })
    await using s = await starting(app, { random: () => 0 })
    await s.clock.advance(7000 + ranMs + 8000)
    assert.equal(callsMs[4]! - callsMs[3]!, ranMs + lastWaitMs)
  }
})

test('a TerminalError, restart: false and a missing permission of Deno end the operator, and the error says so', async () => {
  const denied = Object.assign(new Error('denied'), { name: 'NotCapable' })
  for (
    const [error, restart, reason] of [
      [new TerminalError('no disk'), true, 'it threw a TerminalError'],
      [new Error('no disk'), false, 'it has restart: false'],
      [new Error('no disk', { cause: denied }), true, 'a missing permission of Deno stays missing'],
    ] as const
  ) {
    const { callsMs, task } = failing(9, error)
    const s = await starting(operator({ name: 'x' }).add('broken', task, { restart }))
    const outcome = s.outcome()
    assert.ok(outcome instanceof Error)
    assert.match(outcome.message, /^Cannot run the task "broken" \(\S+tasks\.test\.ts:\d+:\d+\): no disk \(this ends/)
    assert.ok(outcome.message.endsWith(`(this ends the operator, as ${reason})`), outcome.message)
    assert.equal(outcome.cause, error)
    assert.equal(callsMs.length, 1)
  }
})

test('a call that has ended leaves no listener', async () => {
  await using s = await starting(operator({ name: 'x' }).add('broken', failing(Infinity).task))
  const { abandon } = s.parts!.manager
  const calls: string[] = []
  for (const name of ['addEventListener', 'removeEventListener'] as const) {
    const inner = abandon[name]
    abandon[name] = (...args: Parameters<typeof inner>) => (calls.push(name), inner.apply(abandon, args))
  }
  await s.clock.advance(60_000)
  const count = (name: string): number => calls.filter((each) => each === name).length
  assert.ok(count('addEventListener') > 3)
  assert.equal(count('removeEventListener'), count('addEventListener'))
})

test('a task that fails runs again on its replica alone: the leader, or every one', async () => {
  for (const everyReplica of [false, true]) {
    const app = operator({ name: 'x', leaderElection: true })
    let calls = 0
    app.add('broken', async ({ client }) => {
      await create(client, `call-${calls++}`)
      throw new Error('no disk')
    }, { everyReplica })
    const [first, second] = await replicas(app, 2)
    await first!.clock.advance(5000)
    assert.ok(failures(first!).length >= 3)
    assert.equal(failures(second!).filter((line) => line.includes('no disk')).length >= 2, everyReplica)
    await first!.stop()
    await second!.stop()
  }
})

test('a lost lease ends a task that fails by it, or that waits to be called: it is not started again', async () => {
  for (const waits of [false, true]) {
    let calls = 0
    const app = operator({ name: 'x', leaderElection: true }).add('writer', async ({ client, sleep }) => {
      calls++
      if (waits && calls > 3) throw new Error('no disk')
      if (waits) await sleep('9s')
      await sleep('100ms')
      await create(client, `kube-${calls}`)
    })
    const clock = restingClock()
    const s: Started = await starting(app, { clock, random: () => 0 })
    s.network.intercept = (request) =>
      request.path.includes('/leases') || !waits
        ? new Promise((_, reject) => request.signal?.addEventListener('abort', () => reject(request.signal!.reason)))
        : Promise.reject(new NetworkError('cut', { phase: 'connect' }))
    await s.clock.advance(30_000)
    assert.ok(s.outcome() instanceof LeadershipLost, String(s.outcome()))
    const before = calls
    await s.clock.advance(600_000)
    assert.equal(calls, before)
    if (!waits) assert.deepEqual(failures(s).filter((line) => line.includes('started again')), [])
  }
})
