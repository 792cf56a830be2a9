import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Transport } from 'kubeloop'
import { FakeClock } from 'kubeloop/testing'
import { Latch } from '../../lib/async/latch.ts'
import { nextTurn } from '../../lib/async/clock.ts'
import { SessionHost } from '../../lib/cli/dev/session_host.ts'
import { INSTALLED_PATH, RIGHTS_PATH, SESSION_PATH, type SessionResponse } from '../../lib/cli/dev/session.ts'

interface Host {
  readonly open: () => Promise<{ answer: SessionResponse; end: () => Promise<void> }>
  readonly clock: FakeClock
  readonly starts: number[]
}

function host(changedAt: () => number | undefined): Host {
  const clock = new FakeClock()
  const starts: number[] = []
  const sessions = new SessionHost({
    clock,
    changed() {
      const atMs = changedAt()
      return atMs === undefined ? undefined : { file: 'operator.ts', atMs }
    },
    prepare: async () => {},
    onStart: (_, start) => void starts.push(start),
  })
  const inner: Transport = () => Promise.reject(new Error('not for the API'))
  return {
    clock,
    starts,
    async open() {
      const client = new AbortController()
      const response = await sessions.over(inner)({
        method: 'POST',
        path: SESSION_PATH,
        body: '{"operator":"o","pid":1,"kinds":[]}',
        signal: client.signal,
      })
      const body = response.body[Symbol.asyncIterator]()
      const first = await body.next()
      return {
        answer: JSON.parse(new TextDecoder().decode(first.value)) as SessionResponse,
        async end() {
          client.abort()
          assert.equal((await body.next()).done, true)
        },
      }
    },
  }
}

test('the duration of a restart is from the end of one operator to the start of the next', async () => {
  const { open, clock, starts } = host(() => undefined)
  const first = await open()
  assert.deepEqual(first.answer, { start: 1 })
  await clock.advance(5000)
  await first.end()
  await clock.advance(90)
  assert.deepEqual((await open()).answer, { start: 2, changed: 'a file that it imports', downMs: 90 })
  assert.deepEqual(starts, [1, 2])
})

test('after a crash, the duration of a restart begins with the save', async () => {
  const saved: { at?: number } = {}
  const { open, clock } = host(() => saved.at)
  const first = await open()
  await first.end()
  await clock.advance(60_000)
  saved.at = clock.now()
  await clock.advance(70)
  assert.deepEqual((await open()).answer, { start: 2, changed: 'operator.ts', downMs: 70 })
})

test('a duration that is too long for a restart is left out', async () => {
  const { open, clock } = host(() => undefined)
  await (await open()).end()
  await clock.advance(60_000)
  assert.deepEqual((await open()).answer, { start: 2, changed: 'a file that it imports' })
})

test('prepare is awaited before the response and before onStart', async () => {
  const told: string[] = []
  const prepared = new Latch()
  const sessions = new SessionHost({
    clock: new FakeClock(),
    changed: () => undefined,
    prepare: ({ clusters }) => (told.push(`prepare ${clusters[0]!.name}`), prepared.opened),
    onStart: ({ clusters }) => void told.push(`start with ${clusters[0]!.name}`),
  })
  const body = '{"operator":"o","pid":1,"kinds":[],"clusters":[{"name":"west","kinds":[]}]}'
  const opening = sessions.over(() => Promise.reject(new Error('not for the API')))({
    method: 'POST',
    path: SESSION_PATH,
    body,
  })
  void opening.then(() => told.push('answered'))
  await nextTurn()
  assert.deepEqual(told, ['prepare west'])
  prepared.open()
  const { body: answer } = await opening
  answer.cancel()
  assert.deepEqual(told, ['prepare west', 'start with west', 'answered'])
})

test('an operator that starts before the end of the last one is noticed stays the current one', async () => {
  const { open, clock } = host(() => undefined)
  const first = await open()
  const second = await open()
  await first.end()
  await clock.advance(100)
  await second.end()
  await clock.advance(30)
  assert.deepEqual((await open()).answer, { start: 3, changed: 'a file that it imports', downMs: 30 })
})

test('an operator with webhooks starts as installed when its notice arrives, or after 10 s', async () => {
  const clock = new FakeClock()
  const events: string[] = []
  const sessions = new SessionHost({
    clock,
    changed: () => undefined,
    prepare: async () => {},
    onStart: (_, start, installed) => void installed.then(() => events.push(`installed ${start}`)),
  })
  const over = sessions.over(() => Promise.reject(new Error('not for the API')))
  const open = async (webhooks: boolean): Promise<void> => {
    const body = JSON.stringify({ operator: 'o', pid: 1, kinds: [], clusters: [], webhooks })
    await over({ method: 'POST', path: SESSION_PATH, body })
    await nextTurn()
  }
  await open(false)
  assert.deepEqual(events.splice(0), ['installed 1'])
  await open(true)
  assert.deepEqual(events.splice(0), [])
  assert.equal((await over({ method: 'POST', path: INSTALLED_PATH, body: '{}' })).status, 200)
  await nextTurn()
  assert.deepEqual(events.splice(0), ['installed 2'])
  await open(true)
  await clock.advance(9999)
  assert.deepEqual(events, [])
  await clock.advance(1)
  assert.deepEqual(events, ['installed 3'])
  sessions.close()
})

test('what an operator asks for is passed on', async () => {
  const lines: unknown[] = []
  const sessions = new SessionHost({
    clock: new FakeClock(),
    changed: () => undefined,
    onRight: (line) => lines.push(line),
    prepare: async () => {},
    onStart: () => {},
  })
  const inner: Transport = () => Promise.reject(new Error('not for the API'))
  const line = { operator: 'o', verb: 'get', group: '', resource: 'pods' }
  const { status } = await sessions.over(inner)({ method: 'POST', path: RIGHTS_PATH, body: JSON.stringify(line) })
  assert.equal(status, 200)
  assert.deepEqual(lines, [line])
})
