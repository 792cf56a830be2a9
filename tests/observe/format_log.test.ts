import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, ConfigError, NetworkError } from '../../lib/core/errors.ts'
import { formatJson } from '../../lib/observe/format_log.ts'
import { clockTime, formatPretty } from '../../lib/observe/pretty_log.ts'
import type { LogFields, LogLevel } from '../../lib/observe/log.ts'

const timeMs = Date.UTC(2026, 0, 2, 3, 4, 5, 6)
const json = (message: string, fields: LogFields = {}): Record<string, unknown> =>
  JSON.parse(formatJson({ level: 'info', message, fields, timeMs })) as Record<string, unknown>
const pretty = (message: string, fields: LogFields = {}, level: LogLevel = 'info'): string =>
  formatPretty({ level, message, fields, timeMs }).slice('00:00:00  '.length)

test('a JSON line has time, level, message and the fields', () => {
  assert.deepEqual(json('hello {who}', { who: 'you', n: 1, none: undefined }), {
    time: '2026-01-02T03:04:05.006Z',
    level: 'info',
    message: 'hello you',
    who: 'you',
    n: 1,
  })
})

test('an error in a JSON line has its stack and its causes', () => {
  const line = json('failed', {
    error: new RangeError('outer', { cause: new Error('inner') }),
    nested: { error: new Error('deep') },
  })
  const error = line['error'] as { name: string; message: string; stack: string; cause: { message: string } }
  assert.deepEqual([error.name, error.message, error.cause.message], ['RangeError', 'outer', 'inner'])
  assert.match(error.stack, /format_log\.test/)
  assert.equal((line['nested'] as { error: { message: string } }).error.message, 'deep')
})

test('a message is in a line once, for any error that it belongs to', () => {
  const error = new RangeError('cannot write foo: no\nand no again', { cause: new Error('refused') })
  const text = formatJson({ level: 'error', message: `Cannot reconcile: ${error.message}`, fields: { error }, timeMs })
  assert.equal(text.split('cannot write foo').length - 1, 1, text)
  assert.equal(text.split('refused').length - 1, 1, text)
  const line = JSON.parse(text) as {
    error: { name: string; message?: string; stack: string; cause: { message: string; stack: string } }
  }
  assert.deepEqual(
    [line.error.name, line.error.message, line.error.cause.message],
    ['RangeError', undefined, 'refused'],
  )
  for (const stack of [line.error.stack, line.error.cause.stack]) assert.match(stack, /^\s*at .*format_log\.test/)
  const same = json(error.message, { error })
  assert.equal((same['error'] as { message?: string }).message, undefined)
  const { message } = json('it failed, cannot', { error: new Error('not') })['error'] as { message: string }
  assert.equal(message, 'not', 'a text that only looks like it')
})

test('the errors of an AggregateError, and a compiler’s text before the message, are in the line', () => {
  const error = new AggregateError([new TypeError('first'), new Error('second')], 'both')
  const { errors } = json('failed', { error })['error'] as { errors: { name: string; message: string }[] }
  assert.deepEqual(errors.map(({ name, message }) => [name, message]), [['TypeError', 'first'], ['Error', 'second']])
  const wrong = Object.assign(new SyntaxError('bad'), {
    stack: '/w/a.ts:3\nlet c c\n\nSyntaxError: bad\n    at load (node:x:1:1)',
  })
  assert.equal(
    (json('failed', { error: wrong })['error'] as { stack: string }).stack,
    '/w/a.ts:3\nlet c c\n\n    at load (node:x:1:1)',
  )
  const bare = Object.assign(new Error(''), { stack: undefined })
  assert.deepEqual(json('failed', { error: bare })['error'], { name: 'Error', message: '' })
})

test('a field cannot replace time, level or message', () => {
  const line = json('real', { message: 'forged', level: 'error' })
  assert.deepEqual(
    [line['message'], line['level'], line['fields.message'], line['fields.level']],
    ['real', 'info', 'forged', 'error'],
  )
})

test('any fields are written, as one line', () => {
  const circle: Record<string, unknown> = {}
  circle['self'] = circle
  const same = { a: 1 }
  const fields = {
    circle,
    big: 12n,
    fn: () => 1,
    sym: Symbol('s'),
    at: new Date(0),
    twice: [same, same],
    text: 'a\nb',
    bad: {
      get x() {
        throw new Error('no')
      },
    },
  }
  for (const text of [formatJson({ level: 'info', message: 'm', fields, timeMs }), pretty('m', fields)]) {
    assert.equal(text.includes('\n'), false)
  }
  const line = json('m', fields)
  assert.deepEqual([line['big'], line['at'], line['twice'], line['circle']], ['12', '1970-01-01T00:00:00.000Z', [
    same,
    same,
  ], { self: '[Circular]' }])
  assert.deepEqual([line['message'], line['bad']], ['m', '[cannot be written: no]'])
})

test('a pretty line has the messages of an error and its causes that the message lacks', () => {
  const line = (message: string, fields: object): string =>
    formatPretty({ level: 'warn', message, fields: fields as LogFields, timeMs: 0 }).replace(/^\S+ {2}/, '')
  const inner = new Error('inner')
  assert.equal(line('west cannot be read', { error: new Error('refused') }), 'warn: west cannot be read  error=refused')
  assert.equal(
    line('Cannot reconcile: boom', { error: new Error('boom', { cause: inner }) }),
    'warn: Cannot reconcile: boom  error=inner',
  )
  assert.equal(
    line('Cannot go on', { error: new Error('it broke', { cause: inner }) }),
    'warn: Cannot go on  error="it broke, caused by: inner"',
  )
  assert.equal(line('Cannot go on: inner', { error: inner }), 'warn: Cannot go on: inner')
  assert.equal(line('Cannot go on: {error}', { error: inner }), 'warn: Cannot go on: Error: inner')
  // An error of a request contains its cause's text.
  for (
    const error of [
      new NetworkError('cut', { phase: 'body', cause: inner }),
      new ConfigError('cut', { cause: inner }),
      new ApiError('cut', {}, { code: 500, cause: inner }),
    ]
  ) assert.equal(line('x', { error }), 'warn: x  error=cut')
  const circle = new Error('circle')
  circle.cause = circle
  assert.equal(line('x', { error: circle }), 'warn: x  error=circle')
})

test('a pretty line fills in the fields in the message and adds the others', () => {
  assert.equal(
    pretty('replicated to {count} of {missing}', { count: 3, key: 'a/b', none: undefined }),
    'replicated to 3 of {missing}  key=a/b',
  )
  assert.equal(pretty('slow', {}, 'warn'), 'warn: slow')
  assert.equal(pretty('said', { text: 'two words', empty: '', list: [1] }), 'said  text="two words" empty="" list=[1]')
  assert.equal(pretty('failed: x', { error: new Error('x'), reconcileID: 4, controller: 'k', kind: 'K' }), 'failed: x')
  assert.equal(pretty('failed: x', { controller: 'k@west', kind: 'K' }), 'failed: x')
  assert.equal(pretty('failed: x', { controller: 'billing', kind: 'K' }), 'failed: x  controller=billing')
  assert.equal(pretty('{toString}'), '{toString}')
  assert.equal(pretty('{o}', { o: { a: 1 } }), '{"a":1}')
  assert.match(clockTime(timeMs), /^\d\d:\d\d:05$/)
})
