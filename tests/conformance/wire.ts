/** Cases of the wire: forms of answers, paths, methods and headers. */
import assert from 'node:assert/strict'
import { type Api, type Body, type Case, MERGE } from './api.ts'
import { lineOf, recordedCase } from './recording.ts'
import { casesOf, cm, type Script, type Step } from './transcript.ts'
import { BODY_CASES } from './wire_bodies.ts'
import { OPENAPI_CASES } from './wire_openapi.ts'

type Method = Parameters<Api['request']>[0]

const TABLE = 'as=Table;v=v1;g=meta.k8s.io'
const MEDIA = 'application/json, application/yaml, application/vnd.kubernetes.protobuf'
const ONLY = 'only the following media types are accepted:'
const STREAMS = 'application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch'

/** Stores a ConfigMap whose texts need each style of YAML. */
async function createStyles(api: Api): Promise<string> {
  await api.expect(201, 'POST', api.configMaps, api.configMap('styles', STYLES))
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

function words(count: number): string {
  return Array(count).fill('word').join(' ')
}

const STYLES_YAML = `data:
  alias: '*a'
  beyond: "é\\U0001F600"
  colon: 'a: b'
  comment: 'a #b'
  control: "a\\x01"
  dash: '- x'
  dashes: '---'
  empty: ""
  glued: a:b
  indented: |2-

    x
  key.a: d
  key1: a
  key2: c
  key10: b
  letters: é
  lines: |
    x
    y
  list: '[a]'
  manyEnds: |+
    x

  noEnd: |-
    x
    y
  nothing: "null"
  number: "1"
  octal: "0x1f"
  quote: it's
  quoted: '''q'''
  sixty: "1:30"
  space: ' x'
  tab: "a\\tb"
  time: "2020-01-01"
  trailing: "x \\ny"
  truth: "yes"
  wide: long ${words(14)}
    ${words(16)}
    ${words(10)} end
`

/** Accept headers of a read of an object: what it gets, and what is refused. */
const ACCEPTS: readonly string[] = [
  '',
  '*/*',
  'application/json',
  'application/json;charset=utf-8',
  'application/json;foo=bar',
  'application/json;q=0',
  'application/json;q=abc',
  'application/json;',
  'application/json;stream=watch',
  'text/html,application/json;q=0.1',
  'text/html, application/xhtml+xml,*/*;q=0.8',
  'application/yaml',
  'application/json;q=0.1,application/yaml;q=0.9',
  'application/json ; q=0.5 , application/yaml',
  `application/json;${TABLE}`,
  `application/yaml;${TABLE}`,
  'application/json;as=Table;v=v1beta1;g=meta.k8s.io',
  `*/*;${TABLE}`,
  'application/json;as=Table;v=v2;g=meta.k8s.io,application/json',
  'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
  'application/json;as=PartialObjectMetadata;v=v1beta1;g=meta.k8s.io',
  'text/html',
  'text/*',
  'application/*',
  '*',
  'application/cbor',
  'APPLICATION/JSON',
  'garbage',
  'application/',
  'application/json/x',
  'application/json;as=Table;v=v2;g=meta.k8s.io',
  'application/json;as=Nope;v=v1;g=meta.k8s.io',
  'application/json;as=Table',
  'application/json;stream=foo',
  'application/yaml;stream=watch',
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
  {
    name: 'a custom kind names the media types that it has',
    steps: [
      ...['text/html', 'application/cbor', 'application/json;as=Nope;v=v1;g=meta.k8s.io'].map((
        accept,
      ): Step => ['GET foos', undefined, { accept }]),
    ],
  },
  {
    name: 'a list names the types of watches, too',
    async run(api) {
      const html = await api.refused(406, 'NotAcceptable', 'GET', api.configMaps, undefined, { accept: 'text/html' })
      assert.equal(html.message, `406: Not Acceptable\n\nAvailable representations: ${MEDIA}, ${STREAMS}`)
      const answer = await api.request('GET', `${api.configMaps}?watch=1`, undefined, { accept: 'application/yaml' })
      assert.equal(answer.status, 406)
      assert.equal(answer.headers['content-type'], 'application/yaml')
      assert.match(
        answer.body,
        /^message: 'only the following media types are accepted: application\/json;stream=watch,$/m,
      )
    },
  },
  {
    name: 'metadata of an object is not that of a list',
    async run(api) {
      const path = await createStyles(api)
      const accept = (kind: string): { accept: string } => ({
        accept: `application/json;as=${kind};v=v1;g=meta.k8s.io`,
      })
      const list = await api.request('GET', api.configMaps, undefined, accept('PartialObjectMetadataList'))
      assert.equal(list.body.kind, 'PartialObjectMetadataList')
      const one = await api.refused(
        406,
        'NotAcceptable',
        'GET',
        api.configMaps,
        undefined,
        accept('PartialObjectMetadata'),
      )
      assert.equal(
        one.message,
        'you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)',
      )
      const many = await api.refused(406, 'NotAcceptable', 'GET', path, undefined, accept('PartialObjectMetadataList'))
      assert.equal(
        many.message,
        'you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)',
      )
    },
  },
  {
    name: 'YAML has the styles of the Go library',
    async run(api) {
      const path = await createStyles(api)
      const { body } = await api.request('GET', path, undefined, { accept: 'application/yaml' })
      assert.ok(body.startsWith('apiVersion: v1\ndata:\n'))
      const data = body.slice(body.indexOf('data:\n'), body.indexOf('kind: ConfigMap'))
      assert.equal(data.slice(0, STYLES_YAML.length), STYLES_YAML)
      const rest = data.slice(STYLES_YAML.length)
      assert.match(rest, /^ {2}wideEscaped: "tab\\t word .{50,70}\n {4}word/)
      assert.match(rest, /^ {2}wideQuoted: 'long: it''s .{50,70}\n {4}it''s/m)
    },
  },
  {
    name: 'lists, errors and discovery are written as YAML',
    async run(api) {
      await createStyles(api)
      const get = async (path: string): Promise<string> =>
        (await api.request('GET', path, undefined, { accept: 'application/yaml' })).body
      assert.match(await get(api.configMaps), /^apiVersion: v1\nitems:\n- data:\n {4}alias: '\*a'\n/)
      assert.equal(
        await get(`${api.configMaps}/none`),
        'apiVersion: v1\ncode: 404\ndetails:\n  kind: configmaps\n  name: none\nkind: Status\n' +
          'message: configmaps "none" not found\nmetadata: {}\nreason: NotFound\nstatus: Failure\n',
      )
      assert.match(await get('/api/v1'), /^groupVersion: v1\nkind: APIResourceList\nresources:\n- kind: /)
      assert.match(await get('/apis'), /^apiVersion: v1\ngroups:\n- name: /)
      assert.match(await get(`/apis/${api.group}`), /^apiVersion: v1\nkind: APIGroup\nname: conformance/)
      assert.match(await get(`/apis/${api.group}/v1`), /^apiVersion: v1\ngroupVersion: conformance/)
      assert.match(await get(api.foos), /^apiVersion: conformance.*\nitems: \[\]\nkind: FooList\n/)
    },
  },
  {
    name: 'a created object is answered as YAML, and an error in a form without errors as JSON',
    async run(api) {
      const created = await api.request('POST', api.configMaps, api.configMap('a'), { accept: 'application/yaml' })
      assert.equal(created.status, 201)
      assert.match(created.body, /^apiVersion: v1\ndata:\n {2}k: v\nkind: ConfigMap\n/)
      const missing = await api.request('GET', `${api.configMaps}/b`, undefined, {
        accept: `application/json;${TABLE}`,
      })
      assert.equal(missing.status, 404)
      assert.equal(missing.headers['content-type'], 'application/json')
      assert.equal(missing.body.reason, 'NotFound')
      const text = await api.text('GET', `${api.configMaps}/b`, { accept: `application/json;${TABLE}` })
      assert.ok(text.startsWith('{\n  "kind": "Status",\n') && text.endsWith('\n}'))
    },
  },
  ...([
    ['pretty=true', 'tester/1', true],
    ['pretty=1', 'tester/1', true],
    ['pretty=false', 'curl/8.0', false],
    ['pretty=maybe', 'curl/8.0', false],
    ['pretty=', 'curl/8.0', true],
    ['', 'curl/8.0', true],
    ['', 'Wget/1.0', true],
    ['', 'Mozilla/5.0 (X11)', true],
    ['', 'tester/1', false],
  ] as const).map(([query, userAgent, isPretty]): Case => ({
    name: `"?${query}" of ${userAgent} is ${isPretty ? '' : 'not '}indented`,
    async run(api) {
      for (const path of [api.configMaps, `${api.configMaps}/none`, api.foos, '/api/v1']) {
        const text = await api.text('GET', `${path}?${query}`, { userAgent })
        assert.equal(text.startsWith('{\n  "'), isPretty, path)
        assert.equal(text.endsWith('}\n'), !isPretty, path)
      }
    },
  })),
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
  ['GET', 'configmaps?timeout=abc'],
  ['GET', 'configmaps?timeout=1'],
  ['GET', 'configmaps?timeout=1y'],
]

/** Paths of Go's own answer, which is a text. */
const PAGES: readonly string[] = [
  '/nope',
  '/nope/',
  '/apis/nope',
  '/apis/nope/v1',
  '/apis/nope/v1/foos',
  '/openapi',
  '/openapi/v2/',
  '/openapi/v4',
  '/healthz/',
  '/livez/nope',
  '/logs',
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
  ...PAGES.map((path): Case => ({
    name: `GET ${path} has no page`,
    async run(api) {
      const answer = await api.request('GET', path)
      assert.equal(answer.status, 404)
      assert.equal(answer.body, '404 page not found\n')
      assert.equal(answer.headers['content-type'], 'text/plain; charset=utf-8')
      assert.equal(answer.headers['x-content-type-options'], 'nosniff')
    },
  })),
  {
    name: 'paths below a custom group that do not exist have no page',
    async run(api) {
      const root = `/apis/${api.group}`
      for (const path of ['v9', 'v9/foos', 'v1/nopes', 'v1/foos/a', `v1/namespaces/${api.namespace}/foos//a`]) {
        const answer = await api.request('GET', `${root}/${path}`)
        if (path.endsWith('//a')) assert.equal(answer.status, 404)
        else assert.equal(answer.body, '404 page not found\n', path)
      }
      assert.equal((await api.request('POST', `${root}/v1/foos`, {})).body, '404 page not found\n')
    },
  },
  {
    name: 'a custom kind names the verb that it does not support, and the object of an unknown subresource',
    async run(api) {
      const name = `foos.${api.group}`
      const details = { group: api.group, kind: 'foos' }
      const options = await api.refused(405, 'MethodNotAllowed', 'OPTIONS' as Method, api.foos)
      assert.equal(options.message, ` is not supported on resources of kind "${name}"`)
      assert.deepEqual(options.details, details)
      const created = await api.refused(405, 'MethodNotAllowed', 'POST', `${api.foos}/a/status`, {})
      assert.equal(created.message, `create is not supported on resources of kind "${name}"`)
      const deleted = await api.refused(405, 'MethodNotAllowed', 'DELETE', `${api.foos}/a/status`)
      assert.equal(deleted.message, `delete is not supported on resources of kind "${name}"`)
      const unnamed = await api.refused(400, 'BadRequest', 'PUT', api.foos, api.foo('a'))
      assert.equal(unnamed.message, 'name must be provided')
      const patched = await api.refused(400, 'BadRequest', 'PATCH', api.foos, {}, { type: MERGE })
      assert.equal(patched.message, 'name must be provided')
      for (const path of [api.foos, `${api.foos}/a`]) {
        const { message } = await api.refused(415, 'UnsupportedMediaType', 'PATCH', path, {})
        assert.match(
          message,
          /include: application\/json-patch\+json, application\/merge-patch\+json, application\/apply-patch\+yaml$/,
        )
      }
      await api.expect(201, 'POST', api.foos, api.foo('a'))
      const unknown = await api.refused(404, 'NotFound', 'GET', `${api.foos}/a/nope`)
      assert.equal(unknown.message, `${name} "a" not found`)
      assert.deepEqual(unknown.details, { ...details, name: 'a' })
    },
  },
  {
    name: 'HEAD is not allowed for built-in kinds, and reads custom ones',
    async run(api) {
      await api.expect(201, 'POST', api.foos, api.foo('a'))
      const status = async (path: string): Promise<number> => (await api.request('HEAD' as Method, path)).status
      assert.equal(await status(api.configMaps), 405)
      assert.equal(await status(`${api.foos}/a`), 200)
      assert.equal(await status(`${api.foos}/b`), 404)
      assert.equal(await status('/api'), 405)
      assert.equal(await status('/livez'), 200)
    },
  },
  {
    name: 'watch has no effect on the path of one object',
    async run(api) {
      await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
      await api.expect(201, 'POST', api.foos, api.foo('a'))
      for (const path of [`${api.configMaps}/a`, `${api.foos}/a`]) {
        assert.equal((await api.expect(200, 'GET', `${path}?watch=true`)).metadata.name, 'a')
      }
    },
  },
  {
    name: 'the prefix /watch is the same as watch=true',
    async run(api) {
      await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
      const path = `/api/v1/watch/namespaces/${api.namespace}/configmaps`
      for (const each of [path, `${path}/a`]) {
        const watch = await api.watch(each)
        const event = await watch.next()
        assert.equal(event!.type, 'ADDED')
        assert.equal(event!.object.metadata.namespace, api.namespace)
        watch.cancel()
      }
    },
  },
  {
    name: 'a query parameter with a semicolon or a malformed escape is ignored',
    steps: [
      ['POST cm', cm('a')],
      ...['limit=1;watch=1', '%zz=1', 'limit=%zz', 'labelSelector=x%3Dy;&fieldSelector=metadata.name%3Da'].map((
        query,
      ): Step => `GET cm?${query} ? items.length`),
    ],
  },
  { name: 'a malformed escape in the path is a bad request', steps: ['GET cm/%zz ? .'] },
  {
    name: 'each answer has an audit id, the one of the request if it has one',
    async run(api) {
      const first = await api.request('GET', api.configMaps)
      const second = await api.request('GET', api.configMaps)
      assert.match(first.headers['audit-id']!, /^[\da-f-]{36}$/)
      assert.notEqual(first.headers['audit-id'], second.headers['audit-id'])
      const own = await api.request('GET', `${api.configMaps}/none`, undefined, { headers: { 'audit-id': 'mine' } })
      assert.equal(own.headers['audit-id'], 'mine')
      assert.equal(own.headers['cache-control'], 'no-cache, private')
      const nothing = await api.request('GET', '/nope')
      assert.equal(nothing.headers['cache-control'], 'no-cache, private')
    },
  },
  {
    name: 'version and root are indented, and version is JSON only',
    async run(api) {
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
    },
  },
  {
    name: 'health has details and single checks',
    async run(api) {
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
    },
  },
  {
    name: 'custom kinds answer HEAD like GET, built-in kinds refuse it',
    async run(api) {
      await api.expect(201, 'POST', api.foos, api.foo('a'))
      const paths: [string, number][] = [
        [api.foos, 200],
        [`/apis/${api.group}/v1/foos`, 200],
        [`${api.foos}/a`, 200],
        [`${api.foos}/a/status`, 200],
        [`${api.foos}/b`, 404],
        [api.configMaps, 405],
      ]
      for (const [path, status] of paths) assert.equal((await api.request('HEAD' as 'GET', path)).status, status, path)
    },
  },
  {
    name: 'aggregated discovery is cached by its content',
    async run(api) {
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
    },
  },
])

export const WIRE_CASES: readonly Case[] = casesOf('wire', [
  ...FORM_CASES,
  ...PATH_CASES,
  ...BODY_CASES,
  ...OPENAPI_CASES,
])
