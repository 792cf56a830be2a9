/** The schema of label selectors: that of meta/v1, and what a server takes of them is what `selectors` reads. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, defineResource, selectors } from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import { labelSelector } from 'kubeloop/schema'
import * as z from 'zod'
import * as mini from 'zod/mini'
import { systemClock } from '../../lib/async/clock.ts'
import { Api } from '../../lib/client/api.ts'
import { KubeClient } from '../../lib/client/kube_client.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { installCrds } from '../../lib/crds/install.ts'

const base = { group: 'selectors.example.com', version: 'v1', kind: 'Foo' }
const Foo = defineResource({
  ...base,
  spec: z.object({ selector: labelSelector, others: z.optional(labelSelector) }),
})

/** As controller-gen writes the type, with the operators. */
const SELECTOR = {
  type: 'object',
  'x-kubernetes-map-type': 'atomic',
  properties: {
    matchExpressions: {
      type: 'array',
      'x-kubernetes-list-type': 'atomic',
      items: {
        type: 'object',
        properties: {
          key: { type: 'string' },
          operator: { type: 'string', enum: ['In', 'NotIn', 'Exists', 'DoesNotExist'] },
          values: { type: 'array', 'x-kubernetes-list-type': 'atomic', items: { type: 'string' } },
        },
        required: ['key', 'operator'],
      },
    },
    matchLabels: { type: 'object', additionalProperties: { type: 'string' } },
  },
}

test('the schema is that of meta/v1 LabelSelector, by zod and zod/mini', () => {
  const of = ({ definition }: Pick<typeof Foo, 'definition'>): unknown =>
    (definition.crd.spec.versions[0]!.schema.openAPIV3Schema as { properties: { spec: unknown } }).properties.spec
  const spec = { type: 'object', properties: { selector: SELECTOR, others: SELECTOR }, required: ['selector'] }
  assert.deepEqual(of(Foo), spec)
  const small = mini.object({ selector: labelSelector, others: mini.optional(labelSelector) })
  assert.deepEqual(of(defineResource({ ...base, spec: small })), spec)
})

const values: readonly (readonly [string, unknown, boolean])[] = [
  ['no terms', {}, true],
  ['labels', { matchLabels: { app: 'shop' } }, true],
  ['expressions', {
    matchExpressions: [
      { key: 'tier', operator: 'In', values: ['web', 'edge'] },
      { key: 'tier', operator: 'NotIn', values: ['cron'] },
      { key: 'app', operator: 'Exists' },
      { key: 'old', operator: 'DoesNotExist', values: [] },
    ],
  }, true],
  ['a text', 'app=shop', false],
  ['a label that is a number', { matchLabels: { app: 1 } }, false],
  ['an unknown operator', { matchExpressions: [{ key: 'a', operator: 'Gt', values: ['1'] }] }, false],
  ['no key', { matchExpressions: [{ operator: 'Exists' }] }, false],
  ['no operator', { matchExpressions: [{ key: 'a' }] }, false],
  ['a value that is a number', { matchExpressions: [{ key: 'a', operator: 'In', values: [1] }] }, false],
]

for (const [name, selector, isRight] of values) {
  test(`a selector with ${name} is ${isRight ? 'valid' : 'refused'}, here and by a server`, async () => {
    const object = { metadata: { namespace: 'default', name: 'a' }, spec: { selector: selector as object } }
    assert.equal(Foo.definition.validate(object).length === 0, isRight)
    const api = new Api({ transport: new ApiServer().handle })
    await installCrds(
      [Foo],
      { api, clock: systemClock, log: silentLog, fieldManager: 'test' },
      new AbortController().signal,
    )
    const created = new KubeClient({ api, fieldManager: 'test' }).create(Foo, object)
    if (!isRight) {
      return assert.rejects(created, (error: Error) => error instanceof ApiError && error.status.reason === 'Invalid')
    }
    const foo = await created
    assert.deepEqual(foo.spec.selector, selector)
    const selects = selectors.parseLabelSelector(foo.spec.selector)
    assert.ok(selects({ app: 'shop', tier: 'web' }))
    assert.equal(selects({ app: 'other', tier: 'cron' }), name === 'no terms')
  })
}
