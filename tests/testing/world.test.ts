/** Tests how worlds end, how faults affect them, and that equal seeds repeat them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  LeadershipLost,
  type Log,
  NetworkError,
  type Operator,
  operator,
  type OperatorOptions,
  type Transport,
} from 'kubeloop'
import { ConfigMap, Lease, Pod } from 'kubeloop/kinds'
import { type World, world } from 'kubeloop/testing'
import { sleep } from '../../lib/async/clock.ts'
import { Trace } from '../../lib/testing/world/trace.ts'
import { isOurs, map, nowhere, ref, silent } from './worlds.ts'

const never = (): Promise<never> => new Promise(() => {})

function failing(): Operator {
  return operator({ name: 'x' }).extend(({ manager, clock }) =>
    manager.add({
      name: 'disk',
      everyReplica: true,
      start: (signal) => sleep(clock, 60_000, signal).then(() => Promise.reject(new Error('no disk'))),
    })
  ).add('idle', ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())))
}

/** Returns an operator whose requests to its own cluster pass through `around`. */
function through(
  app: Operator,
  around: (transport: Transport, options: NonNullable<Parameters<Operator['start']>[1]>) => Transport,
): Operator {
  const start: Operator['start'] = (signal, options = {}) =>
    app.start(signal, { ...options, transport: around(options.transport!, options) })
  return Object.create(app, { description: { value: app.description }, start: { value: start } }) as Operator
}

test('when an operator ends with an error, settle and advance reject with it every time, and stop does not repeat it', async () => {
  await using w = await world(failing())
  await w.settle()
  await assert.rejects(w.advance('2m'), /^Error: no disk$/)
  await assert.rejects(w.settle(), /^Error: no disk$/)
  await assert.rejects(w.advance(0), /^Error: no disk$/)
})

