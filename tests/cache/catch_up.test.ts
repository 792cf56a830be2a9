import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NetworkError } from '../../lib/core/errors.ts'
import { Api } from '../../lib/client/api.ts'
import { nextTurn, turnBudgetOf } from '../../lib/async/clock.ts'
import { Cache } from '../../lib/cache/cache.ts'
import { catchUp } from '../../lib/cache/catch_up.ts'
import { Informer, type InformerOptions } from '../../lib/cache/informer.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { countedSignal } from '../async/counted_signal.ts'
import { watchOutcome } from '../manager/parts.ts'
import { SlowClock } from '../runtime/slow_clock.ts'
import {
  type Answer,
  failing,
  keptLog,
  list,
  NODE,
  POD,
  pod,
  refusal,
  ScriptedServer,
  Stream,
} from './scripted_server.ts'

/**
 * An informer with the pods a (version 1) and b (version 2) at version 5, and an open watch. `streams`: the watch has
 * begun with the pods.
 */
async function informing(more: Partial<InformerOptions> = {}, streams = false) {
  const [server, clock, stream] = [new ScriptedServer(), new FakeClock(), new Stream()]
  if (streams) {
    server.streams.push(stream.answer)
    for (const each of [pod('a', '1'), pod('b', '2')]) stream.send('ADDED', each)
    stream.mark('5')
  } else {
    server.lists.push(list('5', [pod('a', '1'), pod('b', '2')]))
    server.watches.push(stream.answer)
  }
  const informer = new Informer({
    api: new Api({ transport: server.transport, clock }),
    resource: POD,
    clock,
    random: () => 0,
    ...more,
  })
  const stop = new AbortController()
  const ended = informer.start(stop.signal)
  await clock.advance(0)
  server.recorded()
  const { controller, listeners } = countedSignal()
  return {
    server,
    clock,
    stream,
    informer,
    controller,
    async catchUp() {
      const caughtUp = watchOutcome(informer.caughtUp(controller.signal))
      await clock.advance(0)
      return caughtUp
    },
    async end() {
      stop.abort()
      await ended
      assert.deepEqual([clock.pending, listeners()], [0, 0])
    },
  }
}

test('an idle kind has caught up after one request, for the metadata of its own objects', async () => {
  const i = await informing({ namespace: 'default', labels: { a: 'b' }, fields: 'metadata.name!=c' })
  i.server.lists.push(list('99', [pod('a', '1'), pod('b', '2')]))
  assert.equal((await i.catchUp()).outcome, 'resolved')
  const { path, headers } = i.server.requests.at(-1)!
  assert.equal(
    path,
    '/api/v1/namespaces/default/pods?labelSelector=a%3Db&fieldSelector=metadata.name!%3Dc&limit=500',
  )
  assert.match(headers!['accept']!, /as=PartialObjectMetadataList/)
  await i.end()
})

const lags: Readonly<
  Record<string, { readonly now: readonly [string, string][]; readonly event: (stream: Stream) => void }>
> = {
  'a new object': {
    now: [['a', '1'], ['b', '2'], ['c', '6']],
    event: (stream) => stream.send('ADDED', pod('c', '6')),
  },
  'a new object that was changed since': {
    now: [['a', '1'], ['b', '2'], ['c', '6']],
    event: (stream) => stream.send('ADDED', pod('c', '8')),
  },
  'a changed object': { now: [['a', '7'], ['b', '2']], event: (stream) => stream.send('MODIFIED', pod('a', '7')) },
  'a deleted object': { now: [['b', '2']], event: (stream) => stream.send('DELETED', pod('a', '6')) },
  'an object that was replaced after the list': {
    now: [['b', '2']],
    event: (stream) => stream.send('MODIFIED', pod('a', '10')),
  },
}

