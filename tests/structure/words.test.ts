import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readTree } from '../tools/tree.ts'
import { PHRASES, phrasesIn, testNames, wideComments, WIDEST } from './words.ts'

test('lib, mod.ts, README and docs have no banned phrases', () => {
  const files = readTree(['lib', 'mod.ts', 'README.md', 'docs'], /\.(?:ts|js|md)$/)
  assert.ok(files.has('README.md') && files.has('docs/client.md') && files.has('mod.ts'))
  const remedy = `write plain technical English instead of: ${PHRASES.join(', ')}`
  assert.deepEqual(found(files, phrasesIn), {}, remedy)
})

test('the names of tests have no banned phrases', () => {
  assert.deepEqual(found(readTree(['tests'], /\.ts$/), (text) => phrasesIn(testNames(text))), {})
})

test(`comments in lib are at most ${WIDEST} columns wide`, () => {
  const wide = [...readTree(['lib', 'mod.ts'], /\.(?:ts|js)$/)].flatMap(([path, text]) =>
    wideComments(text).map((line) => `${path}:${line}`)
  )
  assert.deepEqual(wide, [], 'break these lines: the formatter leaves comments as they are')
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

/** The files in which `count` finds something, and how much. */
function found(files: ReadonlyMap<string, string>, count: (text: string) => number): Record<string, number> {
  return Object.fromEntries([...files].map(([path, text]) => [path, count(text)] as const).filter(([, n]) => n > 0))
}
