import assert from 'node:assert/strict'
import { test } from 'node:test'
import { printable } from '../../lib/core/printable.ts'

test('text is unchanged, with its lines, tabs and letters', () => {
  for (const text of ['', 'plain', 'two\nlines\r\n\tand a tab', 'grün € 🙂 \u00a0', '{"json":"\\u001b"}']) {
    assert.equal(printable(text), text)
  }
})

test('control characters are escaped, and colours removed', () => {
  assert.equal(printable('a\x1b[2Jb'), 'a\\u001b[2Jb')
  assert.equal(printable('secret\rpublic'), 'secret\\u000dpublic')
  assert.equal(printable('\x1b[1;31mred\x1b[0m'), 'red')
  assert.equal(printable('\x1b]0;title\x07'), '\\u001b]0;title\\u0007')
  assert.equal(printable('\0\b\x0b\x7f\x9b2J'), '\\u0000\\u0008\\u000b\\u007f\\u009b2J')
  assert.equal(JSON.parse(printable(JSON.stringify({ a: '\x1b[2J\x7f\x9b2J' }))).a, '\x1b[2J\x7f\x9b2J')
  // Removing a colour inside an escape sequence does not leave a sequence.
  assert.equal(printable('\x1b\x1b[0m[2J'), '\\u001b[2J')
})