for (const [what, { now, event }] of Object.entries(lags)) {
  test(`${what} is waited for`, async () => {
    const i = await informing()
    i.server.lists.push(list('9', now.map(([name, version]) => pod(name, version))))
    const caughtUp = await i.catchUp()
    assert.equal(caughtUp.outcome, undefined)
    i.stream.send('MODIFIED', pod('b', '4'))
    await i.clock.advance(900)
    assert.equal(caughtUp.outcome, undefined, 'another event does not end the wait')
    event(i.stream)
    await i.clock.advance(0)
    assert.equal(caughtUp.outcome, 'resolved')
    assert.deepEqual(i.server.recorded(), ['list'])
    await i.end()
  })
}

test('a bookmark or an event of the version ends the wait, whatever differs', async () => {
  for (const ends of ['bookmark', 'event'] as const) {
    const i = await informing()
    i.server.lists.push(list('9', [pod('never seen', '6')]))
    const caughtUp = await i.catchUp()
    i.stream.bookmark('8')
    await i.clock.advance(0)
    assert.equal(caughtUp.outcome, undefined)
    if (ends === 'bookmark') i.stream.bookmark('9')
    else i.stream.send('ADDED', pod('d', '10'))
    await i.clock.advance(0)
    assert.equal(caughtUp.outcome, 'resolved')
    await i.end()
  }
})

test('a large store is compared in several turns of the event loop', async () => {
  const server = new ScriptedServer()
  server.lists.push(list('9', []))
  let compared = 0
  const store = {
    get: () => undefined,
    *heads() {
      for (; compared < 100; compared++) yield pod(`p${compared}`, '1')
    },
  }
  const clock = new SlowClock(1)
  const api = new Api({ transport: server.transport, clock })
  const late = { lastSeen: () => '5', progress: () => new Promise<void>(() => {}), reopen() {} }
  const caughtUp = catchUp({
    api,
    resource: POD,
    clock,
    store,
    ...late,
    budget: turnBudgetOf(clock),
  }, new AbortController().signal)
  for (let turn = 0; turn < 100 && compared < 100; turn++) {
    const before = compared
    await nextTurn()
    assert.ok(compared - before <= 10, `${compared - before} objects in one turn`)
  }
  assert.equal(compared, 100)
  await caughtUp
})

test('an object that is up to date is not compared again while the others come', async () => {
  const server = new ScriptedServer()
  const names = Array.from({ length: 50 }, (_, at) => `p${at}`)
  server.lists.push(list('99', names.map((name) => pod(name, '9'))))
  let [come, compared] = [0, 0]
  const clock = new FakeClock()
  await catchUp({
    api: new Api({ transport: server.transport, clock }),
    resource: POD,
    clock,
    budget: turnBudgetOf(clock),
    store: {
      get: (key) => (compared++, names.indexOf(key.slice('default/'.length)) < come ? pod('it', '9') : undefined),
      heads: () => [].values(),
    },
    lastSeen: () => '5',
    progress: async () => void come++,
    reopen() {},
  }, new AbortController().signal)
  assert.ok(come === names.length && compared <= 4 * come, `${compared} comparisons of ${come} objects`)
})

for (const streams of [false, true]) {
  const what = streams ? 'that began with the objects' : 'after a list'
  test(`a watch ${what} that is still late after 1 s is opened again, once`, async () => {
    const i = await informing({}, streams)
    i.server.lists.push(list('9', [pod('a', '1'), pod('b', '2'), pod('c', '6')]))
    const reopened = new Stream()
    i.server.watches.push(reopened.answer)
    const caughtUp = await i.catchUp()
    await i.clock.advance(999)
    assert.deepEqual(i.server.recorded(), ['list'])
    await i.clock.advance(1)
    assert.deepEqual(i.server.recorded(), ['watch 5'])
    assert.equal(i.informer.failure, undefined)
    await i.clock.advance(2000)
    assert.deepEqual(i.server.recorded(), [])
    reopened.bookmark('9')
    await i.clock.advance(0)
    assert.equal(caughtUp.outcome, 'resolved')
    await i.end()
  })
}

