import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readTree } from '../tools/tree.ts'
import { above, byFolder, PHRASES, phrasesIn, testNames, wideComments, WIDEST } from './words.ts'

/** How many banned phrases a folder may have. These figures may only shrink; a folder that is not here may have none. */
const PHRASES_ALLOWED: Readonly<Record<string, number>> = {
  'lib/apiserver': 18,
  'lib/async': 6,
  'lib/cache': 31,
  'lib/client': 11,
  'lib/config': 11,
  'lib/controller': 24,
  'lib/core': 5,
  'lib/events': 8,
  'lib/leader': 19,
  'lib/observe': 10,
  'lib/queue': 2,
  'lib/runtime': 21,
  'lib/schema': 4,
  'mod.ts': 1,
}

/** The same, of the names of tests. */
const PHRASES_ALLOWED_IN_NAMES: Readonly<Record<string, number>> = {
  'tests/async': 4,
  'tests/build': 1,
  'tests/cache': 22,
  'tests/client': 11,
  'tests/config': 3,
  'tests/controller': 16,
  'tests/core': 2,
  'tests/e2e': 1,
  'tests/events': 2,
  'tests/examples': 2,
  'tests/leader': 10,
  'tests/observe': 2,
  'tests/queue': 3,
  'tests/runtime': 4,
  'tests/schema': 1,
  'tests/structure': 1,
}

/** How many lines of comments may be wider than the formatter allows code. These figures may only shrink, too. */
const WIDE_ALLOWED: Readonly<Record<string, number>> = {
  'lib/apiserver': 18,
  'lib/async': 5,
  'lib/cache': 69,
  'lib/client': 55,
  'lib/config': 27,
  'lib/controller': 52,
  'lib/core': 49,
  'lib/events': 20,
  'lib/leader': 34,
  'lib/observe': 15,
  'lib/queue': 22,
  'lib/runtime': 54,
  'lib/schema': 29,
  'lib/simcluster': 1,
}

test('lib, mod.ts, README and docs have no more banned phrases than their folders may have', () => {
  const files = readTree(['lib', 'mod.ts', 'README.md', 'docs'], /\.(?:ts|js|md)$/)
  assert.ok(files.has('README.md') && files.has('docs/client.md') && files.has('mod.ts'))
  const remedy = `write plain technical English instead of: ${PHRASES.join(', ')}`
  assert.deepEqual(above(byFolder(files, phrasesIn), PHRASES_ALLOWED), [], remedy)
})

test('the names of tests have no more banned phrases than their folders may have', () => {
  const found = byFolder(readTree(['tests'], /\.ts$/), (text) => phrasesIn(testNames(text)))
  assert.deepEqual(above(found, PHRASES_ALLOWED_IN_NAMES), [])
})

test(`comments in lib are at most ${WIDEST} columns wide, but for those that were there`, () => {
  const found = byFolder(readTree(['lib', 'mod.ts'], /\.(?:ts|js)$/), (text) => wideComments(text).length)
  assert.deepEqual(above(found, WIDE_ALLOWED), [])
})

test('a phrase is found as words of their own, in any case, and across the lines of a comment', () => {
  // Put together here, so that this file has none.
  const word = ['some', 'body'].join('')
  assert.equal(phrasesIn(`// S${word.slice(1)} else, ${word}, ${word}s, any${word}`), 2)
  const [first, ...rest] = 'that is none'.split(' ')
  assert.equal(phrasesIn(`/**\n * A value ${first} ${rest[0]}\n * ${rest[1]}.\n */`), 1)
  assert.equal(phrasesIn(`  // A value ${first}\n  // ${rest.join(' ')}.`), 1)
  assert.equal(phrasesIn(`/** ${first} */\n${rest.join(' ')}`), 0)
})

test('of a test, its name counts, whatever the quotes; of a line, its characters', () => {
  assert.equal(
    testNames(`test('a \\' b', f)\nit(\n  "c", f)\nconst d = contest('e')\ndescribe(\`f\`, g)`),
    "a \\' b\nc\nf",
  )
  const wide = '—'.repeat(WIDEST - 3)
  assert.deepEqual(wideComments([`// ${wide}`, `// ${wide}x`, ` * ${wide}x`, `x // ${wide}x`].join('\n')), [2, 3])
  assert.deepEqual(wideComments([` * @see https://${wide}`, ` * | ${wide} |`, ` * x | ${wide}`].join('\n')), [3])
})

test('a folder that the table has not may have none, and one with fewer than it may have passes', () => {
  assert.deepEqual(
    byFolder(new Map([['lib/a/b/c.ts', ''], ['lib/a/d.ts', ''], ['docs/e.md', ''], ['mod.ts', '']]), () => 1),
    {
      'lib/a': 2,
      docs: 1,
      'mod.ts': 1,
    },
  )
  assert.deepEqual(above({ a: 2, b: 1, c: 1 }, { a: 1, b: 2 }), ['a: 2, at most 1', 'c: 1, at most 0'])
})
