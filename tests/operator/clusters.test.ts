/** An operator with several clusters. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Operator, operator, predicates, type WorkContext } from 'kubeloop'
import { ConfigMap, Secret } from 'kubeloop/kinds'
import { world } from 'kubeloop/testing'
import { systemClock } from '../../lib/async/clock.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { openClusters } from '../../lib/operator/clusters.ts'
import * as otherClusters from '../../lib/operator/other_clusters.ts'

const ref = (name: string) => ({ namespace: 'default', name })
const labels = { copied: '' }
const nowhere = { server: 'https://127.0.0.1:1' }

test('the name of a cluster is unique, and only its own operator can use it', async () => {
  const app = operator({ name: 'x' })
  app.cluster('west', nowhere)
  assert.throws(() => app.cluster('west', nowhere), /Cannot name two clusters "west"/)
  assert.throws(() => app.cluster('Far West', nowhere), /Cannot use the name "Far West"/)
  const other = operator({ name: 'y' })
  other.controllerFor(ConfigMap, { cluster: { name: 'west' } }).reconcile(async () => {})
  await assert.rejects(world(other), /Cannot use the cluster "west": this operator has no such cluster/)
})

test("a configuration that fails at the start is an error with the cluster's name", async () => {
  // Also if it is that of a property of all objects.
  for (const name of ['west', 'constructor']) {
    const app = operator({ name: 'x' })
    app.cluster(name, () => Promise.reject(new Error('no such context')))
    app.controllerFor(ConfigMap).reconcile(async () => {})
    await assert.rejects(
      app.start(new AbortController().signal, { cluster: nowhere }),
      new RegExp(`Cannot find the cluster "${name}": no such context`),
    )
  }
})

/** The places of an operator that have clients. */
const PLACES: Readonly<Record<string, (app: Operator, work: (context: WorkContext) => void) => void>> = {
  reconcile: (app, work) =>
    app.controllerFor(ConfigMap, { when: predicates.matchesLabels(labels) }).reconcile(async (_, context) =>
      work(context)
    ),
  map: (app, work) =>
    app.controllerFor(Secret).watches(ConfigMap, (_, context) => (work(context), []), {
      when: predicates.matchesLabels(labels),
    }).reconcile(async () => {}),
  task: (app, work) => app.add('task', async (context) => work(context)),
}

for (const [place, add] of Object.entries(PLACES)) {
  test(`${place}: one client per cluster, always the same object, and another one at the next call`, async () => {
    const app = operator({ name: 'x' })
    const [west, east] = [app.cluster('west', nowhere), app.cluster('east', nowhere)]
    const seen: (readonly [unknown, unknown, unknown])[] = []
    add(app, (context) => {
      const { client, clientOf } = context
      assert.equal(clientOf(west), clientOf(west))
      assert.equal(context.clientOf(east), clientOf(east))
      assert.equal(context.client, client)
      assert.equal(new Set([client, clientOf(west), clientOf(east)]).size, 3)
      seen.push([client, clientOf(west), clientOf(east)])
    })
    await using w = await world(app)
    for (const name of ['a', 'b']) await w.client.create(ConfigMap, { metadata: { ...ref(name), labels } })
    assert.deepEqual(await w.settle(), [])
    assert.equal(seen.length, place === 'task' ? 1 : 2)
    assert.equal(new Set(seen.flat()).size, 3 * seen.length)
  })
}

test('the connections of a dropped cluster, and those that were opened late, are closed', async () => {
  const app = operator({ name: 'x' })
  let tries = 0
  const late = app.cluster('late', () => tries++ > 0 ? Promise.resolve(nowhere) : Promise.reject(new Error('no')), {
    optional: true,
  })
  const setup = {
    options: { cluster: nowhere },
    instance: 'x',
    clock: systemClock,
    random: Math.random,
    log: silentLog,
    otherClusters,
  }
  const clusters = await openClusters(app.description, setup)
  const request = { method: 'GET', path: '/version', headers: {} } as const
  const other = { ...app.description.clusters[0]!, name: 'constructor' }
  const far = clusters.add(other, app.description, { config: nowhere })
  const opened = clusters.of(late)
  for (const { transport } of [far, opened]) await assert.rejects(transport(request), /Cannot connect/)
  clusters.drop(other)
  await assert.rejects(far.transport(request), /was closed by this process/)
  assert.throws(() => clusters.of(other), /has no such cluster/)
  clusters.close()
  await assert.rejects(opened.transport(request), /was closed by this process/)
})
