/**
 * Tests that kubeconfigs of common tools are read, and that every result equals js-yaml's. A failure prints its seed.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CORE_SCHEMA, dump, load, mergeTag, YAMLException } from 'js-yaml'
import { readSimpleYaml } from '../../lib/config/simple_yaml.ts'
import { KUBECONFIGS } from './kubeconfig_layouts.ts'
import { tries } from '../tools/fuzz.ts'

/**
 * Returns js-yaml's result, or undefined where it throws. It requires the lines of a flow collection to be indented,
 * kubectl does not: if only that is wrong, adds spaces, which have no meaning there.
 */
function loaded(text: string): unknown {
  const lines = text.replaceAll('\r\n', '\n').split('\n')
  for (const _ of lines) {
    try {
      return load(lines.join('\n'), { schema: CORE_SCHEMA.withTags(mergeTag) })
    } catch (error) {
      const { reason, mark } = error as YAMLException
      if (reason !== 'deficient indentation' || mark === undefined) return undefined
      // The position is where the parser noticed, which may be after empty lines.
      lines[mark.line] = `${' '.repeat(60)}${lines[mark.line]}`
    }
  }
  return undefined
}

/** Returns the parsed value, or undefined if it is refused. */
function read(text: string): unknown {
  const answer = readSimpleYaml(text)
  return 'document' in answer ? answer.document : undefined
}

/** Asserts that the result is js-yaml's or none. Returns whether there is one. */
function agrees(text: string): boolean {
  const value = read(text)
  if (value === undefined) return false
  assert.deepEqual(value, loaded(text), `of ${JSON.stringify(text)}`)
  return true
}

for (const [tool, text] of Object.entries(KUBECONFIGS)) {
  test(`a kubeconfig of ${tool} is read`, () => {
    assert.ok(agrees(text))
    assert.ok(agrees(text.replaceAll('\n', '\r\n')), 'with CRLF')
    assert.ok(agrees(`\ufeff---\n# mine\n${text}# end`), 'with a byte order mark and comments')
  })
}

const TAKEN: readonly [text: string, value: unknown][] = [
  ['a:\n', { a: null }],
  ['a: # nothing\nb: ~\n', { a: null, b: null }],
  ['a:\n- b\n-\n- - c\n  - d: 1\n    e: 2\n', { a: ['b', null, ['c', { d: 1, e: 2 }]] }],
  ['a: {}\nb: [ ] # none\n', { a: {}, b: [] }],
  ['- --region\n- -1\n- a:b\n- http://h:1/#x # y\n', ['--region', -1, 'a:b', 'http://h:1/#x']],
  ['a: yes\nb: True\nc: 0x1f\nd: 1e3\ne: 1.30\nf: 2001-12-14\ng: 0o17\nh: 1e999\n', {
    a: 'yes',
    b: true,
    c: 31,
    d: 1000,
    e: 1.3,
    f: '2001-12-14',
    g: 15,
    h: '1e999',
  }],
  ['"a b": \'it\'\'s\'\n1: "\\u0041\\x42\\t\\/\\e"\nNull: "x" # y\n', { 'a b': "it's", 1: 'AB\t/\x1b', null: 'x' }],
  ['a: b\n  c\nd: "e\n\n  f\\\n  \\ g"\nh: \'\n\n  i\n\n  \'\n', { a: 'b c', d: 'e\nf g', h: '\ni\n' }],
  ['a: |\n  b\n\n   c\nd: |-\n  e\n\nf: |2\n\n   g\n', { a: 'b\n\n c\n', d: 'e', f: '\n g\n' }],
  ['a: >\n  b\n  c\n\n  d\n   e\n\n  f\n\ng: >- # h\n\n  i\nj: >2\n\n   k\n', {
    a: 'b c\nd\n e\n\nf\n',
    g: '\ni',
    j: '\n k\n',
  }],
  ['a:\n  b\n  c\nd:\n\n  "e" # f\ng:\n  {h: i}\nj: |  # k\n  l\n', { a: 'b c', d: 'e', g: { h: 'i' }, j: 'l\n' }],
  ['  a: 1\n  b: 2\n', { a: 1, b: 2 }],
  [' {a: 1\n}\n', { a: 1 }],
  ['-\n  a\n-\n b: 1\n', ['a', { b: 1 }]],
  ['{a: b, "c":d, \'e\' : [f, 1, "g", null,], h: , i, j:}', {
    a: 'b',
    c: 'd',
    e: ['f', 1, 'g', null],
    h: null,
    i: null,
    j: null,
  }],
  ['a: {b: https://c:1/#d, e: -1, f: g h#i, "j": {k: [{l: [[]]}]}} # m\n', {
    a: { b: 'https://c:1/#d', e: -1, f: 'g h#i', j: { k: [{ l: [[]] }] } },
  }],
  ['a: {\n  b: c, # d\n\n  # e, f: 1\n  g: "h\n    i"\n}\nj: [\nk,\nl\n] # m\nn: o\n', {
    a: { b: 'c', g: 'h i' },
    j: ['k', 'l'],
    n: 'o',
  }],
  ['a: {b:1, c}\n', { a: { 'b:1': null, c: null } }],
  ['a:\n  - {name: b, user: {token: c}}\n  - { name: d, user: { exec: { args: [--e, -f], env: [] } } }\n', {
    a: [{ name: 'b', user: { token: 'c' } }, { name: 'd', user: { exec: { args: ['--e', '-f'], env: [] } } }],
  }],
  ['__proto__: 1\nconstructor: 2\n', Object.fromEntries([['__proto__', 1], ['constructor', 2]])],
]

