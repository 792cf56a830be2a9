/** Objects as bytes: what is read is what was stored, and memory is given back. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { KubeObject } from '../../lib/core/objects.ts'
import { parseExact } from '../../lib/core/exact_json.ts'
import { CompactObjects, compactObjects } from '../../lib/cache/compact/compact_objects.ts'
import { ShapeDictionary, StringDictionary } from '../../lib/cache/compact/dictionaries.ts'
import { ObjectCodec } from '../../lib/cache/compact/object_codec.ts'
import { Store } from '../../lib/cache/store.ts'
import { collector, leftOf, UNCOLLECTED } from '../tools/collector.ts'
import { pod } from './scripted_server.ts'
import { tries } from '../tools/fuzz.ts'

const UID = '0a1b2c3d-4e5f-6789-abcd-ef0123456789'

/** Texts in the forms that have bytes of their own, and those that almost have them. */
const texts = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ maxLength: 200 }),
  fc.constantFrom(
    '',
    'a'.repeat(63),
    'a'.repeat(64),
    'a'.repeat(65),
    'é'.repeat(200),
    '\u{1f600}',
    '\ud800',
    '__proto__',
  ),
  fc.constantFrom(
    UID,
    UID.toUpperCase(),
    UID.replace('-', '0'),
    `${UID}0`,
    '2026-03-04T05:06:07Z',
    '2026-03-04T05:06:07z',
  ),
  fc.constantFrom('0', '7', '007', '123456789012345', '1234567890123456', '-1', '1e3'),
)
const numbers = fc.oneof(
  fc.integer(),
  fc.double(),
  fc.maxSafeInteger(),
  fc.constantFrom(0, -0, 31, 32, 127, 128, 2 ** 31, 2 ** 53, -(2 ** 53), 1e300, 5e-324),
).filter(Number.isFinite)
const values = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    texts,
    numbers,
    fc.constantFrom(null, true, false),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(fc.oneof(texts, fc.constantFrom('a', 'b', 'c', 'name')), tie('value'), {
      maxKeys: 80,
      noNullPrototype: true,
    }),
  ),
}))
/** Names that are in texts of their object, also more than once, and as a pattern of `replace`. */
const named = fc.record({
  name: fc.constantFrom('web', 'web-1', '$&', '$&$&', 'a', '', '\0'),
  around: fc.oneof(texts, fc.constantFrom('\0', 'x\0')),
}).map((
  { name, around },
) => ({
  metadata: { name, uid: UID, labels: { app: `${name}-${name}`, [name]: `${around}${name}`, same: `x-${name}` } },
}))
const objects = fc.oneof(named, fc.dictionary(texts, values.value, { noNullPrototype: true })) as fc.Arbitrary<object>

/** Equal also in the order of fields, and in what JSON leaves out. */
function assertSame(actual: unknown, expected: unknown): void {
  assert.deepStrictEqual(actual, expected)
  assert.equal(JSON.stringify(actual), JSON.stringify(expected))
}

test('any JSON is decoded as it was encoded, whatever was encoded before', () => {
  const codec = new ObjectCodec()
  fc.assert(
    fc.property(fc.array(objects, { maxLength: 8 }), fc.nat(9), (all, offset) => {
      const encoded = all.map((object) => {
        const bytes = new Uint8Array(offset + 70_000)
        const found = codec.encode(object)!
        bytes.set(found.subarray(0, 70_000), offset)
        return { bytes, object }
      })
      for (const { bytes, object } of encoded) {
        assertSame(codec.decode(bytes, offset), object)
        for (const [name, value] of Object.entries(object)) assertSame(codec.decodeField(bytes, offset, name), value)
        assert.equal(codec.decodeField(bytes, offset, 'none of them'), undefined)
      }
    }),
    { numRuns: tries(150) },
  )
})

