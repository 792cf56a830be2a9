/** Cases of conversion webhooks: custom kinds with several versions. */
import assert from 'node:assert/strict'
import { encodeBase64 } from '../../lib/core/base64.ts'
import { type Api, APPLY, type Body, type Case, CRDS, JSON_PATCH, MERGE } from './api.ts'
import { CLOSED_URL, RawResponse, type Responder } from './hooks.ts'
import { lineOf, recordedCase } from './recording.ts'

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
    this.group = `bars${kinds++}.${api.group}`
  }

  path(version: string, name = ''): string {
    return `/apis/${this.group}/${version}/namespaces/${this.#api.namespace}/bars${name && `/${name}`}`
  }

  object(version: string, name: string, spec: Body, metadata: Body = {}): Body {
    return { apiVersion: `${this.group}/${version}`, kind: 'Bar', metadata: { name, ...metadata }, spec }
  }

  definition(storage = 'v1'): Body {
    const client = this.#api.hooks.client(`/${this.group}`)
    return {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `bars.${this.group}` },
      spec: {
        group: this.group,
        scope: 'Namespaced',
        names: { plural: 'bars', kind: 'Bar' },
        conversion: { strategy: 'Webhook', webhook: { clientConfig: client, conversionReviewVersions: ['v1'] } },
        versions: [['v1', 'a'], ['v2', 'b']].map(([name, field]) => ({
          name,
          served: true,
          storage: name === storage,
          schema: { openAPIV3Schema: schemaWith(field!) },
          selectableFields: [{ jsonPath: `.spec.${field}` }],
          subresources: { status: {} },
        })),
      },
    }
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

