import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import { must } from './requests.ts'
import { CRDS, definitionOf } from '../tools/definitions.ts'
import { openDocuments } from '../../lib/apiserver/discovery/openapi/documents.ts'
import { builtinKinds } from '../../lib/apiserver/kinds/kinds.ts'
import { Kinds } from '../../lib/apiserver/model/routes.ts'

interface Document {
  readonly paths: Record<
    string,
    { readonly serverRelativeURL: string; readonly post?: { readonly [field: string]: unknown } }
  >
  readonly components: { readonly schemas: Record<string, unknown> }
}

const read = (server: ApiServer, path: string): Promise<Document> => must(server, 'GET', path)

async function hashOf(server: ApiServer, name: string): Promise<string> {
  const { paths } = await read(server, '/openapi/v3')
  return paths[name]!.serverRelativeURL.split('hash=')[1]!
}

test('each built-in kind has a schema and its paths in the document of its version', async () => {
  const server = new ApiServer()
  const { paths } = await read(server, '/openapi/v3')
  for (const kind of builtinKinds()) {
    const name = kind.group ? `apis/${kind.group}/${kind.version}` : `api/${kind.version}`
    assert.ok(paths[name], name)
    const document = await read(server, paths[name].serverRelativeURL)
    assert.ok(document.paths[`/${name}/${kind.namespaced ? 'namespaces/{namespace}/' : ''}${kind.plural}`], kind.plural)
    for (const [, reference] of JSON.stringify(document).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      assert.ok(document.components.schemas[reference!], `${name}: ${reference}`)
    }
  }
})

test('the documents are listed once for the same kinds', async () => {
  const [documents, kinds] = [await openDocuments(), new Kinds()]
  for (const kind of builtinKinds()) kinds.set(kind)
  const first = documents.index(kinds)
  assert.equal(documents.index(kinds), first)
  kinds.delete(builtinKinds()[0]!)
  assert.notEqual(documents.index(kinds), first)
})

test('a hash changes with the schema of a kind, and only that one', async () => {
  const server = new ApiServer()
  await must(server, 'POST', CRDS, definitionOf({ properties: {} }))
  const [foo, apps] = [await hashOf(server, 'apis/example.com/v1'), await hashOf(server, 'apis/apps/v1')]
  assert.equal(await hashOf(server, 'apis/example.com/v1'), foo)
  await must(server, 'PATCH', `${CRDS}/foos.example.com`, { metadata: { labels: { a: 'b' } } })
  assert.equal(await hashOf(server, 'apis/example.com/v1'), foo)
  const other = new ApiServer()
  await must(other, 'POST', CRDS, definitionOf({ properties: { spec: { type: 'string' } } }))
  assert.notEqual(await hashOf(other, 'apis/example.com/v1'), foo)
  assert.equal(await hashOf(other, 'apis/apps/v1'), apps)
  const [version] = definitionOf({ properties: {} }).spec.versions
  const paths = { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n' }
  const versions = [{ ...version, subresources: { ...version!.subresources, scale: paths } }]
  await must(other, 'PATCH', `${CRDS}/foos.example.com`, {
    spec: { versions: definitionOf({ properties: {} }).spec.versions },
  })
  assert.equal(await hashOf(other, 'apis/example.com/v1'), foo)
  await must(other, 'PATCH', `${CRDS}/foos.example.com`, { spec: { versions } })
  assert.notEqual(await hashOf(other, 'apis/example.com/v1'), foo)
  await must(server, 'POST', CRDS, definitionOf({ kind: 'Bar', properties: {} }))
  assert.notEqual(await hashOf(server, 'apis/example.com/v1'), foo)
})

test('kinds of one version share a document; names are those of the definition', async () => {
  const server = new ApiServer()
  const group = 'my-apps.k8s.io'
  for (const [plural, kind] of [['apples', 'Apple'], ['dogs', 'Dogs'], ['classes', 'Class']] as const) {
    const annotations = { 'api-approved.kubernetes.io': 'unapproved' }
    const metadata = { name: `${plural}.${group}`, annotations }
    const definition = { ...definitionOf({ group, properties: {}, spec: { names: { plural, kind } } }), metadata }
    await must(server, 'POST', CRDS, definition)
  }
  const { paths, components } = await read(server, `/openapi/v3/apis/${group}/v1`)
  assert.deepEqual(Object.keys(paths), [...Object.keys(paths)].sort())
  const { post } = paths[`/apis/${group}/v1/apples`]!
  assert.equal(post!['description'], 'create an Apple')
  assert.equal(post!['operationId'], 'createMyAppsV1Apple')
  assert.deepEqual(post!['tags'], ['myApps_v1'])
  assert.equal(paths[`/apis/${group}/v1/dogs`]!.post!['description'], 'create Dogs')
  assert.equal(paths[`/apis/${group}/v1/classes`]!.post!['description'], 'create a Class')
  for (const name of ['Apple', 'AppleList', 'Dogs', 'Class']) {
    assert.ok(components.schemas[`io.k8s.my-apps.v1.${name}`], name)
  }
  assert.ok(!JSON.stringify({ paths, components }).toLowerCase().includes('qq'))
})

test('int-or-string keeps its own alternatives; embedded objects get their metadata', async () => {
  const server = new ApiServer()
  const properties = {
    plain: { 'x-kubernetes-int-or-string': true },
    typed: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }], pattern: 'a' },
    more: { 'x-kubernetes-int-or-string': true, anyOf: [{ pattern: 'a' }, { pattern: 'b' }] },
    embedded: {
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-preserve-unknown-fields': true,
      required: ['kind'],
    },
    off: { type: 'boolean', default: false, nullable: false },
  }
  await must(server, 'POST', CRDS, definitionOf({ properties }))
  const { components } = await read(server, '/openapi/v3/apis/example.com/v1')
  const foo = components.schemas['com.example.v1.Foo'] as { properties: Record<string, Record<string, unknown>> }
  const types = [{ type: 'integer' }, { type: 'string' }]
  const { plain, typed, more, embedded, off } = foo.properties
  assert.deepEqual(plain!['anyOf'], types)
  assert.deepEqual(typed, { anyOf: types, pattern: 'a', 'x-kubernetes-int-or-string': true })
  assert.deepEqual(more!['allOf'], [{ anyOf: types }])
  assert.deepEqual(embedded!['required'], ['kind', 'apiVersion'])
  assert.deepEqual(Object.keys(embedded!['properties'] as object), ['apiVersion', 'kind', 'metadata'])
  assert.deepEqual(off, { type: 'boolean', default: false })
})

test('audit ids are random, but numbers on a server with a given source of randomness', async () => {
  const idOf = async (server: ApiServer): Promise<string> =>
    (await server.handle({ method: 'GET', path: '/livez' })).headers['audit-id']!
  const server = new ApiServer()
  assert.notEqual(await idOf(server), await idOf(server))
  for (let run = 0; run < 2; run++) {
    let draws = 0
    const seeded = new ApiServer({ random: () => (draws++, 0.5) })
    const before = draws
    assert.equal(await idOf(seeded), '00000000-0000-4000-8000-000000000001')
    assert.equal(await idOf(seeded), '00000000-0000-4000-8000-000000000002')
    assert.equal(draws, before)
  }
})
