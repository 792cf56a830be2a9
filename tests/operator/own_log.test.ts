/** The `log` option of an operator, with the logs of other libraries. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Log, operator } from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import { Latch } from '../../lib/async/latch.ts'
import { LOG_LEVELS, silentLog } from '../../lib/observe/log.ts'
import { ownLog } from '../../lib/operator/run/own_log.ts'

/** Runs an operator with this log until its task has logged; returns what the task threw. */
async function runTask(log: Log, task: (log: Log) => void, over?: Log): Promise<void> {
  const app = operator({ name: 'x', log })
  const done = new Latch<void>()
  app.add('task', async ({ log }) => {
    task(log)
    done.open()
  }, { everyReplica: true })
  const stop = new AbortController()
  const running = app.start(stop.signal, { transport: new ApiServer().handle, ...(over && { log: over }) })
  await Promise.race([done.opened, running])
  stop.abort()
  await running
}

function remembering(): { log: Log; calls: unknown[][] } {
  const calls: unknown[][] = []
  const log = Object.fromEntries(
    LOG_LEVELS.map((level) => [level, (...args: unknown[]) => void calls.push([level, ...args])]),
  ) as unknown as Log
  return { log, calls }
}

test('an embedded operator logs to its own log, unless the start has one', async () => {
  const [own, other] = [remembering(), remembering()]
  const say = (log: Log): void => log.info('hello', { a: 1 })
  await runTask(own.log, say)
  assert.deepEqual(own.calls.filter(([, message]) => message === 'hello'), [['info', 'hello', { task: 'task', a: 1 }]])
  await runTask(own.log, say, other.log)
  assert.equal(own.calls.filter(([, message]) => message === 'hello').length, 1)
  assert.equal(other.calls.filter(([, message]) => message === 'hello').length, 1)
})

test('console and LogTape are called as methods, with the message and its fields, if any', () => {
  class Logger {
    readonly #lines: unknown[][] = []
    debug(...args: unknown[]): void {
      this.#lines.push(['debug', ...args])
    }
    info(...args: unknown[]): void {
      this.#lines.push(['info', ...args])
    }
    warn(...args: unknown[]): void {
      this.#lines.push(['warn', ...args])
    }
    error(...args: unknown[]): void {
      this.#lines.push(['error', ...args])
    }
    get lines(): unknown[][] {
      return this.#lines
    }
  }
  const logger = new Logger()
  const log = ownLog({ name: 'x', log: logger })!
  log.info('plain')
  for (const level of LOG_LEVELS) log[level]('{count} of them', { count: 3 })
  assert.deepEqual(logger.lines, [
    ['info', 'plain'],
    ...LOG_LEVELS.map((level) => [level, '{count} of them', { count: 3 }]),
  ])
  // Types: each of these is a Log.
  for (const each of [console, silentLog] satisfies Log[]) assert.ok(ownLog({ name: 'x', log: each }))
})

test('pino is called with the fields first, the braces filled in, and an error as err', () => {
  const { log: calls, calls: seen } = remembering()
  const pino = Object.assign(calls, { bindings: () => ({}), level: 'warn', child: () => pino }) as unknown as Log
  const log = ownLog({ name: 'x', log: pino })!
  const error = new Error('no')
  assert.equal(log.level, 'warn')
  log.info('plain')
  log.warn('{count} of them, {error}', { count: 3, error })
  log.error('said', { error: 'a text' })
  assert.deepEqual(seen, [['info', {}, 'plain'], ['warn', { count: 3, err: error }, '3 of them, Error: no'], ['error', {
    error: 'a text',
  }, 'said']])
})

test('a log without a method is refused, with its name', () => {
  const { warn: _, ...rest } = silentLog
  assert.throws(
    () => operator({ name: 'x', log: rest as Log }),
    /^TypeError: Cannot describe operator "x": its log has no method "warn"$/,
  )
})
