/** Compares the OpenAPI documents, which kubectl explain prints, with those of a real kube-apiserver. */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import type { Transport } from '../../lib/core/transport.ts'
import { httpTransport } from '../../lib/runtime/net/transport.ts'
import { startEnvtest } from '../../lib/testing/envtest/envtest.ts'
import { CRDS, definitionOf } from '../tools/definitions.ts'

const missing = process.env['KUBEBUILDER_ASSETS']
  ? false
  : 'KUBEBUILDER_ASSETS is not set: no real kube-apiserver to compare with'

const DEFINITION = definitionOf({
  ...{ kind: 'Widget', group: 'explain.example.com', scope: 'Namespaced' },
  version: {
    selectableFields: [{ jsonPath: '.spec.size' }],
    subresources: { status: {}, scale: { specReplicasPath: '.spec.count', statusReplicasPath: '.status.count' } },
  },
  schema: {
    type: 'object',
    description: 'A widget.',
    required: ['spec'],
    properties: {
      metadata: { type: 'object' },
      spec: {
        type: 'object',
        description: 'What is wanted.\nIn two lines.',
        required: ['size'],
        properties: {
          size: { type: 'string', enum: ['S', 'M'], default: 'M', description: 'The size.' },
          count: { type: 'integer', format: 'int32', minimum: 0 },
          port: { 'x-kubernetes-int-or-string': true, description: 'A port.' },
          either: { 'x-kubernetes-int-or-string': true, anyOf: [{ pattern: 'a' }, { pattern: 'b' }] },
          note: { type: 'string', nullable: true },
          open: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          labels: { type: 'object', additionalProperties: { type: 'string' }, 'x-kubernetes-map-type': 'atomic' },
          template: {
            type: 'object',
            'x-kubernetes-embedded-resource': true,
            'x-kubernetes-preserve-unknown-fields': true,
          },
          parts: {
            type: 'array',
            'x-kubernetes-list-type': 'map',
            'x-kubernetes-list-map-keys': ['name'],
            items: {
              type: 'object',
              required: ['name'],
              properties: { name: { type: 'string' }, on: { type: 'boolean', default: false } },
            },
          },
        },
        'x-kubernetes-validations': [{ rule: 'self.size != ""', message: 'a size' }],
      },
      status: { type: 'object', properties: { count: { type: 'integer' } } },
    },
  },
})

// deno-lint-ignore no-explicit-any -- documents are compared as a whole
async function read(side: Transport, path: string): Promise<any> {
  const response = await side({ method: 'GET', path })
  assert.equal(response.status, 200, path)
  return JSON.parse(await response.body.text())
}

/** Creates the definition. Resolves when its kind is published, which is a little later on a real server. */
async function define(side: Transport): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const { status } = await side({ method: 'POST', path: CRDS, headers, body: JSON.stringify(DEFINITION) })
  assert.equal(status, 201)
  // Each attempt takes a round trip.
  for (const untilMs = performance.now() + 30_000; performance.now() < untilMs;) {
    if ((await read(side, '/openapi/v3'))['paths']['apis/explain.example.com/v1']) return
  }
  assert.fail('the custom kind was never published')
}

test('what is published equals the documents of the real server', { skip: missing }, async () => {
  const envtest = await startEnvtest()
  const real = httpTransport(envtest.tokenConfig)
  const embedded = new ApiServer().handle
  try {
    for (const side of [real, embedded]) await define(side)
    const { paths } = await read(embedded, '/openapi/v3')
    const realPaths = (await read(real, '/openapi/v3')).paths
    for (const name of Object.keys(paths)) {
      const actual = await read(embedded, paths[name].serverRelativeURL)
      const expected = await read(real, realPaths[name].serverRelativeURL)
      assert.deepEqual(actual.info, expected.info)
      for (const [path, item] of Object.entries(actual.paths)) assert.deepEqual(item, expected.paths[path], path)
      for (const [schema, value] of Object.entries(actual.components.schemas)) {
        assert.deepEqual(value, expected.components.schemas[schema], schema)
      }
      if (!name.includes('example.com')) continue
      assert.deepEqual(Object.keys(actual.paths), Object.keys(expected.paths))
      assert.deepEqual(Object.keys(actual.components.schemas), Object.keys(expected.components.schemas))
    }
  } finally {
    real.close()
    await envtest.stop()
  }
})
