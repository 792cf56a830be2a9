import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Api } from '../../lib/client/api.ts'
import { discoverKinds, readKinds } from '../../lib/client/rest_mapper.ts'
import { RestMapper } from '../../lib/client/rest_mapper.ts'
import { Cluster } from 'kubeloop'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import { CRD } from '../../lib/core/resource.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { answer, recorder, refusal } from './transports.ts'
import { definitionOf } from '../tools/definitions.ts'

const TARGET = { resource: CRD, name: 'foos.example.dev' }
const FOO = definitionOf({ group: 'example.dev', scope: 'Namespaced' })

function setup() {
  const clock = new FakeClock()
  const network = recorder(new ApiServer({ clock }).handle)
  const api = new Api({ transport: network.transport })
  return { clock, network, api, kinds: new RestMapper(api) }
}

test('a kind is found with its plural and scope, by one request per version of a group', async () => {
  const { kinds, network } = setup()
  assert.deepEqual(network.take(), []) // inert
  const found = await Promise.all([
    kinds.find({ apiVersion: 'apps/v1', kind: 'Deployment' }),
    kinds.find({ apiVersion: 'apps/v1', kind: 'DaemonSet' }),
    kinds.find({ apiVersion: 'v1', kind: 'Namespace' }),
  ])
  assert.deepEqual(found.map((kind) => kind && [kind.group, kind.version, kind.plural, kind.scope]), [
    ['apps', 'v1', 'deployments', 'Namespaced'],
    ['apps', 'v1', 'daemonsets', 'Namespaced'],
    ['', 'v1', 'namespaces', 'Cluster'],
  ])
  assert.deepEqual(network.take(), ['GET /apis/apps/v1', 'GET /api/v1'])
  await kinds.find({ apiVersion: 'apps/v1', kind: 'StatefulSet' })
  assert.deepEqual(network.take(), [])
})

test('a missing kind is requested each time, so that a new CRD is found; a removed group is forgotten', async () => {
  const { kinds, network, api, clock } = setup()
  const foo = { apiVersion: 'example.dev/v1', kind: 'Foo' }
  assert.equal(await kinds.find(foo), undefined)
  await api.create({ resource: CRD }, FOO, {})
  await clock.advance(10_000)
  network.take()
  assert.equal((await kinds.find(foo))?.plural, 'foos')
  assert.equal((await kinds.find(foo))?.plural, 'foos')
  assert.deepEqual(network.take(), ['GET /apis/example.dev/v1'])
  await api.delete(TARGET, {})
  await clock.advance(10_000)
  assert.equal(await kinds.find({ ...foo, kind: 'Bar' }), undefined) // the miss shows that the group has gone
  assert.equal(await kinds.find(foo), undefined)
})

for (const verb of ['get', 'watch'] as const) {
  test(`the kinds of a version are read again after a ${verb} of one that the server does not serve`, async () => {
    const { network, api, clock } = setup()
    const { client } = new Cluster({ name: 'test', transport: network.transport, clock })
    const define = async (scope: 'Namespaced' | 'Cluster') => {
      await api.create({ resource: CRD }, definitionOf({ group: 'example.dev', scope }), {})
      await clock.advance(10_000)
    }
    const find = async () => {
      await client.kindOf({ apiVersion: 'apps/v1', kind: 'Deployment' })
      return await client.kindOf({ apiVersion: 'example.dev/v1', kind: 'Foo' })
    }
    await define('Namespaced')
    const old = await find()
    assert.equal(await client.get(old, { namespace: 'default', name: 'missing' } as never), undefined)
    network.take()
    assert.equal((await find()).scope, 'Namespaced')
    assert.deepEqual(network.take(), [], 'a missing object is no missing kind')
    await api.delete(TARGET, {})
    await clock.advance(10_000)
    await define('Cluster')
    const call = verb === 'get'
      ? client.get(old, { namespace: 'default', name: 'x' } as never)
      : client.watch(old, { namespace: 'default' })[Symbol.asyncIterator]().next()
    await assert.rejects(call, /does not serve this kind/)
    network.take()
    assert.equal((await find()).scope, 'Cluster')
    assert.deepEqual(network.take(), ['GET /apis/example.dev/v1'])
  })
}

test('an invalid apiVersion has no kinds, and sends no request', async () => {
  const { kinds, network, api } = setup()
  for (
    const apiVersion of [
      'v1/namespaces/kube-system/secrets/x?',
      'apps/v1/extra',
      '../v1',
      'apps/..',
      'v1?x=',
      '/v1',
      'apps/',
      '',
      'v1#',
      'a%2fb/v1',
      'Apps/v1',
    ]
  ) {
    assert.equal(await kinds.find({ apiVersion, kind: 'Deployment' }), undefined, apiVersion)
    await assert.rejects(readKinds(api, apiVersion), TypeError, apiVersion)
  }
  assert.deepEqual(network.take(), [])
  network.intercept = async (request, next) =>
    request.path === '/apis'
      ? answer(200, {
        groups: ['../v1?x=', 'apps/v1'].map((groupVersion) => ({
          preferredVersion: { groupVersion },
          versions: [{ groupVersion }],
        })),
      })
      : await next(request)
  assert.ok(
    (await discoverKinds(api, ['list'], new AbortController().signal)).some(({ kind }) => kind === 'Deployment'),
  )
  assert.deepEqual(network.take(), ['GET /apis', 'GET /api/v1', 'GET /apis/apps/v1'])
})

test('an error of the server is thrown, not taken for a missing kind', async () => {
  const { kinds, network } = setup()
  network.intercept = async () => refusal(503, 'ServiceUnavailable')
  await assert.rejects(kinds.find({ apiVersion: 'apps/v1', kind: 'Deployment' }), /list the kinds of apps\/v1/)
  network.intercept = undefined
  assert.equal((await kinds.find({ apiVersion: 'apps/v1', kind: 'Deployment' }))?.plural, 'deployments')
})