test('stop rejects once with an error that no other call has reported', async () => {
  const app = operator({ name: 'x', grace: '5s' })
  app.controllerFor(ConfigMap, { when: isOurs }).reconcile(never)
  const w = await world(app, { realTimeout: '10ms' })
  await w.client.create(ConfigMap, map('a'))
  await assert.rejects(
    w.settle(),
    /Cannot settle: after 10 ms of real time there is still work: the controller "configmap" reconciles "default\/a"; .* wait for something that never happens\? .*w\.service\(url, .*realTimeout: '30s'/,
  )
  // Only the end of the grace period ends this reconcile.
  const beganMs = w.clock.monotonic()
  await assert.rejects(w.stop(), /still running: "configmap"/)
  assert.equal(w.clock.monotonic() - beganMs, 5000)
  await w.stop()
})

test('a failure that takeFailure has returned is not reported again, and the other replicas continue', async () => {
  const runs: string[] = []
  const app = operator({ name: 'x', leaderElection: true })
  app.controllerFor(ConfigMap, { when: isOurs }).reconcile(async ({ metadata }) => void runs.push(metadata.name))
  await using w = await world(app, { replicas: 2 })
  assert.equal(w.takeFailure(), undefined)
  w.fault({ verb: 'update', resource: Lease, status: 500, times: 5 })
  await assert.rejects(w.advance('20s'), LeadershipLost)
  assert.ok(w.takeFailure() instanceof LeadershipLost)
  assert.equal(w.takeFailure(), undefined)
  await w.advance('30s')
  await w.client.create(ConfigMap, map('a'))
  await w.settle()
  assert.deepEqual(runs, ['a'], 'the other replica leads')
})

test("a stop with an infinite grace period ends with an error after the world's limit", async () => {
  const app = operator({ name: 'stuck', grace: 'forever' })
  app.controllerFor(ConfigMap, { when: isOurs }).reconcile(never)
  const w = await world(app, { realTimeout: '10ms' })
  await w.client.create(ConfigMap, map('a'))
  await assert.rejects(w.settle(), /Cannot settle/)
  await assert.rejects(
    w.stop(),
    /Cannot stop operator "stuck": it has not ended 1\.2 h after its signal was aborted; does a task or a reconcile wait.* Before that: Cannot settle: /,
  )
})

test('an operator that fails at its start is stopped, and its error is reported', async () => {
  let stopped = false
  const app = operator({ name: 'x' })
    .add(
      'other',
      ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', () => (stopped = true, resolve()))),
    )
    .add('broken', () => Promise.reject(new Error('no disk')), { restart: false })
  await assert.rejects(world(app), /^Error: Cannot run the task "broken" .*: no disk \(this ends the operator/)
  assert.ok(stopped)
})

test('the end of an await using block stops the operator, and throws an error that was not reported', async () => {
  const app = operator({ name: 'x', grace: 0 })
  let stopped = false
  app.add(
    'idle',
    ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', () => (stopped = true, resolve()))),
  )
  {
    await using w = await world(app)
    await w.settle()
  }
  assert.ok(stopped)
  const w = await world(app)
  const nowMs = w.clock.now()
  await w.stop()
  assert.equal(w.clock.now(), nowMs, 'a stop without work takes no time')
})

function copier(options: Partial<OperatorOptions> = {}): { app: Operator; west: { name: string } } {
  const app = operator({ name: 'copier', ...options })
  const west = app.cluster('west', nowhere)
  app.controllerFor(ConfigMap, { when: isOurs })
    .reconcile(async ({ metadata }, { clientOf }) =>
      void (await clientOf(west).apply(ConfigMap, { metadata: ref(metadata.name) }))
    )
  return { app, west }
}

test('faults affect requests to other clusters, and only to the named ones', async () => {
  for (const cluster of ['west', { name: 'west' }, undefined]) {
    const { app, west } = copier()
    await using w = await world(app)
    w.fault({ ...(cluster ? { cluster } : {}), verb: 'patch', status: 500, times: 2 })
    await w.client.create(ConfigMap, map('a'))
    await w.settle()
    assert.equal(await w.clientOf(west).get(ConfigMap, ref('a')), undefined, String(cluster))
    await w.advance('10ms')
    assert.equal(await w.clientOf(west).get(ConfigMap, ref('a')), undefined, `${String(cluster)}: a second time`)
    await w.advance('20ms')
    assert.ok(await w.clientOf(west).get(ConfigMap, ref('a')), `${String(cluster)}: no third time`)
  }
  const { app, west } = copier()
  await using w = await world(app)
  w.fault({ cluster: null, verb: 'patch', status: 500, times: Infinity })
  await w.client.create(ConfigMap, map('a'))
  await w.settle()
  assert.ok(await w.clientOf(west).get(ConfigMap, ref('a')), 'null is only the own cluster')
})

test('a fault without an effect is refused when it is added', async () => {
  await using w = await world(copier().app)
  assert.throws(
    () => w.fault({ verb: 'patch' }),
    /Cannot add a fault: it has no effect; give it a status, a delay, cut, drop, stale, lag or repeat/,
  )
  assert.throws(
    () => w.fault({ verb: 'apply', cut: true }),
    /Cannot add a fault: verb is "apply"; it must be "get" or "list" or "watch"/,
  )
  assert.throws(
    () => w.fault({ cluster: 'east', cut: true }),
    /Cannot add a fault to the cluster "east": the operator has no cluster of that name/,
  )
  assert.throws(() => w.fault({ cluster: { name: 'east' }, cut: true }), /"east"/)
  assert.throws(() => w.fault({ delay: '5 s' as never }), /Cannot read duration "5 s"/)
  assert.throws(() => w.fault({ status: 0 }), /status is 0/)
  assert.throws(() => w.fault({ cut: true, times: 0 }), /times is 0/)
})

test('every cluster has a garbage collector, which deletes owned objects', async () => {
  const { app, west } = copier()
  await using w = await world(app)
  for (const client of [w.client, w.clientOf(west)]) {
    const owner = await client.create(ConfigMap, { metadata: ref('owner') })
    await client.create(ConfigMap, {
      metadata: {
        ...ref('child'),
        ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner.metadata.uid }],
      },
    })
    await client.delete(ConfigMap, ref('owner'))
    await w.settle()
    assert.equal(await client.get(ConfigMap, ref('child')), undefined)
  }
})

