/** An operator whose watches are two seconds late reads nothing older than its own writes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Client, defineIndex, type Operator, operator, predicates } from 'kubeloop'
import { ConfigMap, Deployment, Secret } from 'kubeloop/kinds'
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

test('a reconcile that writes and reads in a loop never reads an older object than it wrote', async () => {
  let reads = 0
  const older: string[] = []
  const see = (what: string, seen: unknown, written: unknown): void => {
    reads++
    if (seen !== written) older.push(`${what}: ${String(seen)} after ${String(written)}`)
  }
  const byRound = defineIndex(Secret, (secret) => secret.metadata.labels?.['round'])
  const app = operator({ name: 'x' })
  app.controllerFor(ConfigMap, { when: predicates.matchesLabels('ours') }).owns(Secret).owns(Deployment).reconcile(
    async (map, { client }) => {
      const { name } = map.metadata
      if (map.data?.['done']) return
      for (let round = 1; round <= 10; round++) {
        const at = `${name} ${round}`
        const own = await client.edit(ConfigMap, map, (draft) => void (draft.data = { round: String(round) }))
        see(`${at} own`, (await client.get(ConfigMap, map))?.metadata.resourceVersion, own?.metadata.resourceVersion)
        await readSecrets(client, name, round, see)
        const deployment = await client.apply(Deployment, deploymentOf(name, round), { owner: map })
        await client.setStatus(Deployment, deployment, { replicas: 1 + (round % 2) })
        const read = await client.get(Deployment, ref(name))
        see(`${at} spec`, read?.spec?.replicas, round)
        see(`${at} status`, read?.status?.replicas, 1 + (round % 2))
      }
      await client.edit(ConfigMap, map, (draft) => void (draft.data = { done: 'yes' }))
    },
  )
  async function readSecrets(
    client: Client,
    name: string,
    round: number,
    see: (what: string, seen: unknown, written: unknown) => void,
  ): Promise<void> {
    const at = `${name} ${round}`
    const secret = { metadata: { ...ref(name), labels: { round: `${name}-${round}` } } }
    const created = await client.create(Secret, secret)
    see(`${at} created`, (await client.get(Secret, ref(name)))?.metadata.uid, created.metadata.uid)
    see(
      `${at} listed`,
      (await client.list(Secret, { namespace: 'default', labels: `round=${name}-${round}` }))[0]?.metadata.uid,
      created.metadata.uid,
    )
    see(`${at} looked up`, (await client.lookup(byRound, `${name}-${round}`))[0]?.metadata.uid, created.metadata.uid)
    await client.delete(Secret, ref(name))
    see(`${at} deleted`, await client.get(Secret, ref(name)), undefined)
    see(
      `${at} listed`,
      (await client.list(Secret, { namespace: 'default', labels: `round=${name}-${round}` })).length,
      0,
    )
  }

  await using w = await laggingWorld(app)
  for (const name of ['a', 'b', 'c']) await w.client.create(ConfigMap, { metadata: { ...ref(name), labels } })
  await w.advance('1m')
  assert.deepEqual(older, [])
  assert.equal(reads, 3 * 10 * 8, 'each object was worked through once: what came late was read as done')
  assert.deepEqual((await w.client.list(Deployment)).map(({ spec, status }) => [spec?.replicas, status?.replicas]), [
    [10, 1],
    [10, 1],
    [10, 1],
  ])
})

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

function deploymentOf(name: string, replicas: number) {
  const app = { app: name }
  const template = { metadata: { labels: app }, spec: { containers: [{ name: 'c', image: 'i' }] } }
  return { metadata: { name }, spec: { replicas, selector: { matchLabels: app }, template } }
}
