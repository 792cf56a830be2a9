/** Cases of protobuf request bodies. */
import assert from 'node:assert/strict'
import { bodyOf, envelope, integer, joined, part, PREFIX, PROTOBUF } from '../apiserver/protobuf_writer.ts'
import { type Api, type Body, type Case, caseOf, CRDS } from './api.ts'
import { definitionOf } from '../tools/definitions.ts'
import { collectionOf, type Sample, SAMPLES } from './kinds/objects.ts'
import { lineOf, recordedCase } from './recording.ts'
import { casesOf, cm, deploy, foo, script, type Step, type StepBody, textOf } from './transcript.ts'

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

/** Returns a step with a protobuf body: the bytes, or an object, which may need the answers before. */
const sending = (line: string, body: Uint8Array | string | StepBody): Step => [
  line,
  typeof body === 'function'
    ? (answers: readonly Body[]) => bodyOf(body(answers))
    : body instanceof Uint8Array
    ? body
    : typeof body === 'string'
    ? new TextEncoder().encode(body)
    : bodyOf(body),
  { type: PROTOBUF },
]

const options = (raw: Uint8Array, apiVersion = 'v1'): Uint8Array => envelope(apiVersion, 'DeleteOptions', raw)

/** The longest sample of each kind in a namespace; addresses and ports of services differ between two of them. */
const OBJECTS: readonly Sample[] = [
  ...Map.groupBy(
    SAMPLES.filter(({ name, resource }) =>
      !resource.startsWith('/') && (resource !== 'v1/services' || name.includes('headless'))
    ),
    ({ resource }) => resource,
  ).values(),
].map((samples) => samples.toSorted((a, b) => JSON.stringify(b.object).length - JSON.stringify(a.object).length)[0]!)

/** Returns an object without its status, and without what differs between two creations. */
function comparable({ metadata, status: _status, ...rest }: Body): Body {
  const { name: _name, uid: _uid, resourceVersion: _version, creationTimestamp: _created, ...kept } = metadata
  for (const entry of kept.managedFields ?? []) delete entry.time
  return { metadata: kept, ...rest }
}

