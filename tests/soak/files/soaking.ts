/**
 * Operators in one process on the server of soak.ts: `soaking.ts CLUSTER`, a file with its ClusterConfig.
 *
 * One operator runs all the time and sees the events. Others are started, elected, and stopped, or lose their Lease.
 * Prints its counts, and a sample after each cycle of those; ends with the input.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { Cluster, type ClusterConfig, operator } from 'kubeloop'
import { ConfigMap, Lease, Secret } from 'kubeloop/kinds'
import { type Clock, systemClock } from '../../../lib/async/clock.ts'
import { silentLog } from '../../../lib/observe/log.ts'
import { collector } from '../../tools/collector.ts'
import type { Sample } from '../trend.ts'

const cluster = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as ClusterConfig
const collect = collector() ?? (globalThis as { gc?: () => void }).gc
const print = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`)

let timers = 0
const clock: Clock = {
  ...systemClock,
  after(ms, fn) {
    timers++
    let isOpen = true
    const end = (): void => {
      if (isOpen) timers--
      isOpen = false
    }
    const cancel = systemClock.after(ms, () => {
      end()
      fn()
    })
    return () => {
      end()
      cancel()
    }
  },
}

let [events, reconciles, cycles] = [0, 0, 0]
const stopping = new AbortController()
const options = { cluster, clock, log: silentLog }

const steady = operator({ name: 'steady', namespaces: ['soak'], leaderElection: { namespace: 'soak' } })
steady.controllerFor(ConfigMap, {
  when: ({ data }) => ++events % 100 === 0 ? (print({ events, reconciles }), true) : Number(data?.['n']) % 6 === 0,
})
  .reconcile(async () => void reconciles++)

/** An operator with an election, two controllers and a task, which resolves `worked` when all of them have worked. */
function passing() {
  const worked = Promise.withResolvers<void>()
  let left = 3
  const done = (): void => void (--left === 0 && worked.resolve())
  const times = { duration: '2s', renewDeadline: '1s', retryPeriod: '100ms' } as const
  const app = operator({
    name: 'passing',
    namespaces: ['passing'],
    grace: '1s',
    leaderElection: { namespace: 'passing', ...times },
  })
  for (const kind of [ConfigMap, Secret] as const) {
    app.controllerFor(kind as typeof ConfigMap).reconcile(async (object, { client }) => {
      await client.patch(kind as typeof ConfigMap, object, {
        merge: { metadata: { annotations: { cycle: String(cycles) } } },
      })
      done()
    })
  }
  app.add('task', async ({ signal }) => {
    done()
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
  })
  const stop = new AbortController()
  const ended = app.start(stop.signal, options).then(() => undefined, (error: unknown) => error)
  return { worked: worked.promise, stop, ended }
}

async function cycle(): Promise<void> {
  const [first, second] = [passing(), passing()]
  const both = Promise.all([first.ended, second.ended])
  // On a busy machine both may miss the short times of their election.
  const lost = await Promise.race([first.worked, second.worked, both])
  if (lost && !lost.every((each) => (each as Error | undefined)?.name === 'LeadershipLost')) throw lost[0] ?? lost[1]
  if (!lost && cycles % 4 === 3) {
    // The leader loses its Lease to nobody.
    const { client, close } = await admin()
    await client.patch(Lease, { namespace: 'passing', name: 'passing' }, {
      merge: { spec: { holderIdentity: 'nobody' } },
    })
    const failed = await Promise.race([first.ended, second.ended])
    if (!(failed instanceof Error)) throw new Error('no leader has lost the lease')
    await close()
  }
  for (const { stop } of [first, second]) stop.abort(new Error('the cycle is over'))
  await both
  cycles++
}

async function admin() {
  const opened = new Cluster({ name: 'admin', config: cluster })
  return { client: opened.client, close: () => opened.close() }
}

async function sample(): Promise<Sample> {
  for (let i = 0; i < 3; i++) {
    await new Promise((resolve) => setImmediate(resolve))
    collect?.()
  }
  const { heapUsed, rss } = process.memoryUsage()
  const open = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return '' // that of the folder itself
    }
  })
  return {
    seconds: performance.now() / 1000,
    ...{ events, reconciles, cycles, timers },
    heap: heapUsed / 2 ** 20,
    resident: rss / 2 ** 20,
    descriptors: open.length + (process.getActiveResourcesInfo?.().length ?? 0),
    connections: open.filter((link) => link.startsWith('socket:')).length,
  }
}

const running = steady.start(stopping.signal, options)
createInterface({ input: process.stdin }).on('close', () => stopping.abort(new Error('the input has ended')))
while (!stopping.signal.aborted) {
  await cycle()
  if (!stopping.signal.aborted) print(await sample())
}
await running
process.exit(0)
