/** Tests of guarantees beyond those of a real server: determinism, saved state, bookmarks by the clock. */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { ApiServer, type ApiServerOptions } from '../../lib/apiserver/mod.ts'
import { lineBatches } from '../../lib/async/lines.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { keptLog } from '../cache/scripted_server.ts'
import { type Body, must, send } from './requests.ts'
import { CRDS, definitionOf } from '../tools/definitions.ts'

const MAPS = '/api/v1/namespaces/default/configmaps'

function counting(): () => number {
  let next = 0
  return () => (next = (next + 0.137) % 1)
}

const map = (name: string): unknown => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { k: 'v' } })

test('equal requests with equal clocks get equal responses', async () => {
  const run = async (): Promise<unknown> => {
    const server = new ApiServer({ clock: new FakeClock(), random: counting() })
    return [await must(server, 'POST', MAPS, map('a')), await must(server, 'GET', MAPS)]
  }
  assert.deepEqual(await run(), await run())
})

test('timestamps come from the clock', async () => {
  const server = new ApiServer({ clock: new FakeClock({ nowMs: Date.UTC(2030, 5, 1, 12) }) })
  const { metadata } = await must(server, 'POST', MAPS, map('a'))
  assert.equal(metadata.creationTimestamp, '2030-06-01T12:00:00Z')
})

test('a later apply of what the server writes in another form, or completes in an atomic list, changes nothing', async () => {
  const clock = new FakeClock()
  const server = new ApiServer({ clock })
  const container = { name: 'c', image: 'i', resources: { limits: { cpu: '1000m' } } }
  const objects = [
    ['/api/v1/namespaces/default/pods', { apiVersion: 'v1', kind: 'Pod', spec: { containers: [container] } }],
    ['/apis/networking.k8s.io/v1/namespaces/default/networkpolicies', {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      spec: { podSelector: {}, ingress: [{ ports: [{ port: 80 }] }] },
    }],
  ] as const
  for (const [path, object] of objects) {
    const headers = { 'content-type': 'application/apply-patch+yaml' }
    const body = { ...object, metadata: { name: 'a' } }
    const apply = async () => (await send(server, 'PATCH', `${path}/a?fieldManager=m`, body, { headers })).body
    const first = await apply()
    await clock.advance(5000)
    assert.deepEqual(await apply(), first)
  }
})

test('managers of one second are in the order of operation and name', async () => {
  const server = new ApiServer({ clock: new FakeClock() })
  await must(server, 'POST', `${MAPS}?fieldManager=c`, map('a'))
  for (const manager of ['b', 'a']) {
    await must(server, 'PATCH', `${MAPS}/a?fieldManager=${manager}`, { data: { [manager]: 'v' } })
  }
  const headers = { 'content-type': 'application/apply-patch+yaml' }
  const { body } = await send(server, 'PATCH', `${MAPS}/a?fieldManager=d`, { ...map('a') as Body, data: { d: 'v' } }, {
    headers,
  })
  const names = body.metadata.managedFields.map(({ manager }: Body) => manager)
  assert.deepEqual(names, ['d', 'a', 'b', 'c'])
})

