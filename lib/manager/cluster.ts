/** A cluster as a runnable: its connections, client, cache, kinds and event recorder. */
import type { ClusterConfig } from '../core/cluster_config.ts'
import { formatMs } from '../core/duration.ts'
import type { KubeObject } from '../core/objects.ts'
import type { AnyResource } from '../core/resource.ts'
import type { Runnable } from '../core/runnable.ts'
import type { Transport } from '../core/transport.ts'
import { abortScope, untilAborted } from '../async/abort.ts'
import { environmentOf, type PartEnvironment, type RandomPartOptions } from '../observe/environment.ts'
import { safeLog, withFields } from '../observe/log.ts'
import { Api } from '../client/api.ts'
import { ApplyCache } from '../client/apply_cache.ts'
import type { Reader } from '../client/client.ts'
import { RestMapper } from '../client/rest_mapper.ts'
import { KubeClient, type OwnerCheck } from '../client/kube_client.ts'
import { loggingWarnings, retrying } from '../client/middleware.ts'
import type { RequestMeter } from '../client/metrics.ts'
import { parseServer } from '../runtime/net/address.ts'
import { type ClosableTransport, httpTransport } from '../runtime/net/transport.ts'
import { Cache, type CacheDependencies, describeUnsynced } from '../cache/cache.ts'
import type { CacheOptions, NamespaceSelection } from '../cache/cache_options.ts'
import { CachedReader } from '../cache/cached_reader.ts'
import type { Informer } from '../cache/informer.ts'
import { reportingObjects } from '../cache/object_errors.ts'
import { EventRecorder } from '../events/event_recorder.ts'
import type { EventMeter } from '../events/metrics.ts'

/** Options of {@link Cluster}. */
export interface ClusterOptions extends RandomPartOptions {
  /** The field manager, User-Agent and source of Events. At most 63 letters, digits, dashes and dots. */
  readonly name: string
  /** Names this process in Events. Default: the name. */
  readonly instance?: string | undefined
  /** The cluster's name in errors and log lines, for operators with several. Default: its address. */
  readonly label?: string | undefined
  /** The cluster's address and credentials. Required without `transport`. */
  readonly config?: ClusterConfig | undefined
  /** An existing connection, which the caller closes. Then `config` only describes what it leads to. */
  readonly transport?: Transport | undefined
  /** The namespaces that the cache watches. Default, and when empty: all. */
  readonly namespaces?: readonly string[] | NamespaceSelection | undefined
  /** Follows Namespaces by their labels; see {@link CacheDependencies}. Default: that is refused. */
  readonly selectNamespaces?: CacheDependencies['selectNamespaces']
  /**
   * The cache options of kinds without own ones. Its `namespaces` apply unless those above are given. Default:
   * everything.
   */
  readonly cacheDefaults?: CacheOptions | undefined
  /** Freezes the objects that the cache and the client return: changing a shared one throws. Default: false. */
  readonly freeze?: boolean | undefined
  /** How the server treats unknown fields. Default: the server's default, `Warn`. */
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore' | undefined
  /** Checks the owners of each object that the client writes. Default: none. */
  readonly checkOwners?: OwnerCheck | undefined
  /** Counts requests and dropped Events. Default: none. */
  readonly meter?: (EventMeter & RequestMeter) | undefined
  /** Makes spans of requests. Default: none. */
  readonly tracing?: RequestMeter | undefined
  /**
   * Tests whether {@link Cluster.ready} may resolve without a kind if its first list fails or takes longer than 5 s. A
   * missing kind is logged and retried, and does not fail health checks. Default: none.
   */
  readonly optional?: ((resource: AnyResource) => boolean) | undefined
  /**
   * The time limit of a kind's first list, or a function that returns it; Infinity is no limit. Default: 2 minutes, as
   * in controller-runtime.
   */
  readonly syncTimeoutMs?: number | ((resource: AnyResource) => number | undefined) | undefined
}

/** Names the host of a transport without a config. */
const IN_MEMORY = 'in-memory'

/** The delay of the first log line about a sync in progress; each later line comes at twice the time. */
const FIRST_NOTE_MS = 10_000

const SYNC_TIMEOUT_MS = 120_000

