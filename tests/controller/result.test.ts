import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TerminalError } from '../../lib/core/errors.ts'
import { disposition, type Result, RetryError } from '../../lib/controller/result.ts'

const returned = (result: unknown) => disposition({ kind: 'returned', result: result as Result })

test('no result, and a requeueAfter of 0, are a success', () => {
  for (const result of [undefined, null, { requeueAfter: 0 }, { requeueAfter: '0s' }]) {
    assert.deepEqual(returned(result), { kind: 'forget', label: 'success' })
  }
})

test('requeueAfter runs the key later', () => {
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

test('requeue runs the key with back-off; a requeueAfter above 0 comes first, as in controller-runtime', () => {
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
  assert.match(
    String((returned({ requeue: true, priority: NaN }) as { error: unknown }).error),
    /priority is NaN, and must be a finite number/,
  )
})

test('any thrown value is retried, except a TerminalError', () => {
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

test('an invalid result is a failure with a clear error: a negative delay, a typo, an object', () => {
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

test('a priority is used for the delay, or for the retry of an error; an invalid one does not prevent the retry', () => {
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
      /Cannot use what the reconcile returned .* priority is .*, and must be a finite number/,
    )
  }
})

test('a permission that Deno denies is not retried: it needs a new process', () => {
  const error = new Error('x', { cause: Object.assign(new Error('y'), { name: 'NotCapable' }) })
  assert.deepEqual(disposition({ kind: 'threw', error }), { kind: 'drop', error, label: 'error' })
})
