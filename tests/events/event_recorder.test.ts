import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Api } from '../../lib/client/api.ts'
import { NetworkError } from '../../lib/core/errors.ts'
import type { Transport } from '../../lib/core/transport.ts'
import { EventRecorder } from '../../lib/events/event_recorder.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { answer, bodyOf, refusal, silence } from '../client/transports.ts'
import { where } from '../leader/candidates.ts'
import { memoryMeter } from '../observe/memory_meter.ts'
import { EVENT, fixture, FOO, foo, PATH, started } from './fixture.ts'

const MINUTE = 60_000
const refused: Transport = () => Promise.reject(new NetworkError('Cannot reach the server', { phase: 'connect' }))

test('an event is created with all fields that the API server requires', async () => {
  const { clock, events, stored, network } = started()
  events.normal(FOO, 'ScaledUp', 'from 1 to 3')
  await clock.advance(0)
  assert.deepEqual(network.take(), [`POST ${PATH}`])
  assert.deepEqual(bodyOf(network.requests[0]), {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { namespace: 'default', name: 'a.18867251edfa0000' },
    eventTime: '2026-01-01T00:00:00.000000Z',
    type: 'Normal',
    reason: 'ScaledUp',
    action: 'ScaledUp',
    note: 'from 1 to 3',
    regarding: {
      apiVersion: 'example.dev/v1',
      kind: 'Foo',
      namespace: 'default',
      name: 'a',
      uid: 'uid-a',
      resourceVersion: '7',
    },
    reportingController: 'foo-operator',
    reportingInstance: 'foo-operator-host',
  })
  assert.equal((await stored()).length, 1)
})

test('an event has its action, its related object, and its controller', async () => {
  const { clock, events, stored } = started()
  const child = { apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'default', name: 'p', uid: 'uid-p' } }
  events.as('example.dev/bar').warning(FOO, 'Killed', 'it was late', { action: 'Kill', related: child })
  await clock.advance(0)
  const [event] = await stored()
  assert.deepEqual([event!.type, event!.action, event!.reportingController], ['Warning', 'Kill', 'example.dev/bar'])
  assert.deepEqual(event!.related, { apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'p', uid: 'uid-p' })
})

test('an event about a cluster-scoped object is in the namespace default', async () => {
  const { clock, events, stored } = started()
  events.normal(
    { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1', namespace: undefined, uid: 'u' } },
    'Ready',
    'up',
  )
  await clock.advance(0)
  const [event] = await stored()
  assert.deepEqual([event!.metadata.namespace, event!.regarding], ['default', {
    apiVersion: 'v1',
    kind: 'Node',
    name: 'n1',
    uid: 'u',
  }])
})

test('only the reference of an object gets into an event', async () => {
  const { clock, events, network } = started()
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { ...FOO.metadata, annotations: { last: 'hunter2' } },
    data: { password: 'hunter2' },
  }
  events.normal(secret, 'Rotated', 'a new password', { related: secret })
  await clock.advance(0)
  assert.equal(network.requests.length, 1)
  assert.ok(!String(network.requests[0]!.body).includes('hunter2'))
})

test('a repeated event becomes a series, written after 1 s, 2 s, 4 s and so on up to every 5 minutes', async () => {
  const { clock, events, network, stored } = started()
  const writtenAt: number[] = []
  network.intercept = (request, next) => {
    writtenAt.push(clock.monotonic() / 1000)
    return next(request)
  }
  for (let second = 0; second < 1800; second++) {
    events.warning(foo('a', { resourceVersion: String(second) }), 'Failed', 'no image')
    await clock.advance(1000)
  }
  assert.deepEqual(writtenAt, [0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 811, 1111, 1411, 1711])
  const [event, ...others] = await stored()
  assert.equal(others.length, 0)
  assert.deepEqual(event!.series, { count: 1711, lastObservedTime: '2026-01-01T00:28:30.000000Z' })
  assert.equal(network.requests[1]!.method, 'PATCH')
  assert.deepEqual(bodyOf(network.requests[1]), {
    series: { count: 2, lastObservedTime: '2026-01-01T00:00:01.000000Z' },
  })
})

