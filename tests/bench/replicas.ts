/**
 * Measures the throughput of replicas that share their work by buckets on a real API server: `node
 * tests/bench/replicas.ts [objects] [rounds]`. Needs `KUBEBUILDER_ASSETS`. 1, 2 and 4 replicas in one process, with 10
 * reconciles at once each, reconcile all objects for a change of another one; a reconcile takes 50 ms. Prints the time
 * from the change to the end of the last reconcile, and the throughput as a part of a linear one.
 */
import { setTimeout as pause } from 'node:timers/promises'
import process from 'node:process'
import { type Client, operator } from 'kubeloop'
import { ConfigMap, Lease, Secret } from 'kubeloop/kinds'
import { type Envtest, startEnvtest } from 'kubeloop/testing'

const [objects, rounds] = [process.argv[2] ?? '2000', process.argv[3] ?? '3'].map(Number) as [number, number]
const RECONCILE_MS = 50
const CONCURRENCY = 10
const BUCKETS = 64
const namespace = 'default'
const nameOf = (index: number): string => `object-${index}`

async function createAll(client: Client): Promise<void> {
  for (let from = 0; from < objects; from += 50) {
    await Promise.all(
      Array.from(
        { length: 50 },
        (_, each) => client.create(Secret, { metadata: { namespace, name: nameOf(from + each) }, data: {} }),
      ),
    )
  }
  await client.create(ConfigMap, { metadata: { namespace, name: 'trigger' }, data: {} })
}

async function measure({ config, client }: Envtest, replicas: number): Promise<readonly number[]> {
  const left = new Set<string>()
  let onEnd = (): void => {}
  const stop = new AbortController()
  const running = Array.from({ length: replicas }, (_, replica) => {
    const leaderElection = { identity: `replica-${replica}`, namespace }
    const app = operator({
      name: `bench-${replicas}`,
      namespaces: [namespace],
      sharding: { buckets: BUCKETS },
      leaderElection,
    })
    app.controllerFor(Secret, { concurrency: CONCURRENCY })
      .watches(
        ConfigMap,
        ({ metadata }) =>
          metadata.name === 'trigger'
            ? Array.from({ length: objects }, (_, index) => ({ namespace, name: nameOf(index) }))
            : [],
      )
      .reconcile(async ({ metadata }) => {
        await pause(RECONCILE_MS)
        if (left.delete(metadata.name) && left.size === 0) onEnd()
      })
    return app.start(stop.signal, { cluster: config })
  })
  const round = async (begin: () => unknown): Promise<number> => {
    const ended = new Promise<void>((resolve) => (onEnd = resolve))
    for (let index = 0; index < objects; index++) left.add(nameOf(index))
    await begin()
    const beganMs = performance.now()
    await ended
    return (performance.now() - beganMs) / 1000
  }
  await round(() => {})
  // The buckets move until each replica has its share.
  while (!await isShared(client, replicas)) await pause(2000)
  const seconds: number[] = []
  for (let each = 0; each < rounds; each++) {
    const data = { replicas: String(replicas), each: String(each) }
    seconds.push(await round(() => client.apply(ConfigMap, { metadata: { namespace, name: 'trigger' }, data })))
    await pause(1000)
  }
  stop.abort(new Error('measured'))
  await Promise.allSettled(running)
  return seconds
}

async function isShared(client: Client, replicas: number): Promise<boolean> {
  const leases = await client.list(Lease, { namespace })
  const holders = leases.filter(({ metadata }) => metadata.name.startsWith(`bench-${replicas}-bucket-`))
    .map(({ spec }) => spec?.holderIdentity ?? '')
  const counts = Map.groupBy(holders, (holder) => holder)
  return counts.size === replicas && [...counts.values()].every((each) => each.length === BUCKETS / replicas)
}

const envtest = await startEnvtest()
try {
  await createAll(envtest.client)
  const ideal = (objects * RECONCILE_MS) / CONCURRENCY / 1000
  let single = 0
  for (const replicas of [1, 2, 4]) {
    const seconds = await measure(envtest, replicas)
    const best = Math.min(...seconds)
    single ||= best
    console.log(
      `${replicas} replicas: ${seconds.map((each) => each.toFixed(2)).join(', ')} s; the best is ` +
        `${(single / replicas / best).toFixed(2)} of linear, ${(ideal / replicas / best).toFixed(2)} of the ideal`,
    )
  }
} finally {
  await envtest.stop()
}
