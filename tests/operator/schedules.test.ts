import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Cron } from 'croner'
import fc from 'fast-check'
import { Registry } from 'prom-client'
import { type Operator, operator, type ScheduleOptions, TerminalError, type WorkContext } from 'kubeloop'
import { Lease } from 'kubeloop/kinds'
import type { FakeClock } from 'kubeloop/testing'
import { ApiServer } from 'kubeloop/apiserver'
import { aborted } from '../../lib/async/abort.ts'
import { Latch } from '../../lib/async/latch.ts'
import { tries } from '../tools/fuzz.ts'
import { mutatedText } from '../tools/hostile.ts'
import { failures, messages, restingClock, type Started, starting, type StartingOptions } from './starting.ts'

/** Returns an operator with a schedule, and the times at which it ran as `HH:MM`, with the date if it is not the first. */
function scheduled(cron: string, options: ScheduleOptions = {}, task?: (context: WorkContext) => Promise<void>) {
  const runs: string[] = []
  const app = operator({ name: 'x', leaderElection: true }).schedule('report', cron, options, async (context) => {
    runs.push(new Date(context.clock.now()).toISOString().replace('2026-01-01T', '').slice(0, -8))
    await task?.(context)
  })
  return { app, runs }
}

test('a schedule runs at its times, in its time zone, whatever the start', async () => {
  for (
    const [cron, timeZone, now, hours, expected] of [
      ['0 2 * * *', undefined, '2026-01-01T00:00:00Z', 48, ['02:00', '2026-01-02T02:00']],
      ['0 2 * * *', 'Europe/Berlin', '2026-01-01T00:00:00Z', 24, ['01:00']],
      ['@hourly', undefined, '2026-01-01T00:30:00Z', 2, ['01:00', '02:00']],
      ['30 0 2 * * *', undefined, '2026-01-01T00:00:00Z', 3, ['02:00']],
      // The clock goes forward: 02:30 does not exist, and is 03:00. It goes back: 02:30 is twice, and runs once.
      ['30 2 * * *', 'Europe/Berlin', '2026-03-29T00:00:00Z', 12, ['2026-03-29T01:00']],
      ['30 2 * * *', 'Europe/Berlin', '2026-10-25T00:00:00Z', 12, ['2026-10-25T00:30']],
    ] as const
  ) {
    const { app, runs } = scheduled(cron, timeZone === undefined ? {} : { timeZone })
    await using s = await starting(app, { clock: restingClock(Date.parse(now)), leaderElection: false })
    await s.clock.advance(hours * 3_600_000)
    assert.deepEqual(runs, expected, `${cron} ${timeZone}`)
  }
})

test('a stop waits for a run', async () => {
  const end = new Latch()
  const { app } = scheduled('@hourly', {}, () => end.opened)
  const s = await starting(app, { leaderElection: false })
  await s.clock.advance(3_600_000)
  await s.stop()
  await s.clock.advance(0)
  assert.equal(s.outcome(), undefined)
  end.open()
  await s.ended
})

test('what cannot be a schedule is refused where it is declared, with the place', () => {
  const task = async (): Promise<void> => {}
  const app = operator({ name: 'x' }).schedule('known', '@daily', task)
  for (
    const [declare, problem] of [
      [() => app.schedule('r', 'every day', task), /"every day" is not a cron expression, such as "0 2 \* \* \*"/],
      [() => app.schedule('r', '* * * *', task), /is not a cron expression/],
      [() => app.schedule('r', '2026-01-01T00:00:00', task), /is not a cron expression/],
      [() => app.schedule('r', 5 as never, task), /^Cannot schedule "r": 5 is not a cron expression/],
      [() => app.schedule('r', '61 * * * *', task), /"61 .*" is not a cron expression, such as/],
      [() => app.schedule('r', '@daily', { timeZone: 'Berlin' }, task), /"Berlin" is not a time zone, such as/],
      [() => app.schedule('r', '@daily', { timezone: 'UTC' } as never, task), /did you mean "timeZone"\?/],
      [() => app.schedule('r', '@daily', {} as never), /give it a function/],
      [
        () => app.schedule('known', '@hourly', task),
        /another schedule of this name \(\S+schedules\.test\.ts:\d+:\d+\)/,
      ],
      [() => app.add('known', task), /^Cannot add "known": there is another schedule of this name \(/],
    ] as const
  ) {
    assert.throws(
      declare,
      (error: Error) =>
        error instanceof TypeError && problem.test(error.message) &&
        /schedules\.test\.ts:\d+:\d+\)$/.test(error.message),
    )
  }
})

