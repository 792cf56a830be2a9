/** Where a controller's keys come from, as an operator file says it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EventChannel, operator, predicates } from 'kubeloop'
import { ConfigMap, Namespace } from 'kubeloop/kinds'
import { world } from 'kubeloop/testing'

const ref = (name: string) => ({ namespace: 'default', name })
/** The cluster's own config maps are none of ours. */
const ours = predicates.matchesLabels('ours')
const labels = { ours: '' }

test('what is sent to a channel is reconciled, what was sent before the start too', async () => {
  const runs: string[] = []
  const channel = new EventChannel<{ namespace: string; name: string }>()
  const app = operator({ name: 'x' })
  app.controllerFor(ConfigMap, { when: ours })
    .from('outside', () => channel)
    .reconcileKey(async ({ name }) => void runs.push(name))
  await channel.send(ref('early'))
  const w = await world(app)
  assert.deepEqual(runs, ['early'])
  await channel.send(ref('late'))
  await w.settle()
  assert.deepEqual(runs, ['early', 'late'])
  await w.stop()
})

test('a stream that breaks is opened again', async () => {
  const runs: string[] = []
  let opened = 0
  const app = operator({ name: 'x' })
  app.controllerFor(ConfigMap, { when: ours })
    .from('queue', async function* () {
      opened++
      yield ref(`from ${opened}`)
      if (opened < 3) throw new Error('the connection broke')
    })
    .reconcileKey(async ({ name }) => void runs.push(name))
  const w = await world(app)
  await w.advance('1m')
  assert.deepEqual(runs, ['from 1', 'from 2', 'from 3'])
  await w.stop()
})

test('every so often everything that exists has its turn, or what a function names', async () => {
  const runs: Record<string, string[]> = { all: [], some: [] }
  const app = operator({ name: 'x' })
  app.controllerFor(ConfigMap, { name: 'all', when: ours }).every('10m').reconcile(async ({ metadata }) => void runs['all']!.push(metadata.name))
  app.controllerFor(ConfigMap, { name: 'some', when: ours })
    .every('10m', async ({ client }) => (await client.list(ConfigMap, { labels: 'ours=yes' })))
    .reconcile(async ({ metadata }) => void runs['some']!.push(metadata.name))
  const w = await world(app)
  await w.client.create(ConfigMap, { metadata: { ...ref('a'), labels } })
  await w.client.create(ConfigMap, { metadata: { ...ref('b'), labels: { ours: 'yes' } } })
  await w.settle()
  for (const name of ['all', 'some']) runs[name]!.length = 0
  await w.advance('9m')
  assert.deepEqual(runs, { all: [], some: [] })
  await w.advance('1m')
  assert.deepEqual({ all: runs['all']!.filter((name) => 'ab'.includes(name)).sort(), some: runs['some'] }, { all: ['a', 'b'], some: ['b'] })
  await w.stop()
})

test('one filter holds for everything a controller watches, beside what is said of each kind', async () => {
  const runs: string[] = []
  const app = operator({ name: 'x' })
  app.controllerFor(ConfigMap, { filter: ours, when: predicates.labelsChanged })
    .watches(Namespace, ({ metadata }) => [ref(`for ${metadata.name}`)])
    .reconcileKey(async ({ name }) => void runs.push(name))
  const w = await world(app)
  await w.client.create(Namespace, { metadata: { name: 'theirs' } })
  await w.client.create(Namespace, { metadata: { name: 'ours', labels } })
  await w.client.create(ConfigMap, { metadata: ref('theirs') })
  await w.client.create(ConfigMap, { metadata: { ...ref('ours'), labels } })
  await w.settle()
  assert.deepEqual(runs.toSorted(), ['for ours', 'ours'])
  await w.client.patch(ConfigMap, ref('ours'), { merge: { data: { a: 'b' } } })
  await w.settle()
  assert.equal(runs.length, 2, 'its data is nothing to us')
  await w.client.patch(ConfigMap, ref('ours'), { merge: { metadata: { labels: { ours: null } } } })
  await w.settle()
  assert.deepEqual(runs.slice(2), ['ours'], 'one that leaves us is heard of once more')
  await w.stop()
})

test('an owned object tells its controller, and every owner where that is asked for', async () => {
  const runs: Record<string, string[]> = { controlling: [], any: [] }
  const app = operator({ name: 'x' })
  app.controllerFor(Namespace, { name: 'controlling', when: () => false }).owns(ConfigMap).reconcile(async ({ metadata }) => void runs['controlling']!.push(metadata.name))
  app.controllerFor(Namespace, { name: 'any', when: () => false }).owns(ConfigMap, { anyOwner: true }).reconcile(async ({ metadata }) => void runs['any']!.push(metadata.name))
  const w = await world(app)
  const owners = await Promise.all(['one', 'two'].map((name) => w.client.create(Namespace, { metadata: { name } })))
  const reference = ({ metadata }: (typeof owners)[0]) => ({ apiVersion: 'v1', kind: 'Namespace', name: metadata.name, uid: metadata.uid })
  const ownerReferences = [{ ...reference(owners[0]!), controller: true }, reference(owners[1]!)]
  await w.client.create(ConfigMap, { metadata: { ...ref('owned'), ownerReferences } as never })
  await w.settle()
  assert.deepEqual([runs['controlling'], runs['any']!.toSorted()], [['one'], ['one', 'two']])
  await w.stop()
})
