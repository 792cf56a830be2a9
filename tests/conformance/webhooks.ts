/** Cases of admission webhooks: their configurations, which requests they get, and what their answers do. */
import assert from 'node:assert/strict'
import { encodeBase64 } from '../../lib/core/base64.ts'
import { type Api, APPLY, type Body, type Case, JSON_PATCH, MERGE, STRATEGIC } from './api.ts'
import { CLOSED_URL, RawResponse, type Responder } from './hooks.ts'
import { lineOf, recordedCase } from './recording.ts'

const GROUP = '/apis/admissionregistration.k8s.io/v1'
const PATHS = {
  Mutating: `${GROUP}/mutatingwebhookconfigurations`,
  Validating: `${GROUP}/validatingwebhookconfigurations`,
} as const

type Type = keyof typeof PATHS

interface HookOptions {
  readonly respond?: Responder
  readonly rules?: readonly Body[]
  /** More fields of the webhook. */
  readonly fields?: Record<string, unknown>
}

/** Returns a response that allows the request. */
function allow(review: Body, more: Record<string, unknown> = {}): Body {
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: { uid: review.request.uid, allowed: true, ...more },
  }
}

export function deny(review: Body, status?: Record<string, unknown>): Body {
  return allow(review, { allowed: false, ...(status && { status }) })
}

function patchOf(operations: unknown): Record<string, unknown> {
  return { patchType: 'JSONPatch', patch: encodeBase64(JSON.stringify(operations)) }
}

/** Returns a responder that adds values to an object. */
function adding(values: Record<string, unknown>): Responder {
  return (review) => allow(review, patchOf(Object.entries(values).map(([path, value]) => ({ op: 'add', path, value }))))
}

export function rule(resources: readonly string[], operations: readonly string[] = ['*'], more: Body = {}): Body {
  return { operations, apiGroups: ['*'], apiVersions: ['*'], resources, ...more }
}

const CONFIG_MAPS = [rule(['configmaps'])]

let configurations = 0

function configuration(type: Type, name: string, webhooks: readonly unknown[]): Body {
  const kind = `${type}WebhookConfiguration`
  return { apiVersion: 'admissionregistration.k8s.io/v1', kind, metadata: { name }, webhooks }
}

function webhook(api: Api, name: string, { respond = allow, rules = CONFIG_MAPS, fields }: HookOptions): Body {
  const path = `/${name}`
  api.hooks.responders.set(path, respond)
  return {
    name,
    clientConfig: api.hooks.client(path),
    rules,
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': api.namespace } },
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    ...fields,
  }
}

/**
 * Creates a configuration for the namespace of the case. Returns the requests that its webhooks get, one list per
 * webhook. A last webhook denies a marked request: as soon as that is denied, the server uses the configuration.
 */
export async function install(api: Api, type: Type, ...hooks: readonly HookOptions[]): Promise<Body[][]> {
  const name = `${api.namespace}-${configurations++}`
  const requests: Body[][] = hooks.map(() => [])
  const webhooks = hooks.map((hook, index) =>
    webhook(api, `h${index}.${name}.example.com`, {
      ...hook,
      respond: (review) => {
        const { object, oldObject } = review.request
        if ((object ?? oldObject).metadata.labels?.marker) return allow(review)
        addRequest(requests[index]!, review.request)
        return (hook.respond ?? allow)(review)
      },
    })
  )
  const marker = webhook(api, `marker.${name}.example.com`, {
    respond: (review) => deny(review),
    fields: { objectSelector: { matchLabels: { marker: name } } },
  })
  await api.expect(201, 'POST', PATHS[type], configuration(type, name, [...webhooks, marker]))
  const marked = api.configMap('marker', {}, { labels: { marker: name } })
  for (let tries = 0; tries < 5000; tries++) {
    if ((await api.request('POST', `${api.configMaps}?dryRun=All`, marked)).status >= 400) return requests
  }
  assert.fail('the server never used the configuration')
}

/** Adds a request, unless it repeats the last one: a real server repeats updates that it began with a cached object. */
function addRequest(requests: Body[], request: Body): void {
  const last = requests.at(-1)
  if (request.operation === 'CREATE' || !last || contentOf(last) !== contentOf(request)) requests.push(request)
}

function contentOf({ operation, subResource, object, oldObject }: Body): string {
  const { metadata, ...rest } = object ?? oldObject
  return JSON.stringify([operation, subResource, metadata.name, metadata.labels, rest])
}

/** Creates a ConfigMap that each of the responders admits, and returns the statuses. */
async function refusals(api: Api, type: Type, responders: readonly Responder[]): Promise<Body[]> {
  let next = 0
  await install(api, type, { respond: (review) => responders[next]!(review) })
  const statuses: Body[] = []
  for (; next < responders.length; next++) {
    statuses.push((await api.request('POST', api.configMaps, api.configMap(`a${next}`))).body)
  }
  return statuses
}

/** Returns a refusal without what differs each time, and without the name of Go's type. */
function refusalOf({ code, status, reason, message, details }: Body): string {
  const text = message.replace(/"h0\.[^"]*"/, '{webhook}').replace(/="[0-9a-f-]{36}"/, '={uid}')
    .replace(/(?<= of type struct).*/s, '')
  // The cause of a failed call repeats its message.
  const causes = reason === 'InternalError' ? undefined : JSON.stringify(details?.causes)
  return [code, status, reason, text, causes].filter(Boolean).join(' ')
}

