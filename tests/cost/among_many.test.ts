/**
 * Tests that one step of the way of an event costs the same among few objects and among many: no part searches all of
 * them. Each step is small, so that a search of all takes a hundred times as long. Processor time is compared,
 * and the fastest of some rounds counts: other processes, compilation and garbage collection do not.
 */
import assert from 'node:assert/strict'
import process from 'node:process'
import { test } from 'node:test'
import { Store as ServerStore } from '../../lib/apiserver/storage/store.ts'
import { BoundedMap } from '../../lib/async/bounded_map.ts'
import { namespaceTerm, nameTerm } from '../../lib/apiserver/verbs/list.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { lineSplitter } from '../../lib/async/lines.ts'
import { Cache } from '../../lib/cache/cache.ts'
import { CompactObjects } from '../../lib/cache/compact/compact_objects.ts'
import { ObjectCodec } from '../../lib/cache/compact/object_codec.ts'
import { HandlerSet } from '../../lib/cache/handler_set.ts'
import { OwnWritesState } from '../../lib/cache/own_writes_state.ts'
import { type Delta, Store } from '../../lib/cache/store.ts'
import { ApplyCache } from '../../lib/client/apply_cache.ts'
import { EventMapper } from '../../lib/controller/event_mapper.ts'
import { FailedEvents } from '../../lib/controller/failed_events.ts'
import { foldFailures } from '../../lib/controller/failures.ts'
import { GoneKeys } from '../../lib/controller/gone_keys.ts'
import { RunHistory } from '../../lib/controller/run_history.ts'
import { writeLoops } from '../../lib/controller/write_loops.ts'
import { defineIndex } from '../../lib/core/object_indexer.ts'
import type { KubeObject } from '../../lib/core/objects.ts'
import type { Resource } from '../../lib/core/resource.ts'
import { DEFAULT_LIMITS, EventState } from '../../lib/events/event_state.ts'
import { ConfigMap } from '../../lib/kinds/mod.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { QueueState } from '../../lib/queue/queue_state.ts'
import { exponentialLimiter } from '../../lib/queue/rate_limiter.ts'
import { WorkQueue } from '../../lib/queue/work_queue.ts'

const [FEW, MANY] = [100, 40_000]
/** The steps of a round, and the rounds. */
const [STEPS, ROUNDS] = [200, 5]
/** A step among many may take this many times as long as one among few: maps that outgrow the processor's cache. */
const TIMES = 4
/** What a step may take in any case, in microseconds: a search of all objects takes longer. */
const FREE = 15

function map(at: number, version: number, data = {}): KubeObject {
  const metadata = { namespace: `n${at % 50}`, name: `m${at}`, uid: `u${at}`, resourceVersion: String(version) }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data } as unknown as KubeObject
}
const keyOf = (at: number): string => `n${at % 50}/m${at}`

/** Returns a step, which gets a new number each time, in what has `count` objects. */
type Step = (at: number) => void
type Making = (count: number) => Step | Promise<Step>

const each = (count: number, make: (at: number) => void): void => {
  for (let at = 0; at < count; at++) make(at)
}

function storeOf(count: number): Store<KubeObject> {
  const store = new Store<KubeObject>()
  each(count, (at) => store.apply(map(at, at + 1)))
  return store
}

const byName = defineIndex(ConfigMap as unknown as Resource<KubeObject>, ({ metadata }) => metadata.name)

function waiting(count: number): QueueState<string> {
  const queue = new QueueState<string>()
  each(count, (at) => queue.add(keyOf(at), at % 3, 0))
  return queue
}

