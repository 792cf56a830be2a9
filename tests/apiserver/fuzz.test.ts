/** Random requests to the embedded API: none fails inside it, takes long, or loses a part of what it accepts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { typesOf } from '../../lib/cli/crd_types.ts'
import { NUMBERS } from '../../lib/apiserver/cel/functions/numbers.ts'
import { scheduleProblem } from '../../lib/apiserver/kinds/jobs/schedules.ts'
import { nanosOf } from '../../lib/apiserver/kinds/quotas/amounts.ts'
import type { Kind } from '../../lib/apiserver/model/kinds.ts'
import { fieldSelector, labelSelector, selectorMatches } from '../../lib/apiserver/model/selectors.ts'
import { StatusError } from '../../lib/apiserver/model/status.ts'
import { canonicalQuantity } from '../../lib/apiserver/model/quantities.ts'
import { isFields } from '../../lib/core/clone.ts'
import { parseLabelSelector } from '../../lib/core/selectors.ts'
import { requestedAction } from '../../lib/core/requested_action.ts'
import { yamlText } from '../../lib/core/yaml.ts'
import { jsonPatch } from '../../lib/webhook/admission/json_patch.ts'
import { parseManifest } from '../../lib/cli/manifests.ts'
import type { HttpRequest } from '../../lib/core/transport.ts'
import type { Log } from '../../lib/observe/log.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { EXPRESSIONS } from '../conformance/cel_expressions.ts'
import { collectionOf, SAMPLES } from '../conformance/kinds/objects.ts'
import { tries } from '../tools/fuzz.ts'
import { mutated, mutatedText, ODD_TEXTS } from '../tools/hostile.ts'

/** Far above the time of any request here, and far below that of a loop without an end. */
const MAX_MS = 5000

interface Answered {
  readonly status: number
  readonly text: string
  // deno-lint-ignore no-explicit-any -- the answer of any verb
  readonly json: any
}

/** Returns a function that sends requests, and fails for an answer that is a failure of the server. */
function server() {
  const problems: string[] = []
  const log: Log = {
    ...silentLog,
    error: (message, fields) =>
      void problems.push(`${message} ${String(fields?.['error'] instanceof Error ? fields['error'].stack : '')}`),
  }
  const api = new ApiServer({ clock: new FakeClock(), log })
  const send = async (
    method: HttpRequest['method'],
    path: string,
    body?: unknown,
    type = 'application/json',
    headers: Record<string, string> = {},
  ): Promise<Answered> => {
    const began = performance.now()
    const text = body === undefined || typeof body === 'string' || body instanceof Uint8Array
      ? body
      : JSON.stringify(body)
    const response = await api.handle({ method, path, headers: { 'content-type': type, ...headers }, body: text })
    // A changed query may be that of a watch.
    api.closeWatches()
    const answer = await response.body.text()
    const where = `${method} ${path} ${type} ${typeof text === 'string' ? text.slice(0, 2000) : ''}`
    assert.deepEqual(problems, [], where)
    assert.ok(performance.now() - began < MAX_MS, `${where}: ${performance.now() - began} ms`)
    // The lines of a watch are not one value.
    const json = answer.startsWith('{') && !path.includes('watch') ? JSON.parse(answer) as unknown : undefined
    return { status: response.status, text: answer, json }
  }
  return { api, send }
}

const namespaced = (path: string): string => path.replaceAll('{ns}', 'default')
const PROTOTYPE = Object.getOwnPropertyNames(Object.prototype).join()
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const FOOS = '/apis/example.com/v1/namespaces/default/foos'
const MAPS = '/api/v1/namespaces/default/configmaps'

