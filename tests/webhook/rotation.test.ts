import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { firstStep, nextStep, type RotationFacts, type SecretFacts } from '../../lib/webhook/certificates/rotation.ts'
import { type Content, type Delays, TIMINGS, World } from './rotation_model.ts'
import { tries } from '../tools/fuzz.ts'

const NOW = 1_000_000_000
const fresh = (lifeMs: number) => ({ notBeforeMs: NOW - 1, notAfterMs: NOW + lifeMs })
const CA = fresh(TIMINGS.caLifeMs)
const LEAF = { ...fresh(TIMINGS.leafLifeMs), issuer: 0, hasNames: true }
const STEADY: SecretFacts = { cas: [CA], hasCaKey: true, leaf: LEAF }
const INJECTED = { sinceMs: 0, checkedMs: 0 }

const step = (secret: Partial<SecretFacts> | undefined, over: Partial<RotationFacts> = {}) =>
  nextStep(
    { secret: secret && { ...STEADY, ...secret }, nowMs: NOW, injection: INJECTED, leafForMs: 0, ...over },
    TIMINGS,
  )
const kind = (...args: Parameters<typeof step>): string => step(...args).kind

test('without a Secret or a CA in it, everything is new', () => {
  assert.equal(kind(undefined), 'create')
  assert.equal(kind({ cas: [] }), 'replace')
  assert.equal(kind({ cas: [], leaf: undefined }), 'replace')
})

test('a CA is rotated when two thirds of its life are over, and after its leaf was renewed', () => {
  const nowMs = NOW + TIMINGS.caLifeMs * 2 / 3
  const leaf = { ...LEAF, notAfterMs: nowMs + TIMINGS.leafLifeMs }
  assert.equal(kind({ leaf }, { nowMs: nowMs - 1 }), 'wait')
  assert.equal(kind({ leaf }, { nowMs }), 'addCa')
  assert.equal(kind({}, { nowMs }), 'issueLeaf')
})

test('a CA that ends before a leaf of it would be due issues nothing', () => {
  const cas = [{ ...CA, notAfterMs: NOW + TIMINGS.leafLifeMs / 3 - 1 }]
  assert.equal(kind({ cas, leaf: undefined }), 'addCa')
  assert.equal(kind({ cas: [{ ...CA, notAfterMs: NOW - 1 }], leaf: { ...LEAF, notAfterMs: NOW - 1 } }), 'addCa')
  assert.equal(kind({ cas: [{ ...CA, notAfterMs: NOW + TIMINGS.leafLifeMs / 3 }], leaf: undefined }), 'issueLeaf')
})

test('a leaf that is missing, of an unknown CA, of other names or not valid yet is issued at once', () => {
  assert.equal(kind({ leaf: undefined }, { injection: undefined }), 'issueLeaf')
  assert.equal(kind({ leaf: { ...LEAF, issuer: -1 } }, { injection: undefined }), 'issueLeaf')
  assert.equal(kind({ leaf: { ...LEAF, hasNames: false } }, { injection: undefined }), 'issueLeaf')
  assert.equal(kind({ leaf: { ...LEAF, notBeforeMs: NOW + 1 } }, { injection: undefined }), 'issueLeaf')
})

test('a CA without its key, or not valid yet, is followed by another', () => {
  assert.equal(kind({ hasCaKey: false }), 'addCa')
  assert.equal(kind({ cas: [{ ...CA, notBeforeMs: NOW + 1 }] }), 'addCa')
  assert.equal(kind({ cas: [{ ...CA, notBeforeMs: NOW + 1 }, CA], leaf: { ...LEAF, issuer: 1 } }), 'addCa')
})

test('a rotation that was begun is finished before another begins', () => {
  const late = { ...CA, notAfterMs: NOW + TIMINGS.caLifeMs / 3 }
  const leaf = { ...LEAF, issuer: 1 }
  assert.equal(kind({ cas: [late], leaf: LEAF }), 'addCa')
  assert.equal(kind({ cas: [late, CA], leaf }, { injection: undefined }), 'inject')
  assert.equal(kind({ cas: [late, CA] }, { leafForMs: TIMINGS.pickUpMs }), 'dropCas')
})