test('more shapes and strings than are kept beside the bytes are in the bytes', () => {
  const codec = new ObjectCodec()
  const made = Array.from(
    { length: 5000 },
    (_, at) => ({ [`field-${at}`]: at, same: true, list: [{ [`in-${at}`]: at }] }),
  )
  const texts = Array.from({ length: 35_000 }, (_, at) => [`text ${at}`, `text ${at}`])
  const all = [
    ...made,
    { texts },
    { texts },
    Object.fromEntries(made.slice(0, 200).flatMap((each) => Object.entries(each))),
  ]
  const encoded = all.map((object) => codec.encode(object)!.slice())
  for (const [at, object] of all.entries()) assertSame(codec.decode(encoded[at]!, 0), object)
  assertSame(codec.decode(codec.encode(made.at(-1)!)!, 0), made.at(-1))
})

test('what is kept beside the bytes is limited', () => {
  const [strings, shapes] = [new StringDictionary(), new ShapeDictionary()]
  const shapeOf = (...names: readonly string[]) =>
    shapes.idOf(Object.fromEntries(names.map((name) => [name, 1])), names)
  for (let at = 0; at < 2 ** 15 + 10; at++) {
    for (let time = 0; time < 2; time++) strings.idOf(`text ${at}`)
    shapeOf(`field ${at}`)
  }
  assert.deepEqual([strings.texts.length, shapes.names.length < 2 ** 14], [2 ** 15, true])
  assert.equal(new ShapeDictionary().idOf({}, Array.from({ length: 65 }, (_, at) => `${at}`)), -1)
})

test('a text that comes again only after 4096 others is not kept beside the bytes', () => {
  const codec = new ObjectCodec()
  const lengthOf = (text: string): number => codec.encode({ text })!.length
  for (const text of ['any', 'other']) lengthOf(text)
  const length = lengthOf('seldom')
  for (let at = 0; at < 5000; at++) lengthOf(`other ${at}`)
  assert.equal(lengthOf('seldom'), length)
  assert.ok(lengthOf('seldom') < length, 'but one that comes again soon is')
})

test('what is no JSON, or nested too deeply, is not encoded: it is kept as it is', () => {
  const codec = new ObjectCodec()
  const odd = [{ a: new Date(0) }, { a: 1n }, { a: () => {} }, { a: [undefined] }, { a: new Map() }, {
    [Symbol('a')]: 1,
  }]
  for (const each of odd) assert.equal(codec.encode(each), undefined)
  const [deep, tooDeep] = [500, 9990].map((levels) =>
    JSON.parse('{"a":'.repeat(levels) + 1 + '}'.repeat(levels)) as object
  )
  assert.equal(JSON.stringify(codec.decode(codec.encode(deep!)!, 0)), JSON.stringify(deep))
  assert.equal(codec.encode(tooDeep!), undefined)
  assertSame(codec.decode(codec.encode({ a: undefined, b: 1 })!, 0), { b: 1 })
  const kept = new CompactObjects(codec)
  const exact = parseExact('{"metadata":{"name":"a"},"spec":{"big":9007199254740993}}') as KubeObject
  kept.set('a', exact)
  kept.set('b', of('b', '1'))
  assert.equal(kept.get('a'), exact)
  const before = kept.snapshot()
  kept.delete('a')
  assert.equal(kept.get('a'), undefined)
  assert.deepEqual([before.at(0), before.at(1)].map((each) => each?.metadata.name).sort(), ['a', 'b'])
})

function of(name: string, resourceVersion: string, more: object = {}): KubeObject {
  const metadata = {
    namespace: 'default',
    name,
    uid: `uid-${name}`,
    resourceVersion,
    labels: { text: name.repeat(20) },
  }
  return { apiVersion: 'v1', kind: 'Pod', metadata, ...more } as unknown as KubeObject
}

const step = fc.record({
  what: fc.constantFrom('set', 'set', 'set', 'delete', 'snapshot' as const),
  at: fc.nat(300),
  size: fc.constantFrom(0, 10, 1000, 20_000, 300_000),
})

