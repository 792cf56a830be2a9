/** Cases of server-side apply and managedFields. verbs_applies.ts has more. */
import assert from 'node:assert/strict'
import { APPLY, type Body, type Case, MERGE } from './api.ts'
import { casesOf, deploy, foo } from './transcript.ts'

function fieldsOf(object: Body, manager: string, operation = 'Apply', subresource?: string): Body {
  return object.metadata.managedFields.find(
    (each: Body) => each.manager === manager && each.operation === operation && each.subresource === subresource,
  )?.fieldsV1
}

const AS = (manager: string): string => `?fieldManager=${manager}`

export const APPLY_CASES: readonly Case[] = casesOf('apply', [
  {
    name: 'apply creates a missing object and owns the applied fields',
    steps: [
      [
        `APPLY foos/a${AS('one')} ? spec.mode .`,
        foo('a', { size: 1, labels: { a: 'b' }, parts: [{ name: 'p', value: 1 }], tags: ['t'], plain: ['x'] }),
      ],
    ],
  },
  { name: 'apply requires a fieldManager', steps: [['APPLY foos/a', foo('a')]] },
  {
    name: 'a repeated apply keeps the resourceVersion',
    steps: [[`APPLY foos/a${AS('one')} ? .`, foo('a')], [`APPLY foos/a${AS('one')} ? .`, foo('a')]],
  },
  {
    name: "applying another manager's field is a conflict that names the manager",
    steps: [
      [`APPLY foos/a${AS('one')}`, foo('a', { size: 1, parts: [{ name: 'p', value: 1 }] })],
      [`APPLY foos/a${AS('two')}`, foo('a', { size: 2, parts: [{ name: 'p', value: 2 }] })],
    ],
  },
  {
    name: 'a field that is no longer applied is removed unless another manager owns it',
    steps: [
      [`APPLY foos/a${AS('one')}`, foo('a', { size: 1, name: 'abc', labels: { a: '1', b: '2' } })],
      [`APPLY foos/a${AS('two')}`, foo('a', { labels: { b: '2' } })],
      [`APPLY foos/a${AS('one')} ? spec`, foo('a', { size: 1 })],
    ],
  },
  {
    name: 'apply refuses repeated list items',
    steps: [[`APPLY foos/a${AS('one')}`, foo('a', { size: 1, parts: [{ name: 'x' }, { name: 'x' }] })]],
  },
  { name: 'apply refuses unknown fields', steps: [[`APPLY foos/a${AS('one')}`, foo('a', { size: 1, bogus: 1 })]] },
  {
    name: 'an update owns the fields it changes, and conflicts name its apiVersion',
    steps: [
      ['POST foos', foo('a', { size: 1 })],
      ['MERGE foos/a ? .', { spec: { name: 'abc' } }, { userAgent: 'other/2 (linux)' }],
      [`APPLY foos/a${AS('one')}`, foo('a', { size: 2 })],
    ],
  },
  { name: 'ownership of a Deployment follows its schema', steps: [['POST deploy ? .', deploy('a')]] },
  {
    name: 'two managers can apply to one Deployment',
    steps: [
      [`APPLY deploy/a${AS('one')}`, deploy('a')],
      [`APPLY deploy/a${AS('two')} ? spec.replicas`, {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'a' },
        spec: { replicas: 3 },
      }],
      [`APPLY deploy/a${AS('one')} ? spec.replicas`, deploy('a')],
      [`APPLY deploy/a${AS('two')} ? spec.replicas`, {
        ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'a' }, spec: { replicas: 3 } },
        spec: {},
      }],
    ],
  },
  {
    name: 'an apply to /status has its own managedFields entry',
    steps: [
      [`APPLY foos/a${AS('one')}`, foo('a')],
      [`APPLY foos/a/status${AS('one')} ? .`, {
        apiVersion: `{group}/v1`,
        kind: 'Foo',
        metadata: { name: 'a' },
        status: { ready: 1 },
      }],
    ],
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
    steps: [
      ['POST foos', foo('a', { size: 1, name: 'abc' })],
      ['MERGE foos/a', { metadata: { managedFields: [{}] } }],
      [`APPLY foos/a${AS('one')} ? spec.name .`, foo('a', { size: 1 })],
    ],
  },
])
