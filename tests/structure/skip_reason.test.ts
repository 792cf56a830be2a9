import assert from 'node:assert/strict'
import { test } from 'node:test'
import { skipReason } from '../tools/skip_reason.js'

const CASES = `
const NOT_HERE = 'the embedded API has no such subresource'
export const CASES = [
  { name: 'a token is made', realOnly: NOT_HERE },
  { name: 'a pod is bound' },
  { name: 'a pod is evicted',
    skip: { embedded: 'no evictions' } },
]`

test('the reason of a case comes from its table', () => {
  const table = `for (const { name, realOnly } of CASES) {\n  test(name, { skip: realOnly ?? false }, async () => {})`
  assert.equal(
    skipReason({ name: 'a token is made', line: 2 }, table, [CASES]),
    'the embedded API has no such subresource',
  )
  assert.equal(
    skipReason({ name: 'suite > a token is made', line: 2 }, table, ['', CASES]),
    'the embedded API has no such subresource',
  )
  const nested =
    `const missing = env ? false : 'KUBEBUILDER_ASSETS is not set'\ntest(name, { skip: missing || (each.skip?.embedded ?? false) }, () => {})`
  assert.equal(skipReason({ name: 'real: a pod is evicted', line: 2 }, nested, [CASES]), 'no evictions')
  assert.equal(skipReason({ name: 'real: a pod is bound', line: 2 }, nested, [CASES]), 'KUBEBUILDER_ASSETS is not set')
})

test('a constant is replaced by its text or its initializer, and kept if unknown', () => {
  const source = `const old: string | false = 'too old'\ntest('a', { skip: old }, run)`
  assert.equal(skipReason({ name: 'a', line: 2 }, source, []), 'too old')
  assert.equal(skipReason({ name: 'c', line: 1 }, `test('c', { skip: elsewhere }, run)`, []), 'elsewhere')
  assert.equal(
    skipReason({ name: 'd', line: 1 }, `const slow = measure()\ntest('d', { skip: slow }, run)`, []),
    'const slow = measure()',
  )
  const deno = `const skip = 'Deno' in globalThis ? 'Deno buffers' : false\ntest('e', { skip }, run)`
  assert.equal(skipReason({ name: 'e', line: 2 }, deno, []), 'Deno buffers')
  const imported = `const slow = isFast() ? false : SLOW\ntest('f', { skip: slow }, run)`
  assert.equal(skipReason({ name: 'f', line: 2 }, imported, [`export const SLOW = "it's slow"`]), "it's slow")
  assert.equal(skipReason({ name: 'g', line: 1 }, `test('g', run)`, []), undefined)
  const itself = `const skip = skip()\ntest('h', { skip }, run)`
  assert.match(skipReason({ name: 'h', line: 2 }, itself, [])!, /^const skip = /)
})
