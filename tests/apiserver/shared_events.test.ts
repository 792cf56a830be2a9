/** Tests that watches share events and lines, and that each gets what its own selectors and form ask for. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer } from 'kubeloop/apiserver'
import { SharedEvents, type WatchEvent } from '../../lib/apiserver/verbs/shared_events.ts'
import { type Method, must } from './requests.ts'
import { CRDS, definitionOf } from '../tools/definitions.ts'
import type { Change } from '../../lib/apiserver/storage/store.ts'

const PATH = '/api/v1/namespaces/default/configmaps'
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io'

function changeOf(revision: number): Change {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }
  return {
    revision,
    type: 'ADDED',
    storage: 'configmaps',
    key: 'default/a',
    object,
    before: undefined,
    atMs: 0,
    size: 0,
  }
}

test('an event is found once a selection and rendered once a form; nothing is kept for the next change', () => {
  const shared = new SharedEvents()
  let [found, rendered] = [0, 0]
  const of = (change: Change, selection: string, form: string): Uint8Array => {
    const event = shared.event(
      change,
      selection,
      ({ type, object }): WatchEvent => ({ type, object, ...(found++, {}) }),
    )
    return shared.line(change, event!, form, () => `${++rendered}`)
  }
  const [first, second] = [changeOf(1), changeOf(2)]
  const line = of(first, '', 'json')
  assert.equal(of(first, '', 'json'), line)
  assert.equal(of(first, 'app=a', 'json'), line, 'selections with the same event share its line')
  assert.notEqual(of(first, 'app=a', 'table'), line)
  assert.deepEqual([found, rendered], [2, 2])
  assert.notEqual(of(second, '', 'json'), line)
  assert.deepEqual([found, rendered], [3, 3])
})

test('two hundred watches with different selectors, forms and starts each get their own events', async () => {
  const api = new ApiServer()
  const send = (method: Method, path: string, body?: object) => must(api, method, path, body)
  const forms = [
    { query: '', accept: 'application/json', sees: ['x ADDED', 'y ADDED', 'x MODIFIED', 'y DELETED'] },
    { query: 'labelSelector=app%3Da', accept: 'application/json', sees: ['x ADDED', 'x DELETED'] },
    { query: 'labelSelector=app%3Db', accept: 'application/json', sees: ['y ADDED', 'x ADDED', 'y DELETED'] },
    { query: 'fieldSelector=metadata.name%3Dy', accept: TABLE, sees: ['y ADDED', 'y DELETED'] },
    { query: 'fieldSelector=metadata.name!%3Dx', accept: 'application/json', sees: ['y ADDED', 'y DELETED'] },
    { query: 'fieldSelector=metadata.name!%3Dy', accept: 'application/json', sees: ['x ADDED', 'x MODIFIED'] },
    { query: '', accept: TABLE, sees: ['x ADDED', 'y ADDED', 'x MODIFIED', 'y DELETED'] },
    { query: 'includeObject=None', accept: TABLE, sees: ['- ADDED', '- ADDED', '- MODIFIED', '- DELETED'] },
  ]
  const watches = await Promise.all(Array.from({ length: 204 }, async (_, i) => {
    const form = forms[i % forms.length]!
    const path = `${PATH}?watch=1&timeoutSeconds=${100 + i}&${form.query}`
    return { form, response: await api.handle({ method: 'GET', path, headers: { accept: form.accept } }) }
  }))
  const of = (name: string, app: string) => ({ metadata: { name, labels: { app } }, data: { app } })
  await send('POST', PATH, of('x', 'a'))
  await send('POST', PATH, of('y', 'b'))
  await send('PUT', `${PATH}/x`, of('x', 'b'))
  await send('DELETE', `${PATH}/y`)
  api.closeWatches()
  for (const { form, response } of watches) {
    const events = (await response.body.text()).trim().split('\n').map((line) => JSON.parse(line))
    const seen = events.map(({ type, object }) => {
      const row = object.rows?.[0]
      return `${(row ? row.object?.metadata.name : object.metadata.name) ?? '-'} ${type}`
    })
    assert.deepEqual(seen, form.sees, form.query)
    if (form.accept !== TABLE) continue
    // Only the first event of each watch has the column definitions.
    assert.deepEqual(events.map(({ object }) => object.columnDefinitions !== null), events.map((_, i) => i === 0))
  }
})

test('watches that differ only in their time and start share the bytes of an event', async () => {
  const api = new ApiServer()
  const same = 'fieldSelector=&labelSelector=&limit=1&resourceVersion=&watch=true&timeoutSeconds=1'
  const [one, two] = await Promise.all([same, 'watch=1&timeoutSeconds=2'].map(async (query) => {
    const { body } = await api.handle({ method: 'GET', path: `${PATH}?${query}` })
    return body[Symbol.asyncIterator]()
  }))
  const chunks = [one!.next(), two!.next()]
  await must(api, 'POST', PATH, { metadata: { name: 'x' } })
  const [first, second] = await Promise.all(chunks)
  assert.equal(first!.value, second!.value)
  api.closeWatches()
})

test('watches of different versions of a kind share nothing, and end when their definition changes', async () => {
  const api = new ApiServer()
  const definition = (...columns: readonly string[]) =>
    definitionOf({
      ...{ kind: 'Thing', group: 'test.dev', scope: 'Namespaced', versions: ['v1', 'v2'] },
      version: { additionalPrinterColumns: columns.map((name) => ({ name, type: 'string', jsonPath: `.${name}` })) },
    })
  const watch = async (version: string, accept: string) =>
    await api.handle({ method: 'GET', path: `/apis/test.dev/${version}/things?watch=1`, headers: { accept } })
  await must(api, 'POST', CRDS, definition('one'))
  const before = [
    await watch('v1', 'application/json'),
    await watch('v2', 'application/json'),
    await watch('v2', TABLE),
  ]
  const post = (name: string) =>
    must(api, 'POST', '/apis/test.dev/v1/namespaces/default/things', {
      apiVersion: 'test.dev/v1',
      kind: 'Thing',
      metadata: { name },
    })
  await post('a')
  const { metadata } = await must(api, 'GET', `${CRDS}/things.test.dev`)
  await api.handle({ method: 'GET', path: `${PATH}?watch=1` })
  await must(api, 'PUT', `${CRDS}/things.test.dev`, { ...definition('two', 'three'), metadata })
  assert.equal(api.watches, 1, 'that of another kind goes on')
  const after = await watch('v2', TABLE)
  await post('b')
  await must(api, 'DELETE', `${CRDS}/things.test.dev`)
  assert.equal(api.watches, 1, 'that of a removed kind ends')
  api.closeWatches()
  const [v1, v2, old, now] = await Promise.all(
    [...before, after].map(async ({ body }) => JSON.parse((await body.text()).trim().split('\n').at(-1)!).object),
  )
  assert.deepEqual([v1.apiVersion, v2.apiVersion], ['test.dev/v1', 'test.dev/v2'])
  assert.deepEqual([old, now].map(({ rows }) => rows[0].cells.length), [2, 3])
})
