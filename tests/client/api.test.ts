import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import { Api } from '../../lib/client/api.ts'
import { describe } from '../../lib/client/requests.ts'
import { discoverKinds } from '../../lib/client/rest_mapper.ts'
import type { Fence } from '../../lib/core/fence.ts'
import type { AnyResource } from '../../lib/core/resource.ts'
import type { HttpRequest, HttpResponse, Transport } from '../../lib/core/transport.ts'
import { ConfigMap as CONFIG_MAP } from '../../lib/kinds/mod.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { answer, refusal } from './transports.ts'

const NODE: AnyResource = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', scope: 'Cluster' }
const TARGET = { resource: CONFIG_MAP, namespace: 'default', name: 'a' }

const serve = (): Transport => new ApiServer({ clock: new FakeClock() }).handle

test('items keep their own kind, an empty list may be null, and a body that is not a list is an error', async () => {
  const list = async (body: unknown): Promise<unknown> =>
    (await new Api({ transport: () => Promise.resolve(answer(200, body)) }).list({ resource: CONFIG_MAP })).items
  assert.deepEqual(await list({ metadata: {}, items: [{ apiVersion: 'v1', kind: 'Special', metadata: {} }] }), [{
    apiVersion: 'v1',
    kind: 'Special',
    metadata: {},
  }])
  assert.deepEqual(await list({ metadata: { resourceVersion: '1' }, items: null }), [])
  for (const body of [{}, { items: [] }, null, 'ok']) {
    await assert.rejects(
      list(body === 'ok' ? '"ok"' : body),
      /^TypeError: Cannot list configmaps: the response is not a list$/,
    )
  }
})

test('each error names the action', async () => {
  const api = new Api({ transport: () => Promise.resolve(refusal(403, 'Forbidden', {}, 'no')) })
  const calls: readonly (readonly [string, Promise<unknown>])[] = [
    ['get ConfigMap "default/a"', api.get(TARGET)],
    ['list configmaps in namespace "default"', api.list({ resource: CONFIG_MAP, namespace: 'default' })],
    [
      'watch configmaps',
      api.watch({ resource: CONFIG_MAP }, { resourceVersion: '1', timeoutSeconds: 1 }, new AbortController().signal),
    ],
    ['create ConfigMap "default/a"', api.create(TARGET, {}, {})],
    ['update ConfigMap "default/a"', api.update(TARGET, {}, {})],
    ['patch ConfigMap "default/a"', api.patch(TARGET, 'merge', {}, {})],
    ['apply ConfigMap "default/a"', api.patch(TARGET, 'apply', {}, {})],
    ['set the status of ConfigMap "default/a"', api.patch({ ...TARGET, subresource: 'status' }, 'json', [], {})],
    ['delete ConfigMap "default/a"', api.delete(TARGET, {})],
    ['ask for tea', api.raw({ method: 'GET', path: '/tea' }, 'ask for tea')],
  ]
  for (const [action, call] of calls) {
    await assert.rejects(call, (error: Error) => error.message === `Cannot ${action}: no`, action)
  }
  assert.equal(describe({ resource: NODE, name: 'n' }), 'Node "n"')
})

test('a 401 says whose credentials were refused, also of a watch', async () => {
  const transport: Transport = () => Promise.resolve(refusal(401, 'Unauthorized', {}, 'no'))
  const api = new Api({ transport, identity: 'user "me"' })
  const from = { resourceVersion: '1', timeoutSeconds: 1 }
  for (const call of [api.get(TARGET), api.watch({ resource: CONFIG_MAP }, from, new AbortController().signal)]) {
    await assert.rejects(call, /no \(the server does not accept the credentials, which may have expired: user "me"\)$/)
  }
})

test('a redirect, such as to a login, is no watch', async () => {
  const api = new Api({ transport: () => Promise.resolve(answer(302, '', { location: '/login' })) })
  const watching = api.watch({ resource: CONFIG_MAP }, { resourceVersion: '1' }, new AbortController().signal)
  await assert.rejects(watching, /^ApiError: Cannot watch configmaps: the server answered 302 with an empty body/)
})

test('either signal aborts a call, also while its body is read, and no listener stays', async () => {
  for (const which of ['own', 'call'] as const) {
    const signals = { own: new AbortController(), call: new AbortController() }
    const slowBody: Transport = ({ signal }) =>
      Promise.resolve({
        ...answer(200, {}),
        body: {
          ...answer(200, {}).body,
          text: () =>
            new Promise<string>((_, reject) =>
              signal!.addEventListener('abort', () => reject(signal!.reason as Error))
            ),
        },
      })
    const call = new Api({ transport: slowBody, signal: signals.own.signal }).get(TARGET, signals.call.signal)
    await Promise.resolve()
    signals[which].abort(new Error(which))
    await assert.rejects(call, new RegExp(`^Error: ${which}$`))
  }
  const own = new AbortController()
  let listeners = 0
  own.signal.addEventListener = () => void listeners++
  own.signal.removeEventListener = () => void listeners--
  const api = new Api({ transport: () => Promise.resolve(answer(200, {})), signal: own.signal })
  for (let call = 0; call < 10; call++) await api.get(TARGET, new AbortController().signal)
  assert.equal(listeners, 0)
})

