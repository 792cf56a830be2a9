import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RunHistory } from '../../lib/controller/run_history.ts'

const shown = (max?: number): RunHistory => new RunHistory(true, () => false, max)
const at = (ms: number) => ({ monotonic: () => ms })

test('causes belong to the run they cause; a cause noted during a run belongs to the next', () => {
  const history = shown()
  for (const cause of ['added', 'changed', 'added']) history.note('a', cause)
  history.begin('a', at(0))
  history.note('a', 'later')
  assert.deepEqual(history.end('a'), { causes: ['added', 'changed'], count: 1 })
  history.begin('a', at(0))
  assert.deepEqual(history.end('a'), { causes: ['later'], count: 2 })
  history.begin('a', at(0))
  assert.deepEqual(history.end('a'), { causes: [], count: 3 })
})

test('the numbers of keys and causes are limited, and the keys that ran last are kept', () => {
  const history = shown(2)
  const run = (key: string): number => (history.begin(key, at(0)), history.end(key).count)
  assert.deepEqual(['a', 'b', 'a', 'c', 'a', 'b'].map(run), [1, 1, 2, 1, 3, 1])
  for (let i = 0; i < 100; i++) history.note('a', `${i}`)
  history.begin('a', at(0))
  assert.equal(history.end('a').causes.length, 8)
})

test('a cause with a time is not used by a run before it, nor after it was removed or an earlier time came', () => {
  const history = shown()
  const run = (nowMs: number): readonly string[] => (history.begin('a', at(nowMs)), history.end('a').causes)
  history.note('a', 'requeued after 10 s', { dueMs: 10_000 })
  history.note('a', 'changed')
  assert.deepEqual(run(9_999), ['changed'])
  assert.deepEqual(run(10_000), ['requeued after 10 s'])
  assert.deepEqual(run(20_000), [])
  history.note('a', 'retry 1', { dueMs: 30_000, isRetry: true })
  history.note('a', 'requeued after 5 s', { dueMs: 25_000 })
  history.forgetRetries('a')
  assert.deepEqual(run(40_000), ['requeued after 5 s'])
  history.note('a', 'requeued after 1 s', { dueMs: 41_000 })
  history.note('a', 'requeued after 9 s', { dueMs: 49_000 })
  assert.deepEqual(run(41_000), ['requeued after 1 s'])
  assert.deepEqual(run(50_000), [])
  history.note('a', 'changed', { dueMs: 60_000 })
  history.note('a', 'changed')
  assert.deepEqual([run(50_000), run(60_000)], [['changed'], ['changed']])
})

test('if runs are not shown, only keys that run often have causes', () => {
  const history = new RunHistory(false, (key) => key === 'often')
  assert.deepEqual(['often', 'rare'].map((key) => history.wants(key)), [true, false])
  history.note('often', 'changed')
  for (const key of ['often', 'rare']) history.begin(key, at(0))
  assert.deepEqual(['often', 'often', 'rare'].map((key) => history.end(key).causes), [['changed'], [], []])
})
