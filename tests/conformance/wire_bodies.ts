/** Cases of request bodies: malformed JSON, YAML, media types. */
import assert from 'node:assert/strict'
import { type Api, APPLY, type Body, type Case } from './api.ts'

const STRUCT = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
const CONFIG = '{"apiVersion":"v1","kind":"Con ...'
const ACCEPTED = 'the body of the request was in an unknown format - accepted media types include: ' +
  'application/json, application/yaml, application/vnd.kubernetes.protobuf'

/** A body that is not JSON, Go's message, and what the message shows of the body. */
const MALFORMED: readonly (readonly [name: string, body: string, message: string, shown: string])[] = [
  ['empty', '', 'unexpected end of JSON input', '<empty>'],
  ['spaces', '  ', 'unexpected end of JSON input', '2020'],
  ['an open object', '{"a":', 'unexpected end of JSON input', '{"a":'],
  ['an open text', '{"a":"b', 'unexpected end of JSON input', '{"a":"b'],
  ['an open list', '[1,', 'unexpected end of JSON input', '5b312c'],
  ['a truncated object', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{}', 'unexpected end of JSON input', CONFIG],
  ['trailing text', '{"apiVersion":"v1","kind":"ConfigMap"} x', "invalid character 'x' after top-level value", CONFIG],
  [
    'a second object',
    '{"apiVersion":"v1","kind":"ConfigMap"}{}',
    "invalid character '{' after top-level value",
    CONFIG,
  ],
  ['a word', 'hello', "invalid character 'h' looking for beginning of value", '68656c6c6f'],
  ['a key without quotes', '{a:1}', "invalid character 'a' looking for beginning of object key string", '{a:1}'],
  ['a comma at the end', '{"a":1,}', "invalid character '}' looking for beginning of object key string", '{"a":1,}'],
  ['single quotes', "{'a':1}", "invalid character '\\'' looking for beginning of object key string", "{'a':1}"],
  ['a tab in a text', '{"a":"\t"}', "invalid character '\\t' in string literal", '{"a":"\t"}'],
  ['a control character', '{"a":"\u0001"}', "invalid character '\\x01' in string literal", '{"a":"\u0001"}'],
  ['an unknown escape', '{"a":"\\q"}', "invalid character 'q' in string escape code", '{"a":"\\q"}'],
  ['a short escape', '{"a":"\\u12"}', `invalid character '"' in \\u hexadecimal character escape`, '{"a":"\\u12"}'],
  ['a leading zero', '{"a":01}', "invalid character '1' after object key:value pair", '{"a":01}'],
  ['a lone minus', '{"a":-}', "invalid character '}' in numeric literal", '{"a":-}'],
  ['no decimals', '{"a":1.}', "invalid character '}' after decimal point in numeric literal", '{"a":1.}'],
  ['no exponent', '{"a":1e}', "invalid character '}' in exponent of numeric literal", '{"a":1e}'],
  ['half a literal', '{"a":nul}', "invalid character '}' in literal null (expecting 'l')", '{"a":nul}'],
  ['a truncated literal', 'tru', "invalid character ' ' in literal true (expecting 'e')", '747275'],
  ['no colon', '{"a" 1}', "invalid character '1' after object key", '{"a" 1}'],
  ['no comma in a list', '[1 2]', "invalid character '2' after array element", '5b3120325d'],
  ['a byte order mark', '\ufeff{}', "invalid character 'ï' looking for beginning of value", 'efbbbf7b7d'],
  [
    'deep nesting',
    `{"apiVersion":"v1","kind":"ConfigMap","data":${'['.repeat(10_001)}${']'.repeat(10_001)}}`,
    "invalid character '[' exceeded max depth",
    CONFIG,
  ],
  ['a list', '[]', `json: cannot unmarshal array into Go value of type ${STRUCT}`, '5b5d'],
  ['a number', '1', `json: cannot unmarshal number into Go value of type ${STRUCT}`, '31'],
  ['a text', '"abc"', `json: cannot unmarshal string into Go value of type ${STRUCT}`, '2261626322'],
  ['a truth value', 'true', `json: cannot unmarshal bool into Go value of type ${STRUCT}`, '74727565'],
  [
    'a numeric kind',
    '{"kind":1}',
    'json: cannot unmarshal number into Go struct field .kind of type string',
    '{"kind":1}',
  ],
  [
    'an object as version',
    '{"apiVersion":{}}',
    'json: cannot unmarshal object into Go struct field .apiVersion of type string',
    '{"apiVersion":{}}',
  ],
]

const YAML = { type: 'application/yaml' }

function yaml(name: string, rest = ''): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n${rest}`
}

/** A YAML document, and the data that the ConfigMap then has. */
const DOCUMENTS: readonly (readonly [name: string, document: string, data: Body])[] = [
  ['block mappings', yaml('a', 'data:\n  a: "1"\n'), { a: '1' }],
  ['a second document, which is ignored', yaml('a', '---\na: b: c\n'), undefined],
  ['a document start and a comment', `# c\n---\n${yaml('a', 'data: {a: x} # d\n')}`, { a: 'x' }],
  ['an anchor and an alias', yaml('a', 'data:\n  a: &x "1"\n  b: *x\n'), { a: '1', b: '1' }],
  ['JSON', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"\\u00e9"}}', { a: 'é' }],
  ['block texts', yaml('a', 'data:\n  a: |\n    x\n    y\n  b: >-\n    z\n    w\n'), { a: 'x\ny\n', b: 'z w' }],
  ['a date, which is a text', yaml('a', 'data:\n  a: 2020-01-01\n'), { a: '2020-01-01' }],
  ['keys that are not texts', yaml('a', 'data:\n  yes: a\n  1: b\n  2.5: c\n'), { true: 'a', 1: 'b', 2.5: 'c' }],
  ['an unknown tag', yaml('a', 'data:\n  a: !foo x\n'), { a: 'x' }],
  ['quoted numbers', yaml('a', `data:\n  a: '1'\n  b: "yes"\n  c: !!str 2\n`), { a: '1', b: 'yes', c: '2' }],
]

