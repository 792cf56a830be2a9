import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Clock } from '../../lib/async/clock.ts'
import { retryDelayMs, retrying } from '../../lib/client/retry.ts'
import type { HttpRequest, HttpResponse, Transport } from '../../lib/core/transport.ts'

const NOW = Date.parse('2026-11-21T10:00:00Z')

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
  ['a date that is over', 503, 'Sat, 21 Nov 2026 09:00:00 GMT', 1, 0],
  ['a long wait is cut', 429, '3600', 1, 30_000],
  ['the last try but one', 429, '1', 10, 1000],
  ['the last try', 429, '1', 11, undefined],
  ['429 without Retry-After, as an eviction gives', 429, undefined, 1, undefined],
  ['503 without Retry-After', 503, undefined, 1, undefined],
  ['a Retry-After that is neither', 429, 'soon', 1, undefined],
  ['a negative one', 429, '-1', 1, undefined],
  ['success', 200, '1', 1, undefined],
  ['409 with Retry-After', 409, '1', 1, undefined],
  ['a redirect with Retry-After', 302, '1', 1, undefined],
]

for (const [name, status, retryAfter, attempt, delay] of DECISIONS) {
  test(`the delay for ${name}`, () => {
    const headers: Record<string, string> = retryAfter === undefined ? {} : { 'retry-after': retryAfter }
    assert.equal(retryDelayMs({ status, headers }, attempt, { maxAttempts: 11, now: NOW }), delay)
  })
}

/** A clock whose timers fire when a test says so. */
function handClock(): Clock & { waits: number[]; fire(): void; timers(): number } {
  const waits: number[] = []
  const timers = new Set<() => void>()
  return {
    waits,
    timers: () => timers.size,
    now: () => NOW,
    monotonic: () => 0,
    after(ms, fn) {
      waits.push(ms)
      timers.add(fn)
      onWait.shift()?.()
      return () => timers.delete(fn)
    },
    fire() {
      for (const fn of [...timers]) {
        timers.delete(fn)
        fn()
      }
    },
  }
}

const onWait: (() => void)[] = []

function nextWait(): Promise<void> {
  return new Promise((resolve) => onWait.push(resolve))
}

/** Answers with these statuses in turn, the last for ever; every refusal asks to wait a second. */
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
      [Symbol.asyncIterator]: () => assert.fail('nobody reads this in pieces'),
    }
    return Promise.resolve({ status, headers: status === 200 ? {} : { 'retry-after': '1' }, body })
  }
  return Object.assign(transport, { sent, open: () => open })
}

test('a request that is put off is sent again, with the same body and check, after what the server asked for', async () => {
  const clock = handClock()
  const api = server(429, 503, 200)
  const beforeSend = (): void => {}
  const request = { method: 'POST', path: '/x', body: '{}', beforeSend } as const
  let waiting = nextWait()
  const answer = retrying(api, { clock, random: () => 0.5 })(request)
  await waiting
  assert.equal(api.open(), 0, 'the refusal is let go of before the wait')
  assert.equal(api.sent.length, 1)
  waiting = nextWait()
  clock.fire()
  await waiting
  clock.fire()
  assert.equal((await answer).status, 200)
  assert.deepEqual(clock.waits, [1050, 1050])
  assert.deepEqual(api.sent, [request, request, request])
})

test('a wait is spread over a tenth of it, and over a tenth of a second where the server asks for less', async () => {
  for (
    const [seconds, random, wait] of [
      ['0', 0, 0],
      ['0', 0.5, 50],
      ['0', 1, 100],
      ['1', 1, 1100],
      ['2', 0, 2000],
      ['2', 0.5, 2100],
      ['2', 1, 2200],
      ['30', 1, 33_000],
      ['3600', 0.5, 31_500],
    ] as const
  ) {
    const clock = handClock()
    const waiting = nextWait()
    const answers = [429, 200]
    const refusing: Transport = async (request) => {
      const { body } = await server(200)(request)
      return { status: answers.shift()!, headers: { 'retry-after': seconds }, body: { ...body, cancel() {} } }
    }
    const answer = retrying(refusing, { clock, random: () => random })({ method: 'GET', path: '/x' })
    await waiting
    clock.fire()
    await answer
    assert.deepEqual(clock.waits, [wait], `${seconds} ${random}`)
  }
})

test('the last refusal is handed on, with its body', async () => {
  const clock = handClock()
  const api = server(429)
  let waiting = nextWait()
  const answer = retrying(api, { clock, maxAttempts: 3 })({ method: 'GET', path: '/x' })
  for (let wait = 0; wait < 2; wait++) {
    await waiting
    waiting = nextWait()
    clock.fire()
  }
  const response = await answer
  onWait.length = 0
  assert.equal(response.status, 429)
  assert.equal(await response.body.text(), 'answer 3')
  assert.equal(api.open(), 1)
})

test('an abort ends the wait at once, with its reason, and leaves no timer', async () => {
  const clock = handClock()
  const api = server(429)
  const controller = new AbortController()
  const waiting = nextWait()
  const answer = retrying(api, { clock })({ method: 'GET', path: '/x', signal: controller.signal })
  await waiting
  const reason = new Error('stop')
  controller.abort(reason)
  await assert.rejects(answer, (error) => error === reason)
  assert.equal(clock.timers(), 0)
  assert.equal(api.sent.length, 1)
})

for (const path of ['/pods?watch=true', '/pods?limit=1&watch=1']) {
  test(`a watch passes: ${path}`, async () => {
    const clock = handClock()
    const api = server(429)
    assert.equal((await retrying(api, { clock })({ method: 'GET', path })).status, 429)
    assert.deepEqual(clock.waits, [])
    assert.equal(api.open(), 1)
  })
}

test('a path that only mentions watches is not one', async () => {
  const clock = handClock()
  const waiting = nextWait()
  const answer = retrying(server(429, 200), { clock })({
    method: 'GET',
    path: '/watch=true?labelSelector=watch%3Dtrue&watch=false',
  })
  await waiting
  clock.fire()
  assert.equal((await answer).status, 200)
})

test('what the transport throws is not retried', async () => {
  const failure = new Error('no network')
  let calls = 0
  await assert.rejects(
    retrying(() => (calls++, Promise.reject(failure)), { clock: handClock() })({ method: 'GET', path: '/' }),
    (error) => error === failure,
  )
  assert.equal(calls, 1)
})