/** What is wrong in refused configurations. */
const BROKEN: readonly Readonly<Record<string, unknown>>[] = [
  { name: 'a.b' },
  { name: '' },
  { clientConfig: { url: 'http://a.b/c' } },
  { clientConfig: { url: 'https://u:p@a.b/c' } },
  { clientConfig: { url: 'https://a.b/c?x=1' } },
  { clientConfig: { url: 'https://a.b/c#f' } },
  { clientConfig: { url: 'https:///x' } },
  { clientConfig: {} },
  { clientConfig: { url: 'https://a.b', service: { name: 'a', namespace: 'b' } } },
  // The real server mixes name and namespace up.
  { clientConfig: { service: { name: '', namespace: 'b' } } },
  { clientConfig: { service: { name: 'a', namespace: 'b', path: 'x' } } },
  { clientConfig: { service: { name: 'a', namespace: 'b', port: 70_000 } } },
  { sideEffects: undefined },
  { sideEffects: 'Some' },
  { timeoutSeconds: 31 },
  { timeoutSeconds: 0 },
  { failurePolicy: 'X' },
  { matchPolicy: 'X' },
  { reinvocationPolicy: 'X' },
  { rules: [{}] },
  { rules: [{}] },
  { rules: [rule(['pods'], ['*', 'CREATE'])] },
  { rules: [rule(['pods'], ['READ'])] },
  { rules: [rule(['*/*', 'pods'])] },
  { rules: [rule(['pods/*', 'pods/status'])] },
  { rules: [rule(['pods'], ['*'], { scope: 'Q' })] },
  { admissionReviewVersions: undefined },
  { admissionReviewVersions: ['v9'] },
  { objectSelector: { matchExpressions: [{ key: 'a', operator: 'In' }] } },
]

