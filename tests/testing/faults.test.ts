/** Tests which requests a fault affects, and how. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NetworkError } from 'kubeloop'
import { type HttpRequest } from 'kubeloop/parts'
import { FakeClock, type Fault } from 'kubeloop/testing'
import { sleep } from '../../lib/async/clock.ts'
import type { HttpBody } from '../../lib/core/transport.ts'
import { lateBody } from '../../lib/testing/world/fault_responses.ts'
import { endsWatch, makeFaults } from '../../lib/testing/world/faults.ts'
import { countedSignal } from '../async/counted_signal.ts'
import { Deployment, Namespace, Pod } from 'kubeloop/kinds'

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

/** What the verbs and kinds of requests are is tested with `core/requested_action`. */
const meets: readonly [Omit<Fault, 'status'>, HttpRequest['method'], string, boolean, string?][] = [
  [{}, 'GET', '/api/v1/pods', true],
  [{ verb: 'list' }, 'GET', '/api/v1/pods?watch=true', false],
  [{ verb: 'watch' }, 'GET', '/api/v1/namespaces/a/pods?watch=true', true],
  [{ verb: 'get' }, 'GET', '/apis/apps/v1/namespaces/a/deployments/b', true],
  [{ verb: 'get' }, 'GET', '/apis/apps/v1/namespaces/a/deployments', false],
  [{ verb: 'create' }, 'POST', '/api/v1/namespaces/a/pods', true],
  [{ verb: 'patch' }, 'PATCH', '/api/v1/namespaces/a/pods/b/status', true],
  [{ verb: 'deletecollection' }, 'DELETE', '/api/v1/namespaces/a/pods', true],
  [{ resource: Pod }, 'GET', '/api/v1/namespaces/a/pods/b', true],
  [{ resource: Pod }, 'GET', '/api/v1/namespaces/a/services/b', false],
  [{ resource: Pod }, 'GET', '/apis/metrics.k8s.io/v1beta1/namespaces/a/pods/b', false],
  [{ resource: Deployment }, 'GET', '/apis/apps/v1/deployments', true],
  [{ resource: Namespace }, 'PUT', '/api/v1/namespaces/a/finalize', true],
  [{ resource: Namespace }, 'GET', '/api/v1/namespaces/a/pods', false],
  [{ verb: 'list' }, 'GET', '/apis/apps/v1', true],
  [{ verb: 'get' }, 'GET', '/version', false],
  [{ cluster: null }, 'GET', '/api/v1/pods', true],
  [{ cluster: 'west' }, 'GET', '/api/v1/pods', false],
  [{ name: 'b' }, 'GET', '/api/v1/namespaces/a/pods/b', true],
  [{ name: 'b' }, 'GET', '/api/v1/namespaces/a/pods/bb', false],
  [{ name: 'b' }, 'GET', '/api/v1/namespaces/b/pods', false],
  [{ name: 'b' }, 'PATCH', '/api/v1/namespaces/a/pods/b/status', true],
  [{ name: 'b' }, 'POST', '/api/v1/namespaces/a/pods', true, '{"metadata":{"name":"b"}}'],
  [{ name: 'b' }, 'POST', '/api/v1/namespaces/a/pods', false, '{"metadata":{"generateName":"b"}}'],
  [{ name: 'b' }, 'POST', '/api/v1/namespaces/a/pods', false, 'null'],
  [{ name: 'b' }, 'POST', '/api/v1/namespaces/a/pods', false, '{'],
  [{ namespace: 'a' }, 'GET', '/api/v1/namespaces/a/pods', true],
  [{ namespace: 'a' }, 'GET', '/api/v1/namespaces/b/pods/a', false],
  [{ namespace: 'a' }, 'GET', '/api/v1/pods', false],
  [{ namespace: 'a' }, 'GET', '/api/v1/namespaces/a', false],
  [{ name: 'b' }, 'GET', '/api/v1/pods?watch=true&fieldSelector=metadata.name=b', false],
]

for (const [fault, method, path, isMet, body] of meets) {
  const what = JSON.stringify({ ...fault, ...(fault.resource ? { resource: fault.resource.kind } : {}) })
  test(`${what} ${isMet ? 'affects' : 'does not affect'} ${method} ${path} ${body ?? ''}`, async () => {
    const { faults, transport } = faulty()
    faults.add({ ...fault, status: 418 })
    assert.equal((await transport({ method, path, body })).status, isMet ? 418 : 200)
  })
}

