/** A reconcile that blocks the event loop past the lease, in a process on a real API server. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Cluster, httpTransport, type KubeObject } from '../../mod.ts'
import { sleep, systemClock } from '../../lib/async/clock.ts'
import { Latch } from '../../lib/async/latch.ts'
import { ConfigMap, Lease } from '../../lib/kinds/mod.ts'
import { freePort } from '../../lib/runtime/net/loopback.ts'
import { type Envtest, startEnvtest } from '../../lib/testing/envtest.ts'
import { type OperatorProcess, REPO, startOperatorProcess, withKubeconfig } from './operator_process.ts'
import { watching } from './watching.ts'

const skip = process.env['KUBEBUILDER_ASSETS'] ? false : 'KUBEBUILDER_ASSETS is not set: no real control plane'
const FILE = fileURLToPath(new URL('./files/misbehaving.ts', import.meta.url))
const NAME = 'blocks'

/** Enough for a busy machine, less than the loss of a lease takes. */
const PROMPT_MS = 2000
/** The lease of files/misbehaving.ts, and its block. */
const [LEASE_MS, BLOCK_MS] = [5000, 10_000]
/** From the end of the lease to the first reconcile of the next leader. The block ends 5 s after the lease. */
const TAKEOVER_MS = 4000

let envtest: Envtest
before(async () => {
  if (!skip) envtest = await startEnvtest()
})
after(async () => await envtest?.stop())

/** Probes as a kubelet does, but more often. */
class Probe {
  readonly ended: Promise<void>
  /** Opens with the first 200. */
  readonly served = new Latch()
  /** The maximum latency since the first 200. Infinity if one probe did not get 200. */
  worstMs = 0

  constructor(url: string, process: OperatorProcess, signal: AbortSignal) {
    let over = false
    void process.ended.then(() => (over = true))
    this.ended = (async () => {
      while (!over && !signal.aborted) {
        const began = performance.now()
        const answered = await fetch(url, { signal: AbortSignal.timeout(3000) })
          .then(async (response) => (await response.text(), response.ok)).catch(() => false)
        // The end of the process may cut off an answer, too.
        if (over) return
        if (answered) this.served.open()
        if (this.served.isOpen) {
          this.worstMs = Math.max(this.worstMs, answered ? performance.now() - began : Infinity)
        }
        await sleep(systemClock, 100)
      }
    })()
  }
}

function dataOf(map: KubeObject | undefined): Readonly<Record<string, string>> {
  return (map as { data?: Record<string, string> } | undefined)?.data ?? {}
}

/** Calls `work` while two replicas run. */
async function withReplicas(work: (replicas: OperatorProcess[], probes: Probe[]) => Promise<void>): Promise<void> {
  const { config: { server } } = envtest
  const scope = new AbortController()
  await withKubeconfig(envtest.kubeconfig(), async (kubeconfig) => {
    const ports = [await freePort(), await freePort()]
    const replicas = ports.map((port) =>
      startOperatorProcess({ file: FILE, kubeconfig, server, reads: [REPO], args: [NAME, `${port}`], listens: [port] })
    )
    const probes = replicas.map((each, i) => new Probe(`http://127.0.0.1:${ports[i]}/healthz`, each, scope.signal))
    try {
      await work(replicas, probes)
    } catch (error) {
      throw new Error(replicas.map((each) => each.output()).join('\n----\n'), { cause: error })
    } finally {
      scope.abort(new Error('the test has ended'))
      for (const each of replicas) await each.end('SIGKILL')
      await Promise.all(probes.map((probe) => probe.ended))
    }
  })
}

test('a reconcile that blocks the event loop past the lease costs the leadership, and writes nothing afterwards', {
  skip,
}, async () => {
  const transport = httpTransport(envtest.config)
  const { client } = new Cluster({ transport, name: 'e2e' })
  const scope = new AbortController()
  const { watching: maps, ended } = watching(transport, ConfigMap, scope.signal)
  const ref = (name: string) => ({ namespace: 'default', name: `${NAME}-${name}` })
  const holder = async (): Promise<string | undefined> =>
    (await client.get(Lease, { namespace: 'default', name: NAME }))?.spec?.holderIdentity
  /** Changes the good object, and resolves when the operator has seen it. */
  const reconciled = async (n: string): Promise<void> => {
    await client.patch(ConfigMap, ref('good'), { merge: { data: { n } } })
    await maps.until(`default/${NAME}-good`, `seen ${n}`, (map) => dataOf(map)['seen'] === n)
  }
  try {
    await withReplicas(async (replicas, probes) => {
      await client.create(ConfigMap, { metadata: { ...ref('good'), labels: { test: 'good' } } })
      await reconciled('first')
      await Promise.all(probes.map((probe) => probe.served.opened))
      const first = await holder()
      await client.create(ConfigMap, { metadata: { ...ref('bad'), labels: { test: 'bad' } } })
      await maps.until(`default/${NAME}-bad`, 'blocking', (map) => dataOf(map)['begun'] === 'yes')
      const beganMs = performance.now()
      // The next leader works; no replica does until the lease has expired.
      await reconciled('second')
      const takeoverMs = performance.now() - beganMs
      assert.notEqual(await holder(), first)
      assert.ok(takeoverMs < LEASE_MS + TAKEOVER_MS, `the other replica worked after ${takeoverMs} ms`)
      const { process, code } = await Promise.race(
        replicas.map((process) => process.ended.then(({ code }) => ({ process, code }))),
      )
      assert.equal(code, 1)
      assert.ok(performance.now() - beganMs > BLOCK_MS - 1000, 'the block was shorter than intended')
      assert.match(process.output(), /the event loop was blocked, or the process suspended, for ([5-9]|1\d)(\.\d)? s/)
      await reconciled('third')
      const worst = probes.map((probe) => probe.worstMs)
      assert.equal(Math.max(...worst), Infinity, 'the blocked replica answered its probes')
      assert.ok(Math.min(...worst) < PROMPT_MS, 'the other replica did not answer its probes in time')
      assert.equal(dataOf(maps.get(`default/${NAME}-bad`))['wroteAfterwards'], undefined)
    })
  } finally {
    scope.abort(new Error('the test has ended'))
    await ended
    transport.close()
  }
})