test('fuzz: an object of any kind with changes is stored as it is answered, or refused with a reason', async () => {
  const whole = ({ object }: typeof SAMPLES[number]): object => (
    { metadata: { name: 'a', labels: { a: 'b' }, annotations: { a: 'b' } }, ...object }
  )
  const sample = fc.constantFrom(...SAMPLES).chain((one) =>
    mutated(whole(one)).map((changed) => ({ resource: one.resource, changed }))
  )
  // The first ones are as they are.
  const unchanged = SAMPLES.slice(0, 4).map((one) => ({ resource: one.resource, changed: whole(one) }))
  let created = 0
  await fc.assert(
    fc.asyncProperty(fc.array(sample, { minLength: 1, maxLength: 4 }), async (samples) => {
      const { send } = server()
      for (const { resource, changed } of samples) {
        const path = namespaced(collectionOf(resource))
        const { status, json } = await send('POST', `${path}?fieldValidation=Strict`, changed)
        const name = (json as { metadata?: { name?: string } }).metadata?.name
        if (status !== 201 || name === undefined) continue
        created++
        const one = `${path}/${encodeURIComponent(name)}`
        const stored = await send('GET', one)
        if (stored.status === 200) assert.deepEqual(stored.json, json)
        for (const accept of ['application/yaml', 'application/json;as=Table;v=v1;g=meta.k8s.io']) {
          await send('GET', one, undefined, undefined, { accept })
        }
        await send('PUT', one, changed)
        await send('DELETE', one)
      }
      assert.equal(Object.getOwnPropertyNames(Object.prototype).join(), PROTOTYPE)
    }),
    { numRuns: tries(40, 'everywhere'), examples: [[unchanged]] },
  )
  assert.ok(created > 2, `${created} were created`)
})

test('a name of Object.prototype in any place of any kind is an ordinary text', async () => {
  for (const { resource, object } of SAMPLES) {
    const { send } = server()
    const path = `${namespaced(collectionOf(resource))}?dryRun=All`
    const base = { apiVersion: 'v1', kind: 'None', metadata: { name: 'a', labels: { a: 'b' } } }
    const text = JSON.stringify({ ...base, ...object })
    for (const at of text.matchAll(/"(?:[^"\\]|\\.)*"/g)) {
      await send('POST', path, `${text.slice(0, at.index)}"constructor"${text.slice(at.index + at[0].length)}`)
    }
  }
})

const LABELS: readonly Readonly<Record<string, string>>[] = [{}, { app: 'a' }, { app: 'b', tier: 'web' }, {
  tier: 'db',
  'x.io/y': '5',
}, { app: '' }]

function unlessRefused<T>(refusal: new (...args: never) => Error, run: () => T): T | undefined {
  try {
    return run()
  } catch (error) {
    if (error instanceof refusal) return undefined
    throw error
  }
}

/** Texts of one form with changes: what parses them, and what must hold for those that it takes. */
const TEXTS: readonly (readonly [string, readonly string[], (text: string) => void])[] = [
  ['quantities', ['100m', '1.5Gi', '12E6', '-0.5k', '1e5000000', '1e-2000000000', '1e4294967297'], (text) => {
    const canonical = canonicalQuantity(text)
    const [isQuantity] = NUMBERS.flatMap(([name, , run]) => name === 'isQuantity' ? [run] : [])
    assert.equal((isQuantity as (text: string) => unknown)(text), canonical !== undefined)
    if (canonical === undefined) return
    assert.equal(canonicalQuantity(canonical), canonical)
    assert.ok(nanosOf(canonical) === 0n || canonical.startsWith('-') === nanosOf(canonical) < 0n)
  }],
  [
    'label selectors',
    ['app=a', 'app in (a,b),tier!=db', 'x.io/y,!app', 'x.io/y>4,tier notin (db)', 'app==a'],
    (text) => {
      const served = unlessRefused(StatusError, () => labelSelector(text))
      const sent = unlessRefused(TypeError, () => parseLabelSelector(text))
      assert.equal(served === undefined, sent === undefined, `the client and the server differ: ${text}`)
      for (const labels of LABELS) assert.equal(served?.matches(labels), sent?.(labels))
    },
  ],
  ['field selectors', ['metadata.name=a', 'metadata.name!=a,metadata.namespace==b', 'metadata.name=a\\,b'], (text) => {
    const kind = { namespaced: true, custom: false, rules: {} } as Kind
    const { matches } = unlessRefused(StatusError, () => fieldSelector(text, kind)) ?? {}
    assert.notEqual(matches?.({ apiVersion: 'v1', kind: 'A', metadata: { name: 'a' } }), null)
  }],
  ['schedules', ['0 2 * * *', '*/5 1-3,7 * JAN-MAR mon', '@daily', '@every 1h30m', 'TZ=UTC 0 2 * * *'], (text) => {
    assert.notEqual(scheduleProblem(text), '')
  }],
]

