import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  atLevel,
  levelOf,
  type Log,
  LOG_LEVELS,
  type LogFields,
  rarely,
  RateLimitedLog,
  safeLog,
  silentLog,
  withFields,
  writesDebug,
} from '../../lib/observe/log.ts'
import { nextTurn } from '../../lib/async/clock.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'

test('added fields are in every line of every level, and a line may override them', () => {
  const lines: [string, string, LogFields | undefined][] = []
  const log = Object.fromEntries(
    LOG_LEVELS.map((level) => [level, (message: string, fields?: LogFields) => lines.push([level, message, fields])]),
  ) as unknown as Log
  const inner = withFields(withFields(log, { a: 1, b: 1 }), { b: 2 })
  for (const level of LOG_LEVELS) inner[level]('hi', { c: 3 })
  inner.info('bare')
  inner.info('own', { a: 9 })
  assert.deepEqual(lines, [...LOG_LEVELS.map((level) => [level, 'hi', { a: 1, b: 2, c: 3 }]), ['info', 'bare', {
    a: 1,
    b: 2,
  }], ['info', 'own', { a: 9, b: 2 }]])
})

/** Returns what is written to standard error while `work` runs. */
async function onStandardError(work: () => void | Promise<void>): Promise<readonly unknown[][]> {
  const written: unknown[][] = []
  const { error } = console
  console.error = (...args: unknown[]) => void written.push(args)
  try {
    await work()
  } finally {
    console.error = error
  }
  return written
}

test('a safe log never throws or rejects; the first failure of its log is on standard error, once', async () => {
  const failure = new Error('EPIPE')
  const logs: Log[] = [
    Object.fromEntries(LOG_LEVELS.map((level) => [level, () => {
      throw failure
    }])) as unknown as Log,
    Object.fromEntries(LOG_LEVELS.map((level) => [level, () => Promise.reject(failure)])) as unknown as Log,
    {} as Log,
  ]
  for (const log of logs) {
    const written = await onStandardError(async () => {
      const safe = safeLog(log)
      for (const level of LOG_LEVELS) {
        assert.equal(safe[level]('x'), undefined)
        assert.equal(withFields(safe, { a: 1 })[level]('x', { b: 2 }), undefined)
      }
      await nextTurn()
    })
    assert.equal(written.length, 1)
    assert.match(String(written[0]![0]), /^kubeloop: the configured log failed/)
    assert.ok(log.debug === undefined || written[0]![1] === failure)
  }
})

test('a safe log passes lines on unchanged, to the log’s own methods', async () => {
  class Own {
    readonly lines: unknown[][] = []
    debug(...line: unknown[]): void {
      this.lines.push(['debug', ...line])
    }
    info(...line: unknown[]): void {
      this.lines.push(['info', ...line])
    }
    warn(...line: unknown[]): void {
      this.lines.push(['warn', ...line])
    }
    error(...line: unknown[]): void {
      this.lines.push(['error', ...line])
    }
  }
  const own = new Own()
  const written = await onStandardError(() => {
    for (const level of LOG_LEVELS) safeLog(own)[level]('x', { a: 1 })
    safeLog(own).info('bare')
  })
  assert.deepEqual(own.lines, [...LOG_LEVELS.map((level) => [level, 'x', { a: 1 }]), ['info', 'bare']])
  assert.deepEqual(written, [])
  const safe = safeLog(own)
  assert.equal(safeLog(safe), safe)
  assert.deepEqual([safeLog(undefined), safeLog(silentLog)], [silentLog, silentLog])
})

test('repeated failures are logged less and less often', () => {
  const reported: [string, LogFields | undefined][] = []
  const report = rarely({ ...silentLog, error: (message, fields) => void reported.push([message, fields]) }, 'It broke')
  for (let i = 1; i <= 1000; i++) report(i)
  assert.deepEqual(
    reported,
    [1, 2, 4, 8, 16, 32, 64, 128, 256, 512].map((i) => [`It broke: ${i} (failure ${i})`, { error: i }]),
  )
})

test('a limited log counts the lines that it has left out, each once', async () => {
  const clock = new FakeClock()
  const lines: string[] = []
  const limited = new RateLimitedLog(clock, { ...silentLog, warn: (text) => void lines.push(text) })
  for (let line = 1; line <= 7; line++) limited.warn(`${line}`)
  for (const text of ['later', 'much later']) {
    await clock.advance(60_000)
    limited.warn(text)
  }
  assert.deepEqual(lines, ['1', '2', '3', '4', '5', 'later (and 2 more like it)', 'much later'])
})

test('a level is found in upper and lower case, and nothing else is one', () => {
  for (const level of LOG_LEVELS) {
    for (const text of [level, level.toUpperCase(), ` ${level} `]) assert.equal(levelOf(text), level)
  }
  for (const text of ['', 'verbose', 'inf', 'warning', 'info debug']) assert.equal(levelOf(text), undefined)
})

test('a log is limited to a level, by itself if it can, and says whether it writes debug lines', () => {
  const lines: string[] = []
  const at = (lowest: string, able: boolean): Log => ({
    ...Object.fromEntries(
      LOG_LEVELS.map((level) => [level, (text: string) => lines.push(`${lowest}: ${level} ${text}`)]),
    ),
    level: lowest,
    ...(able && { withLevel: (level: string) => at(level, able) }),
  } as unknown as Log)
  for (const wrap of [(log: Log) => log, safeLog]) {
    const all = (log: Log): string[] => (LOG_LEVELS.forEach((level) => log[level]('hi')), lines.splice(0))
    const own = atLevel(wrap(at('info', true)), 'debug')
    assert.deepEqual([all(own).length, own.level, writesDebug(own)], [4, 'debug', true])
    assert.deepEqual(all(own)[0], 'debug: debug hi')
    const dropped = atLevel(wrap(at('info', false)), 'warn')
    assert.deepEqual([all(dropped), writesDebug(dropped)], [['info: warn hi', 'info: error hi'], false])
    const log = wrap(at('info', true))
    assert.equal(atLevel(log, undefined), log)
    assert.equal(writesDebug(log), false)
  }
  for (const level of ['all', 'trace', 'silly', 'verbose']) assert.ok(writesDebug({ ...silentLog, level }))
  for (const level of [undefined, 'error', () => 20, 10]) assert.ok(!writesDebug({ ...silentLog, level }))
})