/** Responses that are no valid review, by what is wrong with them. */
const MALFORMED: Readonly<Record<string, Responder>> = {
  'no response': () => ({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' }),
  'another uid': (review) => ({ ...allow(review), response: { uid: 'x', allowed: true } }),
  'no kind': ({ request }) => ({ response: { uid: request.uid, allowed: true } }),
  'another version': (review) => ({ ...allow(review), apiVersion: 'admission.k8s.io/v1beta1' }),
  'another kind': (review) => ({ ...allow(review), apiVersion: 'v1', kind: 'Pod' }),
  'a wrong type': (review) => allow(review, { allowed: 'yes' }),
  'a patch': (review) => allow(review, patchOf([{ op: 'add', path: '/data/z', value: 'z' }])),
  'a type of a patch': (review) => allow(review, { patchType: 'JSONPatch' }),
  'an unfinished object': () => new RawResponse(200, '{"a":'),
  'an array': () => new RawResponse(200, '[]'),
  'an empty body': () => new RawResponse(200, ''),
  'status 404': () => new RawResponse(404, 'x'),
  'status 503': () => new RawResponse(503, 'x'),
  'status 418': () => new RawResponse(418, 'x'),
  '500 with a Status': () =>
    new RawResponse(500, '{"kind":"Status","apiVersion":"v1","status":"Failure","message":"boom","code":500}'),
}

/** Statuses of denials. */
const DENIALS: readonly (Record<string, unknown> | undefined)[] = [
  undefined,
  { message: 'no' },
  { reason: 'Because' },
  { code: 200, status: 'Success', message: 'no' },
  { code: 403, message: 'no', reason: 'Forbidden' },
  {
    ...{ code: 422, message: 'no', reason: 'Invalid' },
    details: { name: 'n', kind: 'k', causes: [{ reason: 'FieldValueInvalid', message: 'm', field: 'spec.a' }] },
  },
]

/** Patches that cannot be applied. */
const BAD_PATCHES: readonly Readonly<Record<string, unknown>>[] = [
  { patch: patchOf([])['patch'] },
  { patchType: 'JSONPatch' },
  { ...patchOf([{ op: 'test', path: '/kind', value: 'ConfigMap' }]), patchType: 'Merge' },
  patchOf({ a: 1 }),
  { patchType: 'JSONPatch', patch: encodeBase64('hello') },
  { patchType: 'JSONPatch', patch: '%%%' },
  patchOf([{ op: 'remove', path: '/data/nope' }]),
  patchOf([{ op: 'add', path: '/metadata/labels/x', value: '1' }]),
  patchOf([{ op: 'test', path: '/data/k', value: '9' }]),
  patchOf([{ op: 'frob', path: '/data/k' }]),
  patchOf([{ op: 'add', value: '9' }]),
  patchOf([{ op: 'replace', path: '/apiVersion', value: 'v2' }]),
]

export const WEBHOOK_CASES: readonly Case[] = [
  {
    name: 'webhook configurations get their defaults',
    async run(api) {
      const given = {
        name: 'a.b.c',
        clientConfig: { service: { name: 'x', namespace: 'y' } },
        rules: [rule(['pods'])],
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      }
      const defaults = {
        ...given,
        clientConfig: { service: { name: 'x', namespace: 'y', port: 443 } },
        rules: [{ ...rule(['pods']), scope: '*' }],
        failurePolicy: 'Fail',
        matchPolicy: 'Equivalent',
        namespaceSelector: {},
        objectSelector: {},
        timeoutSeconds: 10,
      }
      for (const type of ['Mutating', 'Validating'] as const) {
        const created = await api.expect(201, 'POST', `${PATHS[type]}?dryRun=All`, configuration(type, 'a', [given]))
        assert.equal(created.metadata.generation, 1)
        assert.deepEqual(created.webhooks, [
          type === 'Mutating' ? { ...defaults, reinvocationPolicy: 'Never' } : defaults,
        ])
      }
    },
  },
  recordedCase('webhooks', 'wrong webhook configurations', async function* (api) {
    const hook = webhook(api, 'ok.example.com', {})
    for (const wrong of BROKEN) {
      const body = configuration('Mutating', 'a', [{ ...hook, ...wrong }])
      const { body: status } = await api.request('POST', `${PATHS.Mutating}?dryRun=All`, body)
      yield lineOf(JSON.stringify(wrong), status.message)
    }
  }),
  {
    name: 'a configuration with two webhooks of one name is Invalid',
    async run(api) {
      const hook = webhook(api, 'ok.example.com', {})
      const twice = configuration('Mutating', 'a', [hook, hook])
      const status = await api.refused(422, 'Invalid', 'POST', `${PATHS.Mutating}?dryRun=All`, twice)
      assert.match(status.message, /webhooks\[1\]\.name: Duplicate value: "ok\.example\.com"$/)
    },
  },
  {
    name: 'an update of a webhook configuration needs a resourceVersion and counts generations',
    async run(api) {
      const name = `${api.namespace}-update`
      const hook = webhook(api, 'ok.example.com', { rules: [rule(['nothing'])] })
      const body = configuration('Validating', name, [hook])
      const created = await api.expect(201, 'POST', PATHS.Validating, body)
      const path = `${PATHS.Validating}/${name}`
      await api.refused(422, 'Invalid', 'PUT', path, body)
      const next = { ...body, metadata: created.metadata, webhooks: [{ ...hook, timeoutSeconds: 3 }] }
      const updated = await api.expect(200, 'PUT', path, next)
      assert.equal(updated.metadata.generation, 2)
      assert.equal(updated.webhooks[0].timeoutSeconds, 3)
      await api.expect(200, 'DELETE', path)
    },
  },
  {
    name: 'kubectl shows the number of webhooks of a configuration',
    async run(api) {
      for (const type of ['Mutating', 'Validating'] as const) {
        const name = `${api.namespace}-table`
        const hooks = ['a', 'b'].map((each) => webhook(api, `${each}.example.com`, { rules: [rule(['nothing'])] }))
        await api.expect(201, 'POST', PATHS[type], configuration(type, name, hooks))
        const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io'
        const table = await api.expect(200, 'GET', `${PATHS[type]}/${name}`, undefined, { accept })
        const columns = table.columnDefinitions.map((each: Body) => [each.name, each.type])
        assert.deepEqual(columns, [['Name', 'string'], ['Webhooks', 'integer'], ['Age', 'string']])
        assert.deepEqual(table.rows[0].cells.slice(0, 2), [name, 2])
        await api.expect(200, 'DELETE', `${PATHS[type]}/${name}`)
      }
    },
  },
  {
    name: 'a create is reviewed before and after the server completes the object',
    async run(api) {
      const [mutating] = await install(api, 'Mutating', { respond: adding({ '/data/added': 'yes' }) })
      const [validating] = await install(api, 'Validating', {})
      const created = await api.expect(201, 'POST', `${api.configMaps}?fieldManager=me`, api.configMap('a'))
      assert.deepEqual(created.data, { k: 'v', added: 'yes' })
      const [first, second] = [mutating![0]!, validating![0]!]
      const { uid, userInfo, object, ...rest } = first
      assert.match(uid, /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/)
      assert.notEqual(uid, second.uid)
      assert.ok(userInfo.groups.includes('system:authenticated'))
      assert.deepEqual(rest, {
        kind: { group: '', version: 'v1', kind: 'ConfigMap' },
        resource: { group: '', version: 'v1', resource: 'configmaps' },
        requestKind: { group: '', version: 'v1', kind: 'ConfigMap' },
        requestResource: { group: '', version: 'v1', resource: 'configmaps' },
        name: 'a',
        namespace: api.namespace,
        operation: 'CREATE',
        oldObject: null,
        dryRun: false,
        options: { kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1', fieldManager: 'me' },
      })
      assert.deepEqual(object.data, { k: 'v' })
      assert.deepEqual(Object.keys(object.metadata).sort(), ['managedFields', 'name', 'namespace'])
      const { resourceVersion: _, ...metadata } = created.metadata
      assert.deepEqual(second.object, { ...created, metadata })
    },
  },
  {
    name: 'a mutating webhook gets no name that is not generated yet',
    async run(api) {
      const [mutating] = await install(api, 'Mutating', {})
      const [validating] = await install(api, 'Validating', {})
      const body = { ...api.configMap(''), metadata: { generateName: 'g-' } }
      const created = await api.expect(201, 'POST', api.configMaps, body)
      assert.equal(mutating![0]!.name, undefined)
      assert.equal(mutating![0]!.object.metadata.name, undefined)
      assert.equal(validating![0]!.name, created.metadata.name)
      assert.equal(validating![0]!.object.metadata.uid, created.metadata.uid)
    },
  },
  {
    name: 'an update is reviewed with the old object',
    async run(api) {
      const old = await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
      const [mutating] = await install(api, 'Mutating', {})
      const [validating] = await install(api, 'Validating', {})
      const updated = await api.expect(200, 'PUT', `${api.configMaps}/a`, api.configMap('a', { k: 'w' }))
      const [first, second] = [mutating![0]!, validating![0]!]
      assert.equal(first.operation, 'UPDATE')
      assert.deepEqual(first.options, { kind: 'UpdateOptions', apiVersion: 'meta.k8s.io/v1' })
      assert.deepEqual(first.oldObject, old)
      assert.equal(first.object.metadata.uid, undefined)
      assert.deepEqual(first.object.data, { k: 'w' })
      assert.equal(second.object.metadata.uid, updated.metadata.uid)
      assert.equal(second.object.metadata.resourceVersion, old.metadata.resourceVersion)
      assert.deepEqual(second.oldObject, old)
    },
  },
  {
    name: 'every kind of patch is an update; an apply of a missing object is a create',
    async run(api) {
      const deployments = [rule(['deployments'])]
      const [mutating] = await install(api, 'Mutating', {
        rules: deployments,
        respond: adding({ '/metadata/labels': { hooked: 'yes' } }),
      })
      const path = `${api.deployments}/a`
      const config = api.deployment('a')
      const applied = await api.expect(201, 'PATCH', `${path}?fieldManager=m`, config, { type: APPLY })
      assert.deepEqual(applied.metadata.labels, { hooked: 'yes' })
      const again = { ...config, spec: { ...config.spec, replicas: 2 } }
      await api.expect(200, 'PATCH', `${path}?fieldManager=m`, again, { type: APPLY })
      await api.expect(200, 'PATCH', path, { spec: { replicas: 3 } }, { type: MERGE })
      await api.expect(200, 'PATCH', path, { spec: { replicas: 4 } }, { type: STRATEGIC })
      const operations = [{ op: 'replace', path: '/spec/replicas', value: 5 }]
      const last = await api.expect(200, 'PATCH', path, operations, { type: JSON_PATCH })
      assert.equal(last.spec.replicas, 5)
      assert.deepEqual(mutating!.map((each) => [each.operation, each.options.kind, each.object.spec.replicas]), [
        ['CREATE', 'CreateOptions', 1],
        ['UPDATE', 'UpdateOptions', 2],
        ['UPDATE', 'UpdateOptions', 3],
        ['UPDATE', 'UpdateOptions', 4],
        ['UPDATE', 'UpdateOptions', 5],
      ])
      assert.equal(mutating![0]!.options.fieldManager, 'm')
    },
  },
  {
    name: 'a deletion is reviewed with the old object, and can be denied',
    async run(api) {
      await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
      await api.expect(201, 'POST', api.configMaps, api.configMap('b', { keep: 'yes' }))
      const respond: Responder = (review) =>
        review.request.oldObject.data?.keep ? deny(review, { message: 'keep it', code: 403 }) : allow(review)
      const [reviews] = await install(api, 'Validating', { respond, rules: [rule(['configmaps'], ['DELETE'])] })
      await api.expect(200, 'DELETE', `${api.configMaps}/a`, { propagationPolicy: 'Background' })
      const { operation, object, oldObject, name, options } = reviews![0]!
      assert.deepEqual([operation, object, oldObject.metadata.name, name], ['DELETE', null, 'a', 'a'])
      assert.deepEqual(options, {
        kind: 'DeleteOptions',
        apiVersion: 'meta.k8s.io/v1',
        propagationPolicy: 'Background',
      })
      const status = await api.refused(403, '', 'DELETE', `${api.configMaps}/b`)
      assert.match(status.message, /^admission webhook "h0\..*" denied the request: keep it$/)
      await api.expect(200, 'GET', `${api.configMaps}/b`)
      await api.refused(404, 'NotFound', 'DELETE', `${api.configMaps}/none`)
      assert.equal(reviews!.length, 2)
    },
  },
  {
    name: 'the deletion of a collection is reviewed per object, without a name',
    async run(api) {
      for (const name of ['a', 'b', 'c']) await api.expect(201, 'POST', api.configMaps, api.configMap(name))
      const [reviews] = await install(api, 'Validating', { rules: [rule(['configmaps'], ['DELETE'])] })
      const query = 'fieldSelector=metadata.name%21%3Db'
      const deleted = await api.expect(200, 'DELETE', `${api.configMaps}?${query}`)
      const own = (objects: Body[]): string[] =>
        objects.map((each) => each.metadata.name).filter((name) => name !== 'kube-root-ca.crt').sort()
      assert.deepEqual(own(deleted.items), ['a', 'c'])
      assert.deepEqual(own(reviews!.map((each) => each.oldObject)), ['a', 'c'])
      assert.deepEqual(new Set(reviews!.map((each) => each.name)), new Set([undefined]))
      const left = await api.expect(200, 'GET', api.configMaps)
      assert.deepEqual(own(left.items), ['b'])
    },
  },
  {
    name: 'a patch for a deletion is an error',
    async run(api) {
      await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
      await install(api, 'Mutating', {
        respond: adding({ '/data/x': 'y' }),
        rules: [rule(['configmaps'], ['DELETE', 'CREATE'])],
      })
      const status = await api.refused(500, 'InternalError', 'DELETE', `${api.configMaps}/a`)
      assert.match(
        status.message,
        /^Internal error occurred: admission webhook "h0\..*" attempted to modify the object, which is not supported for this operation$/,
      )
    },
  },
  {
    name: 'rules match subresources only by name or by wildcard',
    async run(api) {
      const [main, status, both, any] = await install(
        api,
        'Validating',
        { rules: [rule(['deployments'])] },
        { rules: [rule(['deployments/status'])] },
        { rules: [rule(['deployments/*'])] },
        { rules: [rule(['*/*'], ['*'], { apiGroups: ['apps'] })] },
      )
      const count = (): number[] => [main, status, both, any].map((each) => each!.length)
      await api.expect(201, 'POST', api.deployments, api.deployment('a'))
      assert.deepEqual(count(), [1, 0, 1, 1])
      const path = `${api.deployments}/a/status`
      await api.expect(200, 'PATCH', path, { status: { replicas: 1 } }, { type: MERGE })
      assert.deepEqual(count(), [1, 1, 2, 2])
      const review = status![0]!
      assert.deepEqual([review.subResource, review.requestSubResource], ['status', 'status'])
      assert.equal(review.object.status.replicas, 1)
    },
  },
  {
    name: 'a write to scale is reviewed as a Scale, and a webhook can change it',
    async run(api) {
      await api.expect(201, 'POST', api.deployments, api.deployment('a'))
      const [mutating, main] = await install(api, 'Mutating', {
        rules: [rule(['deployments/scale'])],
        respond: (review) => allow(review, patchOf([{ op: 'replace', path: '/spec/replicas', value: 7 }])),
      }, { rules: [rule(['deployments'])] })
      const [validating] = await install(api, 'Validating', { rules: [rule(['deployments', 'deployments/scale'])] })
      const path = `${api.deployments}/a/scale`
      const scaled = await api.expect(200, 'PATCH', path, { spec: { replicas: 3 } }, { type: MERGE })
      assert.equal(scaled.spec.replicas, 7)
      assert.equal((await api.expect(200, 'GET', `${api.deployments}/a`)).spec.replicas, 7)
      const [first] = mutating!
      assert.deepEqual(first!.kind, { group: 'autoscaling', version: 'v1', kind: 'Scale' })
      assert.deepEqual(first!.resource, { group: 'apps', version: 'v1', resource: 'deployments' })
      assert.deepEqual([first!.oldObject.spec.replicas, first!.object.spec.replicas], [1, 3])
      assert.deepEqual(validating!.map((each) => [each.subResource, each.object.spec.replicas]), [['scale', 7]])
      assert.equal(main!.length, 0)
    },
  },
  {
    name: 'mutating webhooks run in the order of names and lists, each on the result of those before',
    async run(api) {
      const append = (letter: string): Responder => (review) =>
        allow(review, patchOf([{ op: 'add', path: '/data/k', value: `${review.request.object.data.k}${letter}` }]))
      await install(api, 'Mutating', { respond: append('a') }, { respond: append('b') })
      await install(api, 'Mutating', { respond: append('c') })
      const created = await api.expect(201, 'POST', api.configMaps, api.configMap('a', { k: '' }))
      assert.equal(created.data.k, 'abc')
    },
  },
  {
    name: 'a webhook with reinvocationPolicy IfNeeded runs again if a later one has changed the object',
    async run(api) {
      const count: Responder = (review) => {
        const { data } = review.request.object
        return allow(review, patchOf([{ op: 'add', path: '/data/n', value: `${Number(data.n ?? '0') + 1}` }]))
      }
      const ifNeeded = { fields: { reinvocationPolicy: 'IfNeeded' } }
      const [first, never, last] = await install(
        api,
        'Mutating',
        { respond: count, ...ifNeeded },
        { respond: adding({ '/data/x': 'y' }) },
        ifNeeded,
      )
      const created = await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
      assert.deepEqual([first!.length, never!.length, last!.length], [2, 1, 2])
      assert.deepEqual(created.data, { k: 'v', n: '2', x: 'y' })
    },
  },
  {
    name: 'selectors choose by the labels of the namespace, and of the old or the new object',
    async run(api) {
      const other = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'default' } } }
      const objectSelector = { matchExpressions: [{ key: 'app', operator: 'In', values: ['a', 'b'] }] }
      const [never, labelled] = await install(api, 'Validating', { fields: other }, { fields: { objectSelector } })
      await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
      assert.equal(labelled!.length, 0)
      await api.expect(200, 'PATCH', `${api.configMaps}/a`, { metadata: { labels: { app: 'a' } } }, { type: MERGE })
      await api.expect(200, 'PATCH', `${api.configMaps}/a`, { metadata: { labels: { app: null } } }, { type: MERGE })
      await api.expect(200, 'PATCH', `${api.configMaps}/a`, { data: { x: 'y' } }, { type: MERGE })
      // A real server may try a write first on a cached state, which may still have the label, and then on the stored one.
      const isStale = ({ object, oldObject }: Body): boolean =>
        object.data.x === 'y' && oldObject.metadata.labels?.app === 'a'
      assert.deepEqual([never!.length, labelled!.filter((each) => !isStale(each)).length], [0, 2])
    },
  },
  {
    name: 'the scope of a rule excludes namespaced or cluster-scoped kinds; a Namespace counts as cluster-scoped',
    async run(api) {
      const [cluster, namespaced] = await install(
        api,
        'Validating',
        { rules: [rule(['configmaps', 'namespaces'], ['*'], { scope: 'Cluster' })] },
        { rules: [rule(['configmaps', 'namespaces'], ['*'], { scope: 'Namespaced' })] },
      )
      await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
      const path = `/api/v1/namespaces/${api.namespace}`
      await api.expect(200, 'PATCH', path, { metadata: { labels: { a: 'b' } } }, { type: MERGE })
      const kindOf = (each: Body): string => each.kind.kind
      assert.deepEqual([cluster!.map(kindOf), namespaced!.map(kindOf)], [['Namespace'], ['ConfigMap']])
      assert.deepEqual([cluster![0]!.namespace, cluster![0]!.name], [api.namespace, api.namespace])
    },
  },
  {
    name: 'the namespaceSelector sees the new labels of a Namespace that is written, the stored ones of a deleted one',
    async run(api) {
      const selector = { matchLabels: { 'kubernetes.io/metadata.name': api.namespace, team: 'a' } }
      const [reviews] = await install(api, 'Validating', {
        rules: [rule(['namespaces'])],
        fields: { namespaceSelector: selector },
      })
      const path = `/api/v1/namespaces/${api.namespace}`
      await api.expect(200, 'PATCH', path, { metadata: { labels: { team: 'b' } } }, { type: MERGE })
      assert.equal(reviews!.length, 0)
      await api.expect(200, 'PATCH', path, { metadata: { labels: { team: 'a' } } }, { type: MERGE })
      assert.equal(reviews!.length, 1)
      await api.expect(200, 'DELETE', `${path}?dryRun=All`)
      assert.deepEqual(reviews!.map((each) => each.operation), ['UPDATE', 'DELETE'])
    },
  },
  {
    name: 'a mutating webhook can rename a new object, but not move one or rename an old one',
    async run(api) {
      let patch: unknown = [{ op: 'replace', path: '/metadata/name', value: 'other' }]
      await install(api, 'Mutating', { respond: (review) => allow(review, patchOf(patch)) })
      const created = await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
      assert.equal(created.metadata.name, 'other')
      patch = [{ op: 'replace', path: '/metadata/name', value: 'third' }]
      const path = `${api.configMaps}/other`
      const renamed = await api.refused(422, 'Invalid', 'PATCH', path, { data: { x: 'y' } }, { type: MERGE })
      assert.match(renamed.message, /metadata\.name: Invalid value: "third": field is immutable/)
      patch = [{ op: 'replace', path: '/metadata/namespace', value: 'default' }]
      await api.refused(400, 'BadRequest', 'POST', api.configMaps, api.configMap('b'))
    },
  },
  {
    name: 'a rule for another version matches as Equivalent, and gets the object in that version',
    async run(api) {
      const rules = [rule(['foos'], ['CREATE'], { apiGroups: [api.group], apiVersions: ['v1'] })]
      const [equivalent, exact] = await install(
        api,
        'Mutating',
        { rules, respond: adding({ '/metadata/labels': { hooked: 'yes' } }) },
        { rules, fields: { matchPolicy: 'Exact' } },
      )
      const path = api.foos.replace('/v1/', '/v2/')
      const [validating] = await install(api, 'Validating', {
        rules: [{ ...rules[0], apiVersions: ['v2'] }],
        fields: { matchPolicy: 'Exact' },
      })
      const created = await api.expect(201, 'POST', path, { ...api.foo('a'), apiVersion: `${api.group}/v2` })
      assert.equal(validating![0]!.object.apiVersion, `${api.group}/v2`)
      assert.equal(created.apiVersion, `${api.group}/v2`)
      assert.deepEqual(created.metadata.labels, { hooked: 'yes' })
      assert.equal(exact!.length, 0)
      const [review] = equivalent!
      assert.deepEqual([review!.kind.version, review!.resource.version], ['v1', 'v1'])
      assert.deepEqual([review!.requestKind.version, review!.requestResource.version], ['v2', 'v2'])
      assert.equal(review!.object.apiVersion, `${api.group}/v1`)
    },
  },
  {
    name: 'a webhook that cannot be reached fails the request, unless failurePolicy is Ignore',
    async run(api) {
      const closed = { clientConfig: { url: CLOSED_URL } }
      await install(api, 'Validating', { fields: { ...closed, failurePolicy: 'Ignore' } })
      await install(api, 'Mutating', { fields: { ...closed, failurePolicy: 'Ignore' } })
      await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
      await install(api, 'Validating', { fields: closed })
      const status = await api.refused(500, 'InternalError', 'POST', api.configMaps, api.configMap('b'))
      assert.match(
        status.message,
        /^Internal error occurred: failed calling webhook "h0\.[^"]*": failed to call webhook: Post "https:\/\/127\.0\.0\.1:1\/closed\?timeout=10s": .*connect: connection refused/,
      )
      assert.equal(`Internal error occurred: ${status.details.causes[0].message}`, status.message)
      await api.refused(404, 'NotFound', 'GET', `${api.configMaps}/b`)
    },
  },
  {
    name: 'a Service that does not exist cannot be called',
    async run(api) {
      const clientConfig = { service: { name: 'hook', namespace: api.namespace, path: '/p' } }
      await install(api, 'Validating', { fields: { clientConfig } })
      const status = await api.refused(500, 'InternalError', 'POST', api.configMaps, api.configMap('a'))
      const url = `https://hook.${api.namespace}.svc:443/p?timeout=10s`
      assert.ok(
        status.message.includes(`failed to call webhook: Post "${url}": service "hook" not found`),
        status.message,
      )
    },
  },
  {
    name: 'a webhook that does not answer in time fails the request',
    async run(api) {
      let answer: (() => void) | undefined
      const respond: Responder = (review) =>
        new Promise((resolve) => {
          answer = () => resolve(allow(review))
        })
      await install(api, 'Validating', { respond, fields: { timeoutSeconds: 1 } })
      const status = await api.refused(500, 'InternalError', 'POST', api.configMaps, api.configMap('a'))
      answer?.()
      assert.match(status.message, /: failed to call webhook: Post "[^"]*\?timeout=1s": context deadline exceeded$/)
    },
  },
  recordedCase('webhooks', 'a malformed response fails the request, with the reason', async function* (api) {
    const statuses = await refusals(api, 'Validating', Object.values(MALFORMED))
    for (const [index, name] of Object.keys(MALFORMED).entries()) yield lineOf(name, refusalOf(statuses[index]))
  }),
  recordedCase('webhooks', 'a denied request gets the status of the webhook', async function* (api) {
    const responders = DENIALS.map((status): Responder => (review) => deny(review, status))
    const statuses = await refusals(api, 'Validating', responders)
    for (const [index, given] of DENIALS.entries()) {
      yield lineOf(JSON.stringify(given) ?? 'none', refusalOf(statuses[index]))
    }
  }),
  {
    name: 'failurePolicy Ignore does not allow what a webhook denies',
    async run(api) {
      await install(api, 'Validating', {
        respond: (review) => deny(review, { message: 'no' }),
        fields: { failurePolicy: 'Ignore' },
      })
      await api.refused(400, '', 'POST', api.configMaps, api.configMap('a'))
    },
  },
  {
    name: 'warnings of webhooks reach the client, also with a denial',
    async run(api) {
      const warn = (allowed: boolean): Responder => (review) =>
        allow(review, { allowed, warnings: ['be "careful"', '', 'two\nlines'] })
      let isAllowed = true
      await install(api, 'Validating', { respond: (review) => warn(isAllowed)(review) })
      const allowed = await api.request('POST', api.configMaps, api.configMap('a'))
      assert.deepEqual([allowed.status, allowed.headers['warning']], [201, '299 - "be \\"careful\\""'])
      isAllowed = false
      const denied = await api.request('POST', api.configMaps, api.configMap('b'))
      assert.deepEqual([denied.status, denied.headers['warning']], [400, '299 - "be \\"careful\\""'])
    },
  },
  {
    name: 'a dry run is reviewed as one, and stores nothing',
    async run(api) {
      const [reviews] = await install(api, 'Mutating', { respond: adding({ '/data/x': 'y' }) })
      const created = await api.expect(201, 'POST', `${api.configMaps}?dryRun=All`, api.configMap('a'))
      assert.equal(created.data.x, 'y')
      assert.equal(reviews![0]!.dryRun, true)
      assert.deepEqual(reviews![0]!.options.dryRun, ['All'])
      await api.refused(404, 'NotFound', 'GET', `${api.configMaps}/a`)
    },
  },
  recordedCase('webhooks', 'a patch that cannot be applied fails the request, with the reason', async function* (api) {
    const responders = BAD_PATCHES.map((response): Responder => (review) => allow(review, response))
    for (const [index, { code, message }] of (await refusals(api, 'Mutating', responders)).entries()) {
      yield lineOf(JSON.stringify(BAD_PATCHES[index]), `${code} ${message.replace(/"h0\.[^"]*"/, '{webhook}')}`)
    }
  }),
  {
    name: 'a patch may add a missing key by replace, and an add without a value is null',
    async run(api) {
      const operations = [{ op: 'replace', path: '/data/x', value: 'y' }, { op: 'add', path: '/data/z' }]
      await install(api, 'Mutating', { respond: (review) => allow(review, patchOf(operations)) })
      const created = await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
      assert.deepEqual(created.data, { k: 'v', x: 'y', z: '' })
    },
  },
  {
    name: 'what a mutating webhook returns is pruned, gets defaults, and is validated',
    async run(api) {
      const rules = [rule(['foos'])]
      let patch: unknown = [
        { op: 'remove', path: '/spec/mode' },
        { op: 'add', path: '/spec/bogus', value: 1 },
        { op: 'add', path: '/spec/nested', value: {} },
      ]
      await install(api, 'Mutating', { rules, respond: (review) => allow(review, patchOf(patch)) })
      const [validating] = await install(api, 'Validating', { rules })
      const answer = await api.request('POST', api.foos, api.foo('a'))
      assert.equal(validating![0]!.object.spec.mode, 'fast')
      assert.deepEqual(answer.body.spec, { size: 1, mode: 'fast', nested: { deep: 7 } })
      assert.equal(answer.headers['warning'], undefined)
      assert.equal(validating!.length, 1)
      patch = [{ op: 'replace', path: '/spec/size', value: 99 }]
      const status = await api.refused(422, 'Invalid', 'POST', api.foos, api.foo('b'))
      assert.match(status.message, /spec\.size: Invalid value: 99/)
      assert.equal(validating!.length, 1)
    },
  },
  {
    name: 'managedFields do not contain what a webhook adds, and survive a webhook that breaks them',
    async run(api) {
      let patch: unknown = [{ op: 'add', path: '/data/x', value: 'y' }]
      await install(api, 'Mutating', { respond: (review) => allow(review, patchOf(patch)) })
      const created = await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
      const fields = [{ 'f:data': { '.': {}, 'f:k': {} } }]
      assert.deepEqual(created.metadata.managedFields.map((each: Body) => each.fieldsV1), fields)
      const path = `${api.configMaps}/a`
      patch = [{ op: 'add', path: '/data/z', value: 'y' }]
      const updated = await api.expect(200, 'PATCH', path, { data: { k: 'w' } }, { type: MERGE })
      assert.equal(updated.data.z, 'y')
      assert.deepEqual(updated.metadata.managedFields.map((each: Body) => each.fieldsV1), fields)
      patch = [{ op: 'replace', path: '/metadata/managedFields', value: [{ manager: 'q', operation: 'Bad' }] }]
      const broken = await api.request('POST', api.configMaps, api.configMap('b'))
      assert.deepEqual(broken.body.metadata.managedFields.map((each: Body) => each.fieldsV1), fields)
      assert.match(broken.headers['warning']!, /managedFields was in an invalid state after admission/)
    },
  },
  {
    name: 'webhook configurations are not reviewed',
    async run(api) {
      for (const type of ['Mutating', 'Validating'] as const) {
        await install(api, type, {
          respond: (review) => deny(review),
          rules: [rule(['*'], ['*'], { apiGroups: ['admissionregistration.k8s.io'] })],
        })
      }
      const hook = webhook(api, 'ok.example.com', { rules: [rule(['nothing'])] })
      await api.expect(201, 'POST', `${PATHS.Validating}?dryRun=All`, configuration('Validating', 'a', [hook]))
    },
  },
  {
    name: 'a conflict is found after mutation and before validation; an existing name after both',
    async run(api) {
      await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
      const [mutating] = await install(api, 'Mutating', {})
      const [validating] = await install(api, 'Validating', {})
      const stale = api.configMap('a', {}, { resourceVersion: '1' })
      await api.refused(409, 'Conflict', 'PUT', `${api.configMaps}/a`, stale)
      assert.deepEqual([mutating!.length, validating!.length], [1, 0])
      await api.refused(409, 'AlreadyExists', 'POST', api.configMaps, api.configMap('a'))
      assert.deepEqual([mutating!.length, validating!.length], [2, 1])
    },
  },
  {
    name: 'a patch starts again if the object changes while a webhook is called',
    async run(api) {
      await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
      let isFirst = true
      const [reviews] = await install(api, 'Validating', {
        rules: [rule(['configmaps'], ['UPDATE', 'CREATE'])],
        fields: { objectSelector: { matchExpressions: [{ key: 'other', operator: 'DoesNotExist' }] } },
        async respond(review) {
          if (isFirst) {
            isFirst = false
            const other = { metadata: { labels: null }, data: { other: 'write' } }
            await api.expect(200, 'PATCH', `${api.configMaps}/a`, other, { type: MERGE })
          }
          return allow(review)
        },
      })
      const patched = await api.expect(200, 'PATCH', `${api.configMaps}/a`, { data: { x: 'y' } }, { type: MERGE })
      assert.deepEqual(patched.data, { k: 'v', other: 'write', x: 'y' })
      assert.equal(reviews!.length, 3)
      assert.deepEqual(reviews![2]!.object.data, patched.data)
    },
  },
  {
    name: 'a server-side apply is reviewed with its result, and does not own what a webhook adds',
    async run(api) {
      await install(api, 'Mutating', { respond: adding({ '/data/x': 'y' }) })
      const path = `${api.configMaps}/a?fieldManager=m`
      await api.expect(201, 'PATCH', path, api.configMap('a', { k: 'v', l: 'w' }), { type: APPLY })
      const applied = await api.expect(200, 'PATCH', path, api.configMap('a', { k: 'v' }), { type: APPLY })
      assert.deepEqual(applied.data, { k: 'v', x: 'y' })
      const entries = applied.metadata.managedFields.map((each: Body) => [each.manager, each.fieldsV1['f:data']])
      assert.deepEqual(entries, [['m', { 'f:k': {} }]])
    },
  },
]
