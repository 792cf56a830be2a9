/** Cases of the wire: forms of answers, paths, methods and headers. */
import assert from 'node:assert/strict'
import { readYaml } from '../../lib/core/yaml.ts'
import { type Api, type Body, type Case, caseOf } from './api.ts'
import { lineOf, recordedCase } from './recording.ts'
import { casesOf, cm, foo, type Script, script, type Step } from './transcript.ts'
import { BODY_CASES } from './wire_bodies.ts'
import { OPENAPI_CASES } from './wire_openapi.ts'

const TABLE = 'as=Table;v=v1;g=meta.k8s.io'
const MEDIA = 'application/json, application/yaml, application/vnd.kubernetes.protobuf'
const ONLY = 'only the following media types are accepted:'

/** Stores a ConfigMap whose texts need each style of YAML. */
async function createStyles(api: Api): Promise<string> {
  await api.expect(201, 'POST', api.configMaps, cm('styles', STYLES))
  return `${api.configMaps}/styles`
}

const STYLES = {
  lines: 'x\ny\n',
  noEnd: 'x\ny',
  manyEnds: 'x\n\n',
  indented: '\nx',
  truth: 'yes',
  number: '1',
  octal: '0x1f',
  nothing: 'null',
  time: '2020-01-01',
  sixty: '1:30',
  empty: '',
  colon: 'a: b',
  glued: 'a:b',
  comment: 'a #b',
  space: ' x',
  tab: 'a\tb',
  quote: "it's",
  quoted: "'q'",
  dash: '- x',
  dashes: '---',
  alias: '*a',
  list: '[a]',
  control: 'a\u0001',
  trailing: 'x \ny',
  letters: 'é',
  beyond: 'é\u{1F600}',
  wide: `long ${'word '.repeat(40)}end`,
  wideQuoted: `long: ${"it's ".repeat(40)}end`,
  wideEscaped: `tab\t ${'word '.repeat(40)}end`,
  key1: 'a',
  key10: 'b',
  key2: 'c',
  'key.a': 'd',
}

/** Accept headers of a read of an object: what it gets, and what is refused. */
const ACCEPTS: readonly string[] = [
  '',
  '*/*',
  'application/json;charset=utf-8',
  'application/json;stream=watch',
  'text/html,application/json;q=0.1',
  'application/yaml',
  'application/json;q=0.1,application/yaml;q=0.9',
  `application/json;${TABLE}`,
  `application/yaml;${TABLE}`,
  'application/json;as=Table;v=v2;g=meta.k8s.io,application/json',
  'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
  'text/html',
  'application/*',
  `application/*;${TABLE},application/json;stream=foo`,
  'garbage',
  'application/json;as=Nope;v=v1;g=meta.k8s.io',
  'application/json;stream=foo',
]

const FORM_CASES: readonly Case[] = casesOf('wire', [
  recordedCase('wire', 'Accept selects the form of an answer, or is not acceptable', async function* (api) {
    const path = await createStyles(api)
    for (const accept of ACCEPTS) {
      const { status, headers, body } = await api.request('GET', path, undefined, { headers: { accept } })
      const { kind = '', message = '', details } = typeof body === 'string' ? {} as Body : body
      yield lineOf(
        `Accept: ${accept}`,
        [status, headers['content-type'], kind, message, JSON.stringify(details)].filter(Boolean).join(' '),
      )
      // The error is found before the object is.
      if (status === 406) {
        assert.equal((await api.request('DELETE', `${path}0`, undefined, { accept })).body.message, message)
      }
    }
  }),
  script('a list names the types of watches, too', [['GET cm', undefined, { accept: 'text/html' }]]),
  script('metadata of an object is not that of a list', [
    ['POST cm', cm('a', {}, { labels: { x: 'y' } })],
    ...['cm', 'cm/a'].flatMap((path) =>
      ['PartialObjectMetadataList', 'PartialObjectMetadata'].map((kind): Step => [
        `GET ${path} ? kind metadata.labels items.0.metadata.labels items.0.data`,
        undefined,
        { accept: `application/json;as=${kind};v=v1;g=meta.k8s.io` },
      ])
    ),
  ]),
  caseOf('lists, errors and discovery are the same as YAML', async (api) => {
    await createStyles(api)
    const paths = [api.configMaps, `${api.configMaps}/none`, '/api/v1', '/apis', `/apis/${api.group}`]
    for (const path of [...paths, `/apis/${api.group}/v1`, api.foos]) {
      const value = (await api.request('GET', path)).body
      const { body, headers } = await api.request('GET', path, undefined, { accept: 'application/yaml' })
      assert.equal(headers['content-type'], 'application/yaml')
      const found = readYaml(body) as Body[]
      // Other cases write at the same time.
      for (const each of [...found, value]) delete each.metadata?.resourceVersion
      assert.deepEqual(found, [value], path)
    }
    const { body } = await api.request('GET', `${api.configMaps}?watch=1`, undefined, { accept: 'application/yaml' })
    const [{ code, message }] = readYaml(body) as [Body]
    assert.deepEqual([code, message.replace(/.*: /, '')], [
      406,
      'application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch',
    ])
  }),
])

