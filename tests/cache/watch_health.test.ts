import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, NetworkError } from '../../lib/core/errors.ts'
import type { AnyResource } from '../../lib/core/resource.ts'
import { WatchHealth } from '../../lib/cache/watch_health.ts'
import { keptLog, POD } from './scripted_server.ts'

const api = (code: number, reason: string): ApiError =>
  new ApiError(`Cannot list pods: ${reason}`, { reason, code }, { code })
const cut = new NetworkError('cut', { phase: 'body' })

function health(resource: AnyResource = POD, optional = false) {
  const { lines, log } = keptLog()
  return { health: new WatchHealth(resource, log, { optional }), took: () => lines.splice(0) }
}

test('what a person must mend is a warning at once, and once, with what to do', () => {
  const { health: h, took } = health()
  for (let i = 0; i < 3; i++) h.failed(api(403, 'Forbidden'), 800, true)
  assert.deepEqual(took(), [
    "warn Cannot list pods: Forbidden (the operator's role needs list and watch on pods); next try in 800 ms",
    'debug Cannot list pods: Forbidden; next try in 800 ms',
    'debug Cannot list pods: Forbidden; next try in 800 ms',
  ])
})

test('a kind that is not served says how to get it', () => {
  const known = health()
  known.health.failed(api(404, 'NotFound'), 800, false)
  assert.match(
    known.took()[0] ?? '',
    /^warn Cannot watch pods: the server does not serve v1 of it \(is its API enabled there\?\)/,
  )
  const own = health({ ...POD, group: 'example.dev', definition: { crd: {} as never, validate: () => [] } })
  own.health.failed(api(404, 'NotFound'), 800, false)
  assert.match(
    own.took()[0] ?? '',
    /^warn Cannot watch pods.example.dev: .*install its CustomResourceDefinition, or set crds: 'install'/,
  )
  const foreign = health({ ...POD, group: 'example.dev', definition: { crd: {} as never, validate: () => [] } }, true)
  foreign.health.failed(api(404, 'NotFound'), 800, false)
  assert.match(
    foreign.took()[0] ?? '',
    /\(install its CustomResourceDefinition\); next try/,
    'the operator does not install what it can do without',
  )
})

test('a kind of ours that is no longer served says that its definition is gone, and how to get it back', () => {
  const resource = { ...POD, group: 'example.dev', definition: { crd: {} as never, validate: () => [] } }
  const gone = 'warn Cannot watch pods.example.dev: the server no longer serves v1 of it, so its ' +
    'CustomResourceDefinition was deleted, with its objects, or changed; install it again'
  const restart = ", or restart the operator with crds: 'install'"
  const synced = health(resource)
  synced.health.failed(api(404, 'NotFound'), 800, true)
  assert.deepEqual(synced.took(), [`${gone}${restart}; next try in 800 ms`])
  const watched = health(resource)
  watched.health.recovered()
  watched.health.failed(api(404, 'NotFound'), 800, false)
  assert.deepEqual(watched.took(), [`${gone}${restart}; next try in 800 ms`])
  const foreign = health(resource, true)
  foreign.health.failed(api(404, 'NotFound'), 800, true)
  assert.deepEqual(foreign.took(), [`${gone}; next try in 800 ms`])
})

test('what mends itself is mentioned when it happens again, or when somebody waits for the first list', () => {
  const { health: h, took } = health()
  h.failed(cut, 800, true)
  assert.deepEqual(took(), ['debug cut; next try in 800 ms'])
  h.recovered()
  assert.deepEqual(took(), [])
  h.failed(cut, 800, true)
  h.failed(cut, 1600, true)
  h.recovered()
  assert.deepEqual(took(), [
    'debug cut; next try in 800 ms',
    'warn Cannot watch pods: cut; next try in 1.6 s',
    'info Watching pods again',
  ])
  h.failed(api(503, 'ServiceUnavailable'), 800, false)
  assert.match(took()[0] ?? '', /^warn/)
})

test('a version that expired is daily life, also before the first list, and by its older name', () => {
  for (const reason of ['Expired', 'Gone']) {
    for (const synced of [true, false]) {
      const { health: h, took } = health()
      h.failed(api(410, reason), 800, synced)
      h.recovered()
      assert.deepEqual(took(), [`debug Cannot list pods: ${reason}; next try in 800 ms`])
    }
  }
})

