import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TerminalError } from '../../lib/core/errors.ts'
import { type Disposition, disposition, type Result, RetryError } from '../../lib/controller/result.ts'

const success: Disposition = { kind: 'forget', label: 'success' }
const requeue = (priority?: number): Disposition => ({ kind: 'requeue', priority, label: 'requeue' })
const later = (ms: number, priority?: number): Disposition => ({ kind: 'later', ms, priority, label: 'requeue_after' })

const RESULTS: readonly (readonly [result: Result | null, decided: Disposition])[] = [
  [undefined, success],
  [null, success],
  [{ requeueAfter: 0 }, success],
  [{ requeueAfter: '0s' }, success],
  [{ requeueAfter: 0, priority: 5 }, success],
  [{ requeue: false }, success],
  [{ requeue: false, requeueAfter: 0 }, success],
  [{ requeueAfter: '1.5s' }, later(1500)],
  [{ requeueAfter: 20 }, later(20)],
  [{ requeueAfter: '1s', priority: 5 }, later(1000, 5)],
  [{ requeue: false, requeueAfter: 20 }, later(20)],
  [{ requeue: true, requeueAfter: '2s' }, later(2000)],
  [{ requeue: true }, requeue()],
  [{ requeue: true, requeueAfter: undefined, priority: 3 }, requeue(3)],
  [{ requeue: true, requeueAfter: 0 }, requeue()],
  [{ requeue: true, requeueAfter: '0s' }, requeue()],
]
for (const [result, decided] of RESULTS) {
  test(`the result ${JSON.stringify(result)} leads to ${decided.label}`, () => {
    assert.deepEqual(disposition({ kind: 'returned', result: result as Result }), decided)
  })
}

const INVALID: readonly unknown[] = [
  { requeueAfter: -5 },
  { requeueAfter: NaN },
  { requeueAfter: Infinity },
  { requeueAfter: '5 parsecs' },
  { requeue: 'true' },
  { requeue: 1 },
  { requeue: true, requeueAfter: -1 },
  {},
  true,
  { requeAfter: '5m' },
  { requeueAfter: '5m', prority: 1 },
  'done',
  ...[NaN, Infinity, '1', null].flatMap((priority) => [{ requeueAfter: 1, priority }, { requeue: true, priority }]),
]
test('an invalid result is a failure with a clear error', () => {
  for (const result of INVALID) {
    const decided = disposition({ kind: 'returned', result: result as Result }) as { kind: string; error: unknown }
    assert.equal(decided.kind, 'retry')
    const why = typeof result === 'object' && 'priority' in result! ? 'priority is .*, and must be a finite number' : ''
    assert.match(String(decided.error), new RegExp(`Cannot use what the reconcile returned .*${why}`))
  }
  const { error } = disposition({ kind: 'returned', result: { requeAfter: '5m' } as never }) as { error: Error }
  assert.match(error.message, /: there is no option "requeAfter"; did you mean "requeueAfter"\?$/)
})

test('any thrown value is retried, with the priority of a RetryError if that is valid', () => {
  const [low, wrong] = [-7, NaN].map((priority) => new RetryError('x', { priority, cause: 'y' }))
  for (const error of [new Error('x'), undefined, null, 'text', 0, low, wrong]) {
    const priority = error === low ? -7 : undefined
    assert.deepEqual(disposition({ kind: 'threw', error }), { kind: 'retry', error, priority, label: 'error' })
  }
  assert.equal(low!.cause, 'y')
})

test('a TerminalError is not retried, nor is a permission that Deno denies: it needs a new process', () => {
  const denied = new Error('x', { cause: Object.assign(new Error('y'), { name: 'NotCapable' }) })
  for (const error of [new TerminalError('x'), denied]) {
    assert.deepEqual(disposition({ kind: 'threw', error }), { kind: 'drop', error, label: 'error' })
  }
})
