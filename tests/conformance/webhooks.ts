/** Cases of admission webhooks: their configurations, which requests they get, and what their answers do. */
import assert from 'node:assert/strict'
import { encodeBase64 } from '../../lib/core/base64.ts'
import { type Api, type Body, type Case, caseOf, MERGE } from './api.ts'
import { CLOSED_URL, RawResponse, type Responder } from './hooks.ts'
import { lineOf, recordedCase } from './recording.ts'
import { casesOf, cm, deploy, foo, type Script, script, statusText, type Step } from './transcript.ts'

const GROUP = '/apis/admissionregistration.k8s.io/v1'
const PATHS = {
  Mutating: `${GROUP}/mutatingwebhookconfigurations`,
  Validating: `${GROUP}/validatingwebhookconfigurations`,
} as const

type Type = keyof typeof PATHS
const TYPES: readonly Type[] = ['Mutating', 'Validating']

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

/** Returns a responder that sends the JSON patch of a request. */
function patching(operationsOf: (request: Body) => readonly unknown[]): Responder {
  return (review) => allow(review, patchOf(operationsOf(review.request)))
}

function patchOf(operations: unknown): Record<string, unknown> {
  return { patchType: 'JSONPatch', patch: encodeBase64(JSON.stringify(operations)) }
}

/** Returns a responder that adds values to an object. */
export function adding(values: Record<string, unknown>): Responder {
  return patching(() => Object.entries(values).map(([path, value]) => ({ op: 'add', path, value })))
}

export function rule(resources: readonly string[], operations: readonly string[] = ['*'], more: Body = {}): Body {
  return { operations, apiGroups: ['*'], apiVersions: ['*'], resources, ...more }
}

const CONFIG_MAPS = [rule(['configmaps'])]

export function configuration(type: Type, name: string, webhooks: readonly unknown[]): Body {
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
  const name = `${api.namespace}-${api.configurations++}`
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
  const marked = cm('marker', {}, { labels: { marker: name } })
  for (let tries = 0; tries < 5000; tries++) {
    if ((await api.request('POST', `${api.configMaps}?dryRun=All`, marked)).status >= 400) return requests
  }
  assert.fail('the server never used the configuration')
}

type Installed = readonly [type: Type, ...hooks: HookOptions[]]

/** Returns a script whose webhooks are installed before its steps, one configuration after the other. */
export function hooked(
  name: string,
  installed: readonly Installed[] | ((api: Api) => readonly Installed[]),
  steps: readonly Step[],
): Script {
  const hooks = async (api: Api) => {
    const requests: Body[][] = []
    for (const [type, ...options] of typeof installed === 'function' ? installed(api) : installed) {
      requests.push(...await install(api, type, ...options))
    }
    const counts = requests.map(() => 0)
    return () =>
      requests.map((each, index) => {
        const since = each.slice(counts[index])
        counts[index] = each.length
        return since
      })
  }
  return { name, hooks, steps }
}

/** Returns a webhook that appends a letter to the value of a ConfigMap. */
const appending = (letter: string): HookOptions => ({
  respond: patching(({ object }) => [{ op: 'add', path: '/data/k', value: `${object.data.k}${letter}` }]),
})

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
    statuses.push((await api.request('POST', api.configMaps, cm(`a${next}`))).body)
  }
  return statuses
}

/** What is wrong in refused configurations. */
const BROKEN: readonly Readonly<Record<string, unknown>>[] = [
  { name: 'a.b' },
  { name: '' },
  { clientConfig: { url: 'http://a.b/c' } },
  { clientConfig: { url: 'https://u:p@a.b/c' } },
  { clientConfig: { url: 'https://a.b/c?x=1' } },
  { clientConfig: { url: 'https://a.b/c#f' } },
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
  { rules: [rule(['pods'], ['*', 'CREATE'])] },
  { rules: [rule(['pods'], ['READ'])] },
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
  'status 503': () => new RawResponse(503, 'x'),
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
  { patchType: 'JSONPatch', patch: encodeBase64('hello') },
  patchOf([{ op: 'remove', path: '/data/nope' }]),
  patchOf([{ op: 'test', path: '/data/k', value: '9' }]),
  patchOf([{ op: 'replace', path: '/apiVersion', value: 'v2' }]),
]

