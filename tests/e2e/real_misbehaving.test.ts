/** Tests how misbehaving reconciles affect lease, probes and other controllers, in a process on a real API server. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type Client, Cluster, httpTransport, Informer, type KubeObject, type Transport } from '../../mod.ts'
import { Api } from '../../lib/client/api.ts'
import { sleep, systemClock } from '../../lib/async/clock.ts'
import { Latch } from '../../lib/async/latch.ts'
import { ConfigMap, Lease } from '../../lib/kinds/mod.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { freePort } from '../../lib/runtime/net/loopback.ts'
import { type Envtest, startEnvtest } from '../../lib/testing/envtest.ts'
import { type OperatorProcess, REPO, startOperatorProcess, withKubeconfig } from './operator_process.ts'
import { type Watching, watching } from './watching.ts'

const skip = process.env['KUBEBUILDER_ASSETS'] ? false : 'KUBEBUILDER_ASSETS is not set: no real control plane'
const FILE = fileURLToPath(new URL('./files/misbehaving.ts', import.meta.url))

let envtest: Envtest
before(async () => {
  if (!skip) envtest = await startEnvtest()
})
after(async () => await envtest?.stop())

/** Operator processes, and measurements of them from outside. */
interface Stage {
  readonly processes: readonly OperatorProcess[]
  readonly client: Client
  readonly maps: Watching
  /** Creates the ConfigMap of the bad controller. */
  misbehave(what: string): Promise<void>
  /** Changes the good object `rounds` times, one after the other. Returns the latency of each reconcile. */
  goodLatencies(rounds: number): Promise<number[]>
  /** Returns the maximum latency of the probes of each process since the last call. Infinity if one did not get 200. */
  worstProbes(): number[]
  /** Returns the maximum time between two renewals since the last call. */
  longestLeaseGapMs(): number
  holder(): string
}

async function onStage(name: string, replicas: number, play: (stage: Stage) => Promise<void>): Promise<void> {
  const transport = httpTransport(envtest.config)
  const { client } = new Cluster({ transport, name: 'e2e' })
  const scope = new AbortController()
  const maps = watching(transport, ConfigMap, scope.signal)
  const leases = watchLease(transport, name, scope.signal)
  const ports = await Promise.all(Array.from({ length: replicas }, () => freePort()))
  try {
    await withKubeconfig(envtest.kubeconfig(), async (kubeconfig) => {
      const processes = ports.map((port) => {
        const args = [name, String(port)]
        return startOperatorProcess({
          file: FILE,
          kubeconfig,
          server: envtest.config.server,
          reads: [REPO],
          args,
          listens: [port],
        })
      })
      const probes = processes.map((process, i) =>
        new Probe(`http://127.0.0.1:${ports[i]}/healthz`, process, scope.signal)
      )
      try {
        await client.create(ConfigMap, {
          metadata: { namespace: 'default', name: `${name}-good`, labels: { test: 'good' } },
          data: { n: '0' },
        })
        await maps.watching.until(`default/${name}-good`, 'seen', (map) => dataOf(map)['seen'] === '0')
        await Promise.all(probes.map((probe) => probe.served.opened))
        probes.forEach((probe) => probe.worst())
        await play({
          processes,
          client,
          maps: maps.watching,
          holder: leases.holder,
          longestLeaseGapMs: leases.longestGapMs,
          worstProbes: () => probes.map((probe) => probe.worst()),
          async misbehave(what) {
            await client.create(ConfigMap, {
              metadata: { namespace: 'default', name: `${name}-bad`, labels: { test: 'bad' } },
              data: { do: what },
            })
          },
          async goodLatencies(rounds) {
            const latencies: number[] = []
            for (let round = 1; round <= rounds; round++) {
              const began = performance.now(), n = `${round}-${began}`
              await client.patch(ConfigMap, { namespace: 'default', name: `${name}-good` }, { merge: { data: { n } } })
              await maps.watching.until(`default/${name}-good`, `seen ${n}`, (map) => dataOf(map)['seen'] === n)
              latencies.push(performance.now() - began)
            }
            return latencies
          },
        })
      } catch (error) {
        const outputs = processes.map((process, i) => [process.output(), ...probes[i]!.failures].join('\n'))
        throw new Error(outputs.join('\n----\n'), { cause: error })
      } finally {
        for (const process of processes) await process.end('SIGKILL')
        await Promise.all(probes.map((probe) => probe.ended))
      }
    })
  } finally {
    for (const which of ['good', 'bad']) {
      await client.delete(ConfigMap, { namespace: 'default', name: `${name}-${which}` })
    }
    scope.abort(new Error('the test has ended'))
    await Promise.all([maps.ended, leases.ended])
    transport.close()
  }
}

