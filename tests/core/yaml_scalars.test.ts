import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plainScalar } from '../../lib/core/yaml_scalars.ts'

/** The words of YAML 1.1, in the three spellings that it has. */
const spelled = (words: readonly string[]): string[] =>
  words.flatMap((word) => [word, `${word[0]!.toUpperCase()}${word.slice(1)}`, word.toUpperCase()])

for (
  const [value, words] of [
    [true, spelled(['y', 'yes', 'true', 'on'])],
    [false, spelled(['n', 'no', 'false', 'off'])],
    [null, ['', '~', ...spelled(['null'])]],
  ] as const
) {
  test(`each word for ${value} is read as such, and no other spelling`, () => {
    for (const word of words) assert.equal(plainScalar(word), value, word)
    for (const word of ['yEs', 'oFF', 'nULL', 'truE', 'yes ', 'none']) assert.equal(plainScalar(word), word)
  })
}
