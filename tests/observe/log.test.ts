import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LOG_LEVELS, silentLog, withFields, type Log, type LogFields } from '../../lib/observe/log.ts'

test('added fields are in every line of every level, and a line may override them', () => {
  const lines: [string, string, LogFields | undefined][] = []
  const log = Object.fromEntries(LOG_LEVELS.map((level) => [level, (message: string, fields?: LogFields) => lines.push([level, message, fields])])) as unknown as Log
  const inner = withFields(withFields(log, { a: 1, b: 1 }), { b: 2 })
  for (const level of LOG_LEVELS) inner[level]('hi', { c: 3 })
  inner.info('bare')
  inner.info('own', { a: 9 })
  assert.deepEqual(lines, [...LOG_LEVELS.map((level) => [level, 'hi', { a: 1, b: 2, c: 3 }]), ['info', 'bare', { a: 1, b: 2 }], ['info', 'own', { a: 9, b: 2 }]])
})

test('the silent log says nothing and fails on nothing', () => {
  for (const level of LOG_LEVELS) assert.equal(silentLog[level]('x', { a: 1 }), undefined)
})
