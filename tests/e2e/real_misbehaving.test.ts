/** Reconciles that misbehave, in a real process on a real API server: what becomes of the lease, the probes and the others. */
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

const skip = process.env['KUBEBUILDER_ASSETS']
  ? false
  : 'KUBEBUILDER_ASSETS is not set: there is no real control plane to run on'
const FILE = fileURLToPath(new URL('./files/misbehaving.ts', import.meta.url))

let envtest: Envtest
before(async () => {
  if (!skip) envtest = await startEnvtest()
})
after(async () => await envtest?.stop())

/** A namespace with operators in it, and what can be seen of them from outside. */
interface Stage {
  readonly processes: readonly OperatorProcess[]
  readonly client: Client
  readonly maps: Watching
  /** Creates the config map that the bad controller works on. */
  misbehave(what: string): Promise<void>
  /** Changes the good object so many times, one after the other; how long each took to be reconciled. */
  goodLatencies(rounds: number): Promise<number[]>
  /** How long the probes of each process took at most, since the last call; Infinity for one that was not answered with 200. */
  worstProbes(): number[]
  /** The longest time between two renewals, since the last call. */
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
            const took: number[] = []
            for (let round = 1; round <= rounds; round++) {
              const began = performance.now(), n = `${round}-${began}`
              await client.patch(ConfigMap, { namespace: 'default', name: `${name}-good` }, { merge: { data: { n } } })
              await maps.watching.until(`default/${name}-good`, `seen ${n}`, (map) => dataOf(map)['seen'] === n)
              took.push(performance.now() - began)
            }
            return took
          },
        })
      } catch (error) {
        const told = processes.map((process, i) => [process.output(), ...probes[i]!.failures].join('\n'))
        throw new Error(told.join('\n----\n'), { cause: error })
      } finally {
        for (const process of processes) await process.end('SIGKILL')
        await Promise.all(probes.map((probe) => probe.ended))
      }
    })
  } finally {
    for (const which of ['good', 'bad']) {
      await client.delete(ConfigMap, { namespace: 'default', name: `${name}-${which}` })
    }
    scope.abort(new Error('the stage is taken down'))
    await Promise.all([maps.ended, leases.ended])
    transport.close()
  }
}

function dataOf(map: KubeObject | undefined): Readonly<Record<string, string>> {
  return (map as { data?: Record<string, string> } | undefined)?.data ?? {}
}

/** Asks as a kubelet does, only more often. */
class Probe {
  readonly ended: Promise<void>
  /** Settles with the first good answer. */
  readonly served = new Latch()
  /** What became of those that were not answered with 200 after that, and when, for whoever looks for the cause. */
  readonly failures: string[] = []
  #worstMs = 0