test('a deleted namespace takes its Jobs with it, although a deletion of one alone keeps its pods', async () => {
  const server = new ApiServer({ clock: new FakeClock() })
  const metadata = { name: 'n' }
  await must(server, 'POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata })
  const template = { spec: { containers: [{ name: 'c', image: 'i' }], restartPolicy: 'Never' } }
  const job = { apiVersion: 'batch/v1', kind: 'Job', metadata, spec: { template } }
  await must(server, 'POST', '/apis/batch/v1/namespaces/n/jobs', job)
  await must(server, 'DELETE', '/api/v1/namespaces/n')
  assert.equal((await send(server, 'GET', '/api/v1/namespaces/n')).status, 404)
})

test('a saved state restores objects, uids, versions and custom kinds', async () => {
  const before = new ApiServer({ clock: new FakeClock() })
  await send(before, 'POST', MAPS, map('a'))
  await must(before, 'POST', CRDS, definitionOf())
  await must(before, 'POST', '/apis/example.com/v1/foos', {
    apiVersion: 'example.com/v1',
    kind: 'Foo',
    metadata: { name: 'f' },
  })
  const state = JSON.parse(JSON.stringify(before.save())) as ReturnType<ApiServer['save']>
  const after = new ApiServer({ clock: new FakeClock(), state })
  for (const path of [MAPS, '/apis/example.com/v1/foos', CRDS, '/api/v1/namespaces']) {
    assert.deepEqual(await must(after, 'GET', path), await must(before, 'GET', path), path)
  }
  const { metadata } = await must(after, 'POST', MAPS, map('b'))
  assert.equal(Number(metadata.resourceVersion), state.store.revision + 1)
})

test('a server that is set back to a saved state has its objects and kinds, and watches of before get 410', async () => {
  const server = new ApiServer({ clock: new FakeClock() })
  const names = async (path: string): Promise<unknown> => {
    const { status, body } = await send(server, 'GET', path)
    return status === 200 ? body.items.map(({ metadata }: Body) => metadata.name) : status
  }
  await send(server, 'POST', MAPS, map('a'))
  await must(server, 'POST', CRDS, definitionOf())
  const state = server.save()
  await send(server, 'DELETE', `${MAPS}/a`)
  await send(server, 'POST', MAPS, map('b'))
  await send(server, 'DELETE', `${CRDS}/foos.example.com`)
  const later = server.save()
  const open = await server.handle({ method: 'GET', path: `${MAPS}?watch=true` })
  server.restore(state)
  assert.doesNotMatch(await open.body.text(), /DELETED/)
  assert.deepEqual([await names(MAPS), await names('/apis/example.com/v1/foos')], [['a'], []])
  for (const { store } of [state, later]) {
    const path = `${MAPS}?watch=true&resourceVersion=${store.revision}`
    assert.match(await (await server.handle({ method: 'GET', path })).body.text(), /"code":410/)
  }
  const { metadata } = await must(server, 'POST', MAPS, map('c'))
  assert.ok(Number(metadata.resourceVersion) > later.store.revision)
  server.restore(later)
  assert.deepEqual([await names(MAPS), await names('/apis/example.com/v1/foos')], [['b'], 404])
})

test('a state with an unknown format is refused, and nothing is changed', async () => {
  const server = new ApiServer({ clock: new FakeClock() })
  await send(server, 'POST', MAPS, map('a'))
  for (const restore of [(state: never) => new ApiServer({ state }), (state: never) => server.restore(state)]) {
    assert.throws(
      () => restore({ format: 'other' } as never),
      /Cannot restore the API server: the format of the saved state is "other"/,
    )
  }
  assert.equal((await server.handle({ method: 'GET', path: `${MAPS}/a` })).status, 200)
})

test('a watch from before a restart gets 410', async () => {
  const before = new ApiServer({ clock: new FakeClock() })
  await send(before, 'POST', MAPS, map('a'))
  const after = new ApiServer({ clock: new FakeClock(), state: before.save() })
  const response = await after.handle({ method: 'GET', path: `${MAPS}?watch=true&resourceVersion=1` })
  assert.match(await response.body.text(), /^\{"type":"ERROR","object":\{.*"code":410\}\}\n$/)
})

test('a watch without a timeout ends after 30 to 60 minutes, at random', async () => {
  for (const [random, minutes] of [[0, 30], [0.5, 45]] as const) {
    const clock = new FakeClock()
    const server = new ApiServer({ clock, random: () => random })
    await server.handle({ method: 'GET', path: `${MAPS}?watch=true` })
    await clock.advance(minutes * 60_000 - 1)
    assert.equal(server.watches, 1)
    await clock.advance(1)
    assert.equal(server.watches, 0)
  }
})

test('a watch that allows bookmarks gets one per minute, and ends at its timeout', async () => {
  const clock = new FakeClock()
  const server = new ApiServer({ clock })
  const response = await server.handle({
    method: 'GET',
    path: `${MAPS}?watch=true&allowWatchBookmarks=true&timeoutSeconds=150`,
  })
  const lines = lineBatches(response.body)
  await clock.advance(60_000)
  assert.match(
    (await lines.next()).value![0]!,
    /^\{"type":"BOOKMARK","object":\{"apiVersion":"v1","kind":"ConfigMap","metadata":\{"resourceVersion":"\d+"/,
  )
  await clock.advance(90_000)
  assert.match((await lines.next()).value![0]!, /"BOOKMARK"/)
  assert.equal((await lines.next()).done, true)
  assert.equal(server.watches, 0)
  assert.equal(clock.pending, 0)
})

test('an aborted request is not executed', async () => {
  const server = new ApiServer({ clock: new FakeClock() })
  const signal = AbortSignal.abort(new Error('too late'))
  await assert.rejects(server.handle({ method: 'DELETE', path: '/api/v1/namespaces/default', signal }), /too late/)
  assert.equal((await send(server, 'GET', '/api/v1/namespaces/default')).status, 200)
})

test('a request whose beforeSend throws is not executed', async () => {
  const server = new ApiServer({ clock: new FakeClock() })
  const beforeSend = (): void => {
    throw new Error('fenced')
  }
  await assert.rejects(server.handle({ method: 'DELETE', path: '/api/v1/namespaces/default', beforeSend }), /fenced/)
  assert.equal((await send(server, 'GET', '/api/v1/namespaces/default')).status, 200)
})

test('a failure of the server is a 500, and logged', async () => {
  const { lines, log } = keptLog()
  const broken = () => {
    throw new Error('broken')
  }
  const { status } = await send(new ApiServer({ keepsStated: broken, log }), 'POST', MAPS, map('a') as Body)
  assert.deepEqual([status, lines], [500, ['error The API server failed to handle a request']])
})

test('a key named __proto__ is stored like any other', async () => {
  const server = new ApiServer({ clock: new FakeClock() })
  const body = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"__proto__":"x"}}'
  assert.match(JSON.stringify(await must(server, 'POST', MAPS, body)), /"data":\{"__proto__":"x"\}/)
  assert.equal(({} as Record<string, unknown>)['x'], undefined)
})

test('definitions of two groups may have the same names', async () => {
  const server = new ApiServer()
  for (const group of ['a.dev', 'b.dev']) {
    await must(server, 'POST', CRDS, definitionOf({ kind: 'Thing', group }))
    assert.equal((await send(server, 'GET', `/apis/${group}/v1/things`)).status, 200)
  }
})

test('a watch ends when its definition changes, and the next one uses the new one', async () => {
  const server = new ApiServer({ clock: new FakeClock() })
  const crd = (properties: object): Body =>
    definitionOf({ scope: 'Namespaced', properties: { spec: { type: 'object', properties } } })
  const foos = '/apis/example.com/v1/namespaces/default/foos'
  await must(server, 'POST', CRDS, crd({ a: { type: 'string' } }))
  const first = await server.handle({ method: 'GET', path: `${foos}?watch=true` })
  const { spec } = crd({ b: { type: 'array', items: { type: 'string' }, default: [] } })
  await must(server, 'PUT', `${CRDS}/foos.example.com`, {
    ...await must(server, 'GET', `${CRDS}/foos.example.com`),
    spec,
  })
  assert.equal(await first.body.text(), '')
  const watch = await server.handle({ method: 'GET', path: `${foos}?watch=true` })
  const batches = lineBatches(watch.body)
  await send(server, 'POST', foos, { apiVersion: 'example.com/v1', kind: 'Foo', metadata: { name: 'a' }, spec: {} })
  const { value } = await batches.next()
  assert.deepEqual((JSON.parse((value as string[])[0]!) as { object: { spec: unknown } }).object.spec, { b: [] })
  server.closeWatches()
})

test('a followed log is given up with its request', async () => {
  let signal: AbortSignal | undefined
  const podLog: NonNullable<ApiServerOptions['podLog']> = (_pod, _container, follow) => (signal = follow?.signal, [])
  const server = new ApiServer({ podLog })
  const pods = '/api/v1/namespaces/default/pods'
  const [container, state] = [{ name: 'c', image: 'i' }, { running: {} }]
  await must(server, 'POST', pods, { metadata: { name: 'p' }, spec: { nodeName: 'n', containers: [container] } })
  const status = { containerStatuses: [{ ...container, imageID: 'i', ready: true, restartCount: 0, state }] }
  await must(server, 'PATCH', `${pods}/p/status`, { status })
  const { body } = await server.handle({ method: 'GET', path: `${pods}/p/log?follow=true` })
  assert.equal(signal?.aborted, false)
  body.cancel()
  assert.equal(signal?.aborted, true)
})