test('until both CAs are in effect, neither expiry nor names issue a leaf of the new CA', () => {
  for (
    const leaf of [{ ...LEAF, notAfterMs: NOW - 1 }, { ...LEAF, hasNames: false }, { ...LEAF, notBeforeMs: NOW + 9 }]
  ) {
    assert.equal(kind({ cas: [CA, CA], leaf: { ...leaf, issuer: 1 } }, { injection: undefined }), 'inject')
    assert.equal(kind({ cas: [CA, CA], leaf: { ...leaf, issuer: 1 } }), 'wait')
  }
})

test('the configurations are checked again, and no wait is longer than until then', () => {
  assert.deepEqual(step({}), { kind: 'wait', ms: TIMINGS.checkMs })
  assert.deepEqual(step({}, { injection: { sinceMs: 49_000, checkedMs: 49_000 } }), { kind: 'wait', ms: 1000 })
  assert.equal(kind({}, { injection: { sinceMs: 90_000, checkedMs: TIMINGS.checkMs } }), 'inject')
  const soon = { ...LEAF, notAfterMs: NOW + TIMINGS.leafLifeMs / 3 + 7 }
  assert.deepEqual(step({ leaf: soon }), { kind: 'wait', ms: 7 })
})

test('a replica stores something only if it could serve nothing that the API server accepts', () => {
  const first = (secret: SecretFacts | undefined): string | undefined => firstStep(secret, NOW, TIMINGS)?.kind
  assert.equal(first(STEADY), undefined)
  assert.equal(first({ ...STEADY, leaf: { ...LEAF, notAfterMs: NOW + 1, notBeforeMs: NOW } }), undefined)
  for (const wrong of [{ notAfterMs: NOW }, { notBeforeMs: NOW + 1 }, { hasNames: false }, { issuer: -1 }]) {
    const leaf = { ...LEAF, ...wrong }
    assert.equal(first({ ...STEADY, leaf }), 'issueLeaf')
    assert.equal(first({ ...STEADY, leaf, hasCaKey: false }), 'replace')
  }
  for (const wrong of [{ notAfterMs: NOW }, { hasNames: false }]) {
    assert.equal(first({ ...STEADY, cas: [CA, CA], leaf: { ...LEAF, ...wrong, issuer: 1 } }), 'issueLeaf')
  }
  assert.equal(first({ ...STEADY, cas: [CA, CA], leaf: { ...LEAF, issuer: 1 } }), undefined)
  assert.equal(first({ ...STEADY, hasCaKey: false }), undefined)
  const future = { ...CA, notBeforeMs: NOW + 1 }
  assert.equal(first({ ...STEADY, cas: [future] }), 'replace', 'the CA of a valid leaf is not valid yet')
  assert.equal(first({ ...STEADY, cas: [CA, future], leaf: { ...LEAF, issuer: 1 } }), 'issueLeaf')
  assert.equal(first({ ...STEADY, cas: [CA, { ...CA, notAfterMs: NOW }], leaf: { ...LEAF, issuer: 1 } }), 'issueLeaf')
  assert.equal(first(undefined), 'create')
  assert.equal(first({ cas: [], hasCaKey: false, leaf: undefined }), 'replace')
  assert.equal(first({ cas: [CA], hasCaKey: false, leaf: undefined }), 'replace')
  assert.equal(first({ cas: [CA], hasCaKey: true, leaf: undefined }), 'issueLeaf')
})

/** The worst delays that the waits allow for. */
const SLOW: Delays = { trustMs: TIMINGS.inEffectMs - 1, replicasMs: [0, TIMINGS.pickUpMs / 2, TIMINGS.pickUpMs - 1] }
const LIVES_MS = 3 * TIMINGS.caLifeMs

/** Runs until a time, and then until the rotation that was begun is finished. */
function runUntil(world: World, endMs: number): void {
  for (let steps = 0; world.nowMs < endMs || world.secret?.cas.length !== 1; steps++) {
    assert.ok(steps < 20_000, `no end of ${world.steps.slice(-20).join()}`)
    world.step()
  }
}

/** Starts after the first installation, in the last third of the CA's life. */
function aged(delays: Delays): World {
  const world = new World(delays)
  runUntil(world, world.nowMs + TIMINGS.caLifeMs / 2)
  while (world.steps.at(-1) !== 'addCa') world.step()
  world.steps.length = 0
  return world
}

