import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { jsonPatch as apply } from '../../lib/apiserver/patch/json_patch.ts'
import type { Json } from '../../lib/apiserver/model/json.ts'
import { jsonEqual } from '../../lib/core/equal.ts'
import { jsonPatch, type JsonPatchOperation } from '../../lib/webhook/admission/json_patch.ts'
import { tries } from '../tools/fuzz.ts'

/** Applies the operations in parts of what the server accepts at once. */
function patched(before: unknown, operations: readonly JsonPatchOperation[]): unknown {
  return apply(before as Json, JSON.parse(JSON.stringify(operations)) as Json)
}

/** Asserts that the patch gives the result, and returns it. */
function patchOf(before: unknown, after: unknown): readonly JsonPatchOperation[] {
  const operations = jsonPatch(before, after)
  assert.deepEqual(patched(before, operations), JSON.parse(JSON.stringify(after)))
  return operations
}

test('equal values need no operation, whatever the order of their fields', () => {
  assert.deepEqual(jsonPatch({ a: 1, b: [1, { c: null }] }, { b: [1, { c: null }], a: 1, d: undefined }), [])
  assert.deepEqual(jsonPatch([], []), [])
})

test('items are matched by a unique key: a removal and an insertion at the front are one operation each', () => {
  for (const key of ['name', 'key', 'id', 'uid', 'type', 'mountPath', 'containerPort', 'ip', 'host', 'topologyKey']) {
    const item = (n: number, more = {}) => ({
      value: { n: 'x'.repeat(20) },
      [key]: key === 'containerPort' ? n : `k${n}`,
      ...more,
    })
    const before = { list: [1, 2, 3, 4].map((n) => item(n)) }
    assert.deepEqual(patchOf(before, { list: [item(0), ...before.list] }), [
      { op: 'add', path: '/list/0', value: item(0) },
    ])
    assert.deepEqual(patchOf(before, { list: [item(9), item(2), item(4, { on: true }), item(5)] }), [
      { op: 'remove', path: '/list/2' },
      { op: 'remove', path: '/list/0' },
      { op: 'add', path: '/list/0', value: item(9) },
      { op: 'add', path: '/list/2/on', value: true },
      { op: 'add', path: '/list/3', value: item(5) },
    ])
  }
})

test('a list whose items changed their order is replaced', () => {
  const [a, b, c] = ['a', 'b', 'c'].map((name) => ({ name, value: 'x'.repeat(50) }))
  assert.deepEqual(patchOf({ list: [a, b, c] }, { list: [c, a, b] }), [
    { op: 'replace', path: '/list', value: [c, a, b] },
  ])
})

test('items without a unique key are compared by index, between equal ends', () => {
  const item = (value: string) => ({ name: 'same', value: value.repeat(20) })
  const before = { list: [item('a'), item('b'), item('c')] }
  assert.deepEqual(patchOf(before, { list: [item('a'), item('x'), item('b'), item('c')] }), [
    { op: 'add', path: '/list/1', value: item('x') },
  ])
  assert.deepEqual(patchOf(before, { list: [item('a'), item('c')] }), [{ op: 'remove', path: '/list/1' }])
  assert.deepEqual(patchOf(before, { list: [item('a'), item('x'), item('c')] }), [
    { op: 'replace', path: '/list/1/value', value: 'x'.repeat(20) },
  ])
  assert.deepEqual(patchOf({ list: ['a', 'b', 'c'] }, { list: ['x', 'a', 'c'] }), [
    { op: 'replace', path: '/list/0', value: 'x' },
    { op: 'replace', path: '/list/1', value: 'a' },
  ])
  assert.deepEqual(patchOf({ list: ['a', 'b', 'c'] }, { list: ['b', 'c', 'd', 'e'] }), [
    { op: 'remove', path: '/list/0' },
    { op: 'add', path: '/list/2', value: 'd' },
    { op: 'add', path: '/list/3', value: 'e' },
  ])
})

test('there is at most one operation for 400 bytes of a value', () => {
  const data = (value: string, max: number) =>
    Object.fromEntries(Array.from({ length: 8000 }, (_, at) => [`key-${at}`, { value, more: 'x'.repeat(at % max) }]))
  for (const [max, expected] of [[500, 1], [1000, 8000]] as const) {
    const after = { data: data('b', max) }
    const operations = patchOf({ data: data('a', max) }, after)
    assert.equal(operations.length, expected)
    assert.ok(operations.length <= JSON.stringify(after).length / 400)
  }
})

test('what JSON.stringify leaves out or converts is taken as it does', () => {
  const date = new Date(0)
  assert.deepEqual(
    patchOf({ a: 1, at: date.toISOString(), list: [null, 1] }, {
      b: undefined,
      f: () => 1,
      at: date,
      list: [undefined, date],
    }),
    [
      { op: 'replace', path: '/list/1', value: date.toISOString() },
      { op: 'remove', path: '/a' },
    ],
  )
})