/** A YAML document that cannot be read, and the message. */
const UNREADABLE: readonly (readonly [name: string, document: string, message: string])[] = [
  ['nested mappings in a line', 'a: b: c\n', 'yaml: mapping values are not allowed in this context (613a20623a20630a)'],
  ['an unknown alias', 'a: *nope\n', "yaml: unknown anchor 'nope' referenced (613a202a6e6f70650a)"],
  ['a reserved character', '@a\n', 'yaml: found character that cannot start any token (40610a)'],
  ['a tag that does not fit', 'a: !!int x\n', 'yaml: cannot decode !!str `x` as a !!int (613a202121696e7420780a)'],
  ['an open flow mapping', '{a: b\n', "yaml: line 1: did not find expected ',' or '}' ({a: b\n)"],
  ['an open text', '"abc\n', 'yaml: line 2: found unexpected end of stream (226162630a)'],
  [
    'a tab as indentation',
    'a:\n\t- b\n',
    'yaml: line 2: found character that cannot start any token (613a0a092d20620a)',
  ],
  ['a mapping after a list', '- a\nb: c\n', "yaml: line 1: did not find expected '-' indicator (2d20610a623a20630a)"],
  ['text after a quoted text', 'k: "a" b\n', 'yaml: did not find expected key (6b3a2022612220620a)'],
  ['a wrong bracket', 'kind: [}', 'yaml: did not find expected node content (6b696e643a205b7d)'],
  ['infinity', 'a: .inf\n', 'json: unsupported value: +Inf (613a202e696e660a)'],
  [
    'a list',
    '- a\n',
    `couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type ${STRUCT} (2d20610a)`,
  ],
  [
    'a numeric kind',
    'kind: 1\n',
    "couldn't get version/kind; json parse error: " +
    'json: cannot unmarshal number into Go struct field .kind of type string (6b696e643a20310a)',
  ],
]

/** A body of a delete, and the message of the error. */
const OPTIONS: readonly (readonly [body: string, message: string])[] = [
  ['{', "couldn't get version/kind; json parse error: unexpected end of JSON input"],
  ['[]', `couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type ${STRUCT}`],
  [
    '{"kind":1}',
    "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string",
  ],
  [
    '{"kind":"Foo","apiVersion":"v1"}',
    'no kind "Foo" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"',
  ],
  [
    '{"gracePeriodSeconds":"a"}',
    'json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64',
  ],
]

/** Asserts that a refused request has stored nothing. */
async function assertEmpty(api: Api, path: string): Promise<void> {
  const { items } = await api.expect(200, 'GET', path)
  assert.deepEqual(items.filter((each: Body) => each.metadata.name !== 'kube-root-ca.crt'), [])
}

