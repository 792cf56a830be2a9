import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Condition, condition, isTrue, remove, setCondition } from '../../lib/core/conditions.ts'

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
const LATER = NOW + 60_000
const ready = { type: 'Ready', status: 'True', reason: 'AllGood', message: 'all is well' } as const

test('a new condition is appended, with the time in whole seconds', () => {
  const first = setCondition(undefined, ready, NOW)
  assert.deepEqual(first, [{ ...ready, lastTransitionTime: '2026-01-02T03:04:05Z' }])
  const second = setCondition(first, { ...ready, type: 'example.dev/Synced', observedGeneration: 3 }, LATER)
  assert.deepEqual(second.map(({ type }) => type), ['Ready', 'example.dev/Synced'])
  assert.deepEqual(second[1], {
    ...ready,
    type: 'example.dev/Synced',
    observedGeneration: 3,
    lastTransitionTime: '2026-01-02T03:05:05Z',
  })
})

test('an unchanged condition returns the same list', () => {
  const list = setCondition(
    setCondition([], { ...ready, observedGeneration: 1 }, NOW),
    { ...ready, type: 'Other' },
    NOW,
  )
  assert.equal(setCondition(list, { ...ready, observedGeneration: 1 }, LATER), list)
})

test('the time changes only with the status', () => {
  const list = setCondition([], { ...ready, observedGeneration: 1 }, NOW)
  for (
    const change of [{ reason: 'Other' }, { message: 'otherwise' }, { observedGeneration: 2 }, {
      observedGeneration: undefined,
    }]
  ) {
    const [changed] = setCondition(list, { ...ready, observedGeneration: 1, ...change }, LATER)
    assert.deepEqual(changed, JSON.parse(JSON.stringify({ ...list[0], ...change })))
  }
  const [failed] = setCondition(list, { ...ready, status: 'False', observedGeneration: 1 }, LATER)
  assert.deepEqual([failed?.status, failed?.lastTransitionTime], ['False', '2026-01-02T03:05:05Z'])
})

test('the order and the other conditions stay, and the arguments are not modified', () => {
  const list: readonly Condition[] = Object.freeze(
    ['A', 'B', 'C'].map((type) => Object.freeze({ ...ready, type, lastTransitionTime: '2020-01-01T00:00:00Z' })),
  )
  const next = setCondition(list, { ...ready, type: 'B', status: 'Unknown' }, NOW)
  assert.deepEqual(next.map(({ type, status }) => `${type} ${status}`), ['A True', 'B Unknown', 'C True'])
  assert.ok(next[0] === list[0] && next[2] === list[2])
})

test('an invalid type or reason throws, and a long message is cut between characters', () => {
  for (const type of ['', 'not ready', 'a/b/c', 'Example.dev/Ready', '-a', 'a'.repeat(317)]) {
    assert.throws(
      () => setCondition([], { ...ready, type }, NOW),
      /^TypeError: Cannot set the condition ".*": a type is a name/,
    )
  }
  for (const reason of ['', 'all good', '1st', 'so:', 'all-good']) {
    assert.throws(() => setCondition([], { ...ready, reason }, NOW), /a reason is a word such as "ScaledUp"/)
  }
  const message = setCondition([], { ...ready, message: '😀'.repeat(40_000) }, NOW)[0]!.message
  assert.deepEqual([[...message].length, message.slice(-3)], [32_768, '😀…'])
  assert.equal(setCondition([], { ...ready, message: '😀'.repeat(32_768) }, NOW)[0]!.message, '😀'.repeat(32_768))
})

test('a condition is removed by its type; without one the list is the same', () => {
  const list = ['A', 'B', 'C'].map((type) => ({ type, status: 'True' }))
  assert.deepEqual(remove(list, 'B').map(({ type }) => type), ['A', 'C'])
  assert.equal(remove(list, 'D'), list)
  assert.equal(list.length, 3)
  assert.deepEqual(remove(undefined, 'A'), [])
})

test('a condition is found by type, of built-in kinds too', () => {
  const deployment = { status: { conditions: [{ type: 'Available', status: 'True' }] } }
  assert.equal(condition(deployment, 'Available'), deployment.status.conditions[0])
  assert.equal(condition(deployment, 'Progressing'), undefined)
  assert.equal(condition({}, 'Ready'), undefined)
  assert.deepEqual(
    [isTrue(deployment, 'Available'), isTrue(deployment, 'Progressing'), isTrue({ status: {} }, 'Ready')],
    [true, false, false],
  )
})

test('a condition of an earlier generation is not true', () => {
  const object = (observedGeneration: number | undefined, generation?: number) => ({
    metadata: { generation },
    status: { conditions: [{ ...ready, observedGeneration }] },
  })
  assert.equal(isTrue(object(2, 2), 'Ready'), true)
  assert.equal(isTrue(object(1, 2), 'Ready'), false)
  assert.equal(isTrue(object(undefined, 2), 'Ready'), true)
  assert.equal(isTrue(object(1), 'Ready'), true)
  assert.equal(isTrue({ status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } }, 'Ready'), false)
})
