/** Cases of request bodies: malformed JSON, YAML, media types. */
import assert from 'node:assert/strict'
import { type Case, caseOf } from './api.ts'
import { casesOf, cm, script, type Step } from './transcript.ts'

/** Bodies that are not JSON, or no object of the kind. */
const MALFORMED: readonly (string | Uint8Array)[] = [
  '',
  '{"a":',
  '{"apiVersion":"v1","kind":"ConfigMap"} x',
  'hello',
  '{"a":"\t"}',
  '\ufeff{}',
  new TextEncoder().encode('\ufeff{}'),
  `{"apiVersion":"v1","kind":"ConfigMap","data":${'['.repeat(10_001)}${']'.repeat(10_001)}}`,
  '[]',
  '1',
  '"abc"',
  '{"kind":1}',
  '{"apiVersion":{}}',
]

const YAML = { type: 'application/yaml' }

function yaml(name: string, rest = ''): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n${rest}`
}

/** YAML documents of ConfigMaps. */
const DOCUMENTS: readonly string[] = [
  yaml('a', 'data:\n  a: "1"\n'),
  yaml('a', '---\na: b: c\n'),
  `# c\n---\n${yaml('a', 'data: {a: x} # d\n')}`,
  yaml('a', 'data:\n  a: &x "1"\n  b: *x\n'),
  '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"\\u00e9"}}',
  yaml('a', 'data:\n  a: |\n    x\n    y\n  b: >-\n    z\n    w\n'),
  yaml('a', 'data:\n  a: 2020-01-01\n'),
  yaml('a', 'data:\n  yes: a\n  1: b\n  2.5: c\n'),
  yaml('a', `data:\n  a: '1'\n  b: "yes"\n  c: !!str 2\n`),
]

/** YAML documents that cannot be read, or are no object. */
const UNREADABLE: readonly string[] = ['a: b: c\n', 'a: *nope\n', '{a: b\n', 'a: .inf\n', '- a\n', 'kind: 1\n']

/** A body of a delete, and the message of the error. */
const OPTIONS: readonly string[] = [
  '{',
  '[]',
  '{"kind":1}',
  '{"kind":"Foo","apiVersion":"v1"}',
  '{"gracePeriodSeconds":"a"}',
]

export const BODY_CASES: readonly Case[] = casesOf('wire_bodies', [
  script('a malformed JSON body is refused', [
    ...MALFORMED.flatMap((body): Step[] => [['POST cm', body], ['POST foos', body]]),
    'GET cm',
    'GET foos',
  ]),
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
  script('a media type is not supported, or not well-formed', [
    ...['text/plain', 'application/cbor', 'garbage', 'application/json;;'].flatMap((type) =>
      ['POST cm', 'POST foos', 'DELETE cm/a'].map((line): Step => [line, '{}', { type }])
    ),
  ]),
  script('a media type is JSON', [
    ...['application/json; charset=utf-8', 'APPLICATION/JSON', 'application/json;a="b;c"', ''].map((type): Step => [
      'POST cm?dryRun=All',
      cm('a'),
      { headers: { 'content-type': type } },
    ]),
  ]),
  script('YAML bodies', [
    ...DOCUMENTS.flatMap((document): Step[] => [
      ['POST cm?dryRun=All ? data', document, YAML],
      ['APPLY cm/a?fieldManager=m&dryRun=All ? data', document],
    ]),
  ]),
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
  script(
    'a YAML body is refused',
    UNREADABLE.flatMap((body): Step[] => [['POST cm', body, YAML], ['POST foos', body, YAML]]),
  ),
  script('an apply of something else than an object is refused', [
    ...['a: b: c', '- a'].map((body): Step => ['APPLY cm/a?fieldManager=m', body]),
    'GET cm',
  ]),
  script('the options of a delete are refused', [
    ['POST cm', cm('a')],
    ...OPTIONS.flatMap((body) => ['DELETE cm/a', 'DELETE cm', 'DELETE foos/none'].map((line): Step => [line, body])),
    'GET cm/a',
  ]),
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
