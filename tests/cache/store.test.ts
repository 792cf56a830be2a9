import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { defineIndex, type Index } from '../../lib/core/object_indexer.ts'
import type { KubeObject } from '../../lib/core/objects.ts'
import { type Delta, type Deltas, Store } from '../../lib/cache/store.ts'
import { byKey, POD, pod, replaceAll } from './scripted_server.ts'

const byTeam: Index<KubeObject> = defineIndex(POD as never, (object: KubeObject) => object.metadata.labels?.['team'])
const byLabel: Index<KubeObject> = defineIndex(
  POD as never,
  (object: KubeObject) => Object.keys(object.metadata.labels ?? {}),
)

const names = (objects: Iterable<KubeObject>): string[] => Array.from(objects, ({ metadata }) => metadata.name).sort()
const kinds = (deltas: readonly { kind: string; object: KubeObject }[]): string[] =>
  deltas.map(({ kind, object }) => `${kind} ${object.metadata.name} ${object.metadata.uid}`)

test('objects with equal versions and different uids are different', () => {
  const store = new Store()
  store.apply(pod('a', '1', { uid: 'old' }))
  assert.deepEqual(kinds(store.apply(pod('a', '1', { uid: 'new' }))), ['deleted a old', 'added a new'])
})

test('a new list returns exactly the differences, deletions first', () => {
  const store = new Store()
  replaceAll(store, [pod('gone', '1'), pod('same', '2'), pod('changed', '3'), pod('again', '4', { uid: 'old' })], true)
  const deltas = replaceAll(store, [
    pod('new', '9'),
    pod('same', '2'),
    pod('changed', '8'),
    pod('again', '7', { uid: 'new' }),
  ], false)
  assert.deepEqual(kinds(deltas), [
    'deleted gone uid-gone',
    'added new uid-new',
    'updated changed uid-changed',
    'deleted again old',
    'added again new',
  ])
  assert.ok(deltas.every((delta) => delta.kind !== 'deleted' || delta.stale))
  assert.ok(deltas.every((delta) => delta.kind !== 'added' || !delta.initial))
})

test('a list with an object without a name is refused', () => {
  const store = new Store()
  replaceAll(store, [pod('a', '1')], true)
  assert.throws(() => replaceAll(store, [pod('b', '2'), pod('', '3')], false), /its name is missing/)
  assert.deepEqual(names(store.values()), ['a'])
})

test('objects without a version (of metrics servers) always count as changed', () => {
  const store = new Store()
  store.apply(pod('a', ''))
  assert.deepEqual(kinds(store.apply(pod('a', ''))), ['updated a uid-a'])
})

test('an index stays consistent if a shared object was changed', () => {
  const store = new Store()
  const object = pod('a', '1', { labels: { team: 'red' } })
  store.apply(object)
  assert.deepEqual(names(store.lookup(byTeam, 'red')), ['a'])
  ;(object.metadata.labels as Record<string, string>)['team'] = 'blue'
  store.apply(pod('a', '2', { labels: { team: 'green' } }))
  assert.deepEqual(['red', 'blue', 'green'].map((team) => names(store.lookup(byTeam, team))), [[], [], ['a']])
})

