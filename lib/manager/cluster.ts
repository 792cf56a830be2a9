/** One cluster and all that speaks to it: the connection, the client, the cache, and which kinds there are. */
import type { ClusterConfig } from '../core/cluster_config.ts'
import { formatMs } from '../core/duration.ts'
import type { AnyResource } from '../core/resource.ts'
import type { Runnable } from '../core/runnable.ts'
import type { Transport } from '../core/transport.ts'
import { abortScope, untilAborted } from '../async/abort.ts'
import { type Clock, systemClock } from '../async/clock.ts'
import { type Log, safeLog, withFields } from '../observe/log.ts'
import { Api } from '../client/api.ts'
import { ApplyCache } from '../client/apply_cache.ts'
import type { Reader } from '../client/client.ts'
import { RestMapper } from '../client/rest_mapper.ts'
import { KubeClient } from '../client/kube_client.ts'
import { loggingWarnings, retrying } from '../client/middleware.ts'
import type { RequestMeter } from '../client/metrics.ts'
import { parseServer } from '../runtime/net/address.ts'
import { type ClosableTransport, httpTransport } from '../runtime/net/transport.ts'
import { Cache, describeUnsynced } from '../cache/cache.ts'
import type { CacheOptions } from '../cache/cache_options.ts'
import { CachedReader } from '../cache/cached_reader.ts'
import type { Informer } from '../cache/informer.ts'
import { EventRecorder } from '../events/event_recorder.ts'
import type { EventMeter } from '../events/metrics.ts'

/** Options of {@link Cluster}. */
export interface ClusterOptions {
  /** Who we are: field manager, User-Agent, and source of Events. At most 63 letters, digits, dashes and dots. */
  readonly name: string
  /** Which process of it, in Events. Default: the name. */
  readonly instance?: string | undefined
  /** What errors and log lines call it, where an operator has several. Default: its address. */
  readonly label?: string | undefined
  /** Where the cluster is. This or `transport`. */
  readonly config?: ClusterConfig | undefined
  /** A connection that there is already; whoever made it closes it. With both, `config` says only what it is a connection to. */
  readonly transport?: Transport | undefined
  /** Default: the real one. */
  readonly clock?: Clock | undefined
  /** Default: none. */
  readonly log?: Log | undefined
  /** For back-off. Default: Math.random. */
  readonly random?: (() => number) | undefined
  /** What the cache watches. Default, and when empty: all namespaces. */
  readonly namespaces?: readonly string[] | undefined
  /** What the cache keeps of kinds whose declaration does not say. Its `namespaces` count where those above are not given. Default: everything. */
  readonly cacheDefaults?: CacheOptions | undefined
  /** Freezes what the cache and the client return, so that a change of an object that may be shared throws. Default: false. */
  readonly freeze?: boolean | undefined
  /** What the server does about fields it does not know. Default: the server's own, `Warn`. */
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore' | undefined
  /** Counts requests. Default: nobody. */
  readonly meter?: (EventMeter & RequestMeter) | undefined
  /**
   * The kinds that {@link Cluster.ready} does not insist on: it resolves without one whose first try fails, or takes longer than 5 s,
   * and logs so. They are tried on, and do not count for health checks. Default: none.
   */
  readonly optional?: ((resource: AnyResource) => boolean) | undefined
  /**
   * How long the first list of a kind may take, Infinity for ever; where it depends on the kind, a function. Default: 2 minutes, as a
   * controller's sources have in controller-runtime.
   */
  readonly syncTimeoutMs?: number | ((resource: AnyResource) => number | undefined) | undefined
}

/** What a transport leads to that nobody said anything about. */
const IN_MEMORY = 'in-memory'

/** When it is said for the first time that the caches are waited for, and twice as long after that each time. */
const FIRST_NOTE_MS = 10_000

const SYNC_TIMEOUT_MS = 120_000

/**
 * A cluster as a runnable: it runs the cache, and is ready when the cache has synced. Nothing is opened before the first
 * request. A manager may have several; each controller reads from one and may write to another.
 *
 * @example
 * ```ts
 * import { Cluster, loadConfig } from 'kubeloop'
 * const cluster = new Cluster({ name: 'copier', config: (await loadConfig()).cluster })
 * ```
 */
export class Cluster implements Runnable {
  readonly name: string
  readonly role = 'cache'
  readonly config: ClusterConfig | undefined
  /** Sends again what the server puts off, counts what is sent, and tells the log what the server warns of, each text once. */
  readonly transport: Transport
  /** The API's own verbs. */
  readonly api: Api
  /** Reads kinds that the cache has from there, and all others from the server. `client.live` reads from the server only. */
  readonly client: KubeClient
  /**
   * The API for a LeaderElector: over a connection of its own, so that no renewal waits on a socket that others have left. Not
   * fenced. The same as `api` where the cluster was given a transport.
   */
  readonly leaseApi: Api
  readonly cache: Cache
  /** Which kinds the server serves. */
  readonly kinds: RestMapper
  /** Tells about objects by Events in this cluster. It runs by itself: whoever uses it adds it to the manager, too. */
  readonly recorder: EventRecorder
  readonly #connections: readonly ClosableTransport[]
  readonly #options: ClusterOptions & { readonly log: Log }