function dataOf(map: KubeObject | undefined): Readonly<Record<string, string>> {
  return (map as { data?: Record<string, string> } | undefined)?.data ?? {}
}

/** Probes as a kubelet does, but more often. */
class Probe {
  readonly ended: Promise<void>
  /** Opens with the first 200. */
  readonly served = new Latch()
  /** Later probes that did not get 200, with time and reason. */
  readonly failures: string[] = []
  #worstMs = 0

  constructor(url: string, process: OperatorProcess, signal: AbortSignal) {
    let over = false
    void process.ended.then(() => (over = true))
    this.ended = (async () => {
      while (!over && !signal.aborted) {
        const began = performance.now()
        // The end of the process may cut off an answer, too.
        const failure = await fetch(url, { signal: AbortSignal.timeout(3000) })
          .then(async (response) => [response, await response.text()] as const)
          .then(
            ([{ ok, status }, text]) => ok ? undefined : `${status}: ${text}`,
            (error: unknown) => `${String(error)} (${String((error as { cause?: unknown }).cause)})`,
          )
        if (over) return
        const answered = failure === undefined
        if (answered) this.served.open()
        else if (this.served.isOpen) {
          this.failures.push(`${new Date().toISOString()} a probe was not answered: ${failure}`)
        }
        this.#worstMs = Math.max(this.#worstMs, answered ? performance.now() - began : Infinity)
        await sleep(systemClock, 100)
      }
    })()
  }

  worst(): number {
    const worst = this.#worstMs
    this.#worstMs = 0
    return worst
  }
}

function watchLease(transport: Transport, name: string, signal: AbortSignal) {
  const informer = new Informer({
    api: new Api({ transport }),
    resource: Lease,
    namespace: 'default',
    clock: systemClock,
    log: silentLog,
  })
  let longest = 0, last: number | undefined, holder = ''
  informer.addHandler(({ kind, object }) => {
    if (object.metadata.name !== name || kind === 'deleted') return
    const now = performance.now()
    if (last !== undefined) longest = Math.max(longest, now - last)
    last = now
    holder = (object as KubeObject & { spec: { holderIdentity?: string } }).spec.holderIdentity ?? ''
  })
  const longestGapMs = (): number => {
    const max = Math.max(longest, performance.now() - (last ?? performance.now()))
    longest = 0
    return max
  }
  return { holder: () => holder, longestGapMs, ended: informer.start(signal) }
}

/** Enough for a busy machine, less than the loss of a lease takes. */
const PROMPT_MS = 2000
const RENEWED_MS = 5000
/** From the end of the lease to the first reconcile of the next leader. The block ends 5 s after the lease. */
const TAKEOVER_MS = 4000

function figures(latencies: readonly number[], probeMs = 0, leaseMs: number): string {
  return `the good reconcile took at most ${Math.round(Math.max(...latencies))} ms, a probe ${
    Math.round(probeMs)
  } ms, a renewal came after ${Math.round(leaseMs)} ms`
}

/** Asserts that the good controller, the probes and the lease are not affected. */
function assertUnaffected(latencies: readonly number[], probeMs = 0, leaseMs: number): void {
  assert.ok(
    Math.max(...latencies) < PROMPT_MS && probeMs < PROMPT_MS && leaseMs < RENEWED_MS,
    figures(latencies, probeMs, leaseMs),
  )
}