export const BODY_CASES: readonly Case[] = [
  ...MALFORMED.map(([name, body, message, shown]): Case => ({
    name: `a JSON body is refused: ${name}`,
    async run(api) {
      const collections = [['ConfigMap', api.configMaps], ['Foo', api.foos]] as const
      for (const [kind, path] of collections) {
        const status = await api.refused(400, 'BadRequest', 'POST', path, body)
        assert.equal(
          status.message,
          `the object provided is unrecognized (must be of type ${kind}): ` +
            `couldn't get version/kind; json parse error: ${message} (${shown})`,
        )
        assert.equal(status.details, undefined)
        await assertEmpty(api, path)
      }
    },
  })),
  {
    name: 'null is an empty object, which a custom kind refuses',
    async run(api) {
      await api.refused(422, 'Invalid', 'POST', api.configMaps, 'null')
      for (const body of ['null', '{}']) {
        const status = await api.refused(400, 'BadRequest', 'POST', api.foos, body)
        const shown = body === 'null' ? '6e756c6c' : '{}'
        assert.equal(
          status.message,
          `the object provided is unrecognized (must be of type Foo): Object 'Kind' is missing in '${body}' (${shown})`,
        )
      }
    },
  },
  {
    name: 'invalid UTF-8 is replaced',
    async run(api) {
      const text = new TextEncoder().encode('{"metadata":{"name":"a"},"data":{"a":"__"}}')
      const bytes = text.map((byte) => byte === '_'.charCodeAt(0) ? 0xff : byte)
      assert.deepEqual((await api.expect(201, 'POST', api.configMaps, bytes)).data, { a: '\ufffd\ufffd' })
    },
  },
  {
    name: 'a body above 3 MiB is too large',
    async run(api) {
      const body = JSON.stringify(api.configMap('a', { a: 'x'.repeat(3 * 1024 * 1024) }))
      for (const path of [api.configMaps, api.foos]) {
        const status = await api.refused(413, 'RequestEntityTooLarge', 'POST', path, body)
        assert.equal(status.message, 'Request entity too large: limit is 3145728')
        assert.equal(status.details, undefined)
      }
    },
  },
  ...['text/plain', 'application/cbor', 'garbage', 'application/json;;', 'application/json; charset'].map((
    type,
  ): Case => ({
    name: `the media type "${type}" is not supported`,
    async run(api) {
      for (const path of [api.configMaps, api.foos]) {
        const status = await api.refused(415, 'UnsupportedMediaType', 'POST', path, '{}', { type })
        assert.equal(status.message, ACCEPTED)
        assert.equal(status.details, undefined)
      }
      const deleted = await api.refused(415, 'UnsupportedMediaType', 'DELETE', `${api.configMaps}/a`, '{}', { type })
      assert.equal(deleted.message, ACCEPTED)
      assert.equal(deleted.details, undefined)
    },
  })),
  ...['application/json; charset=utf-8', 'APPLICATION/JSON', 'application/json;a="b;c"', ''].map((type): Case => ({
    name: `the media type "${type}" is JSON`,
    async run(api) {
      await api.expect(201, 'POST', api.configMaps, api.configMap('a'), { headers: { 'content-type': type } })
    },
  })),
  ...DOCUMENTS.map(([name, document, data]): Case => ({
    name: `a YAML body has ${name}`,
    async run(api) {
      const created = await api.expect(201, 'POST', api.configMaps, document, YAML)
      assert.deepEqual(created.data, data)
      const { resourceVersion } = created.metadata
      const replaced = await api.expect(200, 'PUT', `${api.configMaps}/a`, document, {
        type: 'application/yaml; charset=utf-8',
      })
      assert.equal(replaced.metadata.resourceVersion, resourceVersion)
      const applied = await api.expect(200, 'PATCH', `${api.configMaps}/a?fieldManager=m`, document, { type: APPLY })
      assert.deepEqual(applied.data, data)
    },
  })),
  {
    name: 'YAML merges mappings',
    async run(api) {
      const document = `${yaml('a')}  labels: &l\n    a: b\n    c: d\n  annotations:\n    <<: *l\n    c: e\n`
      const { metadata } = await api.expect(201, 'POST', api.configMaps, document, YAML)
      assert.deepEqual(metadata.annotations, { a: 'b', c: 'e' })
    },
  },
  {
    name: 'YAML values are those of YAML 1.1',
    async run(api) {
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
    },
  },
  {
    name: 'an empty YAML body is an empty object',
    async run(api) {
      for (const body of ['', 'null\n', '# comment\n', '---\n']) {
        await api.refused(422, 'Invalid', 'POST', api.configMaps, body, YAML)
      }
      const status = await api.refused(400, 'BadRequest', 'POST', api.foos, 'spec: 1\n', YAML)
      assert.match(status.message, /Object 'Kind' is missing in 'spec: 1\n' \(737065633a20310a\)$/)
    },
  },
  {
    name: 'repeated keys of YAML are warned of, and refused by strict validation',
    async run(api) {
      const document = yaml('a', 'data:\n  a: "1"\n  a: "2"\n')
      const answer = await api.request('POST', `${api.configMaps}?dryRun=All`, document, YAML)
      assert.equal(answer.status, 201)
      assert.deepEqual(answer.body.data, { a: '2' })
      assert.equal(answer.headers['warning'], '299 - "line 7: key \\"a\\" already set in map"')
      const path = `${api.configMaps}?fieldValidation=Strict`
      const status = await api.refused(400, 'BadRequest', 'POST', path, document, YAML)
      assert.equal(
        status.message,
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: yaml: unmarshal errors:\n' +
          '  line 7: key "a" already set in map',
      )
      const applied = await api.refused(
        400,
        'BadRequest',
        'PATCH',
        `${api.configMaps}/a?fieldManager=m&fieldValidation=Strict`,
        document,
        { type: APPLY },
      )
      assert.equal(
        applied.message,
        'error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n' +
          '  line 7: key "a" already set in map',
      )
      await assertEmpty(api, api.configMaps)
    },
  },
  ...UNREADABLE.map(([name, document, message]): Case => ({
    name: `a YAML body is refused: ${name}`,
    async run(api) {
      for (const [kind, path] of [['ConfigMap', api.configMaps], ['Foo', api.foos]] as const) {
        const status = await api.refused(400, 'BadRequest', 'POST', path, document, YAML)
        assert.equal(status.message, `the object provided is unrecognized (must be of type ${kind}): ${message}`)
      }
    },
  })),
  {
    name: 'aliases that multiply are refused',
    async run(api) {
      const levels = Array.from(
        { length: 9 },
        (_, i) => `  k${i}: &a${i} [${Array(10).fill(i === 0 ? 'x' : `*a${i - 1}`).join(', ')}]`,
      )
      const status = await api.refused(
        400,
        'BadRequest',
        'POST',
        api.configMaps,
        yaml('a', `data:\n${levels.join('\n')}\n`),
        YAML,
      )
      assert.match(status.message, /yaml: document contains excessive aliasing/)
    },
  },
  {
    name: 'an apply of something else than an object is refused',
    async run(api) {
      const apply = (body: string): Promise<Body> =>
        api.refused(400, 'BadRequest', 'PATCH', `${api.configMaps}/a?fieldManager=m`, body, { type: APPLY })
      assert.equal(
        (await apply('a: b: c')).message,
        'error decoding YAML: error converting YAML to JSON: yaml: mapping values are not allowed in this context',
      )
      assert.equal(
        (await apply('- a')).message,
        'error decoding YAML: error unmarshaling JSON: while decoding JSON: ' +
          'json: cannot unmarshal array into Go value of type map[string]interface {}',
      )
      await assertEmpty(api, api.configMaps)
    },
  },
  ...OPTIONS.map(([body, message]): Case => ({
    name: `the options of a delete are refused: ${body}`,
    async run(api) {
      await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
      for (const path of [`${api.configMaps}/a`, api.configMaps, `${api.foos}/none`]) {
        const status = await api.refused(400, 'BadRequest', 'DELETE', path, body)
        assert.equal(status.message, message)
      }
      await api.expect(200, 'GET', `${api.configMaps}/a`)
    },
  })),
  {
    name: 'the options of a delete may be of any version, and YAML',
    async run(api) {
      for (
        const body of [
          'null',
          '{}',
          '{"kind":"DeleteOptions"}',
          '{"kind":"DeleteOptions","apiVersion":"apps/v1"}',
          '{"nope":1}',
        ]
      ) {
        await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
        await api.expect(200, 'DELETE', `${api.configMaps}/a`, body)
      }
      await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
      const options = 'kind: DeleteOptions\napiVersion: v1\npreconditions:\n  uid: other\n'
      await api.refused(409, 'Conflict', 'DELETE', `${api.configMaps}/a`, options, YAML)
    },
  },
]