test('an expression is refused where it is declared, or else by the start, and what croner takes by neither', () => {
  const app = operator({ name: 'x' })
  let count = 0
  const declare = (cron: string) => () => app.schedule(`${count++}`, cron, async () => {})
  const numbers = ['60 * * * * *', '60 * * * *', '* 24 * * *', '* * 32 * *', '* * * 13 *', '* * * * 8', '1,61 * * * *']
  for (const cron of [...numbers, '0-60 * * * *', '* * * * * * *', '']) {
    assert.throws(declare(cron), /is not a cron expression/, cron)
  }
  const parts = '* ? */70 1-7/70 1,5 7 jan-Mar SUN 5L L LW 7W fri#5 2#3 +1 007'.split(' ')
  for (const part of parts) {
    for (
      const cron of [`${part} 0 * * *`, `0 0 ${part} * *`, `0 0 * ${part} *`, `0 0 * * ${part}`, `0 0 0 * ${part} *`]
    ) {
      if (isTaken(cron)) declare(cron)()
    }
  }
  const changed = mutatedText('0 2 * * *', '*/5 1-3,7 * JAN-MAR mon', ' @daily', '0 0 29 2 *', '0 0 L * MON#2')
  fc.assert(
    fc.property(changed, (cron) => {
      const began = performance.now()
      if (isTaken(cron)) declare(cron)()
      assert.ok(performance.now() - began < 2000, cron)
    }),
    { numRuns: tries(200) },
  )
})

/** Whether croner reads the expression, and finds a time or none in a bounded time. */
function isTaken(cron: string): boolean {
  try {
    new Cron(cron, { paused: true, mode: '5-or-6-parts' }).nextRun()
    return true
  } catch {
    return false
  }
}

test('an expression that no date fits ends the start before anything runs, with the place', async () => {
  for (const [cron, problem] of [['9-5 * * * *', /9-5/], ['0 0 31 2 *', /no date fits/]] as const) {
    const s = await starting(scheduled(cron).app)
    assert.match(String(s.outcome()), new RegExp(`Cannot schedule "report" by "${cron.replaceAll('*', '\\*')}": `))
    assert.match(String(s.outcome()), problem)
    assert.match(String(s.outcome()), /schedules\.test\.ts:\d+:\d+\)$/)
    assert.deepEqual(s.network.requests, [])
  }
})

test('a run that throws is logged, counted and tried again with back-off; a TerminalError waits for the next time', async () => {
  const registry = new Registry()
  const app = operator({ name: 'x', metrics: { registry } })
  const calls: string[] = []
  app.schedule('report', '0 * * * *', async ({ clock }) => {
    const at = new Date(clock.now()).toISOString().slice(11, 19)
    calls.push(at)
    if (at === '01:00:00') throw new Error('no disk')
    if (at === '02:00:00') throw new TerminalError('never')
  })
  await using s = await starting(app, { serves: true, random: () => 0 })
  await s.clock.advance(3 * 3_600_000)
  assert.deepEqual(calls, ['01:00:00', '01:00:01', '02:00:00', '03:00:00'])
  assert.deepEqual(failures(s).map((line) => line.replace(/ \(\S+:\d+:\d+\)/, '')), [
    'Cannot run the schedule "report": no disk (started again in 1 s)',
    'Cannot run the schedule "report": never (not tried again before its next time, as it threw a TerminalError)',
  ])
  assert.match(await registry.metrics(), /^kubeloop_task_failures_total\{task="report"\} 2$/m)
})

test('times during a run are skipped, logged at a limited rate, and counted', async () => {
  const registry = new Registry()
  const app = operator({ name: 'x', metrics: { registry } })
  const runs: string[] = []
  app.schedule('report', '* * * * *', async ({ clock, sleep }) => {
    if (runs.push(new Date(clock.now()).toISOString().slice(11, 19)) === 1) await sleep('10.5m')
  })
  await using s = await starting(app, { serves: true })
  await s.clock.advance(12.5 * 60_000)
  assert.deepEqual(runs, ['00:01:00', '00:12:00'])
  const lines = s.log.filter(({ message }) => message.includes('skips'))
  assert.equal(lines[0]!.message, 'The schedule "report" skips 2026-01-01T00:02:00.000Z, as its last run has not ended')
  assert.match(await registry.metrics(), /^kubeloop_schedule_skipped_total\{task="report"\} 10$/m)
})