/** A webhook that is never called. */
export const IDLE = {
  name: 'ok.example.com',
  clientConfig: { service: { name: 'x', namespace: 'y' } },
  rules: [rule(['nothing'], ['CONNECT', 'CREATE', 'DELETE', 'UPDATE'])],
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
}
const ADD_X: HookOptions = { respond: adding({ '/data/x': 'y' }) }
const HOOKED = adding({ '/metadata/labels': { hooked: 'yes' } })
const CLOSED = { clientConfig: { url: CLOSED_URL } }
const MANAGED = 'data metadata.managedFields'

export const WEBHOOK_CASES: readonly Case[] = casesOf('webhooks', [
  script('a configuration with two webhooks of one name is Invalid', [[
    `POST ${PATHS.Mutating}?dryRun=All`,
    configuration('Mutating', 'a', [IDLE, IDLE]),
  ]]),
  recordedCase('webhooks', 'wrong webhook configurations', async function* (api) {
    const hook = webhook(api, 'ok.example.com', {})
    for (const wrong of BROKEN) {
      const body = configuration('Mutating', 'a', [{ ...hook, ...wrong }])
      const { body: status } = await api.request('POST', `${PATHS.Mutating}?dryRun=All`, body)
      yield lineOf(JSON.stringify(wrong), statusText(status))
    }
  }),
  hooked('a create is reviewed before and after the server completes the object', [
    ['Mutating', { respond: adding({ '/data/added': 'yes' }) }],
    ['Validating', {}],
  ], [
    ['POST cm?fieldManager=me ? .', cm('a')],
    'CALLS ? uid kind resource requestKind requestResource name namespace operation oldObject dryRun options object ' +
    'userInfo.groups',
  ]),
  hooked('a mutating webhook gets no name that is not generated yet', [['Mutating', {}], ['Validating', {}]], [
    ['POST cm ? metadata.uid metadata.name', { ...cm(''), metadata: { generateName: 'gen-' } }],
    'CALLS ? name object.metadata.uid object.metadata.name object.metadata.generateName',
  ]),
  hooked('an update is reviewed with the old object', [['Mutating', {}], ['Validating', {}]], [
    ['POST cm ? metadata.uid metadata.resourceVersion .', cm('a')],
    'CALLS ? operation',
    ['PUT cm/a ? metadata.uid', cm('a', { k: 'w' })],
    'CALLS ? operation options object.metadata.uid object.metadata.resourceVersion object.data ' +
    'oldObject.metadata.uid oldObject.metadata.resourceVersion oldObject',
  ]),
  hooked('every kind of patch is an update; an apply of a missing object is a create', [
    ['Mutating', { rules: [rule(['deployments'])], respond: HOOKED }],
  ], [
    ['APPLY deploy/a?fieldManager=m ? metadata.labels', deploy('a')],
    ['APPLY deploy/a?fieldManager=m', { ...deploy('a'), spec: { ...deploy('a').spec, replicas: 2 } }],
    ['MERGE deploy/a', { spec: { replicas: 3 } }],
    ['STRATEGIC deploy/a', { spec: { replicas: 4 } }],
    ['JSON deploy/a ? spec.replicas', [{ op: 'replace', path: '/spec/replicas', value: 5 }]],
    'CALLS ? operation options object.spec.replicas',
  ]),
  hooked('a deletion is reviewed with the old object, and can be denied', [['Validating', {
    rules: [rule(['configmaps'], ['DELETE'])],
    respond: (review) =>
      review.request.oldObject.data.keep ? deny(review, { message: 'keep it', code: 403 }) : allow(review),
  }]], [
    ['POST cm', cm('a')],
    ['POST cm', cm('b', { keep: 'yes' })],
    ['DELETE cm/a', { propagationPolicy: 'Background', preconditions: {} }],
    'CALLS ? operation name options object oldObject',
    'DELETE cm/b',
    'GET cm/b',
    'DELETE cm/none',
    'CALLS ? name',
  ]),
  caseOf('the deletion of a collection is reviewed per object, without a name', async (api) => {
    for (const name of ['a', 'b', 'c']) await api.expect(201, 'POST', api.configMaps, cm(name))
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
  }),
  hooked('a patch for a deletion is an error', [
    ['Mutating', { ...ADD_X, rules: [rule(['configmaps'], ['DELETE'])] }],
  ], [['POST cm', cm('a')], 'DELETE cm/a']),
  hooked('rules match subresources only by name or by wildcard', [[
    'Validating',
    { rules: [rule(['deployments'])] },
    { rules: [rule(['deployments/status'])] },
    { rules: [rule(['deployments/*'])] },
    { rules: [rule(['*/*'], ['*'], { apiGroups: ['apps'] })] },
  ]], [
    ['POST deploy', deploy('a')],
    'CALLS ? operation',
    ['MERGE deploy/a/status', { status: { replicas: 1 } }],
    'CALLS ? subResource requestSubResource object.status.replicas',
  ]),
  hooked('a write to scale is reviewed as a Scale, and a webhook can change it', [
    [
      'Mutating',
      {
        rules: [rule(['deployments/scale'])],
        respond: patching(() => [{ op: 'replace', path: '/spec/replicas', value: 7 }]),
      },
      { rules: [rule(['deployments'])] },
    ],
    ['Validating', { rules: [rule(['deployments', 'deployments/scale'])] }],
  ], [
    ['POST deploy', deploy('a')],
    'CALLS ? operation',
    ['MERGE deploy/a/scale ? spec.replicas', { spec: { replicas: 3 } }],
    'GET deploy/a ? spec.replicas',
    'CALLS ? kind resource subResource oldObject.spec.replicas object.spec.replicas',
  ]),
  hooked('mutating webhooks run in the order of names and lists, each on the result of those before', [
    ['Mutating', ...['a', 'b'].map(appending)],
    ['Mutating', appending('c')],
  ], [['POST cm ? data', cm('a', { k: '' })]]),
  hooked('a webhook with reinvocationPolicy IfNeeded runs again if a later one has changed the object', [[
    'Mutating',
    {
      respond: patching((
        { object: { data } },
      ) => [{ op: 'add', path: '/data/n', value: `${Number(data.n ?? 0) + 1}` }]),
      fields: { reinvocationPolicy: 'IfNeeded' },
    },
    ADD_X,
    { fields: { reinvocationPolicy: 'IfNeeded' } },
  ]], [['POST cm ? data', cm('a')], 'CALLS ? object.data']),
  caseOf('selectors choose by the labels of the namespace, and of the old or the new object', async (api) => {
    const other = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'default' } } }
    const objectSelector = { matchExpressions: [{ key: 'app', operator: 'In', values: ['a', 'b'] }] }
    const [never, labelled] = await install(api, 'Validating', { fields: other }, { fields: { objectSelector } })
    await api.expect(201, 'POST', api.configMaps, cm('a'))
    assert.equal(labelled!.length, 0)
    await api.expect(200, 'PATCH', `${api.configMaps}/a`, { metadata: { labels: { app: 'a' } } }, { type: MERGE })
    await api.expect(200, 'PATCH', `${api.configMaps}/a`, { metadata: { labels: { app: null } } }, { type: MERGE })
    await api.expect(200, 'PATCH', `${api.configMaps}/a`, { data: { x: 'y' } }, { type: MERGE })
    // A real server may try a write first on a cached state, which may still have the label, and then on the stored one.
    const isStale = ({ object, oldObject }: Body): boolean =>
      object.data.x === 'y' && oldObject.metadata.labels?.app === 'a'
    assert.deepEqual([never!.length, labelled!.filter((each) => !isStale(each)).length], [0, 2])
  }),
  hooked(
    'the scope of a rule excludes namespaced or cluster-scoped kinds; a Namespace counts as cluster-scoped',
    [[
      'Validating',
      ...['Cluster', 'Namespaced'].map((scope) => ({ rules: [rule(['configmaps', 'namespaces'], ['*'], { scope })] })),
    ]],
    [
      ['POST cm', cm('a')],
      ['MERGE ns', { metadata: { labels: { a: 'b' } } }],
      'CALLS ? kind.kind namespace name',
    ],
  ),
  hooked(
    'the namespaceSelector sees the new labels of a Namespace that is written, the stored ones of a deleted one',
    (api) => {
      const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': api.namespace, team: 'a' } }
      return [['Validating', { rules: [rule(['namespaces'])], fields: { namespaceSelector } }]]
    },
    [
      ...['b', 'a'].flatMap((team): Step[] => [['MERGE ns', { metadata: { labels: { team } } }], 'CALLS ? operation']),
      'DELETE ns?dryRun=All',
      'CALLS ? operation',
    ],
  ),
  hooked('a mutating webhook can rename a new object, but not move one or rename an old one', [['Mutating', {
    respond: patching(({ operation, object: { metadata: { name } } }) => [
      name === 'b'
        ? { op: 'replace', path: '/metadata/namespace', value: 'default' }
        : { op: 'replace', path: '/metadata/name', value: operation === 'CREATE' ? 'other' : 'third' },
    ]),
  }]], [['POST cm', cm('a')], ['MERGE cm/other', { data: { x: 'y' } }], ['POST cm', cm('b')]]),
  hooked(
    'a rule for another version matches as Equivalent, and gets the object in that version',
    ({ group }) => {
      const rules = (version: string) => [rule(['foos'], ['CREATE'], { apiGroups: [group], apiVersions: [version] })]
      const exact = { fields: { matchPolicy: 'Exact' } }
      return [
        ['Mutating', { rules: rules('v1'), respond: HOOKED }, { rules: rules('v1'), ...exact }],
        ['Validating', { rules: rules('v2'), ...exact }],
      ]
    },
    [
      ['POST foos2 ? apiVersion metadata.labels', { ...foo('a'), apiVersion: '{group}/v2' }],
      'CALLS ? kind resource requestKind requestResource object.apiVersion',
    ],
  ),
  hooked('a webhook that cannot be reached fails the request, unless failurePolicy is Ignore', [
    ...TYPES.map((type): Installed => [type, { fields: { ...CLOSED, failurePolicy: 'Ignore' } }]),
    ['Validating', { rules: [rule(['configmaps'], ['UPDATE'])], fields: CLOSED }],
  ], [['POST cm', cm('a')], ['PUT cm/a', cm('a', { k: 'w' })], 'GET cm/a ? data']),
  hooked(
    'a Service that does not exist cannot be called',
    ({ namespace }) => [
      ['Validating', { fields: { clientConfig: { service: { name: 'hook', namespace, path: '/p' } } } }],
    ],
    [['POST cm', cm('a')]],
  ),
  caseOf('a webhook that does not answer in time fails the request', async (api) => {
    let answer: (() => void) | undefined
    const respond: Responder = (review) =>
      new Promise((resolve) => {
        answer = () => resolve(allow(review))
      })
    await install(api, 'Validating', { respond, fields: { timeoutSeconds: 1 } })
    const status = await api.refused(500, 'InternalError', 'POST', api.configMaps, cm('a'))
    answer?.()
    assert.match(status.message, /: failed to call webhook: Post "[^"]*\?timeout=1s": context deadline exceeded$/)
  }),
  recordedCase('webhooks', 'a malformed response fails the request, with the reason', async function* (api) {
    const statuses = await refusals(api, 'Validating', Object.values(MALFORMED))
    for (const [index, name] of Object.keys(MALFORMED).entries()) yield lineOf(name, statusText(statuses[index]))
  }),
  recordedCase('webhooks', 'a denied request gets the status of the webhook', async function* (api) {
    const responders = DENIALS.map((status): Responder => (review) => deny(review, status))
    const statuses = await refusals(api, 'Validating', responders)
    for (const [index, given] of DENIALS.entries()) {
      yield lineOf(JSON.stringify(given) ?? 'none', statusText(statuses[index]).replace(/"h0\.[^"]*"/, '{webhook}'))
    }
  }),
  hooked('failurePolicy Ignore does not allow what a webhook denies', [
    ['Validating', { respond: (review) => deny(review, { message: 'no' }), fields: { failurePolicy: 'Ignore' } }],
  ], [['POST cm', cm('a')]]),
  hooked('warnings of webhooks reach the client, also with a denial', [['Validating', {
    respond: (review) =>
      allow(review, { allowed: review.request.name === 'a', warnings: ['be "careful"', '', 'two\nlines'] }),
  }]], [['POST cm', cm('a')], ['POST cm', cm('b')]]),
  hooked('a dry run is reviewed as one, and stores nothing', [['Mutating', ADD_X]], [
    ['POST cm?dryRun=All ? data', cm('a')],
    'CALLS ? dryRun options',
    'GET cm/a',
  ]),
  recordedCase('webhooks', 'a patch that cannot be applied fails the request, with the reason', async function* (api) {
    const responders = BAD_PATCHES.map((response): Responder => (review) => allow(review, response))
    for (const [index, status] of (await refusals(api, 'Mutating', responders)).entries()) {
      yield lineOf(JSON.stringify(BAD_PATCHES[index]), statusText(status))
    }
  }),
  hooked('what a mutating webhook returns is pruned, gets defaults, and is validated', [
    ['Mutating', {
      rules: [rule(['foos'])],
      respond: patching(({ name }) =>
        name === 'a'
          ? [
            { op: 'remove', path: '/spec/mode' },
            { op: 'add', path: '/spec/bogus', value: 1 },
            { op: 'add', path: '/spec/nested', value: {} },
          ]
          : [{ op: 'replace', path: '/spec/size', value: 99 }]
      ),
    }],
    ['Validating', { rules: [rule(['foos'])] }],
  ], [['POST foos ? spec', foo('a')], 'CALLS ? object.spec.mode', ['POST foos', foo('b')], 'CALLS ? object.spec.mode']),
  hooked('managedFields do not contain what a webhook adds, and survive a webhook that breaks them', [['Mutating', {
    respond: patching(({ operation, name }) => [
      name === 'a'
        ? { op: 'add', path: operation === 'CREATE' ? '/data/x' : '/data/z', value: 'y' }
        : { op: 'replace', path: '/metadata/managedFields', value: [{ manager: 'q', operation: 'Bad' }] },
    ]),
  }]], [
    [`POST cm ? ${MANAGED}`, cm('a')],
    [`MERGE cm/a ? ${MANAGED}`, { data: { k: 'w' } }],
    [`POST cm ? ${MANAGED}`, cm('b')],
  ]),
  hooked(
    'webhook configurations are not reviewed',
    TYPES.map((type) => [type, {
      respond: (review) => deny(review),
      rules: [rule(['*'], ['*'], { apiGroups: ['admissionregistration.k8s.io'] })],
    }]),
    [[`POST ${PATHS.Validating}?dryRun=All`, configuration('Validating', 'a', [IDLE])]],
  ),
  hooked('a conflict is found after mutation and before validation; an existing name after both', [
    ['Mutating', {}],
    ['Validating', {}],
  ], [
    ['POST cm', cm('a')],
    'CALLS ? operation',
    ['PUT cm/a', cm('a', {}, { resourceVersion: '1' })],
    'CALLS ? operation',
    ['POST cm', cm('a')],
    'CALLS ? operation',
  ]),
  hooked(
    'a patch starts again if the object changes while a webhook is called',
    (api) => {
      let isFirst = true
      return [['Validating', {
        rules: [rule(['configmaps'], ['UPDATE'])],
        async respond(review) {
          if (isFirst) {
            isFirst = false
            await api.expect(200, 'PATCH', `${api.configMaps}/a`, { data: { other: 'write' } }, { type: MERGE })
          }
          return allow(review)
        },
      }]]
    },
    [['POST cm', cm('a')], ['MERGE cm/a ? data', { data: { x: 'y' } }], 'CALLS ? object.data'],
  ),
  hooked(
    'a server-side apply is reviewed with its result, and does not own what a webhook adds',
    [['Mutating', ADD_X]],
    [
      ['APPLY cm/a?fieldManager=m', cm('a', { k: 'v', l: 'w' })],
      [`APPLY cm/a?fieldManager=m ? ${MANAGED}`, cm('a', { k: 'v' })],
      'CALLS ? object.data',
    ],
  ),
])