test('another note, reason, type, action or object is another event, and no note is lost', async () => {
  const { clock, events, notes } = started()
  events.normal(FOO, 'A', 'one')
  events.normal(FOO, 'A', 'two')
  events.normal(FOO, 'B', 'one')
  events.warning(FOO, 'A', 'one')
  events.normal(FOO, 'A', 'one', { action: 'X' })
  events.normal(foo('a', { uid: 'again' }), 'A', 'one')
  events.normal(FOO, 'A', 'one', { related: foo('b') })
  events.as('other').normal(FOO, 'A', 'one')
  await clock.advance(MINUTE)
  assert.deepEqual(await notes(), ['one', 'two', 'one', 'one', 'one', 'one', 'one', 'one'])
})

test('after six silent minutes a repetition is a new event, and the last count was written before', async () => {
  const { clock, events, notes } = started()
  for (let i = 0; i < 3; i++) {
    events.normal(FOO, 'Tick', 'tick')
    await clock.advance(5 * MINUTE)
  }
  assert.deepEqual(await notes(), ['tick × 3'])
  await clock.advance(MINUTE)
  events.normal(FOO, 'Tick', 'tick')
  await clock.advance(MINUTE)
  assert.deepEqual(await notes(), ['tick × 3', 'tick'])
})

test('an event that expired on the server is created again with the whole count', async () => {
  const { clock, events, notes, network, server, stored } = started()
  events.normal(FOO, 'Tick', 'tick')
  await clock.advance(2000)
  const [event] = await stored()
  await new Api({ transport: server }).delete({ resource: EVENT, namespace: 'default', name: event!.metadata.name }, {})
  network.take()
  events.normal(FOO, 'Tick', 'tick')
  await clock.advance(0)
  const path = `${PATH}/${event!.metadata.name}`
  assert.deepEqual(network.take(), [`PATCH ${path}`, `POST ${PATH}`])
  assert.deepEqual(await notes(), ['tick × 2'])
})

test('an instance that is too long is cut', async () => {
  const { clock, events, start, stored } = fixture({ instance: 'x'.repeat(200) })
  start()
  events.normal(FOO, 'Tick', 'tick')
  await clock.advance(0)
  assert.deepEqual((await stored()).map(({ reportingInstance }) => reportingInstance), ['x'.repeat(128)])
})

test('a name that is already used is changed', async () => {
  const a = fixture()
  const b = fixture({ api: new Api({ transport: a.server }), clock: a.clock, instance: 'other' })
  a.start()
  b.start()
  a.events.normal(FOO, 'Tick', 'of a')
  b.events.normal(FOO, 'Tick', 'of b')
  await a.clock.advance(0)
  assert.deepEqual(await a.notes(), ['of a', 'of b'])
  assert.deepEqual((await a.stored()).map(({ metadata }) => metadata.name), [
    'a.18867251edfa0000',
    'a.18867251edfa0001',
  ])
})

test('while the server is unreachable, one event is tried after 1 s, 2 s, 4 s … 30 s; then all are written in order', async () => {
  const { clock, events, notes, network, lines } = started()
  const triedAt: number[] = []
  const refuse: typeof network.intercept = (request) => {
    triedAt.push(clock.monotonic() / 1000)
    return refused(request)
  }
  network.intercept = refuse
  for (let i = 0; i < 20; i++) events.normal(foo(`x${i}`), 'Tick', `tick ${i}`)
  await clock.advance(100_000)
  // First the eight concurrent writes, then one at a time.
  assert.deepEqual(triedAt.slice(0, 8), Array(8).fill(0))
  const pauses = triedAt.slice(8).map((at, i, all) => at - (all[i - 1] ?? 0))
  assert.deepEqual(pauses, [1, 2, 4, 8, 16, 30, 30])
  network.intercept = undefined
  await clock.advance(30_000)
  assert.deepEqual((await notes()).toSorted(), Array.from({ length: 20 }, (_, i) => `tick ${i}`).toSorted())
  assert.deepEqual(lines, [])
  network.intercept = refuse
  triedAt.length = 0
  events.normal(foo('late'), 'Tick', 'tick')
  await clock.advance(3000)
  assert.deepEqual(triedAt.map((at) => at - triedAt[0]!), [0, 1, 3], 'the back-off begins again')
})

