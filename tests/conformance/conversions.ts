/** Cases of conversion webhooks: custom kinds with several versions. */
import assert from 'node:assert/strict'
import { type Api, APPLY, type Body, type Case, caseOf, CRDS, MERGE } from './api.ts'
import { definitionOf } from '../tools/definitions.ts'
import { CLOSED_URL, RawResponse, type Responder } from './hooks.ts'
import { lineOf, recordedCase } from './recording.ts'
import { casesOf, type Script, statusText, type Step } from './transcript.ts'
import { adding, install, rule } from './webhooks.ts'

let kinds = 0

/** The custom kind Bar of a case: `spec.a` of v1 is `spec.b` of v2. v1 is stored. */
class Bars {
  readonly group: string
  readonly #api: Api
  /** Every conversion: the desired version, and the names of the objects. */
  readonly calls: { readonly to: string; readonly objects: readonly Body[] }[] = []
  respond: Responder = (review) => converted(review)

  constructor(api: Api) {
    this.#api = api
    this.group = api.group.replace('.', `-bars${kinds++}.`)
  }

  path(version: string, name = ''): string {
    return `/apis/${this.group}/${version}/namespaces/${this.#api.namespace}/bars${name && `/${name}`}`
  }

  object(version: string, name: string, spec: Body, metadata: Body = {}): Body {
    return { apiVersion: `${this.group}/${version}`, kind: 'Bar', metadata: { name, ...metadata }, spec }
  }

  definition(): Body {
    const client = this.#api.hooks.client(`/${this.group}`)
    const webhook = { clientConfig: client, conversionReviewVersions: ['v1'] }
    return definitionOf({
      ...{ kind: 'Bar', group: this.group, scope: 'Namespaced', versions: versionsOf('v1') },
      spec: { conversion: { strategy: 'Webhook', webhook } },
    })
  }

  /** Creates the definition. Resolves when both versions are served. */
  async install(): Promise<this> {
    const api = this.#api
    api.hooks.responders.set(`/${this.group}`, (review) => {
      const { desiredAPIVersion, objects } = review.request
      this.calls.push({ to: desiredAPIVersion.split('/')[1], objects })
      return this.respond(review)
    })
    await api.expect(201, 'POST', CRDS, this.definition())
    await api.untilServed(this.path('v2'))
    return this
  }
}

function versionsOf(storage: string): Body[] {
  return [['v1', 'a'], ['v2', 'b']].map(([name, field]) => ({
    name,
    served: true,
    storage: name === storage,
    schema: { openAPIV3Schema: schemaWith(field!) },
    selectableFields: [{ jsonPath: `.spec.${field}` }],
    subresources: { status: {} },
  }))
}

function schemaWith(field: string): Body {
  return {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        properties: { [field]: { type: 'string', maxLength: 9 }, more: { type: 'string', default: `of ${field}` } },
      },
      status: { type: 'object', properties: { seen: { type: 'integer' } } },
    },
  }
}

function convert(object: Body, apiVersion: string): Body {
  const { a, b, more } = object.spec
  const value = a ?? b
  return { ...object, apiVersion, spec: { [apiVersion.endsWith('/v2') ? 'b' : 'a']: value, more } }
}

/** Returns a successful response; `change` modifies each object. */
function converted({ request }: Body, change: (object: Body) => unknown = (object) => object): Body {
  const objects = request.objects.map((object: Body) => change(convert(object, request.desiredAPIVersion)))
  return responseOf(request, { convertedObjects: objects, result: { status: 'Success' } })
}

