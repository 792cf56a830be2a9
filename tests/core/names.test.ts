import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDomainName, isFinalizerName, isLabelText } from '../../lib/core/names.ts'

test('a domain name has labels of lower-case letters, digits and dashes, separated by dots, and at most 253 characters', () => {
  for (const name of ['a', '1', 'example.com', 'a-b.c0', `${'a'.repeat(126)}.${'b'.repeat(126)}`]) {
    assert.ok(isDomainName(name), name)
  }
  const others = ['', '.', 'a.', '.a', 'a..b', '-a', 'a-', 'a-.b', 'A', 'a_b', 'a/b', 'a\n', 'a'.repeat(254)]
  for (const name of others) assert.ok(!isDomainName(name), name)
})

test('a label value has letters, digits, "-", "_" and ".", begins and ends with a letter or digit, and has at most 63 characters', () => {
  for (const text of ['a', 'Z9', 'a-b_c.D', 'a'.repeat(63)]) assert.ok(isLabelText(text), text)
  for (const text of ['', '-a', 'a.', '_', 'a b', 'a/b', 'ä', 'a\n', 'a'.repeat(64)]) {
    assert.ok(!isLabelText(text), text)
  }
})

test('the name of a finalizer has a domain and a name', () => {
  const label = 'a'.repeat(63)
  for (const name of ['example.dev/cleanup', 'x/Y_z.1', `${label}/${label}`]) assert.ok(isFinalizerName(name), name)
  for (const name of ['', 'cleanup', '/a', 'a/', 'a/b/c', 'Example.dev/a', 'a/-b', `a/${label}a`, 'a/b\n']) {
    assert.ok(!isFinalizerName(name), name)
  }
})
