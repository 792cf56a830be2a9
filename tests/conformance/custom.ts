/** Cases of custom kinds: validation, defaults, pruning, versions and definitions. */
import assert from 'node:assert/strict'
import { type Body, type Case, CRDS, MERGE } from './api.ts'

/** Invalid specs with the reason, field and message of their cause. */
const BROKEN: readonly (readonly [Record<string, unknown>, string, string, string])[] = [
  [{}, 'FieldValueRequired', 'spec.size', 'Required value'],
  [
    { size: 'x' },
    'FieldValueTypeInvalid',
    'spec.size',
    'Invalid value: "string": spec.size in body must be of type integer: "string"',
  ],
  [
    { size: 11 },
    'FieldValueInvalid',
    'spec.size',
    'Invalid value: 11: spec.size in body should be less than or equal to 10',
  ],
  [
    { size: -1 },
    'FieldValueInvalid',
    'spec.size',
    'Invalid value: -1: spec.size in body should be greater than or equal to 0',
  ],
  [
    { size: 1, mode: 'x' },
    'FieldValueNotSupported',
    'spec.mode',
    'Unsupported value: "x": supported values: "fast", "slow"',
  ],
  [
    { size: 1, name: 'ABC' },
    'FieldValueInvalid',
    'spec.name',
    'Invalid value: "ABC": spec.name in body should match \'^[a-z]+$\'',
  ],
  [
    { size: 1, name: 'a' },
    'FieldValueInvalid',
    'spec.name',
    'Invalid value: "a": spec.name in body should be at least 2 chars long',
  ],
  [{ size: 1, name: 'abcdef' }, 'FieldValueTooLong', 'spec.name', 'Too long: may not be more than 5 bytes'],
  [
    { size: 1, when: 'never' },
    'FieldValueTypeInvalid',
    'spec.when',
    'Invalid value: "never": spec.when in body must be of type date-time: "never"',
  ],
  [
    { size: 1, port: 1.5 },
    'FieldValueTypeInvalid',
    'spec.port',
    'Invalid value: "number": spec.port in body must be of type integer,string: "number"',
  ],
  [
    { size: 1, labels: { a: 1 } },
    'FieldValueTypeInvalid',
    'spec.labels.a',
    'Invalid value: "integer": spec.labels.a in body must be of type string: "integer"',
  ],
  [{ size: 1, parts: [{}] }, 'FieldValueRequired', 'spec.parts[0].name', 'Required value'],
  [{ size: 1, tags: ['a', 'a'] }, 'FieldValueDuplicate', 'spec.tags[1]', 'Duplicate value: "a"'],
  [
    { size: 1, parts: [{ name: 'a' }, { name: 'a' }] },
    'FieldValueDuplicate',
    'spec.parts[1]',
    'Duplicate value: {"name":"a","protocol":"TCP"}',
  ],
]

