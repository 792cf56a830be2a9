import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApplyCache } from '../../lib/client/apply_cache.ts'
import type { KubeObject } from '../../lib/core/objects.ts'
import { type AnyResource, metadataOf } from '../../lib/core/resource.ts'
import { collector, UNCOLLECTED } from '../tools/collector.ts'

const POD: AnyResource = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', scope: 'Namespaced' }
const KEY = { namespace: 'ns', name: 'a' }
const desired = { spec: { cpu: '1000m', list: [{ a: 1 }] } }
const object = (spec: object, metadata: object = {}): KubeObject =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...KEY, uid: 'u', resourceVersion: '1', creationTimestamp: '', ...metadata },
    spec,
  }) as KubeObject
const spec = { cpu: '1', list: [{ a: 1, filled: true }], order: [1, 2], ours: false }
const answered = object(spec)

test('an answer stands while the object is what was answered, whatever is in its status and its bookkeeping', () => {
  const memory = new ApplyCache().of(POD, KEY, 'me')
  assert.equal(memory.isUpToDate(desired, answered), false)
  memory.remember(desired, answered)
  const { metadata: { uid, creationTimestamp, ...rest }, kind, apiVersion, ...fields } = answered
  const rows: readonly (readonly [string, KubeObject, boolean])[] = [
    ['the answer', answered, true],
    ['with the order of a list', { ...fields, metadata: { creationTimestamp, ...rest, uid }, kind, apiVersion }, true],
    [
      'with another version, generation, status, managed fields, and an undefined field',
      {
        ...object({ ...spec, gone: undefined }, { resourceVersion: '9', generation: 2, managedFields: [{}] }),
        status: { ready: true },
      } as KubeObject,
      true,
    ],
    ["with another's field", object({ ...spec, theirs: 1 }), false],
    ["with another's label", object(spec, { labels: { a: 'b' } }), false],
    ['with a field changed', object({ ...spec, cpu: '2' }), false],
    ['with a list changed', object({ ...spec, list: [{ a: 1 }] }), false],
    ['with the order of a list changed', object({ ...spec, order: [2, 1] }), false],
    ['with a field gone', object({ list: spec.list, ours: false }), false],
    ['of another uid', object(spec, { uid: 'v' }), false],
    ['being deleted', object(spec, { deletionTimestamp: '2026-01-01T00:00:00Z' }), false],
  ]
  const dying = object(spec, { deletionTimestamp: '2026-01-01T00:00:00Z' })
  memory.remember(desired, dying)
  assert.equal(memory.isUpToDate(desired, dying), false, 'it may be gone by now')
  memory.remember(desired, answered)
  // The second time, what was found out about the same object is remembered.
  for (const again of ['', ', again']) {
    for (const [what, current, stands] of rows) assert.equal(memory.isUpToDate(desired, current), stands, what + again)
  }
})

test('the content of a cached object is read once', () => {
  const memory = new ApplyCache().of(POD, KEY, 'me')
  memory.remember(desired, answered)
  let reads = 0
  const current = object(Object.defineProperty({ ...spec }, 'cpu', { enumerable: true, get: () => (reads++, '1') }))
  for (const _ of [1, 2]) assert.equal(memory.isUpToDate(desired, current), true)
  assert.equal(reads, 1)
})

test('a status is compared if one is desired', () => {
  const memory = new ApplyCache().of(POD, KEY, 'me')
  const withStatus = (ready: boolean): KubeObject => ({ ...answered, status: { ready } }) as KubeObject
  const wanted = { ...desired, status: { ready: true } }
  const current = withStatus(true)
  for (const each of [wanted, desired, wanted]) {
    memory.remember(each, current)
    assert.deepEqual([current, withStatus(false)].map((object) => memory.isUpToDate(each, object)), [
      true,
      each === desired,
    ])
  }
})

test('only the last desired object is remembered, as it was when it was sent', () => {
  const memory = new ApplyCache().of(POD, KEY, 'me')
  const mutable = structuredClone(desired)
  memory.remember(mutable, answered)
  mutable.spec.cpu = '2'
  assert.equal(memory.isUpToDate(mutable, answered), false)
  assert.equal(memory.isUpToDate(desired, answered), true)
  memory.remember({ spec: {} }, answered)
  assert.equal(memory.isUpToDate(desired, answered), false)
})