for (const [what, examples, check] of TEXTS) {
  test(`fuzz: ${what} are read in a moment, or refused`, () => {
    const text = fc.oneof(fc.constantFrom(...examples), mutatedText(...examples))
    fc.assert(
      fc.property(text, (each) => {
        const began = performance.now()
        check(each)
        assert.ok(performance.now() - began < MAX_MS, `${each}: ${performance.now() - began} ms`)
      }),
      { numRuns: tries(300), examples: examples.map((each) => [each]) },
    )
  })
}

/** A definition with every kind of schema, and rules. */
const DEFINITION = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'foos.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'foos', kind: 'Foo', singular: 'foo', shortNames: ['f'], categories: ['all'] },
    versions: [{
      name: 'v1',
      served: true,
      storage: true,
      subresources: { status: {}, scale: { specReplicasPath: '.spec.a', statusReplicasPath: '.status.a' } },
      additionalPrinterColumns: [{ name: 'A', type: 'integer', jsonPath: '.spec.a' }],
      selectableFields: [{ jsonPath: '.spec.s' }],
      schema: {
        openAPIV3Schema: {
          type: 'object',
          properties: {
            spec: {
              type: 'object',
              required: ['a'],
              properties: {
                a: { type: 'integer', minimum: 0, maximum: 10, default: 1 },
                s: { type: 'string', pattern: '^[a-z]*$', maxLength: 20, enum: ['abc', 'b'] },
                l: { type: 'array', maxItems: 5, items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
                m: {
                  type: 'array',
                  items: { type: 'object', required: ['n'], properties: { n: { type: 'string' } } },
                  'x-kubernetes-list-type': 'map',
                  'x-kubernetes-list-map-keys': ['n'],
                },
                o: { type: 'object', additionalProperties: { type: 'number', nullable: true } },
                p: { 'x-kubernetes-int-or-string': true },
                free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
                any: { type: 'object', anyOf: [{ required: ['x'] }, { not: { required: ['y'] } }] },
                when: { type: 'string', format: 'date-time' },
              },
              'x-kubernetes-validations': [{ rule: 'self.a >= 0', message: 'a', fieldPath: '.a' }],
            },
            status: { type: 'object', properties: { a: { type: 'integer' } } },
          },
        },
      },
    }],
  },
}
const FOO = {
  apiVersion: 'example.com/v1',
  kind: 'Foo',
  metadata: { name: 'a' },
  spec: {
    ...{ a: 1, s: 'abc', l: ['a', 'b'], m: [{ n: 'a' }, { n: 'b' }], o: { a: 1.5, b: null }, p: '80' },
    ...{ free: { any: { thing: [1, { a: null }] } }, any: {}, when: '2026-01-01T00:00:00Z' },
  },
}

