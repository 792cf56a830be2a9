import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileErrors, placeOfError as place } from '../../lib/observe/error_place.ts'
import { userFrames } from '../../lib/observe/stack.ts'

const placeOfError = (error: unknown): string | undefined => place(error, userFrames)

const OWN = new URL('../../lib/client/api.ts', import.meta.url)

test('only the user’s frames are returned, as places', () => {
  const stack = [
    'Error: no',
    `    at Api.get (${OWN.href}:1:2)`,
    `    at Api.get (${OWN.pathname}:1:2)`,
    '    at async render (file:///w/operator.ts:24:37)',
    '    at /w/other.ts:1:5',
    '    at zod (/w/node_modules/zod/index.js:1:1)',
    '    at process.processTicksAndRejections (node:internal/process/task_queues:105:5)',
    ...['bun', 'deno', 'native', 'internal'].map((scheme) => `    at invoke (${scheme}:main:1:1)`),
    '    at invoke (ext:deno_node/internal/timers.mjs:4:810)',
  ].join('\n')
  assert.deepEqual(userFrames(stack), ['/w/operator.ts:24:37', '/w/other.ts:1:5'])
  assert.deepEqual(userFrames(undefined), [])
})

test('a compiler’s error has a place too', () => {
  const bun = { message: 'Unexpected ;', position: { file: '/w/dep.ts', line: 1, column: 26 } }
  assert.equal(placeOfError(bun), '/w/dep.ts:1:26')
  const node = {
    message: 'Expression expected',
    stack: '/w/dep.ts:1\nexport const v = ;\n   ^\n\nSyntaxError: Expression expected\n    at x (node:internal/a:1:1)',
  }
  assert.equal(placeOfError(node), '/w/dep.ts:1')
  assert.equal(placeOfError({ stack: 'file:///w/dep.ts:7\nconst\n^\nSyntaxError: no' }), '/w/dep.ts:7')
  assert.equal(placeOfError({ message: 'x', position: null, stack: 'Error: x\n    at /w/a.ts:1:1' }), '/w/a.ts:1:1')
})

test('a value that is not an error has no place', () => {
  for (const thrown of [undefined, null, 'text', 7, {}, { stack: 'Error: x' }]) {
    assert.equal(placeOfError(thrown), undefined)
  }
})

test('several errors of a compiler are separated, other errors with errors are not', () => {
  const mistake = (line: number): object => ({
    message: 'Unexpected ]',
    position: { file: '/w/a.ts', line, column: 2 },
  })
  const both = new AggregateError([mistake(1), mistake(2)], '2 errors building "/w/a.ts"')
  assert.deepEqual(compileErrors(both).map(placeOfError), ['/w/a.ts:1:2', '/w/a.ts:2:2'])
  for (
    const error of [
      new AggregateError([new Error('a')]),
      new AggregateError([]),
      new AggregateError([mistake(1), null]),
      new Error('x'),
      null,
      'text',
    ]
  ) {
    assert.deepEqual(compileErrors(error), [error])
  }
})