/** Returns the events of a watch of ConfigMaps and its end, as the operator gets them. */
async function watchCut(
  fault: (w: World) => void,
): Promise<{ heads: number[]; failures: NetworkError[]; w: World; seen: string[] }> {
  const heads: number[] = []
  const failures: NetworkError[] = []
  const seen: string[] = []
  const app = operator({ name: 'x' })
  app.controllerFor(ConfigMap, { when: isOurs }).reconcile(async ({ metadata }) => void seen.push(metadata.name))
  const note = (error: unknown): never => {
    failures.push(error as NetworkError)
    throw error
  }
  const watching = through(app, (transport) => async (request) => {
    if (!/\/configmaps\?.*watch=true/.test(request.path)) return await transport(request)
    const response = await transport(request).catch(note)
    heads.push(response.status)
    const cancel = (): void => response.body.cancel()
    const read = async function* (): AsyncGenerator<Uint8Array> {
      try {
        yield* response.body
      } catch (error) {
        note(error)
      }
    }
    return {
      ...response,
      body: { ...response.body, text: () => response.body.text(), cancel, [Symbol.asyncIterator]: read },
    }
  })
  const w = await world(watching)
  heads.length = 0
  fault(w)
  // The server ends each watch after some minutes; the fault affects the next one.
  await w.advance('11m')
  return { heads, failures, w, seen }
}

test('a cut also closes the watch on the server', async () => {
  const before = await watchCut(() => {})
  const after = await watchCut((w) => w.fault({ verb: 'watch', resource: ConfigMap, cut: true, times: 3 }))
  assert.equal(after.w.clock.pending, before.w.clock.pending, 'the server has a timer for each open watch')
  await before.w.stop()
  await after.w.stop()
})

/** Runs a busy operator in a world with this seed, and returns all that it does. */
async function record(
  seed: number,
  logged: boolean,
): Promise<{ requests: string[]; lines: string[]; objects: unknown[]; timeMs: number; trace: unknown[] }> {
  const requests: string[] = []
  const lines: string[] = []
  const at = (level: string): Log['info'] => (message, fields) =>
    void (logged &&
      lines.push(
        `${level} ${message} ${
          JSON.stringify(fields ?? {}, (_, value) => value instanceof Error ? String(value) : value)
        }`,
      ))
  const log: Log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  let opened = 0
  const app = operator({ name: 'busy', leaderElection: true })
  const west = app.cluster('west', nowhere)
  app.controllerFor(ConfigMap, { when: isOurs, concurrency: 3 })
    .from('stream', async function* () {
      yield* [ref('a'), ref('b')]
      if (opened++ < 6) throw new Error('the stream broke off')
      await never()
    })
    .every('90s')
    .reconcile(async (own, { client, clientOf, events, log, attempt }) => {
      if (logged) log.info('run')
      events.normal(own, 'Run', `try ${attempt}`)
      await client.create(Pod, {
        metadata: { namespace: 'default', generateName: `${own.metadata.name}-` },
        spec: { containers: [{ name: 'c', image: 'i' }] },
      })
      await clientOf(west).apply(ConfigMap, { metadata: ref(own.metadata.name), data: { attempt: String(attempt) } })
      if (attempt < 4) throw new Error('again')
      return { requeueAfter: '1m' }
    })
  const recorded = through(app, (transport, { instance, clock, transports }) => {
    const around = (to: string, inner: Transport): Transport => async (request) => {
      const line = `${clock!.now()} ${instance} ${to} ${request.method} ${request.path} ${String(request.body ?? '')}`
      const response = await inner(request)
      requests.push(`${line} ${response.status}`)
      return response
    }
    for (const [name, inner] of Object.entries(transports!)) {
      ;(transports as Record<string, Transport>)[name] = around(name, inner)
    }
    return around('own', transport)
  })
  const w = await world(recorded, { seed, log, replicas: 2 })
  w.fault({ verb: 'create', status: 500, times: 4 })
  w.fault({ verb: 'watch', cut: true, times: 4 })
  w.fault({ verb: 'update', resource: Lease, delay: '3s' })
  for (const name of ['a', 'b', 'c']) await w.client.create(ConfigMap, map(name))
  await w.advance('3m')
  await w.client.delete(ConfigMap, ref('b'))
  await w.advance('1m')
  const objects = [
    await w.client.list(Pod),
    await w.client.list(ConfigMap),
    await w.client.list(Lease),
    await w.clientOf(west).list(ConfigMap),
  ]
  await w.stop()
  return { requests, lines, objects, timeMs: w.clock.now(), trace: [...w.trace()] }
}