  /** Throws a TypeError without a config and a transport, a ConfigError for a server that is no URL. */
  constructor(options: ClusterOptions) {
    const {
      name,
      config,
      clock = systemClock,
      random,
      cacheDefaults,
      namespaces = cacheDefaults?.namespaces,
      freeze,
      fieldValidation,
      meter,
      optional,
    } = options
    if (!config && !options.transport) throw new TypeError('Cannot make a cluster: it needs a config or a transport')
    const { label: cluster } = options
    const log = cluster === undefined ? safeLog(options.log) : safeLog(withFields(safeLog(options.log), { cluster }))
    this.#options = { ...options, log }
    this.config = config
    const host = config ? parseServer(config.server).authority : IN_MEMORY
    this.name = cluster === undefined ? `cluster ${host}` : `cluster "${cluster}"`
    const open = (): ClosableTransport => httpTransport(config!, { clock, log, cluster, userAgent: `${name} kubeloop` })
    const said = { cluster, identity: config?.origin?.identity }
    this.#connections = options.transport ? [] : [open(), open()]
    const [base = options.transport!, own]: readonly Transport[] = this.#connections
    const counting = (connection: Transport): Transport => meter?.requests(connection, host) ?? connection
    const around = (counted: Transport): Transport => retrying(loggingWarnings(counted, log), { clock, random, log })
    const counted = counting(base)
    this.transport = around(counted)
    this.api = new Api({ transport: this.transport, ...said })
    this.leaseApi = own ? new Api({ transport: around(counting(own)), ...said }) : this.api
    this.kinds = new RestMapper(this.api)
    const applied = new ApplyCache()
    const onDeleted = applied.forget.bind(applied)
    this.cache = new Cache({
      ...cacheDefaults,
      api: this.api,
      clock,
      log,
      namespaces,
      random,
      freeze,
      optional,
      onDeleted,
    })
    const reader = (live: Reader): Reader => new CachedReader(this.cache, live, log)
    this.client = new KubeClient({
      api: this.api.observed(this.cache, freeze),
      reader,
      fieldManager: name,
      fieldValidation,
      applied,
      kinds: this.kinds,
    })
    // It has a patience of its own: what the server puts off is not waited for within one request.
    this.recorder = new EventRecorder({
      api: new Api({ transport: counted, ...said }),
      clock,
      log,
      meter,
      random,
      controller: name,
      instance: options.instance ?? name,
    })
  }

  /** Runs the cache until the signal is aborted. The connection stays: others still speak to the cluster while they stop. */
  async start(signal: AbortSignal): Promise<void> {
    await this.cache.start(signal)
  }

  /**
   * Settles when the first list of every kind that is declared now is in. Who waits is told to the log, with what is missing
   * and why. Rejects after the sync timeout with an error that says the same: a kind that RBAC refuses would be waited for in vain.
   * Optional kinds that are late are logged.
   */
  async ready(signal: AbortSignal): Promise<void> {
    const { clock = systemClock, log } = this.#options
    const scope = abortScope(signal)
    const beganMs = clock.monotonic()
    const note = (): void => {
      log.warn(`Still waiting for the cache of ${this.name}: ${this.cache.unsynced().join(', ')}`)
      stopNotes = clock.after(clock.monotonic() - beganMs, note)
    }
    let stopNotes = clock.after(FIRST_NOTE_MS, note)
    const giveUp = (ms: number): void => {
      const late = [...this.cache.informers()].filter((informer) =>
        !informer.isSynced && this.#syncTimeoutMs(informer) <= ms
      )
      if (late.length > 0) {
        scope.abort(
          new Error(
            `Cannot sync the cache of ${this.name} within ${formatMs(ms)}: ${late.map(describeUnsynced).join(', ')}`,
          ),
        )
      }
    }
    const timeouts = new Set([...this.cache.informers()].map((informer) => this.#syncTimeoutMs(informer)))
    timeouts.delete(Infinity)
    const stopTimers = [...timeouts].map((ms) => clock.after(ms, () => giveUp(ms)))
    try {
      await untilAborted(this.cache.synced(scope.signal), scope.signal)
    } finally {
      for (const stopTimer of stopTimers) stopTimer()
      stopNotes()
      scope[Symbol.dispose]()
    }
    const late = [...this.cache.informers()].filter(({ optional, isSynced }) => optional && !isSynced)
    if (late.length > 0) {
      log.warn(`Starting without ${late.map(describeUnsynced).join(', ')}; what needs that begins when it is there`)
    }
  }

  /**
   * Returns the informers of a kind by its group, version and kind, declared in the cache as with `cache.declare`; its plural and its
   * scope are what the server says. Rejects when the server does not serve the kind now.
   *
   * @example
   * ```ts
   * import { Cluster, loadConfig } from 'kubeloop'
   * const cluster = new Cluster({ name: 'watcher', config: (await loadConfig()).cluster })
   * const [deployments] = await cluster.informersOf({ group: 'apps', version: 'v1', kind: 'Deployment' })
   * deployments?.addHandler((change) => console.log(change.kind, change.object.metadata.name))
   * await cluster.start(AbortSignal.timeout(60_000))
   * ```
   */
  async informersOf(
    of: { readonly group?: string; readonly version: string; readonly kind: string },
    options?: CacheOptions,
  ): Promise<readonly Informer[]> {
    const { group, version, kind } = of
    const apiVersion = group ? `${group}/${version}` : version
    const resource = await this.kinds.find({ apiVersion, kind })
    if (!resource) {
      throw new Error(`Cannot watch ${kind} of ${apiVersion}: ${this.name} does not serve it; is its CRD installed?`)
    }
    return this.cache.declare(resource, options)
  }

  /** Closes the connections, if this cluster made them. For when all that spoke to the cluster has ended, an elector and a recorder too. */
  close(): void {
    for (const connection of this.#connections) connection.close()
  }

  #syncTimeoutMs({ resource, optional }: Informer): number {
    if (optional) return Infinity
    const { syncTimeoutMs } = this.#options
    return (typeof syncTimeoutMs === 'function' ? syncTimeoutMs(resource) : syncTimeoutMs) ?? SYNC_TIMEOUT_MS
  }
}
