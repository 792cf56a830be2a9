/** Cases of defaults of custom kinds: valid values, where they apply, and stored objects. */
import assert from 'node:assert/strict'
import { type Api, type Body, type Case, caseOf, CRDS, MERGE } from './api.ts'
import { definitionOf } from '../tools/definitions.ts'
import { casesOf, type Script, type Step } from './transcript.ts'

const STRING = { type: 'string' }
const OPEN = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }

/** Fields of each type with a default, most of them empty, zero or false. */
const DEFAULTED: Body = {
  list: { type: 'array', items: STRING, default: [] },
  text: { ...STRING, default: '' },
  count: { type: 'integer', default: 0 },
  flag: { type: 'boolean', default: false },
  ratio: { type: 'number', default: 1.5 },
  port: { 'x-kubernetes-int-or-string': true, default: 'http' },
  open: { ...OPEN, default: { any: [], thing: '' } },
  map: { type: 'object', additionalProperties: STRING, default: {} },
  inner: {
    type: 'object',
    default: {},
    properties: {
      lists: { type: 'array', default: [], items: { type: 'array', items: STRING } },
      deeper: { type: 'object', default: {}, properties: { n: { type: 'integer', default: 3 } } },
    },
  },
  maybe: { ...STRING, nullable: true, default: 'x' },
}

const FORMATS: readonly string[] = [
  ...['uuid', 'uuid3', 'uuid4', 'uuid5', 'date-time', 'date', 'duration', 'byte', 'email', 'hostname'],
  ...['ipv4', 'ipv6', 'cidr', 'mac', 'uri', 'k8s-short-name', 'k8s-long-name'],
]

/** An object of the kind of a script. */
const made = (name: string, spec?: Body): Body => ({
  apiVersion: '{group}/v1',
  kind: '{kind}',
  metadata: { name },
  spec,
})

/** Returns a script about a kind of its own, whose objects are below `{path}`. */
function ofKind(name: string, properties: Body, steps: readonly Step[]): Script {
  const setup = async (api: Api) => {
    const { path, object } = await define(api, 'fills', properties)
    return { path, kind: object('').kind }
  }
  return { name, setup, steps }
}

