import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  cutInstance,
  cutNote,
  eventOf,
  identityOf,
  isControllerName,
  nextName,
  occurrence,
  topicOf,
} from '../../lib/events/event.ts'
import { foo } from './fixture.ts'

const bytes = (text: string): number => new TextEncoder().encode(text).length
const SERIAL = 0x18867251edfa0000n

function named(name: string, kind = 'Foo'): string {
  const what = occurrence('Normal', { ...foo(name), kind }, 'A', 'x', { controller: 'c' })
  return eventOf(what, { instance: 'i', wallMs: 0, serial: SERIAL }).metadata.name
}

test('a note of up to 1024 bytes is kept; a longer one is cut between characters and ends with an ellipsis', () => {
  for (const note of ['', 'x'.repeat(1024), 'é'.repeat(512), '€'.repeat(341), '😀'.repeat(256)]) {
    assert.equal(cutNote(note), note)
  }
  for (
    const [note, length] of [['x'.repeat(1025), 1024], ['é'.repeat(513), 1023], ['€'.repeat(342), 1023], [
      '😀'.repeat(257),
      1023,
    ], ['x'.repeat(10 ** 6), 1024]] as const
  ) {
    const cut = cutNote(note)
    assert.equal(bytes(cut), length)
    assert.ok(cut.endsWith('…') && note.startsWith(cut.slice(0, -1)) && !/[\ud800-\udfff]…$/u.test(cut), cut)
  }
})

test('an instance is cut at 128 bytes', () => {
  assert.equal(cutInstance('x'.repeat(128)), 'x'.repeat(128))
  assert.equal(cutInstance('é'.repeat(100)), 'é'.repeat(64))
})

test('the name of an event is a DNS subdomain of at most 253 characters that begins with its object', () => {
  const end = '.18867251edfa0000'
  assert.equal(named('a'), `a${end}`)
  assert.equal(named('a.b-c'), `a.b-c${end}`)
  assert.equal(named('x'.repeat(253)), 'x'.repeat(236) + end)
  assert.equal(named(`${'x'.repeat(235)}.${'y'.repeat(17)}`), 'x'.repeat(235) + end)
  assert.equal(named('system:node', 'ClusterRole'), `clusterrole${end}`)
  assert.equal(named('A b', 'Ä'), `event${end}`)
})

test('nextName increments the serial', () => {
  assert.equal(nextName('a.b.18867251edfa00ff'), 'a.b.18867251edfa0100')
})

test('a controller name must be a qualified name', () => {
  for (const name of ['a', 'foo-operator', 'Foo_1.x', 'example.dev/foo', 'x'.repeat(63), `${'a'.repeat(253)}/x`]) {
    assert.ok(isControllerName(name), name)
  }
  for (
    const name of ['', '-a', 'a-', 'a b', 'x'.repeat(64), '/a', 'a/', 'a/b/c', 'Example.dev/a', `${'a'.repeat(254)}/x`]
  ) assert.ok(!isControllerName(name), name)
})

test('occurrences of one Event are equal in each part, those of one limit in each but action, note and related', () => {
  const of = { apiVersion: 'v1', kind: 'Foo', metadata: { namespace: 'a', name: 'b', uid: 'c' } }
  const whole = {
    ...{ type: 'Normal' as const, reason: 'A', action: 'B', note: 'n', controller: 'c', regarding: of, related: of },
    ...{ wallMs: 0 },
  }
  const other = (part: string) =>
    [
      { ...of, apiVersion: 'v2' },
      { ...of, kind: 'Bar' },
      ...['namespace', 'name', 'uid'].map((name) => ({ ...of, metadata: { ...of.metadata, [name]: 'other' } })),
    ].map((each) => ({ ...whole, [part]: each }))
  const ofLimit = [
    { ...whole, type: 'Warning' as const },
    { ...whole, reason: 'other' },
    { ...whole, controller: 'other' },
    ...other('regarding'),
  ]
  const beside = [{ ...whole, action: 'other' }, { ...whole, note: 'other' }, ...other('related')]
  const differing = <T>(all: readonly T[], key: (each: T) => string) =>
    all.filter((each) => key(each) !== key(whole as T)).length
  assert.deepEqual([differing(ofLimit, identityOf), differing(beside, identityOf)], [ofLimit.length, beside.length])
  assert.deepEqual([differing(ofLimit, topicOf), differing(beside, topicOf)], [ofLimit.length, 0])
})