test('a fault affects the number of requests in times, the oldest fault first', async () => {
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

test('skip lets the first requests pass, and the fault added next has them', async () => {
  const { faults, transport } = faulty()
  faults.add({ status: 500, skip: 2, times: 2 })
  faults.add({ status: 503, skip: 1 })
  const statuses: number[] = []
  for (let i = 0; i < 5; i++) statuses.push((await transport({ method: 'GET', path: '/api/v1/pods' })).status)
  assert.deepEqual(statuses, [200, 503, 500, 500, 200])
})

test('a refusal has the reason of a real server, or the given one, and says when to retry', async () => {
  const { faults, transport } = faulty()
  const reasons: Record<number, string> = {
    400: 'BadRequest',
    409: 'Conflict',
    410: 'Expired',
    429: 'TooManyRequests',
    500: 'InternalError',
    503: 'ServiceUnavailable',
  }
  for (const [code, reason] of Object.entries(reasons)) {
    faults.add({ status: Number(code), retryAfter: '1500ms' })
    const { status, headers, body } = await transport({ method: 'GET', path: '/api/v1/pods' })
    const answer = JSON.parse(await body.text())
    assert.deepEqual([status, headers['retry-after'], answer.reason], [Number(code), '2', reason])
    assert.deepEqual(answer.details, { retryAfterSeconds: 2 })
  }
  faults.add({ status: 409, reason: 'AlreadyExists' })
  const { headers, body } = await transport({ method: 'GET', path: '/api/v1/pods' })
  assert.equal(JSON.parse(await body.text()).reason, 'AlreadyExists')
  assert.equal(headers['retry-after'], undefined)
})

test('a dropped request has no answer for 75 s; a lost answer is one that the server has given', async () => {
  const { clock, faults, transport, asked, cancelled } = faulty()
  for (const [drop, reached] of [['request', 0], ['answer', 1]] as const) {
    faults.add({ drop, times: 2 })
    const outcome = transport({ method: 'GET', path: '/api/v1/pods' }).catch((error: unknown) => error)
    let settled = false
    void outcome.then(() => (settled = true))
    await clock.advance(74_999)
    assert.deepEqual([settled, asked.length, cancelled(), faults.delayed], [false, reached, reached, 1], drop)
    await clock.advance(1)
    const error = await outcome
    assert.ok(error instanceof NetworkError && error.phase === 'response' && error.code === 'ETIMEDOUT')
    const abort = new AbortController()
    const aborted = transport({ method: 'GET', path: '/api/v1/pods', signal: abort.signal })
    abort.abort(new Error('too slow'))
    await assert.rejects(aborted, /too slow/)
    asked.length = 0
    assert.deepEqual([faults.delayed, clock.pending], [0, 0])
  }
})

/** Returns a server that responds with these chunks, and keeps the body open. */
function streaming(...chunks: readonly string[]) {
  const clock = new FakeClock()
  const faults = makeFaults(clock, [])
  const transport = faults.around(async ({ signal }) => ({
    status: 200,
    headers: {},
    body: {
      text: async () => chunks.join(''),
      cancel: () => {},
      async *[Symbol.asyncIterator]() {
        for (const chunk of chunks) yield new TextEncoder().encode(chunk)
        signal?.throwIfAborted()
        await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
      },
    },
  }), null)
  return { clock, faults, transport }
}

const WATCH: HttpRequest = { method: 'GET', path: '/api/v1/pods?watch=true' }

test('a body is cut in the middle of its first line', async () => {
  const { faults, transport } = streaming('{"type":"ADD', 'ED"}\n{"type":"MODIFIED"}\n')
  faults.add({ cut: 'line' })
  const { body } = await transport(WATCH)
  let text = ''
  await assert.rejects(
    async () => {
      for await (const chunk of body) text += new TextDecoder().decode(chunk)
    },
    (error) => error instanceof NetworkError && error.phase === 'body',
  )
  assert.equal(text, '{"type":')
})

test('a fault that is for watches, or for all from now on, ends open watches', () => {
  const rows: readonly (readonly [Fault, boolean])[] = [
    [{ verb: 'watch', cut: true }, true],
    [{ cut: true }, false],
    [{ cut: true, times: Infinity }, true],
    [{ lag: '1s' }, true],
    [{ repeat: true }, true],
    [{ stale: '5' }, false],
    [{ repeat: true, resource: Deployment }, false],
  ]
  for (const [fault, ends] of rows) {
    const added = faulty().faults.add(fault)
    assert.equal(endsWatch(added, WATCH, null), ends, JSON.stringify(fault))
    assert.equal(endsWatch(added, { ...WATCH, path: '/api/v1/pods' }, null), false)
  }
})

test('only a request that can have the effect meets a fault', async () => {
  const requests: Readonly<Record<string, HttpRequest>> = {
    get: { method: 'GET', path: '/api/v1/namespaces/a/pods/b' },
    patch: { method: 'PATCH', path: '/api/v1/namespaces/a/pods/b' },
    list: { method: 'GET', path: '/api/v1/pods' },
    'next page': { method: 'GET', path: '/api/v1/pods?continue=x' },
    watch: WATCH,
    'watch with a list': { ...WATCH, path: `${WATCH.path}&resourceVersion=5&sendInitialEvents=true` },
    'watch from a version': { ...WATCH, path: `${WATCH.path}&resourceVersion=5` },
  }
  const watches = ['watch', 'watch with a list', 'watch from a version']
  const rows: readonly (readonly [Fault, readonly string[]])[] = [
    [{ stale: '5' }, ['list', 'watch', 'watch with a list']],
    [{ lag: '1s' }, watches],
    [{ repeat: true }, watches],
  ]
  for (const [fault, expected] of rows) {
    const met: string[] = []
    for (const [what, request] of Object.entries(requests)) {
      const { faults, transport } = faulty(410)
      faults.add(fault)
      await transport(request)
      if (faults.unmet().length === 0) met.push(what)
    }
    assert.deepEqual(met, expected, JSON.stringify(fault))
  }
})

test('a list at a version that the server refuses is cancelled, and asked for as without the fault', async () => {
  const { faults, transport, asked, cancelled } = faulty(410)
  faults.add({ stale: '5' })
  await transport({ method: 'GET', path: '/api/v1/pods' })
  const stale = 'resourceVersion=5&resourceVersionMatch=Exact'
  assert.deepEqual([asked, cancelled()], [[`GET /api/v1/pods?${stale}`, 'GET /api/v1/pods'], 1])
})

test('events are repeated, bookmarks are not', async () => {
  const { faults, transport } = streaming('{"type":"ADDED"}\n{"type":"BOOKMARK"}\n', '{"type":"DELETED"}\n')
  faults.add({ repeat: true })
  const abort = new AbortController()
  const { body } = await transport({ ...WATCH, signal: abort.signal })
  const types: string[] = []
  await assert.rejects(async () => {
    for await (const chunk of body) {
      for (const line of new TextDecoder().decode(chunk).trim().split('\n')) types.push(JSON.parse(line).type)
      if (types.length === 5) abort.abort(new Error('enough'))
    }
  }, /enough/)
  assert.deepEqual(types, ['ADDED', 'ADDED', 'BOOKMARK', 'DELETED', 'DELETED'])
})

test('what a watch receives comes later, in order; an abort comes at once', async () => {
  const { clock, faults, transport } = streaming('{"type":"ADDED"}\n', '{"type":"DELETED"}\n')
  faults.add({ lag: '5s' })
  const abort = new AbortController()
  const { body } = await transport({ ...WATCH, signal: abort.signal })
  const read: [string, number][] = []
  const reading = (async () => {
    for await (const chunk of body) read.push([new TextDecoder().decode(chunk).slice(9, 12), clock.monotonic()])
  })()
  const beganMs = clock.monotonic()
  await clock.advance(4999)
  assert.deepEqual(read, [])
  await clock.advance(1)
  assert.deepEqual(read, [['ADD', beganMs + 5000], ['DEL', beganMs + 5000]])
  abort.abort(new Error('stopped'))
  await assert.rejects(reading, /stopped/)
  assert.equal(clock.pending, 0)
})

test('a watch that the server refuses is cut before its response, which is cancelled', async () => {
  const { faults, transport, asked, cancelled } = faulty(410)
  faults.add({ cut: true })
  await assert.rejects(
    transport({ method: 'GET', path: '/api/v1/pods?watch=true' }),
    (error) => error instanceof NetworkError && error.phase === 'response',
  )
  assert.deepEqual([asked, cancelled()], [['GET /api/v1/pods?watch=true'], 1])
})

test('an accepted watch breaks, however it is read', async () => {
  const { faults, transport, cancelled } = faulty()
  faults.add({ cut: true, times: 2 })
  const broken = (error: unknown): boolean =>
    error instanceof NetworkError && error.phase === 'body' && error.code === 'ECONNRESET'
  const request: HttpRequest = { method: 'GET', path: '/api/v1/pods?watch=true' }
  await assert.rejects((await transport(request)).body.text(), broken)
  await assert.rejects((await transport(request)).body[Symbol.asyncIterator]().next(), broken)
  assert.equal(cancelled(), 2)
})

test('a request that is aborted during its delay rejects with the reason, and is no longer counted', async () => {
  const { faults, transport, asked, clock } = faulty()
  faults.add({ delay: '5s' })
  const abort = new AbortController()
  const request = transport({ method: 'GET', path: '/api/v1/pods', signal: abort.signal })
  assert.equal(faults.delayed, 1)
  abort.abort(new Error('too slow'))
  await assert.rejects(request, /too slow/)
  assert.deepEqual([faults.delayed, asked, clock.pending], [0, [], 0])
})

const DURATION = 'write a number and ms, s, m, h or d, such as "30s"; durationMs of kubeloop/schema reads "1h30m"'
const STATUS = 'and must be a whole number from 400 to 599: a fault has no object to answer with'
const TIMES = 'and must be a whole number from 1, or Infinity'
const KIND = 'and must be a kind, such as Deployment of kubeloop/kinds'
const VERSION = 'and must be the resourceVersion of an earlier answer'

test('a fault may skip no request', () => {
  makeFaults(new FakeClock(), []).add({ status: 500, skip: 0 })
})

/** A fault, and what follows "Cannot add a fault" in its error. */
const refused: readonly (readonly [unknown, string])[] = [
  [{}, ': it has no effect; give it a status, a delay, cut, drop, stale, lag or repeat'],
  ...[undefined, null, 500].map((fault) => [fault, `: its options are ${fault}, and must be an object`] as const),
  ...[200, 399, 600, 450.5, NaN].map((status) => [{ status }, `: status is ${status}, ${STATUS}`] as const),
  [{ status: '500' }, `: status is "500", ${STATUS}`],
  ...[0, 1.5, NaN].map((times) => [{ cut: true, times }, `: times is ${times}, ${TIMES}`] as const),
  [{ delay: '5 s' }, `: Cannot read duration "5 s": ${DURATION}`],
  [{ delay: -1 }, ': Cannot read duration -1: it must be finite and not negative'],
  [{ lag: 'soon' }, `: Cannot read duration "soon": ${DURATION}`],
  [{ cut: true, resource: 'pods' }, `: resource is "pods", ${KIND}`],
  [{ cut: true, resource: null }, `: resource is null, ${KIND}`],
  [{ cut: 'head' }, ': cut is "head"; it must be true or false or "answer" or "line"'],
  [{ drop: true }, ': drop is true; it must be "request" or "answer"'],
  ...['0', 'new', 12].map((stale) => [{ stale }, `: stale is ${JSON.stringify(stale)}, ${VERSION}`] as const),
  ...[-1, 0.5, Infinity].map((skip) =>
    [{ cut: true, skip }, `: skip is ${skip}, and must be a whole number from 0`] as const
  ),
  [{ retryAfter: '1s', delay: 1 }, ': reason and retryAfter need a status'],
  [{ reason: 'AlreadyExists', cut: true }, ': reason and retryAfter need a status'],
  [{ status: 500, cut: true }, ': status, drop and cut exclude each other; add a fault for each'],
  [{ cut: true, cluster: 'east' }, ' to the cluster "east": the operator has no cluster of that name'],
  [{ cut: true, verb: 'pach' }, ': verb is "pach"; did you mean "patch"?'],
  [{ stale: '5', verb: 'get' }, ': only list and watch can have its effect, and its verb is get'],
  [{ lag: '1s', verb: 'list' }, ': only watch can have its effect, and its verb is list'],
  [{ cut: true, verb: 'watch', name: 'a' }, ': a watch is of no object, so none has the name "a"'],
]

for (const [fault, text] of refused) {
  test(`a fault is refused${text}, as of ${JSON.stringify(fault) ?? 'undefined'}`, async () => {
    const { faults, transport } = faulty()
    const type = /(?:status|times|skip) is|duration/.test(text) ? 'RangeError' : 'TypeError'
    const message = `${type}: Cannot add a fault${text}`
    assert.throws(() => faults.add(fault as Fault), (error) => String(error) === message)
    assert.equal((await transport({ method: 'GET', path: '/api/v1/pods' })).status, 200, 'the fault was not added')
  })
}

test('a body that lags leaves no listener of its chunks', async () => {
  const clock = new FakeClock()
  const { controller, listeners } = countedSignal()
  const inner: HttpBody = {
    text: () => Promise.reject(new Error('not read as a whole')),
    cancel() {},
    async *[Symbol.asyncIterator]() {
      for (let at = 0; at < 5; at++) {
        await sleep(clock, 100)
        yield new Uint8Array([at])
      }
    },
  }
  const read: number[] = []
  const reading = (async () => {
    for await (const bytes of lateBody(inner, clock, 1000, { until: controller.signal })) read.push(...bytes)
  })()
  await clock.advance(2000)
  await reading
  assert.deepEqual([read, listeners()], [[0, 1, 2, 3, 4], 0])
})
