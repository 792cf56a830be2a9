/** Patterns of schemas that a backtracking engine would run for ever. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer } from 'kubeloop/apiserver'
import { degreeOf, isPlainPattern, isQuick } from '../../lib/apiserver/cel/patterns.ts'
import { must, send } from './requests.ts'
import { CRDS, definitionOf } from '../tools/definitions.ts'

const DEGREES: readonly (readonly [pattern: string, degree: number])[] = [
  ['^([0-9]+(ns|us|µs|ms|s|m|h)?)+$', Infinity],
  ['^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$', Infinity],
  ['(a|b)*', Infinity],
  ['^(a?){30}$', Infinity],
  [`^${'a?'.repeat(10)}${'a'.repeat(10)}$`, Infinity],
  [`^${'(?:a|aa)'.repeat(10)}$`, Infinity],
  ['^[a-z]+$', 1],
  ['^(ab)*$', 1],
  ['^[a-z0-9]([-a-z0-9]*[a-z0-9])?$', 1],
  ['^\\d{4}-\\d{2}$', 1],
  ['^(?:a|b)$', 1],
  ['^(a{2}){3}$', 1],
  ['^\\u{1F600}+\\p{L}[*+{2}]$', 1],
  ['[a-z]+', 2],
  ['^a|b*$', 2],
  ['^[(]a+\\)+$', 2],
  ['^(a{2,}b{0,9})?$', 2],
]

test('the degree of a pattern is that of its unbounded parts, and infinite for repetitions of repetitions', () => {
  for (const [pattern, degree] of DEGREES) {
    assert.ok(isPlainPattern(pattern), pattern)
    assert.equal(degreeOf(pattern), degree, pattern)
  }
  assert.deepEqual([isQuick(1, 1e6), isQuick(2, 1000), isQuick(2, 1001), isQuick(Infinity, 2)], [
    true,
    true,
    false,
    false,
  ])
})

/** Returns what creates of objects with these values are answered, by a definition with this pattern. */
async function answers(pattern: string, values: readonly string[]): Promise<number[]> {
  const api = new ApiServer()
  const properties = { text: { type: 'string', pattern } }
  await must(api, 'POST', CRDS, definitionOf({ properties }))
  const statuses: number[] = []
  for (const [at, text] of values.entries()) {
    const object = { apiVersion: 'example.com/v1', kind: 'Foo', metadata: { name: `a${at}` }, text }
    statuses.push((await send(api, 'POST', '/apis/example.com/v1/foos', object)).status)
  }
  return statuses
}

test('a value that JavaScript would try for hours is refused at once', async () => {
  assert.deepEqual(await answers('^([0-9]+(ns|us|µs|ms|s|m|h)?)+$', ['1h30m', '1'.repeat(60) + '!']), [201, 422])
  assert.deepEqual(await answers('x*y*x*y*!', ['x!', 'xy'.repeat(1000)]), [201, 422])
  // Of degree two: a long value goes to the other engine.
  assert.deepEqual(await answers('a*!', ['aa!', 'a'.repeat(100_000)]), [201, 422])
})