test('with any writes, a compact map has what a Map has, and a snapshot what was there before', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120, size: 'max' }), (steps) => {
      const [compact, map] = [compactObjects(true)(), new Map<string, KubeObject>()]
      const snapshots:
        (readonly [readonly KubeObject[], NonNullable<ReturnType<NonNullable<typeof compact.snapshot>>>])[] = []
      const byName = (all: Iterable<KubeObject>): KubeObject[] =>
        [...all].sort((a, b) => a.metadata.name < b.metadata.name ? -1 : 1)
      for (const [version, { what, at, size }] of steps.entries()) {
        const key = `default/o${at}`
        if (what === 'set') {
          const object = of(`o${at}`, `${version}`, { data: { text: `${version}`.padEnd(size, 'xyz') } })
          compact.set(key, structuredClone(object))
          map.set(key, object)
        } else if (what === 'delete') {
          compact.delete(key)
          map.delete(key)
        } else snapshots.push([byName(map.values()), compact.snapshot!()])
        assert.equal(compact.size, map.size)
        assert.deepEqual(compact.get(key), map.get(key))
        assert.equal(compact.has(key), map.has(key))
      }
      assert.deepEqual(byName(compact.values()), byName(map.values()))
      assert.deepEqual(new Map([...compact].sort()), new Map([...map].sort()))
      assert.deepEqual([...compact.keys()].sort(), [...map.keys()].sort())
      assert.deepEqual(
        [...compact.heads!()].map(({ metadata }) => metadata).sort((a, b) => a.name < b.name ? -1 : 1),
        byName(map.values()).map(({ metadata }) => metadata),
      )
      for (const [expected, snapshot] of snapshots) {
        const found = Array.from({ length: snapshot.length }, (_, at) => snapshot.at(at)!)
        assert.deepEqual(byName(found), expected)
      }
    }),
    { numRuns: tries(12) },
  )
})

test('a map of one object takes few bytes', () => {
  const objects = new CompactObjects(new ObjectCodec())
  objects.set('default/a', of('a', '1'))
  assert.ok(objects.bytes <= 4096, `${objects.bytes} bytes`)
  for (let at = 0; at < 5000; at++) objects.set(`default/o${at}`, of(`o${at}`, '1'))
  assert.equal(objects.size, 5001)
  for (const [key, { metadata }] of objects) assert.equal(key, `default/${metadata.name}`)
})

test('the bytes of replaced and deleted objects are given back', () => {
  const objects = new CompactObjects(new ObjectCodec())
  const text = 'x'.repeat(1000)
  const fill = (round: number): void => {
    for (let at = 0; at < 2000; at++) {
      objects.set(`default/o${at}`, of(`o${at}`, `${round}`, { data: { text: `${round} ${at} ${text}` } }))
    }
  }
  fill(0)
  const first = objects.bytes
  for (let round = 1; round < 6; round++) fill(round)
  assert.ok(objects.bytes < 2.5 * first, `${objects.bytes} bytes after ${first}`)
  for (let at = 0; at < 2000; at++) if (at % 20 > 0) objects.delete(`default/o${at}`)
  assert.ok(objects.bytes < 0.3 * first, `${objects.bytes} bytes after ${first}`)
  assert.equal(objects.size, 100)
  for (const [key, { metadata }] of objects) {
    assert.deepEqual([key, metadata.resourceVersion], [`default/${metadata.name}`, '5'])
  }
  // Each is given up before the memory behind it is full.
  const kept = objects.bytes
  for (let at = 0; at < 2000; at++) {
    objects.set(`default/p${at}`, of(`p${at}`, '1', { data: { text: `${at} ${text}` } }))
    if (at % 1000 > 0) objects.delete(`default/p${at}`)
  }
  // Their old bytes are moved, when the memory is full, before they are replaced.
  for (let at = 0; at < 1000; at++) objects.set(`default/o${at % 3}`, of(`o${at % 3}`, '5', { data: { text } }))
  assert.equal(objects.size, 104)
  assert.ok(objects.bytes <= kept + 2 ** 19, `${objects.bytes} bytes after ${kept}`)
  // Bytes are moved to the place of an object that was read before.
  const large = new CompactObjects(new ObjectCodec())
  for (let at = 0; at < 1000; at++) {
    const [written, read] = [`o${(5 * at * at) % 53}`, `o${(11 * at) % 53}`]
    large.set(`default/${written}`, of(written, '1', { data: { text: text.repeat(20) } }))
    assert.ok([undefined, read].includes(large.get(`default/${read}`)?.metadata.name))
  }
})