test('waits that are shorter than the delays are found by this model', () => {
  for (
    const delays of [{ ...SLOW, trustMs: TIMINGS.inEffectMs + 1000 }, {
      ...SLOW,
      replicasMs: [TIMINGS.pickUpMs + 20_000],
    }]
  ) {
    const world = new World(delays)
    runUntil(world, world.nowMs + LIVES_MS)
    assert.notDeepEqual(world.failures, [])
  }
})

test('after a crash before or after any two steps of a CA rotation, the next leader finishes it and no call fails', () => {
  const crashes = ['before', 'after'] as const
  let runs = 0
  for (let first = 0; first < 10; first++) {
    for (let second = first; second < 14; second++) {
      for (const [how, again] of crashes.flatMap((a) => crashes.map((b) => [a, b] as const))) {
        const world = aged(SLOW)
        for (let at = 0; at <= second; at++) world.step(at === first ? how : at === second ? again : undefined)
        runUntil(world, world.nowMs)
        for (let more = 0; more < 3; more++) world.step()
        assert.deepEqual(world.failures, [], `crash ${how} ${first}, ${again} ${second}`)
        assert.equal(world.configured, `${world.secret?.cas[0]?.id}`)
        runs++
      }
    }
  }
  assert.equal(runs, 95 * 4)
})

test('no call fails whatever leaders crash, pause and see the Secret deleted', () => {
  const event = fc.oneof(
    { weight: 6, arbitrary: fc.constant('step' as const) },
    { weight: 2, arbitrary: fc.constantFrom('before' as const, 'after' as const) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 20_000 }) },
    { weight: 1, arbitrary: fc.constantFrom('delete' as const, 'loseKey' as const, 'loseCas' as const) },
  )
  const delays = fc.record({
    trustMs: fc.nat(TIMINGS.inEffectMs - 1),
    replicasMs: fc.array(fc.nat(TIMINGS.pickUpMs - 1), { minLength: 1, maxLength: 3 }),
  })
  fc.assert(
    fc.property(delays, fc.array(event, { maxLength: 120 }), (delays, events) => {
      const world = aged(delays)
      for (const event of events) {
        if (event === 'step') world.step()
        else if (event === 'before' || event === 'after') world.step(event)
        else if (typeof event === 'number') world.pass(event)
        else {
          // The leader has read the Secret before, so that it can restore it.
          world.step()
          world.store(damaged(world.secret, event))
          world.step()
        }
      }
      runUntil(world, world.nowMs)
      assert.deepEqual(world.failures, [])
    }),
    { numRuns: tries(300), seed: 7 },
  )
})

function damaged(content: Content | undefined, how: 'delete' | 'loseKey' | 'loseCas'): Content | undefined {
  if (!content || how === 'delete') return undefined
  return how === 'loseKey' ? { ...content, key: -1 } : { ...content, cas: [], key: -1 }
}

test('jumps of the wall clock do not change the order: no replica serves a leaf of a CA that is not trusted', () => {
  const day = 24 * 60 * 60 * 1000
  const event = fc.oneof(
    { weight: 5, arbitrary: fc.constant('step' as const) },
    { weight: 1, arbitrary: fc.constantFrom('before' as const, 'after' as const) },
    { weight: 1, arbitrary: fc.integer({ min: -day, max: day }).filter((ms) => ms !== 0) },
  )
  fc.assert(
    fc.property(fc.array(event, { maxLength: 100 }), (events) => {
      const world = aged(SLOW)
      for (const event of events) {
        if (typeof event === 'number') world.aheadMs = event
        else world.step(event === 'step' ? undefined : event)
        assert.ok((world.secret?.cas.length ?? 0) < 9, 'CAs are not collected without end')
      }
      runUntil(world, world.nowMs)
      assert.deepEqual(world.failures, [])
    }),
    { numRuns: tries(300), seed: 7 },
  )
})

test('after an outage that outlives the CA, the next leader makes calls work again', () => {
  const world = new World(SLOW)
  runUntil(world, world.nowMs + 60_000)
  world.crash()
  world.pass(2 * TIMINGS.caLifeMs)
  assert.notDeepEqual(world.failures, [])
  runUntil(world, world.nowMs + TIMINGS.inEffectMs + TIMINGS.pickUpMs)
  world.failures.length = 0
  runUntil(world, world.nowMs + LIVES_MS)
  assert.deepEqual(world.failures, [])
})