test('the Retry-After of a busy server is respected, up to five minutes', async () => {
  for (const [retryAfterSeconds, waitMs] of [[45, 45_000], [86_400, 300_000]] as const) {
    const { clock, events, notes, network } = started()
    network.intercept = () => Promise.resolve(refusal(429, 'TooManyRequests', { retryAfterSeconds }))
    events.normal(FOO, 'Tick', 'tick')
    await clock.advance(0)
    network.intercept = undefined
    await clock.advance(waitMs - 1000)
    assert.deepEqual(await notes(), [])
    await clock.advance(1000)
    assert.deepEqual(await notes(), ['tick'])
  }
})

test('a hanging request is given up after 10 s and retried', async () => {
  const { clock, events, notes, network } = started()
  network.intercept = silence
  events.normal(FOO, 'Tick', 'tick')
  await clock.advance(9999)
  network.intercept = undefined
  await clock.advance(1000)
  assert.deepEqual(await notes(), [])
  await clock.advance(1)
  assert.deepEqual(await notes(), ['tick'])
  network.intercept = where((request) => request.method === 'PATCH', silence)
  events.normal(FOO, 'Tick', 'tick')
  await clock.advance(5000)
  network.intercept = undefined
  await clock.advance(MINUTE)
  assert.deepEqual(await notes(), ['tick × 2'])
})

test('an event that fails twelve times is dropped and logged, and the others are written', async () => {
  const { clock, events, notes, network, lines } = started()
  network.intercept = where((request) => String(request.body).includes('poison'), () => refusal(500, 'InternalError'))
  events.normal(FOO, 'Tick', 'poison')
  events.normal(FOO, 'Tick', 'pure')
  await clock.advance(10 * MINUTE)
  assert.deepEqual(await notes(), ['pure'])
  assert.equal(network.requests.length, 13)
  assert.deepEqual(lines, [
    'warn Dropping the event Tick about Foo "default/a": Cannot create events.events.k8s.io in namespace "default": refused: InternalError',
  ])
})

test('of many different notes 25 are written at once and one every 5 minutes, per reason and object; the rest is logged and counted', async () => {
  const meter = memoryMeter()
  const { clock, events, stop, notes, lines } = started({ meter })
  for (let i = 0; i < 100; i++) events.warning(FOO, 'Failed', `try ${i}`)
  events.warning(FOO, 'Other', 'of another reason')
  events.warning(foo('b'), 'Failed', 'of another object')
  await clock.advance(0)
  assert.deepEqual(
    (await notes()).toSorted(),
    [...Array.from({ length: 25 }, (_, i) => `try ${i}`), 'of another object', 'of another reason'].toSorted(),
  )
  assert.equal(meter.value('kubeloop_events_dropped_total', { cause: 'rate' }), 75)
  const line =
    'warn Dropping events about Foo "default/a" with the reason Failed: there are more than 25 different ones; one is written every 5 m'
  assert.deepEqual(lines, [line])
  await clock.advance(5 * MINUTE)
  for (let i = 100; i < 110; i++) events.warning(FOO, 'Failed', `try ${i}`)
  await clock.advance(0)
  assert.equal((await notes()).filter((note) => note.startsWith('try 10')).length, 2)
  assert.deepEqual(lines, [line, line])
  stop()
  await clock.advance(0)
  assert.equal(lines.at(-1), 'warn Events were dropped {"rate":84}')
})

