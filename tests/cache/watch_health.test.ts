import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, NetworkError } from '../../lib/core/errors.ts'
import type { AnyResource } from '../../lib/core/resource.ts'
import { outageLogOf, WatchHealth } from '../../lib/cache/watch_health.ts'
import { FakeClock } from '../../lib/testing/fake_clock.ts'
import { keptLog, POD } from './scripted_server.ts'

const api = (code: number, reason: string): ApiError =>
  new ApiError(`Cannot list pods: ${reason}`, { reason, code }, { code })
const cut = new NetworkError('cut', { phase: 'body' })

function health(resource: AnyResource = POD, optional = false) {
  const { lines, log } = keptLog()
  return { health: new WatchHealth(resource, log, { optional }), recorded: () => lines.splice(0) }
}

test('a failure that needs a person is logged as a warning at once, only once, with a remedy', () => {
  const { health: h, recorded } = health()
  for (let i = 0; i < 3; i++) h.failed(api(403, 'Forbidden'), 800, true)
  assert.deepEqual(recorded(), [
    "warn Cannot list pods: Forbidden (the operator's role needs list and watch on pods); next try in 800 ms",
    'debug Cannot list pods: Forbidden; next try in 800 ms',
    'debug Cannot list pods: Forbidden; next try in 800 ms',
  ])
})

test('the warning about a kind that is not served has the remedy', () => {
  const known = health()
  known.health.failed(api(404, 'NotFound'), 800, false)
  assert.match(
    known.recorded()[0] ?? '',
    /^warn Cannot watch pods: the server does not serve v1 of it \(is its API enabled there\?\)/,
  )
  const own = health({
    ...POD,
    group: 'example.dev',
    definition: { crd: {} as never, hasRefinements: false, validate: () => [] },
  })
  own.health.failed(api(404, 'NotFound'), 800, false)
  assert.match(
    own.recorded()[0] ?? '',
    /^warn Cannot watch pods.example.dev: .*install its CustomResourceDefinition, or set crds: 'install'/,
  )
  const foreign = health({
    ...POD,
    group: 'example.dev',
    definition: { crd: {} as never, hasRefinements: false, validate: () => [] },
  }, true)
  foreign.health.failed(api(404, 'NotFound'), 800, false)
  assert.match(
    foreign.recorded()[0] ?? '',
    /\(install its CustomResourceDefinition\); next try/,
    'the operator does not install optional kinds',
  )
})

test('a kind of ours that is no longer served says that its definition is gone, and how to get it back', () => {
  const resource = {
    ...POD,
    group: 'example.dev',
    definition: { crd: {} as never, hasRefinements: false, validate: () => [] },
  }
  const gone = 'warn Cannot watch pods.example.dev: the server no longer serves v1 of it, so its ' +
    'CustomResourceDefinition was deleted, with its objects, or changed; install it again'
  const restart = ", or restart the operator with crds: 'install'"
  const synced = health(resource)
  synced.health.failed(api(404, 'NotFound'), 800, true)
  assert.deepEqual(synced.recorded(), [`${gone}${restart}; next try in 800 ms`])
  const watched = health(resource)
  watched.health.recovered()
  watched.health.failed(api(404, 'NotFound'), 800, false)
  assert.deepEqual(watched.recorded(), [`${gone}${restart}; next try in 800 ms`])
  const foreign = health(resource, true)
  foreign.health.failed(api(404, 'NotFound'), 800, true)
  assert.deepEqual(foreign.recorded(), [`${gone}; next try in 800 ms`])
})

test('a temporary failure is a warning when it repeats, or before the first list', () => {
  const { health: h, recorded } = health()
  h.failed(cut, 800, true)
  assert.deepEqual(recorded(), ['debug cut; next try in 800 ms'])
  h.recovered()
  assert.deepEqual(recorded(), [])
  h.failed(cut, 800, true)
  h.failed(cut, 1600, true)
  h.recovered()
  assert.deepEqual(recorded(), [
    'debug cut; next try in 800 ms',
    'warn Cannot watch pods: cut; next try in 1.6 s',
    'info Watching pods again',
  ])
  h.failed(api(503, 'ServiceUnavailable'), 800, false)
  assert.match(recorded()[0] ?? '', /^warn/)
})

test('an expired version is never a warning, also before the first list, and also as Gone', () => {
  for (const reason of ['Expired', 'Gone']) {
    for (const synced of [true, false]) {
      const { health: h, recorded } = health()
      h.failed(api(410, reason), 800, synced)
      h.recovered()
      assert.deepEqual(recorded(), [`debug Cannot list pods: ${reason}; next try in 800 ms`])
    }
  }
})

test('only the errors of a busy server are temporary', () => {
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
    const { health: h, recorded } = health()
    h.failed(api(code, 'Some'), 800, true)
    assert.equal(recorded()[0]?.split(' ', 1)[0], level, String(code))
  }
})

