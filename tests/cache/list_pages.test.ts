import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubeObject } from '../../lib/core/objects.ts'
import { nextTurn, sleep } from '../../lib/async/clock.ts'
import { Api } from '../../lib/client/api.ts'
import { listPages, type ListPagesOptions } from '../../lib/cache/list_pages.ts'
import { countedSignal } from '../async/counted_signal.ts'
import { SlowClock } from '../runtime/slow_clock.ts'
import { type Answer, list, POD, pod, refusal, ScriptedServer, Stream } from './scripted_server.ts'

function listing(server: ScriptedServer, more: Partial<ListPagesOptions> = {}, clock: SlowClock = new SlowClock(0)) {
  const { controller, listeners } = countedSignal()
  const state: { names?: string[]; version?: string; error?: unknown } = {}
  listPages({
    api: new Api({ transport: server.transport }),
    target: { resource: POD },
    clock,
    prepare: () => {},
    ...more,
  }, controller.signal).then(
    ({ objects, resourceVersion: version }) => {
      const names = Array.from(objects.values(), ({ metadata }) => metadata.name)
      Object.assign(state, { names, version })
    },
    (error: unknown) => void (state.error = error),
  )
  return {
    clock,
    state,
    stop: () => controller.abort(new Error('enough')),
    limits: () => server.requests.map(({ path }) => Number(new URLSearchParams(path.split('?')[1]).get('limit'))),
    end(): void {
      controller.abort()
      assert.deepEqual([clock.fake.pending, listeners()], [0, 0])
    },
  }
}

/** Returns an answer that comes later. */
const after = (ms: number, clock: SlowClock, answer: Answer): Answer => async (request) => {
  await sleep(clock, ms, request.signal)
  return await answer(request)
}

test('objects of the pages before an expired one are discarded; a second expiry also restarts the list', async () => {
  const server = new ScriptedServer()
  server.lists.push(
    list('5', [pod('gone', '1'), pod('a', '2')], 'two'),
    list('5', [pod('gone too', '3')], 'three'),
    refusal(410, 'Expired'),
    // A server that sends pages also without a limit.
    list('8', [pod('a', '2'), pod('gone meanwhile', '6')], 'more'),
    refusal(410, 'Expired'),
    list('9', [pod('b', '7'), pod('a', '2')]),
  )
  const l = listing(server)
  await l.clock.fake.advance(0)
  assert.deepEqual(l.state, { names: ['b', 'a'], version: '9' })
  assert.deepEqual(server.recorded(), ['list', 'list two', 'list three', 'list whole', 'list more', 'list whole'])
  l.end()
})

test('each part of a page has 150 s, no matter how long all of them take; pages may be of different versions', async () => {
  const [server, clock, last] = [new ScriptedServer(), new SlowClock(0), new Stream()]
  const pages = [list('5', [pod('a', '1')], 'two'), list('6', [pod('b', '2')], 'three'), last.answer]
  server.lists.push(...pages.map((page) => after(149_000, clock, page)))
  const l = listing(server, {}, clock)
  await l.clock.fake.advance(2 * 149_000)
  assert.deepEqual([l.state, server.recorded().length], [{}, 3])
  const start = '{"metadata":{"resourceVersion":"7"},"items":['.padEnd(2 ** 18)
  for (const part of [start, `${JSON.stringify(pod('c', '3'))}]}`]) {
    await l.clock.fake.advance(149_000)
    last.text(part)
  }
  last.end()
  await l.clock.fake.advance(0)
  assert.deepEqual(
    l.state,
    { names: ['a', 'b', 'c'], version: '5' },
    'a watch from a later version misses a change of a',
  )
  l.end()
})

test('a later page that does not come for 150 s fails the list', async () => {
  const [server, clock] = [new ScriptedServer(), new SlowClock(0)]
  server.lists.push(after(100_000, clock, list('5', [pod('a', '1')], 'two')), after(151_000, clock, list('5')))
  const l = listing(server, {}, clock)
  await l.clock.fake.advance(249_000)
  assert.deepEqual(l.state, {})
  await l.clock.fake.advance(1000)
  assert.match(String(l.state.error), /Cannot list pods: the server sent nothing for 150 s/)
  l.end()
})

test('a page is stored over several turns of the event loop, each object prepared once and in order; that time is not silence', async () => {
  const server = new ScriptedServer()
  server.lists.push(list('5', ['a', 'b', 'c', 'd'].map((name) => pod(name, '1')), 'two'), list('5', [pod('e', '1')]))
  const prepared: string[] = []
  const l = listing(server, { prepare: ({ metadata }: KubeObject) => void prepared.push(metadata.name) })
  l.clock.lookMs = 10
  await nextTurn()
  assert.ok(prepared.length > 0 && prepared.length < 4, `${prepared.length} in one turn`)
  await l.clock.fake.advance(200_000)
  for (let turn = 0; turn < 20; turn++) await nextTurn()
  assert.deepEqual([prepared, l.state], [['a', 'b', 'c', 'd', 'e'], { names: ['a', 'b', 'c', 'd', 'e'], version: '5' }])
  l.end()
})

test('of several pages that come at the same time, only one slow page is parsed per turn', async () => {
  const clock = new SlowClock(0)
  const began: string[] = []
  const lists = ['a', 'b', 'c'].map((name) => {
    const server = new ScriptedServer()
    server.lists.push(list('5', [1, 2, 3].map((i) => pod(`${name}${i}`, '1'))))
    return listing(server, {
      prepare: ({ metadata }: KubeObject) => void (metadata.name.endsWith('1') && began.push(metadata.name)),
    }, clock)
  })
  clock.lookMs = 10
  await Promise.resolve()
  await nextTurn()
  assert.equal(began.length, 1)
  for (let turn = 0; turn < 60; turn++) await nextTurn()
  assert.deepEqual(lists.map(({ state }) => state.names?.length), [3, 3, 3])
  for (const each of lists) each.end()
})

test('an abort between the objects of a page ends the list', async () => {
  const server = new ScriptedServer()
  server.lists.push(list('5', ['a', 'b', 'c', 'd'].map((name) => pod(name, '1'))))
  let prepared = 0
  const l = listing(server, { prepare: () => void prepared++ })
  l.clock.lookMs = 10
  await nextTurn()
  l.stop()
  for (let turn = 0; turn < 20; turn++) await nextTurn()
  assert.match(String(l.state.error), /enough/)
  assert.ok(prepared < 4)
  l.end()
})

test('the size of the next page depends on the size of the objects in the last one', async () => {
  const server = new ScriptedServer()
  const of = (kb: number, count: number, next?: string): Answer =>
    list('5', Array.from({ length: count }, (_, i) => pod(`p${i}`, '1', { spec: 'x'.repeat(kb * 1024) })), next)
  server.lists.push(
    of(0, 20, 'two'),
    of(100, 20, 'three'),
    of(1500, 2, 'four'),
    of(1, 1, 'five'),
    of(0, 0, 'six'),
    of(1, 1),
  )
  const l = listing(server)
  await l.clock.fake.advance(0)
  assert.ok(l.state.names)
  assert.deepEqual(l.limits(), [20, 500, 10, 1, 500, 500])
  l.end()
})
