/** Cases of request bodies: malformed JSON, YAML, media types. */
import assert from 'node:assert/strict'
import { type Case, caseOf } from './api.ts'
import { casesOf, cm, type Script, script, type Step } from './transcript.ts'

/** Bodies that are not JSON. */
const MALFORMED: readonly (readonly [name: string, body: string])[] = [
  ['empty', ''],
  ['spaces', '  '],
  ['an open object', '{"a":'],
  ['an open text', '{"a":"b'],
  ['an open list', '[1,'],
  ['a truncated object', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{}'],
  ['trailing text', '{"apiVersion":"v1","kind":"ConfigMap"} x'],
  ['a second object', '{"apiVersion":"v1","kind":"ConfigMap"}{}'],
  ['a word', 'hello'],
  ['a key without quotes', '{a:1}'],
  ['a comma at the end', '{"a":1,}'],
  ['single quotes', "{'a':1}"],
  ['a tab in a text', '{"a":"\t"}'],
  ['a control character', '{"a":"\u0001"}'],
  ['an unknown escape', '{"a":"\\q"}'],
  ['a short escape', '{"a":"\\u12"}'],
  ['a leading zero', '{"a":01}'],
  ['a lone minus', '{"a":-}'],
  ['no decimals', '{"a":1.}'],
  ['no exponent', '{"a":1e}'],
  ['half a literal', '{"a":nul}'],
  ['a truncated literal', 'tru'],
  ['no colon', '{"a" 1}'],
  ['no comma in a list', '[1 2]'],
  ['a byte order mark', '\ufeff{}'],
  ['deep nesting', `{"apiVersion":"v1","kind":"ConfigMap","data":${'['.repeat(10_001)}${']'.repeat(10_001)}}`],
  ['a list', '[]'],
  ['a number', '1'],
  ['a text', '"abc"'],
  ['a truth value', 'true'],
  ['a numeric kind', '{"kind":1}'],
  ['an object as version', '{"apiVersion":{}}'],
]

const YAML = { type: 'application/yaml' }

function yaml(name: string, rest = ''): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n${rest}`
}

/** YAML documents of ConfigMaps. */
const DOCUMENTS: readonly (readonly [name: string, document: string])[] = [
  ['block mappings', yaml('a', 'data:\n  a: "1"\n')],
  ['a second document, which is ignored', yaml('a', '---\na: b: c\n')],
  ['a document start and a comment', `# c\n---\n${yaml('a', 'data: {a: x} # d\n')}`],
  ['an anchor and an alias', yaml('a', 'data:\n  a: &x "1"\n  b: *x\n')],
  ['JSON', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"\\u00e9"}}'],
  ['block texts', yaml('a', 'data:\n  a: |\n    x\n    y\n  b: >-\n    z\n    w\n')],
  ['a date, which is a text', yaml('a', 'data:\n  a: 2020-01-01\n')],
  ['keys that are not texts', yaml('a', 'data:\n  yes: a\n  1: b\n  2.5: c\n')],
  ['an unknown tag', yaml('a', 'data:\n  a: !foo x\n')],
  ['quoted numbers', yaml('a', `data:\n  a: '1'\n  b: "yes"\n  c: !!str 2\n`)],
]

/** A YAML document that cannot be read, and the message. */
const UNREADABLE: readonly (readonly [name: string, document: string])[] = [
  ['nested mappings in a line', 'a: b: c\n'],
  ['an unknown alias', 'a: *nope\n'],
  ['a reserved character', '@a\n'],
  ['a tag that does not fit', 'a: !!int x\n'],
  ['an open flow mapping', '{a: b\n'],
  ['an open text', '"abc\n'],
  ['a tab as indentation', 'a:\n\t- b\n'],
  ['a mapping after a list', '- a\nb: c\n'],
  ['text after a quoted text', 'k: "a" b\n'],
  ['a wrong bracket', 'kind: [}'],
  ['infinity', 'a: .inf\n'],
  ['a list', '- a\n'],
  ['a numeric kind', 'kind: 1\n'],
]

/** A body of a delete, and the message of the error. */
const OPTIONS: readonly string[] = [
  '{',
  '[]',
  '{"kind":1}',
  '{"kind":"Foo","apiVersion":"v1"}',
  '{"gracePeriodSeconds":"a"}',
]

const REPEATED = yaml('a', 'data:\n  a: "1"\n  a: "2"\n')