test('for random operations, store, deltas and indexes agree with a simple model', () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd')
  const labels = fc.dictionary(fc.constantFrom('team', 'tier'), fc.constantFrom('red', 'blue'), {
    maxKeys: 2,
    noNullPrototype: true,
  })
  const state = fc.record({ name, uid: fc.constantFrom('1', '2'), labels })
  const operation = fc.oneof(
    fc.record({ do: fc.constant('apply' as const), state }),
    fc.record({ do: fc.constant('delete' as const), state }),
    fc.record({
      do: fc.constant('replace' as const),
      states: fc.uniqueArray(state, { selector: (each) => each.name, maxLength: 4 }),
    }),
    fc.record({ do: fc.constant('relist' as const) }),
  )
  fc.assert(fc.property(fc.array(operation, { maxLength: 60, size: 'max' }), fc.nat(60), (operations, indexedFrom) => {
    const store = new Store()
    const model = new Map<string, KubeObject>()
    /** The objects of a handler that applies every delta. */
    const received = new Map<string, KubeObject>()
    let version = 0
    const make = ({ name, uid, labels }: { name: string; uid: string; labels: Record<string, string> }): KubeObject =>
      pod(name, `${++version}`, { uid, labels })
    for (const [i, each] of operations.entries()) {
      let deltas: readonly Delta[] = []
      if (each.do === 'apply') {
        const object = make(each.state)
        deltas = store.apply(object)
        model.set(object.metadata.name, object)
      } else if (each.do === 'delete') {
        deltas = store.delete(make(each.state))
        model.delete(each.state.name)
      } else {
        const objects = each.do === 'relist'
          ? [...model.values()].map((object) => structuredClone(object))
          : each.states.map(make)
        deltas = replaceAll(store, objects, false)
        if (each.do === 'relist') assert.deepEqual(deltas, [])
        model.clear()
        for (const object of objects) model.set(object.metadata.name, object)
      }
      for (const delta of deltas) {
        const { name, uid } = delta.object.metadata
        const known = received.get(name)
        if (delta.kind === 'added') assert.equal(known, undefined, `"${name}" was added twice`)
        else assert.ok(known, `"${name}" was ${delta.kind} and not known`)
        if (delta.kind === 'updated') assert.deepEqual([delta.old, delta.old.metadata.uid], [known, uid])
        if (delta.kind === 'deleted') received.delete(name)
        else received.set(name, delta.object)
      }
      assert.deepEqual([...store.values()].map(({ metadata }) => metadata.name).sort(), [...model.keys()].sort())
      for (const [name, object] of model) {
        assert.deepEqual([store.get(`default/${name}`), received.get(name)], [object, object])
      }
      assert.equal(received.size, model.size)
      if (i < indexedFrom) continue
      for (const team of ['red', 'blue']) {
        assert.deepEqual(
          names(store.lookup(byTeam, team)),
          names([...model.values()].filter(({ metadata }) => metadata.labels?.['team'] === team)),
        )
      }
      for (const label of ['team', 'tier']) {
        assert.deepEqual(
          names(store.lookup(byLabel, label)),
          names([...model.values()].filter(({ metadata }) => label in (metadata.labels ?? {}))),
        )
      }
    }
  }))
})

test('a list is prepared in invisible steps and replaces the store at once, with its indexes, also those first used meanwhile', () => {
  const store = new Store()
  const of = (name: string, version: string, team: string): KubeObject => pod(name, version, { labels: { team } })
  replaceAll(store, [of('a', '1', 'red'), of('b', '2', 'red'), of('c', '3', 'blue')], true)
  assert.deepEqual(names(store.lookup(byTeam, 'red')), ['a', 'b'])
  const steps = store.replacing(byKey([of('b', '2', 'red'), of('c', '9', 'red'), of('d', '8', 'red')]), false)
  let change: (() => Deltas) | undefined
  for (let step = 0; !change; step++) {
    assert.deepEqual([names(store.values()), names(store.lookup(byTeam, 'red'))], [['a', 'b', 'c'], ['a', 'b']])
    if (step === 2) assert.deepEqual(names(store.lookup(byLabel, 'team')), ['a', 'b', 'c'])
    const { done, value } = steps.next()
    if (done) change = value
  }
  assert.deepEqual(kinds(change() as Delta[]), ['deleted a uid-a', 'updated c uid-c', 'added d uid-d'])
  assert.deepEqual(
    [names(store.values()), names(store.lookup(byTeam, 'red')), names(store.lookup(byLabel, 'team'))],
    [['b', 'c', 'd'], ['b', 'c', 'd'], ['b', 'c', 'd']],
  )
})

test('a list calls the key function only for changed objects', () => {
  const indexed: string[] = []
  const index: Index<KubeObject> = defineIndex(POD as never, ({ metadata }: KubeObject) => {
    indexed.push(metadata.name)
    return metadata.name === 'bad' ? assert.fail('mine') : 'all'
  })
  const store = new Store()
  replaceAll(store, [pod('a', '1'), pod('b', '2')], true)
  store.lookup(index, 'all')
  indexed.length = 0
  replaceAll(store, [pod('a', '1'), pod('b', '5'), pod('bad', '6')], false)
  assert.deepEqual(indexed.splice(0).sort(), ['b', 'bad'])
  // Also not those for which it threw.
  replaceAll(store, [pod('a', '1'), pod('b', '5'), pod('bad', '6')], false)
  assert.deepEqual([indexed, names(store.lookup(index, 'all'))], [[], ['a', 'b']])
  replaceAll(store, [pod('a', '1')], false)
  assert.deepEqual(names(store.lookup(index, 'all')), ['a'])
})

