import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { goJsonError } from '../../lib/apiserver/wire/go_json.ts'

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    // The answer of the reference.
    return false
  }
}

test('JSON has an error exactly if JSON.parse throws', () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(), fc.constantFrom('', ...'{}[]":,\\0-e.tn \u0001é'), (json, at, char) => {
      const position = at % (json.length + 1)
      const text = json.slice(0, position) + char + json.slice(position + (at % 3))
      assert.equal(goJsonError(json), undefined)
      assert.equal(goJsonError(text) === undefined, parses(text), text)
    }),
    { numRuns: 2000 },
  )
})

test('JSON may be nested 10,000 times', () => {
  assert.equal(goJsonError('['.repeat(10_000) + ']'.repeat(10_000)), undefined)
  assert.equal(goJsonError('{"a":'.repeat(10_001)), "invalid character '{' exceeded max depth")
})