export const BODY_CASES: readonly Case[] = casesOf('wire_bodies', [
  ...MALFORMED.map(([name, body]): Script => ({
    name: `a JSON body is refused: ${name}`,
    steps: [['POST cm', body], ['POST foos', body], 'GET cm', 'GET foos'],
  })),
  script('null is an empty object, which a custom kind refuses', [
    ['POST cm', 'null'],
    ...['null', '{}'].map((body): Step => ['POST foos', body]),
  ]),
  script('invalid UTF-8 is replaced', [
    [
      'POST cm ? data',
      new TextEncoder().encode('{"metadata":{"name":"a"},"data":{"a":"__"}}').map((byte) =>
        byte === '_'.charCodeAt(0) ? 0xff : byte
      ),
    ],
  ]),
  caseOf('a body above 3 MiB is too large', async (api) => {
    const body = JSON.stringify(api.configMap('a', { a: 'x'.repeat(3 * 1024 * 1024) }))
    for (const path of [api.configMaps, api.foos]) {
      const status = await api.refused(413, 'RequestEntityTooLarge', 'POST', path, body)
      assert.equal(status.message, 'Request entity too large: limit is 3145728')
      assert.equal(status.details, undefined)
    }
  }),
  ...['text/plain', 'application/cbor', 'garbage', 'application/json;;', 'application/json; charset'].map((
    type,
  ): Script => ({
    name: `the media type "${type}" is not supported`,
    steps: ['POST cm', 'POST foos', 'DELETE cm/a'].map((line): Step => [line, '{}', { type }]),
  })),
  ...['application/json; charset=utf-8', 'APPLICATION/JSON', 'application/json;a="b;c"', ''].map((type): Script => ({
    name: `the media type "${type}" is JSON`,
    steps: [['POST cm', cm('a'), { headers: { 'content-type': type } }]],
  })),
  ...DOCUMENTS.map(([name, document]): Script => ({
    name: `a YAML body has ${name}`,
    steps: [
      ['POST cm ? data metadata.resourceVersion', document, YAML],
      ['PUT cm/a ? metadata.resourceVersion', document, { type: 'application/yaml; charset=utf-8' }],
      ['APPLY cm/a?fieldManager=m ? data', document],
    ],
  })),
  script('YAML merges mappings', [
    [
      'POST cm ? metadata.annotations',
      `${yaml('a')}  labels: &l\n    a: b\n    c: d\n  annotations:\n    <<: *l\n    c: e\n`,
      YAML,
    ],
  ]),
  caseOf('YAML values are those of YAML 1.1', async (api) => {
    const values =
      'a: 1\n    b: yes\n    c: 1.50\n    d: 1e3\n    e: 2020-01-01\n    f: 0777\n    g: 0o7\n    h: off\n' +
      '    i: 1_000\n    j: 0x1F\n    k: "on"\n    l: 1:30\n    m: .5\n    x: "1"\n    o: =\n    p: 0b11\n    q: +1\n    r: -0x10\n'
    const document =
      `apiVersion: ${api.group}/v1\nkind: Foo\nmetadata:\n  name: a\nspec:\n  size: 1\n  free:\n    ${values}`
    const { spec } = await api.expect(201, 'POST', api.foos, document, YAML)
    assert.deepEqual(spec.free, {
      a: 1,
      b: true,
      c: 1.5,
      d: 1000,
      e: '2020-01-01',
      f: 511,
      g: 7,
      h: false,
      i: 1000,
      j: 31,
      k: 'on',
      l: '1:30',
      m: 0.5,
      x: '1',
      o: '=',
      p: 3,
      q: 1,
      r: -16,
    })
  }),
  script('an empty YAML body is an empty object', [
    ...['', 'null\n', '# comment\n', '---\n'].map((body): Step => ['POST cm', body, YAML]),
    ['POST foos', 'spec: 1\n', YAML],
  ]),
  script('repeated keys of YAML are warned of, and refused by strict validation', [
    ['POST cm?dryRun=All ? data', REPEATED, YAML],
    ['POST cm?fieldValidation=Strict', REPEATED, YAML],
    ['APPLY cm/a?fieldManager=m&fieldValidation=Strict', REPEATED],
    'GET cm',
  ]),
  ...UNREADABLE.map(([name, document]): Script => ({
    name: `a YAML body is refused: ${name}`,
    steps: [['POST cm', document, YAML], ['POST foos', document, YAML]],
  })),
  script('aliases that multiply are refused', [
    [
      'POST cm',
      yaml(
        'a',
        `data:\n${
          Array.from(
            { length: 9 },
            (_, i) => `  k${i}: &a${i} [${Array(10).fill(i === 0 ? 'x' : `*a${i - 1}`).join(', ')}]`,
          ).join('\n')
        }\n`,
      ),
      YAML,
    ],
  ]),
  script('an apply of something else than an object is refused', [
    ...['a: b: c', '- a'].map((body): Step => ['APPLY cm/a?fieldManager=m', body]),
    'GET cm',
  ]),
  ...OPTIONS.map((body): Script => ({
    name: `the options of a delete are refused: ${body}`,
    steps: [
      ['POST cm', cm('a')],
      ...['DELETE cm/a', 'DELETE cm', 'DELETE foos/none'].map((line): Step => [line, body]),
      'GET cm/a',
    ],
  })),
  script('the options of a delete may be of any version, and YAML', [
    ...[
      'null',
      '{}',
      '{"kind":"DeleteOptions"}',
      '{"kind":"DeleteOptions","apiVersion":"apps/v1"}',
      '{"nope":1}',
    ].flatMap((body): Step[] => [['POST cm', cm('a')], ['DELETE cm/a', body]]),
    ['POST cm', cm('a')],
    ['DELETE cm/a', 'kind: DeleteOptions\napiVersion: v1\npreconditions:\n  uid: other\n', YAML],
  ]),
])