test('an object of a list with a known version and another content has changed, as after a restore of etcd', () => {
  const store = new Store()
  const [a, b] = [pod('a', '105', { labels: { team: 'red' } }), pod('b', '2')]
  replaceAll(store, [a, b], true)
  assert.deepEqual(names(store.lookup(byTeam, 'red')), ['a'])
  const restored = pod('a', '105', { labels: { team: 'blue' } })
  assert.deepEqual(replaceAll(store, [restored, pod('b', '2')], false), [{
    kind: 'updated',
    object: restored,
    old: a,
  }])
  assert.deepEqual([store.get('default/a') === restored, store.get('default/b') === b], [true, true])
  assert.deepEqual([names(store.lookup(byTeam, 'red')), names(store.lookup(byTeam, 'blue'))], [[], ['a']])
})

test('an index that was completed by a lookup is not built again, and its function not called again', () => {
  let indexed = 0
  const index: Index<KubeObject> = defineIndex(POD as never, ({ metadata }: KubeObject) => (indexed++, metadata.name))
  const store = new Store()
  replaceAll(store, ['a', 'b', 'c', 'd'].map((name) => pod(name, '1')), true)
  const building = store.building(index)
  building.next()
  assert.deepEqual([store.has(index), indexed], [false, 1])
  assert.deepEqual(names(store.lookup(index, 'd')), ['d'])
  assert.deepEqual([store.has(index), indexed], [true, 5])
  assert.equal(building.next().done, true)
  assert.equal(indexed, 5)
})

test('with any changes between the steps, a built index equals the store', () => {
  const state = fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd', 'e'), team: fc.constantFrom('red', 'blue') })
  const operation = fc.oneof(
    { weight: 3, arbitrary: fc.record({ do: fc.constant('step' as const) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('apply' as const), state }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), state }) },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('replace' as const),
        states: fc.uniqueArray(state, { selector: ({ name }) => name }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('relist' as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('lookup' as const) }) },
  )
  fc.assert(fc.property(fc.array(state), fc.array(operation, { maxLength: 40, size: 'max' }), (before, operations) => {
    const store = new Store()
    let version = 0
    const make = ({ name, team }: { name: string; team: string }): KubeObject =>
      pod(name, `${++version}`, { labels: { team } })
    const check = (): void => {
      for (const team of ['red', 'blue']) {
        assert.deepEqual(
          names(store.lookup(byTeam, team)),
          names([...store.values()].filter(({ metadata }) => metadata.labels?.['team'] === team)),
        )
      }
    }
    for (const each of before) store.apply(make(each))
    const building = store.building(byTeam)
    for (const each of operations) {
      if (each.do === 'step') building.next()
      if (each.do === 'apply') store.apply(make(each.state))
      if (each.do === 'delete') store.delete(make(each.state))
      if (each.do === 'replace') replaceAll(store, each.states.map(make), false)
      if (each.do === 'relist') {
        replaceAll(store, [...store.values()].map((object) => structuredClone(object)), false)
      }
      if (each.do === 'lookup') check()
      if (store.has(byTeam)) check()
    }
    let steps = 0
    while (!building.next().done) assert.ok(++steps < 1000, 'it has no end')
    assert.ok(store.has(byTeam))
    check()
  }))
})

test('the objects of a namespace have the order of all objects, after any changes, deletions and lists', () => {
  const state = fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd'), namespace: fc.constantFrom('one', 'two', '') })
  const operation = fc.oneof(
    fc.record({ do: fc.constant('apply' as const), state }),
    fc.record({ do: fc.constant('delete' as const), state }),
    fc.record({
      do: fc.constant('replace' as const),
      states: fc.uniqueArray(state, { selector: ({ name, namespace }) => `${namespace}/${name}` }),
    }),
  )
  fc.assert(fc.property(fc.array(operation, { maxLength: 40, size: 'max' }), (operations) => {
    const store = new Store()
    let version = 0
    const make = ({ name, namespace }: { name: string; namespace: string }): KubeObject =>
      pod(name, `${++version}`, { namespace })
    for (const each of operations) {
      if (each.do === 'apply') store.apply(make(each.state))
      else if (each.do === 'delete') store.delete(make(each.state))
      else replaceAll(store, each.states.map(make), false)
      for (const namespace of ['one', 'two', 'none']) {
        assert.deepEqual(
          [...store.values(namespace)],
          [...store.values()].filter(({ metadata }) => metadata.namespace === namespace),
        )
      }
    }
  }))
})
