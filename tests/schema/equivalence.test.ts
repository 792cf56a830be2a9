/** Tests with random schemas that a CRD and zod accept and return the same. A failure prints its seed. */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import * as z from 'zod'
import { jsonEqual } from '../../lib/core/equal.ts'
import { structuralSchema } from '../../lib/schema/structural.ts'
import { isValid, stored, structuralFaults } from './json_schema.ts'
import { anyNode, cases, plainNode } from './random_schemas.ts'
import { isWhole, unionNode } from './random_unions.ts'
import { tries } from '../tools/fuzz.ts'

const place = { kind: 'Random', path: 'spec' }

test('a CRD is structural', () => {
  fc.assert(
    fc.property(anyNode, ({ schema }) => {
      assert.deepEqual(
        structuralFaults(structuralSchema(z.object({ v: schema }), place) as Record<string, unknown>),
        [],
      )
    }),
    { numRuns: tries(500) },
  )
})

test('a CRD accepts what zod accepts, and refuses what zod refuses', () => {
  let accepted = 0
  let refused = 0
  fc.assert(
    fc.property(cases(anyNode), ([schema, value]) => {
      const crd = structuralSchema(schema, place) as Record<string, unknown>
      const parsed = schema.safeParse(value)
      // A server checks fields of other alternatives, which zod strips: give it zod's result.
      if (parsed.success) {
        assert.ok(
          isValid(crd, stored(crd, parsed.data)),
          `${JSON.stringify(crd)} refuses ${JSON.stringify(parsed.data)}`,
        )
      }
      const kept = stored(crd, value)
      const valid = isValid(crd, kept)
      if (valid) assert.ok(schema.safeParse(kept).success, `${JSON.stringify(crd)} accepts ${JSON.stringify(kept)}`)
      if (parsed.success) accepted++
      else if (!valid) refused++
    }),
    { numRuns: tries(700) },
  )
  assert.ok(
    accepted > tries(180) && refused > tries(180),
    `${accepted} accepted and ${refused} refused: the values are too similar`,
  )
})

test('a CRD accepts of a union what zod accepts without stripping: only fields of other alternatives are refused', () => {
  const counts = { accepted: 0, refused: 0 }
  fc.assert(
    fc.property(unionNode.chain(({ schema, values }) => fc.tuple(fc.constant(schema), values)), ([schema, value]) => {
      const crd = structuralSchema(schema, place) as Record<string, unknown>
      assert.deepEqual(structuralFaults(crd), [])
      const kept = stored(crd, value)
      const isAccepted = isWhole(schema, kept)
      assert.equal(isValid(crd, kept), isAccepted, `${JSON.stringify(crd)} and ${JSON.stringify(kept)}`)
      counts[isAccepted ? 'accepted' : 'refused']++
    }),
    { numRuns: tries(300) },
  )
  assert.ok(
    counts.accepted > tries(30) && counts.refused > tries(30),
    `${counts.accepted} accepted and ${counts.refused} refused: the values are too similar`,
  )
})

test('a server stores what zod returns: the same fields pruned, the same defaults filled in', () => {
  let filled = 0
  fc.assert(
    fc.property(cases(plainNode), ([schema, value]) => {
      const parsed = schema.safeParse(value)
      if (!parsed.success) return
      const kept = stored(structuralSchema(schema, place) as Record<string, unknown>, value)
      assert.ok(jsonEqual(kept, parsed.data), `${JSON.stringify(kept)} is stored, ${JSON.stringify(parsed.data)} read`)
      if (!jsonEqual(kept, value)) filled++
    }),
    { numRuns: tries(700) },
  )
  assert.ok(filled > tries(25), `only ${filled} values changed`)
})
