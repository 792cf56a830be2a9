/** Lists of conditions and label selectors: their schemas are those of meta/v1, and a server judges as zod does. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, conditions, defineResource, selectors } from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import { conditionList, labelSelector } from 'kubeloop/schema'
import * as z from 'zod'
import * as mini from 'zod/mini'
import { systemClock } from '../../lib/async/clock.ts'
import { Api } from '../../lib/client/api.ts'
import { KubeClient } from '../../lib/client/kube_client.ts'
import { MAX_MESSAGE, REASON, TYPE } from '../../lib/core/conditions.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { installCrds } from '../../lib/crds/install.ts'

const base = { group: 'example.com', version: 'v1', kind: 'Foo' }
const Foo = defineResource({
  ...base,
  spec: z.object({ selector: labelSelector, others: z.optional(labelSelector) }),
  status: z.object({ conditions: conditionList }),
})

const text = { type: 'string' }
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
          key: text,
          operator: { ...text, enum: ['In', 'NotIn', 'Exists', 'DoesNotExist'] },
          values: { type: 'array', 'x-kubernetes-list-type': 'atomic', items: text },
        },
        required: ['key', 'operator'],
      },
    },
    matchLabels: { type: 'object', additionalProperties: text },
  },
}
const CONDITIONS = {
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['type'],
  items: {
    type: 'object',
    properties: {
      type: { ...text, maxLength: 316, pattern: TYPE.source.replaceAll('\\/', '/') },
      status: { ...text, enum: ['True', 'False', 'Unknown'] },
      reason: { ...text, maxLength: 1024, pattern: REASON.source },
      message: { ...text, maxLength: MAX_MESSAGE },
      lastTransitionTime: { ...text, format: 'date-time' },
      observedGeneration: { type: 'integer', format: 'int64', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
    },
    required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
  },
}

test('the schemas are those of meta/v1, by zod and zod/mini', () => {
  const small = {
    spec: mini.object({ selector: labelSelector, others: mini.optional(labelSelector) }),
    status: mini.object({ conditions: conditionList }),
  }
  for (const { definition } of [Foo, defineResource({ ...base, ...small })]) {
    const json = JSON.stringify(definition.crd.spec.versions[0]!.schema.openAPIV3Schema, (key, value: object) => {
      const { pattern: _, ...time } = key === 'lastTransitionTime' ? value as { pattern: string } : { pattern: '' }
      return key === 'lastTransitionTime' ? time : value
    })
    const { properties } = JSON.parse(json) as { properties: { spec: unknown; status: unknown } }
    assert.deepEqual([properties.spec, properties.status], [
      { type: 'object', properties: { selector: SELECTOR, others: SELECTOR }, required: ['selector'] },
      { type: 'object', properties: { conditions: CONDITIONS } },
    ])
  }
})

/** Creates an object, and resolves with what a server stores of its selector and conditions. */
async function written(selector: unknown, list: unknown): Promise<unknown[]> {
  const object = { metadata: { namespace: 'default', name: 'a' }, spec: { selector: selector as object } }
  const status = { conditions: list as [] }
  const isRight = Foo.definition.validate({ ...object, status }).length === 0
  const api = new Api({ transport: new ApiServer().handle })
  const dependencies = { api, clock: systemClock, log: silentLog, fieldManager: 'test' }
  await installCrds([Foo], dependencies, new AbortController().signal)
  const client = new KubeClient({ api, fieldManager: 'test' })
  try {
    const foo = await client.setStatus(Foo, await client.create(Foo, object), status)
    assert.ok(isRight, 'zod refuses it')
    return [foo.spec.selector, foo.status?.conditions]
  } catch (error) {
    assert.ok(!isRight && error instanceof ApiError && error.status.reason === 'Invalid', String(error))
    return []
  }
}

const valid = conditions.setCondition(
  undefined,
  { type: 'Ready', status: 'True', reason: 'AllGood', message: '', observedGeneration: 1 },
  Date.UTC(2026, 0, 2),
)
const [one] = valid
const lists: readonly (readonly [string, unknown, boolean])[] = [
  ['what setCondition makes', valid, true],
  ['none', undefined, true],
  ['an empty list', [], true],
  ['a time with an offset', [{ ...one, lastTransitionTime: '2026-01-02T03:04:05+02:00' }], true],
  ['no generation', [{ ...one, observedGeneration: undefined }], true],
  ['another status', [{ ...one, status: 'Maybe' }], false],
  ['an empty reason', [{ ...one, reason: '' }], false],
  ['a reason of two words', [{ ...one, reason: 'All good' }], false],
  ['a type of two words', [{ ...one, type: 'Is ready' }], false],
  ['no message', [{ ...one, message: undefined }], false],
  ['a long message', [{ ...one, message: 'x'.repeat(32_769) }], false],
  ['a negative generation', [{ ...one, observedGeneration: -1 }], false],
  ['no instant', [{ ...one, lastTransitionTime: 'now' }], false],
]

for (const [name, list, isRight] of lists) {
  test(`a status with ${name} is ${isRight ? 'valid' : 'refused'}, by zod and by a server`, async () => {
    const stored = list && JSON.parse(JSON.stringify(list)) as unknown
    assert.deepEqual(await written({}, list), isRight ? [{}, stored] : [])
  })
}

const terms: readonly (readonly [string, unknown, boolean])[] = [
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

for (const [name, selector, isRight] of terms) {
  test(`a selector with ${name} is ${isRight ? 'valid' : 'refused'}, by zod and by a server`, async () => {
    assert.deepEqual(await written(selector, undefined), isRight ? [selector, undefined] : [])
    if (!isRight) return
    const selects = selectors.parseLabelSelector(selector as object)
    assert.deepEqual(
      [{ app: 'shop', tier: 'web' }, { app: 'other', tier: 'cron' }].map(selects),
      [true, name === 'no terms'],
    )
  })
}