  constructor(url: string, process: OperatorProcess, signal: AbortSignal) {
    let over = false
    void process.ended.then(() => (over = true))
    this.ended = (async () => {
      while (!over && !signal.aborted) {
        const began = performance.now()
        const failure = await fetch(url, { signal: AbortSignal.timeout(3000) }).then(
          async (
            response,
          ) => (response.ok ? (await response.text(), undefined) : `${response.status}: ${await response.text()}`),
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
    const most = Math.max(longest, performance.now() - (last ?? performance.now()))
    longest = 0
    return most
  }
  return { holder: () => holder, longestGapMs, ended: informer.start(signal) }
}

/** A busy machine is slow, but not as slow as a lease that is lost. */
const PROMPT_MS = 2000
const RENEWED_MS = 5000
/** From the end of the lease to the work of the next leader; the block ends 5 s after the lease. */
const TAKEOVER_MS = 4000

function figures(took: readonly number[], probeMs = 0, leaseMs: number): string {
  return `the good one took at most ${Math.round(Math.max(...took))} ms, a probe ${
    Math.round(probeMs)
  } ms, a renewal came after ${Math.round(leaseMs)} ms`
}

/** The others, the probes and the lease go on as if nothing was. */
function unimpressed(took: readonly number[], probeMs = 0, leaseMs: number): void {
  assert.ok(
    Math.max(...took) < PROMPT_MS && probeMs < PROMPT_MS && leaseMs < RENEWED_MS,
    figures(took, probeMs, leaseMs),
  )
}

/** For whoever runs it by hand. */
function say(what: string): void {
  console.log(what)
}

test(
  'a reconcile that always throws backs off, and nobody else notices',
  { skip },
  () =>
    onStage('throws', 1, async (stage) => {
      await stage.misbehave('throw')
      const took = await stage.goodLatencies(10)
      await sleep(systemClock, 3000)
      const [probeMs] = stage.worstProbes(), leaseMs = stage.longestLeaseGapMs()
      const tries = stage.processes[0]!.output().split('\n').filter((line) =>
        line.includes('as it was asked to')
      ).length
      say(`${tries} tries in 3 s; ${figures(took, probeMs, leaseMs)}`)
      assert.ok(tries >= 5 && tries <= 13, `${tries} tries in about 3 s; 5 ms doubled each time makes 10`)
      unimpressed(took, probeMs, leaseMs)
    }),
)

test(
  'a reconcile that never returns holds its own key and its worker, and the end of the grace period ends the process',
  { skip },
  () =>
    onStage('hangs', 1, async (stage) => {
      await stage.misbehave('hang')
      const took = await stage.goodLatencies(10)
      await sleep(systemClock, 3000)
      const [probeMs] = stage.worstProbes(), leaseMs = stage.longestLeaseGapMs()
      say(figures(took, probeMs, leaseMs))
      unimpressed(took, probeMs, leaseMs)
      const began = performance.now()
      const { code } = await stage.processes[0]!.end('SIGTERM')
      const tookMs = performance.now() - began
      assert.equal(code, 1)
      assert.match(stage.processes[0]!.output(), /still running: \\"bad\\"/)
      assert.ok(tookMs >= 900 && tookMs < 4000, `with a grace of 1 s it took ${tookMs} ms to end`)
    }),
)

test(
  'a reconcile that floods the queue with its own key leaves the others their turns',
  { skip },
  () =>
    onStage('floods', 1, async (stage) => {
      await stage.misbehave('flood')
      await sleep(systemClock, 1000)
      const took = await stage.goodLatencies(20)
      const runs = Number(dataOf(stage.maps.get('default/floods-bad'))['count'])
      const [probeMs] = stage.worstProbes(), leaseMs = stage.longestLeaseGapMs()
      say(`${runs} runs of the bad one while the good one had 20; ${figures(took, probeMs, leaseMs)}`)
      assert.ok(runs > 20, `it ran ${runs} times`)
      unimpressed(took, probeMs, leaseMs)
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
    // Whoever leads next works; nobody does until the lease of 15 s has run out.
    const [takeover] = await stage.goodLatencies(1)
    assert.notEqual(stage.holder(), first)
    assert.ok(takeover! < 15_000 + TAKEOVER_MS, `the other replica worked after ${takeover} ms`)
    say(`the other replica worked ${Math.round(takeover!)} ms after the block began`)
    const ended = await Promise.race(
      stage.processes.map((process) => process.ended.then(({ code }) => ({ process, code }))),
    )
    assert.equal(ended.code, 1)
    assert.ok(performance.now() - began > 19_000, 'it was blocked for as long as it was meant to be')
    assert.match(ended.process.output(), /the event loop was blocked for (1[6-9]|2\d)(\.\d)? s/)
    await stage.goodLatencies(3)
    const probes = stage.worstProbes()
    assert.equal(Math.max(...probes), Infinity, 'who does not come to answer is not healthy')
    assert.ok(Math.min(...probes) < PROMPT_MS, 'the other replica is')
    assert.equal(dataOf(stage.maps.get('default/blocks-bad'))['wroteAfterwards'], undefined)
  }))