test(
  'a reconcile that always throws backs off, without effect on others',
  { skip },
  () =>
    onStage('throws', 1, async (stage) => {
      await stage.misbehave('throw')
      const latencies = await stage.goodLatencies(10)
      await sleep(systemClock, 3000)
      const [probeMs] = stage.worstProbes(), leaseMs = stage.longestLeaseGapMs()
      const tries = stage.processes[0]!.output().split('\n').filter((line) => line.includes('as requested')).length
      console.log(`${tries} tries in 3 s; ${figures(latencies, probeMs, leaseMs)}`)
      assert.ok(tries >= 5 && tries <= 13, `${tries} tries in about 3 s; 5 ms doubled each time makes 10`)
      assertUnaffected(latencies, probeMs, leaseMs)
    }),
)

test(
  'a reconcile that never returns holds its own key and its worker, and the end of the grace period ends the process',
  { skip },
  () =>
    onStage('hangs', 1, async (stage) => {
      await stage.misbehave('hang')
      const latencies = await stage.goodLatencies(10)
      await sleep(systemClock, 3000)
      const [probeMs] = stage.worstProbes(), leaseMs = stage.longestLeaseGapMs()
      console.log(figures(latencies, probeMs, leaseMs))
      assertUnaffected(latencies, probeMs, leaseMs)
      const began = performance.now()
      const { code } = await stage.processes[0]!.end('SIGTERM')
      const tookMs = performance.now() - began
      assert.equal(code, 1)
      assert.match(stage.processes[0]!.output(), /still running: \\"bad\\"/)
      assert.ok(tookMs >= 900 && tookMs < 4000, `with a grace of 1 s it took ${tookMs} ms to end`)
    }),
)

test(
  'a reconcile that floods the queue with its own key does not starve others',
  { skip },
  () =>
    onStage('floods', 1, async (stage) => {
      await stage.misbehave('flood')
      await sleep(systemClock, 1000)
      const latencies = await stage.goodLatencies(20)
      const runs = Number(dataOf(stage.maps.get('default/floods-bad'))['count'])
      const [probeMs] = stage.worstProbes(), leaseMs = stage.longestLeaseGapMs()
      console.log(`${runs} runs of the bad reconcile during 20 of the good; ${figures(latencies, probeMs, leaseMs)}`)
      assert.ok(runs > 20, `it ran ${runs} times`)
      assertUnaffected(latencies, probeMs, leaseMs)
    }),
)

test('a reconcile that blocks the event loop past the lease costs the leadership, and writes nothing afterwards', {
  skip,
}, () =>
  onStage('blocks', 2, async (stage) => {
    const first = stage.holder()
    await stage.misbehave('block')
    await stage.maps.until('default/blocks-bad', 'blocking', (map) => dataOf(map)['begun'] === 'yes')
    const began = performance.now()
    // The next leader works; no replica does until the lease of 15 s has expired.
    const [takeover] = await stage.goodLatencies(1)
    assert.notEqual(stage.holder(), first)
    assert.ok(takeover! < 15_000 + TAKEOVER_MS, `the other replica worked after ${takeover} ms`)
    console.log(`the other replica worked ${Math.round(takeover!)} ms after the block began`)
    const ended = await Promise.race(
      stage.processes.map((process) => process.ended.then(({ code }) => ({ process, code }))),
    )
    assert.equal(ended.code, 1)
    assert.ok(performance.now() - began > 19_000, 'the block was shorter than intended')
    assert.match(
      ended.process.output(),
      /the event loop was blocked, or the process suspended, for (1[6-9]|2\d)(\.\d)? s/,
    )
    await stage.goodLatencies(3)
    const probes = stage.worstProbes()
    assert.equal(Math.max(...probes), Infinity, 'the blocked replica answered its probes')
    assert.ok(Math.min(...probes) < PROMPT_MS, 'the other replica did not answer its probes in time')
    assert.equal(dataOf(stage.maps.get('default/blocks-bad'))['wroteAfterwards'], undefined)
  }))
