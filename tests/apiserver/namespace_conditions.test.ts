import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { type Body, type Method, must } from './requests.ts'

const NAMESPACE = '/api/v1/namespaces/full'
const CONFIG_MAPS = `${NAMESPACE}/configmaps`

/** A server with a namespace that is being deleted, and config maps with a finalizer in it. */
async function deletedNamespace(count: number) {
  const clock = new FakeClock()
  const server = new ApiServer({ clock })
  const send = (method: Method, path: string, body?: Body) => must(server, method, path, body)
  await send('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'full' } })
  for (let i = 0; i < count; i++) {
    const metadata = { name: `map-${i}`, finalizers: ['example.com/hold'] }
    await send('POST', CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata })
  }
  await send('DELETE', NAMESPACE)
  return {
    clock,
    release: (i: number) => send('PATCH', `${CONFIG_MAPS}/map-${i}`, { metadata: { finalizers: null } }),
    conditions: async () => (await send('GET', NAMESPACE)).status.conditions as readonly Record<string, string>[],
  }
}

test('a change of a deleted namespace that waits for finalizers of others is one write', async () => {
  const server = new ApiServer({ clock: new FakeClock() })
  const metadata = { name: 'full', finalizers: ['example.com/hold'] }
  await must(server, 'POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata })
  await must(server, 'DELETE', NAMESPACE)
  const { metadata: { resourceVersion } } = await must(server, 'PATCH', NAMESPACE, { metadata: { labels: { a: 'b' } } })
  assert.equal((await must(server, 'GET', NAMESPACE)).metadata.resourceVersion, resourceVersion)
})

const remaining = (conditions: readonly Record<string, string>[]): string | undefined =>
  conditions.find((each) => each['type'] === 'NamespaceContentRemaining')?.['message']

test('the conditions of a deleted namespace count what is left, and keep their time', async () => {
  const { clock, release, conditions } = await deletedNamespace(2)
  const first = await conditions()
  assert.equal(remaining(first), 'Some resources are remaining: configmaps. has 2 resource instances')
  await clock.advance(60_000)
  await release(0)
  const second = await conditions()
  assert.equal(remaining(second), 'Some resources are remaining: configmaps. has 1 resource instances')
  assert.deepEqual(
    second.map((each) => each['lastTransitionTime']),
    first.map((each) => each['lastTransitionTime']),
  )
})

test('the conditions are updated for each removed object only when at most 100 are left', async () => {
  const { release, conditions } = await deletedNamespace(103)
  const all = 'Some resources are remaining: configmaps. has 103 resource instances'
  assert.equal(remaining(await conditions()), all)
  await release(0)
  await release(1)
  assert.equal(remaining(await conditions()), all)
  await release(2)
  assert.equal(remaining(await conditions()), 'Some resources are remaining: configmaps. has 100 resource instances')
})

// As with the namespace controller of Kubernetes 1.36, which deletes all objects with the policy Background.
test('an object that waits for its dependents goes with its namespace; finalizers of others stay', async () => {
  const server = new ApiServer({ clock: new FakeClock() })
  const send = (method: Method, path: string, body?: Body) => must(server, method, path, body)
  await send('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'full' } })
  for (const [name, finalizers] of [['a', []], ['b', ['example.com/hold']]] as const) {
    await send('POST', CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, finalizers } })
    await send('DELETE', `${CONFIG_MAPS}/${name}?propagationPolicy=Foreground`)
  }
  await send('DELETE', NAMESPACE)
  const { items } = await send('GET', CONFIG_MAPS)
  assert.deepEqual(items.map(({ metadata }: Body) => metadata.finalizers), [['example.com/hold']])
})
