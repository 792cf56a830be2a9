/** Compares the OpenAPI documents, and what kubectl explain makes of them, with those of a real kube-apiserver. */
import { after, before, test } from 'node:test'
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ApiServer, serve, type ServedApi } from '../../lib/apiserver/mod.ts'
import type { Transport } from '../../lib/core/transport.ts'
import { type ClosableTransport, httpTransport } from '../../lib/runtime/net/transport.ts'
import { type Envtest, startEnvtest } from '../../lib/testing/envtest.ts'
import { runCommand } from '../tools/run_command.ts'
import { CRDS, definitionOf } from '../tools/definitions.ts'

const missing = process.env['KUBEBUILDER_ASSETS']
  ? false
  : 'KUBEBUILDER_ASSETS is not set: no real kube-apiserver to compare with'

const BUILT_IN: readonly string[] = [
  'pods',
  'pods.spec.containers',
  'pods.spec.containers.resources',
  'deployments.spec.strategy',
  'statefulsets.spec.volumeClaimTemplates',
  'services.spec',
  'configmaps',
  'secrets.data',
  'namespaces',
  'nodes.status',
  'persistentvolumeclaims.spec',
  'jobs.spec',
  'cronjobs.spec.jobTemplate',
  'ingresses.spec.rules.http.paths',
  'networkpolicies.spec',
  'roles.rules',
  'customresourcedefinitions.spec.versions',
  'leases.spec',
  'poddisruptionbudgets.spec',
  'storageclasses',
  'mutatingwebhookconfigurations.webhooks',
  'pods.spec.nope',
  'nopes',
]
const CUSTOM: readonly string[] = ['widgets', 'widgets.spec', 'widgets.spec.parts', 'widgets.metadata.ownerReferences']

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

interface Side {
  readonly transport: Transport
  /** Runs kubectl. Returns its exit code and all that it has written. */
  kubectl(...args: readonly string[]): Promise<string>
}

let envtest: Envtest | undefined
let served: ServedApi | undefined
let folder = ''
const open: ClosableTransport[] = []
let sides: readonly [real: Side, embedded: Side]

before(async () => {
  if (missing) return
  folder = await mkdtemp(join(tmpdir(), 'kubeloop-explain-'))
  envtest = await startEnvtest()
  served = await serve(new ApiServer())
  const { server, ca, token } = envtest.tokenConfig
  sides = [
    await sideOf('real', { server, ca: String(ca), token: String(token) }),
    await sideOf('embedded', { server: served.url, ca: served.ca, token: served.token }),
  ]
  for (const { transport } of sides) {
    const body = JSON.stringify(DEFINITION)
    const headers = { 'content-type': 'application/json' }
    assert.equal((await transport({ method: 'POST', path: CRDS, headers, body })).status, 201)
  }
  // A real server publishes the kind a little later. Each attempt takes a round trip.
  for (const untilMs = performance.now() + 30_000; performance.now() < untilMs;) {
    if ((await read(sides[0], '/openapi/v3'))['paths']['apis/explain.example.com/v1']) return
  }
  assert.fail('the custom kind was never published')
})

after(async () => {
  for (const transport of open) transport.close()
  await served?.close()
  await envtest?.stop()
  if (folder) await rm(folder, { recursive: true })
})

async function sideOf(name: string, config: { server: string; ca: string; token: string }): Promise<Side> {
  const transport = httpTransport(config)
  open.push(transport)
  const kubeconfig = join(folder, `${name}.json`)
  await writeFile(kubeconfig, envtest!.kubeconfig(config))
  return {
    transport,
    async kubectl(...args) {
      const flags = ['--kubeconfig', kubeconfig, '--cache-dir', join(folder, name)]
      const { code, stdout, stderr } = await runCommand(envtest!.kubectl, [...flags, ...args])
      return `${code}\n${stdout}\n${stderr}`
    },
  }
}

// deno-lint-ignore no-explicit-any -- documents are compared as a whole
async function read({ transport }: Side, path: string): Promise<any> {
  const response = await transport({ method: 'GET', path })
  assert.equal(response.status, 200, path)
  return JSON.parse(await response.body.text())
}

for (const path of [...BUILT_IN, ...CUSTOM]) {
  test(`kubectl explain ${path} prints the same`, { skip: missing }, async () => {
    for (const flags of [[], ['--recursive']]) {
      const [expected, actual] = await Promise.all(sides.map((side) => side.kubectl('explain', path, ...flags)))
      assert.equal(actual, expected)
    }
  })
}

test('what is published equals the documents of the real server', { skip: missing }, async () => {
  const [real, embedded] = sides
  const { paths } = await read(embedded, '/openapi/v3')
  const realPaths = (await read(real, '/openapi/v3')).paths
  assert.ok(paths['apis/explain.example.com/v1'])
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
})