test('equal seeds give equal runs: requests, their order and times, uids, versions, names, identities and log lines', async () => {
  const first = await record(7, true)
  assert.ok(first.requests.length > 200, `${first.requests.length} requests`)
  assert.ok(
    first.lines.some((line) => line.includes('reconcileID')) &&
      first.requests.some((line) => line.includes('holderIdentity')),
  )
  const escaped: string[] = []
  const [random, uuid] = [Math.random, crypto.randomUUID]
  Math.random = () => (escaped.push(`Math.random ${new Error().stack}`), random())
  crypto.randomUUID = () => (escaped.push(`crypto.randomUUID ${new Error().stack}`), uuid.call(crypto))
  let second: typeof first
  try {
    second = await record(7, true)
  } finally {
    Math.random = random
    crypto.randomUUID = uuid
  }
  assert.deepEqual(escaped.filter((stack) => stack.includes('/lib/')), [], 'random values come only from the seed')
  assert.deepEqual(second.requests, first.requests)
  assert.deepEqual(second.objects, first.objects)
  assert.deepEqual(second.lines, first.lines)
  assert.equal(second.timeMs, first.timeMs)
  assert.ok(first.trace.length > 100, `${first.trace.length} entries`)
  assert.deepEqual(second.trace, first.trace)

  const silent = await record(7, false)
  assert.deepEqual(silent.requests, first.requests, 'a log changes nothing else')
  assert.deepEqual(silent.objects, first.objects)
  assert.deepEqual(silent.trace, first.trace)

  const other = await record(8, true)
  const idsOf = ({ lines }: { lines: string[] }): Set<string> =>
    new Set(lines.flatMap((line) => /"reconcileID":"([^"]+)"/.exec(line)?.[1] ?? []))
  assert.ok(![...idsOf(first)].some((id) => idsOf(other).has(id)))
  assert.notDeepEqual(other.objects, first.objects)
  assert.notDeepEqual(
    other.requests.map((line) => line.split(' ', 1)[0]),
    first.requests.map((line) => line.split(' ', 1)[0]),
    'back-off has jitter',
  )
})

