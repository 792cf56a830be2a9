/** Tests that killed replicas do nothing, that their lease expires, and that the others continue. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Log, type Operator, operator } from 'kubeloop'
import { ConfigMap, Lease, Secret } from 'kubeloop/kinds'
import { type World, world } from 'kubeloop/testing'
import { sleep } from '../../lib/async/clock.ts'
import { isOurs, map, nowhere, ref } from './worlds.ts'

/** Writes a Secret for each ConfigMap, with the name of the replica. */
function copier(runs: string[] = []): Operator {
  const app = operator({ name: 'x', leaderElection: true })
  const west = app.cluster('west', nowhere)
  app.controllerFor(ConfigMap, { when: isOurs }).reconcile(async ({ metadata }, { client, clientOf, clock }) => {
    runs.push(`begins ${metadata.name}`)
    if (metadata.name === 'slow') await sleep(clock, 5000, new AbortController().signal)
    await client.apply(Secret, { metadata: ref(metadata.name) })
    await clientOf(west).apply(Secret, { metadata: ref(metadata.name) })
    runs.push(`ends ${metadata.name}`)
  })
  return app
}

const holderOf = async (w: World): Promise<string> => (await w.client.get(Lease, ref('x')))!.spec!.holderIdentity!
const numberOf = (holder: string): number => Number(/^replica-(\d+)_/.exec(holder)![1])

test('a killed replica has no timers, requests, watches or log lines', async () => {
  const runs: string[] = []
  const lines: string[] = []
  const say = (message: string): void => void lines.push(message)
  const log: Log = { debug: say, info: say, warn: say, error: say }
  const app = copier(runs)
  app.add('ticker', async ({ signal, clock }) => {
    for (;;) {
      await sleep(clock, 1000, signal)
      runs.push('ticks')
    }
  })
  const w = await world(app, { log })
  await w.client.create(ConfigMap, map('slow'))
  // The reconcile waits for a timer.
  assert.deepEqual(await w.settle(), [])
  w.kill(0)
  assert.deepEqual(runs, ['begins slow'])
  lines.length = 0
  await w.client.create(ConfigMap, map('a'))
  assert.deepEqual(await w.settle(), [])
  await w.advance('5m')
  await w.stop()
  assert.deepEqual([runs, lines], [['begins slow'], []])
  assert.deepEqual(await w.client.list(Secret), [])
})

test('a request that a fault delays at the time of the kill never reaches the server, in any cluster', async () => {
  for (const cluster of [null, 'west']) {
    const runs: string[] = []
    const app = copier(runs)
    const west = app.description.clusters[0]!
    await using w = await world(app)
    w.fault({ verb: 'patch', cluster, delay: '10s' })
    await w.client.create(ConfigMap, map('a'))
    await w.settle()
    w.kill()
    await w.advance('1m')
    assert.deepEqual(runs, ['begins a'])
    assert.equal(
      (await w.client.list(Secret)).length,
      cluster === null ? 0 : 1,
      'requests sent before the kill have an effect',
    )
    assert.deepEqual(await w.clientOf(west).list(Secret), [])
  }
})

test('stop ignores how a killed replica ends', async () => {
  const app = operator({ name: 'x', grace: '5s' }).add('stuck', () => new Promise(() => {}))
  const killed = await world(app)
  killed.kill()
  await killed.stop()
  assert.equal(killed.clock.monotonic(), 0, 'its end is not awaited')
  await killed.advance('1m')
  assert.equal(killed.takeFailure(), undefined)
  const stopped = await world(app)
  await assert.rejects(stopped.stop(), /still running: "stuck"/, 'the end of another replica matters')
})

test('stop releases the lease, kill does not', async () => {
  const of = async (end: (w: World) => unknown): Promise<string | undefined> => {
    const w = await world(copier(), { replicas: 2 })
    await end(w)
    await w.stop()
    return (await w.client.get(Lease, ref('x')))!.spec!.holderIdentity
  }
  assert.equal(await of(() => undefined) || '', '')
  assert.match((await of((w) => (w.kill(0), w.kill(1))))!, /^replica-/)
})

test('only a running replica can be killed, and without a number only the leader', async () => {
  await using w = await world(copier(), { replicas: 3 })
  for (const wrong of [3, -1, 0.5, NaN]) {
    assert.throws(() => w.kill(wrong), new RangeError(`Cannot kill replica ${wrong}: the running replicas are 0, 1, 2`))
  }
  const holder = numberOf(await holderOf(w))
  w.kill()
  assert.throws(() => w.kill(holder), /^RangeError: Cannot kill replica \d: the running replicas are \d, \d$/)
  assert.throws(() => w.kill(), new Error('Cannot kill the leader: no replica leads; give the number of a replica'))
  await w.advance('30s')
  w.kill()
  await w.advance('30s')
  w.kill()
  assert.throws(() => w.kill(0), new RangeError('Cannot kill replica 0: no replica runs'))
  await w.advance('1m')
})

test('a world with a leader and no other configuration logs no warning', async () => {
  const warnings: string[] = []
  const w = await world(copier(), {
    replicas: 2,
    log: { debug() {}, info() {}, warn: (message) => void warnings.push(message), error() {} },
  })
  await w.advance('1m')
  await w.stop()
  assert.deepEqual(warnings, [])
})