const STEPS_OF: Readonly<Record<string, Making>> = {
  'a queue: a key is added, taken and done': (count) => {
    const queue = waiting(count)
    return (at) => {
      queue.add(`new-${at}`, 5, at)
      queue.done(queue.take(at)!)
    }
  },
  'a queue: the oldest key is taken, and waits again': (count) => {
    const queue = waiting(count)
    return (at) => {
      const key = queue.take(1e6 + at)!
      queue.add(key, 0, at)
      queue.done(key)
    }
  },
  'a queue: the priority of a waiting key is raised': (count) => {
    const queue = waiting(count)
    return (at) => void queue.add(keyOf((at * 7) % count), 3 + (at % 2), at)
  },
  'a queue: a waiting key is removed': (count) => {
    const queue = waiting(count)
    return (at) => {
      queue.remove(keyOf((at * 7) % count))
      queue.add(keyOf((at * 7) % count), 0, at)
    }
  },
  'a queue: a retry among retries is cancelled': (count) => {
    const queue = new QueueState<string>()
    each(count, (at) => queue.addAt(keyOf(at), 1000 + at, 0, true))
    return (at) => {
      queue.addAt(`new-${at}`, 500, 0, true)
      queue.nextDueMs()
      queue.cancelRetry(`new-${at}`)
    }
  },
  'a queue: a delayed key becomes due': (count) => {
    const queue = new QueueState<string>()
    each(count, (at) => queue.addAt(keyOf(at), 1e6 + at, 0, false))
    return (at) => {
      queue.addAt(`new-${at}`, at, 0, false)
      queue.promote(at)
      queue.done(queue.take(at)!)
    }
  },
  'a work queue: a key is added and forgotten': (count) => {
    const queue = new WorkQueue<string>({ clock: new FakeClock() })
    each(count, (at) => queue.retry(keyOf(at)))
    return (at) => {
      queue.retry(`new-${at}`)
      queue.forget(`new-${at}`)
      queue.remove(`new-${at}`)
    }
  },
  'a limiter: one more failure': (count) => {
    const limiter = exponentialLimiter<string>()
    each(count, (at) => void limiter.when(keyOf(at)))
    return (at) => {
      limiter.when(`new-${at}`)
      limiter.forget(`new-${at}`)
    }
  },
  'a store: an object changes': (count) => {
    const store = storeOf(count)
    store.lookup(byName, 'm1')
    Array.from(store.values('n1'))
    return (at) => void store.apply(map(at % count, 1e6 + at))
  },
  'a store: an object is added and deleted': (count) => {
    const store = storeOf(count)
    store.lookup(byName, 'm1')
    return (at) => {
      store.apply(map(1e6 + at, 1e6 + at))
      store.delete(map(1e6 + at, 1e6 + at))
    }
  },
  'a store: the objects of a small namespace': (count) => {
    const store = storeOf(count)
    store.apply({ ...map(0, 1), metadata: { ...map(0, 1).metadata, namespace: 'small' } })
    return () => assert.equal(Array.from(store.values('small')).length, 1)
  },
  'a store: a lookup in an index': (count) => {
    const store = storeOf(count)
    return (at) => assert.equal(store.lookup(byName, `m${at % count}`).length, 1)
  },
  'a cache: a read and a write in a namespace of many that are watched': (count) => {
    const cache = new Cache({ api: { describe: () => 'maps' } as never, clock: new FakeClock() })
    const namespaces = Array.from({ length: count / 10 }, (_, at) => `n${at}`)
    cache.declare(ConfigMap, { namespaces })
    return (at) => {
      const namespace = `n${at % namespaces.length}`
      assert.equal(cache.readableOf(ConfigMap, namespace)?.length, 1)
      cache.begin({ resource: ConfigMap, namespace, name: 'a' })!.end()
    }
  },
  'own writes: an answer, and its event': (count) => {
    const own = new OwnWritesState<KubeObject>(() => undefined)
    own.listed('1', 0, 0)
    each(count, (at) => own.answered(keyOf(at), map(at, 1e9 + at), map(at, 1e9 + at), 0))
    return (at) => {
      const [key, object] = [`n/new-${at}`, map(at, 10 + at)]
      const write = own.begin(key)
      own.answered(key, object, object, 0)
      own.end(write)
      own.shown(key, undefined)
      own.seen(key, String(10 + at))
    }
  },
  'own writes: a deletion, and its event': (count) => {
    const own = new OwnWritesState<KubeObject>(() => undefined)
    own.listed('1', 0, 0)
    each(count, (at) => {
      const write = own.begin(keyOf(at))
      own.gone(write, `u${at}`, 0)
      own.end(write)
    })
    return (at) => {
      const write = own.begin(`n/new-${at}`)
      own.gone(write, `new-${at}`, 0)
      own.end(write)
      own.deleted(`n/new-${at}`, `new-${at}`, String(10 + at))
    }
  },
  'handlers: an event': (count) => {
    const store = storeOf(count)
    const handlers = new HandlerSet<KubeObject>({
      ...{ name: 'maps', store, clock: new FakeClock(), random: Math.random, log: silentLog },
    })
    let calls = 0
    handlers.add(() => void calls++)
    return (at) => {
      handlers.notify([{ kind: 'updated', object: map(at % count, at), old: map(at % count, at) }])
      assert.equal(calls, at + 1)
    }
  },
  'a map function: an event beside objects whose mapping has failed': async (count) => {
    const mapper = new EventMapper({
      map: (object) => {
        if (object.metadata.name.startsWith('m')) throw new Error('is not mapped')
        return [{ namespace: 'n', name: 'a' }]
      },
      ...{ adderOf: () => () => {}, clock: new FakeClock(), log: silentLog, signal: new AbortController().signal },
    })
    const added = (object: KubeObject): Delta => ({ kind: 'added', object, initial: false })
    each(count, (at) => mapper.take(added(map(at, 1))))
    await mapper.tried
    const other = { ...map(0, 1), metadata: { ...map(0, 1).metadata, name: 'other' } }
    return () => mapper.take(added(other))
  },
  'events whose mapping has failed: one more': (count) => {
    const failed = new FailedEvents()
    const event = (at: number) => {
      const delta = { kind: 'updated', object: map(at, 1), old: map(at, 1) } as const
      return { states: [delta.object], delta, priority: 0, why: 'failed', error: undefined }
    }
    each(count, (at) => void failed.add(keyOf(at), event(at)))
    return (at) => {
      failed.add(`n/new-${at}`, event(at))
      failed.mapped(`n/new-${at}`, failed.get(`n/new-${at}`)!, [], '')
    }
  },
  'keys of deleted objects: one more': (count) => {
    const gone = new GoneKeys(new FakeClock(), true, () => {})
    each(count, (at) => gone.note(keyOf(at), false))
    return (at) => {
      gone.note(`n/new-${at}`, false)
      gone.ignores(`n/new-${at}`)
    }
  },
  'write loops: a run': (count) => {
    const loops = writeLoops(new FakeClock())
    const writes = [{ verb: 'patch', kind: 'ConfigMap', key: 'a', cluster: '', result: 'updated' }] as never
    each(count, (at) => void loops.ended(keyOf(at), { kind: 'ConfigMap', key: keyOf(at), causes: [], writes }))
    return (at) => void loops.ended(`new-${at % 3}`, { kind: 'ConfigMap', key: 'a', causes: [], writes })
  },
  'the history of runs: a run': (count) => {
    const clock = new FakeClock()
    const history = new RunHistory(true, () => true)
    each(count, (at) => history.note(keyOf(at), 'a change'))
    return (at) => {
      history.note(`new-${at}`, 'a change')
      history.begin(`new-${at}`, clock)
      history.end(`new-${at}`)
    }
  },
  'a bounded map: one more entry': (count) => {
    const bounded = new BoundedMap<string, number>(count)
    each(2 * count, (at) => bounded.set(keyOf(at), at))
    return (at) => {
      bounded.set(`new-${at}`, at)
      bounded.delete(keyOf(2 * count - 1 - at))
      bounded.set(`newer-${at}`, at)
    }
  },
  'failures: one more key': (count) => {
    const fold = foldFailures(() => false)
    const failed = (key: string) =>
      fold(key, { disposition: { kind: 'retry', error: new Error('fails') }, writes: [] } as never)
    each(count, (at) => void failed(keyOf(at)))
    return (at) => void failed(`new-${at}`)
  },
  'applies: one is remembered and compared': (count) => {
    const applies = new ApplyCache()
    const of = (at: number) => applies.of(ConfigMap, { namespace: 'n', name: `m${at}` }, 'a')
    each(count, (at) => of(at).remember({}, map(at, 1)))
    return (at) => {
      const applied = of(1e6 + at)
      applied.remember({}, map(at, 1))
      assert.ok(applied.isUpToDate({}, map(at, 1)))
    }
  },
  'Kubernetes Events: one is recorded and sent': (count) => {
    const state = new EventState({ ...DEFAULT_LIMITS, series: 1e6, queue: 1e6 }, () => {})
    const now = { nowMs: 0, monotonicMs: 0 } as never
    const record = (name: string): void => {
      const regarding = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'n', name, uid: name } }
      const what = { type: 'Normal', reason: 'Done', action: 'Do', note: 'done', controller: 'a', regarding }
      state.record(
        { ...what, related: undefined } as never,
        () => ({ metadata: { name, namespace: 'n' } }) as never,
        now,
      )
    }
    each(count, (at) => record(keyOf(at)))
    for (let job = state.take(0); job; job = state.take(0)) state.settle(job, 'written', 'failed', 0)
    return (at) => {
      record(`new-${at}`)
      const job = state.take(0)!
      state.settle(job, 'written', 'failed', 0)
    }
  },
  'compact objects: one is replaced and read': (count) => {
    const objects = new CompactObjects(new ObjectCodec())
    each(count, (at) => objects.set(keyOf(at), map(at, 1, { at: String(at) })))
    return (at) => {
      objects.set(keyOf(at % count), map(at % count, 2, { at: String(at) }))
      assert.ok(objects.get(keyOf((at * 7) % count)))
    }
  },
  'lines: a chunk of a long line': (count) => {
    const lines = lineSplitter()
    const chunk = new Uint8Array(100).fill(65)
    each(count, () => void lines.push(chunk))
    return () => void lines.push(chunk)
  },
  'a clock of tests: a timer': (count) => {
    const clock = new FakeClock()
    each(count, (at) => void clock.after(1000 + at, () => {}))
    return (at) => clock.after(at % 1000, () => {})()
  },
  'the embedded API: an object is written, and a namespace of one object listed': (count) => {
    const store = serverOf(count)
    store.put('maps', 'small/a', map(1, 1) as never)
    return (at) => {
      store.put('maps', keyOf(at % count), map(at % count, 1, { at }) as never)
      assert.equal(store.list('maps', 'small/').length, 1)
    }
  },
  'the embedded API: a write beside watches of other objects': (count) => {
    const store = serverOf(100)
    each(count, (at) => void store.listen('maps', () => {}, nameTerm(`other-${at}`)))
    each(count, (at) => void store.listen('maps', () => {}, namespaceTerm(`other-${at}`)))
    return (at) => void store.put('maps', keyOf(at % 100), map(at % 100, 1, { at }) as never)
  },
}

function serverOf(count: number): ServerStore {
  const store = new ServerStore(() => 0)
  each(count, (at) => void store.put('maps', keyOf(at), map(at, 1) as never))
  store.list('maps', 'n1/')
  return store
}

/** Returns the microseconds of processor time that a step takes among `count` objects. */
async function costOf(make: Making, count: number): Promise<number> {
  const step = await make(count)
  const round = (number: number): number => {
    const began = process.cpuUsage()
    each(STEPS, (at) => step(number * STEPS + at))
    const { user, system } = process.cpuUsage(began)
    return (user + system) / STEPS
  }
  return Math.min(...Array.from({ length: ROUNDS }, (_, number) => round(number)))
}

for (const [what, make] of Object.entries(STEPS_OF)) {
  test(`a step costs the same among many: ${what}`, async () => {
    const [few, many] = [await costOf(make, FEW), await costOf(make, MANY)]
    assert.ok(
      many <= Math.max(FREE, TIMES * few),
      `${many.toFixed(1)} µs among ${MANY}, ${few.toFixed(1)} among ${FEW}`,
    )
  })
}
