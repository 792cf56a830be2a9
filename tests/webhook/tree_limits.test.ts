import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAX_TREE_BYTES, treeBytes, TreeLimits } from '../../lib/webhook/server/tree_limits.ts'

const MIB = 2 ** 20
const never = new AbortController().signal

test('a body counts by its values, not by the signs in its texts', () => {
  for (
    const [text, bytes] of [
      ['', 0],
      ['"a"', 3],
      ['[1,2]', 5 + 100 + 32],
      ['{"a":1}', 7 + 100 + 64],
      ['"[{,:"', 6],
      [String.raw`"\"[",[]`, 8 + 32 + 100],
      [String.raw`"\\",[]`, 7 + 32 + 100],
      [String.raw`["\\\"[,"`, 9 + 100],
      ['["[[', 4 + 100],
    ] as const
  ) assert.equal(treeBytes(new TextEncoder().encode(text)), bytes, text)
  // 7 MiB of objects such as Pods are accepted, of empty lists are not.
  const pod =
    '{"name":"web","image":"registry.example/web:v1","env":[{"name":"A","value":"b"},{"name":"B","value":"c"}]},'
  const of = (text: string): number => treeBytes(new TextEncoder().encode(text.repeat(7 * MIB / text.length)))
  assert.deepEqual([pod, '"Lorem, ipsum: [a] {b}",', '[],'].map((text) => of(text) <= MAX_TREE_BYTES), [
    true,
    true,
    false,
  ])
})

test('large bodies take turns in order, as far as they fit together; small ones do not wait', async () => {
  const limits = new TreeLimits()
  const begun: string[] = []
  const enter = async (name: string, mib: number, signal = never): Promise<() => void> => {
    const end = await limits.enter(mib * MIB, signal)
    assert.ok(typeof end === 'function', name)
    begun.push(name)
    return end
  }
  const first = await enter('a', 50)
  const gone = new AbortController()
  const [leaving, second, third] = [enter('gone', 60, gone.signal), enter('b', 70), enter('c', 10)]
  const fourth = enter('d', 5)
  const small = await enter('small', 4)
  gone.abort(new Error('gone'))
  await assert.rejects(leaving, /gone/)
  assert.deepEqual(begun, ['a', 'small'], 'c would fit, and waits for b')
  first()
  const [endSecond] = await Promise.all([second, third])
  endSecond()
  await fourth
  assert.deepEqual(begun, ['a', 'small', 'b', 'c', 'd'])
  small()
})

test('what does not fit at all is refused, and so are small bodies that are too many', async () => {
  const limits = new TreeLimits()
  assert.equal(await limits.enter(MAX_TREE_BYTES + 1, never), 'too large')
  const ends = await Promise.all(Array.from({ length: 8 }, () => limits.enter(4 * MIB, never)))
  assert.equal(await limits.enter(1, never), 'too many')
  const [end] = ends as [() => void]
  end()
  assert.equal(typeof await limits.enter(4 * MIB, never), 'function')
})
