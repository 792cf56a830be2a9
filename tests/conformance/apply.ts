/** Cases of server-side apply and managedFields. */
import assert from 'node:assert/strict'
import { APPLY, type Body, type Case, MERGE } from './api.ts'

function fieldsOf(object: Body, manager: string, operation = 'Apply', subresource?: string): Body {
  return object.metadata.managedFields.find(
    (each: Body) => each.manager === manager && each.operation === operation && each.subresource === subresource,
  )?.fieldsV1
}

const AS = (manager: string, force = false): string => `?fieldManager=${manager}${force ? '&force=true' : ''}`

export const APPLY_CASES: readonly Case[] = [
  {
    name: 'apply creates a missing object and owns the applied fields',
    async run(api) {
      const created = await api.expect(
        201,
        'PATCH',
        `${api.foos}/a${AS('one')}`,
        api.foo('a', { size: 1, labels: { a: 'b' }, parts: [{ name: 'p', value: 1 }], tags: ['t'], plain: ['x'] }),
        { type: APPLY },
      )
      assert.equal(created.spec.mode, 'fast')
      assert.deepEqual(fieldsOf(created, 'one'), {
        'f:spec': {
          'f:size': {},
          'f:plain': {},
          'f:labels': { 'f:a': {} },
          'f:tags': { 'v:"t"': {} },
          'f:parts': { 'k:{"name":"p","protocol":"TCP"}': { '.': {}, 'f:name': {}, 'f:value': {} } },
        },
      })
    },
  },
  {
    name: 'apply requires a fieldManager',
    async run(api) {
      const status = await api.refused(422, 'Invalid', 'PATCH', `${api.foos}/a`, api.foo('a'), { type: APPLY })
      assert.match(status.message, /fieldManager: Required value: is required for apply patch/)
    },
  },
  {
    name: 'a repeated apply keeps the resourceVersion',
    async run(api) {
      const created = await api.expect(201, 'PATCH', `${api.foos}/a${AS('one')}`, api.foo('a'), { type: APPLY })
      assert.deepEqual(
        await api.expect(200, 'PATCH', `${api.foos}/a${AS('one')}`, api.foo('a'), { type: APPLY }),
        created,
      )
    },
  },
  {
    name: "applying another manager's field is a conflict that names the manager",
    async run(api) {
      await api.expect(
        201,
        'PATCH',
        `${api.foos}/a${AS('one')}`,
        api.foo('a', { size: 1, parts: [{ name: 'p', value: 1 }] }),
        { type: APPLY },
      )
      const status = await api.refused(
        409,
        'Conflict',
        'PATCH',
        `${api.foos}/a${AS('two')}`,
        api.foo('a', { size: 2, parts: [{ name: 'p', value: 2 }] }),
        { type: APPLY },
      )
      assert.equal(
        status.message,
        'Apply failed with 2 conflicts: conflicts with "one":\n- .spec.size\n- .spec.parts[name="p",protocol="TCP"].value',
      )
      assert.deepEqual(status.details.causes, [
        { reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.spec.size' },
        {
          reason: 'FieldManagerConflict',
          message: 'conflict with "one"',
          field: '.spec.parts[name="p",protocol="TCP"].value',
        },
      ])
    },
  },
  {
    name: 'force moves ownership of a field',
    async run(api) {
      await api.expect(201, 'PATCH', `${api.foos}/a${AS('one')}`, api.foo('a', { size: 1, name: 'abc' }), {
        type: APPLY,
      })
      const next = await api.expect(200, 'PATCH', `${api.foos}/a${AS('two', true)}`, api.foo('a', { size: 2 }), {
        type: APPLY,
      })
      assert.equal(next.spec.size, 2)
      assert.deepEqual(fieldsOf(next, 'one'), { 'f:spec': { 'f:name': {} } })
      assert.deepEqual(fieldsOf(next, 'two'), { 'f:spec': { 'f:size': {} } })
    },
  },
  {
    name: 'two managers can own the same value',
    async run(api) {
      await api.expect(201, 'PATCH', `${api.foos}/a${AS('one')}`, api.foo('a'), { type: APPLY })
      const next = await api.expect(200, 'PATCH', `${api.foos}/a${AS('two')}`, api.foo('a'), { type: APPLY })
      assert.deepEqual(fieldsOf(next, 'one'), fieldsOf(next, 'two'))
    },
  },
  {
    name: 'a field that is no longer applied is removed unless another manager owns it',
    async run(api) {
      await api.expect(
        201,
        'PATCH',
        `${api.foos}/a${AS('one')}`,
        api.foo('a', { size: 1, name: 'abc', labels: { a: '1', b: '2' } }),
        { type: APPLY },
      )
      await api.expect(200, 'PATCH', `${api.foos}/a${AS('two')}`, api.foo('a', { labels: { b: '2' } }), { type: APPLY })
      const next = await api.expect(200, 'PATCH', `${api.foos}/a${AS('one')}`, api.foo('a', { size: 1 }), {
        type: APPLY,
      })
      assert.deepEqual(next.spec, { size: 1, mode: 'fast', labels: { b: '2' }, nested: { deep: 7 } })
    },
  },
  {
    name: 'keyed lists and sets merge; other lists are atomic',
    async run(api) {
      await api.expect(
        201,
        'PATCH',
        `${api.foos}/a${AS('one')}`,
        api.foo('a', { size: 1, parts: [{ name: 'x' }], tags: ['x'], plain: ['x'] }),
        { type: APPLY },
      )
      const next = await api.expect(
        200,
        'PATCH',
        `${api.foos}/a${AS('two', true)}`,
        api.foo('a', { parts: [{ name: 'y' }], tags: ['y'], plain: ['y'] }),
        { type: APPLY },
      )
      assert.deepEqual(next.spec.parts, [{ name: 'x', protocol: 'TCP' }, { name: 'y', protocol: 'TCP' }])
      assert.deepEqual(next.spec.tags, ['x', 'y'])
      assert.deepEqual(next.spec.plain, ['y'])
      const less = await api.expect(200, 'PATCH', `${api.foos}/a${AS('one')}`, api.foo('a', { size: 1 }), {
        type: APPLY,
      })
      assert.deepEqual(less.spec.parts, [{ name: 'y', protocol: 'TCP' }])
      assert.deepEqual(less.spec.tags, ['y'])
    },
  },
  {
    name: 'apply refuses repeated list items',
    async run(api) {
      await api.refused(
        500,
        '',
        'PATCH',
        `${api.foos}/a${AS('one')}`,
        api.foo('a', { size: 1, parts: [{ name: 'x' }, { name: 'x' }] }),
        { type: APPLY },
      )
    },
  },
  {
    name: 'apply refuses unknown fields',
    async run(api) {
      const status = await api.refused(
        500,
        '',
        'PATCH',
        `${api.foos}/a${AS('one')}`,
        api.foo('a', { size: 1, bogus: 1 }),
        { type: APPLY },
      )
      assert.equal(
        status.message,
        `failed to create typed patch object (/a; ${api.group}/v1, Kind=Foo): .spec.bogus: field not declared in schema`,
      )
    },
  },
  {
    name: 'apply refuses managedFields',
    async run(api) {
      await api.refused(
        400,
        'BadRequest',
        'PATCH',
        `${api.foos}/a${AS('one')}`,
        api.foo('a', { size: 1 }, { managedFields: [] }),
        { type: APPLY },
      )
    },
  },
  {
    name: 'an update owns the fields it changes, and conflicts name its apiVersion',
    async run(api) {
      await api.expect(201, 'POST', api.foos, api.foo('a', { size: 1 }))
      const patched = await api.expect(
        200,
        'PATCH',
        `${api.foos}/a`,
        { spec: { name: 'abc' } },
        { type: MERGE, userAgent: 'other/2 (linux)' },
      )
      assert.deepEqual(fieldsOf(patched, 'other', 'Update'), { 'f:spec': { 'f:name': {} } })
      assert.deepEqual(
        fieldsOf(patched, 'tester', 'Update'),
        { 'f:spec': { '.': {}, 'f:mode': {}, 'f:nested': { '.': {}, 'f:deep': {} }, 'f:size': {} } },
      )
      const status = await api.refused(
        409,
        'Conflict',
        'PATCH',
        `${api.foos}/a${AS('one')}`,
        api.foo('a', { size: 2 }),
        { type: APPLY },
      )
      assert.equal(
        status.message,
        `Apply failed with 1 conflict: conflict with "tester" using ${api.group}/v1: .spec.size`,
      )
    },
  },
  {
    name: 'ownership of a Deployment follows its schema',
    async run(api) {
      const created = await api.expect(201, 'POST', api.deployments, api.deployment('a'))
      assert.deepEqual(fieldsOf(created, 'tester', 'Update'), {
        'f:spec': {
          'f:progressDeadlineSeconds': {},
          'f:replicas': {},
          'f:revisionHistoryLimit': {},
          'f:selector': {},
          'f:strategy': { 'f:rollingUpdate': { '.': {}, 'f:maxSurge': {}, 'f:maxUnavailable': {} }, 'f:type': {} },
          'f:template': {
            'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } },
            'f:spec': {
              'f:containers': {
                'k:{"name":"main"}': {
                  '.': {},
                  'f:image': {},
                  'f:imagePullPolicy': {},
                  'f:name': {},
                  'f:resources': {},
                  'f:terminationMessagePath': {},
                  'f:terminationMessagePolicy': {},
                },
              },
              'f:dnsPolicy': {},
              'f:restartPolicy': {},
              'f:schedulerName': {},
              'f:securityContext': {},
              'f:terminationGracePeriodSeconds': {},
            },
          },
        },
      })
    },
  },
  {
    name: 'two managers can apply to one Deployment',
    async run(api) {
      await api.expect(201, 'PATCH', `${api.deployments}/a${AS('one')}`, api.deployment('a'), { type: APPLY })
      const scaled = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'a' }, spec: { replicas: 3 } }
      const next = await api.expect(200, 'PATCH', `${api.deployments}/a${AS('two')}`, scaled, { type: APPLY })
      assert.equal(next.spec.replicas, 3)
      assert.equal(
        (await api.expect(200, 'PATCH', `${api.deployments}/a${AS('one')}`, api.deployment('a'), { type: APPLY })).spec
          .replicas,
        3,
      )
      const released = await api.expect(200, 'PATCH', `${api.deployments}/a${AS('two')}`, { ...scaled, spec: {} }, {
        type: APPLY,
      })
      assert.equal(released.spec.replicas, 1)
    },
  },
  {
    name: 'an apply to /status has its own managedFields entry',
    async run(api) {
      await api.expect(201, 'PATCH', `${api.foos}/a${AS('one')}`, api.foo('a'), { type: APPLY })
      const next = await api.expect(
        200,
        'PATCH',
        `${api.foos}/a/status${AS('one')}`,
        { apiVersion: `${api.group}/v1`, kind: 'Foo', metadata: { name: 'a' }, status: { ready: 1 } },
        { type: APPLY },
      )
      assert.deepEqual(fieldsOf(next, 'one', 'Apply', 'status'), { 'f:status': { 'f:ready': {} } })
      assert.deepEqual(fieldsOf(next, 'one'), { 'f:spec': { 'f:size': {} } })
    },
  },
  {
    name: 'an apply to /status of a missing object is NotFound',
    async run(api) {
      await api.refused(
        404,
        'NotFound',
        'PATCH',
        `${api.foos}/a/status${AS('one')}`,
        { apiVersion: `${api.group}/v1`, kind: 'Foo', metadata: { name: 'a' }, status: {} },
        { type: APPLY },
      )
    },
  },
  {
    name: 'owner references and finalizers are owned per item',
    async run(api) {
      await api.expect(201, 'POST', api.foos, api.foo('a', { size: 1 }, { finalizers: ['x.io/mine'] }))
      const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'c', uid: 'u1' }
      const config = (metadata: unknown): Body => ({ apiVersion: `${api.group}/v1`, kind: 'Foo', metadata })
      const next = await api.expect(
        200,
        'PATCH',
        `${api.foos}/a${AS('one')}`,
        config({ name: 'a', finalizers: ['x.io/yours'], ownerReferences: [owner] }),
        { type: APPLY },
      )
      assert.deepEqual(next.metadata.finalizers, ['x.io/mine', 'x.io/yours'])
      assert.deepEqual(
        fieldsOf(next, 'one'),
        { 'f:metadata': { 'f:finalizers': { 'v:"x.io/yours"': {} }, 'f:ownerReferences': { 'k:{"uid":"u1"}': {} } } },
      )
      const less = await api.expect(200, 'PATCH', `${api.foos}/a${AS('one')}`, config({ name: 'a' }), { type: APPLY })
      assert.deepEqual(less.metadata.finalizers, ['x.io/mine'])
      assert.equal(less.metadata.ownerReferences, undefined)
    },
  },
  {
    name: 'an update without managedFields keeps them; an empty entry clears them',
    async run(api) {
      const created = await api.expect(201, 'POST', api.foos, api.foo('a'))
      const { managedFields, ...metadata } = created.metadata
      assert.ok(managedFields)
      const kept = await api.expect(200, 'PUT', `${api.foos}/a`, { ...created, metadata })
      assert.deepEqual(kept.metadata.managedFields, managedFields)
      // An empty list clears managedFields of built-in kinds only. A single empty entry clears them for all kinds.
      const empty = await api.expect(200, 'PATCH', `${api.foos}/a`, { metadata: { managedFields: [] } }, {
        type: MERGE,
      })
      assert.deepEqual(empty.metadata.managedFields, managedFields)
      await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
      for (const [path, erasing] of [[api.configMaps, []], [api.foos, [{}]]] as const) {
        const erased = await api.expect(200, 'PATCH', `${path}/a`, { metadata: { managedFields: erasing } }, {
          type: MERGE,
        })
        assert.equal(erased.metadata.managedFields, undefined)
      }
    },
  },
  {
    name: 'the first apply to an object without managedFields keeps its fields',
    async run(api) {
      await api.expect(201, 'POST', api.foos, api.foo('a', { size: 1, name: 'abc' }))
      await api.expect(200, 'PATCH', `${api.foos}/a`, { metadata: { managedFields: [{}] } }, { type: MERGE })
      const next = await api.expect(200, 'PATCH', `${api.foos}/a${AS('one')}`, api.foo('a', { size: 1 }), {
        type: APPLY,
      })
      assert.equal(next.spec.name, 'abc')
      assert.ok(fieldsOf(next, 'before-first-apply', 'Update')['f:spec']['f:name'])
    },
  },
]
