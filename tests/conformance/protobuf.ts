/** Cases of protobuf request bodies. */
import assert from 'node:assert/strict'
import { bodyOf, envelope, integer, joined, part, PREFIX, PROTOBUF } from '../apiserver/protobuf_writer.ts'
import { type Api, type Body, type Case, CRDS } from './api.ts'
import { lineOf, recordedCase } from './recording.ts'
import { textOf } from './transcript.ts'

const MAX_BODY_BYTES = 3_145_728

/** The metadata of an object with a name. */
function named(name: string, ...more: Uint8Array[]): Uint8Array {
  return part(1, joined(part(1, name), ...more))
}

function send(api: Api, method: 'POST' | 'PUT' | 'DELETE', path: string, body: Uint8Array | string) {
  return api.request(method, path, typeof body === 'string' ? new TextEncoder().encode(body) : body, { type: PROTOBUF })
}

/** Sends a body and returns the line of the answer. `{ns}` in the path is the namespace of the case. */
async function refusal(api: Api, path: string, body: Uint8Array | string): Promise<string> {
  const answer = await send(api, 'POST', path.replace('{ns}', api.namespace), body)
  return lineOf(`POST ${path}`, textOf({ ns: api.namespace }, answer))
}

const POD_SPEC = {
  containers: [{
    name: 'main',
    image: 'nginx',
    args: ['a', ''],
    env: [
      { name: 'A', value: '1' },
      { name: 'B', valueFrom: { secretKeyRef: { name: 's', key: 'k', optional: false } } },
    ],
    ports: [{ containerPort: 80, name: 'http' }],
    resources: { limits: { cpu: '500m', memory: '1Gi' }, requests: { cpu: '0' } },
    readinessProbe: { httpGet: { path: '/', port: 'http' }, periodSeconds: 3 },
    livenessProbe: { tcpSocket: { port: 80 } },
    volumeMounts: [{ name: 'data', mountPath: '/data', readOnly: true }],
    securityContext: { runAsUser: 0, allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
  }],
  volumes: [
    { name: 'data', emptyDir: { sizeLimit: '10Mi' } },
    { name: 'config', configMap: { name: 'c', items: [{ key: 'k', path: 'p', mode: 256 }], defaultMode: 420 } },
  ],
  terminationGracePeriodSeconds: 0,
  securityContext: { supplementalGroups: [1, 2], fsGroup: 3 },
  tolerations: [{ key: 'a', operator: 'Exists', tolerationSeconds: 0, effect: 'NoExecute' }],
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'os', operator: 'In', values: ['linux'] }] }],
      },
    },
  },
}

const SELECTOR = { matchLabels: { app: 'a' } }
const TEMPLATE = { metadata: { labels: { app: 'a' } }, spec: POD_SPEC }

