/** Cases of defaults of custom kinds: valid values, where they apply, and stored objects. */
import assert from 'node:assert/strict'
import { type Api, APPLY, type Body, type Case, CRDS, JSON_PATCH, MERGE } from './api.ts'

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
const FILLED: Body = {
  list: [],
  text: '',
  count: 0,
  flag: false,
  ratio: 1.5,
  port: 'http',
  open: { any: [], thing: '' },
  map: {},
  inner: { lists: [], deeper: { n: 3 } },
}
/** Fields with defaults in their parts. */
const PARTS: Body = {
  absent: { type: 'object', properties: { n: { type: 'integer', default: 1 } } },
  items: {
    type: 'array',
    items: {
      type: 'object',
      default: { from: 'item' },
      properties: { from: STRING, tags: { type: 'array', items: STRING, default: [] } },
    },
  },
  values: {
    type: 'object',
    additionalProperties: { type: 'object', properties: { on: { type: 'boolean', default: false } } },
  },
  numbers: { type: 'object', additionalProperties: { type: 'integer' } },
  bare: STRING,
  none: { ...STRING, nullable: true },
}

export const DEFAULT_CASES: readonly Case[] = [
  {
    name: 'defaults may be empty, zero or false, at any depth, in spec and status',
    async run(api) {
      const kind = await define(api, 'fills', {
        spec: { type: 'object', default: {}, properties: { ...DEFAULTED, ...PARTS } },
        status: { type: 'object', properties: DEFAULTED },
      })
      const full = { ...FILLED, maybe: 'x' }
      const created = await api.expect(201, 'POST', kind.path, kind.object('a'))
      assert.deepEqual(created.spec, full)
      assert.equal(created.status, undefined)
      const reported = await api.expect(200, 'PATCH', `${kind.path}/a/status`, { status: {} }, { type: MERGE })
      assert.deepEqual(reported.status, full)
      assert.deepEqual((await api.expect(200, 'GET', `${kind.path}/a`)).status, full)
      const other = {
        list: ['x'],
        text: 'y',
        count: 1,
        flag: true,
        ratio: 0,
        port: 0,
        open: {},
        map: { a: '' },
        maybe: null,
      }
      const changed = await api.expect(200, 'PATCH', `${kind.path}/a`, { spec: { ...other, maybe: 'z' } }, {
        type: MERGE,
      })
      assert.deepEqual(changed.spec, { ...full, ...other, open: full.open, maybe: 'z' })
      const all = Object.fromEntries(Object.keys(FILLED).map((name) => [name, null]))
      assert.deepEqual((await api.expect(200, 'PATCH', `${kind.path}/a`, { spec: all }, { type: MERGE })).spec, {
        ...full,
        maybe: 'z',
      })
      const removed = await api.expect(200, 'PATCH', `${kind.path}/a`, [{ op: 'remove', path: '/spec' }], {
        type: JSON_PATCH,
      })
      assert.deepEqual(removed.spec, full)
      const put = await api.expect(200, 'PUT', `${kind.path}/a`, { ...removed, spec: other })
      assert.deepEqual(put.spec, { ...full, ...other })
      const applied = await api.expect(201, 'PATCH', `${kind.path}/b?fieldManager=t`, kind.object('b', { count: 2 }), {
        type: APPLY,
      })
      assert.deepEqual(applied.spec, { ...full, count: 2 })
    },
  },
  {
    name: 'a null becomes the default if it is not nullable, and is dropped without a default',
    async run(api) {
      const kind = await define(api, 'nulls', { spec: { type: 'object', properties: { ...DEFAULTED, ...PARTS } } })
      const all = Object.fromEntries([...Object.keys(DEFAULTED), ...Object.keys(PARTS)].map((name) => [name, null]))
      const created = await api.expect(201, 'POST', kind.path, kind.object('a', all))
      assert.deepEqual(created.spec, { ...FILLED, maybe: null, none: null })
      const parts = {
        absent: { n: null },
        items: [null, {}, { from: 'me', tags: null }],
        values: { a: {}, b: { on: null }, c: null },
        numbers: { a: null, b: 1 },
      }
      const other = await api.expect(201, 'POST', kind.path, kind.object('b', parts))
      const { absent, items, values, numbers } = other.spec
      assert.deepEqual([absent, numbers], [{ n: 1 }, { b: 1 }])
      assert.deepEqual(items, [{ from: 'item', tags: [] }, { tags: [] }, { from: 'me', tags: [] }])
      assert.deepEqual(values, { a: { on: false }, b: { on: false } })
    },
  },
  {
    name: 'a new default applies to stored objects on read, and is stored by the next write',
    async run(api) {
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
    },
  },
  {
    name: 'nulls and unknown fields in nested schemas are dropped',
    async run(api) {
      const a = {
        type: 'array',
        items: { type: 'object', properties: { b: { ...STRING, nullable: true, default: null, made: 'up' } } },
      }
      const created = await api.expect(
        201,
        'POST',
        CRDS,
        definition(api, 'withins', { spec: { type: 'object', properties: { a } } }),
      )
      const { spec } = created.spec.versions[0].schema.openAPIV3Schema.properties
      assert.deepEqual(spec.properties.a.items, { type: 'object', properties: { b: { ...STRING, nullable: true } } })
      await api.expect(200, 'DELETE', `${CRDS}/withins.${api.group}`)
    },
  },
  {
    name: 'a merge patch removes nulls in lists; an applied null replaces an empty map',
    async run(api) {
      const kind = await define(api, 'merges', {
        spec: OPEN,
        status: { type: 'object', properties: { m: { type: 'object', nullable: true, additionalProperties: STRING } } },
      })
      await api.expect(201, 'POST', kind.path, kind.object('a', { list: [1], object: { x: 1 } }))
      const patch = {
        spec: { list: [{ a: null, b: [{ c: null }] }, null], more: { d: [{ e: null }] }, object: [{ f: null }] },
      }
      const patched = await api.expect(200, 'PATCH', `${kind.path}/a`, patch, { type: MERGE })
      assert.deepEqual(patched.spec, { list: [{ b: [{}] }, null], more: { d: [{}] }, object: [{ f: null }] })
      await api.expect(200, 'PATCH', `${kind.path}/a/status`, { status: { m: {} } }, { type: MERGE })
      const config = { ...kind.object('a'), status: { m: null } }
      const applied = await api.expect(200, 'PATCH', `${kind.path}/a/status?fieldManager=t&force=true`, config, {
        type: APPLY,
      })
      assert.deepEqual(applied.status, { m: null })
    },
  },
]

interface Kind {
  readonly plural: string
  readonly path: string
  object(name: string, spec?: Body): Body
}

let definitions = 0

function definition(api: Api, plural: string, properties: Body, revision = 0): Body {
  const kind = `${plural[0]!.toUpperCase()}${plural.slice(1, -1)}`
  const openAPIV3Schema = {
    type: 'object',
    properties: { ...properties, [`revision${revision}`]: { ...STRING, default: 'served' } },
  }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${api.group}` },
    spec: {
      group: api.group,
      scope: 'Namespaced',
      names: { plural, kind },
      versions: [{
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema },
      }],
    },
  }
}

/** Defines a kind for one case. Resolves when it is served. */
export async function define(api: Api, word: string, properties: Body): Promise<Kind> {
  const plural = `${word.slice(0, -1)}${definitions++}s`
  const crd = definition(api, plural, properties)
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
    spec: definition(api, kind.plural, properties, 1).spec,
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
