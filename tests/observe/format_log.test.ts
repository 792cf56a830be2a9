import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clockTime, formatJson, formatPretty } from '../../lib/observe/format_log.ts'
import type { LogFields, LogLevel } from '../../lib/observe/log.ts'

const timeMs = Date.UTC(2026, 0, 2, 3, 4, 5, 6)
const json = (message: string, fields: LogFields = {}): Record<string, unknown> => JSON.parse(formatJson({ level: 'info', message, fields, timeMs })) as Record<string, unknown>
const pretty = (message: string, fields: LogFields = {}, level: LogLevel = 'info'): string => formatPretty({ level, message, fields, timeMs }).slice('00:00:00  '.length)

test('a JSON line has time, level, message and the fields', () => {
  assert.deepEqual(json('hello {who}', { who: 'you', n: 1, none: undefined }), { time: '2026-01-02T03:04:05.006Z', level: 'info', message: 'hello you', who: 'you', n: 1 })
})

test('an error in a JSON line is told with its stack and its causes', () => {
  const line = json('failed', { error: new RangeError('outer', { cause: new Error('inner') }), nested: { error: new Error('deep') } })
  const error = line['error'] as { name: string; message: string; stack: string; cause: { message: string } }
  assert.deepEqual([error.name, error.message, error.cause.message], ['RangeError', 'outer', 'inner'])
  assert.match(error.stack, /format_log\.test/)
  assert.equal((line['nested'] as { error: { message: string } }).error.message, 'deep')
})

test('a field cannot take the place of time, level or message', () => {
  const line = json('real', { message: 'forged', level: 'error' })
  assert.deepEqual([line['message'], line['level'], line['fields.message'], line['fields.level']], ['real', 'info', 'forged', 'error'])
})

test('whatever the fields hold, a line is written, and it is one line', () => {
  const circle: Record<string, unknown> = {}
  circle['self'] = circle
  const same = { a: 1 }
  const fields = { circle, big: 12n, fn: () => 1, sym: Symbol('s'), at: new Date(0), twice: [same, same], text: 'a\nb', bad: { get x() { throw new Error('no') } } }
  for (const text of [formatJson({ level: 'info', message: 'm', fields, timeMs }), pretty('m', fields)]) assert.equal(text.includes('\n'), false)
  const line = json('m', fields)
  assert.deepEqual([line['big'], line['at'], line['twice'], line['circle']], ['12', '1970-01-01T00:00:00.000Z', [same, same], { self: '[Circular]' }])
  assert.deepEqual([line['message'], line['bad']], ['m', '[cannot be written: no]'])
})

test('a pretty line fills in what the message names and adds the rest', () => {
  assert.equal(pretty('replicated to {count} of {missing}', { count: 3, key: 'a/b', none: undefined }), 'replicated to 3 of {missing}  key=a/b')
  assert.equal(pretty('slow', {}, 'warn'), 'warn: slow')
  assert.equal(pretty('said', { text: 'two words', empty: '', list: [1] }), 'said  text="two words" empty="" list=[1]')
  assert.equal(pretty('failed: x', { error: new Error('x'), reconcileID: 4, controller: 'c', kind: 'K' }), 'failed: x')
  assert.equal(pretty('{toString}'), '{toString}')
  assert.equal(pretty('{o}', { o: { a: 1 } }), '{"a":1}')
  assert.match(clockTime(timeMs), /^\d\d:\d\d:05$/)
})
