/** Kubeconfigs as the usual tools lay them out are read; whatever else is answered is what js-yaml answers. A failure prints its seed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { dump, load } from 'js-yaml'
import { readSimpleYaml } from '../../lib/config/simple_yaml.ts'
import { KUBECONFIGS } from './kubeconfig_layouts.ts'

/** What js-yaml answers, or nothing where it refuses. */
function loaded(text: string): unknown {
  try {
    return load(text)
  } catch {
    return undefined
  }
}

/** Never another answer than js-yaml's. Answers whether there was one. */
function agrees(text: string): boolean {
  const value = readSimpleYaml(text)
  if (value === undefined) return false
  assert.deepEqual(value, loaded(text), `of ${JSON.stringify(text)}`)
  return true
}

for (const [tool, text] of Object.entries(KUBECONFIGS)) {
  test(`a kubeconfig as ${tool} writes it is read`, () => {
    assert.ok(agrees(text))
    assert.ok(agrees(text.replaceAll('\n', '\r\n')), 'with line ends of Windows')
    assert.ok(agrees(`\ufeff---\n# mine\n${text}# end`), 'with a mark at its start, and comments')
  })
}

const TAKEN: readonly [text: string, value: unknown][] = [
  ['a:\n', { a: null }],
  ['a: # nothing\nb: ~\n', { a: null, b: null }],
  ['a:\n- b\n-\n- - c\n  - d: 1\n    e: 2\n', { a: ['b', null, ['c', { d: 1, e: 2 }]] }],
  ['a: {}\nb: [ ] # none\n', { a: {}, b: [] }],
  ['- --region\n- -1\n- a:b\n- http://h:1/#x # y\n', ['--region', -1, 'a:b', 'http://h:1/#x']],
  ['a: yes\nb: True\nc: 0x1f\nd: 1e3\ne: 1.30\nf: 2001-12-14\ng: 0o17\nh: 1e999\n', {
    a: 'yes', b: true, c: 31, d: 1000, e: 1.3, f: '2001-12-14', g: 15, h: '1e999',
  }],
  ['"a b": \'it\'\'s\'\n1: "\\u0041\\x42\\t\\/"\nNull: "x" # y\n', { 'a b': "it's", 1: 'AB\t/', null: 'x' }],
  ['a: b\n  c\nd: "e\n\n  f\\\n  \\ g"\nh: \'\n\n  i\n\n  \'\n', { a: 'b c', d: 'e\nf g', h: '\ni\n' }],
  ['a: |\n  b\n\n   c\nd: |-\n  e\n\nf: |2\n\n   g\n', { a: 'b\n\n c\n', d: 'e', f: '\n g\n' }],
  ['__proto__: 1\nconstructor: 2\n', Object.fromEntries([['__proto__', 1], ['constructor', 2]])],
]

test('lists, mappings and scalars are read as js-yaml reads them', () => {
  for (const [text, value] of TAKEN) {
    assert.deepEqual(readSimpleYaml(text), value, text)
    assert.ok(agrees(text), text)
  }
})

const REFUSED: readonly string[] = [
  '', '# nothing', 'a', '"a"', '{a: 1}', '[a]', ' a: 1', 'a: &b 1', 'a: *b', 'a: !!str 1', '!a b: 1', '&a b: 1', '%YAML 1.2\n---\na: 1',
  '--- a: 1', 'a: 1\n---\nb: 1', 'a: 1\n...\n', 'a:\tb', '\ta: 1', 'a: 1\na: 2', '"a": 1\na: 2', 'a: b: c', 'a: "b" c', 'a: "b', "a: 'b",
  'a: "b\nc"', 'a: [b', 'a: {b: 1}', 'a: >\n  b\n', 'a: |+\n  b\n', 'a: |\n', 'a: |\n   \n  b\n', 'a: .inf', '? a\n: b', 'a: b\n c: d',
  'a: b # c\n  d', 'a: b\n  c # d', 'a:\n  b: 1\n c: 2', 'a:\n    b: 1\n  c: 2', 'a: 1\n- b', '- a\nb: 1', 'a: - b', 'a: "\\q"',
  'a: "\\x4"', 'a: @b', 'a: `b', 'a:\n  b', 'a:\n  "b"', 'a: b\r', 'a: \x00', 'a: \x85', 'a: \u2028b', `${'- '.repeat(120)}a`, 'a b: 1',
  '<<: 1', 'a: 1\n\ufeffb: 1',
]

