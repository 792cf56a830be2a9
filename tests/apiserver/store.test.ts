/** Tests the store: key order through edits, counts, shared parts, and the bounds of the history. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Change, Store } from '../../lib/apiserver/storage/store.ts'
import type { ApiObject, JsonObject } from '../../lib/apiserver/model/json.ts'
import { forgetJson, jsonOf } from '../../lib/apiserver/model/json.ts'
import { withTerm } from '../../lib/apiserver/storage/terms.ts'

const STORAGE = 'things'
const MINUTE_MS = 60_000

function objectOf(key: string, spec: JsonObject = {}): ApiObject {
  const [namespace, name] = key.split('/') as [string, string]
  return { apiVersion: 'v1', kind: 'Thing', metadata: { namespace, name }, spec }
}

function filled() {
  const clock = { nowMs: 1000 }
  const store = new Store(() => clock.nowMs)
  const put = (key: string, spec?: JsonObject): ApiObject => store.put(STORAGE, key, objectOf(key, spec))
  const names = (prefix = ''): string[] =>
    store.list(STORAGE, prefix).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
  return { clock, store, put, names }
}

test('objects are listed in key order, by namespace, however they were added and removed', () => {
  const { store, put, names } = filled()
  const keys = new Set<string>()
  const states: (readonly [number, readonly ApiObject[]])[] = []
  let seed = 7
  const random = (max: number): number => (seed = (seed * 48_271) % 2_147_483_647) % max
  for (let step = 0; step < 3000; step++) {
    const key = `${['a', 'a-b', 'ab', 'b'][random(4)]}/n${random(300)}`
    if (keys.has(key) && random(2)) {
      store.remove(STORAGE, key)
      keys.delete(key)
    } else {
      put(key)
      keys.add(key)
    }
    // Sometimes after few changes, sometimes after many.
    if (random(step < 1500 ? 5 : 200) > 0) continue
    const sorted = [...keys].sort()
    assert.deepEqual(names(), sorted)
    states.push([store.revision, store.list(STORAGE, 'a/')])
    const [revision, objects] = states[random(states.length)]!
    assert.deepEqual(store.listAt(STORAGE, 'a/', revision), objects)
    for (const namespace of ['a', 'a-b', 'ab', 'b', 'none']) {
      const own = sorted.filter((each) => each.startsWith(`${namespace}/`))
      assert.deepEqual(names(`${namespace}/`), own)
      assert.equal(store.countIn(STORAGE, namespace), own.length)
    }
  }
  const other = new Store(() => 0)
  other.restore(store.save())
  assert.deepEqual(other.list(STORAGE, '').length, keys.size)
  assert.equal(other.countIn(STORAGE, 'a'), [...keys].filter((each) => each.startsWith('a/')).length)
})

test('an object shares the parts that did not change with the one before, and only those', () => {
  const { store, put } = filled()
  const before = put('a/x', { same: { deep: [1, { two: 2 }] }, other: { one: 1, two: { three: 3 } }, gone: 1 })
  const fields = JSON.parse('{"same":{"deep":[1,{"two":2}]},"other":{"one":9,"two":{"three":3}},"__proto__":{"x":1}}')
  const after = put('a/x', fields as JsonObject)
  const [old, now] = [before['spec'], after['spec']] as [JsonObject, JsonObject]
  assert.equal(now['same'], old['same'])
  assert.notEqual(now['other'], old['other'])
  assert.equal((now['other'] as JsonObject)['two'], (old['other'] as JsonObject)['two'])
  assert.equal(JSON.stringify(now), JSON.stringify(fields))
  assert.deepEqual(old['other'], { one: 1, two: { three: 3 } }, 'the object before is unchanged')
  assert.equal(store.get(STORAGE, 'a/x'), after)
  const again = put('a/x', JSON.parse('{"__proto__":{"x":1}}') as JsonObject)
  assert.equal(JSON.stringify(again['spec']), '{"__proto__":{"x":1}}')
})

test('changes are dropped after five minutes, except for the last hundred of each storage', () => {
  const { clock, store, put } = filled()
  const since = (revision: number): readonly Change[] => store.since(STORAGE, revision)
  const first = store.revision
  for (let i = 0; i < 500; i++) put(`a/x${i % 10}`, { i })
  const last = store.revision
  assert.equal(since(first).length, 500)
  clock.nowMs += 4 * MINUTE_MS
  put('a/y')
  assert.equal(since(first).length, 501)
  clock.nowMs += 2 * MINUTE_MS
  // A write of any kind drops the old changes of all.
  store.put('others', 'a/z', objectOf('a/z'))
  assert.throws(() => since(first), /too old resource version/)
  assert.throws(() => store.listAt(STORAGE, '', first + 1), /too old/)
  assert.equal(since(last - 99).length, 100)
  clock.nowMs += 60 * MINUTE_MS
  store.put('others', 'a/z', objectOf('a/z'))
  assert.equal(since(last - 99).length, 100, 'a watch of a quiet kind can go on')
})

test('at most 8,192 changes of a storage are kept, even if they are new', () => {
  const { store, put } = filled()
  const first = store.revision
  for (let i = 0; i < 8192; i++) put('a/x', { i })
  assert.equal(store.since(STORAGE, first).length, 8192)
  put('a/x')
  assert.throws(() => store.since(STORAGE, first), /too old resource version/)
  assert.equal(store.since(STORAGE, store.revision - 4000).length, 4000)
})

for (const isRead of [true, false]) {
  const which = isRead ? 'large objects' : 'large objects that were never read'
  test(`${which} leave at most 64 MiB of history, and the last hundred changes`, () => {
    const { store, put } = filled()
    const text = 'x'.repeat(1024 * 1024)
    const write = (i: number): unknown => isRead ? jsonOf(put('a/x', { text, i })) : put('a/x', { text, i })
    const first = store.revision
    for (let i = 0; i < 60; i++) write(i)
    assert.equal(store.since(STORAGE, first).length, 60)
    for (let i = 0; i < 240; i++) write(i)
    assert.throws(() => store.since(STORAGE, first), /too old resource version/)
    assert.throws(() => store.since(STORAGE, store.revision - 150), /too old resource version/)
    assert.equal(store.since(STORAGE, store.revision - 100).length, 100)
    const read = put('a/x')
    jsonOf(read)
    for (let i = 0; i < 200; i++) put('a/x', { i })
    assert.equal(forgetJson(read), 0, 'the history has no texts')
    assert.equal(store.since(STORAGE, store.revision - 200).length, 200, 'what was dropped does not count')
  })
}

test('a listener with a term is called for the objects that have its value or had it, and for no others', () => {
  const { store, put } = filled()
  const called: string[] = []
  const read = ({ spec }: ApiObject): string | undefined => (spec as JsonObject)['color'] as string | undefined
  const stops = ['red', 'red', 'blue', ''].map((value, i) =>
    store.listen(STORAGE, ({ key }) => void called.push(`${i} ${key}`), { path: 'color', value, read })
  )
  stops.push(store.listen(STORAGE, ({ key }) => void called.push(`all ${key}`)))
  const calls = (write: () => unknown): readonly string[] => (write(), called.splice(0).sort())
  assert.deepEqual(calls(() => put('a/x', { color: 'red' })), ['0 a/x', '1 a/x', 'all a/x'])
  assert.deepEqual(calls(() => put('a/y')), ['all a/y'])
  assert.deepEqual(calls(() => put('a/y', { color: '' })), ['3 a/y', 'all a/y'])
  assert.deepEqual(calls(() => put('a/x', { color: 'blue' })), ['0 a/x', '1 a/x', '2 a/x', 'all a/x'])
  stops[1]!()
  assert.deepEqual(calls(() => put('a/x', { color: 'blue' })), ['2 a/x', 'all a/x'])
  assert.deepEqual(calls(() => store.remove(STORAGE, 'a/x')), ['2 a/x', 'all a/x'])
  for (const stop of stops) stop()
  assert.deepEqual(calls(() => put('a/x', { color: 'blue' })), [])
})

test('all readers of one state get one list, which later writes do not change, and search it once for a term', () => {
  const { store, put } = filled()
  for (let i = 0; i < 10; i++) put(`a/x${i}`, { color: i % 2 ? 'red' : 'blue' })
  let reads = 0
  const read = ({ spec }: ApiObject): string => (reads++, (spec as JsonObject)['color'] as string)
  const list = store.list(STORAGE, '')
  assert.equal(store.list(STORAGE, ''), list)
  const found = (value: string): number => withTerm(list, { path: 'color', value, read }).length
  assert.deepEqual([found('red'), found('red'), found('blue'), found('none'), reads], [10, 5, 5, 0, 10])
  const copy = [...list]
  put('a/x0', { color: 'red' })
  store.remove(STORAGE, 'a/x9')
  assert.deepEqual(list, copy)
  assert.equal(store.list(STORAGE, '').length, 9)
})
