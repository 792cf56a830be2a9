/** Cases of protobuf request bodies. */
import assert from 'node:assert/strict'
import { bodyOf, envelope, integer, joined, part, PROTOBUF } from '../apiserver/protobuf_writer.ts'
import { type Api, type Body, type Case, caseOf, CRDS } from './api.ts'
import { definitionOf } from '../tools/definitions.ts'
import { collectionOf, type Sample, SAMPLES } from './kinds/objects.ts'
import { lineOf, recordedCase } from './recording.ts'
import { casesOf, cm, script, type Step, type StepBody, textOf } from './transcript.ts'

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
  caseOf('protobuf: answers are JSON for clients that accept protobuf alone', async (api) => {
    const answer = await api.request('GET', api.configMaps, undefined, { accept: PROTOBUF })
    assert.equal(answer.status, 200)
    assert.match(answer.headers['content-type']!, /^application\/json/)
    const missing = await api.request('GET', `${api.configMaps}/a`, undefined, { accept: PROTOBUF })
    assert.equal(missing.body.code, 404)
  }),
])
