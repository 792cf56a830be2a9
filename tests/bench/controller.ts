/**
 * Measures the time of one event from an informer to the end of an empty reconcile.
 *
 * 100,000 keys pass a source, the queue and the workers of a controller, in memory, without a network.
 *
 *   node tests/bench/controller.ts        (or bun, or deno run -A)
 */
import type { KubeObject } from '../../lib/core/objects.ts'
import { nextTurn, systemClock } from '../../lib/async/clock.ts'
import { silentLog } from '../../lib/observe/log.ts'
import type { Informer } from '../../lib/cache/informer.ts'
import type { Delta } from '../../lib/cache/store.ts'
import { Controller } from '../../lib/controller/controller.ts'
import { ownKey } from '../../lib/controller/handlers.ts'
import { KindSource } from '../../lib/controller/kind_source.ts'
import { memoryMeter } from '../observe/memory_meter.ts'

const COUNT = 100_000
const ROUNDS = 4

const objects = Array.from({ length: COUNT }, (_, i): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: `pod-${i}`,
    namespace: 'default',
    uid: `uid-${i}`,
    resourceVersion: `${i}`,
    creationTimestamp: '2026-01-01T00:00:00Z',
  },
}))

for (const concurrency of [1, 10]) {
  for (const isMeasured of [false, true]) {
    const rounds: { readonly enqueueMs: number; readonly workMs: number }[] = []
    for (let round = 0; round < ROUNDS; round++) rounds.push(await once(concurrency, isMeasured))
    const { enqueueMs, workMs } = rounds.toSorted((a, b) => a.enqueueMs + a.workMs - b.enqueueMs - b.workMs)[0]!
    const micro = (ms: number): string => `${(ms * 1000 / COUNT).toFixed(2)} µs`
    const perSecond = Math.round(COUNT / (enqueueMs + workMs) * 1000).toLocaleString('en')
    const what = `concurrency ${concurrency}${isMeasured ? ', measured' : ''}`
    console.log(
      `${what}: event to queue ${micro(enqueueMs)}, queue to outcome ${
        micro(workMs)
      }, ${perSecond} keys/s (best of ${ROUNDS})`,
    )
  }
}

async function once(concurrency: number, isMeasured: boolean): Promise<{ enqueueMs: number; workMs: number }> {
  let notify: (delta: Delta) => void = () => {}
  const informer = {
    resource: { group: '', version: 'v1', kind: 'Pod', plural: 'pods', scope: 'Namespaced' },
    isSynced: true,
    ended: new Promise<void>(() => {}),
    synced: () => Promise.resolve(),
    addHandler: (
      handler: (delta: Delta) => void,
    ) => ((notify = handler), { synced: () => Promise.resolve(), remove() {} }),
  } as unknown as Informer
  const stop = new AbortController()
  const finished = Promise.withResolvers<void>()
  let count = 0
  const controller = new Controller({
    name: 'bench',
    kind: 'Pod',
    sources: [new KindSource({ informers: [informer], map: ownKey, own: true, clock: systemClock, log: silentLog })],
    clock: systemClock,
    log: silentLog,
    concurrency,
    meter: isMeasured ? memoryMeter() : undefined,
    reconcile: async () => {
      if (++count === COUNT) finished.resolve()
    },
  })
  const running = controller.start(stop.signal)
  await nextTurn()
  const begun = systemClock.monotonic()
  for (const object of objects) notify({ kind: 'added', object, initial: false })
  const queued = systemClock.monotonic()
  await finished.promise
  const done = systemClock.monotonic()
  stop.abort()
  await running
  return { enqueueMs: queued - begun, workMs: done - queued }
}