export const PROTOBUF_CASES: readonly Case[] = casesOf('protobuf', [
  ...OBJECTS.map(({ name, resource, object: sample }): Case => ({
    name: `protobuf: ${name}: created and updated as from JSON`,
    async run(api) {
      const path = collectionOf(resource).replace('{ns}', api.namespace)
      const object = JSON.parse(JSON.stringify(sample).replaceAll('{ns}', api.namespace)) as Body
      const metadata = { ...object.metadata, labels: { a: 'b' }, annotations: { c: '' }, finalizers: ['x.io/y'] }
      const first = await api.expect(201, 'POST', path, { ...object, metadata: { name: 'json', ...metadata } })
      const { apiVersion, kind } = first
      const typed = { ...object, apiVersion, kind, metadata: { name: 'protobuf', ...metadata } }
      const created = await send(api, 'POST', path, bodyOf(typed))
      assert.equal(created.status, 201, JSON.stringify(created.body))
      assert.match(created.headers['content-type']!, /^application\/json/)
      const second = created.body
      // Generated labels contain the uid.
      const texts = [first, second].map((each) => JSON.stringify(comparable(each)).replaceAll(each.metadata.uid, 'UID'))
      assert.deepEqual(JSON.parse(texts[1]!.replaceAll('"protobuf"', '"json"')), JSON.parse(texts[0]!))
      const { managedFields: _managed, creationTimestamp: _created, ...kept } = second.metadata
      const main = Object.fromEntries(
        Object.entries(second).filter(([key, value]) => key !== 'status' && value !== null),
      )
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
  script('protobuf: apiVersion and kind may be missing, and are those of the path', [
    sending('POST cm', joined(PREFIX, part(2, named('a')))),
    sending('POST cm', envelope('a/b/c', '', named('b'))),
  ]),
  script('protobuf: unknown fields are skipped without a warning, also with fieldValidation=Strict', [
    sending(
      'POST cm?fieldValidation=Strict',
      envelope('v1', 'ConfigMap', joined(named('a'), part(99, 'x'), integer(100, 1))),
    ),
  ]),
  script('protobuf: a field that occurs twice is merged if it is a message, else replaced', [
    sending(
      'POST cm ? metadata.name metadata.labels metadata.generateName',
      envelope('v1', 'ConfigMap', joined(named('a', part(2, 'base')), part(1, part(1, 'b')))),
    ),
  ]),
  script('protobuf: a list of numbers may be packed, and mixed', [
    sending(
      'POST /api/v1/namespaces/{ns}/pods ? spec.securityContext',
      envelope(
        'v1',
        'Pod',
        joined(
          named('a'),
          part(
            2,
            joined(
              part(2, joined(part(1, 'c'), part(2, 'i'))),
              part(14, joined(part(4, Uint8Array.of(1, 0x80, 1)), integer(4, 3))),
            ),
          ),
        ),
      ),
    ),
  ]),
  script('protobuf: invalid managedFields are dropped', [
    sending(
      'POST cm ? metadata.managedFields',
      envelope(
        'v1',
        'ConfigMap',
        named(
          'a',
          part(
            17,
            joined(part(1, 'm'), part(2, 'Update'), part(3, 'v1'), part(6, 'FieldsV1'), part(7, part(1, 'no'))),
          ),
        ),
      ),
    ),
  ]),
  recordedCase(
    'protobuf',
    'protobuf: bytes that are no body are refused',
    async function* (api) {
      const body = envelope('v1', 'Namespace', named('a'))
      const bodies = ['', PREFIX, 'garbage', body.subarray(0, 12)]
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
      integer(1, 3),
      huge,
      endless,
      Uint8Array.of(0x00),
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
      ['apps/v1', 'Deployment'],
      ['no.example/v2', 'Namespace'],
    ] as const
    for (const [apiVersion, kind] of kinds) yield await refusal(api, '/api/v1/namespaces', envelope(apiVersion, kind))
    const secret = envelope('v1', 'Secret', named('a'))
    yield await refusal(api, '/apis/rbac.authorization.k8s.io/v1/clusterroles', secret)
    yield await refusal(api, '/apis/events.k8s.io/v1/namespaces/{ns}/events', envelope('v1', 'Event', named('a')))
    // Definitions know no kinds of other servers.
    yield await refusal(api, CRDS, secret)
  }),
  caseOf('protobuf: a definition is created as from JSON', async (api) => {
    const group = `p-${api.namespace}.example.com`
    const definition = definitionOf({
      ...{ kind: 'Bar', group },
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
    })
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    const { status, body } = await send(api, 'POST', `${path}?dryRun=All`, bodyOf(definition))
    assert.equal(status, 201, JSON.stringify(body))
    const expected = await api.expect(201, 'POST', `${path}?dryRun=All`, definition)
    assert.deepEqual(body.spec, expected.spec)
  }),
  script('protobuf: status and scale are updated', [
    ['POST deploy', deploy('a')],
    sending('PUT deploy/a/status ? status spec.replicas', ([{ metadata, ...rest }]: readonly Body[]) => ({
      ...rest,
      metadata: { name: 'a', resourceVersion: metadata.resourceVersion },
      status: { observedGeneration: 1, replicas: 3, conditions: [{ type: 'Available', status: 'True' }] },
    })),
    ['POST foos', foo('a')],
    ...['deploy', 'foos'].flatMap((path) =>
      [{ replicas: 5 }, undefined].map((spec): Step =>
        sending(`PUT ${path}/a/scale ? spec`, {
          apiVersion: 'autoscaling/v1',
          kind: 'Scale',
          metadata: { name: 'a' },
          ...(spec && { spec }),
        })
      )
    ),
    'GET foos/a ? spec.size',
  ]),
  script('protobuf: a namespace is finalized', [
    ['POST /api/v1/namespaces', { metadata: { name: '{ns}-x' } }],
    sending(
      'PUT /api/v1/namespaces/{ns}-x/finalize ? spec.finalizers',
      ([{ metadata, apiVersion, kind }]: readonly Body[]) => ({
        apiVersion,
        kind,
        metadata: { name: metadata.name },
        spec: { finalizers: ['kubernetes', 'x.io/y'] },
      }),
    ),
    sending('PUT /api/v1/namespaces/{ns}-x/finalize', envelope('v1', 'Secret', named('x'))),
  ]),
  {
    name: 'protobuf: DeleteOptions work under every group version',
    steps: ['v1', 'no.example/v3'].flatMap((apiVersion): Step[] => [
      ['POST cm', cm('a')],
      sending('DELETE cm/a', options(part(2, part(1, 'no-uid')), apiVersion)),
      sending('DELETE cm/a', envelope(apiVersion, 'DeleteOptions')),
    ]),
  },
  script('protobuf: DeleteOptions are obeyed, also for custom objects and collections', [
    ['POST foos', foo('a')],
    sending('DELETE foos/a', options(part(5, 'All'))),
    'GET foos/a',
    sending('DELETE foos/a ? metadata.finalizers', options(part(4, 'Orphan'))),
    ['POST cm', cm('b', {}, { labels: { a: 'b' } })],
    ['POST cm', cm('c')],
    sending('DELETE cm?labelSelector=a', options(integer(1, 0))),
    'GET cm',
    sending('DELETE cm/c', ''),
  ]),
  script('protobuf: bytes that are no DeleteOptions are refused, and nothing is deleted', [
    ['POST cm', cm('a')],
    ...['cm/a', 'cm'].flatMap((path) =>
      [
        PREFIX,
        'no',
        envelope('v1', 'DeleteOptions').subarray(0, 10),
        options(integer(2, 0)),
        envelope('v1', 'Secret'),
        envelope('apps/v1', 'Nope'),
      ].map((body) => sending(`DELETE ${path}`, body))
    ),
    'GET cm/a',
  ]),
  {
    name: 'protobuf: bodies above the limit are refused',
    steps: ['POST cm', 'DELETE cm/a'].map((line) =>
      sending(
        line,
        envelope(
          'v1',
          'ConfigMap',
          joined(named('a'), part(2, joined(part(1, 'k'), part(2, new Uint8Array(MAX_BODY_BYTES).fill(97))))),
        ),
      )
    ),
  },
  script('protobuf: other media types of bodies get 415, on which clients fall back', [
    ['POST cm', cm('a')],
    ...['application/cbor', 'text/plain', 'application/protobuf'].flatMap((type) =>
      ['POST cm', 'DELETE cm/a'].map((line): Step => [line, 'x', { type }])
    ),
  ]),
  caseOf('protobuf: a custom object cannot be created from it', async (api) => {
    const { body } = await send(api, 'POST', api.foos, envelope(`${api.group}/v1`, 'Foo', named('a')))
    assert.equal(body.code, 415)
    await api.refused(404, 'NotFound', 'GET', `${api.foos}/a`)
  }),
  caseOf('protobuf: a raw field that is not JSON is refused', async (api) => {
    const raw = joined(named('a'), part(2, part(1, '{no')), integer(3, 1))
    const path = `/apis/apps/v1/namespaces/${api.namespace}/controllerrevisions`
    const { status } = await send(api, 'POST', path, envelope('apps/v1', 'ControllerRevision', raw))
    assert.equal(status, 400)
    await api.refused(404, 'NotFound', 'GET', `${path}/a`)
  }),
  caseOf('protobuf: answers are JSON for clients that accept protobuf alone', async (api) => {
    const answer = await api.request('GET', api.configMaps, undefined, { accept: PROTOBUF })
    assert.equal(answer.status, 200)
    assert.match(answer.headers['content-type']!, /^application\/json/)
    const missing = await api.request('GET', `${api.configMaps}/a`, undefined, { accept: PROTOBUF })
    assert.equal(missing.body.code, 404)
  }),
])