export const CUSTOM_CASES: readonly Case[] = [
  {
    name: 'a custom object that violates its schema is Invalid, with a cause per field',
    async run(api) {
      for (const [spec, reason, field, message] of BROKEN) {
        const status = await api.refused(422, 'Invalid', 'POST', api.foos, api.foo('a', spec))
        assert.ok(
          status.details.causes.some(
            (cause: Body) => cause.reason === reason && cause.field === field && cause.message === message,
          ),
          `${JSON.stringify(spec)}: ${JSON.stringify(status.details.causes)}`,
        )
        assert.match(status.message, new RegExp(`^Foo\\.${api.group.replaceAll('.', '\\.')} "a" is invalid: `))
      }
    },
  },
  {
    name: 'defaults replace missing fields and nulls',
    async run(api) {
      const created = await api.expect(
        201,
        'POST',
        api.foos,
        api.foo('a', { size: 1, mode: null, nested: null, name: null, optional: null, parts: [{ name: 'x' }] }),
      )
      assert.deepEqual(created.spec, {
        size: 1,
        mode: 'fast',
        nested: { deep: 7 },
        optional: null,
        parts: [{ name: 'x', protocol: 'TCP' }],
      })
    },
  },
  {
    name: 'unknown fields are pruned with a warning, unless the schema preserves them',
    async run(api) {
      const body = {
        ...api.foo('a', { size: 1, bogus: 1, free: { any: { thing: [1] } }, parts: [{ name: 'x', odd: 1 }] }),
        top: 1,
      }
      const answer = await api.request('POST', api.foos, body)
      assert.equal(answer.status, 201)
      assert.equal(
        answer.headers['warning'],
        '299 - "unknown field \\"spec.bogus\\"", 299 - "unknown field \\"spec.parts[0].odd\\"", 299 - "unknown field \\"top\\""',
      )
      assert.equal(answer.body.top, undefined)
      assert.deepEqual(
        answer.body.spec,
        {
          size: 1,
          mode: 'fast',
          nested: { deep: 7 },
          free: { any: { thing: [1] } },
          parts: [{ name: 'x', protocol: 'TCP' }],
        },
      )
    },
  },
  {
    name: 'unknown fields are refused with fieldValidation=Strict',
    async run(api) {
      const status = await api.refused(
        400,
        'BadRequest',
        'POST',
        `${api.foos}?fieldValidation=Strict`,
        api.foo('a', { size: 1, bogus: 1 }),
      )
      assert.equal(
        status.message,
        'Foo in version "v1" cannot be handled as a Foo: strict decoding error: unknown field "spec.bogus"',
      )
    },
  },
  {
    name: 'a body with a different or missing kind is refused',
    async run(api) {
      await api.refused(422, 'Invalid', 'POST', api.foos, { ...api.foo('a'), kind: 'Bar' })
      await api.refused(400, 'BadRequest', 'POST', api.foos, { ...api.foo('a'), apiVersion: `${api.group}/v9` })
      await api.refused(400, 'BadRequest', 'POST', api.foos, { metadata: { name: 'a' }, spec: { size: 1 } })
    },
  },
  {
    name: 'an object is served in every version',
    async run(api) {
      const created = await api.expect(201, 'POST', api.foos, api.foo('a'))
      const other = await api.expect(200, 'GET', `/apis/${api.group}/v2/namespaces/${api.namespace}/foos/a`)
      assert.deepEqual(other, { ...created, apiVersion: `${api.group}/v2` })
    },
  },
  {
    name: 'the status of a definition has conditions, names and stored versions',
    async run(api) {
      const crd = await api.expect(200, 'GET', `${CRDS}/foos.${api.group}`)
      const conditions = crd.status.conditions.map((each: Body) => `${each.type}=${each.status} ${each.reason}`)
        .toSorted()
      assert.deepEqual(conditions, ['Established=True InitialNamesAccepted', 'NamesAccepted=True NoConflicts'])
      assert.deepEqual(crd.status.storedVersions, ['v1'])
      assert.deepEqual(crd.status.acceptedNames, {
        plural: 'foos',
        singular: 'foo',
        kind: 'Foo',
        listKind: 'FooList',
        shortNames: ['fo'],
      })
      assert.deepEqual(crd.spec.conversion, { strategy: 'None' })
    },
  },
  {
    name: 'an invalid definition is refused',
    async run(api) {
      const crd = api.fooDefinition()
      const schemaOf = (openAPIV3Schema: unknown): Body => ({
        ...crd,
        metadata: { name: `bars.${api.group}` },
        spec: {
          ...crd.spec,
          names: { plural: 'bars', kind: 'Bar' },
          versions: [
            { name: 'v1', served: true, storage: true, ...(openAPIV3Schema ? { schema: { openAPIV3Schema } } : {}) },
          ],
        },
      })
      assert.match(
        (await api.refused(422, 'Invalid', 'POST', CRDS, { ...crd, metadata: { name: 'foos' } })).message,
        /metadata\.name: Invalid value: "foos": must be spec\.names\.plural\+"\."\+spec\.group/,
      )
      assert.match(
        (await api.refused(422, 'Invalid', 'POST', CRDS, schemaOf(undefined))).message,
        /spec\.versions\[0\]\.schema\.openAPIV3Schema: Required value/,
      )
      assert.match(
        (await api.refused(422, 'Invalid', 'POST', CRDS, schemaOf({ type: 'object', properties: { a: {} } }))).message,
        /properties\[a\]\.type: Required value: must not be empty for specified object fields/,
      )
      await api.refused(
        422,
        'Invalid',
        'POST',
        CRDS,
        schemaOf({ type: 'object', properties: { a: { type: 'array' } } }),
      )
      await api.refused(
        422,
        'Invalid',
        'POST',
        CRDS,
        schemaOf({
          type: 'object',
          properties: { a: { type: 'array', 'x-kubernetes-list-type': 'map', items: { type: 'object' } } },
        }),
      )
    },
  },
  {
    name: 'the scope of a definition cannot change',
    async run(api) {
      const status = await api.refused(
        422,
        'Invalid',
        'PATCH',
        `${CRDS}/foos.${api.group}`,
        { spec: { scope: 'Cluster' } },
        { type: MERGE },
      )
      assert.match(status.message, /spec\.scope: Invalid value: "Cluster": field is immutable/)
    },
  },
  {
    name: 'deleting a definition deletes its objects and its kind',
    async run(api) {
      const base = api.fooDefinition()
      const crd = {
        ...base,
        metadata: { name: `bazs.${api.group}` },
        spec: { ...base.spec, scope: 'Cluster', names: { plural: 'bazs', kind: 'Baz' } },
      }
      const { metadata } = await api.expect(201, 'POST', CRDS, crd)
      const path = `/apis/${api.group}/v1/bazs`
      for (let tries = 0; tries < 5000 && (await api.request('GET', path)).status !== 200; tries++);
      const baz = { apiVersion: `${api.group}/v1`, kind: 'Baz', metadata: { name: 'b' }, spec: { size: 1 } }
      for (let tries = 0; tries < 5000 && (await api.request('POST', path, baz)).status !== 201; tries++);
      const watch = await api.watch(
        CRDS,
        `resourceVersion=${metadata.resourceVersion}&fieldSelector=metadata.name%3Dbazs.${api.group}`,
      )
      const deleting = await api.expect(200, 'DELETE', `${CRDS}/bazs.${api.group}`)
      assert.deepEqual(deleting.metadata.finalizers, ['customresourcecleanup.apiextensions.k8s.io'])
      assert.ok(deleting.status.conditions.some((each: Body) => each.type === 'Terminating' && each.status === 'True'))
      for (let isGone = false; !isGone;) {
        const event = await watch.next()
        assert.ok(event, 'the watch ended before the definition was removed')
        isGone = event.type === 'DELETED'
      }
      watch.cancel()
      for (let tries = 0; tries < 5000 && (await api.request('GET', path)).status !== 404; tries++);
      assert.equal((await api.request('GET', path)).status, 404)
    },
  },
]
