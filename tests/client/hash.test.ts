import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashOf } from '../../lib/client/apply_cache.ts'

test('a hash has eight code units, and several texts have one hash each', () => {
  for (const text of ['', 'a', 'ab', 'abc', 'abcd', 'äöü', '\u{1f600}', '\ud800', 'x'.repeat(10_001)]) {
    assert.equal(hashOf(text).length, 8)
    assert.equal(hashOf(text), hashOf(`${text}`))
    assert.equal(hashOf(text, 'b'), `${hashOf(text)}${hashOf('b')}`)
  }
})

test('similar texts have different hashes, at any length', () => {
  const texts = new Set<string>()
  for (let length = 0; length < 70; length++) {
    for (const unit of ['\0', 'a', '\uffff', '\u8000']) {
      const text = unit.repeat(length)
      texts.add(text)
      for (let at = 0; at < length; at++) {
        for (const other of ['b', '\u0100', '\u8001', '\u7fff']) {
          texts.add(`${text.slice(0, at)}${other}${text.slice(at + 1)}`)
        }
      }
    }
  }
  for (let i = 0; i < 20_000; i++) texts.add(`{"replicas":${i}}`)
  assert.ok(texts.size > 30_000)
  assert.equal(new Set([...texts].map((text) => hashOf(text))).size, texts.size)
})

test('each bit of a hash depends on each bit of a text', () => {
  const base = 'the desired object'.repeat(3)
  const before = [...bits(hashOf(base))]
  for (let at = 0; at < base.length; at++) {
    for (let bit = 0; bit < 16; bit++) {
      const changed = `${base.slice(0, at)}${String.fromCharCode(base.charCodeAt(at) ^ (1 << bit))}${
        base.slice(at + 1)
      }`
      const flipped = [...bits(hashOf(changed))].filter((each, place) => each !== before[place]).length
      // Of 128 bits half are expected, with a standard deviation of 5.7.
      assert.ok(flipped > 24 && flipped < 104, `${flipped} bits changed by bit ${bit} of unit ${at}`)
    }
  }
})

function* bits(hash: string): Generator<number> {
  for (let at = 0; at < hash.length; at++) for (let bit = 0; bit < 16; bit++) yield (hash.charCodeAt(at) >> bit) & 1
}
