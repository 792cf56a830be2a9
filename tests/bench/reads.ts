/**
 * Measures the cost of reading own writes.
 *
 * Reads of a cache without own writes, with some that the watch has not delivered yet, and of the bare store, in one
 * run:
 *
 *   node tests/bench/reads.ts [--n 10000] [--rounds 5]
 *
 * Prints the time of one read, the best of the rounds, and its ratio to the bare store.
 */
import { parseArgs } from 'node:util'
import { systemClock } from '../../lib/async/clock.ts'
import type { Cache } from '../../lib/cache/cache.ts'
import { CachedReader } from '../../lib/cache/cached_reader.ts'
import { OwnWrites } from '../../lib/cache/own_writes.ts'
import { byKey, Store, type StoreReader } from '../../lib/cache/store.ts'
import type { Reader } from '../../lib/client/client.ts'
import { defineIndex } from '../../lib/core/object_indexer.ts'
import type { KubeObject } from '../../lib/core/objects.ts'
import type { Resource } from '../../lib/core/resource.ts'
import { POD, pod } from '../cache/scripted_server.ts'

const { values: options } = parseArgs({
  options: { n: { type: 'string', default: '10000' }, rounds: { type: 'string', default: '5' } },
})
const n = Number(options.n)
const Pod = POD as Resource<KubeObject>
const byTeam = defineIndex(Pod, ({ metadata }) => metadata.labels?.['team'])

const object = (at: number, version: number): KubeObject =>
  pod(`pod-${at}`, String(version), { labels: { team: `team-${at % 1000}` } })

function stores(pending: number): { readonly bare: StoreReader; readonly own: OwnWrites } {
  const store = new Store()
  store.replace(byKey(Array.from({ length: n }, (_, at) => object(at, 1))), true)
  const own = new OwnWrites({ resource: POD, store, clock: systemClock, prepare: () => {} })
  own.listed('1')
  for (let at = 0; at < pending; at++) {
    const write = own.begin({ resource: POD, namespace: 'default', name: `pod-${at}` })!
    write.answered(object(at, 2 + at))
    write.end()
  }
  return { bare: store, own }
}

/** Returns a reader as in operators, with a fake informer. */
function readerOf(store: () => StoreReader): CachedReader {
  const informer = {
    namespace: undefined,
    isSynced: true,
    index: () => undefined,
    get reader() {
      return store()
    },
  }
  return new CachedReader({ readableOf: () => [informer] } as unknown as Cache, {} as Reader)
}

const READS: Readonly<Record<string, readonly [number, (reader: CachedReader, at: number) => Promise<unknown>]>> = {
  get: [200_000, (reader, at) => reader.get(Pod, { namespace: 'default', name: `pod-${at % n}` })],
  list: [100, (reader) => reader.list(Pod)],
  lookup: [20_000, (reader, at) => reader.lookup(byTeam, `team-${at % 1000}`)],
}

const nothing = stores(0)
const [some, many] = [stores(10), stores(1000)]
const CONTENDERS: Readonly<Record<string, CachedReader>> = {
  'bare store': readerOf(() => nothing.bare),
  'nothing pending': readerOf(() => nothing.own.reader),
  '10 pending': readerOf(() => some.own.reader),
  '1,000 pending': readerOf(() => many.own.reader),
}

for (const [name, [times, read]] of Object.entries(READS)) {
  const best = new Map<string, number>()
  for (let round = 0; round < Number(options.rounds); round++) {
    const contenders = Object.entries(CONTENDERS)
    for (const [contender, reader] of round % 2 === 0 ? contenders : contenders.reverse()) {
      const turns = contender === '1,000 pending' ? times / 20 : times
      const began = systemClock.monotonic()
      for (let at = 0; at < turns; at++) await read(reader, at)
      best.set(contender, Math.min(best.get(contender) ?? Infinity, (systemClock.monotonic() - began) / turns))
    }
  }
  const floor = best.get('bare store')!
  for (const [contender, ms] of best) {
    console.log(
      `${name.padEnd(7)} ${contender.padEnd(16)} ${(ms * 1000).toFixed(2).padStart(9)} µs  ×${(ms / floor).toFixed(2)}`,
    )
  }
}