/** Objects with every type of field. */
const OBJECTS: readonly Body[] = [
  { apiVersion: 'v1', kind: 'ConfigMap', data: { a: '', b: 'Ω' }, binaryData: { c: 'AP8=' }, immutable: false },
  { apiVersion: 'v1', kind: 'Secret', type: 'Opaque', data: { a: '', b: 'AP8=' }, stringData: { c: 'd' } },
  { apiVersion: 'v1', kind: 'ServiceAccount', automountServiceAccountToken: false, imagePullSecrets: [{ name: 'x' }] },
  {
    apiVersion: 'v1',
    kind: 'Service',
    spec: {
      clusterIP: 'None',
      selector: { a: 'b' },
      ports: [{ name: 'p', port: 80, targetPort: 'http' }, { name: 'q', port: 81, targetPort: 82 }],
    },
  },
  { apiVersion: 'v1', kind: 'Pod', spec: POD_SPEC },
  {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1500Mi' } }, storageClassName: '' },
  },
  { apiVersion: 'v1', kind: 'ResourceQuota', spec: { hard: { pods: '10', cpu: '1500m' } } },
  {
    apiVersion: 'v1',
    kind: 'LimitRange',
    spec: { limits: [{ type: 'Container', default: { cpu: '1' }, defaultRequest: { cpu: '100m' } }] },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    spec: {
      replicas: 0,
      selector: SELECTOR,
      template: TEMPLATE,
      strategy: { rollingUpdate: { maxSurge: '25%', maxUnavailable: 0 } },
      minReadySeconds: 0,
      paused: true,
    },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    spec: {
      serviceName: 's',
      selector: SELECTOR,
      template: TEMPLATE,
      volumeClaimTemplates: [{
        metadata: { name: 'data' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      }],
    },
  },
  { apiVersion: 'apps/v1', kind: 'DaemonSet', spec: { selector: SELECTOR, template: TEMPLATE } },
  { apiVersion: 'apps/v1', kind: 'ControllerRevision', data: { spec: { a: [1, 2.5, null] } }, revision: 1 },
  {
    apiVersion: 'batch/v1',
    kind: 'Job',
    spec: { backoffLimit: 0, template: { spec: { ...POD_SPEC, restartPolicy: 'Never' } }, suspend: true },
  },
  {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    spec: {
      schedule: '* * * * *',
      jobTemplate: { spec: { template: { spec: { ...POD_SPEC, restartPolicy: 'OnFailure' } } } },
    },
  },
  {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    spec: {
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      leaseTransitions: 0,
      acquireTime: '2026-01-02T03:04:05.000006Z',
      renewTime: '2026-01-02T03:04:05.600000Z',
    },
  },
  {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    spec: {
      rules: [{
        host: 'a.example.com',
        http: { paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: 's', port: { number: 80 } } } }] },
      }],
    },
  },
  {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    spec: {
      podSelector: {},
      ingress: [{ from: [{ ipBlock: { cidr: '10.0.0.0/8' } }, { podSelector: {} }], ports: [{ port: 'http' }] }],
      policyTypes: ['Ingress'],
    },
  },
  { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', spec: { minAvailable: '50%', selector: SELECTOR } },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get', '*'] }],
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' },
    subjects: [{ kind: 'ServiceAccount', name: 's', namespace: 'default' }],
  },
  {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.1.2.3'], conditions: { ready: false } }],
    ports: [{ name: '', port: 80, protocol: 'TCP' }],
  },
]

const PLURALS: Readonly<Record<string, string>> = { Ingress: 'ingresses', NetworkPolicy: 'networkpolicies' }

function collection(api: Api, { apiVersion, kind }: Body): string {
  const plural = PLURALS[kind] ?? `${kind.toLowerCase()}s`
  return `/${apiVersion === 'v1' ? 'api' : 'apis'}/${apiVersion}/namespaces/${api.namespace}/${plural}`
}

/** Returns an object without its status, and without what differs between two creations. */
function comparable({ metadata, status: _status, ...rest }: Body): Body {
  const { name: _name, uid: _uid, resourceVersion: _version, creationTimestamp: _created, ...kept } = metadata
  for (const entry of kept.managedFields ?? []) delete entry.time
  return { metadata: kept, ...rest }
}

