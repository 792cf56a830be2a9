/** An operator whose watches are two seconds late; what its client reads is in tests/cache/own_writes.test.ts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Operator, operator, predicates } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'
import { type World, world } from 'kubeloop/testing'
import { delayedWatches } from '../cache/delayed_watch.ts'

const LAG_MS = 2000
const labels = { ours: '' }
const ref = (name: string) => ({ namespace: 'default', name })

/** The world of an operator whose watches lag. */
async function laggingWorld(app: Operator): Promise<World> {
  const start: Operator['start'] = (signal, options = {}) =>
    app.start(signal, { ...options, transport: delayedWatches(options.transport!, options.clock!, LAG_MS) })
  const w = await world(
    Object.create(app, { description: { value: app.description }, start: { value: start } }) as Operator,
  )
  await w.advance('5s')
  return w
}

test('a reconcile gets its object as written, also if an older event caused the run', async () => {
  const runs: (string | undefined)[] = []
  const app = operator({ name: 'x' })
  app.controllerFor(ConfigMap, { when: predicates.matchesLabels('ours') }).reconcile(async (map, { client }) => {
    runs.push(map.data?.['count'])
    const count = Number(map.data?.['count'] ?? 0) + 1
    if (count <= 5) await client.patch(ConfigMap, map, { merge: { data: { count: String(count) } } })
    return count <= 5 ? { requeueAfter: '100ms' } : undefined
  })
  await using w = await laggingWorld(app)
  await w.client.create(ConfigMap, { metadata: { ...ref('a'), labels } })
  await w.advance('3s')
  assert.deepEqual(runs.slice(0, 6), [undefined, '1', '2', '3', '4', '5'])
  await w.advance('10s')
  assert.deepEqual([...new Set(runs.slice(5))], ['5'], 'the events of its own writes show it nothing older')
})