test('advanceToNext stops at each time at which the operator runs something, and says what', async () => {
  const app = operator({ name: 'x', grace: 0 })
  app.controllerFor(ConfigMap, { when: isOurs }).every('1h').reconcile(
    async ({ metadata: { name } }, { attempt, sleep }) => {
      if (name === 'b' && attempt === 1) throw new Error('once')
      if (name === 'c') await sleep('7m')
      if (name === 'c') return { requeueAfter: '5m' }
      return undefined
    },
  )
  app.schedule('nightly', '30 0 * * *', async () => {})
  let tasks = 0
  app.add('task', async ({ signal }) => {
    if (tasks++ === 0) throw new Error('once')
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
  })
  const log: Log = { debug() {}, info() {}, warn() {}, error() {} }
  await using w = await world(app, { log })
  const next = async () => {
    const { ms, ran } = await w.advanceToNext()
    return `${ms} ${
      ran.map(({ what, controller, kind, key, task }) =>
        [what, controller, kind, key?.name, task].filter(Boolean).join(' ')
      )
    }`
  }
  assert.match(await next(), /^\d+ task task$/)
  await w.advance(60_000 - w.clock.monotonic())
  await w.client.create(ConfigMap, map('b'))
  await w.settle()
  assert.equal(await next(), '5 reconcile configmap ConfigMap b')
  await w.client.create(ConfigMap, map('c'))
  assert.equal(await next(), '420000 timer,reconcile configmap ConfigMap c')
  assert.equal(await next(), '720000 timer,reconcile configmap ConfigMap c', 'what waits within a run has not run')
  await w.client.delete(ConfigMap, ref('c'))
  assert.equal(await next(), '300000 reconcile configmap ConfigMap c', 'of a deleted object')
  assert.match(await next(), /^\d+ task nightly$/)
  assert.equal(new Date(w.clock.now()).toISOString(), '2026-01-01T00:30:00.000Z')
  assert.equal(await next(), `1800000 reconcile configmap ConfigMap b`, 'every')
  w.kill(0)
  await assert.rejects(w.advanceToNext(), /Cannot advance to what comes next/)
})

test('advanceToNext rejects where nothing waits, and with the error of an operator that ended', async () => {
  const app = operator({ name: 'x', leaderElection: true })
  app.controllerFor(ConfigMap, { when: isOurs }).reconcile(async () => {})
  await using w = await world(app)
  await assert.rejects(w.advanceToNext(), /Cannot advance to what comes next: the operator waits for no time$/)
  await using broken = await world(failing())
  await assert.rejects(broken.advanceToNext(), /no disk/)
})

test('the trace has requests, reconciles with causes and writes, tasks and ends, in order and in bounded memory', async () => {
  const { app } = copier({ leaderElection: true })
  app.add('once', () => Promise.resolve())
  app.add('broken', () => Promise.reject(new Error('no disk')), { restart: true })
  await using w = await world(app, { replicas: 2, log: silent })
  await w.client.create(ConfigMap, map('a'))
  w.fault({ cluster: 'west', verb: 'patch', status: 503 })
  await w.settle()
  await w.advance('10s')
  w.kill()
  await w.advance('20s')
  const lines = w.trace().map(String).filter((line) => /reconcile|task|kill|patch|leases/.test(line))
  const [why, wrote] = ['because: added', '; apply ConfigMap default/a created']
  const expected = [
    /^\+0\.000 s replica 0: get leases \S+ 404$/,
    /^\+0\.000 s replica 0: create leases \S+ 201$/,
    /^\+0\.000 s replica 1: get leases \S+ 200$/,
    /^\+0\.000 s replica 0: task once begins$/,
    /^\+0\.000 s replica 0: task broken no disk$/,
    /^\+0\.000 s replica 0: patch configmaps default\/a in west 503$/,
    RegExp(`^\\+0\\.000 s replica 0: reconcile configmap default/a .*503.* ${why}$`),
    RegExp(`^\\+0\\.\\d+ s replica 0: reconcile configmap default/a ok${wrote} because: retry`),
    /^\+\d\.\d+ s replica 0: update leases \S+ 200 \(\d+ times\)$/,
    /^\+10\.000 s replica 0: killed$/,
    /^\+\d\d\.\d+ s replica 1: update leases \S+ 200/,
    RegExp(`^\\+\\d\\d\\.\\d+ s replica 1: reconcile configmap default/a ok.* ${why}$`),
  ]
  for (const pattern of expected) {
    assert.ok(lines.some((line) => pattern.test(line)), `${pattern} in\n${lines.join('\n')}`)
  }
  const { ms, replica, what, object, result, causes } = w.trace().find((each) => each.what === 'reconcile')!
  assert.deepEqual([ms, replica, what, object, causes], [0, 0, 'reconcile', 'configmap default/a', ['added']])
  assert.match(result, /503/)
  const trace = new Trace(w.clock)
  for (let number = 0; number < 20_001; number++) trace.add(0, `${number}`)
  assert.deepEqual([trace.entries().length, trace.entries().at(-1)?.what], [5000, '20000'])
})