test('a fence is checked before every write and again on the socket, aborts open writes, and ignores reads', async () => {
  const seen: HttpRequest[] = []
  const fallen = new AbortController()
  const fence = { check: (): void => fallen.signal.throwIfAborted(), signal: fallen.signal }
  const open = Promise.withResolvers<HttpResponse>()
  const transport = (request: HttpRequest): Promise<HttpResponse> => {
    seen.push(request)
    request.signal?.addEventListener('abort', () => open.reject(request.signal?.reason))
    return request.method === 'PATCH' ? open.promise : Promise.resolve(answer(200, {}))
  }
  const api = new Api({ transport }).fenced(fence)
  await api.get(TARGET)
  await api.bound(new AbortController()).update(TARGET, {}, {}, new AbortController().signal)
  assert.deepEqual(seen.map((request) => typeof request.beforeSend), ['undefined', 'function'])
  seen[1]!.beforeSend!()
  const writing = api.patch(TARGET, 'merge', {}, {})
  fallen.abort(new Error('the lease is lost'))
  await assert.rejects(writing, /^Error: the lease is lost$/)
  assert.throws(() => seen[1]!.beforeSend!(), /^Error: the lease is lost$/)
  await assert.rejects(api.delete(TARGET, {}), /^Error: the lease is lost$/)
  await api.get(TARGET)
  assert.deepEqual(seen.map(({ method }) => method), ['GET', 'PUT', 'PATCH', 'GET'])
})

test('a fence is notified of every write and its end: unsent, answered or unknown', async () => {
  const ends: string[] = []
  const standing = new AbortController()
  const fence: Fence = {
    check: () => standing.signal.throwIfAborted(),
    signal: standing.signal,
    opened: () => (end) => void ends.push(end),
  }
  const through = (answerIt: (request: HttpRequest) => Promise<HttpResponse>): Api =>
    new Api({
      transport: (request) => {
        request.beforeSend?.()
        return answerIt(request)
      },
    }).fenced(fence)
  await through(() => Promise.resolve(answer(200, {}))).get(TARGET)
  assert.deepEqual(ends, [])
  await through(() => Promise.resolve(answer(200, {}))).update(TARGET, {}, {})
  await assert.rejects(through(() => Promise.resolve(answer(409, { reason: 'Conflict' }))).update(TARGET, {}, {}))
  for (const code of [500, 504]) {
    await assert.rejects(through(() => Promise.resolve(answer(code, { reason: 'Timeout' }))).update(TARGET, {}, {}))
  }
  await assert.rejects(through(() => Promise.reject(new Error('reset'))).update(TARGET, {}, {}))
  await assert.rejects(
    new Api({ transport: () => Promise.reject(new Error('refused')) }).fenced(fence).update(TARGET, {}, {}),
  )
  const falls = through(() => Promise.resolve(answer(200, {})))
  standing.abort(new Error('the lease is lost'))
  await assert.rejects(falls.update(TARGET, {}, {}))
  assert.deepEqual(ends, ['answered', 'answered', 'unknown', 'unknown', 'unknown', 'unsent'])
})

test('discovery finds the kinds with the verbs, each group once, and skips groups that are not available', async () => {
  const server = serve()
  let [open, most] = [0, 0]
  const transport: Transport = async (request) => {
    most = Math.max(most, ++open)
    const response = await server(request)
    open--
    return response
  }
  const signal = new AbortController().signal
  const kinds = await discoverKinds(new Api({ transport }), ['list', 'watch', 'delete'], signal)
  assert.ok(most > 10, `${most} requests at once`)
  const found = kinds.find(({ kind }) => kind === 'ConfigMap')
  assert.deepEqual(found, CONFIG_MAP)
  assert.equal(kinds.find(({ kind }) => kind === 'Namespace')?.scope, 'Cluster')
  assert.ok(kinds.every(({ plural }) => !plural.includes('/')))
  assert.equal(new Set(kinds.map(({ group, plural }) => `${group}/${plural}`)).size, kinds.length)

  const groups = {
    groups: ['up.dev/v1', 'down.dev/v1', 'gone.dev/v1'].map((groupVersion) => ({
      preferredVersion: { groupVersion },
      versions: [{ groupVersion }],
    })),
  }
  const api = (down: HttpResponse): Api =>
    new Api({
      transport: ({ path }) =>
        Promise.resolve(
          path === '/apis'
            ? answer(200, groups)
            : path === '/apis/down.dev/v1'
            ? down
            : path === '/apis/gone.dev/v1'
            ? answer(404, '404 page not found')
            : answer(200, {
              resources: [{ name: 'foos', kind: 'Foo', namespaced: true, verbs: ['list'] }, {
                name: 'bars',
                kind: 'Bar',
                namespaced: false,
                verbs: null,
              }],
            }),
        ),
    })
  assert.deepEqual(
    (await discoverKinds(api(refusal(503, 'ServiceUnavailable')), ['list'], signal)).map(({ group }) => group),
    ['', 'up.dev'],
  )
  assert.deepEqual(await discoverKinds(api(refusal(503, 'ServiceUnavailable')), ['list', 'watch'], signal), [])
  await assert.rejects(
    discoverKinds(api(refusal(403, 'Forbidden')), ['list'], signal),
    /Cannot list the kinds of down\.dev\/v1/,
  )
})
