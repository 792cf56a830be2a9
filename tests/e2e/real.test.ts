/** Runs the suite on etcd and kube-apiserver from KUBEBUILDER_ASSETS. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operator } from '../../mod.ts'
import { Latch } from '../../lib/async/latch.ts'
import { ConfigMap } from '../../lib/kinds/mod.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { bucketOf, ownersOf } from '../../lib/operator/sharding/bucket_state.ts'
import { withBuiltSample } from './samples.ts'
import { casesFor, type Target } from './suite.ts'
import { noPlane, realPlane } from '../tools/real_plane.ts'

const plane = realPlane(() => ({ controllerManager: ['garbage-collector-controller', 'namespace-controller'] }))
const target: Target = {
  get configs() {
    return { 'client certificate': plane.envtest.config, token: plane.envtest.tokenConfig }
  },
  kubeconfig: (config) => plane.envtest.kubeconfig(config),
  crash: { kill: () => plane.envtest.killApiServer(), restart: () => plane.envtest.restartApiServer() },
}
test('three replicas share the keys by buckets, and those of one that stops move', { skip: noPlane }, async () => {
  const count = 6
  const members = ['first', 'second', 'third']
  const latches = new Map<string, Latch>()
  const on = (what: string): Promise<void> => (latches.get(what) ?? latches.set(what, new Latch()).get(what)!).opened
  const note = (what: string): void => {
    void on(what)
    latches.get(what)!.open()
  }
  // Once or twice: by an event, and when the bucket is taken.
  const runs = new Set<string>()
  const replicas = members.map((member) => {
    const app = operator({
      name: 'shared',
      sharding: { buckets: count },
      leaderElection: { namespace: 'default', duration: '5s', renewDeadline: '4s', retryPeriod: '500ms' },
    })
    app.controllerFor(ConfigMap, { when: ({ metadata }) => metadata.name.startsWith('share-') })
      .reconcile(async ({ metadata: { name } }) => {
        runs.add(`${member} ${name}`)
        note(`${member} ${name}`)
      })
    const stopping = new AbortController()
    const transport = plane.connect()
    const running = app.start(stopping.signal, {
      ...{ transport, identity: member, instance: member },
      log: { ...silentLog, info: (message) => note(`${member}: ${message}`) },
    })
    return {
      async stop() {
        stopping.abort()
        await running
      },
    }
  })
  const held = async (...live: string[]): Promise<void> => {
    await Promise.all(
      ownersOf(count, live.toSorted()).map((owner, at) =>
        on(`${owner}: Leading: acquired the lease "default/shared-bucket-${at}"`)
      ),
    )
  }
  const ownerOfName = (name: string, ...live: string[]): string =>
    ownersOf(count, live.toSorted())[bucketOf('configmaps', `default/${name}`, count)]!
  await held(...members)
  const names = Array.from({ length: 12 }, (_, at) => `share-${at}`)
  for (const name of names) await plane.client.create(ConfigMap, { metadata: { namespace: 'default', name } })
  const wanted = names.map((name) => `${ownerOfName(name, ...members)} ${name}`)
  await Promise.all(wanted.map(on))
  const taken = (): string[] => {
    const all = [...runs].toSorted()
    runs.clear()
    return all
  }
  assert.deepEqual(taken(), wanted.toSorted())
  await replicas[2]!.stop()
  const [first, second] = members
  await Promise.all(names.map((name) => on(`${ownerOfName(name, first!, second!)} ${name}`)))
  const moved = names.filter((name) => ownerOfName(name, ...members) !== ownerOfName(name, first!, second!))
  assert.deepEqual(taken(), moved.map((name) => `${ownerOfName(name, first!, second!)} ${name}`).toSorted())
  for (const replica of replicas.slice(0, 2)) await replica.stop()
})

for (const { name, run } of casesFor(['client certificate', 'token'], true)) {
  test(`real: ${name}`, { skip: noPlane }, () => withBuiltSample((sample) => run(target, sample)))
}
