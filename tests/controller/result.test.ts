import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TerminalError } from '../../lib/core/errors.ts'
import { disposition, type Result, RetryError } from '../../lib/controller/result.ts'

const returned = (result: unknown) => disposition({ kind: 'returned', result: result as Result })

test('nothing, and a wait of no time, are success', () => {
  for (const result of [undefined, null, { requeueAfter: 0 }, { requeueAfter: '0s' }]) {
    assert.deepEqual(returned(result), { kind: 'forget', label: 'success' })
  }
})

test('requeueAfter comes back later', () => {
  assert.deepEqual(returned({ requeueAfter: '1.5s' }), {
    kind: 'later',
    ms: 1500,
    priority: undefined,
    label: 'requeue_after',
  })
  assert.deepEqual(returned({ requeueAfter: 20 }), {
    kind: 'later',
    ms: 20,
    priority: undefined,
    label: 'requeue_after',
  })
})

test('requeue comes back with back-off; a wait of more than no time counts first, as in controller-runtime', () => {
  assert.deepEqual(returned({ requeue: true }), { kind: 'requeue', priority: undefined, label: 'requeue' })
  assert.deepEqual(returned({ requeue: true, requeueAfter: undefined, priority: 3 }), {
    kind: 'requeue',
    priority: 3,
    label: 'requeue',
  })
  for (const requeueAfter of [0, '0s']) {
    assert.deepEqual(returned({ requeue: true, requeueAfter }), {
      kind: 'requeue',
      priority: undefined,
      label: 'requeue',
    })
  }
  assert.deepEqual(returned({ requeue: true, requeueAfter: '2s' }), {
    kind: 'later',
    ms: 2000,
    priority: undefined,
    label: 'requeue_after',
  })
  assert.deepEqual(returned({ requeue: false, requeueAfter: 20 }), {
    kind: 'later',
    ms: 20,
    priority: undefined,
    label: 'requeue_after',
  })
  for (const result of [{ requeue: false }, { requeue: false, requeueAfter: 0 }]) {
    assert.deepEqual(returned(result), { kind: 'forget', label: 'success' })
  }
  assert.match(String((returned({ requeue: true, priority: NaN }) as { error: unknown }).error), /is no priority/)
})

test('what is thrown is retried, whatever it is; a TerminalError is not', () => {
  for (const error of [new Error('x'), undefined, null, 'text', 0]) {
    assert.deepEqual(disposition({ kind: 'threw', error }), {
      kind: 'retry',
      error,
      priority: undefined,
      label: 'error',
    })
  }
  const terminal = new TerminalError('x')
  assert.deepEqual(disposition({ kind: 'threw', error: terminal }), { kind: 'drop', error: terminal, label: 'error' })
})

test('a result that cannot be read is a failure that says so: a wait in the past, a typo, an object', () => {
  for (
    const result of [
      { requeueAfter: -5 },
      { requeueAfter: NaN },
      { requeueAfter: Infinity },
      { requeueAfter: '5 parsecs' },
      { requeue: 'true' },
      { requeue: 1 },
      { requeue: true, requeueAfter: -1 },
      {},
      true,
    ]
  ) {
    const decided = returned(result)
    assert.equal(decided.kind, 'retry')
    assert.match(String((decided as { error: unknown }).error), /Cannot use what the reconcile returned/)
  }
})

test('a priority goes with the wait, or with the error that is tried again; one that is none costs no retry', () => {
  assert.deepEqual(returned({ requeueAfter: '1s', priority: 5 }), {
    kind: 'later',
    ms: 1000,
    priority: 5,
    label: 'requeue_after',
  })
  assert.deepEqual(returned({ requeueAfter: 0, priority: 5 }), { kind: 'forget', label: 'success' })
  const error = new RetryError('x', { priority: -7, cause: 'y' })
  assert.deepEqual([disposition({ kind: 'threw', error }), error.cause], [{
    kind: 'retry',
    error,
    priority: -7,
    label: 'error',
  }, 'y'])
  const wrong = new RetryError('x', { priority: NaN })
  assert.deepEqual(disposition({ kind: 'threw', error: wrong }), {
    kind: 'retry',
    error: wrong,
    priority: undefined,
    label: 'error',
  })
  for (const priority of [NaN, Infinity, '1', null]) {
    assert.match(
      String((returned({ requeueAfter: 1, priority }) as { error: unknown }).error),
      /Cannot use what the reconcile returned .* is no priority/,
    )
  }
})

test('what Deno does not permit is not retried: the process would have to be started anew', () => {
  const error = new Error('x', { cause: Object.assign(new Error('y'), { name: 'NotCapable' }) })
  assert.deepEqual(disposition({ kind: 'threw', error }), { kind: 'drop', error, label: 'error' })
})
