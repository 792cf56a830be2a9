import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import type { Clock } from '../../lib/async/clock.ts'
import { countingRequests } from '../../lib/client/metrics.ts'
import {
  loggingWarnings,
  retryDelayMs,
  retrying,
  type RetryOptions,
  warningTexts,
} from '../../lib/client/middleware.ts'
import { NetworkError } from '../../lib/core/errors.ts'
import type { HttpRequest, HttpResponse, Transport } from '../../lib/core/transport.ts'
import { Cluster } from '../../lib/manager/cluster.ts'
import type { Log } from '../../lib/observe/log.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { memoryMeter } from '../observe/memory_meter.ts'
import { CONFIG_MAP } from './case_bench.ts'
import { answer } from './transports.ts'

const NOW = 'Sat, 21 Nov 2026 10:00:00 GMT'

const DECISIONS: readonly [
  name: string,
  status: number,
  retryAfter: string | undefined,
  attempt: number,
  delay: number | undefined,
][] = [
  ['429 with seconds', 429, '2', 1, 2000],
  ['503 with seconds', 503, '1', 1, 1000],
  ['500 with seconds, as etcd leader changes give', 500, '3', 1, 3000],
  ['0 seconds', 429, '0', 1, 0],
  ['a date', 503, 'Sat, 21 Nov 2026 10:00:05 GMT', 1, 5000],
  ['a past date', 503, 'Sat, 21 Nov 2026 09:00:00 GMT', 1, 0],
  ['a long wait, which is limited to 30 s', 429, '3600', 1, 30_000],
  ['the second to last try', 429, '1', 10, 1000],
  ['the last try', 429, '1', 11, undefined],
  ['429 without Retry-After, as an eviction gives', 429, undefined, 1, undefined],
  ['503 without Retry-After', 503, undefined, 1, undefined],
  ['a malformed Retry-After', 429, 'soon', 1, undefined],
  ['a negative one', 429, '-1', 1, undefined],
  ['success', 200, '1', 1, undefined],
  ['409 with Retry-After', 409, '1', 1, undefined],
  ['a redirect with Retry-After', 302, '1', 1, undefined],
]

for (const [name, status, retryAfter, attempt, delay] of DECISIONS) {
  test(`the delay for ${name}`, () => {
    const headers = { date: NOW, ...(retryAfter !== undefined && { 'retry-after': retryAfter }) }
    assert.equal(retryDelayMs({ status, headers }, attempt, 11), delay)
  })
}

/** Answers with these statuses in turn, the last one for ever; every refusal has a Retry-After of 1 s. */
function server(...statuses: number[]): Transport & { sent: HttpRequest[]; open: () => number } {
  const sent: HttpRequest[] = []
  let open = 0
  const transport: Transport = (request) => {
    sent.push(request)
    open++
    const status = statuses[Math.min(sent.length, statuses.length) - 1]!
    const body: HttpResponse['body'] = {
      text: () => Promise.resolve(`answer ${sent.length}`),
      cancel: () => void open--,
      [Symbol.asyncIterator]: () => assert.fail('must not be read in pieces'),
    }
    return Promise.resolve({ status, headers: status === 200 ? {} : { 'retry-after': '1' }, body })
  }
  return Object.assign(transport, { sent, open: () => open })
}

/** Sends a request, and returns its answer with the waits before it. */
async function sendThrough(
  api: Transport,
  options: Partial<RetryOptions> = {},
  request: HttpRequest = { method: 'GET', path: '/x' },
): Promise<{ readonly response: HttpResponse; readonly waits: readonly number[] }> {
  const clock = new FakeClock()
  const waits: number[] = []
  let response: HttpResponse | undefined
  const after = (ms: number, fn: () => void): () => void => (waits.push(ms), clock.after(ms, fn))
  const waiting: Clock = { now: () => clock.now(), monotonic: () => clock.monotonic(), after }
  const sent = retrying(api, { random: () => 0.5, ...options, clock: waiting })(request)
  void sent.then((answer) => (response = answer), () => {})
  while (!response) await clock.advance(40_000)
  return { response, waits }
}