test('a busy server mends itself, and nothing else that it answers', () => {
  for (
    const [code, level] of [
      [429, 'debug'],
      [500, 'debug'],
      [504, 'debug'],
      [400, 'warn'],
      [401, 'warn'],
      [409, 'warn'],
      [499, 'warn'],
    ] as const
  ) {
    const { health: h, took } = health()
    h.failed(api(code, 'Some'), 800, true)
    assert.equal(took()[0]?.split(' ', 1)[0], level, String(code))
  }
})

test('of answers with different codes each is announced', () => {
  const { health: h, took } = health()
  for (const code of [403, 403, 404, 403]) h.failed(api(code, code === 403 ? 'Forbidden' : 'NotFound'), 800, true)
  assert.deepEqual(took().map((line) => line.split(' ', 1)[0]), ['warn', 'debug', 'warn', 'warn'])
})

test('what was announced is taken back once, and announced anew', () => {
  const { health: h, took } = health()
  for (let i = 0; i < 2; i++) {
    h.failed(api(403, 'Forbidden'), 800, true)
    h.recovered()
    h.recovered()
    assert.deepEqual(took().map((line) => line.split(' ', 1)[0]), ['warn', 'info'])
  }
})

test('the cause of a failure is a field of the line', () => {
  const fields: unknown[] = []
  const { log } = keptLog()
  const h = new WatchHealth(POD, { ...log, warn: (_, more) => void fields.push(more) })
  const cause = new Error('ECONNRESET')
  h.failed(new TypeError('garbled', { cause }), 800, true)
  h.failed(api(403, 'Forbidden'), 800, true)
  assert.deepEqual(fields, [{ cause }, {}])
})

test('another kind of failure is announced, although one was', () => {
  const { health: h, took } = health()
  h.failed(cut, 800, false)
  h.failed(api(401, 'Unauthorized'), 1600, false)
  assert.deepEqual(took().map((line) => line.slice(0, 29)), [
    'warn Cannot watch pods: cut; ',
    'warn Cannot list pods: Unauth',
  ])
  assert.ok(h.failure instanceof ApiError)
})

test('anything can be thrown', () => {
  const { health: h, took } = health()
  h.failed(undefined, 800, true)
  h.failed('text', 800, true)
  assert.deepEqual(took(), ['warn undefined; next try in 800 ms', 'warn text; next try in 800 ms'])
  h.recovered()
  assert.deepEqual(took(), ['info Watching pods again'])
})

test('the first success after a failed first list is not "again"', () => {
  const { health: h, took } = health()
  h.failed(api(403, 'Forbidden'), 800, false)
  h.recovered()
  h.failed(api(403, 'Forbidden'), 800, true)
  h.recovered()
  assert.deepEqual(took().filter((line) => line.startsWith('info')), [
    'info Watching pods',
    'info Watching pods again',
  ])
})

test('an error that says already what cannot be watched is not said twice', () => {
  const { health: h, took } = health()
  h.failed(new NetworkError('Cannot watch pods: nothing was heard for 30 s', { phase: 'body' }), 800, false)
  assert.deepEqual(took(), ['warn Cannot watch pods: nothing was heard for 30 s; next try in 800 ms'])
})

test('a refusal by RBAC is said with the whole rule that watching needs', () => {
  const { health: h, took } = health()
  const rule = (verbs: string): string =>
    `Cannot list pods: pods is forbidden; its role lacks { apiGroups: [""], resources: ["pods"], verbs: [${verbs}] }`
  h.failed(new ApiError(rule('"list"'), { code: 403 }, { code: 403 }), 800, false)
  assert.deepEqual(took(), [`warn ${rule('"list", "watch"')}; next try in 800 ms`])
})

test('a kind of another cluster is said with that', () => {
  const { lines, log } = keptLog()
  const h = new WatchHealth(POD, log, { cluster: 'west' })
  const refused = new NetworkError('Cannot connect to cluster "west" (10.0.0.1:6443): connection refused', {
    phase: 'connect',
  })
  h.failed(refused, 800, false)
  h.recovered()
  h.failed(api(404, 'NotFound'), 800, false)
  assert.deepEqual(lines, [
    'warn Cannot watch pods in cluster "west": cannot connect to cluster "west" (10.0.0.1:6443): connection refused; next try in 800 ms',
    'info Watching pods in cluster "west"',
    'warn Cannot watch pods in cluster "west": the server does not serve v1 of it (is its API enabled there?); next try in 800 ms',
  ])
})
