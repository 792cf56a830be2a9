/**
 * Random schemas and values: a CRD takes what zod takes, and what a server stores is what zod reads. A failure prints
 * its seed.
 */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import * as z from 'zod'
import { jsonEqual } from '../../lib/core/equal.ts'
import { structuralSchema } from '../../lib/schema/structural.ts'
import { isValid, stored, structuralFaults } from './json_schema.ts'
import { anyNode, cases, plainNode } from './random_schemas.ts'
import { isWhole, unionNode } from './random_unions.ts'

const place = { kind: 'Random', path: 'spec' }

test('a CRD is structural', () => {
  fc.assert(
    fc.property(anyNode, ({ schema }) => {
      assert.deepEqual(
        structuralFaults(structuralSchema(z.object({ v: schema }), place) as Record<string, unknown>),
        [],
      )
    }),
    { numRuns: 500 },
  )
})

test('a CRD takes what zod takes, and refuses what zod refuses', () => {
  let taken = 0
  let refused = 0
  fc.assert(
    fc.property(cases(anyNode), ([schema, value]) => {
      const crd = structuralSchema(schema, place) as Record<string, unknown>
      const parsed = schema.safeParse(value)
      // What zod strips of alternatives that were not chosen, a server would check; so it is given what zod read.
      if (parsed.success) {
        assert.ok(
          isValid(crd, stored(crd, parsed.data)),
          `${JSON.stringify(crd)} refuses ${JSON.stringify(parsed.data)}`,
        )
      }
      const kept = stored(crd, value)
      const valid = isValid(crd, kept)
      if (valid) assert.ok(schema.safeParse(kept).success, `${JSON.stringify(crd)} takes ${JSON.stringify(kept)}`)
      if (parsed.success) taken++
      else if (!valid) refused++
    }),
    { numRuns: 2000 },
  )
  assert.ok(taken > 200 && refused > 200, `${taken} taken and ${refused} refused: the values are too much alike`)
})

test('a CRD takes of a union what zod takes whole: a field of another alternative is refused, and no other', () => {
  const counts = { taken: 0, refused: 0 }
  fc.assert(
    fc.property(unionNode.chain(({ schema, values }) => fc.tuple(fc.constant(schema), values)), ([schema, value]) => {
      const crd = structuralSchema(schema, place) as Record<string, unknown>
      assert.deepEqual(structuralFaults(crd), [])
      const kept = stored(crd, value)
      const isTaken = isWhole(schema, kept)
      assert.equal(isValid(crd, kept), isTaken, `${JSON.stringify(crd)} and ${JSON.stringify(kept)}`)
      counts[isTaken ? 'taken' : 'refused']++
    }),
    { numRuns: 800 },
  )
  assert.ok(
    counts.taken > 100 && counts.refused > 100,
    `${counts.taken} taken and ${counts.refused} refused: the values are too much alike`,
  )
})

test('what a server stores is what zod reads: the same fields are pruned and the same defaults filled in', () => {
  let filled = 0
  fc.assert(
    fc.property(cases(plainNode), ([schema, value]) => {
      const parsed = schema.safeParse(value)
      if (!parsed.success) return
      const kept = stored(structuralSchema(schema, place) as Record<string, unknown>, value)
      assert.ok(jsonEqual(kept, parsed.data), `${JSON.stringify(kept)} is stored, ${JSON.stringify(parsed.data)} read`)
      if (!jsonEqual(kept, value)) filled++
    }),
    { numRuns: 2000 },
  )
  assert.ok(filled > 100, `only ${filled} values changed`)
})