test('the first thousand events before the start are kept, and the dropped ones are logged once', async () => {
  const { clock, events, start, stored, lines } = fixture()
  for (let i = 0; i < 1200; i++) events.normal(foo(`x${i}`), 'Tick', 'tick')
  assert.equal(clock.pending, 0)
  start()
  await clock.advance(0)
  const names = (await stored()).map(({ regarding }) => regarding.name)
  assert.deepEqual(
    [names.length, names.includes('x0'), names.includes('x999'), names.includes('x1000')],
    [1000, true, true, false],
  )
  assert.deepEqual(lines, [
    'warn Dropping events: too many wait to be written. The API server cannot be reached, or too many events come at once',
  ])
})

test('a full queue is logged once, and the next time again', async () => {
  const { clock, events, network, lines } = started({ limits: { queue: 2 } })
  for (let jam = 0; jam < 2; jam++) {
    network.intercept = refused
    for (let i = 0; i < 5; i++) {
      events.normal(foo(`x${jam}-${i}`), 'Tick', 'tick')
      await clock.advance(0)
    }
    assert.equal(lines.length, jam + 1)
    network.intercept = undefined
    await clock.advance(MINUTE)
  }
})

test('a missing right is logged once with its rule; then no request is sent for five minutes', async () => {
  const meter = memoryMeter()
  const { clock, events, notes, network, lines } = started({ meter })
  const denial =
    'events.events.k8s.io is forbidden: User "foo" cannot create resource "events" in API group "events.k8s.io" in the namespace "default"'
  network.intercept = () =>
    Promise.resolve(refusal(403, 'Forbidden', { group: 'events.k8s.io', kind: 'events' }, denial))
  for (let i = 0; i < 50; i++) {
    events.normal(FOO, 'Tick', `tick ${i % 5}`)
    await clock.advance(5000)
  }
  assert.equal(network.requests.length, 1)
  assert.equal(meter.value('kubeloop_events_dropped_total', { cause: 'forbidden' }), 50)
  await clock.advance(MINUTE)
  events.normal(FOO, 'Tick', 'again')
  await clock.advance(0)
  assert.equal(network.requests.length, 2)
  assert.deepEqual(lines, [
    `warn Cannot create events.events.k8s.io in namespace "default": ${denial}; ` +
    'its role lacks { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"] }. Events of namespace "default" are dropped without further warnings; one is tried every 5 m',
  ])
  network.intercept = undefined
  await clock.advance(5 * MINUTE)
  events.normal(FOO, 'Tick', 'at last')
  await clock.advance(0)
  assert.deepEqual(await notes(), ['at last'])
})

test('a quota that refuses events is not reported as a missing right', async () => {
  const { clock, events, network, lines, errors } = started()
  const quota = 'events "x" is forbidden: exceeded quota: small, requested: count/events.events.k8s.io=1'
  network.intercept = () => Promise.resolve(refusal(403, 'Forbidden', { name: 'x', kind: 'events' }, quota))
  events.normal(FOO, 'Tick', 'tick')
  await clock.advance(0)
  assert.deepEqual(lines, [
    `warn Cannot create events.events.k8s.io in namespace "default": ${quota}. ` +
    'Events of namespace "default" are dropped without further warnings; one is tried every 5 m',
  ])
  assert.match(String(errors), /exceeded quota/)
})

test('if only create is allowed, repetitions are dropped and other events are written', async () => {
  const { clock, events, notes, network, lines } = started()
  network.intercept = where((request) => request.method === 'PATCH', () => refusal(403, 'Forbidden'))
  for (let i = 0; i < 100; i++) {
    events.normal(FOO, 'Tick', 'tick')
    await clock.advance(1000)
  }
  events.normal(FOO, 'Tick', 'other')
  await clock.advance(0)
  assert.deepEqual(await notes(), ['tick', 'other'])
  assert.deepEqual([network.take().length, lines.length], [3, 1])
  network.intercept = () => Promise.resolve(refusal(403, 'Forbidden'))
  events.normal(FOO, 'Tick', 'third')
  await clock.advance(0)
  assert.equal(lines.length, 2, 'the other right is named, too')
})