export const PROTOBUF_CASES: readonly Case[] = [
  ...OBJECTS.map((object): Case => ({
    name: `protobuf: a ${object.kind} is created and updated as from JSON`,
    async run(api) {
      const path = collection(api, object)
      const metadata = { labels: { a: 'b' }, annotations: { c: '' }, finalizers: ['x.io/y'] }
      const first = await api.expect(201, 'POST', path, { ...object, metadata: { name: 'json', ...metadata } })
      const created = await send(api, 'POST', path, bodyOf({ ...object, metadata: { name: 'protobuf', ...metadata } }))
      assert.equal(created.status, 201, JSON.stringify(created.body))
      assert.match(created.headers['content-type']!, /^application\/json/)
      const second = created.body
      // Generated labels contain the uid.
      const texts = [first, second].map((each) => JSON.stringify(comparable(each)).replaceAll(each.metadata.uid, 'UID'))
      assert.deepEqual(JSON.parse(texts[1]!.replaceAll('"protobuf"', '"json"')), JSON.parse(texts[0]!))
      const { managedFields: _managed, creationTimestamp: _created, ...kept } = second.metadata
      const { status: _status, ...main } = second
      const changed = { ...main, metadata: { ...kept, labels: { ...kept.labels, a: 'c' } } }
      const updated = await send(api, 'PUT', `${path}/protobuf`, bodyOf(changed))
      assert.equal(updated.status, 200, JSON.stringify(updated.body))
      assert.equal(updated.body.metadata.labels.a, 'c')
      assert.deepEqual({ ...updated.body, metadata: 0, status: 0 }, { ...second, metadata: 0, status: 0 })
      // The same once more changes nothing: what came as protobuf equals what is stored.
      const { resourceVersion } = updated.body.metadata
      const again = bodyOf({ ...changed, metadata: { ...changed.metadata, resourceVersion } })
      assert.equal((await send(api, 'PUT', `${path}/protobuf`, again)).body.metadata.resourceVersion, resourceVersion)
    },
  })),
  {
    name: 'protobuf: apiVersion and kind may be missing, and are those of the path',
    async run(api) {
      const bare = await send(api, 'POST', api.configMaps, joined(PREFIX, part(2, named('a'))))
      assert.equal(bare.status, 201, JSON.stringify(bare.body))
      assert.equal(bare.body.kind, 'ConfigMap')
      assert.equal((await send(api, 'POST', api.configMaps, envelope('a/b/c', '', named('b')))).status, 201)
    },
  },
  {
    name: 'protobuf: unknown fields are skipped without a warning, also with fieldValidation=Strict',
    async run(api) {
      const body = envelope('v1', 'ConfigMap', joined(named('a'), part(99, 'x'), integer(100, 1)))
      const answer = await send(api, 'POST', `${api.configMaps}?fieldValidation=Strict`, body)
      assert.equal(answer.status, 201)
      assert.equal(answer.headers['warning'], undefined)
    },
  },
  {
    name: 'protobuf: a field that occurs twice is merged if it is a message, else replaced',
    async run(api) {
      const raw = joined(named('a', part(3, 'wrong')), part(1, part(3, api.namespace)), part(1, part(1, 'b')))
      const { status, body } = await send(api, 'POST', api.configMaps, envelope('v1', 'ConfigMap', raw))
      assert.equal(status, 201)
      assert.equal(body.metadata.name, 'b')
      assert.equal(body.metadata.namespace, api.namespace)
    },
  },
  {
    name: 'protobuf: a list of numbers may be packed, and mixed',
    async run(api) {
      const groups = joined(part(4, Uint8Array.of(1, 0x80, 1)), integer(4, 3))
      const spec = joined(part(2, joined(part(1, 'c'), part(2, 'i'))), part(14, groups))
      const body = envelope('v1', 'Pod', joined(named('a'), part(2, spec)))
      const answer = await send(api, 'POST', `/api/v1/namespaces/${api.namespace}/pods`, body)
      assert.equal(answer.status, 201, JSON.stringify(answer.body))
      assert.deepEqual(answer.body.spec.securityContext.supplementalGroups, [1, 128, 3])
    },
  },
  {
    name: 'protobuf: invalid managedFields are dropped',
    async run(api) {
      const entry = joined(part(1, 'm'), part(2, 'Update'), part(3, 'v1'), part(6, 'FieldsV1'), part(7, part(1, 'no')))
      const answer = await send(api, 'POST', api.configMaps, envelope('v1', 'ConfigMap', named('a', part(17, entry))))
      assert.equal(answer.status, 201)
      assert.equal(answer.body.metadata.managedFields, undefined)
    },
  },
  recordedCase(
    'protobuf',
    'protobuf: bytes that are no body are refused with their first bytes',
    async function* (api) {
      const body = envelope('v1', 'Namespace', named('a'))
      const bodies = ['', PREFIX, 'garbage', '{"a":1}', `{"a":"${'b'.repeat(40)}"}`, body.subarray(0, 12)]
      for (const each of [...bodies, body.subarray(0, -1 - part(3, '').length), joined(PREFIX, integer(1, 1))]) {
        yield await refusal(api, '/api/v1/namespaces', each)
      }
    },
  ),
  recordedCase('protobuf', 'protobuf: bytes that are no object are refused with the fault', async function* (api) {
    const huge = joined(Uint8Array.of(0x0a), new Uint8Array(9).fill(0xff), Uint8Array.of(1))
    const endless = joined(Uint8Array.of(0x0a), new Uint8Array(10).fill(0xff), Uint8Array.of(1))
    const group = new Uint8Array(1000).fill(0x53)
    const faults: readonly Uint8Array[] = [
      named('abc').subarray(0, 3),
      Uint8Array.of(0x0a),
      Uint8Array.of(0x0a, 0xff, 0xff, 0xff, 0x7f),
      integer(1, 3),
      part(1, integer(1, 3)),
      part(1, integer(5, 3)),
      huge,
      endless,
      Uint8Array.of(0x00),
      Uint8Array.of(0x0c),
      Uint8Array.of(0x56),
      group,
      joined(named('a'), part(1, part(17, Uint8Array.of(0x22, 0x01, 0x03)))),
    ]
    for (const raw of faults) yield await refusal(api, '/api/v1/namespaces', envelope('v1', 'Namespace', raw))
    const limits = part(1, joined(part(1, 'cpu'), part(2, part(1, 'many'))))
    const quota = envelope('v1', 'ResourceQuota', joined(named('a'), part(2, limits)))
    yield await refusal(api, '/api/v1/namespaces/{ns}/resourcequotas', quota)
  }),
  recordedCase('protobuf', 'protobuf: an object of another kind is refused', async function* (api) {
    const kinds = [
      ['v1', 'Secret'],
      ['v1', 'PodList'],
      ['v1', 'DeleteOptions'],
      ['apps/v1', 'Deployment'],
      ['apps/v1', 'Status'],
      ['v1', 'Nopes'],
      ['no.example/v2', 'Namespace'],
    ] as const
    for (const [apiVersion, kind] of kinds) yield await refusal(api, '/api/v1/namespaces', envelope(apiVersion, kind))
    const secret = envelope('v1', 'Secret', named('a'))
    yield await refusal(api, '/apis/rbac.authorization.k8s.io/v1/clusterroles', secret)
    yield await refusal(api, '/apis/events.k8s.io/v1/namespaces/{ns}/events', envelope('v1', 'Event', named('a')))
    // Definitions know no kinds of other servers.
    yield await refusal(api, CRDS, secret)
  }),
  {
    name: 'protobuf: a definition is created as from JSON',
    async run(api) {
      const group = `p-${api.namespace}.example.com`
      const definition = {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: `bars.${group}` },
        spec: {
          group,
          scope: 'Cluster',
          names: { plural: 'bars', kind: 'Bar' },
          versions: [{
            name: 'v1',
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: {
                type: 'object',
                properties: {
                  spec: {
                    type: 'object',
                    required: ['a'],
                    properties: {
                      a: { type: 'integer', minimum: 1, maximum: 7, default: 3, enum: [1, 2, 3] },
                      f: { type: 'number', minimum: -0.5, maximum: 1e9, multipleOf: 0.25 },
                      b: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
                      c: { type: 'object', additionalProperties: { type: 'string', maxLength: 0 } },
                      d: { 'x-kubernetes-int-or-string': true },
                      e: { type: 'object', nullable: false, 'x-kubernetes-preserve-unknown-fields': true },
                    },
                  },
                },
              },
            },
          }],
        },
      }
      const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
      const { status, body } = await send(api, 'POST', `${path}?dryRun=All`, bodyOf(definition))
      assert.equal(status, 201, JSON.stringify(body))
      const expected = await api.expect(201, 'POST', `${path}?dryRun=All`, definition)
      assert.deepEqual(body.spec, expected.spec)
    },
  },
  {
    name: 'protobuf: the status and the scale of an object are updated',
    async run(api) {
      const created = await api.expect(201, 'POST', api.deployments, api.deployment('a'))
      const { metadata: { name, resourceVersion } } = created
      const { apiVersion, kind, spec } = created
      const status = { observedGeneration: 1, replicas: 3, conditions: [{ type: 'Available', status: 'True' }] }
      const withStatus = bodyOf({ apiVersion, kind, metadata: { name, resourceVersion }, spec, status })
      const updated = await send(api, 'PUT', `${api.deployments}/a/status`, withStatus)
      assert.equal(updated.status, 200, JSON.stringify(updated.body))
      assert.equal(updated.body.status.replicas, 3)
      const scale = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name, namespace: api.namespace } }
      const scaled = await send(api, 'PUT', `${api.deployments}/a/scale`, bodyOf({ ...scale, spec: { replicas: 5 } }))
      assert.equal(scaled.status, 200, JSON.stringify(scaled.body))
      assert.equal(scaled.body.spec.replicas, 5)
      assert.deepEqual((await send(api, 'PUT', `${api.deployments}/a/scale`, bodyOf(scale))).body.spec, {})
    },
  },
  {
    name: 'protobuf: the scale of a custom object is updated',
    async run(api) {
      await api.expect(201, 'POST', api.foos, api.foo('a'))
      const scale = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'a', namespace: api.namespace } }
      const scaled = await send(api, 'PUT', `${api.foos}/a/scale`, bodyOf({ ...scale, spec: { replicas: 5 } }))
      assert.equal(scaled.status, 200, JSON.stringify(scaled.body))
      assert.equal((await api.expect(200, 'GET', `${api.foos}/a`)).spec.size, 5)
    },
  },
  {
    name: 'protobuf: a namespace is finalized',
    async run(api) {
      const path = '/api/v1/namespaces'
      const name = `${api.namespace}-x`
      const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }
      await api.expect(201, 'POST', path, namespace)
      const body = bodyOf({ ...namespace, spec: { finalizers: ['kubernetes', 'x.io/y'] } })
      const answer = await send(api, 'PUT', `${path}/${name}/finalize`, body)
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
      assert.deepEqual(answer.body.spec.finalizers, ['kubernetes', 'x.io/y'])
      const wrong = await send(api, 'PUT', `${path}/${name}/finalize`, envelope('v1', 'Secret', named(name)))
      assert.equal(
        wrong.body.message,
        'Secret in version "v1" cannot be handled as a Namespace: converting (v1.Secret) to (core.Namespace): ' +
          'unknown conversion',
      )
    },
  },
  {
    name: 'protobuf: DeleteOptions work under every group version',
    async run(api) {
      for (const apiVersion of ['v1', 'apps/v1', 'meta.k8s.io/v1', 'policy/v1beta1', 'no.example/v3']) {
        await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
        const wrong = await send(
          api,
          'DELETE',
          `${api.configMaps}/a`,
          envelope(apiVersion, 'DeleteOptions', part(2, part(1, 'no-uid'))),
        )
        assert.equal(wrong.status, 409, JSON.stringify(wrong.body))
        const answer = await send(api, 'DELETE', `${api.configMaps}/a`, envelope(apiVersion, 'DeleteOptions'))
        assert.equal(answer.status, 200, JSON.stringify(answer.body))
        assert.equal(answer.body.status, 'Success')
      }
    },
  },
  {
    name: 'protobuf: DeleteOptions are obeyed, also for custom objects and collections',
    async run(api) {
      const options = (raw: Uint8Array) => envelope('v1', 'DeleteOptions', raw)
      await api.expect(201, 'POST', api.foos, api.foo('a'))
      const dry = await send(api, 'DELETE', `${api.foos}/a`, options(part(5, 'All')))
      assert.equal(dry.status, 200, JSON.stringify(dry.body))
      await api.expect(200, 'GET', `${api.foos}/a`)
      const orphan = await send(api, 'DELETE', `${api.foos}/a`, options(part(4, 'Orphan')))
      assert.deepEqual(orphan.body.metadata.finalizers, ['orphan'])
      await api.expect(201, 'POST', api.configMaps, api.configMap('b', {}, { labels: { a: 'b' } }))
      await api.expect(201, 'POST', api.configMaps, api.configMap('c'))
      const many = await send(api, 'DELETE', `${api.configMaps}?labelSelector=a`, options(integer(1, 0)))
      assert.equal(many.status, 200)
      assert.deepEqual(many.body.items.map((each: Body) => each.metadata.name), ['b'])
      await api.refused(404, 'NotFound', 'GET', `${api.configMaps}/b`)
      await api.expect(200, 'GET', `${api.configMaps}/c`)
    },
  },
  {
    name: 'protobuf: bytes that are no DeleteOptions are refused, and nothing is deleted',
    async run(api) {
      await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
      const bodies: readonly (readonly [Uint8Array | string, string])[] = [
        [PREFIX, 'empty body'],
        ['no', 'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]'],
        [envelope('v1', 'DeleteOptions').subarray(0, 10), 'unexpected EOF'],
        [envelope('v1', 'DeleteOptions', integer(2, 0)), 'proto: wrong wireType = 0 for field Preconditions'],
        [
          envelope('v1', 'Secret'),
          'no kind "Secret" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"',
        ],
        [
          envelope('apps/v1', 'Nope'),
          'no kind "Nope" is registered for version "apps/v1" in scheme "pkg/runtime/scheme.go:111"',
        ],
      ]
      for (const path of [`${api.configMaps}/a`, api.configMaps]) {
        for (const [body, message] of bodies) {
          const answer = await send(api, 'DELETE', path, body)
          assert.equal(answer.status, 400, JSON.stringify(answer.body))
          assert.equal(answer.body.message, message)
        }
      }
      await api.expect(200, 'GET', `${api.configMaps}/a`)
    },
  },
  {
    name: 'protobuf: an empty body of a delete has no options',
    async run(api) {
      await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
      const { status } = await send(api, 'DELETE', `${api.configMaps}/a`, '')
      assert.equal(status, 200)
    },
  },
  {
    name: 'protobuf: bodies above the limit are refused',
    async run(api) {
      const data = part(2, joined(part(1, 'k'), part(2, new Uint8Array(MAX_BODY_BYTES).fill(97))))
      const body = envelope('v1', 'ConfigMap', joined(named('a'), data))
      for (const [method, path] of [['POST', api.configMaps], ['DELETE', `${api.configMaps}/a`]] as const) {
        const { body: refusal } = await send(api, method, path, body)
        assert.equal(refusal.code, 413)
        assert.equal(refusal.reason, 'RequestEntityTooLarge')
        assert.equal(refusal.message, `Request entity too large: limit is ${MAX_BODY_BYTES}`)
      }
    },
  },
  {
    name: 'protobuf: other media types of bodies get 415, on which clients fall back',
    async run(api) {
      await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
      for (const type of ['application/cbor', 'text/plain', 'application/protobuf']) {
        for (const [method, path] of [['POST', api.configMaps], ['DELETE', `${api.configMaps}/a`]] as const) {
          const { body } = await api.request(method, path, 'x', { type })
          assert.deepEqual(body, {
            kind: 'Status',
            apiVersion: 'v1',
            metadata: {},
            status: 'Failure',
            message: 'the body of the request was in an unknown format - accepted media types include: ' +
              'application/json, application/yaml, application/vnd.kubernetes.protobuf',
            reason: 'UnsupportedMediaType',
            code: 415,
          })
        }
      }
    },
  },
  {
    name: 'protobuf: a custom object cannot be created from it',
    async run(api) {
      const { body } = await send(api, 'POST', api.foos, envelope(`${api.group}/v1`, 'Foo', named('a')))
      assert.equal(body.code, 415)
      await api.refused(404, 'NotFound', 'GET', `${api.foos}/a`)
    },
  },
  {
    name: 'protobuf: a raw field that is not JSON is refused',
    async run(api) {
      const raw = joined(named('a'), part(2, part(1, '{no')), integer(3, 1))
      const path = `/apis/apps/v1/namespaces/${api.namespace}/controllerrevisions`
      const { status } = await send(api, 'POST', path, envelope('apps/v1', 'ControllerRevision', raw))
      assert.equal(status, 400)
      await api.refused(404, 'NotFound', 'GET', `${path}/a`)
    },
  },
  {
    name: 'protobuf: answers are JSON for clients that accept both',
    async run(api) {
      const accept = `application/json;q=0.9,${PROTOBUF};q=0.8`
      const { headers } = await api.request('GET', api.configMaps, undefined, { accept })
      assert.match(headers['content-type']!, /^application\/json/)
    },
  },
  {
    name: 'protobuf: answers are JSON for clients that accept protobuf alone',
    async run(api) {
      const answer = await api.request('GET', api.configMaps, undefined, { accept: PROTOBUF })
      assert.equal(answer.status, 200)
      assert.match(answer.headers['content-type']!, /^application\/json/)
      const missing = await api.request('GET', `${api.configMaps}/a`, undefined, { accept: PROTOBUF })
      assert.equal(missing.body.code, 404)
    },
  },
]