test('answers with different codes are each logged as warnings', () => {
  const { health: h, recorded } = health()
  for (const code of [403, 403, 404, 403]) h.failed(api(code, code === 403 ? 'Forbidden' : 'NotFound'), 800, true)
  assert.deepEqual(recorded().map((line) => line.split(' ', 1)[0]), ['warn', 'debug', 'warn', 'warn'])
})

test('a recovery is logged once, and the next failure is a warning again', () => {
  const { health: h, recorded } = health()
  for (let i = 0; i < 2; i++) {
    h.failed(api(403, 'Forbidden'), 800, true)
    h.recovered()
    h.recovered()
    assert.deepEqual(recorded().map((line) => line.split(' ', 1)[0]), ['warn', 'info'])
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

test('another kind of failure is a warning, also after an earlier warning', () => {
  const { health: h, recorded } = health()
  h.failed(cut, 800, false)
  h.failed(api(401, 'Unauthorized'), 1600, false)
  assert.deepEqual(recorded().map((line) => line.slice(0, 29)), [
    'warn Cannot watch pods: cut; ',
    'warn Cannot list pods: Unauth',
  ])
  assert.ok(h.failure instanceof ApiError)
})

test('any thrown value is handled', () => {
  const { health: h, recorded } = health()
  h.failed(undefined, 800, true)
  h.failed('text', 800, true)
  assert.deepEqual(recorded(), ['warn undefined; next try in 800 ms', 'warn text; next try in 800 ms'])
  h.recovered()
  assert.deepEqual(recorded(), ['info Watching pods again'])
})

test('the first success after a failed first list is not "again"', () => {
  const { health: h, recorded } = health()
  h.failed(api(403, 'Forbidden'), 800, false)
  h.recovered()
  h.failed(api(403, 'Forbidden'), 800, true)
  h.recovered()
  assert.deepEqual(recorded().filter((line) => line.startsWith('info')), [
    'info Watching pods',
    'info Watching pods again',
  ])
})

test('an error that says already what cannot be watched is not said twice', () => {
  const { health: h, recorded } = health()
  h.failed(new NetworkError('Cannot watch pods: nothing was heard for 30 s', { phase: 'body' }), 800, false)
  assert.deepEqual(recorded(), ['warn Cannot watch pods: nothing was heard for 30 s; next try in 800 ms'])
})

test('the warning about missing RBAC rights has the whole rule that a watch needs', () => {
  const { health: h, recorded } = health()
  const rule = (verbs: string): string =>
    `Cannot list pods: pods is forbidden; its role lacks { apiGroups: [""], resources: ["pods"], verbs: [${verbs}] }`
  h.failed(new ApiError(rule('"list"'), { code: 403 }, { code: 403 }), 800, false)
  assert.deepEqual(recorded(), [`warn ${rule('"list", "watch"')}; next try in 800 ms`])
})

test('the warning about a kind of another cluster names the cluster', () => {
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

test('a recovery says "again" if the kind was served before, also if the first list was not complete', () => {
  const { health: h, recorded } = health()
  h.failed(api(403, 'Forbidden'), 800, false)
  h.recovered()
  assert.equal(recorded().at(-1), 'info Watching pods')
  h.failed(api(403, 'Forbidden'), 800, false)
  h.recovered()
  assert.equal(recorded().at(-1), 'info Watching pods again')
})

test('while a server is down, its kinds share five warnings; what was not logged is not said to work again', () => {
  const { lines, log } = keptLog()
  const clock = new FakeClock()
  const server = {}
  assert.equal(outageLogOf(server, clock), outageLogOf(server, clock))
  assert.notEqual(outageLogOf(server, clock), outageLogOf({}, clock))
  const kinds = Array.from({ length: 8 }, () => new WatchHealth(POD, log, { outages: outageLogOf(server, clock) }))
  for (const kind of kinds) kind.failed(new NetworkError('refused', { phase: 'connect' }), 800, false)
  assert.equal(lines.splice(0).filter((line) => line.startsWith('warn')).length, 5)
  for (const kind of kinds) kind.recovered()
  assert.equal(lines.splice(0).filter((line) => line.startsWith('info')).length, 5)
  for (const kind of kinds) kind.failed(new NetworkError('refused', { phase: 'connect' }), 800, false)
  for (const kind of kinds) kind.recovered()
  assert.deepEqual(lines.splice(0).filter((line) => !line.startsWith('debug')), [], 'what was not named is not over')
  for (const kind of kinds) kind.failed(api(403, 'Forbidden'), 800, false)
  assert.equal(lines.splice(0).filter((line) => line.startsWith('warn')).length, 8, 'each names its own rule')
})
