import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isPartial } from '../../lib/core/partial.ts'
import { prepareObject } from '../../lib/cache/prepare_object.ts'
import { POD, pod } from './scripted_server.ts'

/** What the cache, owners, finalizers, predicates and selectors read. */
const KEPT: Readonly<Record<string, unknown>> = {
  name: 'a',
  namespace: 'default',
  uid: 'u',
  resourceVersion: '5',
  generation: 2,
  creationTimestamp: '2026-01-01T00:00:00Z',
  deletionTimestamp: '2026-01-01T00:01:00Z',
  deletionGracePeriodSeconds: 30,
  labels: { app: 'x' },
  ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'b', uid: 'v' }],
  finalizers: ['example.dev/f'],
}

for (const [field, value] of Object.entries(KEPT)) {
  test(`a strip function cannot remove metadata.${field}`, () => {
    for (
      const strip of [
        (metadata: Record<string, unknown>) => void delete metadata[field],
        (metadata: Record<string, unknown>) => void (metadata[field] = undefined),
        (metadata: Record<string, unknown>) => {
          const inner = metadata[field]
          if (Array.isArray(inner)) inner.length = 0
          else if (typeof inner === 'object') { for (const key of Object.keys(inner!)) delete inner![key as never] }
        },
      ]
    ) {
      const object = pod('a', '5', structuredClone(KEPT))
      prepareObject(object, { resource: POD, strip: ({ metadata }) => strip(metadata as never) })
      assert.deepEqual((object.metadata as unknown as Record<string, unknown>)[field], value)
    }
    const bare = pod('a', '5', { ...KEPT })
    prepareObject(bare, { resource: POD, strip: (object) => void delete (object as { metadata?: unknown }).metadata })
    assert.deepEqual((bare.metadata as unknown as Record<string, unknown>)[field], value)
  })
}

test('a strip function cannot remove the kind, which a status, an owner and an Event of the object need', () => {
  const object = pod('a', '5')
  const { apiVersion, kind } = object
  prepareObject(object, {
    resource: POD,
    strip: (object) => {
      const fields = object as unknown as Record<string, unknown>
      for (const field of Object.keys(fields)) if (field !== 'metadata') delete fields[field]
    },
  })
  assert.deepEqual([object.apiVersion, object.kind], [apiVersion, kind])
})

test('other metadata is stripped, absent metadata stays absent, and the object is partial, also if the function throws', () => {
  for (const throws of [false, true]) {
    const object = pod('a', '5', { annotations: { a: 'b' } } as object)
    const failed: unknown[] = []
    prepareObject(object, {
      resource: POD,
      strip: ({ metadata }) => {
        delete (metadata as { annotations?: unknown }).annotations
        if (throws) assert.fail('mine')
      },
      onStripError: ({ metadata }, error) => void failed.push(metadata.name, (error as Error).message),
    })
    assert.deepEqual(
      ['annotations' in object.metadata, 'labels' in object.metadata, isPartial(object)],
      [false, false, true],
    )
    assert.deepEqual(failed, throws ? ['a', 'mine'] : [])
  }
})