/**
 * A cluster as a runnable: it runs the cache, and is ready when the cache has synced. It connects at the first request.
 * A manager may run several clusters; a controller reads from one and may write to others.
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
  /** Retries throttled requests, counts all requests, and logs each of the server's warnings once. */
  readonly transport: Transport
  /** The verbs of the Kubernetes API. */
  readonly api: Api
  /** Reads cached kinds from the cache, all others from the server. `client.live` reads only from the server. */
  readonly client: KubeClient
  /**
   * The API for a LeaderElector, without a fence. It has a connection of its own, so that a renewal never waits on a
   * socket left by other requests. The same as `api` if the cluster was given a transport.
   */
  readonly leaseApi: Api
  readonly cache: Cache
  /** Finds the kinds that the server serves. */
  readonly kinds: RestMapper
  /** Records Events in this cluster. It is a runnable of its own, to be added to the manager beside the cluster. */
  readonly recorder: EventRecorder
  readonly #connections: readonly ClosableTransport[]
  readonly #options: ClusterOptions & PartEnvironment

  /**
   * @throws TypeError without a config and a transport.
   * @throws ConfigError if the server is not a URL.
   */
  constructor(options: ClusterOptions) {
    const {
      name,
      config,
      cacheDefaults,
      namespaces = cacheDefaults?.namespaces,
      freeze,
      fieldValidation,
      checkOwners,
      meter,
      tracing,
      optional,
    } = options
    if (!config && !options.transport) throw new TypeError('Cannot make a cluster: it needs a config or a transport')
    const { label: cluster } = options
    const { log: own, clock, random } = environmentOf(options)
    const log = cluster === undefined ? own : safeLog(withFields(own, { cluster }))
    const environment = { clock, log, random }
    this.#options = { ...options, ...environment }
    this.config = config
    const host = config ? parseServer(config.server).authority : IN_MEMORY
    this.name = cluster === undefined ? `cluster ${host}` : `cluster "${cluster}"`
    const open = (): ClosableTransport => httpTransport(config!, { clock, log, cluster, userAgent: `${name} kubeloop` })
    const origin = {
      cluster,
      clock,
      identity: config?.origin?.identity,
      forget: (path: string) => this.kinds.forget(path),
    }
    this.#connections = options.transport ? [] : [open(), open()]
    const [base = options.transport!, leases]: readonly Transport[] = this.#connections
    const counting = (connection: Transport): Transport => {
      const counted = meter?.requests(connection, host) ?? connection
      return tracing?.requests(counted, host) ?? counted
    }
    const around = (counted: Transport): Transport => retrying(loggingWarnings(counted, log), environment)
    const counted = counting(base)
    this.transport = around(counted)
    this.api = new Api({ transport: this.transport, ...origin })
    this.leaseApi = leases ? new Api({ transport: around(counting(leases)), ...origin }) : this.api
    this.kinds = new RestMapper(this.api)
    const applied = new ApplyCache()
    const onDeleted = applied.forget.bind(applied)
    const { selectNamespaces } = options
    const cached = { ...cacheDefaults, namespaces, freeze, optional, onDeleted, selectNamespaces }
    this.cache = new Cache({ ...environment, ...cached, api: this.api })
    const warned = new Set<string>()
    const reader = (live: Reader): Reader => new CachedReader(this.cache, live, log, warned)
    this.client = new KubeClient({
      api: new Api({ transport: this.transport, ...origin, observer: this.cache, freeze }),
      reader,
      onIndexError: reportingObjects('an index', { cluster, clock, log }),
      fieldManager: name,
      fieldValidation,
      applied,
      checkOwners,
      kinds: this.kinds,
    })
    // Not over `around`: the recorder retries by itself, without a wait inside a request.
    this.recorder = new EventRecorder({
      ...environment,
      api: new Api({ transport: counted, ...origin }),
      meter,
      controller: name,
      instance: options.instance ?? name,
    })
  }

  /** Runs the cache until the signal is aborted. The connections stay open for what still stops; see {@link close}. */
  async start(signal: AbortSignal): Promise<void> {
    await this.cache.start(signal)
  }

  /**
   * Resolves when every kind declared now has its first list. Logs the missing kinds, with the reasons, during a long
   * wait and for optional kinds that are late. Rejects with the same text after the sync timeout, as a kind refused by
   * RBAC would never sync.
   */
  async ready(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options
    const scope = abortScope(signal)
    const beganMs = clock.monotonic()
    const note = (): void => {
      log.warn(`Still waiting for the cache of ${this.name}: ${this.cache.unsynced().join(', ')}`)
      cancelNote = clock.after(clock.monotonic() - beganMs, note)
    }
    let cancelNote = clock.after(FIRST_NOTE_MS, note)
    const giveUp = (ms: number): void => {
      const late = [...this.cache.informers()].filter((informer) =>
        !informer.isSynced && this.#syncTimeoutMs(informer) <= ms
      )
      if (late.length > 0) {
        scope.abort(
          new Error(
            `Cannot sync the cache of ${this.name} within ${formatMs(ms)}: ${describeUnsynced(late).join(', ')}`,
          ),
        )
      }
    }
    const stopTimers = new Map<number, () => void>()
    const limit = (informers: readonly Informer[]): void => {
      for (const ms of informers.map((informer) => this.#syncTimeoutMs(informer))) {
        if (ms < Infinity && !stopTimers.has(ms)) stopTimers.set(ms, clock.after(ms, () => giveUp(ms)))
      }
    }
    try {
      await untilAborted(this.cache.synced(scope.signal, limit), scope.signal)
    } finally {
      for (const stopTimer of stopTimers.values()) stopTimer()
      cancelNote()
      scope[Symbol.dispose]()
    }
    const late = [...this.cache.informers()].filter(({ isSynced, optional }) => !isSynced && optional)
    if (late.length > 0) {
      log.warn(`Starting without ${describeUnsynced(late).join(', ')}; what needs it starts when it is available`)
    }
  }

  /** Resolves when the cache has the writes of the last leader; see {@link Cache.beforeLeading}. */
  async beforeLeading(signal: AbortSignal): Promise<void> {
    await this.cache.beforeLeading(signal)
  }

  /**
   * Declares a kind in the cache by its group, version and kind, as `cache.declare` does, and returns its informers.
   * The plural and the scope come from the server. Rejects if the server does not serve the kind now.
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
  async informersOf<T extends KubeObject = KubeObject>(
    of: { readonly group?: string; readonly version: string; readonly kind: string },
    options?: CacheOptions,
  ): Promise<readonly Informer<T>[]> {
    const resource: AnyResource = await this.client.kindOf({ group: '', ...of })
    return this.cache.declare(resource, options) as unknown as readonly Informer<T>[]
  }

  /**
   * Closes the connections that this cluster opened. Call it after all their users have ended, also the elector and the
   * recorder.
   */
  close(): void {
    for (const connection of this.#connections) connection.close()
  }

  #syncTimeoutMs({ resource, optional }: Informer): number {
    if (optional) return Infinity
    const { syncTimeoutMs } = this.#options
    return (typeof syncTimeoutMs === 'function' ? syncTimeoutMs(resource) : syncTimeoutMs) ?? SYNC_TIMEOUT_MS
  }
}
