import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeClock } from 'kubeloop/testing'
import { Latch } from '../../lib/async/latch.ts'
import { mayPause } from '../../lib/core/transport.ts'
import { nextTurn } from '../../lib/async/clock.ts'
import { SessionHost, type SessionHostOptions } from '../../lib/cli/dev/session_host.ts'
import { NOTICE_PATH, SESSION_PATH, type SessionResponse } from '../../lib/cli/dev/session.ts'

function host(options: Partial<SessionHostOptions> = {}) {
  const clock = new FakeClock()
  const sessions = new SessionHost({
    clock,
    changed: () => undefined,
    prepare: () => Promise.resolve({}),
    onStart() {},
    ...options,
  })
  const send = sessions.over(() => Promise.reject(new Error('not for the API')))
  const post = (path: string, body: object, signal?: AbortSignal) =>
    send({ method: 'POST', path, body: JSON.stringify(body), ...(signal && { signal }) })
  return {
    clock,
    sessions,
    post,
    async open() {
      const client = new AbortController()
      const { body } = await post(SESSION_PATH, { operator: 'o', pid: 1, kinds: [], clusters: [] }, client.signal)
      const lines = body[Symbol.asyncIterator]()
      const { value } = await lines.next()
      return {
        answer: JSON.parse(new TextDecoder().decode(value as Uint8Array)) as SessionResponse,
        async next() {
          return new TextDecoder().decode((await lines.next()).value as Uint8Array)
        },
        async end() {
          client.abort()
          assert.equal((await lines.next()).done, true)
        },
      }
    },
  }
}

test('a session outlives any silence of the command, as its operator ends with it', () =>
  assert.ok(mayPause(SESSION_PATH)))

test('the duration of a restart is from the end of one operator to the start of the next', async () => {
  const starts: number[] = []
  const { open, clock } = host({ onStart: (_, start) => void starts.push(start) })
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
  const { open, clock } = host({
    changed: () => saved.at === undefined ? undefined : { file: 'operator.ts', atMs: saved.at },
  })
  const first = await open()
  await first.end()
  await clock.advance(60_000)
  saved.at = clock.now()
  await clock.advance(70)
  assert.deepEqual((await open()).answer, { start: 2, changed: 'operator.ts', downMs: 70 })
})

test('a duration that is too long for a restart is left out', async () => {
  const { open, clock } = host()
  await (await open()).end()
  await clock.advance(60_000)
  assert.deepEqual((await open()).answer, { start: 2, changed: 'a file that it imports' })
})

test('prepare is awaited before the response and before onStart', async () => {
  const told: string[] = []
  const prepared = new Latch()
  const { post } = host({
    prepare: ({ clusters }) => (told.push(`prepare ${clusters[0]!.name}`), prepared.opened.then(() => ({}))),
    onStart: ({ clusters }) => void told.push(`start with ${clusters[0]!.name}`),
  })
  const opening = post(SESSION_PATH, { operator: 'o', pid: 1, kinds: [], clusters: [{ name: 'west', kinds: [] }] })
  void opening.then(() => told.push('answered'))
  await nextTurn()
  assert.deepEqual(told, ['prepare west'])
  prepared.open()
  const { body: answer } = await opening
  answer.cancel()
  assert.deepEqual(told, ['prepare west', 'start with west', 'answered'])
})

test('what prepare says of an account is in the response', async () => {
  const account = { tokens: { '': 'a' } }
  const { open } = host({ prepare: () => Promise.resolve(account) })
  assert.deepEqual((await open()).answer, { start: 1, ...account })
})

test('an operator that starts before the end of the last one is noticed stays the current one', async () => {
  const { open, clock } = host()
  const first = await open()
  const second = await open()
  await first.end()
  await clock.advance(100)
  await second.end()
  await clock.advance(30)
  const third = await open()
  assert.deepEqual(third.answer, { start: 3, changed: 'a file that it imports', downMs: 30 })
  await open()
  await third.end()
  await clock.advance(100)
  assert.equal((await open()).answer.downMs, 0)
})

test('an operator with webhooks starts as installed when its notice arrives, or after 10 s', async () => {
  const events: string[] = []
  const { clock, sessions, post } = host({
    onStart: (_, start, installed) => void installed.then(() => events.push(`installed ${start}`)),
  })
  const open = async (webhooks: boolean): Promise<void> => {
    await post(SESSION_PATH, { operator: 'o', pid: 1, kinds: [], clusters: [], webhooks })
    await nextTurn()
  }
  await open(false)
  assert.deepEqual(events.splice(0), ['installed 1'])
  await open(true)
  assert.deepEqual(events.splice(0), [])
  assert.equal((await post(NOTICE_PATH, { installed: true })).status, 200)
  await nextTurn()
  assert.deepEqual(events.splice(0), ['installed 2'])
  await open(true)
  await clock.advance(9999)
  assert.deepEqual(events, [])
  await clock.advance(1)
  assert.deepEqual(events, ['installed 3'])
  sessions.close()
})

test('what an operator asks for is passed on; if it cannot be recorded, that is reported', async () => {
  const lines: unknown[] = []
  const problems: string[] = []
  const { post } = host({
    onRight(line) {
      lines.push(line)
      if (lines.length > 1) throw new Error('the disk is full')
    },
    onProblem: (message) => void problems.push(message),
  })
  const line = { operator: 'o', verb: 'get', group: '', resource: 'pods' }
  assert.equal((await post(NOTICE_PATH, { right: line })).status, 200)
  assert.deepEqual([lines, problems], [[line], []])
  assert.equal((await post(NOTICE_PATH, { right: line })).status, 200)
  assert.deepEqual(problems, ['the disk is full'])
})

test('the clusters of an operator are those with a name, and then those that its providers add', async () => {
  const named: string[][] = []
  const { open, post } = host({ onClusters: async (names) => void named.push([...names]) })
  await open()
  for (const cluster of ['east', 'west', 'east']) await post(NOTICE_PATH, { cluster })
  await open()
  assert.deepEqual(named, [[], ['east'], ['east', 'west'], ['east', 'west'], []])
})

test('what the operator does reaches the page, whose commands are further lines for the last operator', async () => {
  const batches: unknown[] = []
  const paused = { all: true, keys: [] }
  const { open, post, sessions } = host({
    onLoop: (batch) => void batches.push(batch),
    prepare: () => Promise.resolve({ paused }),
  })
  sessions.send({ action: 'pause' }) // none runs
  const first = await open()
  assert.deepEqual(first.answer, { start: 1, paused })
  await first.end()
  const second = await open()
  await post(NOTICE_PATH, { loop: { runs: [1] } })
  assert.deepEqual(batches, [{ runs: [1] }])
  const line = second.next()
  sessions.send({ action: 'resume' })
  assert.equal(await line, '{"action":"resume"}\n')
  sessions.send({ action: 'step' })
  sessions.send({ action: 'replay', controller: 'foo', key: 'a' })
  assert.equal(await second.next(), '{"action":"step"}\n')
  assert.equal(await second.next(), '{"action":"replay","controller":"foo","key":"a"}\n')
  await second.end()
})
