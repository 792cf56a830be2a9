/** Scripts of ratcheting: stored custom objects whose values a stricter schema refuses. */
import type { Api, Body } from './api.ts'
import { define, redefine } from './defaults.ts'
import type { Script } from './transcript.ts'

const STRING = { type: 'string' }
const items = (item: Body): Body => ({ type: 'array', items: item })
const keyed = (value: Body): Body => ({
  ...items({ type: 'object', required: ['name'], properties: { name: STRING, value } }),
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['name'],
})

function properties(isStrict: boolean): Body {
  const text = isStrict ? { ...STRING, maxLength: 2 } : STRING
  return {
    spec: {
      type: 'object',
      ...(isStrict && { required: ['must'] }),
      properties: {
        text,
        other: text,
        must: STRING,
        list: items(text),
        set: { ...items(text), 'x-kubernetes-list-type': 'set' },
        keyed: keyed(text),
        map: { type: 'object', additionalProperties: text },
        nested: { type: 'object', properties: { deep: text, other: STRING }, ...(isStrict && { required: ['other'] }) },
        few: { ...items(STRING), ...(isStrict && { maxItems: 1 }) },
        choice: { ...STRING, ...(isStrict && { enum: ['a', 'b'] }) },
        size: { type: 'integer', ...(isStrict && { maximum: 5 }) },
      },
    },
    status: { type: 'object', properties: { text } },
  }
}

/** Stores an object, and defines its kind more strictly. */
async function tighten(api: Api): Promise<Record<string, string>> {
  const kind = await define(api, 'ratchets', properties(false))
  const spec = {
    text: 'long',
    other: 'ok',
    list: ['long', 'ok'],
    set: ['long', 'ok'],
    keyed: [{ name: 'a', value: 'long' }, { name: 'b', value: 'ok' }],
    map: { a: 'long', b: 'ok' },
    nested: { deep: 'long' },
    few: ['a', 'b'],
    choice: 'c',
    size: 9,
  }
  const object = kind.object('a', spec)
  await api.expect(201, 'POST', kind.path, object)
  await api.expect(200, 'PATCH', `${kind.path}/a/status`, { status: { text: 'long' } }, {
    type: 'application/merge-patch+json',
  })
  await redefine(api, kind, properties(true))
  return { path: kind.path, plural: kind.plural, kind: object.kind }
}

export const RATCHETING_SCRIPTS: readonly Script[] = [
  {
    name: 'verbs: stored values that a stricter schema refuses may stay as they are',
    setup: tighten,
    steps: [
      ['MERGE {path}/a ? metadata.labels', { metadata: { labels: { a: 'b' } } }],
      ['MERGE {path}/a', { spec: { other: 'no' } }],
      ['MERGE {path}/a ? spec.other', { spec: { other: 'no', must: 'x' } }],
      ['MERGE {path}/a', { spec: { text: 'longer' } }],
      ['MERGE {path}/a ? spec.text', { spec: { text: 'ok' } }],
      ['MERGE {path}/a', { spec: { list: ['long', 'no'] } }],
      ['MERGE {path}/a', { spec: { list: ['long', 'longer'] } }],
      ['MERGE {path}/a', { spec: { set: ['ok', 'long'] } }],
      ['MERGE {path}/a', { spec: { set: ['ok', 'long', 'xx'] } }],
      ['MERGE {path}/a', { spec: { keyed: [{ name: 'b', value: 'no' }, { name: 'a', value: 'long' }] } }],
      ['MERGE {path}/a', { spec: { keyed: [{ name: 'a', value: 'longer' }] } }],
      ['MERGE {path}/a', { spec: { keyed: [{ name: 'c', value: 'long' }] } }],
      ['MERGE {path}/a', { spec: { map: { a: 'long', b: 'no' } } }],
      ['MERGE {path}/a', { spec: { map: { b: 'long' } } }],
      ['MERGE {path}/a', { spec: { nested: { other: 'x' } } }],
      ['MERGE {path}/a', { spec: { few: ['a', 'c'] } }],
      ['MERGE {path}/a', { spec: { choice: 'd' } }],
      ['MERGE {path}/a', { spec: { size: 8 } }],
      ['MERGE {path}/a', { spec: { size: 4 } }],
      ['MERGE {path}/a', { spec: { must: null } }],
      ['MERGE {path}/a/status', { status: { text: 'longer' } }],
      ['MERGE {path}/a/status', { metadata: { labels: { x: 'y' } } }],
      ['APPLY {path}/a?fieldManager=m ? spec.must', {
        apiVersion: '{group}/v1',
        kind: '{kind}',
        metadata: { name: 'a' },
        spec: { must: 'x' },
      }],
      ['POST {path}', {
        apiVersion: '{group}/v1',
        kind: '{kind}',
        metadata: { name: 'b' },
        spec: { text: 'long', list: ['long'] },
      }],
      'GET {path}/a ? spec',
    ],
  },
]