test('an event in a terminating namespace is dropped without a warning, and others are written', async () => {
  const { clock, events, start, notes, server, lines } = fixture()
  const api = new Api({ transport: server })
  const NAMESPACE = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', scope: 'Cluster' } as const
  const POD = { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', scope: 'Namespaced' } as const
  await api.create({ resource: NAMESPACE }, { metadata: { name: 'going' } }, {})
  await api.create(
    { resource: POD, namespace: 'going' },
    { metadata: { name: 'held', finalizers: ['example.dev/x'] } },
    {},
  )
  await api.delete({ resource: NAMESPACE, name: 'going' }, {})
  start()
  for (const namespace of ['going', 'gone', 'default']) events.normal(foo('x', { namespace }), 'Tick', namespace)
  await clock.advance(MINUTE)
  assert.deepEqual([await notes(), lines], [['default'], []])
})

test('an invalid event is dropped and logged', async () => {
  const { clock, events, notes, lines, errors, network } = started()
  network.intercept = where((request) => String(request.body).includes('odd'), () => refusal(422, 'Invalid'))
  events.normal(FOO, 'Tick', 'odd')
  events.normal(FOO, 'Tick', 'even')
  await clock.advance(MINUTE)
  assert.deepEqual([await notes(), network.requests.length], [['even'], 2])
  assert.deepEqual(lines, [
    'warn Dropping the event Tick about Foo "default/a": Cannot create events.events.k8s.io in namespace "default": refused: Invalid',
  ])
  assert.equal(errors.length, 1)
})

test('after the signal all waiting events and counts are written, and then the recorder ends', async () => {
  const f = started()
  f.events.normal(FOO, 'Tick', 'tick')
  await f.clock.advance(0)
  for (let i = 0; i < 3; i++) f.events.normal(FOO, 'Tick', 'tick')
  f.events.normal(FOO, 'Tick', 'tock')
  f.stop()
  f.events.normal(FOO, 'Tick', 'while it drains')
  await f.clock.advance(0)
  assert.deepEqual(await f.notes(), ['tick × 4', 'tock', 'while it drains'])
  assert.deepEqual([f.outcome, f.clock.pending, f.lines], ['resolved', 0, []])
})

test('the stop ends the back-off, and the next back-off is short again', async () => {
  const f = started()
  f.network.intercept = refused
  f.events.normal(FOO, 'Tick', 'tick')
  await f.clock.advance(2 * MINUTE)
  f.network.intercept = (request, next) => {
    f.network.intercept = next
    return refused(request)
  }
  f.stop()
  await f.clock.advance(999)
  assert.deepEqual(await f.notes(), [])
  await f.clock.advance(1)
  assert.deepEqual([await f.notes(), f.outcome], [['tick'], 'resolved'])
})

test('the recorder ends after 5 s if the server hangs or is unreachable; the remaining events are counted and logged', async () => {
  for (const transport of [silence, refused]) {
    const f = started()
    f.network.intercept = transport
    for (let i = 0; i < 20; i++) f.events.normal(foo(`x${i}`), 'Tick', 'tick')
    f.stop()
    await f.clock.advance(4999)
    assert.equal(f.outcome, undefined)
    await f.clock.advance(1)
    await f.clock.advance(0)
    assert.deepEqual([f.outcome, f.clock.pending, f.lines], ['resolved', 0, [
      'warn Events were dropped {"stopped":20}',
    ]])
  }
})

test('an event after the end is dropped and logged once, and does not throw', async () => {
  const meter = memoryMeter()
  const f = started({ meter })
  f.stop()
  await f.clock.advance(0)
  for (let i = 0; i < 3; i++) f.events.normal(FOO, 'Tick', `tick ${i}`)
  await f.clock.advance(MINUTE)
  assert.deepEqual([f.network.requests.length, f.lines], [0, [
    'warn Dropping event Tick and all later ones: the recorder has stopped',
  ]])
  assert.equal(meter.value('kubeloop_events_dropped_total', { cause: 'stopped' }), 3)
})

test('events are written also if the signal is already aborted at the start', async () => {
  const f = fixture()
  f.events.normal(FOO, 'Tick', 'tick')
  f.stop()
  f.start()
  await f.clock.advance(0)
  assert.deepEqual([f.outcome, await f.notes(), f.clock.pending], ['resolved', ['tick'], 0])
  const unanswered = fixture()
  unanswered.network.intercept = silence
  unanswered.events.normal(FOO, 'Tick', 'tick')
  unanswered.stop()
  unanswered.start()
  await unanswered.clock.advance(5000)
  assert.deepEqual([unanswered.outcome, unanswered.clock.pending], ['resolved', 0])
})

test('a second start is refused', async () => {
  const f = started()
  await assert.rejects(
    f.events.start(new AbortController().signal),
    /^Error: Cannot start the event recorder: it was started before$/,
  )
})

test('what the API server would refuse is logged at a limited rate and counted, and never throws', async () => {
  const meter = memoryMeter()
  const { events, lines, clock } = fixture({ meter })
  const refused = (call: () => void, what: RegExp): void => {
    call()
    assert.match(lines.splice(0).join(), what)
  }
  const by = (action: string) => events.normal(FOO, 'A', 'x', { action })
  refused(() => events.normal(FOO, '', 'x'), /error Cannot record an event: the reason "" must be a word/)
  refused(() => events.warning(FOO, 'two words', 'x'), /the reason "two words" must be a word/)
  refused(() => events.as('b').normal(FOO, 'x'.repeat(129), 'x'), /a word such as "ScaledUp" of at most 128 characters/)
  refused(() => by(''), /the action "" must have 1 to 128 bytes/)
  refused(() => by('é'.repeat(65)), /must have 1 to 128 bytes/)
  refused(() => events.normal({ ...FOO, kind: '' }, 'A', 'x'), /^$/)
  await clock.advance(60_000)
  const related = { ...FOO, apiVersion: '' }
  refused(
    () => events.normal(FOO, 'A', 'x', { related }),
    /the object lacks apiVersion, kind or metadata.name \(and 1 more like it\)/,
  )
  await clock.advance(60_000)
  refused(() => events.normal(FOO, 'A', undefined as unknown as string), /the note must be a string/)
  assert.equal(meter.value('kubeloop_events_dropped_total', { cause: 'refused' }), 8)
})

test('an invalid name of a controller or an instance throws', () => {
  const { events } = fixture()
  const mistake = (call: () => void, what: RegExp): void =>
    assert.throws(call, (error) => error instanceof TypeError && what.test(error.message))
  mistake(() => events.as('two words'), /^Cannot record events as "two words"/)
  const options = {
    api: new Api({ transport: silence }),
    clock: new FakeClock(),
    log: silentLog,
    controller: 'foo',
    instance: 'i',
  }
  mistake(
    () => new EventRecorder({ ...options, controller: 'foo/bar/baz' }),
    /^Cannot record events as "foo\/bar\/baz"/,
  )
  mistake(() => new EventRecorder({ ...options, instance: '' }), /the instance is empty/)
  events.normal(FOO, 'A', '')
  events.normal(FOO, 'A_b:c', '\ud800'.repeat(2000))
})

test('a server without events.k8s.io gets one request, and that is logged', async () => {
  const { clock, events, network, lines } = started()
  network.intercept = () => Promise.resolve(answer(404, '404 page not found'))
  for (let i = 0; i < 10; i++) {
    events.normal(FOO, 'Tick', `tick ${i}`)
    await clock.advance(1000)
  }
  assert.deepEqual([network.requests.length, lines.length], [1, 1])
  assert.match(lines[0]!, /it does not serve this kind/)
})