test('a list that fails for now is repeated after 1 s; one that is refused rejects; an abort ends the wait', async () => {
  const i = await informing()
  const lost = new NetworkError('lost', { phase: 'response', code: 'ECONNRESET' })
  i.server.lists.push(failing(lost), refusal(503, 'ServiceUnavailable'), list('9', [pod('a', '1'), pod('b', '2')]))
  const caughtUp = await i.catchUp()
  await i.clock.advance(1999)
  assert.equal(caughtUp.outcome, undefined)
  await i.clock.advance(1)
  assert.equal(caughtUp.outcome, 'resolved')
  i.server.lists.push(refusal(403, 'Forbidden'))
  assert.match(String((await i.catchUp()).outcome), /Cannot list pods: scripted Forbidden/)
  i.server.lists.push(list('20', []))
  const waiting = await i.catchUp()
  i.controller.abort()
  await i.end()
  assert.match(String(waiting.outcome), /AbortError/)
})

test('an informer in its back-off tries again at once', async () => {
  const i = await informing()
  i.server.watches.push(failing(new NetworkError('lost', { phase: 'connect' })))
  i.stream.fail(new NetworkError('lost', { phase: 'body' }))
  await i.clock.advance(800)
  assert.deepEqual(i.server.recorded(), ['list', 'watch 5'])
  const open = new Stream()
  i.server.watches.push(open.answer)
  // One to find out whether the server was restored, and one to compare.
  const [then, now] = [list('5', [pod('b', '2')]), list('9', [pod('b', '7'), pod('a', '1')])]
  const answer: Answer = (request) => (request.path.includes('=Exact') ? then : now)(request)
  i.server.lists.push(answer, answer)
  const caughtUp = await i.catchUp()
  assert.deepEqual(i.server.recorded().toSorted(), ['list', 'list', 'watch 5'])
  open.send('MODIFIED', pod('b', '7'))
  await i.clock.advance(0)
  assert.equal(caughtUp.outcome, 'resolved')
  await i.end()
})

interface Kinds {
  readonly pods: ScriptedServer
  readonly nodes: ScriptedServer
}

/** A cache of pods and nodes, each with a server of its own. */
async function caching(begin: (kinds: Kinds) => void, optional = false) {
  const clock = new FakeClock()
  const kinds: Kinds = { pods: new ScriptedServer(), nodes: new ScriptedServer() }
  const { lines, log } = keptLog()
  const cache = new Cache({
    api: new Api({
      transport: (request) => kinds[request.path.includes('/nodes') ? 'nodes' : 'pods'].transport(request),
      clock,
    }),
    clock,
    log,
    random: () => 0.5,
    optional: ({ kind }) => optional && kind === 'Node',
  })
  cache.declare(POD)
  cache.declare(NODE)
  begin(kinds)
  const stop = new AbortController()
  const ended = cache.start(stop.signal)
  await clock.advance(0)
  return {
    ...kinds,
    clock,
    cache,
    lines: () => lines.splice(0).filter((line) => !line.startsWith('debug')),
    async lead() {
      for (const server of Object.values(kinds)) server.recorded()
      const signal = new AbortController()
      const led = watchOutcome(cache.beforeLeading(signal.signal))
      await clock.advance(0)
      return { led, abort: () => signal.abort() }
    },
    async end() {
      stop.abort()
      await ended
      assert.equal(clock.pending, 0)
    },
  }
}

test('after 10 s the leader starts, and what has not caught up is logged', async () => {
  const c = await caching(({ pods, nodes }) => {
    pods.lists.push(list('5', []), list('9', [pod('new', '6')]))
    nodes.lists.push(list('5', []), refusal(403, 'Forbidden'))
  })
  const { led } = await c.lead()
  await c.clock.advance(9_999)
  assert.deepEqual([led.outcome, c.lines()], [undefined, []])
  await c.clock.advance(1)
  assert.equal(led.outcome, 'resolved')
  assert.deepEqual(c.lines(), [
    "warn Leading with a cache that may lack the last leader's writes, as it has not caught up: pods; " +
    'Cannot list nodes: scripted Forbidden',
  ])
  await c.end()
})

