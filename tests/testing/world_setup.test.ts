/** Tests the objects, time and servers of a world, and the errors that name what keeps it busy. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineResource, type Operator, operator, Server } from 'kubeloop'
import { ConfigMap, Namespace, Pod, Secret } from 'kubeloop/kinds'
import { FakeClock, world } from 'kubeloop/testing'
import * as z from 'zod'
import { sleep } from '../../lib/async/clock.ts'
import { nextTurn } from '../../lib/async/clock.ts'
import { isOurs, map, ref, silent } from './worlds.ts'

const waiting = (): Operator =>
  operator({ name: 'x', leaderElection: true }).add(
    'wait',
    ({ signal, clock }) => sleep(clock, 1e9, signal).catch(() => {}),
  )

const define = (kind: string, version = 'v1', cluster = false) =>
  defineResource({ group: 'own.dev', version, kind, cluster, spec: z.object({ n: z.int32().default(1) }) })
const [Foo, FooBeta, Bar, Baz] = [define('Foo'), define('Foo', 'v1beta1'), define('Bar', 'v1', true), define('Baz')]
const foo = { apiVersion: 'own.dev/v1', kind: 'Foo', metadata: ref('a'), spec: {} }
const bar = { apiVersion: 'own.dev/v1', kind: 'Bar', metadata: { name: 'b' }, spec: { n: 2 } }
const baz = { apiVersion: 'own.dev/v1', kind: 'Baz', metadata: ref('c'), spec: {} }

test('objects of the operator’s kinds exist before it starts, whatever its crds option is', async () => {
  for (const crds of [undefined, 'install', 'verify', 'ignore', { mode: 'install', narrow: true }] as const) {
    const seen: string[] = []
    const app = operator({ name: 'x', ...(crds && { crds }) })
    const note = (kind: string) => async ({ spec: { n } }: { readonly spec: { readonly n: number } }): Promise<void> =>
      void seen.push(`${kind} ${n}`)
    app.controllerFor(Foo).watches(FooBeta, () => []).owns(Bar).reconcile(note('Foo'))
    app.controllerFor(Bar).watches(Baz, () => [], { optional: true }).reconcile(note('Bar'))
    const w = await world(app, {
      objects: [foo, { ...foo, apiVersion: 'own.dev/v1beta1', metadata: ref('z') }, bar, baz],
    })
    assert.deepEqual(await w.settle(), [])
    assert.deepEqual(seen.toSorted(), ['Bar 2', 'Foo 1', 'Foo 1'], JSON.stringify(crds))
    await w.stop()
  }
})

test('a given definition is used instead of the operator’s', async () => {
  const app = operator({ name: 'x' })
  app.controllerFor(Foo).reconcile(async () => {})
  const crd = structuredClone(Foo.definition.crd) as unknown as {
    spec: { versions: { schema: { openAPIV3Schema: object } }[] }
  }
  crd.spec.versions[0]!.schema.openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  const other = { ...foo, spec: { n: 'text' } }
  await assert.rejects(
    world(app, { objects: [crd, other], log: silent }),
    /its schema becomes narrower .* Foo "default\/a"/,
    'the object was created by the definition that was given',
  )
  await assert.rejects(world(app, { objects: [other] }), /Foo.* is invalid: spec\.n/)
})

test('objects without a kind, or of kinds that are not served, are refused by their index and kind', async () => {
  const metadata = ref('a')
  const cannot = /^TypeError: Cannot create objects\[1\] of the world: it has no /
  const wrong: readonly (readonly [unknown, string])[] = [
    [undefined, 'apiVersion and no kind and no metadata.name; give whole objects: {'],
    [null, 'apiVersion and no kind and no metadata.name;'],
    ['text', 'apiVersion and no kind and no metadata.name;'],
    [{ metadata, spec: {} }, 'apiVersion and no kind; give'],
    [{ apiVersion: 'v1', metadata }, 'kind; give'],
    [{ apiVersion: 'v1', kind: 'ConfigMap' }, 'metadata.name; give'],
    [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default' } }, 'metadata.name; give'],
    [{ apiVersion: 'v1', kind: 5, metadata }, 'kind; give'],
  ]
  const first = { apiVersion: 'v1', kind: 'ConfigMap', metadata: ref('first') }
  for (const [object, text] of wrong) {
    await assert.rejects(world(waiting(), { objects: [first, object as object] }), (error: Error) => {
      assert.match(String(error), cannot)
      assert.ok(error.message.includes(`it has no ${text}`), error.message)
      return true
    })
  }
  await assert.rejects(
    world(waiting(), { objects: [{ ...foo, kind: 'Widget' }] }),
    /^TypeError: Cannot create Widget "a": the world does not serve own\.dev\/v1 Widget, and no controller .* add its CustomResourceDefinition before it/,
  )
  await assert.rejects(
    world(waiting(), { objects: [{ ...first, metadata: { name: 'a' } }] }),
    /Cannot create ConfigMap "a": it needs a namespace/,
  )
  const w = await world(waiting(), {
    objects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', generateName: 'a-' } }],
  })
  assert.equal((await w.client.list(ConfigMap, { namespace: 'default' })).length, 1)
  await w.stop()
})

test('a world starts at the given time', async () => {
  const times: number[] = []
  const app = operator({ name: 'x' }).add('note', async ({ clock }) => void times.push(clock.now()))
  const began = [undefined, new Date('2031-05-06T07:08:09Z'), new Date(0)]
  for (const now of began) {
    const w = await world(app, now ? { now } : {})
    const beganMs = now?.getTime() ?? Date.UTC(2026, 0, 1)
    assert.deepEqual([w.clock.now(), times.pop()], [beganMs, beganMs])
    const { metadata } = await w.client.create(ConfigMap, map('a'))
    assert.equal(Date.parse(metadata.creationTimestamp), beganMs)
    await w.stop()
  }
  await assert.rejects(
    world(app, { now: new Date('soon') }),
    /^RangeError: Cannot create a world: now is an invalid Date$/,
  )
  await assert.rejects(
    world(app, { now: '2031-05-06' as never }),
    /^TypeError: Cannot create a world: now is "2031-05-06", and must be a Date$/,
  )
})

/** Returns an operator with servers that respond with the replica's host and the request. */
function serving(leaderElection = true): Operator {
  const app = operator({ name: 'x', leaderElection })
  app.controllerFor(ConfigMap, { when: isOurs }).reconcile(async () => {})
  let replicas = 0
  return app.extend(({ manager, cluster }) => {
    const replica = replicas++
    const answer = async (request: Request): Promise<Response> => {
      const { pathname, search } = new URL(request.url)
      if (pathname === '/broken') throw new Error('no answer')
      if (pathname === '/write') await cluster.client.create(Secret, { metadata: ref('written') })
      return new Response(`${replica} ${request.method} ${pathname}${search} ${await request.text()}`)
    }
    manager.add(new Server({ name: 'every', fetch: answer }))
    manager.add(new Server({ name: 'leader', fetch: answer, everyReplica: false }))
    manager.add({ name: 'hook', role: 'webhook', start: async () => {}, fetch: answer } as never)
    manager.add({ name: 'mute', role: 'server', start: async () => {} })
  })
}