/** Starts a replica of an operator on a cluster that has been there before. */
const replica = async (app: Operator, { clock, server }: Cluster): Promise<Started> =>
  await starting(app, { clock, server, crds: 'ignore' })

interface Cluster {
  readonly clock: FakeClock
  readonly server: ApiServer
}

const MINUTE = 60_000

function cluster(): Cluster {
  const clock = restingClock()
  return { clock, server: new ApiServer({ clock }) }
}

const leaseOf = async ({ client }: Started) => await client.get(Lease, { namespace: 'default', name: 'x' })

const remembered = async (s: Started): Promise<unknown> =>
  JSON.parse((await leaseOf(s))?.metadata.annotations?.['kubeloop.dev/schedules'] ?? 'null')

test('times that passed while no replica led are made up for by one run; those that are done are not repeated', async () => {
  const { app, runs } = scheduled('*/5 * * * *')
  const at = cluster()
  let s = await replica(app, at)
  const until = (time: string) => ({
    report: { cron: '*/5 * * * *', timeZone: 'UTC', until: `2026-01-01T${time}.000Z` },
  })
  await at.clock.advance(2000)
  assert.deepEqual(await remembered(s), until('00:00:00'), 'what comes from now on can be missed')
  await at.clock.advance(5 * MINUTE)
  assert.deepEqual([runs, await remembered(s)], [['00:05'], until('00:05:00')])
  await s.stop()
  await at.clock.advance(16 * MINUTE)
  s = await replica(app, at)
  assert.deepEqual(runs, ['00:05', '00:21'])
  await s.stop()
  await at.clock.advance(2 * MINUTE)
  s = await replica(app, at)
  await at.clock.advance(MINUTE)
  assert.deepEqual(runs, ['00:05', '00:21'])
  await at.clock.advance(MINUTE)
  assert.deepEqual(runs, ['00:05', '00:21', '00:25'])
  await s.stop()
})

test('a release without a schedule keeps what the Lease has of it for a week, for a rollback that is undone', async () => {
  for (const [days, isMissed] of [[6.9, true], [7.1, false]] as const) {
    const runs: string[] = []
    const at = cluster()
    const release = (...names: string[]): Promise<Started> => {
      const app = operator({ name: 'x', leaderElection: true })
      for (const name of names) app.schedule(name, '0 0 * * *', async () => void runs.push(name))
      return replica(app, at)
    }
    const DAY = 1440 * MINUTE
    await (await release('a', 'b')).stop()
    // The second start without it does not begin the week anew.
    for (const forDays of [3, days - 3]) {
      const s = await release('a')
      await s.stop()
      await at.clock.advance(forDays * DAY)
    }
    runs.length = 0
    const again = await release('a', 'b')
    await at.clock.advance(2000)
    assert.equal(runs.includes('b'), isMissed, `${days} days`)
    assert.deepEqual(Object.keys(await remembered(again) as object).toSorted(), ['a', 'b'])
    assert.ok(!JSON.stringify(await remembered(again)).includes('unknownSince'))
    await again.stop()
  }
})

test('a run that had not ended is made up for, and its end is kept also if the leader stops right after it', async () => {
  for (const ends of [false, true]) {
    const { app, runs } = scheduled('*/5 * * * *', {}, async ({ sleep, signal }) => {
      if (runs.length > 1) return
      await (ends ? sleep('1s') : aborted(signal))
      signal.throwIfAborted()
    })
    const at = cluster()
    // Renewals are every two seconds: the stop comes before the next one.
    const first = await replica(app, at)
    await at.clock.advance(5 * MINUTE + 1000)
    await first.stop()
    assert.equal((await leaseOf(first))?.spec?.holderIdentity, '')
    const second = await replica(app, at)
    assert.deepEqual(runs, ends ? ['00:05'] : ['00:05', '00:05'])
    await second.stop()
    assert.deepEqual([first.outcome(), second.outcome()], ['resolved', 'resolved'])
  }
})

/** The options of a start that finds this, as it is or as JSON, in the annotation of the Lease. */
const storing = (stored: unknown): StartingOptions => {
  const text = typeof stored === 'string' ? stored : JSON.stringify(stored)
  const metadata = { namespace: 'default', name: 'x', annotations: { 'kubeloop.dev/schedules': text, 'a.b/c': 'kept' } }
  return { before: (client) => client.create(Lease, { metadata, spec: {} }) }
}

