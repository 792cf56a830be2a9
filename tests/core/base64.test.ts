/** Base64 of UTF-8. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeBase64 } from '../../lib/core/base64.ts'

test('encodes the UTF-8 of any text', () => {
  const texts = ['', 'a', '\x00\x7f', '\x80', 'é', '{"a":"ü"}', '漢字 😀', 'x'.repeat(20_000), 'é'.repeat(20_000)]
  for (const text of texts) assert.equal(encodeBase64(text), Buffer.from(text).toString('base64'))
})
