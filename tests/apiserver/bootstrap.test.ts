/** The objects of a new cluster. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer, type ApiServerOptions } from '../../lib/apiserver/mod.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { type Body, must } from './requests.ts'

async function names(server: ApiServer, path: string): Promise<string[]> {
  return (await must(server, 'GET', path)).items.map(({ metadata }: Body) => metadata.name)
}

const start = (options: ApiServerOptions = {}): ApiServer => new ApiServer({ clock: new FakeClock(), ...options })

test('a new server has only its namespaces; with bootstrap, also the other objects of a real one', async () => {
  const plain = start()
  for (const path of ['/api/v1/services', '/apis/rbac.authorization.k8s.io/v1/clusterroles']) {
    assert.deepEqual(await names(plain, path), [])
  }
  const full = start({ bootstrap: true })
  // Two first requests create the objects once.
  const [services, roles] = await Promise.all([
    names(full, '/api/v1/services'),
    names(full, '/apis/rbac.authorization.k8s.io/v1/clusterroles'),
  ])
  assert.deepEqual(services, ['kubernetes'])
  assert.equal(roles.length, 69)
  assert.deepEqual(['admin', 'cluster-admin', 'edit', 'view'].filter((name) => !roles.includes(name)), [])
  assert.deepEqual(await names(full, '/apis/scheduling.k8s.io/v1/priorityclasses'), [
    'system-cluster-critical',
    'system-node-critical',
  ])
  assert.equal((await names(full, '/apis/apiregistration.k8s.io/v1/apiservices')).length, 21)
  assert.deepEqual(await names(full, '/apis/networking.k8s.io/v1/servicecidrs'), ['kubernetes'])
})

test('aggregated roles have the rules of the roles that they collect', async () => {
  const server = start({ bootstrap: true })
  const rulesOf = async (name: string): Promise<{ verbs: string[]; resources?: string[] }[]> =>
    (await must(server, 'GET', `/apis/rbac.authorization.k8s.io/v1/clusterroles/${name}`)).rules
  const reads = (each: { verbs: string[]; resources?: string[] }): boolean =>
    each.verbs.includes('get') && !!each.resources?.includes('configmaps')
  for (const name of ['view', 'edit', 'admin']) assert.ok((await rulesOf(name)).some(reads), name)
})

test('a request is not refused before the roles that allow it are there', async () => {
  const server = start({ bootstrap: true })
  const asking = (
    user: string,
  ) => ({ method: 'GET', path: '/api/v1/nodes', headers: { 'impersonate-user': user } } as const)
  const scheduler = asking('system:kube-scheduler')
  assert.equal(server.refuse(scheduler), undefined)
  assert.equal((await server.handle(scheduler)).status, 200)
  assert.deepEqual([server.refuse(scheduler), server.refuse(asking('jane'))?.status], [undefined, 403])
})

test('a restored server has the saved objects and no new ones', async () => {
  const full = start({ bootstrap: true })
  await full.handle({ method: 'DELETE', path: '/apis/rbac.authorization.k8s.io/v1/clusterroles/view' })
  const restored = start({ bootstrap: true, state: full.save() })
  const roles = await names(restored, '/apis/rbac.authorization.k8s.io/v1/clusterroles')
  assert.equal(roles.length, 68)
  assert.ok(!roles.includes('view'))
})