test('fuzz: a changed definition is refused, or serves objects; `kubeloop types` refuses it, or writes its types', async () => {
  let served = 0
  await fc.assert(
    fc.asyncProperty(mutated(DEFINITION), fc.array(mutated(FOO), { maxLength: 2 }), async (definition, objects) => {
      const { send } = server()
      const { status, json } = await send('POST', CRDS, definition)
      try {
        typesOf(parseManifest(JSON.stringify(definition), 'a.json'), 'a.json')
      } catch (error) {
        assert.match(String(error), /^Error: Cannot (?:make types from|read a\.json)/)
      }
      if (status !== 201) return
      served++
      const { metadata, spec } = json as typeof DEFINITION
      const version = spec.versions[0]!.name
      const root = `/apis/${spec.group}/${version}`
      const path = `${root}${spec.scope === 'Cluster' ? '' : '/namespaces/default'}/${spec.names.plural}`
      for (const object of [FOO, ...objects]) {
        const made = await send('POST', path, object)
        await send('PATCH', `${path}/a?fieldManager=a`, object, 'application/apply-patch+yaml')
        if (made.status !== 201) continue
        await send('GET', `${path}/a`, undefined, undefined, { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' })
        await send('PUT', `${path}/a/status`, made.json)
        await send('GET', `${path}/a/scale`)
      }
      for (const each of ['/openapi/v2', `/openapi/v3${root}`, root, '/apis']) await send('GET', each)
      await send('DELETE', `${CRDS}/${metadata.name}`)
    }),
    // The first ones are as they are, so that they are served.
    { numRuns: tries(60, 'everywhere'), examples: [[DEFINITION, []], [DEFINITION, [FOO]], [DEFINITION, [FOO, FOO]]] },
  )
  assert.ok(served > 2, `${served} were served`)
})

test('fuzz: rules in CEL are refused by the definition, or end within their budget', async () => {
  let ran = 0
  const rule = fc.oneof(fc.constantFrom(...EXPRESSIONS), mutatedText(...EXPRESSIONS))
  await fc.assert(
    fc.asyncProperty(fc.array(rule, { minLength: 1, maxLength: 2 }), async (rules) => {
      const { send } = server()
      const definition = structuredClone(DEFINITION)
      definition.spec.versions[0]!.schema.openAPIV3Schema.properties.spec['x-kubernetes-validations'] = rules.map((
        each,
      ) => ({ rule: each, message: 'no', fieldPath: '.a' }))
      if ((await send('POST', CRDS, definition)).status !== 201) return
      ran++
      const { status, json } = await send('POST', FOOS, FOO)
      if (status === 201) assert.deepEqual(json.spec, FOO.spec)
    }),
    { numRuns: tries(60, 'everywhere'), examples: [[['true']], [['self.a >= 0']]] },
  )
  assert.ok(ran > 1, `${ran} ran`)
})

/** The result of a merge patch, by RFC 7386; the server's library removes nulls in lists that replace no object. */
function merged(target: unknown, patch: unknown): unknown {
  if (Array.isArray(patch) && !isFields(target)) return patch.map((each) => merged(undefined, each))
  if (!isFields(patch)) return patch
  const result = new Map(Object.entries(isFields(target) ? target : {}))
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) result.delete(key)
    else result.set(key, merged(result.get(key), value))
  }
  return Object.fromEntries(result)
}

const FREE = fc.letrec<{ any: unknown; fields: object }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom('a', '', 1, true, null, [], {}, [1, 1]),
    fc.array(tie('any'), { maxLength: 3 }),
    tie('fields'),
  ),
  fields: fc.dictionary(fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor', 'a/b~', ''), tie('any'), {
    maxKeys: 3,
    noNullPrototype: true,
  }),
})).fields

test('a body nested more than 500 times is refused, whatever it is; a less nested one is stored and read', async () => {
  const { send } = server()
  await send('POST', CRDS, DEFINITION)
  for (const depth of [490, 510, 3000, 5000, 9000, 100_000]) {
    const isRefused = depth > 500
    if (isRefused) await send('POST', FOOS, FOO)
    for (const [begin, end] of [['{"a":', '}'], ['[', ']']] as const) {
      // The fields above it are levels, too.
      const deep = begin.repeat(depth - 4) + '1' + end.repeat(depth - 4)
      const foo =
        `{"apiVersion":"example.com/v1","kind":"Foo","metadata":{"name":"a"},"spec":{"a":1,"free":{"x":${deep}}}}`
      const statuses = [
        await send('POST', FOOS, foo),
        await send('PATCH', `${FOOS}/a?fieldManager=a&force=true`, foo, 'application/apply-patch+yaml'),
        await send('PATCH', `${FOOS}/a`, `{"spec":{"free":{"y":${deep}}}}`, 'application/merge-patch+json'),
        await send(
          'PATCH',
          `${FOOS}/a`,
          `[{"op":"add","path":"/spec/free","value":{"z":${deep}}}]`,
          'application/json-patch+json',
        ),
        await send('DELETE', `${FOOS}/a`, isRefused ? foo : undefined),
      ].map(({ status }) => status)
      assert.deepEqual(statuses, isRefused ? [400, 400, 400, 400, 400] : [201, 200, 200, 200, 200], `${depth} ${begin}`)
    }
  }
})

