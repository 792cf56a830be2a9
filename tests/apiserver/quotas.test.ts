/** The status of ResourceQuotas, which the servers of the conformance suite do not keep: it has no controllers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import { type Body, type Method, must } from './requests.ts'

test('the status of a quota follows its spec, and the objects of its namespace', async () => {
  const server = new ApiServer()
  const send = (method: Method, path: string, body?: Body) =>
    must(server, method, `/api/v1/namespaces/default/${path}`, body)
  const status = async (): Promise<Body> => (await send('GET', 'resourcequotas/q')).status
  const resources = { requests: { cpu: '300m', memory: '1Gi' } }
  const pod = (name: string): Body => ({
    metadata: { name },
    spec: { containers: [{ name: 'c', image: 'i', resources }] },
  })
  await send('POST', 'pods', pod('a'))
  const hard = { pods: '2', cpu: '1', configmaps: '5' }
  const created = await send('POST', 'resourcequotas', { metadata: { name: 'q' }, spec: { hard } })
  assert.deepEqual(created.status, { hard, used: { pods: '1', cpu: '300m', configmaps: '0' } })
  await send('POST', 'pods', pod('b'))
  await send('POST', 'configmaps', { metadata: { name: 'c' } })
  assert.deepEqual((await status()).used, { pods: '2', cpu: '600m', configmaps: '1' })
  await send('PATCH', 'pods/b/status', { status: { phase: 'Succeeded' } })
  await send('DELETE', 'configmaps/c')
  assert.deepEqual((await status()).used, { pods: '1', cpu: '300m', configmaps: '0' })
  await send('PATCH', 'resourcequotas/q', { spec: { hard: { cpu: null, 'requests.memory': '3Gi', configmaps: '6' } } })
  const changed = { pods: '2', configmaps: '6', 'requests.memory': '3Gi' }
  assert.deepEqual(await status(), { hard: changed, used: { pods: '1', configmaps: '0', 'requests.memory': '1Gi' } })
  await send('POST', 'resourcequotas', {
    metadata: { name: 'scoped' },
    spec: { hard: { pods: '0' }, scopes: ['BestEffort'] },
  })
  await send('POST', 'resourcequotas', {
    metadata: { name: 'others' },
    spec: { hard: { pods: '9', 'count/configmaps': '9' }, scopes: ['NotBestEffort'] },
  })
  await send('DELETE', 'pods/b')
  await send('POST', 'pods', pod('d'))
  await send('POST', 'configmaps', { metadata: { name: 'c' } })
  assert.deepEqual((await status()).used, { pods: '2', configmaps: '1', 'requests.memory': '2Gi' })
  assert.deepEqual((await send('GET', 'resourcequotas/scoped')).status.used, { pods: '0' })
  // Only pods have this scope.
  const { used } = (await send('GET', 'resourcequotas/others')).status
  assert.deepEqual(used, { pods: '2', 'count/configmaps': '0' })
})