function responseOf({ uid }: Body, response: Body): Body {
  return { apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview', response: { uid, ...response } }
}

function withMetadata(change: Body): (object: Body) => Body {
  return (object) => ({ ...object, metadata: { ...object.metadata, ...change } })
}

const SHOWN = '? spec status metadata.generation metadata.resourceVersion'
const DEFINITION = `${CRDS}/bars.{bars}`

/** Returns a script in which `{v1}` and `{v2}` are the paths of Bars. */
function ofBars(
  name: string,
  steps: readonly Step[],
  { respond, ...more }: { respond?: Responder; hooks?: NonNullable<Script['hooks']> } = {},
): Script {
  const setup = async (api: Api) => {
    const bars = await new Bars(api).install()
    bars.respond = respond ?? bars.respond
    return { bars: bars.group, v1: bars.path('v1'), v2: bars.path('v2') }
  }
  return { name, setup, steps, ...more }
}

function bar(version: string, name: string, spec: Body, metadata: Body = {}): Body {
  return { apiVersion: `{bars}/${version}`, kind: 'Bar', metadata: { name, ...metadata }, spec }
}

/** Answers that break a rule, by what is wrong with them. */
const BROKEN: Readonly<Record<string, Responder>> = {
  'no response': () => ({ apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview' }),
  'another uid': (review) => responseOf({}, { ...converted(review).response, uid: 'x' }),
  'a later version of the review': (review) => ({ ...converted(review), apiVersion: 'apiextensions.k8s.io/v2' }),
  'no kind': (review) => ({ response: converted(review).response }),
  'a failure with a message': ({ request }) =>
    responseOf(request, { result: { status: 'Failure', message: 'cannot' } }),
  'a failure': ({ request }) => responseOf(request, { result: { status: 'Failure' } }),
  'no result': ({ request }) => responseOf(request, {}),
  'no objects': ({ request }) => responseOf(request, { result: { status: 'Success' }, convertedObjects: [] }),
  'another version': (review) => converted(review, (object) => ({ ...object, apiVersion: 'v9' })),
  'another kind': (review) => converted(review, (object) => ({ ...object, kind: 'Foo' })),
  'another name': (review) => converted(review, withMetadata({ name: 'z' })),
  'another namespace': (review) => converted(review, withMetadata({ namespace: 'z' })),
  'another UID': (review) => converted(review, withMetadata({ uid: 'z' })),
  'a label that is no text': (review) => converted(review, withMetadata({ labels: { a: 1 } })),
  'a label with a blank': (review) => converted(review, withMetadata({ labels: { 'b ad': 'x' } })),
  '500 with a Status': () =>
    new RawResponse(500, '{"kind":"Status","apiVersion":"v1","status":"Failure","message":"boom"}'),
  '500 with half a Status': () => new RawResponse(500, '{"kind":"Status","apiVersion":"v1","message":"boom"}'),
  'status 404': () => new RawResponse(404, ''),
}

/** Conversions of a definition: wrong ones, and one that gets its default port. */
const CONVERSIONS: readonly Body[] = [
  { strategy: 'Webhook' },
  { strategy: 'X' },
  {},
  { strategy: 'None', webhook: { clientConfig: { url: 'https://a.b' }, conversionReviewVersions: ['v1'] } },
  { strategy: 'Webhook', webhook: { clientConfig: { url: 'http://a.b' }, conversionReviewVersions: ['v1'] } },
  { strategy: 'Webhook', webhook: { clientConfig: { url: 'https://a.b' }, conversionReviewVersions: ['v9'] } },
  {
    strategy: 'Webhook',
    webhook: { clientConfig: { service: { name: 'a', namespace: 'b' } }, conversionReviewVersions: ['v1'] },
  },
]

export const CONVERSION_CASES: readonly Case[] = casesOf('conversions', [
  ofBars('objects are stored in the storage version, and read in each version by its webhook', [
    ['POST {v1}', bar('v1', 'x', { a: '1' })],
    ['POST {v2} ? metadata.uid metadata.resourceVersion .', bar('v2', 'y', { b: '2' })],
    'GET {v2}/x ? .',
    'GET {v1}/y ? metadata.uid metadata.resourceVersion .',
    'GET {v2} ? items',
  ]),
  caseOf('a conversion review has the objects as they are stored, without a resourceVersion', async (api) => {
    const bars = await new Bars(api).install()
    const created = await api.expect(201, 'POST', bars.path('v1'), bars.object('v1', 'x', { a: '1' }))
    await api.expect(200, 'GET', bars.path('v2', 'x'))
    const { resourceVersion: _, ...metadata } = created.metadata
    const { to, objects } = bars.calls.at(-1)!
    assert.equal(to, 'v2')
    assert.deepEqual(objects, [{ ...created, metadata }])
  }),
  caseOf('requests in the storage version call no conversion webhook', async (api) => {
    const bars = await new Bars(api).install()
    await api.expect(201, 'POST', bars.path('v1'), bars.object('v1', 'x', { a: '1' }))
    await api.expect(200, 'PATCH', bars.path('v1', 'x'), { spec: { a: '2' } }, { type: MERGE })
    await api.expect(200, 'GET', bars.path('v1'))
    await api.expect(200, 'DELETE', bars.path('v1', 'x'))
    assert.deepEqual(bars.calls, [])
  }),
  caseOf('one review converts all objects of a list', async (api) => {
    const bars = await new Bars(api).install()
    for (const name of ['x', 'y', 'z']) {
      await api.expect(201, 'POST', bars.path('v1'), bars.object('v1', name, { a: name }))
    }
    await api.expect(200, 'GET', bars.path('v2'))
    await api.expect(200, 'GET', `${bars.path('v2')}?limit=2`)
    await api.expect(200, 'GET', `${bars.path('v2')}?fieldSelector=spec.b%3Dx`)
    await api.expect(200, 'DELETE', `${bars.path('v2')}?dryRun=All`)
    assert.deepEqual(bars.calls.map(({ objects }) => objects.length), [3, 2, 3, 3])
  }),
  ofBars('an object can be updated, patched, applied and deleted in another version', [
    ['POST {v2}', bar('v2', 'x', { b: '1' })],
    [`PUT {v2}/x ${SHOWN}`, ([created]: readonly Body[]) => ({ ...created, spec: { b: '2' } })],
    [`MERGE {v2}/x ${SHOWN}`, { spec: { b: '3' } }],
    [
      'JSON {v2}/x',
      [{ op: 'test', path: '/spec/b', value: '3' }, { op: 'replace', path: '/spec/b', value: '4' }],
    ],
    [`MERGE {v2}/x/status ${SHOWN}`, { status: { seen: 1 } }],
    [`MERGE {v2}/x ${SHOWN}`, { spec: { b: '4' } }],
    'GET {v1}/x ? spec',
    'DELETE {v2}/x',
    'GET {v1}/x',
    ['APPLY {v2}/y?fieldManager=m', bar('v2', 'y', { b: '1' })],
    [`APPLY {v2}/y?fieldManager=m ${SHOWN}`, bar('v2', 'y', { b: '2' })],
    'GET {v1}/y ? spec',
  ]),
  caseOf('a watch in another version sends converted objects in order', async (api) => {
    const bars = await new Bars(api).install()
    await api.expect(201, 'POST', bars.path('v1'), bars.object('v1', 'x', { a: '1' }))
    const watch = await api.watch(bars.path('v2'))
    const first = await watch.next()
    assert.deepEqual([first!.type, first!.object.apiVersion, first!.object.spec.b], [
      'ADDED',
      `${bars.group}/v2`,
      '1',
    ])
    await api.expect(200, 'PATCH', bars.path('v1', 'x'), { spec: { a: '2' } }, { type: MERGE })
    await api.expect(200, 'PATCH', bars.path('v2', 'x'), { spec: { b: '3' } }, { type: MERGE })
    await api.expect(200, 'DELETE', bars.path('v1', 'x'))
    const events: unknown[] = []
    for (let count = 0; count < 3; count++) {
      const event = await watch.next()
      events.push([event!.type, event!.object.apiVersion, event!.object.spec.b])
    }
    assert.deepEqual(events, [
      ['MODIFIED', `${bars.group}/v2`, '2'],
      ['MODIFIED', `${bars.group}/v2`, '3'],
      ['DELETED', `${bars.group}/v2`, '3'],
    ])
    watch.cancel()
    const since = await api.watch(bars.path('v2'), `resourceVersion=${first!.object.metadata.resourceVersion}`)
    const next = await since.next()
    assert.deepEqual([next!.type, next!.object.spec.b], ['MODIFIED', '2'])
    since.cancel()
  }),
  caseOf('field selectors see objects in the version of the request', async (api) => {
    const bars = await new Bars(api).install()
    for (const name of ['x', 'y', 'z']) {
      await api.expect(201, 'POST', bars.path('v1'), bars.object('v1', name, { a: name }))
    }
    const query = 'fieldSelector=spec.b%3Dy'
    const list = await api.expect(200, 'GET', `${bars.path('v2')}?${query}`)
    assert.deepEqual(list.items.map((each: Body) => each.metadata.name), ['y'])
    const watch = await api.watch(bars.path('v2'), query)
    assert.equal((await watch.next())!.object.metadata.name, 'y')
    await api.expect(200, 'PATCH', bars.path('v1', 'x'), { spec: { a: 'q' } }, { type: MERGE })
    await api.expect(200, 'PATCH', bars.path('v1', 'y'), { spec: { a: 'q' } }, { type: MERGE })
    const left = await watch.next()
    assert.deepEqual([left!.type, left!.object.metadata.name, left!.object.spec.b], ['DELETED', 'y', 'y'])
    watch.cancel()
    await api.expect(200, 'DELETE', `${bars.path('v2')}?fieldSelector=spec.b%3Dz`)
    const names = (await api.expect(200, 'GET', bars.path('v1'))).items.map((each: Body) => each.metadata.name)
    assert.deepEqual(names, ['x', 'y'])
  }),
  recordedCase('conversions', 'the answer of a conversion webhook is checked', async function* (api) {
    const bars = await new Bars(api).install()
    await api.expect(201, 'POST', bars.path('v1'), bars.object('v1', 'x', { a: '1' }))
    for (const [name, respond] of Object.entries(BROKEN)) {
      bars.respond = respond
      yield lineOf(name, `500 ${statusText(await api.expect(500, 'GET', bars.path('v2', 'x')))}`)
    }
  }),
  ofBars(
    'a conversion may change labels and annotations; its other metadata and unknown fields are dropped, defaults are not set',
    [
      ['POST {v1} ? .', bar('v1', 'x', { a: '1' }, { labels: { old: 'yes' }, finalizers: ['example.com/f'] })],
      'GET {v2}/x ? .',
      ['MERGE {v1}/x', { metadata: { finalizers: null } }],
    ],
    {
      respond: (review) =>
        converted(review, (object) => ({
          ...withMetadata({ labels: { ok: 'l' }, annotations: { b: 'c' }, generation: 9, finalizers: [] })(object),
          spec: { b: '1', bogus: 1 },
        })),
    },
  ),
  {
    name: 'without its conversion webhook an object cannot be created, changed or deleted in another version',
    async run(api) {
      const bars = await new Bars(api).install()
      await api.expect(201, 'POST', bars.path('v1'), bars.object('v1', 'x', { a: '1' }))
      bars.respond = ({ request }) => responseOf(request, { result: { status: 'Failure', message: 'down' } })
      // The version depends on what a real server has in its caches.
      const failed = /^conversion webhook for \S+-bars\d+\..*\/v[12], Kind=Bar failed: down$/
      const create = await api.refused(500, '', 'POST', bars.path('v2'), bars.object('v2', 'y', { b: '1' }))
      assert.match(create.message, failed)
      const remove = await api.refused(500, '', 'DELETE', bars.path('v2', 'x'))
      assert.match(remove.message, failed)
      const patch = await api.refused(500, '', 'PATCH', bars.path('v2', 'x'), { spec: { b: '2' } }, { type: MERGE })
      assert.match(patch.message, failed)
      await api.refused(404, 'NotFound', 'GET', bars.path('v1', 'y'))
      assert.equal((await api.expect(200, 'GET', bars.path('v1', 'x'))).spec.a, '1')
    },
  },
  caseOf('a conversion webhook that cannot be reached is an error with its URL', async (api) => {
    const bars = new Bars(api)
    await bars.install()
    await api.expect(201, 'POST', bars.path('v1'), bars.object('v1', 'x', { a: '1' }))
    const path = `${CRDS}/bars.${bars.group}`
    const clientConfig = { url: CLOSED_URL, caBundle: null }
    await api.expect(200, 'PATCH', path, { spec: { conversion: { webhook: { clientConfig } } } }, { type: MERGE })
    for (let tries = 0; tries < 5000; tries++) {
      const { status, body } = await api.request('GET', bars.path('v2', 'x'))
      if (status === 200) continue
      assert.equal(status, 500)
      const url = `${CLOSED_URL}?timeout=30s`
      assert.ok(body.message.includes(`, Kind=Bar failed: Post "${url}": `), body.message)
      return
    }
    assert.fail('the server never used the new address')
  }),
  ofBars('a new storage version leaves objects as they are stored until they are written', [
    ['POST {v1}', bar('v1', 'x', { a: '1' })],
    ['POST {v1}', bar('v1', 'y', { a: '1' })],
    [`MERGE ${DEFINITION} ? status.storedVersions`, { spec: { versions: versionsOf('v2') } }],
    'GET {v1}/x ? spec',
    'GET {v2}/x ? spec',
    ['MERGE {v1}/x ? spec', { spec: { a: '2' } }],
    'GET {v2} ? items.0.spec items.1.spec',
  ]),
  ofBars('a mutating webhook of another version gets converted objects, and its changes are converted back', [
    ['POST {v1} ? apiVersion spec', bar('v1', 'x', { a: '1' })],
    ['MERGE {v1}/x ? apiVersion spec', { spec: { a: '2' } }],
    'CALLS ? object.spec oldObject.spec object.apiVersion kind requestKind',
  ], {
    hooks: async (api) => {
      const rules = [rule(['bars'], ['*'], { apiVersions: ['v2'] })]
      const requests = await install(api, 'Mutating', { rules, respond: adding({ '/spec/b': 'changed' }) })
      return () => requests
    },
  }),
  recordedCase('conversions', 'owners of fields in a version that is not defined any more', async function* (api) {
    const group = api.group.replace('.', '-gone.')
    const properties = { spec: schemaWith('a').properties.spec }
    const definition = definitionOf({ kind: 'Bar', group, scope: 'Namespaced', versions: ['v2', 'v1'], properties })
    const target = `${CRDS}/${definition.metadata.name}`
    const place = (version: string): string => `/apis/${group}/${version}/namespaces/${api.namespace}/bars`
    const send = async (verb: 'APPLY' | 'MERGE', version: string, manager: string, spec: Body): Promise<string> => {
      const object = { apiVersion: `${group}/${version}`, kind: 'Bar', metadata: { name: 'x' }, spec }
      const path = `${place(version)}/x?fieldManager=${manager}`
      const { body } = await api.request('PATCH', path, object, { type: verb === 'APPLY' ? APPLY : MERGE })
      const owners = body.metadata.managedFields?.map((each: Body) => [each.manager, each.apiVersion, each.fieldsV1])
      const answer = body.kind === 'Status'
        ? `${body.code} ${body.message}`
        : JSON.stringify([body.spec, owners ?? 'no owners'])
      return lineOf(`${verb} ${version} by ${manager} ${JSON.stringify(spec)}`, answer.replaceAll(group, '{group}'))
    }
    await api.expect(201, 'POST', CRDS, definition)
    for (const version of ['v1', 'v2']) await api.untilServed(place(version))
    yield await send('APPLY', 'v1', 'one', { a: '1', more: '1' })
    yield await send('APPLY', 'v2', 'two', { a: '1' })
    const { metadata, spec } = await api.expect(200, 'GET', target)
    const versions = spec.versions.filter(({ name }: Body) => name === 'v2')
    await api.expect(200, 'PUT', target, { ...definition, metadata, spec: { ...spec, versions } })
    while ((await api.request('GET', place('v1'))).status !== 404);
    await api.untilServed(place('v2'))
    yield await send('APPLY', 'v2', 'one', { a: '1' })
    yield await send('APPLY', 'v2', 'two', { a: '2' })
    yield await send('MERGE', 'v2', 'three', { a: '3' })
    // The fields that were not in its last apply stay.
    yield await send('APPLY', 'v2', 'one', { a: '3' })
  }),
  recordedCase(
    'conversions',
    'a conversion of a definition is checked, and gets its default port',
    async function* (api) {
      for (const conversion of CONVERSIONS) {
        const definition = new Bars(api).definition()
        definition.spec.conversion = conversion
        const { body } = await api.request('POST', `${CRDS}?dryRun=All`, definition)
        yield lineOf(
          JSON.stringify(conversion),
          body.kind === 'Status'
            ? statusText({ ...body, details: { causes: body.details.causes } })
            : body.spec.conversion.webhook.clientConfig.service.port,
        )
      }
    },
  ),
])
