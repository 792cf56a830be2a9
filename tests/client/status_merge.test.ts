import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ListSchema, mergeStatus, ownPart, statusSchema } from '../../lib/client/status_merge.ts'
import { FOO } from './case_bench.ts'

const map = (...keys: string[]): ListSchema => ({
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': keys,
  items: { properties: { protocol: { default: 'TCP' } } },
})
/** A status with conditions, ports by two keys, and an atomic list; `zones` has such lists by name. */
const SCHEMA: ListSchema = {
  properties: {
    conditions: map('type'),
    ports: map('port', 'protocol'),
    list: {},
    zones: { additionalProperties: { properties: { ports: map('port', 'protocol'), conditions: map('type') } } },
  },
}
const on = (type: string, more: object = {}): object => ({ type, status: 'True', ...more })
const off = (type: string): object => ({ type, status: 'False' })
const conditions = (...items: object[]): object => ({ conditions: items })

type Row = readonly [what: string, base: unknown, wanted: unknown, current: unknown, merged: unknown]
const CONFLICT = (...paths: string[]): { readonly conflict: readonly string[] } => ({ conflict: paths })

const ROWS: readonly Row[] = [
  // What only we have changed.
  ['nothing', { a: 1 }, { a: 1 }, { a: 1 }, { a: 1 }],
  ['a value', { a: 1 }, { a: 2 }, { a: 1 }, { a: 2 }],
  ['a field left out', { a: 1, b: 1 }, { a: 1 }, { a: 1, b: 1 }, { a: 1 }],
  ['a list', { list: [1] }, { list: [2] }, { list: [1] }, { list: [2] }],
  [
    'the order of a map',
    conditions(on('A'), on('B')),
    conditions(on('B'), on('A')),
    conditions(on('A'), on('B')),
    conditions(on('B'), on('A')),
  ],
  [
    'a condition removed',
    conditions(on('A'), on('B')),
    conditions(on('A')),
    conditions(on('A'), on('B')),
    conditions(on('A')),
  ],
  // What others have changed, too.
  ['the same value', { a: 1 }, { a: 2 }, { a: 2 }, { a: 2 }],
  ['the same list', { list: [1] }, { list: [2] }, { list: [2] }, { list: [2] }],
  ['a value changed by both', { a: 1 }, { a: 2 }, { a: 3 }, { a: 2 }],
  ['a value added by both', {}, { a: 2 }, { a: 3 }, { a: 2 }],
  ['a value that they removed, and we change', { a: 1 }, { a: 2 }, {}, { a: 2 }],
  ['a list that they removed, and we change', { list: [1] }, { list: [2] }, {}, { list: [2] }],
  ['all removed by them', { a: 1 }, { a: 2 }, undefined, { a: 2 }],
  ['a value that we copied', { a: 1 }, { a: 1, b: 1 }, { a: 2 }, CONFLICT('status.a')],
  ['a value that we copied, and they removed', { a: 1 }, { a: 1, b: 1 }, {}, CONFLICT('status.a')],
  ['a field left out that they added', {}, { a: 1 }, { b: 1 }, CONFLICT('status.b')],
  ['a field left out that they changed', { b: 1 }, { a: 1 }, { b: 2 }, CONFLICT('status.b')],
  ['a field left out that they removed', { b: 1 }, { a: 1 }, {}, { a: 1 }],
  ['a list changed by both', { list: [1] }, { list: [2] }, { list: [3] }, CONFLICT('status.list')],
  ['several', { a: 1, m: { b: 1 } }, { a: 1, c: 1, m: {} }, { a: 2, m: { b: 2 } }, CONFLICT('status.a', 'status.m.b')],
  [
    'other fields of a map',
    { m: { a: 1, b: 1 } },
    { m: { a: 2, b: 1 } },
    { m: { a: 1, b: 2 } },
    CONFLICT('status.m.b'),
  ],
  ['an object that became a value', { a: {} }, { a: { b: 1 } }, { a: 1 }, { a: { b: 1 } }],
  ['a field named like one of Object', {}, { a: 1 }, JSON.parse('{"__proto__":1}'), CONFLICT('status.__proto__')],
  // Lists that are maps.
  ['a condition added by both', undefined, conditions(on('A')), conditions(on('B')), conditions(on('B'), on('A'))],
  ['a condition added by them, and none of ours', undefined, { a: 1 }, conditions(on('B')), {
    a: 1,
    ...conditions(on('B')),
  }],
  [
    'a condition changed by them',
    conditions(on('A'), on('B')),
    conditions(off('A'), on('B')),
    conditions(on('A'), off('B')),
    conditions(off('A'), off('B')),
  ],
  [
    'a condition changed by both',
    conditions(on('A')),
    conditions(off('A')),
    conditions(on('A', { reason: 'X' })),
    conditions(off('A')),
  ],
  [
    'a condition removed by us, and one added by them',
    conditions(on('A')),
    {},
    conditions(on('A'), on('B')),
    conditions(on('B')),
  ],
  ['all conditions removed by us, and one changed by them', conditions(on('A')), {}, conditions(off('A')), {}],
  [
    'a condition removed by them',
    conditions(on('A'), on('B')),
    conditions(off('A'), on('B')),
    conditions(on('A')),
    conditions(off('A')),
  ],
  [
    'a condition removed by them, and changed by us',
    conditions(on('A')),
    conditions(off('A')),
    {},
    conditions(off('A')),
  ],
  ['keys with defaults', { ports: [{ port: 1 }] }, { ports: [{ port: 1, n: 2 }] }, {
    ports: [{ port: 1, protocol: 'TCP' }, { port: 1, protocol: 'UDP' }],
  }, { ports: [{ port: 1, n: 2 }, { port: 1, protocol: 'UDP' }] }],
  [
    'maps at any depth',
    {},
    { zones: { a: { ports: [{ port: 1 }] } } },
    { zones: { a: { ports: [{ port: 2 }] } } },
    { zones: { a: { ports: [{ port: 2 }, { port: 1 }] } } },
  ],
  [
    'a list with two items of one key',
    {},
    conditions(on('A'), off('A')),
    conditions(on('B')),
    CONFLICT('status.conditions'),
  ],
  [
    'a list with an item without a key',
    {},
    conditions({ status: 'True' }),
    conditions(on('B')),
    CONFLICT('status.conditions'),
  ],
]