test('fetch calls servers of extensions by their names', async () => {
  const w = await world(serving(false))
  const text = async (response: Promise<Response>): Promise<string> => (await response).text()
  assert.equal(await text(w.fetch('every', '/a?b=c')), '0 GET /a?b=c ')
  assert.equal(await text(w.fetch('hook', '/a', { method: 'POST', body: 'x' })), '0 POST /a x')
  assert.equal(await text(w.fetch('leader', new Request('https://a.b/c', { method: 'PUT', body: 'y' }))), '0 PUT /c y')
  assert.equal(await text(w.fetch('every', '/write')), '0 GET /write ')
  assert.ok(await w.client.get(Secret, ref('written')))
  await assert.rejects(
    w.fetch('other', '/a'),
    /^TypeError: Cannot fetch \/a from the server "other": the operator's extensions add "every", "leader", "hook"$/,
  )
  await assert.rejects(w.fetch('mute', '/a'), /^TypeError: /)
  await w.stop()
  await assert.rejects(w.fetch('every', '/a'), /^TypeError: .*: no replica runs$/)
  const without = await world(waiting())
  await assert.rejects(without.fetch('every', '/a'), /: no extension adds a server$/)
  await without.stop()
})

test('a server that throws responds with 500, and the error is logged', async () => {
  const errors: string[] = []
  await using w = await world(serving(), { log: { ...silent, error: (message) => void errors.push(message) } })
  const response = await w.fetch('every', '/broken')
  assert.deepEqual([response.status, await response.text()], [500, ''])
  assert.deepEqual(errors, ['The server "every" could not answer a request: no answer'])
})

