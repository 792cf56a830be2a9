/** Cases of request bodies: malformed JSON, YAML, media types. */

import { type Case } from './api.ts'
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
  script('invalid UTF-8 is replaced', [
    [
      'POST cm ? data',
      new TextEncoder().encode('{"metadata":{"name":"a"},"data":{"a":"__"}}').map((byte) =>
        byte === '_'.charCodeAt(0) ? 0xff : byte
      ),
    ],
  ]),
  script('YAML bodies', [
    ...DOCUMENTS.flatMap((document): Step[] => [
      ['POST cm?dryRun=All ? data', document, YAML],
      ['APPLY cm/a?fieldManager=m&dryRun=All ? data', document],
    ]),
  ]),
  script('an apply of something else than an object is refused', [
    ...['a: b: c', '- a'].map((body): Step => ['APPLY cm/a?fieldManager=m', body]),
    'GET cm',
  ]),
  script('the options of a delete are refused', [
    ['POST cm', cm('a')],
    ...OPTIONS.flatMap((body) => ['DELETE cm/a', 'DELETE cm', 'DELETE foos/none'].map((line): Step => [line, body])),
    'GET cm/a',
  ]),
])
