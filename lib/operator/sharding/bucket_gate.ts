/** Lets a controller work on the keys of a replica's buckets alone. */
import type { Fence } from '../../core/fence.ts'
import { formatKey, keyOf, parseKey } from '../../core/objects.ts'
import { groupResourceOf } from '../../core/resource.ts'
import { aborted, abortScope } from '../../async/abort.ts'
import { BoundedMap } from '../../async/bounded_map.ts'
import type { Clock } from '../../async/clock.ts'
import type { Controller } from '../../controller/controller.ts'
import type { Result, Run } from '../../controller/result.ts'
import type { Sink, Source } from '../../controller/source.ts'
import { type ControllerDescription, skipsGone } from '../description/description.ts'
import type { Clients } from '../work.ts'
import { bucketOf, type BucketPhase } from './bucket_state.ts'

/** A change that is older than this was handled by the replica that had the bucket then. */
const KEPT_MS = 5 * 60_000
/** The max number of keys of each sort that are remembered for each controller. */
const MAX_KEPT = 10_000

/** A bucket, as one replica has it. */
export interface Bucket {
  phase: BucketPhase
  /** Whether runs of its keys begin: it is held, and the caches have caught up. */
  isOpen: boolean
  /** The number of its runs, of all controllers. */
  running: number
  fence: Fence | undefined
  /** Ends the election; aborted also at its end. */
  stop: AbortController
}

/** What a key was that is queued when its bucket is taken. */
interface Kept {
  readonly why: string
  readonly priority?: number | undefined
}

const ENDED = new DOMException('The reconcile has ended; await all its calls before it returns', 'AbortError')

