import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isReason } from '../../lib/core/errors.ts'
import { parseWatchLine } from '../../lib/cache/watch_line.ts'
import { pod } from './scripted_server.ts'

const line = (type: unknown, object: unknown): string => JSON.stringify({ type, object })

test('added and modified are the same to a store; deleted and bookmarks are themselves', () => {
  const object = pod('a', '5')
  assert.deepEqual(parseWatchLine(line('ADDED', object), 'pods'), { kind: 'applied', object })
  assert.deepEqual(parseWatchLine(line('MODIFIED', object), 'pods'), { kind: 'applied', object })
  assert.deepEqual(parseWatchLine(line('DELETED', object), 'pods'), { kind: 'deleted', object })
  assert.deepEqual(parseWatchLine(line('BOOKMARK', { metadata: { resourceVersion: '9' } }), 'pods'), {
    kind: 'bookmark',
    resourceVersion: '9',
  })
})

test('an ERROR event is thrown as the error that it carries, with its Retry-After', () => {
  const status = {
    kind: 'Status',
    status: 'Failure',
    code: 410,
    reason: 'Expired',
    message: 'too old',
    details: { retryAfterSeconds: 3 },
  }
  assert.throws(
    () => parseWatchLine(line('ERROR', status), 'pods'),
    (error) =>
      isReason(error, 'Expired') && error.retryAfterMs === 3000 && /Cannot watch pods: too old/.test(error.message),
  )
})

test('nothing malformed is taken for an event', () => {
  for (
    const bad of [
      '',
      '{',
      'null',
      '5',
      '[]',
      '"x"',
      '{}',
      line('ADDED', undefined),
      line('ADDED', null),
      line('ADDED', {}),
      line('ADDED', { metadata: {} }),
      line('BOOKMARK', { metadata: {} }),
      line('PATCHED', pod('a', '5')),
      line(undefined, pod('a', '5')),
      line('ERROR', undefined),
      line('ERROR', null),
    ]
  ) {
    assert.throws(() => parseWatchLine(bad, 'pods'), /Cannot watch pods/, bad)
  }
})

test('an error about a line does not quote it: it may be a Secret', () => {
  for (const bad of ['{"data":"c2VjcmV0"', '{"data":"c2VjcmV0" x', '"c2VjcmV0"']) {
    assert.throws(
      () => parseWatchLine(bad, 'secrets'),
      (error: Error) => error.cause === undefined && !error.message.includes('c2Vj'),
      bad,
    )
  }
})