test('what the Lease has of another schedule, of a time to come, or unreadable counts for nothing', async () => {
  const known = { cron: '*/5 * * * *', timeZone: 'UTC', until: '2025-12-31T12:00:00.000Z' }
  for (
    const [stored, isMissed] of [
      [{ report: known }, true],
      [{ report: { ...known, cron: '0 * * * *' } }, false],
      [{ report: { ...known, timeZone: 'Europe/Berlin' } }, false],
      [{ report: { ...known, until: 'soon' } }, false],
      [{ report: { ...known, unknownSince: '2025-12-25T00:00:01Z' } }, true],
      [{ report: { ...known, unknownSince: '2025-12-25T00:00:00Z' } }, false],
      [{ report: { ...known, unknownSince: 'once' } }, false],
      [{ report: { ...known, until: '-271821-04-20T00:00:00Z' } }, false],
      [[{}, 5], false],
      ['5', false],
      [{ other: known }, false],
      [null, false],
      ['{', false],
    ] as const
  ) {
    const { app, runs } = scheduled('*/5 * * * *')
    await using s = await starting(app, storing(stored))
    await s.clock.advance(2000)
    assert.deepEqual(runs, isMissed ? ['00:00'] : [], JSON.stringify(stored))
    const lines = messages(s, 'warn')
    assert.equal(
      lines.some((line) => line.startsWith('Cannot read the annotation kubeloop.dev/schedules of')),
      stored === '{',
    )
    assert.equal((await leaseOf(s))?.metadata.annotations?.['a.b/c'], 'kept')
    await s.clock.advance(5 * MINUTE)
    assert.equal(runs.at(-1), '00:05')
  }
  // The clock of the last leader was ahead by an hour, or by five minutes: what it ran is not repeated.
  for (const [until, expected] of [['01:00:00', ['00:05']], ['00:05:00', []]] as const) {
    const { app, runs } = scheduled('*/5 * * * *')
    await using s = await starting(app, storing({ report: { ...known, until: `2026-01-01T${until}.000Z` } }))
    await s.clock.advance(6 * MINUTE)
    assert.deepEqual(runs, expected, until)
  }
})

test('a clock that is set back by more than ten minutes has times come again; by less, none runs twice', async () => {
  const { app, runs } = scheduled('0 * * * *')
  const clock = restingClock()
  let aheadMs = 24 * 3_600_000
  const ahead = { now: () => clock.now() + aheadMs, monotonic: () => clock.monotonic(), after: clock.after.bind(clock) }
  await using _ = await starting(app, { clock, ahead, leaderElection: false })
  await clock.advance(61 * MINUTE)
  assert.deepEqual(runs.splice(0), ['2026-01-02T01:00'])
  aheadMs -= 5 * MINUTE
  await clock.advance(54 * MINUTE)
  assert.deepEqual(runs, [])
  aheadMs = 0
  await clock.advance(10 * MINUTE)
  assert.deepEqual(runs.splice(0), ['02:00'])
  await clock.advance(60 * MINUTE)
  assert.deepEqual(runs, ['03:00'])
})

test('a time whose run has ended is not repeated by the next leader where the clock was set back during the run', async () => {
  const { clock, server } = cluster()
  let aheadMs = 0
  const ahead = { now: () => clock.now() + aheadMs, monotonic: () => clock.monotonic(), after: clock.after.bind(clock) }
  const { app, runs } = scheduled('*/5 * * * *', {}, async ({ sleep }) => {
    aheadMs -= 5000
    await sleep('1s')
  })
  const options = { clock, server, ahead, crds: 'ignore' } as const
  const first = await starting(app, options)
  await clock.advance(5 * MINUTE + 1000)
  await first.stop()
  const second = await starting(app, options)
  await clock.advance(10_000)
  assert.deepEqual(runs, ['00:05'])
  await second.stop()
})

test('a clock that is set forward, or a machine that slept, costs ten minutes at most', async () => {
  const { app, runs } = scheduled('0 2 * * *')
  const clock = restingClock()
  let aheadMs = 0
  const ahead = { now: () => clock.now() + aheadMs, monotonic: () => clock.monotonic(), after: clock.after.bind(clock) }
  await using _ = await starting(app, { clock, ahead, leaderElection: false })
  await clock.advance(15 * MINUTE)
  aheadMs = 3 * 3_600_000
  await clock.advance(10 * MINUTE)
  assert.deepEqual(runs, ['03:20'])
})