export const DEFAULT_CASES: readonly Case[] = casesOf('defaults', [
  ofKind('texts have their formats, and items of a set are equal in any order of their fields', {
    spec: {
      type: 'object',
      properties: {
        ...Object.fromEntries(FORMATS.map((format) => [format, { type: 'string', format }])),
        set: {
          type: 'array',
          'x-kubernetes-list-type': 'set',
          items: { type: 'object', 'x-kubernetes-map-type': 'atomic', properties: { a: STRING, b: STRING } },
        },
      },
    },
  }, [
    ...FORMATS.map((format): Step => ['POST {path}?dryRun=All', made('a', { [format]: '? /' })]),
    ['POST {path}?dryRun=All', made('a', { set: [{ a: 'x', b: 'y' }, { b: 'y', a: 'x' }] })],
  ]),
  caseOf('a new default applies to stored objects on read, and is stored by the next write', async (api) => {
    const before = {
      spec: {
        type: 'object',
        properties: {
          name: STRING,
          gone: STRING,
          turned: { type: 'array', items: { type: 'object', properties: { x: STRING } } },
          parts: { type: 'array', items: { type: 'object', properties: { gone: STRING } } },
        },
      },
    }
    const kind = await define(api, 'olds', before)
    const created = await api.expect(
      201,
      'POST',
      kind.path,
      kind.object('a', { name: 'x', gone: 'y', parts: [{ gone: 'z' }] }),
    )
    await api.expect(201, 'POST', kind.path, kind.object('b', { turned: [{ x: 'y' }] }))
    const parts = {
      type: 'array',
      items: { type: 'object', properties: { tags: { type: 'array', items: STRING, default: [] } } },
    }
    await redefine(api, kind, {
      spec: {
        type: 'object',
        properties: { name: STRING, turned: { type: 'integer' }, list: DEFAULTED.list, parts },
      },
    })
    const spec = { name: 'x', list: [], parts: [{ tags: [] }] }
    const read = await api.expect(200, 'GET', `${kind.path}/a`)
    assert.deepEqual(read.spec, spec)
    assert.deepEqual((await api.expect(200, 'GET', kind.path)).items.map((each: Body) => each.spec), [spec, {
      turned: [{}],
      list: [],
    }])
    const watch = await api.watch(kind.path, 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan')
    assert.deepEqual((await watch.next())!.object.spec, spec)
    watch.cancel()
    assert.deepEqual([read.metadata.resourceVersion, read.metadata.generation], [created.metadata.resourceVersion, 1])
    const touched = await api.expect(200, 'PATCH', `${kind.path}/a`, {}, { type: MERGE })
    assert.notEqual(touched.metadata.resourceVersion, read.metadata.resourceVersion)
    assert.deepEqual([touched.spec, touched.metadata.generation], [spec, 1])
    const again = await api.expect(200, 'PATCH', `${kind.path}/a`, {}, { type: MERGE })
    assert.equal(again.metadata.resourceVersion, touched.metadata.resourceVersion)
  }),
  ofKind('a default takes the place of null in a record, and an embedded object has an identity and metadata', {
    spec: {
      type: 'object',
      properties: {
        record: { type: 'object', additionalProperties: { ...STRING, default: 'x' } },
        embedded: { ...OPEN, 'x-kubernetes-embedded-resource': true },
      },
    },
  }, [
    ['POST {path}?dryRun=All ? spec', made('a', { record: { a: null, b: 'y' } })],
    // The text of the real server is another one.
    ...[
      ...[{}, { apiVersion: 1 }, { kind: {} }, { metadata: 'x' }, { metadata: null }, { metadata: { labels: 1 } }],
      ...[{ name: 'A_b' }, { name: 'a/b' }, { labels: { 'a b': '' } }, { namespace: 'a.b' }].map((metadata) => ({
        metadata,
      })),
    ].map((part): Step => [
      'POST {path}?dryRun=All ? code',
      made('a', { embedded: { apiVersion: 'v1', kind: 'A', ...part } }),
    ]),
  ]),
  ofKind('the format of a number is a limit beside its type only; the path of a fault names the key of a map', {
    spec: {
      type: 'object',
      properties: {
        a: { type: 'integer', format: 'int32' },
        b: { type: 'number', format: 'float' },
        c: { type: 'integer' },
        d: { type: 'number' },
        e: { 'x-kubernetes-int-or-string': true, format: 'int32' },
        f: { additionalProperties: { 'x-kubernetes-list-type': 'set', type: 'array', items: STRING }, type: 'object' },
      },
      anyOf: [{ properties: { c: { format: 'int32' }, d: { format: 'float' } } }],
    },
  }, [
    ...[{ a: 1, b: 1.5, c: 1, d: 1.5 }, { b: 1 }, { c: 2 ** 31 }, { d: 1e300 }, { e: 2 ** 31 }]
      .map((spec): Step => ['POST {path}?dryRun=All ? spec', made('n', spec)]),
    // The real server names no field of these.
    ...[{ a: 2 ** 31 }, { b: 1e300 }].map((spec): Step => ['POST {path}?dryRun=All ? code', made('n', spec)]),
    ['POST {path}?dryRun=All', made('n', { f: { x: ['a', 'a'] } })],
  ]),
])

interface Kind {
  readonly plural: string
  readonly path: string
  object(name: string, spec?: Body): Body
}

let definitions = 0

function definition(group: string, plural: string, properties: Body, revision = 0): Body {
  return definitionOf({
    ...{ group, plural, scope: 'Namespaced', version: { subresources: { status: {} } } },
    kind: `${plural[0]!.toUpperCase()}${plural.slice(1, -1)}`,
    properties: { ...properties, [`revision${revision}`]: { ...STRING, default: 'served' } },
  })
}

/** Defines a kind for one case. Resolves when it is served. */
export async function define(api: Api, word: string, properties: Body): Promise<Kind> {
  const plural = `${word.slice(0, -1)}${definitions++}s`
  const crd = definition(api.group, plural, properties)
  await api.expect(201, 'POST', CRDS, crd)
  const path = `/apis/${api.group}/v1/namespaces/${api.namespace}/${plural}`
  const kind: Kind = {
    plural,
    path,
    object: (name, spec) => ({
      apiVersion: `${api.group}/v1`,
      kind: crd.spec.names.kind,
      metadata: { name },
      ...(spec && { spec }),
    }),
  }
  await served(api, kind, 'revision0')
  return kind
}

export async function redefine(api: Api, kind: Kind, properties: Body): Promise<void> {
  await api.expect(200, 'PATCH', `${CRDS}/${kind.plural}.${api.group}`, {
    spec: definition(api.group, kind.plural, properties, 1).spec,
  }, { type: MERGE })
  await served(api, kind, 'revision1')
}

/**
 * Resolves when the new schema is served, shortly after its write: tests it with dry runs, and with a list, which a real
 * server refuses while it fills its cache again. Each takes a round trip.
 */
async function served(api: Api, kind: Kind, field: string): Promise<void> {
  for (let tries = 0; tries < 5000; tries++) {
    const { status, body } = await api.request('POST', `${kind.path}?dryRun=All`, kind.object('probe'))
    if (status !== 201 || body[field] !== 'served') continue
    if ((await api.request('GET', kind.path)).status === 200) return
  }
  assert.fail(`${kind.plural} was never served`)
}