const collect = collector()
const uncollected = collect ? false : UNCOLLECTED

test('an object that is kept as it is goes with its key', { skip: uncollected }, async () => {
  const objects = new CompactObjects(new ObjectCodec())
  const put = (name: string): WeakRef<object> => {
    const object = Object.assign(pod(name, '1'), { [Symbol('a')]: 1 })
    objects.set(name, object)
    return new WeakRef(object)
  }
  const replaced = Array.from({ length: 8 }, (_, at) => put(`a${at % 4}`))
  for (let at = 0; at < 4; at++) objects.delete(`a${at}`)
  // The objects that were read last are kept, too.
  for (let at = 0; at < 100; at++) put(`b${at}`)
  assert.equal(await leftOf(replaced, collect!), 0)
  assert.equal(objects.size, 100)
})

test('an object takes a fifth of its JSON if others are like it, and is the same while it is read again and again', () => {
  const objects = new CompactObjects(new ObjectCodec(), true)
  const spec = {
    replicas: 3,
    template: {
      spec: {
        containers: [{
          name: 'app',
          image: 'registry.example.com/app:1',
          ports: [{ containerPort: 8080, protocol: 'TCP' }],
        }],
      },
    },
  }
  let json = 0
  for (let at = 0; at < 10_000; at++) {
    const object = of(`o${at}`, `${at}`, {
      spec,
      status: { ready: true, conditions: [{ type: 'Ready', status: 'True', reason: 'Started' }] },
    })
    Object.assign(object.metadata, { labels: { app: 'web', tier: 'front' } })
    json += JSON.stringify(object).length
    objects.set(`default/o${at}`, object)
  }
  assert.ok(objects.bytes < json / 5, `${objects.bytes} bytes for ${json} of JSON`)
  const found = objects.get('default/o7')
  assert.equal(objects.get('default/o7'), found)
  assert.ok(Object.isFrozen(found?.metadata.labels))
  for (let at = 100; at < 200; at++) objects.get(`default/o${at}`)
  assert.notEqual(objects.get('default/o7'), found)
})

test('a list of a compact store is prepared without its objects, and equal ones are no change', () => {
  const make = compactObjects(false)
  const store = new Store(undefined, make())
  const replace = (versions: readonly string[], initial: boolean) => {
    const objects = make()
    versions.forEach((version, at) => objects.set(`default/o${at}`, of(`o${at}`, version)))
    const steps = store.replacing(objects, initial)
    for (;;) {
      const { done, value } = steps.next()
      if (done) return value()
    }
  }
  const added = replace(['1', '2', '3'], true)
  store.apply(of('o1', '9'))
  const seen = Array.from({ length: added.length }, (_, at) => added.at(at)!)
  assert.deepEqual(
    seen.map(({ kind, object: { metadata } }) => `${kind} ${metadata.name} ${metadata.resourceVersion}`).sort(),
    [
      'added o0 1',
      'added o1 2',
      'added o2 3',
    ],
  )
  assert.equal(store.get('default/o1')?.metadata.resourceVersion, '9')
  const changed = replace(['1', '9', '4'], false)
  assert.equal(changed.length, 1)
  const [delta] = [changed.at(0)!]
  assert.deepEqual([delta.kind, delta.object.metadata.resourceVersion], ['updated', '4'])
})