test('a snapshot sets all clusters back, also twice; operators see it, and only its world takes it', async () => {
  const { app, west } = copier()
  await using w = await world(app, { log: silent })
  await w.client.create(ConfigMap, map('a'))
  await w.settle()
  const names = async (client = w.client) =>
    (await client.list(ConfigMap, { namespace: 'default' })).map(({ metadata }) => metadata.name)
  const before = w.snapshot()
  const { metadata: { resourceVersion } } = (await w.client.get(ConfigMap, ref('a')))!
  for (let time = 0; time < 2; time++) {
    await w.client.create(ConfigMap, map('b'))
    await w.client.delete(ConfigMap, ref('a'))
    await w.clientOf(west).delete(ConfigMap, ref('a'))
    await w.advance('1m')
    assert.deepEqual([await names(), await names(w.clientOf(west))], [['b'], ['b']])
    w.restore(before)
    assert.deepEqual([await names(), await names(w.clientOf(west))], [['a'], ['a']])
    await w.clientOf(west).delete(ConfigMap, ref('a'))
    await w.advance('1m')
    // The operator has read all again: what came back is new to it.
    assert.deepEqual([await names(), await names(w.clientOf(west))], [['a'], ['a']])
  }
  const { metadata } = await w.client.patch(ConfigMap, ref('a'), { merge: { data: { a: 'b' } } })
  assert.ok(Number(metadata.resourceVersion) > Number(resourceVersion) + 4, 'versions are not used twice')
  assert.equal(before.time.toISOString(), '2026-01-01T00:00:00.000Z')
  await using other = await world(app, { log: silent })
  assert.throws(() => other.restore(before), /Cannot restore the world: give what the snapshot\(\) of this world/)
})

test('a world that complains at the end of an await using block leaves the failed assertion, and fails the process', async () => {
  const lines: string[] = []
  const [printed, exitCode] = [console.error, process.exitCode ?? 0]
  console.error = (line: string) => void lines.push(line)
  const app = operator({ name: 'x', grace: '5s' })
  app.controllerFor(ConfigMap, { when: isOurs }).reconcile(never)
  const ends: [unknown, string][] = []
  try {
    for (const log of [undefined, silent]) {
      let world_: World | undefined
      const body = async (): Promise<void> => {
        await using w = world_ = await world(app, { ...(log && { log }) })
        await w.client.create(ConfigMap, map('a'))
        assert.equal(1, 2, 'the assertion')
      }
      await assert.rejects(
        body(),
        (error) => error instanceof assert.AssertionError && error.message.startsWith('the assertion'),
      )
      assert.match(
        lines.join('\n'),
        /\nWhat the replicas did last:\n(?:.*\n)*\+0\.000 s replica 0: watch configmaps 200/,
      )
      ends.push([process.exitCode, lines.splice(0).filter((line) => line.includes(' error: ')).join()])
      process.exitCode = exitCode
      await world_?.stop()
    }
    // Without a failed assertion nothing is thrown either; `stop` rejects where a test asks for that.
    const w = await world(app)
    await w.client.create(ConfigMap, map('a'))
    await assert.rejects(w.stop(), /still running/)
    await w[Symbol.asyncDispose]()
    ends.push([process.exitCode, lines.filter((line) => line.includes(' error: ')).join()])
  } finally {
    console.error = printed
    process.exitCode = exitCode
  }
  const complaint = /error: .*still running: "configmap"/
  assert.deepEqual(ends.map(([code, text]) => [code, complaint.test(text)]), [[1, true], [1, true], [exitCode, false]])
})