test('a value that JSON lacks is refused with its path', () => {
  for (const [value, text] of [[NaN, /NaN/], [Infinity, /Infinity/], [1n, /bigint/]] as const) {
    assert.throws(() => jsonPatch({ spec: { a: 1 } }, { spec: { a: value } }), text)
    assert.throws(
      () => jsonPatch({ spec: {} }, { spec: { b: { c: [value] } } }),
      /^TypeError: Cannot write \/spec\/b as JSON: JSON has no value for/,
    )
  }
  const own: Record<string, unknown> = { a: 1 }
  own['more'] = { own, again: own }
  assert.throws(() => jsonPatch({ spec: {} }, { spec: { own } }), /\/spec\/own as JSON: it contains itself/)
})

/** Returns an object with this many levels. */
function deep(levels: number, leaf: unknown): unknown {
  let value = leaf
  for (let level = 0; level < levels; level++) value = level % 2 ? { a: value, b: 1 } : [value]
  return value
}

test('10,000 levels overflow no stack', () => {
  assert.deepEqual(jsonPatch({ spec: deep(9000, 1) }, { spec: deep(9000, 1) }), [])
  const operations = jsonPatch({ spec: deep(9000, 1) }, { spec: deep(9000, 2) })
  assert.equal(operations.length, 1)
  assert.ok(operations[0]!.path.length < 1000)
  assert.equal(jsonPatch({ list: [deep(9000, 1)] }, { list: [deep(9000, 1), deep(9000, 2)] }).length, 1)
  assert.throws(() => jsonPatch({ spec: 1 }, { spec: deep(10_100, 1) }), /nested deeper than 10,000 levels/)
})

const json: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(fc.constantFrom(null, true, 0, -0.5, 2 ** 53, '', 'a', '~', '/'), fc.integer({ min: 0, max: 3 })),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(fc.constantFrom('name', 'a', 'b', 'a/b', '~0', '', '__proto__', 'constructor'), tie('value'), {
      maxKeys: 5,
    }),
    fc.array(fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd', 'e'), more: tie('value') }), { maxLength: 6 }),
    fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 1, 2), { maxLength: 6 }),
  ),
})).value

test('property: the patch of any two values turns one into the other', () => {
  fc.assert(
    fc.property(json, json, (before, after) => {
      const [a, b] = [{ v: before }, { v: after }]
      assert.ok(jsonEqual(patched(a, jsonPatch(a, b)), b))
    }),
    { numRuns: tries(2000) },
  )
})

test('property: so does the patch of an edited value, and an equal value needs none', () => {
  const edited = fc.tuple(json, json, fc.array(fc.nat(9), { maxLength: 6 })).map(([value, other, path]) => {
    const copy = structuredClone(value)
    let at: unknown = copy
    for (const step of path) {
      if (typeof at !== 'object' || at === null) break
      const keys = Object.keys(at)
      const key = keys[step % (keys.length || 1)]
      if (key === undefined) break
      const inner = (at as Record<string, unknown>)[key]
      if (typeof inner === 'object' && inner !== null) at = inner
      else if (Array.isArray(at)) {
        step % 2 ? at.splice(Number(key), 1) : at.splice(Number(key), 0, structuredClone(other))
      } else if (key !== '__proto__') (at as Record<string, unknown>)[key] = structuredClone(other)
    }
    return [value, copy] as const
  })
  fc.assert(
    fc.property(edited, ([before, after]) => {
      const [a, b] = [{ v: before }, { v: after }]
      const operations = jsonPatch(a, b)
      assert.ok(jsonEqual(patched(a, operations), b))
      assert.equal(operations.length === 0, jsonEqual(a, b))
    }),
    { numRuns: tries(2000) },
  )
})

interface Big {
  readonly spec: { readonly items: { name: string; n: number; extra?: string; env: unknown[] }[] }
}

/** An object of 6.4 MiB with a list of 2,000. */
function big(): Big {
  const env = (at: number) =>
    Array.from({ length: 22 }, (_, n) => ({ name: `VARIABLE_${n}`, value: `${at}-${'v'.repeat(122)}` }))
  return { spec: { items: Array.from({ length: 2000 }, (_, n) => ({ name: `item-${n}`, n, env: env(n) })) } }
}

test('6.4 MiB with a list of 2,000: few operations for few changes, and linear time', () => {
  const before = big()
  assert.ok(JSON.stringify(before).length > 6.4 * 2 ** 20)
  const edits: readonly (readonly [number, (big: Big) => void])[] = [
    [1, ({ spec }) => spec.items.unshift({ name: 'new', n: 0, env: [] })],
    [2, ({ spec }) => {
      spec.items.unshift({ name: 'new', n: 0, env: [] })
      spec.items.at(-1)!.n = -1
    }],
    [2, ({ spec }) => {
      spec.items[5]!.n = -1
      spec.items.splice(700, 1)
    }],
    [2000, ({ spec }) => spec.items.forEach((item) => (item.extra = 'x'))],
    [1, ({ spec }) => void spec.items.reverse()],
  ]
  for (const [count, edit] of edits) {
    const after = big()
    edit(after)
    const startMs = performance.now()
    const operations = jsonPatch(before, after)
    const tookMs = performance.now() - startMs
    assert.equal(operations.length, count)
    // 20 to 30 ms where nothing else runs. The bound separates linear from quadratic time.
    assert.ok(tookMs < 2000, `${tookMs} ms`)
  }
})
