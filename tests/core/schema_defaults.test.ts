import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DefaultsSchema, withDefaults } from '../../lib/core/schema_defaults.ts'

test('defaults are filled in for missing fields and items that are null, and nothing is changed in place', () => {
  const rows: readonly (readonly [DefaultsSchema, unknown, unknown])[] = [
    [{ properties: { a: { default: 1 } } }, {}, { a: 1 }],
    [{ properties: { a: { default: 1 } } }, { a: null, b: 2 }, { a: 1, b: 2 }],
    [{ properties: { a: { default: 1, nullable: true } } }, { a: null }, { a: null }],
    [{ properties: { a: { default: {}, properties: { b: { default: 2 } } } } }, {}, { a: { b: 2 } }],
    [{ properties: { a: { properties: { b: { default: 2 } } } } }, {}, {}],
    [{ properties: { a: {} }, additionalProperties: { default: 1 } }, { a: null, b: null }, { a: null, b: 1 }],
    // An undefined item is not missing.
    [{ items: { default: 1 } }, [undefined, null, 2], [undefined, 1, 2]],
  ]
  for (const [schema, value, expected] of rows) {
    const before = structuredClone(value)
    const filled = withDefaults(schema, value)
    assert.deepEqual([filled, value], [expected, before])
    assert.equal(withDefaults(schema, filled), filled)
  }
})