for (const [what, base, wanted, current, merged] of ROWS) {
  test(`merging ${what}`, () => {
    const before = JSON.stringify([base, wanted, current])
    const conflict: string[] = []
    const status = mergeStatus({ base, wanted, current }, SCHEMA, conflict)
    assert.deepEqual(conflict.length > 0 ? { conflict } : status, merged)
    assert.equal(JSON.stringify([base, wanted, current]), before)
  })
}

test('without a schema, conditions are a map, and no other list is', () => {
  const conflicts: string[] = []
  const both = [on('A')], [wanted, current] = [[on('B')], [on('C')]]
  const status = mergeStatus(
    { base: {}, wanted: { conditions: both, others: wanted }, current: { conditions: wanted, others: current } },
    undefined,
    conflicts,
  )
  assert.deepEqual([(status as { conditions: unknown }).conditions, conflicts], [[on('B'), on('A')], ['status.others']])
  const atomic: string[] = []
  mergeStatus({ base: {}, wanted: { conditions: wanted }, current: { conditions: current } }, {
    properties: { conditions: {} },
  }, atomic)
  assert.deepEqual(atomic, ['status.conditions'], 'the schema says that they are none')
})

test("a writer's own part of an answer has what the server has added, and no items of others", () => {
  const answer = { ...conditions(on('B'), on('A', { filled: 1 })), filled: { a: 1 }, zones: { a: conditions(on('B')) } }
  assert.deepEqual(ownPart(answer, conditions(off('A')), SCHEMA), {
    ...conditions(on('A', { filled: 1 })),
    filled: { a: 1 },
    zones: { a: conditions() },
  })
  assert.deepEqual(ownPart(answer, {}, undefined), { ...conditions(), filled: { a: 1 }, zones: { a: conditions() } })
})

test('the schema of a status is that of the version; a kind without a definition has none', () => {
  const schema = (name: string): object => ({
    name,
    schema: { openAPIV3Schema: { properties: { status: { description: name } } } },
  })
  const definition = { crd: { spec: { versions: ['v1', 'v2'].map(schema) } } } as never
  assert.deepEqual(statusSchema({ ...FOO, version: 'v2', definition }), { description: 'v2' })
  assert.equal(statusSchema(FOO), undefined)
})