test('a refused request is sent again after its Retry-After, with the same body and check', async () => {
  const api = server(429, 503, 200)
  const request = { method: 'POST', path: '/x', body: '{}', beforeSend: () => {} } as const
  const { response, waits } = await sendThrough(api, {}, request)
  assert.deepEqual([response.status, waits, api.sent], [200, [1050, 1050], [request, request, request]])
  assert.equal(api.open(), 1, 'the refusals are released')
})

test("a Retry-After date is of the server's clock, from which this machine's may differ", async () => {
  const refused = answer(503, '', { 'retry-after': 'Sat, 21 Nov 2026 10:00:05 GMT', date: NOW })
  const answers = [refused, answer(200, '')]
  const { waits } = await sendThrough(() => Promise.resolve(answers.shift()!))
  assert.deepEqual(waits, [5250])
})

const SPREADS = [
  ['0', 0, 0],
  ['0', 0.5, 50],
  ['0', 1, 100],
  ['1', 1, 1100],
  ['2', 0, 2000],
  ['2', 1, 2200],
  ['30', 1, 33_000],
  ['3600', 0.5, 31_500],
] as const
test('a wait is up to 10 % longer, or 100 ms longer if it is less than 1 s', async () => {
  for (const [seconds, random, wait] of SPREADS) {
    const answers = [answer(429, {}, { 'retry-after': seconds }), answer(200, {})]
    const { waits } = await sendThrough(() => Promise.resolve(answers.shift()!), { random: () => random })
    assert.deepEqual(waits, [wait], `${seconds} ${random}`)
  }
})

test('the last refusal is returned with its body', async () => {
  const api = server(429)
  const { response } = await sendThrough(api, { maxAttempts: 3 })
  assert.deepEqual([response.status, await response.body.text(), api.open()], [429, 'answer 3', 1])
})

test('an abort ends the wait at once, with its reason, and leaves no timer', async () => {
  const clock = new FakeClock()
  const api = server(429)
  const controller = new AbortController()
  const outcome = assert.rejects(
    retrying(api, { clock })({ method: 'GET', path: '/x', signal: controller.signal }),
    /^Error: stop$/,
  )
  await clock.advance(500)
  controller.abort(new Error('stop'))
  await clock.advance(0)
  await outcome
  assert.deepEqual([clock.pending, api.sent.length], [0, 1])
})

const WATCHES = [
  ['/pods?watch=true', 429],
  ['/pods?limit=1&watch=1', 429],
  ['/watch=true?labelSelector=watch%3Dtrue&watch=false', 200],
] as const
test('a watch is not retried', async () => {
  for (const [path, status] of WATCHES) {
    const api = server(429, 200)
    const { response } = await sendThrough(api, {}, { method: 'GET', path })
    assert.deepEqual([response.status, api.open()], [status, 1], path)
  }
})

test('an error of the transport is not retried', async () => {
  const failure = new Error('no network')
  let calls = 0
  await assert.rejects(
    retrying(() => (calls++, Promise.reject(failure)), { clock: new FakeClock() })({ method: 'GET', path: '/' }),
    (error) => error === failure,
  )
  assert.equal(calls, 1)
})

function recordingLog(): { readonly log: Log; readonly logged: string[] } {
  const logged: string[] = []
  return {
    logged,
    log: { ...silentLog, warn: (message, fields) => void logged.push(`${message} ${JSON.stringify(fields)}`) },
  }
}

