import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findingsIn, isAllowed } from '../tools/reference.ts'

const OUTPUT = `error[private-type-ref]: public type 'A' references private type 'B'
  --> /top/lib/core/a.ts:7:1
   |
 7 | export type A = B
   | ^

error[missing-jsdoc]: exported symbol is missing JSDoc documentation
   --> /top/lib/core/a.ts:12:3
    |

error: Found 2 documentation lint errors.
`

test('the findings of deno doc are read from its output, with paths from the top', () => {
  const [first, second, ...others] = findingsIn(OUTPUT, '/top')
  assert.deepEqual(others, [])
  assert.deepEqual(first, {
    code: 'private-type-ref',
    message: "public type 'A' references private type 'B'",
    path: 'lib/core/a.ts',
    line: 7,
    column: 1,
  })
  assert.equal(second?.code, 'missing-jsdoc')
  assert.deepEqual(findingsIn('Checked 7 files\n', '/top'), [])
})

test('an export needs a comment, a member does not, nor do the types generated from those of Kubernetes', () => {
  const missing = { code: 'missing-jsdoc', message: '', path: 'lib/core/a.ts', line: 1, column: 1 }
  assert.equal(isAllowed(missing, 'export interface A {'), false)
  assert.equal(isAllowed(missing, '  readonly a: string'), true)
  assert.equal(isAllowed({ ...missing, path: 'lib/kinds/models.ts' }, 'export interface A {'), true)
  assert.equal(isAllowed({ ...missing, path: 'lib/kinds/mod.ts' }, 'export const A = 1'), false)
  assert.equal(isAllowed({ ...missing, code: 'missing-return-type' }, '  a() {'), false)
})

test("a private type is a finding, unless it is zod's or has the name of a value beside it", () => {
  const of = (name: string) => ({
    code: 'private-type-ref',
    message: `public type 'A' references private type '${name}'`,
    path: 'lib/core/a.ts',
    line: 1,
    column: 1,
  })
  assert.deepEqual(['B', 'A', '$ZodType', 'Zod'].map((name) => isAllowed(of(name), 'export type A = B')), [
    false,
    true,
    true,
    false,
  ])
})