test('lists, mappings and scalars are read as js-yaml reads them', () => {
  for (const [text, value] of TAKEN) {
    assert.deepEqual(read(text), value, text)
    assert.ok(agrees(text), text)
  }
})

const REFUSED: readonly string[] = [
  'a',
  '"a"',
  ' a: 1\nb: 1',
  '  a: 1\n b: 1',
  'a: &b 1',
  'a: *b',
  'a: &b\n  c: 1',
  'a: !!str 1',
  '!a b: 1',
  '&a b: 1',
  '%YAML 1.2\n---\na: 1',
  '--- a: 1',
  '--- {a: 1}',
  'a: 1\n---\nb: 1',
  'a: 1\n...\n',
  'a:\tb',
  '\ta: 1',
  'a: 1\na: 2',
  '"a": 1\na: 2',
  'a: b: c',
  'a: "b" c',
  'a: "b',
  "a: 'b",
  'a: "b\nc"',
  'a: |+\n  b\n',
  'a: |\n',
  'a: >\n',
  'a: |\n   \n  b\n',
  'a: .inf',
  '? a\n: b',
  'a: b\n c: d',
  'a: b # c\n  d',
  'a: b\n  c # d',
  'a:\n  b: 1\n c: 2',
  'a:\n    b: 1\n  c: 2',
  'a: 1\n- b',
  '- a\nb: 1',
  'a: - b',
  'a: "\\q"',
  'a: "\\x4"',
  'a: @b',
  'a: `b',
  'a: b\r',
  'a: \x00',
  'a: \x85',
  'a: \u2028b',
  `${'- '.repeat(120)}a`,
  'a b: 1',
  '<<: 1',
  'a: 1\n\ufeffb: 1',
  '- &a b: 1',
  'a: &b &c 1',
  'a: &b 1\nc: &d *b',
  'a: &b [*b]',
  'a: &b 1\nc: &b\n  d: *b',
  'a: &b 1\nc: {<<: *b}',
  'a: &b 1\nc: *b d',
  '[a',
  'a: {b: 1',
  'a: {b: 1]',
  'a: [b}',
  'a: [b,,c]',
  'a: [,]',
  'a: {,}',
  'a: {b: 1, b: 2}',
  'a: {b: 1} c',
  'a: {b: 1}: c',
  '{a: 1}: b',
  '[a]: b',
  'a: [b: c]',
  'a: {? b}',
  'a: [-]',
  'a: [- b]',
  'a: [|\n b]',
  'a: {b: c\n  d: e}',
  'a: {b: c d: e}',
  'a: {b\n: c}',
  'a: {"b\n c": d}',
  'a: [b\n---\n]',
  'a: {b: "c\n...\n"}',
  'a: {b: c #d}',
  'a: [!t b]',
  'a: [&b c]',
  'a: ["\\q"]',
  `a: ${'['.repeat(120)}${']'.repeat(120)}`,
  'a: [b,#c\n]',
  'a: {b: c}\n d: e',
  '{a: 1}\nb: 1',
  ' {a: 1}\n b: 1',
  '{a: 1}\n{a: 1}',
]