test('fuzz: merge patches and JSON patches make what their models make', async () => {
  const { send } = server()
  await send('POST', CRDS, DEFINITION)
  const write = async (free: object): Promise<unknown> => {
    await send('DELETE', `${FOOS}/a`)
    return (await send('POST', FOOS, { ...FOO, spec: { a: 1, free } })).json.spec.free
  }
  const patch = (type: string, body: unknown) => send('PATCH', `${FOOS}/a?fieldManager=m`, body, `application/${type}`)
  await fc.assert(
    fc.asyncProperty(FREE, FREE, async (before, after) => {
      assert.deepEqual(await write(before), before)
      const { status, json } = await patch('merge-patch+json', { spec: { free: after } })
      assert.equal(status, 200)
      assert.deepEqual(json.spec.free, merged(before, after))

      await write(before)
      const answer = await patch('json-patch+json', jsonPatch({ spec: { free: before } }, { spec: { free: after } }))
      assert.equal(answer.status, 200, answer.text)
      assert.deepEqual(answer.json.spec.free, after)
    }),
    { numRuns: tries(60, 'everywhere') },
  )
})

const DEPLOYMENT = {
  metadata: { name: 'a' },
  ...SAMPLES.find(({ resource }) => resource === 'apps/v1/deployments')!.object,
}
const OPERATIONS = [
  { op: 'add', path: '/metadata/labels', value: { a: 'b' } },
  { op: 'test', path: '/metadata/name', value: 'a' },
  { op: 'replace', path: '/spec/template/spec/containers/0/image', value: 'b' },
  { op: 'copy', from: '/metadata/name', path: '/spec/template/spec/containers/0/name' },
  { op: 'move', from: '/spec/replicas', path: '/spec/minReadySeconds' },
  { op: 'remove', path: '/spec/template/spec/containers/-' },
]
const STRATEGIC = {
  metadata: { labels: { a: null }, finalizers: ['a.b/c'], '$deleteFromPrimitiveList/finalizers': ['a.b/d'] },
  spec: {
    template: {
      spec: {
        $retainKeys: ['containers'],
        containers: [{ name: 'main', image: 'b', $patch: 'merge' }, { name: 'x', $patch: 'delete' }],
        '$setElementOrder/containers': [{ name: 'main' }],
      },
    },
    strategy: { $patch: 'replace', type: 'Recreate' },
  },
}

test('fuzz: changed patches of a Deployment leave a Deployment, or are refused', async () => {
  const { send } = server()
  const path = '/apis/apps/v1/namespaces/default/deployments'
  const kinds = fc.oneof(
    mutated(OPERATIONS).map((body) => ({ type: 'json-patch+json', body })),
    mutated(STRATEGIC).map((body) => ({ type: 'strategic-merge-patch+json', body })),
    mutated(DEPLOYMENT).map((body) => ({ type: 'merge-patch+json', body })),
    mutated({ apiVersion: 'apps/v1', kind: 'Deployment', ...DEPLOYMENT }).map((body) => ({
      type: 'apply-patch+yaml',
      body,
    })),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(kinds, { minLength: 1, maxLength: 4 }), async (patches) => {
      await send('DELETE', path)
      assert.equal((await send('POST', path, DEPLOYMENT)).status, 201)
      for (const { type, body } of patches) {
        const { status, json } = await send(
          'PATCH',
          `${path}/a?fieldManager=m&force=${type.startsWith('apply')}`,
          body,
          `application/${type}`,
        )
        if (status === 200) {
          assert.equal((await send('PUT', `${path}/a?dryRun=All`, json)).status, 200, JSON.stringify(json))
        }
      }
    }),
    { numRuns: tries(60, 'everywhere') },
  )
})