test('fetch calls the first running replica, or the leader for a server that runs only there', async () => {
  await using w = await world(serving(), { replicas: 3 })
  const by = async (name: string): Promise<string> => (await (await w.fetch(name, '/')).text())[0]!
  const leader = await by('leader')
  assert.equal(await by('every'), '0')
  w.kill(Number(leader))
  await assert.rejects(
    w.fetch('leader', '/'),
    /^Error: Cannot fetch .*: it listens only on the leader, and no replica leads$/,
  )
  await w.advance('30s')
  assert.notEqual(await by('leader'), leader)
  assert.notEqual(await by('every'), leader)
})

test('the error of a stop that does not end names the keys in work and the requests without a response', async () => {
  const app = operator({ name: 'x', grace: 0 })
  app.controllerFor(ConfigMap, { name: 'copier', when: isOurs, concurrency: 2 })
    .watches(Pod, () => new Promise(() => {}))
    .reconcile(() => new Promise(() => {}))
  const w = await world(app)
  await w.client.create(ConfigMap, map('a'))
  await w.client.create(ConfigMap, map('b'))
  await assert.rejects(
    w.settle(),
    /still work: the controller "copier" reconciles "default\/a", the controller "copier" reconciles "default\/b"; does/,
  )
  await w.stop().catch(() => {})
  const mapping = await world(app)
  await mapping.client.create(Pod, { metadata: ref('p'), spec: { containers: [{ name: 'c', image: 'i' }] } })
  await assert.rejects(
    mapping.settle(),
    /still work: the controller "copier" has keys that wait, or events that are being mapped; /,
  )
  await mapping.stop().catch(() => {})
})

test('the error of an endless loop names keys and requests that repeat', async () => {
  const app = operator({ name: 'x', grace: 0 })
  app.controllerFor(ConfigMap, { name: 'poller', when: isOurs })
    .from('loop', async function* () {
      for (;; await nextTurn()) yield ref('a')
    })
    .reconcile(async (_, { client }) => void (await client.live.get(Namespace, { name: 'default' })))
  await assert.rejects(
    world(app, { objects: [{ apiVersion: 'v1', kind: 'ConfigMap', ...map('a') }], log: silent }),
    /: .*ConfigMap "default\/a" by the controller "poller" was reconciled \d+ times, GET \/api\/v1\/namespaces\/default was sent \d+ times; does/,
  )
})

test('work before the last rest is not named', async () => {
  const app = operator({ name: 'x', grace: 0 })
  let runs = 0
  let hangs = false
  app.controllerFor(ConfigMap, { when: isOurs })
    .from('some', async function* () {
      for (let i = 0; i < 300; i++, await nextTurn()) yield ref('a')
    })
    .reconcile(async (_, { client }) => {
      if (hangs) return await new Promise(() => {})
      await client.live.get(Namespace, { name: 'default' })
      runs++
    })
  const w = await world(app, { objects: [{ apiVersion: 'v1', kind: 'ConfigMap', ...map('a') }] })
  assert.ok(runs > 50, `${runs} runs`)
  hangs = true
  await w.client.create(ConfigMap, map('b'))
  await assert.rejects(w.settle(), /still work: the controller "configmap" reconciles "default\/b"; does/)
  await w.stop().catch(() => {})
})