test('what is beyond is refused, not guessed at', () => {
  for (const text of REFUSED) assert.equal(readSimpleYaml(text), undefined, JSON.stringify(text))
})

const scalar = fc.oneof(
  fc.constant(null), fc.boolean(), fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.string({ maxLength: 8 }), fc.string({ unit: 'grapheme', maxLength: 8 }),
  fc.string({ unit: fc.constantFrom('a', '1', ' ', '\n', '-', ':', '#', '"', "'", '\\', '.', 'é'), maxLength: 30 }),
  fc.lorem({ maxCount: 30 }), fc.base64String({ minLength: 100, maxLength: 300 }),
)
const usual = fc.constantFrom('name', 'user', 'certificate-authority-data', 'a/b.c', '1', 'true', '__proto__')
const key = fc.oneof(usual, fc.string({ maxLength: 6 }))
const { document } = fc.letrec<{ value: unknown; document: unknown }>((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, scalar, tie('document')),
  document: fc.oneof(fc.dictionary(key, tie('value'), { maxKeys: 4 }), fc.array(tie('value'), { maxLength: 4 })),
}))
const layout = fc.record({
  indent: fc.integer({ min: 1, max: 5 }),
  seqNoIndent: fc.boolean(),
  lineWidth: fc.constantFrom(20, 80, -1),
  forceQuotes: fc.boolean(),
})

test('whatever is dumped is read as js-yaml reads it, or refused', () => {
  let read = 0
  fc.assert(fc.property(document, layout, (value, options) => {
    if (agrees(dump(value, options))) read++
  }), { numRuns: 5000 })
  assert.ok(read > 1000, `only ${read} were read`)
})

/** Lines and pieces from which layouts are made that nobody dumps. */
const piece = fc.constantFrom(
  'a', 'b', 'a: ', 'b: ', 'c:', '- ', '-', ' ', '  ', '    ', '\n', '\n', '\n  ', '\n    ', '# c', ' # c', '"', "'", "''", '"a"', "'b'",
  '\\', '\\n', '\\\n', ':', '|', '|-', '|2', '|\n  ', '>', '{}', '[]', '{', '}', '[', ']', ',', '&a', '*a', '!t', '---', '...', '?', '1',
  '-1', '0x1', '1.5', '.', '~', 'null', 'true', '%', '@', '\t', '\r\n', '\ufeff', '\u2028', '\xa0', '\x85', 'é', '😀', '<<: ',
  '__proto__: ', '"k": ', "'k' : ", '- a: 1\n', 'a: b\n', 'k:\n- v\n',
)

test('whatever is put together by hand is read as js-yaml reads it, or refused', () => {
  let read = 0
  fc.assert(fc.property(fc.array(piece, { maxLength: 14 }), (pieces) => {
    if (agrees(pieces.join(''))) read++
  }), { numRuns: 20_000 })
  assert.ok(read > 300, `only ${read} were read`)
})

test('a kubeconfig that was changed somewhere is read as js-yaml reads it, or refused', () => {
  let read = 0
  const change = fc.record({ at: fc.double({ min: 0, max: 1, noNaN: true }), gone: fc.nat(6), put: piece })
  const texts = [...Object.values(KUBECONFIGS), ...TAKEN.map(([text]) => text)]
  fc.assert(fc.property(fc.constantFrom(...texts), fc.array(change, { minLength: 1, maxLength: 3 }), (text, changes) => {
    const changed = changes.reduce((now, { at, gone, put }) => {
      const from = Math.floor(at * now.length)
      return now.slice(0, from) + put + now.slice(from + gone)
    }, text)
    if (agrees(changed)) read++
  }), { numRuns: 5000 })
  assert.ok(read > 300, `only ${read} were read`)
})
