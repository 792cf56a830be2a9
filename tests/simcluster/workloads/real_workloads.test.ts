/**
 * Compares the controllers of workloads with those of a real kube-controller-manager, beside the same simulated node.
 */
import assert from 'node:assert/strict'
import process from 'node:process'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { Cluster, type KubeObject, operator } from 'kubeloop'
import { Namespace, Node } from 'kubeloop/kinds'
import { startEnvtest } from 'kubeloop/testing'
import { systemClock } from '../../../lib/async/clock.ts'
import { silentLog } from '../../../lib/observe/log.ts'
import { instant } from '../../../lib/core/duration.ts'
import { PodScript } from '../../../lib/simcluster/workloads/pod_script.ts'
import { addNode, addPods, NODE } from '../../../lib/simcluster/workloads/pods.ts'
import { CASES, embeddedStates, KINDS, lacking, snapshot } from './cases.ts'

const skip = process.env['KUBEBUILDER_ASSETS'] ? false : 'KUBEBUILDER_ASSETS is not set: no real control plane to start'
/** How long the real controllers may take for a step: they wait 10 s before they replace a failed pod of a Job. */
const STEP_MS = 45_000

test('workloads come to the same state as on a real control plane', { skip, timeout: 300_000 }, async () => {
  const expected = await embeddedStates()
  const envtest = await startEnvtest({ controllerManager: true })
  const stopping = new AbortController()
  const script = new PodScript(() => systemClock.now())
  const kubelet = operator({ name: 'kubelet', log: silentLog })
  addNode(kubelet)
  // Without it, the pods of the node are not Ready any more after 50 s.
  kubelet.add('heartbeat', async ({ client, clock, sleep }) => {
    for (let beat = 0; beat < 60; beat++) {
      await sleep('10s')
      const node = (await client.get(Node, { name: NODE }))!
      const lastHeartbeatTime = instant(clock.now())
      const conditions = node.status?.conditions?.map((each) => ({ ...each, lastHeartbeatTime })) ?? []
      await client.setStatus(Node, node, { ...node.status, conditions })
    }
  })
  addPods(kubelet, script, { readyMs: 100, completeMs: 100 })
  const watching = watch(new Cluster({ name: 'test', config: envtest.tokenConfig }))
  const running = [kubelet.start(stopping.signal, { cluster: envtest.tokenConfig }), watching.start(stopping.signal)]
  const differences: string[] = []
  try {
    await Promise.all(
      Object.entries(CASES).map(async ([namespace, steps]) => {
        await envtest.client.create(Namespace, { metadata: { name: namespace } })
        for (const [title, step] of Object.entries(steps)) {
          await step({ client: envtest.client, namespace, pods: script })
          const wanted = expected.get(`${namespace}: ${title}`)!
          const found = await watching.until(namespace, wanted)
          const [only, missing] = [lacking(wanted, found), lacking(found, wanted)]
          const lines = [...only.map((line) => `embedded ${line}`), ...missing.map((line) => `real     ${line}`)]
          if (lines.length > 0) differences.push([`${namespace}: ${title}`, ...lines].join('\n'))
        }
      }),
    )
  } finally {
    stopping.abort()
    await Promise.allSettled(running)
    await envtest.stop()
  }
  assert.equal(differences.join('\n\n'), '')
})

/** Watches the kinds of the cases. `until` resolves when a namespace is as wanted, or with what it is at the end. */
function watch(cluster: Cluster) {
  const informers = KINDS.flatMap((kind) => cluster.cache.declare(kind))
  const stateOf = (namespace: string): readonly string[] =>
    snapshot(
      informers.flatMap((informer) => [...informer.store.values() as Iterable<KubeObject>])
        .filter(({ metadata }) => metadata.namespace === namespace),
    )
  return {
    start: (signal: AbortSignal) => cluster.start(signal),
    until: (namespace: string, wanted: readonly string[]) =>
      new Promise<readonly string[]>((resolve) => {
        const end = (): void => {
          cancel()
          for (const each of registrations) each.remove()
          resolve(stateOf(namespace))
        }
        const check = (): void => {
          if (isDeepStrictEqual(stateOf(namespace), wanted)) end()
        }
        const cancel = systemClock.after(STEP_MS, end)
        const registrations = informers.map((informer) =>
          informer.addHandler(({ object }) => {
            if (object.metadata.namespace === namespace) check()
          })
        )
        check()
      }),
  }
}