test('leaders of buckets that wait together have one line, a later one has another', async () => {
  const c = await caching(({ pods, nodes }) => {
    pods.lists.push(list('5', []), ...[1, 2, 3].map(() => list('9', [pod('new', '6')])))
    nodes.lists.push(list('5', []), ...[1, 2, 3].map(() => list('5', [])))
  })
  const line = "warn Leading with a cache that may lack the last leader's writes, as it has not caught up: pods"
  for (const leaders of [2, 1]) {
    const all = [await c.lead(), ...(leaders > 1 ? [await c.lead()] : [])]
    await c.clock.advance(10_000)
    assert.deepEqual(all.map(({ led }) => led.outcome), all.map(() => 'resolved'))
    assert.deepEqual(c.lines().splice(0), [line])
  }
  await c.end()
})

test('an abort ends the wait without a line', async () => {
  const c = await caching(({ pods, nodes }) => {
    pods.lists.push(list('5', []), list('9', [pod('new', '6')]))
    nodes.lists.push(list('5', []), list('5', []))
  })
  const { led, abort } = await c.lead()
  abort()
  await c.clock.advance(0)
  assert.match(String(led.outcome), /AbortError/)
  assert.deepEqual(c.lines(), [])
  await c.end()
})

test('kinds without a list, removed ones and failing optional ones are not waited for; those that fail are logged', async () => {
  const unsynced = await caching(({ pods, nodes }) => {
    pods.lists.push(list('5', []), list('5', []))
    nodes.lists.push(refusal(404, 'NotFound'))
  })
  assert.equal((await unsynced.lead()).led.outcome, 'resolved')
  assert.deepEqual(unsynced.nodes.recorded(), [])
  await unsynced.end()

  const failed = await caching(({ pods, nodes }) => {
    pods.lists.push(list('5', []), list('5', []))
    nodes.lists.push(list('5', []))
    nodes.watches.push(failing(new NetworkError('lost', { phase: 'connect' })))
  }, true)
  assert.equal((await failed.lead()).led.outcome, 'resolved')
  assert.deepEqual(failed.nodes.recorded(), [])
  const what = "warn Leading with a cache that may lack the last leader's writes, as it has not caught up: nodes"
  assert.deepEqual(failed.lines().slice(-1), [what])
  await failed.end()

  const needed = await caching(({ pods, nodes }) => {
    pods.lists.push(list('5', []), list('5', []))
    nodes.lists.push(list('5', []), list('9', [pod('new', '6')]))
    nodes.watches.push(failing(new NetworkError('lost', { phase: 'connect' })))
  })
  const waiting = await needed.lead()
  assert.equal(waiting.led.outcome, undefined)
  waiting.abort()
  await needed.end()

  const gone = await caching(({ pods, nodes }) => {
    pods.lists.push(list('5', []), list('5', []))
    nodes.lists.push(list('5', []))
    nodes.watches.push(refusal(404, 'NotFound'))
  }, true)
  assert.equal((await gone.lead()).led.outcome, 'resolved')
  assert.doesNotMatch(gone.lines().join(), /Leading/)
  await gone.end()

  const removed = await caching(({ pods, nodes }) => {
    pods.lists.push(list('5', []), list('5', []))
    nodes.lists.push(list('5', []), list('9', [pod('new', '6')]))
  })
  const { led } = await removed.lead()
  assert.equal(led.outcome, undefined)
  removed.cache.remove(NODE)
  await removed.clock.advance(0)
  assert.deepEqual([led.outcome, removed.lines()], ['resolved', []])
  await removed.end()
})