test('a world is at rest while a reconcile waits for its clock, and time continues it', async () => {
  const done: number[] = []
  const app = operator({ name: 'x' })
  app.controllerFor(ConfigMap, { when: isOurs }).reconcile(async (_, { clock }) => {
    await new Promise<void>((resolve) => void clock.after(5000, resolve))
    done.push(clock.monotonic())
  })
  await using w = await world(app)
  await w.client.create(ConfigMap, map('a'))
  const startMs = w.clock.monotonic()
  assert.deepEqual(await w.settle(), [])
  assert.deepEqual(done, [])
  await w.advance('4999ms')
  assert.deepEqual(done, [])
  await w.advance('1ms')
  assert.deepEqual(done.map((ms) => ms - startMs), [5000])
})

test('a cancelled timer of a reconcile is not waited for: work in real time is still named', async () => {
  const app = operator({ name: 'x' })
  let finish: (() => void) | undefined
  app.controllerFor(ConfigMap, { when: isOurs }).reconcile(async (_, { clock }) => {
    clock.after(5000, () => {})()
    await new Promise<void>((resolve) => (finish = resolve))
  })
  await using w = await world(app, { log: silent })
  await w.client.create(ConfigMap, map('a'))
  await assert.rejects(w.settle(), /still work: the controller "configmap" reconciles "default\/a"/)
  finish!()
})

test('keys of a warm-up wait for the lease, and do not keep a world from rest', async () => {
  const app = operator({ name: 'x', leaderElection: true })
  const seen: string[] = []
  app.controllerFor(ConfigMap, { warmup: true, when: isOurs }).reconcile(({ metadata }) => {
    seen.push(metadata.name)
    return Promise.resolve()
  })
  await using w = await world(app, { replicas: 2, objects: [{ apiVersion: 'v1', kind: 'ConfigMap', ...map('a') }] })
  assert.deepEqual(await w.settle(), [])
  assert.deepEqual(seen, ['a'])
  w.kill()
  await w.advance('30s')
  assert.deepEqual(seen, ['a', 'a'])
})

test('replicas of an operator that states its identity do not share it: one leads', async () => {
  const leaders = new Set<string>()
  const app = operator({
    name: 'x',
    leaderElection: { identity: 'me', namespace: 'default', onNewLeader: (identity) => void leaders.add(identity) },
  })
  const seen: string[] = []
  app.controllerFor(ConfigMap, { when: isOurs }).reconcile(({ metadata }) => {
    seen.push(metadata.name)
    return Promise.resolve()
  })
  await using w = await world(app, { replicas: 2 })
  await w.client.create(ConfigMap, map('a'))
  assert.deepEqual(await w.settle(), [])
  assert.deepEqual(seen, ['a'])
  w.kill()
  await w.advance('30s')
  assert.deepEqual([...leaders].toSorted(), ['me', 'me-1'])
})

test('the time of a world is in whole milliseconds, after a back-off with jitter, too', async () => {
  const times: number[] = []
  const app = operator({ name: 'x', leaderElection: true })
  app.controllerFor(ConfigMap, { when: isOurs }).reconcile((_, { clock }) => {
    times.push(clock.now())
    return Promise.resolve({ requeueAfter: 1000 / 3 })
  })
  await using w = await world(app, { replicas: 2 })
  await w.client.create(ConfigMap, map('a'))
  await w.advance('2s')
  w.kill()
  await w.advance('30s')
  assert.ok(times.length > 5)
  assert.deepEqual(times.filter((ms) => !Number.isInteger(ms)), [])
})

test('a clock refuses to advance by what is no number, which would never end', async () => {
  for (const ms of [NaN, Infinity, '1m' as never]) await assert.rejects(new FakeClock().advance(ms), RangeError)
})