test('objects, kinds and field managers have separate entries', () => {
  const all = new ApplyCache()
  all.of(POD, KEY, 'me').remember(desired, answered)
  assert.equal(all.of(POD, KEY, 'me').isUpToDate(desired, answered), true)
  for (
    const other of [
      all.of(POD, KEY, 'you'),
      all.of(POD, { ...KEY, name: 'b' }, 'me'),
      all.of({ ...POD, group: 'x.dev' }, KEY, 'me'),
      all.of({ ...POD, version: 'v2' }, KEY, 'me'),
      all.of({ ...POD, plural: 'podtemplates' }, KEY, 'me'),
    ]
  ) assert.equal(other.isUpToDate(desired, answered), false)
})

test('the cache is bounded: the oldest entries are dropped, and remembering again makes an entry the newest', () => {
  const all = new ApplyCache()
  const of = (name: string): ReturnType<ApplyCache['of']> => all.of(POD, { namespace: 'ns', name }, 'me')
  const shared = (name: string, writer: string) =>
    all.sharedBy(POD, { namespace: 'ns', name }, 'me', writer, { of: writer })
  for (let index = 0; index < 50_000; index++) {
    of(`p${index}`).remember(desired, answered)
    shared(`p${index}`, 'one').judged()
  }
  shared('one more', 'one').judged()
  assert.deepEqual(['p0', 'p1'].map((name) => shared(name, 'two').others), [[], ['one']])
  of('p0').remember(desired, answered)
  of('one more').remember(desired, answered)
  assert.deepEqual(
    ['p0', 'p1', 'p2', 'one more'].map((name) => of(name).isUpToDate(desired, answered)),
    [true, false, true, true],
  )
})

test('forget drops the entries of all field managers of one object', () => {
  const all = new ApplyCache()
  const managers = ['me', 'you']
  for (const manager of managers) {
    for (const name of ['a', 'b']) all.of(POD, { ...KEY, name }, manager).remember(desired, answered)
  }
  const others = () => all.sharedBy(POD, KEY, 'me', 'two', {}).others
  all.sharedBy(POD, KEY, 'me', 'one', desired).judged()
  assert.deepEqual(others(), ['one'])
  all.forget({ ...POD, group: 'x.dev' }, 'ns/a', 'u')
  all.forget(POD, 'a', 'u')
  assert.equal(all.size, 4)
  // A later object of the same name has another uid.
  all.forget(POD, 'ns/a', 'earlier')
  assert.equal(all.size, 4)
  // The watch may deliver only its metadata.
  all.forget(metadataOf(POD), 'ns/a', 'u')
  assert.deepEqual(
    managers.flatMap((manager) =>
      ['a', 'b'].map((name) => all.of(POD, { ...KEY, name }, manager).isUpToDate(desired, answered))
    ),
    [false, true, false, true],
  )
  assert.deepEqual([all.size, others()], [2, []])
})

test('the cache is bounded for any number of field managers', () => {
  const all = new ApplyCache()
  for (let index = 0; index < 1000; index++) all.of(POD, KEY, `manager-${index}`).remember(desired, answered)
  assert.equal(all.of(POD, KEY, 'manager-999').isUpToDate(desired, answered), true)
  all.forget(POD, 'ns/a', 'u')
  assert.deepEqual(
    ['manager-0', 'manager-99'].map((manager) => all.of(POD, KEY, manager).isUpToDate(desired, answered)),
    [
      false,
      false,
    ],
  )
})

const collect = collector()
const uncollected = collect ? false : UNCOLLECTED

test('an entry is small, whatever the size of its object', { skip: uncollected }, () => {
  const all = new ApplyCache()
  const count = 2000
  collect!()
  const before = process.memoryUsage().heapUsed
  for (let index = 0; index < count; index++) {
    const large = {
      spec: {
        text: `${index}`.repeat(5000),
        list: Array.from({ length: 100 }, (_, at) => ({ at, name: `${index}-${at}` })),
      },
    }
    all.of(POD, { namespace: 'ns', name: `${'n'.repeat(200)}${index}` }, 'me').remember(large, object(large.spec))
  }
  collect!()
  // 16 MiB at 50,000 objects.
  const each = (process.memoryUsage().heapUsed - before) / count
  assert.equal(all.size, count)
  assert.ok(each < 335, `${each} bytes for each`)
})

test('all other controllers that apply an object are named', () => {
  const all = new ApplyCache()
  const sharedBy = (writer: string) => all.sharedBy(POD, KEY, 'me', writer, { of: writer })
  const names = ['one', 'two', 'three', 'four']
  const found = names.map((name) => {
    const { others, judged } = sharedBy(name)
    judged()
    return others
  })
  assert.deepEqual(found, [[], ['one'], ['one', 'two'], ['one', 'two', 'three']])
})