test('fuzz: any method, path, query, header and body is answered', async () => {
  const { api, send } = server()
  await send('POST', CRDS, DEFINITION)
  await send('POST', FOOS, FOO)
  await send('POST', MAPS, { metadata: { name: 'a' }, data: { a: 'b' } })
  const odd = fc.constantFrom(...ODD_TEXTS)
  const part = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.constantFrom(
        'api',
        'apis',
        'v1',
        'apps',
        'example.com',
        'namespaces',
        'default',
        'foos',
        'configmaps',
        'pods',
        'a',
        'status',
        'scale',
        'openapi',
        'v3',
        'log',
        'watch',
        'proxy',
        'livez',
        'version',
      ),
    },
    odd.map((text) => encodeURIComponent(text.toWellFormed())),
  )
  const paths = fc.oneof(
    fc.constantFrom(FOOS, MAPS, `${FOOS}/a`, `${MAPS}/a`, `${FOOS}/a/scale`, CRDS, '/openapi/v3', '/apis', '/api/v1'),
    fc.array(part, { maxLength: 7 }).map((parts) => `/${parts.join('/')}`),
    mutatedText(`${FOOS}/a`, `${MAPS}?watch=true`),
  )
  const query = fc.array(
    fc.tuple(
      fc.constantFrom(
        'limit',
        'continue',
        'labelSelector',
        'fieldSelector',
        'resourceVersion',
        'resourceVersionMatch',
        'dryRun',
        'fieldManager',
        'fieldValidation',
        'force',
        'pretty',
        'propagationPolicy',
        'gracePeriodSeconds',
        'timeout',
        'sendInitialEvents',
      ),
      fc.oneof(
        odd,
        mutatedText('a in (b,c),!d,e>5', 'metadata.name=a,metadata.namespace!=b', 'All', '5', 'NotOlderThan'),
      ),
    ),
    { maxLength: 3 },
  ).map((pairs) => String(new URLSearchParams(pairs)))
  const header = fc.tuple(
    fc.constantFrom(
      'accept',
      'content-type',
      'content-encoding',
      'authorization',
      'impersonate-user',
      'impersonate-group',
      'impersonate-extra-a',
      'impersonate-extra-__proto__',
      'user-agent',
      'if-none-match',
      '__proto__',
    ),
    fc.oneof(
      odd,
      mutatedText(
        'application/json;as=Table;v=v1;g=meta.k8s.io',
        'Bearer abc.def.ghi',
        'application/yaml',
        'application/vnd.kubernetes.protobuf',
        'gzip, br',
      ),
    ),
  )
  const yaml = yamlText(DEPLOYMENT)
  const bodies = fc.option(
    fc.oneof(mutated(FOO), mutatedText(yaml, JSON.stringify(FOO), '{"a":1,"a":2}', '[[[', 'a: &a [*a, *a]\n')),
  )
  let found = 0
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom<HttpRequest['method']>('GET', 'GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'constructor' as 'GET'),
      paths,
      query,
      fc.array(header, { maxLength: 2 }),
      fc.option(
        fc.constantFrom(
          'application/json',
          'application/yaml',
          'application/merge-patch+json',
          'application/apply-patch+yaml',
          'application/vnd.kubernetes.protobuf',
        ),
      ),
      bodies,
      async (method, path, query, headers, type, body) => {
        const url = `${path}${query && `${path.includes('?') ? '&' : '?'}${query}`}`
        const { status } = await send(method, url, body ?? undefined, type ?? undefined, Object.fromEntries(headers))
        if (status < 300) found++
      },
    ),
    { numRuns: tries(300, 'everywhere') },
  )
  assert.ok(found > 10 && api.watches === 0, `${found} were answered`)
})

test('names of Object.prototype are in no selector, no class, no former version and no extra', async () => {
  const { send } = server()
  for (const key of ['constructor', '__proto__']) {
    assert.ok(!selectorMatches({ matchExpressions: [{ key, operator: 'Exists' }] }, {}), key)
    assert.ok(selectorMatches({ matchExpressions: [{ key, operator: 'DoesNotExist' }] }, {}), key)
    const headers = { 'impersonate-user': 'jane', [`impersonate-extra-${key}`]: 'a' }
    const { json } = await send('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {}, undefined, headers)
    assert.deepEqual(json.status.userInfo.extra, Object.fromEntries([[key, ['a']]]))
    const pod = { metadata: { name: 'a' }, spec: { priorityClassName: key, containers: [{ name: 'a', image: 'a' }] } }
    assert.equal((await send('POST', '/api/v1/namespaces/default/pods', pod)).status, 403)
    assert.equal(requestedAction(key, '/api/v1/pods', new URLSearchParams()).verb, '')
  }
})