test('warningTexts parses quotes, commas, dates and other codes', () => {
  const table: readonly (readonly [string, readonly string[]])[] = [
    ['299 - "one"', ['one']],
    ['299 - "one", 299 kube "two, with \\"quotes\\" and \\\\"', ['one', 'two, with "quotes" and \\']],
    ['299 - "dated" "Wed, 21 Oct 2026 07:28:00 GMT",299 - "next"', ['dated', 'next']],
    ['110 proxy "Response is stale", 299 - "mine"', ['mine']],
    ['299 - ""', []],
    ['nonsense', []],
    ['299 - "open', []],
  ]
  for (const [header, texts] of table) assert.deepEqual(warningTexts(header), texts, header)
})

test('a warning is logged once, with its first request, without the query', async () => {
  const { log, logged } = recordingLog()
  const texts = ['299 - "old"', '299 - "old", 299 - "older"', '299 - "old"']
  const transport = loggingWarnings(
    () => Promise.resolve(answer(200, '', texts.length > 0 ? { warning: texts.shift()! } : {})),
    log,
  )
  await loggingWarnings(() => Promise.resolve(answer(200, '', { warning: '299 - "old"' })), log)(
    { method: 'GET', path: '/own', quiet: true },
  )
  for (const path of ['/a?x=1', '/b', '/c', '/d']) await transport({ method: 'GET', path })
  assert.deepEqual(logged, [
    'The API server warns: old {"method":"GET","path":"/a"}',
    'The API server warns: older {"method":"GET","path":"/b"}',
  ])
})

test('at most 1000 texts are remembered', async () => {
  const { log, logged } = recordingLog()
  let text = ''
  const transport = loggingWarnings(() => Promise.resolve(answer(200, '', { warning: `299 - "${text}"` })), log)
  const warn = async (each: string): Promise<void> => {
    text = each
    await transport({ method: 'GET', path: '/' })
  }
  for (let i = 0; i < 1000; i++) await warn(`n${i}`)
  await warn('n0')
  assert.equal(logged.length, 1000)
  await warn('one more')
  await warn('n999')
  assert.equal(logged.length, 1001)
  await warn('n0')
  assert.equal(logged.length, 1002)
})

test("a cluster logs the server's warning about unknown fields", async () => {
  const { log, logged } = recordingLog()
  const clock = new FakeClock()
  const { client } = new Cluster({
    name: 'test',
    transport: new ApiServer({ clock }).handle,
    clock,
    log,
    fieldValidation: 'Warn',
  })
  const object = { metadata: { name: 'a', namespace: 'default' }, dada: { x: '1' } }
  const made = await client.create(CONFIG_MAP, object as never)
  await client.update(CONFIG_MAP, { ...made, dada: {} } as never)
  assert.deepEqual(logged, [
    'The API server warns: unknown field "dada" {"method":"POST","path":"/api/v1/namespaces/default/configmaps"}',
  ])
})

test('each request is counted by code and method, without a response as <error>', async () => {
  const meter = memoryMeter()
  const answers = [answer(200, {}), answer(404, {}), answer(404, {}), new NetworkError('refused', { phase: 'connect' })]
  const transport = countingRequests(meter, async () => {
    const next = answers.shift()!
    if (next instanceof Error) throw next
    return next
  }, 'example:6443')
  for (const method of ['GET', 'GET', 'PUT'] as const) await transport({ method, path: '/' })
  await assert.rejects(transport({ method: 'POST', path: '/' }), /^NetworkError: refused$/)
  assert.deepEqual(meter.series().map((series) => [series, meter.value(...parse(series))]), [
    ['rest_client_requests_total{code="200",host="example:6443",method="GET"}', 1],
    ['rest_client_requests_total{code="404",host="example:6443",method="GET"}', 1],
    ['rest_client_requests_total{code="404",host="example:6443",method="PUT"}', 1],
    ['rest_client_requests_total{code="<error>",host="example:6443",method="POST"}', 1],
  ])
})

function parse(series: string): [string, Record<string, string>] {
  const [, name = '', labels = ''] = /^(\w+)\{(.*)\}$/.exec(series) ?? []
  return [
    name,
    Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label = '', value = '']) => [label, value])),
  ]
}
