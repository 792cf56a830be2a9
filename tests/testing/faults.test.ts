/** Which requests a fault meets, and what it does to one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AnyResource, type HttpRequest, NetworkError } from 'kubeloop'
import { FakeClock, type Fault } from 'kubeloop/testing'
import { makeFaults } from '../../lib/testing/faults.ts'

const POD: AnyResource = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', scope: 'Namespaced' }
const DEPLOYMENT: AnyResource = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  scope: 'Namespaced',
}
const NAMESPACE: AnyResource = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', scope: 'Cluster' }

/** A server that answers everything with this status, and what became of its answers. */
function faulty(status = 200) {
  const clock = new FakeClock()
  const faults = makeFaults(clock, ['west'])
  const asked: string[] = []
  let cancelled = 0
  const transport = faults.around(async ({ method, path }) => {
    asked.push(`${method} ${path}`)
    return {
      status,
      headers: {},
      body: { text: async () => '', cancel: () => void cancelled++, async *[Symbol.asyncIterator]() {} },
    }
  }, null)
  return { clock, faults, asked, transport, cancelled: () => cancelled }
}

const meets: readonly [Omit<Fault, 'status'>, HttpRequest['method'], string, boolean][] = [
  [{}, 'GET', '/api/v1/pods', true],
  [{ verb: 'list' }, 'GET', '/api/v1/pods?limit=1', true],
  [{ verb: 'list' }, 'GET', '/api/v1/pods?watch=true', false],
  [{ verb: 'watch' }, 'GET', '/api/v1/namespaces/a/pods?watch=true', true],
  [{ verb: 'watch' }, 'GET', '/api/v1/pods', false],
  [{ verb: 'get' }, 'GET', '/apis/apps/v1/namespaces/a/deployments/b', true],
  [{ verb: 'get' }, 'GET', '/apis/apps/v1/namespaces/a/deployments', false],
  [{ verb: 'get' }, 'GET', '/api/v1/namespaces/a', true],
  [{ verb: 'list' }, 'GET', '/api/v1/namespaces', true],
  [{ verb: 'create' }, 'POST', '/api/v1/namespaces/a/pods', true],
  [{ verb: 'update' }, 'PUT', '/api/v1/namespaces/a/status', true],
  [{ verb: 'patch' }, 'PATCH', '/api/v1/namespaces/a/pods/b/status', true],
  [{ verb: 'patch' }, 'PUT', '/api/v1/namespaces/a/pods/b', false],
  [{ verb: 'delete' }, 'DELETE', '/api/v1/namespaces/a/pods/b', true],
  [{ verb: 'delete' }, 'DELETE', '/api/v1/namespaces/a/pods', false],
  [{ verb: 'deletecollection' }, 'DELETE', '/api/v1/namespaces/a/pods', true],
  [{ resource: POD }, 'GET', '/api/v1/namespaces/a/pods/b', true],
  [{ resource: POD }, 'GET', '/api/v1/namespaces/a/services/b', false],
  [{ resource: POD }, 'GET', '/apis/metrics.k8s.io/v1beta1/namespaces/a/pods/b', false],
  [{ resource: DEPLOYMENT }, 'GET', '/apis/apps/v1/deployments', true],
  [{ resource: DEPLOYMENT }, 'GET', '/apis/extensions/v1beta1/deployments', false],
  [{ resource: NAMESPACE }, 'PUT', '/api/v1/namespaces/a/finalize', true],
  [{ resource: NAMESPACE }, 'GET', '/api/v1/namespaces/a', true],
  [{ resource: NAMESPACE }, 'GET', '/api/v1/namespaces/a/pods', false],
  [{ cluster: null }, 'GET', '/api/v1/pods', true],
  [{ cluster: 'west' }, 'GET', '/api/v1/pods', false],
]

for (const [fault, method, path, isMet] of meets) {
  const what = JSON.stringify({ ...fault, ...(fault.resource ? { resource: fault.resource.kind } : {}) })
  test(`${what} ${isMet ? 'meets' : 'leaves'} ${method} ${path}`, async () => {
    const { faults, transport } = faulty()
    faults.add({ ...fault, status: 418 })
    assert.equal((await transport({ method, path })).status, isMet ? 418 : 200)
  })
}

test('a fault meets as many requests as it says, the oldest fault first', async () => {
  const { faults, transport } = faulty()
  faults.add({ status: 500, times: 2 })
  faults.add({ status: 503 })
  faults.add({ verb: 'create', status: 409, times: Infinity })
  const statuses: number[] = []
  for (let i = 0; i < 5; i++) statuses.push((await transport({ method: 'GET', path: '/api/v1/pods' })).status)
  for (let i = 0; i < 5; i++) {
    statuses.push((await transport({ method: 'POST', path: '/api/v1/namespaces/a/pods' })).status)
  }
  assert.deepEqual(statuses, [500, 500, 503, 200, 200, 409, 409, 409, 409, 409])
})

test('a watch that the server refuses is cut before its answer, which is given up', async () => {
  const { faults, transport, asked, cancelled } = faulty(410)
  faults.add({ cut: true })
  await assert.rejects(
    transport({ method: 'GET', path: '/api/v1/pods?watch=true' }),
    (error) => error instanceof NetworkError && error.phase === 'response',
  )
  assert.deepEqual([asked, cancelled()], [['GET /api/v1/pods?watch=true'], 1])
})

test('a watch that is accepted breaks off however it is read', async () => {
  const { faults, transport, cancelled } = faulty()
  faults.add({ cut: true, times: 2 })
  const broken = (error: unknown): boolean =>
    error instanceof NetworkError && error.phase === 'body' && error.code === 'ECONNRESET'
  const request: HttpRequest = { method: 'GET', path: '/api/v1/pods?watch=true' }
  await assert.rejects((await transport(request)).body.text(), broken)
  await assert.rejects((await transport(request)).body[Symbol.asyncIterator]().next(), broken)
  assert.equal(cancelled(), 2)
})

test('a request that is aborted in its delay ends with the reason, and is not counted any more', async () => {
  const { faults, transport, asked, clock } = faulty()
  faults.add({ delay: '5s' })
  const abort = new AbortController()
  const request = transport({ method: 'GET', path: '/api/v1/pods', signal: abort.signal })
  assert.equal(faults.delayed, 1)
  abort.abort(new Error('too slow'))
  await assert.rejects(request, /too slow/)
  assert.deepEqual([faults.delayed, asked, clock.pending], [0, [], 0])
})