/** A method and path that are refused; the path is below the namespace of the case if it has no slash at its start. */
const PATHS: readonly (readonly [method: string, path: string])[] = [
  ['GET', 'configmaps/..'],
  ['GET', 'configmaps/.'],
  ['GET', 'configmaps/%2e%2e'],
  ['DELETE', 'configmaps/a%25b'],
  ['GET', 'configmaps/a%2Fb'],
  ['GET', 'configmaps/a/b'],
  ['GET', 'configmaps/a/status'],
  ['GET', 'configmaps//a'],
  ['GET', 'nopes'],
  ['GET', 'nodes'],
  ['GET', '/api/v1/nopes'],
  ['GET', '/api/v2'],
  ['GET', '/api/v2/pods'],
  ['GET', '/apis/apps/v9'],
  ['GET', '/apis/apps/v9/deployments'],
  ['GET', '/apis/apps/v1/nopes'],
  ['POST', '/api/v1'],
  ['PUT', '/api'],
  ['POST', '/version'],
  ['PUT', 'configmaps'],
  ['PATCH', 'configmaps'],
  ['POST', 'configmaps/a'],
  ['OPTIONS', 'configmaps'],
  ['OPTIONS', 'configmaps/a'],
]

const PATH_CASES: readonly Case[] = casesOf('wire', [
  ...PATHS.map(([method, path]): Script => ({
    name: `${method} ${path} is refused`,
    steps: [
      [
        `${method} ${path.startsWith('/') ? path : `/api/v1/namespaces/{ns}/${path}`}`,
        ['POST', 'PUT', 'PATCH'].includes(method) ? {} : undefined,
      ],
    ],
  })),
  script('paths below a custom group that do not exist have no page', [
    ...['v9', 'v9/foos', 'v1/nopes', 'v1/foos/a'].map((path): Step => `GET /apis/{group}/${path}`),
    'GET foos//a ? code',
    ['POST /apis/{group}/v1/foos', {}],
  ]),
  script('a custom kind names the verb that it does not support, and the object of an unknown subresource', [
    'OPTIONS foos',
    ['POST foos/a/status', {}],
    'DELETE foos/a/status',
    ['PUT foos', foo('a')],
    ['MERGE foos', {}],
    ['PATCH foos', {}],
    ['PATCH foos/a', {}],
    ['POST foos', foo('a')],
    'GET foos/a/nope',
  ]),
  script('the prefix /watch is the same as watch=true', [
    ['POST cm', cm('a')],
    'WATCH 1 /api/v1/watch/namespaces/{ns}/configmaps ? metadata.namespace',
    'WATCH 1 /api/v1/watch/namespaces/{ns}/configmaps/a ? metadata.namespace',
  ]),
  script('a malformed escape in the path is a bad request', ['GET cm/%zz ? .']),
  caseOf('version and root are indented, and version is JSON only', async (api) => {
    assert.match(await api.text('GET', '/version'), /^\{\n {2}"major": "1",\n {2}"minor": "36",\n[^]*\n\}$/)
    const root = await api.text('GET', '/', { accept: 'text/html' })
    assert.match(root, /^\{\n {2}"paths": \[\n[^]*\n\}$/)
    const { paths } = JSON.parse(root) as Body
    for (
      const path of ['/api', '/api/v1', '/apis', '/apis/', '/apis/apps', '/apis/apps/v1', '/livez/ping', '/version']
    ) {
      assert.ok(paths.includes(path), path)
    }
    assert.deepEqual(paths, [...paths].sort())
    const status = await api.refused(406, 'NotAcceptable', 'GET', '/version', undefined, { accept: 'text/html' })
    assert.equal(status.message, '406: Not Acceptable\n\nAvailable representations: application/json')
    const yaml = await api.request('GET', '/version', undefined, { accept: 'application/yaml' })
    assert.match(yaml.body, /^message: \|-\n {2}406: Not Acceptable\n\n {2}Available/m)
  }),
  caseOf('health has details and single checks', async (api) => {
    for (const name of ['livez', 'readyz', 'healthz']) {
      assert.equal(await api.expect(200, 'GET', `/${name}/ping`), 'ok')
      assert.equal(await api.expect(200, 'POST', `/${name}/etcd`), 'ok')
      const lines = (await api.expect(200, 'GET', `/${name}?verbose`)).split('\n')
      assert.deepEqual(lines.slice(0, 2), ['[+]ping ok', '[+]log ok'])
      assert.ok(lines.includes('[+]etcd ok'))
      assert.deepEqual(lines.slice(-2), [`${name} check passed`, ''])
    }
    const excluded = await api.expect(200, 'GET', '/livez?verbose&exclude=etcd&exclude=nope')
    assert.match(excluded, /^\[\+\]etcd excluded: ok$/m)
    assert.match(
      excluded,
      /^warn: some health checks cannot be excluded: no matches for "nope"\nlivez check passed$/m,
    )
    assert.equal(await api.expect(200, 'GET', '/livez?exclude=nope'), 'ok')
  }),
  recordedCase('wire', 'custom kinds answer HEAD like GET, built-in kinds refuse it', async function* (api) {
    await api.expect(201, 'POST', api.foos, api.foo('a'))
    const paths = [api.foos, `/apis/${api.group}/v1/foos`, `${api.foos}/a`, `${api.foos}/a/status`, `${api.foos}/b`]
    for (
      const path of [...paths, api.configMaps, '/apis/apps/v1/namespaces/default/deployments/d/scale', '/api', '/livez']
    ) {
      const { status } = await api.request('HEAD' as 'GET', path)
      yield `HEAD ${path.replace(api.namespace, '{ns}').replace(api.group, '{group}')} => ${status}`
    }
  }),
  caseOf('aggregated discovery is cached by its content', async (api) => {
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
    const first = await api.request('GET', '/apis', undefined, { accept })
    assert.equal(first.headers['cache-control'], 'public')
    assert.match(first.headers['etag']!, /^"[\dA-F]{128}"$/)
    const headers = { 'if-none-match': first.headers['etag']! }
    const again = await api.request('GET', '/api', undefined, { accept, headers })
    assert.equal(again.status, 200)
    const unknown = await api.refused(406, 'NotAcceptable', 'GET', '/apis', undefined, {
      accept: accept.replace('v2', 'v3'),
    })
    assert.equal(unknown.message, `${ONLY} ${MEDIA}`)
    const yaml = await api.request('GET', '/api', undefined, { accept: accept.replace('json', 'yaml') })
    assert.equal(yaml.headers['content-type'], accept.replace('json', 'yaml'))
    assert.match(yaml.body, /^apiVersion: apidiscovery.k8s.io\/v2\nitems:\n/)
    const older = await api.request('GET', '/apis', undefined, { accept: `${accept.replace('v2', 'v2beta1')},*/*` })
    assert.equal(older.body.kind, 'APIGroupList')
  }),
])

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json'

export const WIRE_CASES: readonly Case[] = casesOf('wire', [
  caseOf('aggregated discovery lists custom kinds', async (api) => {
    const answer = await api.request('GET', '/apis', undefined, { accept: AGGREGATED })
    assert.match(answer.headers['content-type']!, /as=APIGroupDiscoveryList/)
    const group = answer.body.items.find((each: Body) => each.metadata.name === api.group)
    const [foos] = group.versions.find((each: Body) => each.version === 'v1').resources
    assert.deepEqual(foos.responseKind, { group: api.group, version: 'v1', kind: 'Foo' })
    assert.deepEqual([foos.resource, foos.scope], ['foos', 'Namespaced'])
    assert.deepEqual(foos.subresources.map((each: Body) => each.subresource).toSorted(), ['scale', 'status'])
  }),
  ...FORM_CASES,
  ...PATH_CASES,
  ...BODY_CASES,
  ...OPENAPI_CASES,
])