/** Answers that break a rule, by what is wrong with them. */
const BROKEN: Readonly<Record<string, Responder>> = {
  'no response': () => ({ apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview' }),
  'another uid': (review) => responseOf({}, { ...converted(review).response, uid: 'x' }),
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

/** Wrong conversions of a definition. */
const WRONG: readonly Body[] = [
  { strategy: 'Webhook' },
  { strategy: 'X' },
  {},
  { strategy: 'None', webhook: { clientConfig: { url: 'https://a.b' }, conversionReviewVersions: ['v1'] } },
  { strategy: 'Webhook', webhook: { clientConfig: { url: 'http://a.b' }, conversionReviewVersions: ['v1'] } },
  { strategy: 'Webhook', webhook: { clientConfig: { url: 'https://a.b' }, conversionReviewVersions: ['v9'] } },
]

export const CONVERSION_CASES: readonly Case[] = [
  {
    name: 'objects are stored in the storage version, and read in each version by its webhook',
    async run(api) {
      const bars = await new Bars(api).install()
      await api.expect(201, 'POST', bars.path('v1'), bars.object('v1', 'x', { a: '1' }))
      const created = await api.expect(201, 'POST', bars.path('v2'), bars.object('v2', 'y', { b: '2' }))
      assert.deepEqual([created.apiVersion, created.spec], [`${bars.group}/v2`, { b: '2', more: 'of b' }])
      const read = await api.expect(200, 'GET', bars.path('v2', 'x'))
      assert.deepEqual([read.apiVersion, read.spec], [`${bars.group}/v2`, { b: '1', more: 'of a' }])
      const stored = await api.expect(200, 'GET', bars.path('v1', 'y'))
      assert.deepEqual([stored.apiVersion, stored.spec], [`${bars.group}/v1`, { a: '2', more: 'of b' }])
      assert.equal(stored.metadata.resourceVersion, created.metadata.resourceVersion)
      assert.equal(stored.metadata.uid, created.metadata.uid)
      const list = await api.expect(200, 'GET', bars.path('v2'))
      assert.deepEqual(list.items.map((each: Body) => [each.apiVersion, each.spec.b]), [
        [`${bars.group}/v2`, '1'],
        [`${bars.group}/v2`, '2'],
      ])
      assert.deepEqual(list.items[0].metadata, read.metadata)
    },
  },
  {
    name: 'a conversion review has the objects as they are stored, without a resourceVersion',
    async run(api) {
      const bars = await new Bars(api).install()
      const created = await api.expect(201, 'POST', bars.path('v1'), bars.object('v1', 'x', { a: '1' }))
      await api.expect(200, 'GET', bars.path('v2', 'x'))
      const { resourceVersion: _, ...metadata } = created.metadata
      const { to, objects } = bars.calls.at(-1)!
      assert.equal(to, 'v2')
      assert.deepEqual(objects, [{ ...created, metadata }])
    },
  },
  {
    name: 'requests in the storage version call no conversion webhook',
    async run(api) {
      const bars = await new Bars(api).install()
      await api.expect(201, 'POST', bars.path('v1'), bars.object('v1', 'x', { a: '1' }))
      await api.expect(200, 'PATCH', bars.path('v1', 'x'), { spec: { a: '2' } }, { type: MERGE })
      await api.expect(200, 'GET', bars.path('v1'))
      await api.expect(200, 'DELETE', bars.path('v1', 'x'))
      assert.deepEqual(bars.calls, [])
    },
  },
  {
    name: 'one review converts all objects of a list',
    async run(api) {
      const bars = await new Bars(api).install()
      for (const name of ['x', 'y', 'z']) {
        await api.expect(201, 'POST', bars.path('v1'), bars.object('v1', name, { a: name }))
      }
      await api.expect(200, 'GET', bars.path('v2'))
      await api.expect(200, 'GET', `${bars.path('v2')}?limit=2`)
      await api.expect(200, 'GET', `${bars.path('v2')}?fieldSelector=spec.b%3Dx`)
      await api.expect(200, 'DELETE', `${bars.path('v2')}?dryRun=All`)
      assert.deepEqual(bars.calls.map(({ objects }) => objects.length), [3, 2, 3, 3])
    },
  },
  {
    name: 'an object can be updated, patched, applied and deleted in another version',
    async run(api) {
      const bars = await new Bars(api).install()
      const created = await api.expect(201, 'POST', bars.path('v2'), bars.object('v2', 'x', { b: '1' }))
      const put = await api.expect(200, 'PUT', bars.path('v2', 'x'), { ...created, spec: { b: '2' } })
      assert.deepEqual([put.spec.b, put.metadata.generation], ['2', 2])
      const merged = await api.expect(200, 'PATCH', bars.path('v2', 'x'), { spec: { b: '3' } }, { type: MERGE })
      assert.deepEqual([merged.spec.b, merged.metadata.generation], ['3', 3])
      const operations = [{ op: 'test', path: '/spec/b', value: '3' }, { op: 'replace', path: '/spec/b', value: '4' }]
      await api.expect(200, 'PATCH', bars.path('v2', 'x'), operations, { type: JSON_PATCH })
      const status = { status: { seen: 1 } }
      const seen = await api.expect(200, 'PATCH', `${bars.path('v2', 'x')}/status`, status, { type: MERGE })
      assert.deepEqual([seen.status, seen.spec.b, seen.metadata.generation], [{ seen: 1 }, '4', 4])
      const same = await api.expect(200, 'PATCH', bars.path('v2', 'x'), { spec: { b: '4' } }, { type: MERGE })
      assert.equal(same.metadata.resourceVersion, seen.metadata.resourceVersion)
      assert.equal((await api.expect(200, 'GET', bars.path('v1', 'x'))).spec.a, '4')
      await api.expect(200, 'DELETE', bars.path('v2', 'x'))
      await api.refused(404, 'NotFound', 'GET', bars.path('v1', 'x'))
      const config = bars.object('v2', 'y', { b: '1' })
      const apply = `${bars.path('v2', 'y')}?fieldManager=m`
      await api.expect(201, 'PATCH', apply, config, { type: APPLY })
      const applied = await api.expect(200, 'PATCH', apply, { ...config, spec: { b: '2' } }, { type: APPLY })
      assert.deepEqual([applied.spec.b, applied.metadata.generation], ['2', 2])
      assert.equal((await api.expect(200, 'GET', bars.path('v1', 'y'))).spec.a, '2')
    },
  },
  {
    name: 'a watch in another version sends converted objects in order',
    async run(api) {
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
    },
  },
  {
    name: 'field selectors see objects in the version of the request',
    async run(api) {
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
    },
  },
  recordedCase('conversions', 'the answer of a conversion webhook is checked', async function* (api) {
    const bars = await new Bars(api).install()
    await api.expect(201, 'POST', bars.path('v1'), bars.object('v1', 'x', { a: '1' }))
    for (const [name, respond] of Object.entries(BROKEN)) {
      bars.respond = respond
      const { code, reason = '', message } = await api.expect(500, 'GET', bars.path('v2', 'x'))
      const text = message.replaceAll(bars.group, '{group}').replaceAll(api.namespace, '{ns}')
      yield lineOf(name, `${code} ${reason}${text.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '{uid}')}`)
    }
  }),
  {
    name:
      'a conversion may change labels and annotations; its other metadata and unknown fields are dropped, defaults are not set',
    async run(api) {
      const bars = await new Bars(api).install()
      const created = await api.expect(
        201,
        'POST',
        bars.path('v1'),
        bars.object('v1', 'x', { a: '1' }, { labels: { old: 'yes' }, finalizers: ['example.com/f'] }),
      )
      bars.respond = (review) =>
        converted(review, (object) => ({
          ...withMetadata({ labels: { ok: 'l' }, annotations: { b: 'c' }, generation: 9, finalizers: [] })(object),
          spec: { b: '1', bogus: 1 },
        }))
      const read = await api.expect(200, 'GET', bars.path('v2', 'x'))
      assert.deepEqual(read.metadata, { ...created.metadata, labels: { ok: 'l' }, annotations: { b: 'c' } })
      assert.deepEqual(read.spec, { b: '1' })
      bars.respond = (review) => converted(review)
      await api.expect(200, 'PATCH', bars.path('v1', 'x'), { metadata: { finalizers: null } }, { type: MERGE })
    },
  },
  {
    name: 'without its conversion webhook an object cannot be created, changed or deleted in another version',
    async run(api) {
      const bars = await new Bars(api).install()
      await api.expect(201, 'POST', bars.path('v1'), bars.object('v1', 'x', { a: '1' }))
      bars.respond = ({ request }) => responseOf(request, { result: { status: 'Failure', message: 'down' } })
      // The version depends on what a real server has in its caches.
      const failed = /^conversion webhook for bars\d+\..*\/v[12], Kind=Bar failed: down$/
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
  {
    name: 'a conversion webhook that cannot be reached is an error with its URL',
    async run(api) {
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
        assert.match(body.message, /connect: connection refused/)
        return
      }
      assert.fail('the server never used the new address')
    },
  },
  {
    name: 'a new storage version leaves objects as they are stored until they are written',
    async run(api) {
      const bars = await new Bars(api).install()
      await api.expect(201, 'POST', bars.path('v1'), bars.object('v1', 'x', { a: '1' }))
      await api.expect(201, 'POST', bars.path('v1'), bars.object('v1', 'y', { a: '1' }))
      const path = `${CRDS}/bars.${bars.group}`
      const { metadata } = await api.expect(200, 'GET', path)
      const changed = await api.expect(200, 'PUT', path, { ...bars.definition('v2'), metadata })
      assert.deepEqual(changed.status.storedVersions, ['v1', 'v2'])
      const read = await api.expect(200, 'GET', bars.path('v1', 'x'))
      assert.equal(read.spec.a, '1')
      assert.equal((await api.expect(200, 'GET', bars.path('v2', 'x'))).spec.b, '1')
      const written = await api.expect(200, 'PATCH', bars.path('v1', 'x'), { spec: { a: '2' } }, { type: MERGE })
      assert.deepEqual(written.spec, { a: '2', more: 'of a' })
      const list = await api.expect(200, 'GET', bars.path('v2'))
      assert.deepEqual(list.items.map((each: Body) => each.spec.b), ['2', '1'])
    },
  },
  {
    name: 'a mutating webhook of another version gets converted objects, and its changes are converted back',
    async run(api) {
      const bars = await new Bars(api).install()
      const reviews: Body[] = []
      const name = `convert.${api.namespace}.example.com`
      api.hooks.responders.set(`/${name}`, ({ request }) => {
        reviews.push(request)
        const operations = [{ op: 'add', path: '/spec/b', value: `${request.object.spec.b}!` }]
        const patch = encodeBase64(JSON.stringify(operations))
        const response = { uid: request.uid, allowed: true, patchType: 'JSONPatch', patch }
        return { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response }
      })
      const rule = { operations: ['*'], apiGroups: [bars.group], apiVersions: ['v2'], resources: ['bars'] }
      await api.expect(201, 'POST', '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations', {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'MutatingWebhookConfiguration',
        metadata: { name },
        webhooks: [{
          name,
          clientConfig: api.hooks.client(`/${name}`),
          rules: [rule],
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
        }],
      })
      const dryRun = `${bars.path('v1')}?dryRun=All`
      for (let tries = 0; tries < 5000 && reviews.length === 0; tries++) {
        await api.expect(201, 'POST', dryRun, bars.object('v1', 'w', { a: '0' }))
      }
      reviews.length = 0
      const created = await api.expect(201, 'POST', bars.path('v1'), bars.object('v1', 'x', { a: '1' }))
      assert.deepEqual([created.apiVersion, created.spec.a], [`${bars.group}/v1`, '1!'])
      await api.expect(200, 'PATCH', bars.path('v1', 'x'), { spec: { a: '2' } }, { type: MERGE })
      assert.deepEqual(
        reviews.map(({ object, oldObject, kind, requestKind }) => [
          object.spec.b,
          oldObject?.spec.b,
          object.apiVersion,
          kind.version,
          requestKind.version,
        ]),
        [['1', undefined, `${bars.group}/v2`, 'v2', 'v1'], ['2', '1!', `${bars.group}/v2`, 'v2', 'v1']],
      )
    },
  },
  recordedCase('conversions', 'wrong conversions of a definition', async function* (api) {
    for (const conversion of WRONG) {
      const definition = new Bars(api).definition()
      definition.spec.conversion = conversion
      const { body } = await api.request('POST', `${CRDS}?dryRun=All`, definition)
      yield lineOf(JSON.stringify(conversion), body.message.replace(/^\S+ "\S+" /, ''))
    }
  }),
  {
    name: 'a conversion webhook of a definition gets its default port',
    async run(api) {
      const bars = new Bars(api)
      const definition = bars.definition()
      const clientConfig = { service: { name: 'a', namespace: 'b' } }
      definition.spec.conversion.webhook.clientConfig = clientConfig
      const { spec } = await api.expect(201, 'POST', `${CRDS}?dryRun=All`, definition)
      assert.deepEqual(spec.conversion.webhook.clientConfig, { service: { ...clientConfig.service, port: 443 } })
    },
  },
]