export class Gate {
  readonly #kind: string
  readonly #isClusterScoped: boolean
  readonly #buckets: readonly Bucket[]
  readonly #setup: { readonly clock: Clock }
  readonly #onIdle: () => void
  /**
   * The keys of deleted objects, each with the time of the deletion and whether its event passed the filters. Keys that
   * were queued are kept, too: a bucket may be given up or lost before they run, and be taken again. Empty if the
   * reconcile does nothing for deleted objects.
   */
  readonly #gone = new BoundedMap<string, { readonly deletedMs: number; isNamed: boolean }>(MAX_KEPT)
  /**
   * The keys of streams, which are opened once: no other source gives them when a bucket is taken, and the replica that
   * had it may have ended before they ran.
   */
  readonly #streamed = new BoundedMap<string, true>(MAX_KEPT)
  /**
   * The keys that functions of other sources gave, with when: an object that is deleted maps to keys that no list
   * gives, and the replica that had their buckets may have ended before they ran.
   */
  readonly #mapped = new BoundedMap<string, { readonly mappedMs: number; readonly priority: number | undefined }>(
    MAX_KEPT,
  )
  readonly #skipsGone: boolean
  readonly #description: ControllerDescription
  #controller: Controller | undefined
  #sources: () => Source[] = () => []

  constructor(
    description: ControllerDescription,
    buckets: readonly Bucket[],
    setup: { readonly clock: Clock },
    onIdle: () => void,
  ) {
    const { resource, options: { cluster } } = description
    this.#description = description
    this.#kind = groupResourceOf(resource) + (cluster ? `@${cluster.name}` : '')
    this.#isClusterScoped = resource.scope === 'Cluster'
    this.#buckets = buckets
    this.#setup = setup
    this.#onIdle = onIdle
    this.#skipsGone = skipsGone(description)
  }

  /** `sources`: makes the sources of a description, again for the keys of buckets that are taken. */
  guards(controller: Controller, sources: (of: ControllerDescription) => Source[]): void {
    const description = this.#description
    this.#controller = controller
    const watched = description.sources.filter(({ kind }) => kind === 'owns' || kind === 'watches')
    this.#sources = () => sources({ ...description, sources: watched })
  }

  /** Returns sources whose keys are those of open buckets. */
  guarded(sources: readonly Source[]): Source[] {
    const { sources: described } = this.#description
    const { clock } = this.#setup
    return sources.map((source, at) => {
      // The first source is that of the controller's own kind.
      const of = described[at - 1]
      const isMapped = of && !(of.kind === 'every' && !of.keys)
      return guardedSource(source, (sink) => ({
        add: (key, options) => {
          const text = this.#textOf(key)
          const gone = this.#gone.get(text)
          if (gone) gone.isNamed = true
          if (of?.kind === 'from') this.#streamed.set(text, true)
          else if (isMapped) this.#mapped.set(text, { mappedMs: clock.monotonic(), priority: options?.priority })
          if (this.#bucketOf(key).isOpen) sink.add(key, options)
        },
        passes: (delta) => sink.passes(delta),
        sees: (delta) => {
          const key = formatKey(keyOf(delta.object))
          if (delta.kind !== 'deleted') this.#gone.delete(key)
          else if (!this.#skipsGone) this.#gone.set(key, { deletedMs: clock.monotonic(), isNamed: false })
          sink.sees?.(delta)
        },
      }))
    })
  }

  /** Queues all keys of buckets, once. Never rejects: a failure of a source ends the controller. */
  async fill(buckets: ReadonlySet<Bucket>, signal: AbortSignal): Promise<void> {
    const kept = this.#keptIn(buckets)
    const closed = Promise.all(Array.from(buckets, ({ stop }) => aborted(stop.signal)))
    const sources = this.#sources().map((source): Source => {
      const limited = guardedSource(source, (sink) => ({
        add: (key, options) => {
          const bucket = this.#bucketOf(key)
          if (buckets.has(bucket) && bucket.isOpen) sink.add(key, options)
        },
        passes: (delta) => sink.passes(delta),
      }))
      const start = async (sink: Sink, stopping: AbortSignal): Promise<void> => {
        for (const [key, { why, priority }] of kept.splice(0)) {
          sink.add(key, { priority, cause: () => `${why} before its bucket was taken` })
        }
        const scope = abortScope(stopping)
        const running = limited.start(sink, scope.signal)
        await Promise.race([running, source.synced?.(scope.signal)])
        // A map function that fails is called again, until all the buckets are given up or lost.
        if (source.failing?.length) await Promise.race([running, closed])
        scope.abort(FILLED)
        await running
        scope[Symbol.dispose]()
      }
      return {
        name: source.name,
        warms: true,
        start,
        get idle() {
          return source.idle ?? true
        },
        get failing() {
          return source.failing ?? []
        },
      }
    })
    // The controller itself rejects with the failure of a source.
    await Promise.all(sources.map((source) => this.#controller!.watch(source, signal))).catch(() => {})
  }

  /** Returns a reconcile that runs for keys of open buckets alone, until its bucket is lost. */
  reconcile(
    inner: (run: Run, clients: Clients) => Promise<Result>,
    clientsUnder: (fence: Fence) => Clients,
  ): (run: Run) => Promise<Result> {
    const made = new WeakMap<Fence, Clients>()
    return async (run) => {
      const bucket = this.#bucketOf(run.key)
      const { fence } = bucket
      if (!bucket.isOpen || !fence) return undefined
      const clients = made.get(fence) ?? clientsUnder(fence)
      made.set(fence, clients)
      const scope = abortScope(run.signal, fence.signal)
      const stopping = abortScope(run.stopping, fence.signal)
      const { key, log, attempt, onWrite } = run
      bucket.running++
      try {
        const signals = { signal: scope.signal, stopping: stopping.signal }
        return await inner({ key, log, attempt, onWrite, ...signals }, clients)
      } finally {
        for (const each of [scope, stopping]) {
          each.abort(ENDED)
          each[Symbol.dispose]()
        }
        // Only then does anything follow: it computes who should have which bucket.
        if (--bucket.running === 0 && bucket.phase === 'draining') this.#onIdle()
      }
    }
  }

  drop(at: number): void {
    const bucket = this.#buckets[at]
    this.#controller?.drop((key) => this.#bucketOf(key) === bucket)
  }

  /** Returns the keys that are remembered, each with what it was. */
  #keptIn(buckets: ReadonlySet<Bucket>): [string, Kept][] {
    const sinceMs = this.#setup.clock.monotonic() - KEPT_MS
    const kept = new Map<string, Kept>()
    for (const [key, { mappedMs, priority }] of this.#mapped) {
      if (mappedMs > sinceMs) kept.set(key, { why: 'mapped', priority })
    }
    for (const [key, { deletedMs, isNamed }] of this.#gone) {
      if (isNamed && deletedMs > sinceMs) kept.set(key, { why: 'deleted' })
    }
    for (const key of this.#streamed.keys()) kept.set(key, { why: 'given by a stream' })
    return [...kept].filter(([key]) => buckets.has(this.#bucketOf(key)))
  }

  #textOf(key: Parameters<Sink['add']>[0]): string {
    const given = typeof key === 'string' ? key : formatKey(keyOf(key))
    return this.#isClusterScoped ? parseKey(given).name : given
  }

  #bucketOf(key: Parameters<Sink['add']>[0]): Bucket {
    return this.#buckets[bucketOf(this.#kind, this.#textOf(key), this.#buckets.length)]!
  }
}

const FILLED = new DOMException('The keys are queued', 'AbortError')

/** Returns a source with another sink. */
function guardedSource(source: Source, sinkOf: (sink: Sink) => Sink): Source {
  return {
    name: source.name,
    start: (sink, signal) => source.start(sinkOf(sink), signal),
    synced: async (signal) => await source.synced?.(signal),
    get idle() {
      return source.idle ?? true
    },
    get warms() {
      return source.warms ?? false
    },
    get missing() {
      return source.missing ?? []
    },
    get failing() {
      return source.failing ?? []
    },
  }
}
