import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubeObject, ObjectMeta } from '../../lib/core/objects.ts'
import type { Delta } from '../../lib/cache/store.ts'
import {
  and,
  annotationsChanged,
  generationChanged,
  labelsChanged,
  matchesLabels,
  not,
  or,
  type Predicate,
  resourceVersionChanged,
} from '../../lib/controller/predicates.ts'
import { pod } from '../cache/scripted_server.ts'

const at = (metadata: Partial<ObjectMeta>): KubeObject => {
  const object = pod('a', '1')
  return { ...object, metadata: { ...object.metadata, ...metadata } }
}
const created = (object: KubeObject): Delta => ({ kind: 'added', object, initial: false })
const deleted = (object: KubeObject): Delta => ({ kind: 'deleted', object, stale: false })
const updated = (old: KubeObject, object: KubeObject): Delta => ({ kind: 'updated', object, old })
const passes = (predicate: Predicate, delta: Delta): boolean =>
  predicate(delta.object, delta.kind === 'updated' ? delta.old : undefined, delta)

const web = at({ labels: { app: 'web' } }), plain = at({}), noted = at({ annotations: { note: 'x' } })
const first = at({ generation: 1 }), second = at({ generation: 2 })
const newer = at({ resourceVersion: '2' }), versionless = at({ resourceVersion: '' })
const dying = at({ generation: 1, deletionTimestamp: '2026-01-01T00:00:00Z' })
const isWeb = matchesLabels('app=web')

const table: readonly [string, Predicate, readonly (readonly [string, Delta, boolean])[]][] = [
  ['generationChanged', generationChanged, [
    ['a new object', created(first), true],
    ['a deleted one', deleted(first), true],
    ['a change of the spec', updated(first, second), true],
    ['a change of anything else', updated(first, { ...first }), false],
    ['a kind without generations', updated(plain, newer), true],
    ['a deletion that begins without a new generation', updated(first, dying), true],
  ]],
  ['labelsChanged', labelsChanged, [
    ['a new object', created(web), true],
    ['a deleted one', deleted(web), true],
    ['a label that came', updated(plain, web), true],
    ['a label that went', updated(web, plain), true],
    ['another value', updated(web, at({ labels: { app: 'db' } })), true],
    ['another order', updated(at({ labels: { a: '1', b: '2' } }), at({ labels: { b: '2', a: '1' } })), false],
    ['no labels and none', updated(plain, at({ labels: {} })), false],
    ['an annotation', updated(plain, noted), false],
  ]],
  ['annotationsChanged', annotationsChanged, [
    ['a new object', created(noted), true],
    ['a deleted one', deleted(noted), true],
    ['an annotation that came', updated(plain, noted), true],
    ['an annotation that went', updated(noted, plain), true],
    ['the same ones', updated(noted, at({ annotations: { note: 'x' } })), false],
    ['a label', updated(plain, web), false],
  ]],
  ['resourceVersionChanged', resourceVersionChanged, [
    ['a new object', created(plain), true],
    ['a deleted one', deleted(plain), true],
    ['another version', updated(plain, newer), true],
    ['the same version', updated(plain, { ...plain }), false],
    ['objects without versions', updated(versionless, { ...versionless }), true],
  ]],
  ['matchesLabels', isWeb, [
    ['a new object that matches', created(web), true],
    ['a new one that does not', created(plain), false],
    ['a deleted one that matches', deleted(web), true],
    ['a deleted one that does not', deleted(plain), false],
    ['an update of one that matches', updated(web, { ...web }), true],
    ['an object that comes to match', updated(plain, web), true],
    ['an object that leaves the selector', updated(web, plain), true],
    ['an update of one that never did', updated(plain, newer), false],
  ]],
  ['matchesLabels of labels', matchesLabels({ app: 'web' }), [['a match', created(web), true], [
    'none',
    created(plain),
    false,
  ]]],
  ['matchesLabels of nothing', matchesLabels(''), [['everything', created(plain), true]]],
]

for (const [name, predicate, rows] of table) {
  test(`${name}: ${rows.map(([what, , passing]) => `${what} ${passing ? 'passes' : 'does not'}`).join('; ')}`, () => {
    for (const [what, delta, passing] of rows) assert.equal(passes(predicate, delta), passing, what)
  })
}

test('an invalid selector is refused at once', () => {
  assert.throws(() => matchesLabels('app in'), /Cannot read label selector "app in"/)
})

test('and, or and not combine predicates, in any nesting, and call no more of them than needed', () => {
  const asked: string[] = []
  const returns = (name: string, answer: boolean): Predicate => () => (asked.push(name), answer)
  for (const a of [true, false]) {
    for (const b of [true, false]) {
      const result = (
        predicate: Predicate,
      ): [boolean, string] => [passes(predicate, created(plain)), asked.splice(0).join('')]
      assert.deepEqual(result(and(returns('a', a), returns('b', b))), [a && b, a ? 'ab' : 'a'])
      assert.deepEqual(result(or(returns('a', a), returns('b', b))), [a || b, a ? 'a' : 'ab'])
      assert.deepEqual(result(not(and(returns('a', a), returns('b', b)))), [!(a && b), a ? 'ab' : 'a'])
      assert.deepEqual(result(and(not(returns('a', a)), or(returns('b', b), returns('a', a)))), [
        !a && (b || a),
        a ? 'a' : b ? 'ab' : 'aba',
      ])
    }
  }
  assert.deepEqual([passes(and(), created(plain)), passes(or(), created(plain))], [true, false])
})

test('a predicate gets the type of the change, also inside and, or and not', () => {
  const kinds: string[] = []
  const predicate: Predicate = (
    _now,
    _before,
    change,
  ) => (kinds.push(change.kind === 'added' ? `added ${change.initial}` : change.kind), true)
  for (const delta of [created(plain), deleted(plain), updated(plain, newer)]) passes(not(and(or(predicate))), delta)
  assert.deepEqual(kinds, ['added false', 'deleted', 'updated'])
})

test('a predicate may have two arguments, and may be for a single kind', () => {
  const two: Predicate = (now, before) => before === undefined || generationChanged(now, before)
  const ofFoo: Predicate<KubeObject & { readonly spec: { readonly size: number } }> = and(
    (now, before) => now.spec.size !== before?.spec.size,
    labelsChanged,
  )
  const foo = { ...web, spec: { size: 1 } }
  assert.deepEqual([
    passes(two, updated(first, second)),
    ofFoo(foo, undefined, { kind: 'added', object: foo, initial: true }),
  ], [true, true])
})
