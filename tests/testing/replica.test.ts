/** Tests what a replica passes on before and after it is killed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Log, operator, type Transport } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'
import type { HttpBody, HttpResponse } from 'kubeloop/parts'
import { FakeClock, world } from 'kubeloop/testing'
import { nextTurn } from '../../lib/async/clock.ts'
import { Replica, ReplicaRuns } from '../../lib/testing/world/replica.ts'
import { StartLine } from '../../lib/testing/world/start_replica.ts'

const GET = { method: 'GET', path: '/api/v1/pods' } as const

/** Returns a replica and a server whose responses and chunks come from the test. */
function replica() {
  const clock = new FakeClock()
  const lines: string[] = []
  const line = (message: string): void => void lines.push(message)
  const log: Log = { debug: line, info: line, warn: line, error: line }
  const it = new Replica(0, new ReplicaRuns(clock, log), clock, log, {
    fetch: async () => new Response(),
    onTimer() {},
  })
  const cancelled: string[] = []
  let chunk = Promise.withResolvers<IteratorResult<Uint8Array>>()
  const bodyOf = (name: string): HttpBody => ({
    text: () => Promise.resolve(name),
    cancel: () => void cancelled.push(name),
    [Symbol.asyncIterator]: () => ({
      next: () => chunk.promise.finally(() => (chunk = Promise.withResolvers())),
      return: async () => ({ done: true, value: undefined }),
    }),
  })
  const answers: ((response: HttpResponse | Error) => void)[] = []
  const server: Transport = () =>
    new Promise((resolve, reject) =>
      answers.push((answer) => answer instanceof Error ? reject(answer) : resolve(answer))
    )
  const respond = (name: string): void => answers.shift()!({ status: 200, headers: {}, body: bodyOf(name) })
  const fail = (): void => answers.shift()!(new Error('no network'))
  const give = (result: IteratorResult<Uint8Array> | Error): void =>
    result instanceof Error ? chunk.reject(result) : chunk.resolve(result)
  return { it, clock, lines, cancelled, server, respond, fail, give, asked: () => answers.length }
}

/** Returns whether a promise has settled after some turns. */
async function settles(promise: Promise<unknown>): Promise<boolean> {
  let settled = false
  promise.then(() => (settled = true), () => (settled = true))
  for (let turns = 0; turns < 5; turns++) await nextTurn()
  return settled
}

test('a running replica passes on responses, chunks, errors, timers and log lines', async () => {
  const r = replica()
  const send = r.it.receiving(r.it.sending(r.server), null)
  const failing = send(GET)
  r.fail()
  await assert.rejects(failing, /no network/)
  const answering = send(GET)
  r.respond('a')
  assert.equal(await (await answering).body.text(), 'a')
  const watching = send(GET)
  r.respond('b')
  const chunks = (await watching).body[Symbol.asyncIterator]()
  r.give({ done: false, value: new Uint8Array([1]) })
  assert.deepEqual(await chunks.next(), { done: false, value: new Uint8Array([1]) })
  r.give(new Error('broken'))
  await assert.rejects(chunks.next(), /broken/)
  assert.deepEqual(await chunks.return!(), { done: true, value: undefined })
  const left = send(GET)
  r.respond('c')
  ;(await left).body.cancel()
  const ended = send(GET)
  r.respond('d')
  const last = (await ended).body[Symbol.asyncIterator]()
  r.give({ done: true, value: undefined })
  await last.next()
  let fired = 0
  r.it.userClock.after(10, () => {})()
  assert.equal(r.it.hasTimers, false)
  r.it.userClock.after(10, () => {})
  assert.equal(r.it.hasTimers, true)
  r.it.clock.after(10, () => fired++)
  const stop = r.it.clock.after(10, () => fired++)
  stop()
  await r.clock.advance(10)
  r.it.log.info('x')
  assert.deepEqual([fired, r.lines, r.cancelled, r.it.hasTimers], [1, ['x'], ['c'], false])
  r.it.kill()
  assert.deepEqual(r.cancelled, ['c'], 'finished responses are not cancelled again')
})

test('a killed replica passes on nothing: its work waits forever, and open responses are cancelled', async () => {
  const r = replica()
  const send = r.it.receiving(r.server, null)
  const watching = send(GET)
  r.respond('watch')
  const chunks = (await watching).body[Symbol.asyncIterator]()
  const [next, late, failing] = [chunks.next(), send(GET), send(GET)]
  let fired = 0
  r.it.clock.after(10, () => fired++)
  r.it.kill()
  assert.deepEqual(r.cancelled, ['watch'])
  r.give({ done: false, value: new Uint8Array([1]) })
  r.respond('late')
  r.fail()
  for (const each of [next, late, failing, send(GET), r.it.sending(r.server)(GET)]) {
    assert.equal(await settles(each), false)
  }
  assert.deepEqual([r.cancelled, r.asked()], [['watch', 'late'], 0])
  await r.clock.advance(10)
  for (const level of ['debug', 'info', 'warn', 'error'] as const) r.it.log[level]('x')
  assert.deepEqual([fired, r.lines], [0, []])
})

test('failures are those of a controller and a key, and of a task until its next call', () => {
  const nothing = (): void => {}
  const runs = new ReplicaRuns(new FakeClock(), { debug: nothing, info: nothing, warn: nothing, error: nothing })
  const ended = (controller: string, disposition: object): void =>
    runs.ended({ controller, kind: 'Foo', key: 'n/a', attempt: 1, writes: [], causes: [], disposition } as never)
  for (const controller of ['a', 'b']) ended(controller, { kind: 'backoff', error: new Error('mine') })
  runs.task('t', { error: new Error('mine') })
  const failing = () => runs.failing([]).map(({ controller, task }) => controller ?? task)
  assert.deepEqual(failing(), ['a', 'b', 't'])
  ended('b', { kind: 'forget' })
  runs.task('t')
  assert.deepEqual(failing(), ['a'])
})

test('replicas begin in the order of their numbers, not of their loading; one that fails is not waited for', async () => {
  const line = new StartLine(4)
  const begun: number[] = []
  const starts = [2, 0, 3].map(async (number) => {
    await line.loaded(number)
    begun.push(number)
  })
  await nextTurn()
  assert.equal(begun.length, 0)
  line.leave()
  await Promise.all(starts)
  assert.deepEqual(begun, [0, 2, 3])

  const last = new StartLine(2)
  await Promise.all([1, 0].map(async (number) => {
    await last.loaded(number)
    begun.push(number)
  }))
  assert.deepEqual(begun.slice(3), [0, 1])
})

test('replicas of a world begin in their order, also when the first has loaded last', async () => {
  const app = operator({ name: 'x', leaderElection: true })
  app.controllerFor(ConfigMap).reconcile(() => Promise.resolve())
  const start = app.start.bind(app)
  const begun: (string | undefined)[] = []
  app.start = (signal, options) =>
    start(signal, {
      ...options,
      async onLoaded() {
        if (options?.instance === 'replica-0') { for (let turns = 0; turns < 20; turns++) await nextTurn() }
        await options?.onLoaded?.()
        begun.push(options?.instance)
      },
    })
  await using _ = await world(app, { replicas: 2 })
  assert.deepEqual(begun, ['replica-0', 'replica-1'])
})
