/**
 * `stall.ts CLUSTER N CONTROLLERS`: measures stalls of the event loop while all controllers reconcile each of N objects
 * once.
 *
 * From the first list until all keys are reconciled. Prints also the intervals of lease renewals, and whether the lease
 * was lost.
 */
import { randomUUID } from 'node:crypto'
import { PerformanceObserver } from 'node:perf_hooks'
import process, { argv, exit } from 'node:process'
import { httpTransport, LeadershipLost, operator } from 'kubeloop'
import { clusterOf, Foo, print } from './surroundings.ts'

const config = clusterOf(argv[2])
const [n, controllers] = [Number(argv[3]), Number(argv[4])]
/** Only Node reports garbage collections and the CPU time of a thread. */
const isNode = !('Bun' in globalThis) && !('Deno' in globalThis)

/** A period in which no timer fired. */
interface Gap {
  readonly fromMs: number
  readonly toMs: number
  /** The CPU time of the thread in the period: the rest belongs to other processes. */
  readonly cpuMs: number
}

const gaps: Gap[] = []
const collections: { readonly fromMs: number; readonly toMs: number }[] = []
if (isNode) {
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) {
      collections.push({ fromMs: startTime, toMs: startTime + duration })
    }
  }).observe({ entryTypes: ['gc'] })
}
const thread = process as unknown as { threadCpuUsage(): { user: number; system: number } }
const cpuMs = (): number => {
  if (!isNode) return NaN
  const { user, system } = thread.threadCpuUsage()
  return (user + system) / 1000
}
let last = { atMs: performance.now(), cpuMs: cpuMs() }
setInterval(() => {
  const now = { atMs: performance.now(), cpuMs: cpuMs() }
  if (now.atMs - last.atMs > 5) gaps.push({ fromMs: last.atMs, toMs: now.atMs, cpuMs: now.cpuMs - last.cpuMs })
  last = now
}, 1)

const renewals: number[] = []
const wire = httpTransport(config)
const transport: typeof wire = Object.assign(async (request: Parameters<typeof wire>[0]) => {
  const response = await wire(request)
  if (request.method !== 'GET' && request.path.includes('/leases') && response.status < 300) {
    renewals.push(performance.now())
  }
  return response
}, { close: wire.close })

const finished = Promise.withResolvers<void>()
let left = n * controllers
const app = operator({
  name: 'bench-stall',
  crds: 'ignore',
  leaderElection: { lease: `stall-${randomUUID()}`, namespace: 'default' },
})
for (let i = 0; i < controllers; i++) {
  app.controllerFor(Foo, { name: `stall-${i}`, syncTimeout: '1h' }).reconcile(async () => {
    if (--left === 0) finished.resolve()
  })
}
const began = performance.now()
const running = app.start(new AbortController().signal, { cluster: config, transport })
let lost = 0
await Promise.race([running, finished.promise]).catch((error: unknown) => {
  // Other errors end the program.
  if (!(error instanceof LeadershipLost)) throw error
  lost = 1
  console.error(error)
})
const ms = performance.now() - began
// The last collections are reported a moment later.
await new Promise((resolve) => setTimeout(resolve, 100))

/** Returns the time of garbage collection within a gap. */
function collectedMs({ fromMs, toMs }: Gap): number {
  return collections.reduce(
    (sum, each) => sum + Math.max(0, Math.min(toMs, each.toMs) - Math.max(fromMs, each.fromMs)),
    0,
  )
}
const within = gaps.filter(({ fromMs }) => fromMs < began + ms)
const longest = (values: readonly number[]): number => values.reduce((a, b) => Math.max(a, b), 0)
const oursMs = ({ fromMs, toMs, cpuMs }: Gap, collected: number): number => Math.min(toMs - fromMs, cpuMs) - collected
if (process.env['STALL_DETAILS']) {
  const worst = within.map((gap) => ({
    ...gap,
    gc: collectedMs(gap),
    ours: oursMs(gap, collectedMs(gap)),
    at: gap.fromMs - began,
  })).sort((a, b) => b.ours - a.ours)
  for (const each of worst.slice(0, 12)) console.error(JSON.stringify(each))
}
print({
  ms,
  lost,
  stallMs: longest(within.map(({ fromMs, toMs }) => toMs - fromMs)),
  renewalMs: longest(renewals.map((at, i) => at - (renewals[i - 1] ?? at))),
  ...(isNode
    ? {
      gcMs: longest(collections.map(({ fromMs, toMs }) => toMs - fromMs)),
      oursMs: longest(within.map((gap) => oursMs(gap, collectedMs(gap)))),
    }
    : {}),
})
exit(0)
