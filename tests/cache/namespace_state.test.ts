/** Whether a Namespace belongs to a selection by labels. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import {
  type NamespaceEffect,
  type NamespaceInput,
  type NamespacePhase,
  namespaceStep,
} from '../../lib/cache/namespace_state.ts'

/** Returns the effects of inputs, from a Namespace that is not selected. */
function effectsOf(...inputs: readonly NamespaceInput[]): readonly NamespaceEffect[] {
  let phase: NamespacePhase = 'out'
  return inputs.flatMap((input) => {
    const [next, effect] = namespaceStep(phase, input)
    phase = next
    return effect ?? []
  })
}

test('a Namespace that loses the labels leaves, a deleted one ends when its deletions are reported', () => {
  assert.deepEqual(effectsOf('seen', 'missed', 'exists'), ['join', 'ask', 'leave'])
  assert.deepEqual(effectsOf('seen', 'missed', 'gone', 'reported'), ['join', 'ask', 'report', 'end'])
})

test('one that comes back before it has left or ended stays as it is', () => {
  assert.deepEqual(effectsOf('seen', 'missed', 'seen', 'exists', 'gone', 'reported'), ['join', 'ask'])
  assert.deepEqual(effectsOf('seen', 'missed', 'gone', 'seen', 'reported'), ['join', 'ask', 'report'])
})

test('one that has left may join again', () => {
  assert.deepEqual(effectsOf('seen', 'missed', 'exists', 'seen'), ['join', 'ask', 'leave', 'join'])
})

test('whatever happens, its work begins once and ends once in turn, and only after an answer', () => {
  const inputs = fc.array(fc.constantFrom<NamespaceInput>('seen', 'missed', 'exists', 'gone', 'reported'))
  fc.assert(fc.property(inputs, (drawn) => {
    let phase: NamespacePhase = 'out'
    let works = false
    for (const input of drawn) {
      const before: NamespacePhase = phase
      const [next, effect]: ReturnType<typeof namespaceStep> = namespaceStep(phase, input)
      phase = next
      if (effect === 'join') assert.equal(works, false)
      if (effect === 'leave') assert.deepEqual([works, before, input], [true, 'doubted', 'exists'])
      if (effect === 'end') assert.deepEqual([works, before, input], [true, 'deleted', 'reported'])
      if (effect === 'join') works = true
      if (effect === 'leave' || effect === 'end') works = false
      assert.equal(works, phase !== 'out')
      // A Namespace that the watch has is always worked on.
      if (input === 'seen') assert.equal(phase, 'in')
    }
  }))
})
