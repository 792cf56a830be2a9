import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Journal } from '../../lib/controller/journal.ts'

test('causes belong to the run that they led to; what is noted during a run, to the next', () => {
  const journal = new Journal()
  for (const cause of ['added', 'changed', 'added']) journal.note('a', cause)
  journal.begin('a')
  journal.note('a', 'later')
  assert.deepEqual(journal.end('a'), { causes: ['added', 'changed'], count: 1 })
  journal.begin('a')
  assert.deepEqual(journal.end('a'), { causes: ['later'], count: 2 })
  journal.begin('a')
  assert.deepEqual(journal.end('a'), { causes: [], count: 3 })
})

test('it remembers a bounded number of keys, those that ran last, and of causes', () => {
  const journal = new Journal(2)
  const run = (key: string): number => (journal.begin(key), journal.end(key).count)
  assert.deepEqual(['a', 'b', 'a', 'c', 'a', 'b'].map(run), [1, 1, 2, 1, 3, 1])
  for (let i = 0; i < 100; i++) journal.note('a', `${i}`)
  journal.begin('a')
  assert.equal(journal.end('a').causes.length, 8)
})
