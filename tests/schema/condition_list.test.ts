/** Tests that the schema of conditions accepts what setCondition makes and built-in kinds accept. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, conditions, defineResource } from 'kubeloop'
import { conditionList } from 'kubeloop/schema'
import { ApiServer } from 'kubeloop/apiserver'
import * as z from 'zod'
import * as mini from 'zod/mini'
import { KubeClient } from '../../lib/client/kube_client.ts'
import { Api } from '../../lib/client/api.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { systemClock } from '../../lib/async/clock.ts'
import { installCrds } from '../../lib/crds/install.ts'

const base = { group: 'conditions.example.com', version: 'v1', kind: 'Foo' }
const Foo = defineResource({
  ...base,
  spec: z.object({ size: z.int32() }),
  status: z.object({ conditions: conditionList }),
})
const ready = { type: 'Ready', status: 'True', reason: 'AllGood', message: '', observedGeneration: 1 } as const
const NOW = Date.UTC(2026, 0, 2)

test('the list is a map by type, with the limits of meta/v1', () => {
  const of = (definition: typeof Foo.definition): unknown => {
    const root = definition.crd.spec.versions[0]!.schema.openAPIV3Schema as { properties: { status: unknown } }
    return root.properties.status
  }
  const status = of(Foo.definition) as {
    properties: { conditions: { items: { properties: { lastTransitionTime: Record<string, unknown> } } } }
  }
  const { pattern, ...time } = status.properties.conditions.items.properties.lastTransitionTime
  assert.equal(typeof pattern, 'string')
  assert.deepEqual(status, {
    type: 'object',
    properties: {
      conditions: {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['type'],
        items: {
          type: 'object',
          properties: {
            type: {
              type: 'string',
              maxLength: 316,
              pattern:
                '^([a-z\\d]([-a-z\\d]*[a-z\\d])?(\\.[a-z\\d]([-a-z\\d]*[a-z\\d])?)*\\/)?(([A-Za-z\\d][-\\w.]*)?[A-Za-z\\d])$'
                  .replaceAll('\\/', '/'),
            },
            status: { type: 'string', enum: ['True', 'False', 'Unknown'] },
            reason: { type: 'string', maxLength: 1024, pattern: '^[A-Za-z]([\\w,:]*\\w)?$' },
            message: { type: 'string', maxLength: 32_768 },
            lastTransitionTime: { ...time, pattern },
            observedGeneration: { type: 'integer', format: 'int64', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
          },
          required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
        },
      },
    },
  })
  assert.deepEqual(time, { type: 'string', format: 'date-time' })
  const Mini = defineResource({ ...base, spec: mini.object({}), status: mini.object({ conditions: conditionList }) })
  assert.deepEqual(of(Mini.definition), status)
})

const valid = conditions.setCondition(undefined, ready, NOW)
const [one] = valid
const values: readonly (readonly [string, unknown, boolean])[] = [
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

for (const [name, list, isRight] of values) {
  test(`a status with ${name} is ${isRight ? 'valid' : 'refused'}, by zod and by a server`, async () => {
    const object = { metadata: { namespace: 'default', name: 'a' }, spec: { size: 1 } }
    assert.equal(Foo.definition.validate({ ...object, status: { conditions: list } }).length === 0, isRight)
    const api = new Api({ transport: new ApiServer().handle })
    await installCrds(
      [Foo],
      { api, clock: systemClock, log: silentLog, fieldManager: 'test' },
      new AbortController().signal,
    )
    const client = new KubeClient({ api, fieldManager: 'test' })
    const foo = await client.create(Foo, object)
    const written = client.setStatus(Foo, foo, { conditions: list as typeof valid })
    if (!isRight) {
      return assert.rejects(written, (error: Error) => error instanceof ApiError && error.status.reason === 'Invalid')
    }
    const { status } = await written
    assert.deepEqual(status?.conditions, list && JSON.parse(JSON.stringify(list)))
    if (status?.conditions?.[0]) assert.equal(conditions.isTrue({ status }, 'Ready'), true)
  })
}