test('unsupported YAML is refused', () => {
  for (const text of REFUSED) assert.equal(read(text), undefined, JSON.stringify(text))
})

test('a text with only comments is an empty document, as in kubectl', () => {
  for (const text of ['', '\n \n', '# a\n', '---\n# a', '\ufeff']) {
    assert.deepEqual(readSimpleYaml(text), { document: undefined }, text)
  }
})

test('the refused line is named', () => {
  const refused: Readonly<Record<string, number>> = {
    'a: 1\nb: !!str 1\nc: 2': 2,
    'a: 1\n\n# b\nc: {d: 1,\n  e: !f g,\n  h: 1}\n': 5,
    'a: 1\nb: {c: 1,\n\n  d: 2\n': 2,
    'a: 1\nb: "c\n  d': 2,
    'a: 1\nb: c\n\td: e': 3,
    'a:\n  b: 1\n c: 2': 3,
    'a: 1\n---\nb: 1': 2,
    'a: 1\nb: c\n  d\n  e: f': 2,
    'a: 1\r\nb: 2\r\na: 3\r\n': 3,
    'a: b\nc: *d': 2,
    '{a: 1,\n a: 2}': 2,
    'a: |\n  b\nc: |+\n  d\n': 3,
    '- a\n- b\nc: d': 3,
    'a: {b: 1}\n\nc: {d: 1}}\n': 3,
  }
  for (const [text, refusedLine] of Object.entries(refused)) {
    assert.deepEqual(readSimpleYaml(text), { refusedLine }, JSON.stringify(text))
  }
})

const scalar = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.string({ maxLength: 8 }),
  fc.string({ unit: 'grapheme', maxLength: 8 }),
  fc.string({ unit: fc.constantFrom('a', '1', ' ', '\n', '-', ':', '#', '"', "'", '\\', '.', 'é'), maxLength: 30 }),
  fc.lorem({ maxCount: 30 }),
  fc.base64String({ minLength: 100, maxLength: 300 }),
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
  flowLevel: fc.constantFrom(-1, -1, 0, 1, 2),
})

test('any dumped value is read as js-yaml reads it, or refused', () => {
  let count = 0
  fc.assert(
    fc.property(document, layout, (value, options) => {
      if (agrees(dump(value, options))) count++
    }),
    { numRuns: tries(1500) },
  )
  assert.ok(count > tries(1000), `only ${count} were read`)
})

/** Lines and fragments for layouts that no tool writes; single characters are those of a text. */
const piece = fc.constantFrom(
  ...`ab-:#"'\\|{}[],.~?1%@\n\n\t\ufeff\u2028\xa0\x85é😀`,
  ...['  ', '    ', '\n  ', '\n    ', '\n ', '\r\n', ' ', '-\n', '# c', ' # c', '- ', ': ', ', ', ',\n', '...', '---'],
  ...['a: ', 'b: ', 'c:', "''", '"a"', "'b'", '\\n', '\\\n', '"k": ', "'k' : ", '"a":', '<<: ', '__proto__: '],
  ...['|-', '|2', '|\n  ', '>', '>-\n', '{}', '[]', '{a: ', '[a, ', '}\n', ']\n', '\n}', ' b}', 'a: {', 'b: [', '- {'],
  ...['&a', '&a ', '&a\n', '*a', '*a ', '!t', '-1', '0x1', '1.5', 'null', 'true', '- a: 1\n', 'a: b\n', 'k:\n- v\n'],
)