test('of hundreds of informers, 16 catch up at the same time', async () => {
  const clock = new FakeClock()
  let open = 0
  let most = 0
  const server = new ScriptedServer()
  const cache = new Cache({
    clock,
    api: new Api({
      clock,
      transport: async (request) => {
        if (request.path.includes('watch=true')) return await server.transport(request)
        most = Math.max(most, ++open)
        await new Promise<void>((resolve) => clock.after(10, resolve))
        open--
        return await list('5', [])(request)
      },
    }),
  })
  cache.declare(POD, { namespaces: Array.from({ length: 100 }, (_, i) => `n${i}`) })
  const stop = new AbortController()
  const ended = cache.start(stop.signal)
  await clock.advance(100)
  most = 0
  const led = watchOutcome(cache.beforeLeading(stop.signal))
  await clock.advance(70)
  assert.deepEqual([led.outcome, most], ['resolved', 16])
  stop.abort()
  await ended
})

/** Pods are lost after 5 s, and work again at 6.2 s; the watch of nodes has failed from the beginning. */
async function outage(nodesAnswer: Answer) {
  const pods = new Stream()
  const c = await caching((kinds) => {
    kinds.pods.lists.push(list('5', []))
    kinds.nodes.lists.push(list('5', []))
    kinds.pods.watches.push(pods.answer, new Stream().answer)
    kinds.nodes.watches.push(...Array.from({ length: 9 }, () => nodesAnswer))
  })
  await c.clock.advance(5000)
  pods.fail(new NetworkError('lost', { phase: 'body', code: 'ECONNRESET' }))
  await c.clock.advance(1199)
  c.nodes.recorded()
  return c
}

const down = failing(new NetworkError('down', { phase: 'connect', code: 'ECONNREFUSED' }))

test('the first watch that works after an outage ends the back-off of the others, within 500 ms', async () => {
  for (const answer of [down, refusal(502, 'BadGateway')]) {
    const c = await outage(answer)
    await c.clock.advance(1 + 249)
    assert.deepEqual(c.nodes.recorded(), [])
    await c.clock.advance(1)
    // By its own back-off, the next try is at 8.4 s.
    assert.deepEqual(c.nodes.recorded(), ['list', 'watch 5'])
    await c.end()
  }
})

test('a refused kind, and one that the server asked to wait, are not hurried', async () => {
  for (const answer of [refusal(403, 'Forbidden'), refusal(503, 'ServiceUnavailable', { 'retry-after': '100' })]) {
    const c = await outage(answer)
    await c.clock.advance(8_399 - 6_199)
    assert.deepEqual(c.nodes.recorded(), [])
    await c.end()
  }
})

test('a watch that is no longer refused is no sign of a server that works again', async () => {
  for (const [answer, expected] of [[refusal(403, 'Forbidden'), 0], [down, 1]] as const) {
    let recovered = 0
    const i = await informing({ onRecovered: () => void recovered++ })
    i.server.watches.push(answer, new Stream().answer)
    i.stream.fail(new NetworkError('lost', { phase: 'body', code: 'ECONNRESET' }))
    await i.clock.advance(10_000)
    assert.deepEqual([i.server.watches.length, recovered], [0, expected])
    await i.end()
  }
})

test('watches that are accepted and break again and again do not hurry each other all the time', async () => {
  const breaking: Answer = (request) => {
    const stream = new Stream()
    stream.fail(new NetworkError('lost', { phase: 'body', code: 'ECONNRESET' }))
    return stream.answer(request)
  }
  const c = await caching((kinds) => {
    for (const server of Object.values(kinds)) {
      server.lists.push(list('5', []))
      server.watches.push(...Array.from({ length: 1000 }, () => breaking))
    }
  })
  await c.clock.advance(60_000)
  const tries = 1000 - c.nodes.watches.length
  assert.ok(tries <= 5 + 60 / 5, `${tries} tries within a minute`)
  await c.end()
})