test('any layout of fragments is read as js-yaml reads it, or refused', () => {
  let count = 0
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 14 }), (pieces) => {
      if (agrees(pieces.join(''))) count++
    }),
    { numRuns: tries(5000) },
  )
  assert.ok(count > tries(75), `only ${count} were read`)
})

const flowPiece = fc.constantFrom(
  ...`ac:,{}[] \n#-?"'\\1~|>%@\xa0é`,
  ...['b: ', ': ', '"d"', '"d":', "'e' ", ', ', ',\n', '{f: ', '[g, ', '\n  ', ' # h\n', '- '],
  ...['&i ', '*i', '*z', '!j '],
  ...['<<', '<<: ', '-1', 'null', 'true', '.inf', '---', '\n---\n', '...'],
)
const gap = fc.constantFrom('', ' ', '  ', '\n', '\n  ', ' # i, }\n', '\n\n')
const flow = fc.oneof(
  fc.array(flowPiece, { maxLength: 8 }).map((pieces) => `{b: ${pieces.join('')}}`),
  fc.array(flowPiece, { maxLength: 8 }).map((pieces) => `[${pieces.join('')}]`),
  fc.array(fc.tuple(flowPiece, flowPiece, gap), { maxLength: 4 }).map((all) =>
    `{${all.map(([key, value, space]) => `${key}: ${value},${space}`).join('')}}`
  ),
)

test('any flow collection of fragments is read as js-yaml reads it, or refused', () => {
  let count = 0
  const before = fc.constantFrom('', 'a: ', '- ', 'z:\n  - ')
  const after = fc.constantFrom('', '\n', ' # j', '\nk: l\n')
  fc.assert(
    fc.property(before, flow, after, (...parts) => {
      if (agrees(parts.join(''))) count++
    }),
    { numRuns: tries(5000) },
  )
  assert.ok(count > tries(750), `only ${count} were read`)
})

/** A value in flow style with a random layout, which must be read. */
const laidOut: fc.Arbitrary<string> = fc.letrec<{ node: string; text: string }>((tie) => {
  const comma = fc.tuple(gap, gap).map(([one, two]) => `${one},${two || ' '}`)
  const many = fc.array(tie('node'), { maxLength: 3 })
  return {
    text: fc.oneof(
      fc.constantFrom(
        'a',
        '1',
        '-1.5',
        'null',
        'https://b:6443/#c',
        'd e',
        "f'g",
        'h:i',
        'a=b',
        '--j',
        'arn:aws:x:1:c/dev',
      ),
      fc.string({ maxLength: 8 }).map((text) => JSON.stringify(text)),
      fc.constantFrom("''", "'a: {b}, # ''c'"),
    ),
    node: fc.oneof(
      { maxDepth: 4 },
      tie('text'),
      fc.tuple(many, comma, gap, gap).map(([items, between, open, close]) => `[${open}${items.join(between)}${close}]`),
      fc.tuple(many, comma, gap, gap).map(([values, between, open, close]) =>
        `{${open}${
          values.map((value, at) => [`k${at}: ${value}`, `"k${at}":${value}`, `'k${at}' : ${value}`][at]).join(between)
        }${close}}`
      ),
    ),
  }
}).node

test('flow collections are read in any layout', () => {
  fc.assert(fc.property(laidOut, (text) => assert.ok(agrees(`a: [${text} ]\n`), text)), {
    numRuns: tries(3000),
  })
})

test('a mutated kubeconfig is read as js-yaml reads it, or refused', () => {
  let count = 0
  const change = fc.record({ at: fc.double({ min: 0, max: 1, noNaN: true }), gone: fc.nat(6), put: piece })
  const texts = [...Object.values(KUBECONFIGS), ...TAKEN.map(([text]) => text)]
  fc.assert(
    fc.property(fc.constantFrom(...texts), fc.array(change, { minLength: 1, maxLength: 3 }), (text, changes) => {
      const changed = changes.reduce((now, { at, gone, put }) => {
        const from = Math.floor(at * now.length)
        return now.slice(0, from) + put + now.slice(from + gone)
      }, text)
      if (agrees(changed)) count++
    }),
    { numRuns: tries(1500) },
  )
  assert.ok(count > tries(75), `only ${count} were read`)
})
