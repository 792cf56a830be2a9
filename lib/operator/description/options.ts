/** The options of an operator. */
import type { Duration } from '../../core/duration.ts'
import type { Draft, KubeObject } from '../../core/objects.ts'
import type { AnyResource } from '../../core/resource.ts'
import type { Log } from '../../observe/log.ts'
import type { PrometheusRegistry } from '../../observe/prometheus.ts'
import type { NamespaceSelection } from '../../cache/cache_options.ts'
import type { ControllerDefaults, OtherCluster, WorkContext } from './context.ts'

/** The Lease of an operator, and the times of its election. */
export interface LeaderElectionOptions {
  /** The Lease's name. Default: the operator's. */
  lease?: string
  /**
   * The Lease's namespace. Default: that of this pod, or of the kubeconfig's context, or else `default`, with a
   * warning. Candidates in different namespaces lead at the same time.
   */
  namespace?: string
  /** The time after the last renewal until another candidate may lead, in whole seconds. Default: 15 s. */
  duration?: Duration
  /** The time without a renewal after which the leader gives up. Default: 10 s. */
  renewDeadline?: Duration
  /** The delay between tries. Default: 2 s. */
  retryPeriod?: Duration
  /** The identity of this process, unique among the candidates. Default: the host's name and a random UUID. */
  identity?: string
  /** Labels to add to those of the Lease. Default: none. */
  labels?: Readonly<Record<string, string>>
  /** Called for every new holder that is observed, also for this process. */
  onNewLeader?: (identity: string) => void | Promise<void>
}

/** How replicas share the objects: as shards of a ring of kubernetes-controller-sharding, or by buckets of keys. */
export interface ShardingOptions {
  /** The name of the ControllerRing: a domain name of at most 63 characters. */
  ring?: string
  /**
   * The number of buckets, instead of a ring: 2 to 128, several times the number of replicas. Each is a Lease, and each
   * replica caches all objects. It is the same in all replicas: those with another number wait for each other.
   */
  buckets?: number
  /** Owned kinds that are not distributed: every replica watches all their objects. Default: none. */
  unsharded?: AnyResource[]
}

/** The address of a server: a port of 127.0.0.1, `:8080` for all interfaces, or `host:8080`. */
export type Address = number | string

/** Selects the objects and fields that a cache keeps. */
export interface CacheSelection<T extends KubeObject> {
  /** A label selector: other objects are neither kept, returned nor reconciled. */
  labels?: string
  /** A field selector, with the same effect. */
  fields?: string
  /**
   * Removes unneeded fields from each object before it is stored, so that cache reads return objects without them;
   * the kind, names, versions, labels, owners and finalizers stay. Writes lose nothing: `edit`, `createOrUpdate` and
   * `setStatus` read such a kind from the server, `apply` is always sent, and `update` refuses an object of this cache
   * and its copies, which the field `kubeloop.partial` marks.
   */
  strip?: (draft: Draft<NoInfer<T>>) => void
}

/** The watched namespaces: a list, or those of the Namespaces with labels. An empty list: all. */
export type Namespaces = string[] | NamespaceSelection

/**
 * The namespaces where a kind is watched: as {@link Namespaces}, or a record with a selection for each, which overrides
 * the options beside it. `*` is all namespaces that are not named. Empty: all namespaces.
 */
export type CacheNamespaces<T extends KubeObject> = Namespaces | Readonly<Record<string, CacheSelection<T>>>

/** Options of {@link Operator.cache}. */
export interface CacheDeclaration<T extends KubeObject> extends CacheSelection<T> {
  /**
   * The watched namespaces. Default: those of the `cluster`, or of the operator.
   *
   * @example
   * ```ts
   * import { operator } from 'kubeloop'
   * import { Secret } from 'kubeloop/kinds'
   * const app = operator({ name: 'greeter' })
   * app.cache(Secret, { namespaces: { 'kube-system': { labels: 'app=greeter' }, prod: {} } })
   * ```
   */
  namespaces?: CacheNamespaces<T>
  /** `live`: watch the kind, but read its objects from the server. Default: read them from the cache. */
  read?: 'live'
  /**
   * Keeps the objects as bytes outside of the JavaScript heap, in about a tenth of the memory. Each read makes a new
   * object, which takes about as long as to parse its JSON; lists have no order. Default: false.
   */
  compact?: boolean
  /** The cluster of the kind. Default: the operator's own. */
  cluster?: OtherCluster
  /** Start without the kind if it cannot be listed, as in {@link WatchOptions}. Default: false. */
  optional?: boolean
}

/** The cache options of all kinds. A field selector must be one that every kind supports. */
export interface CacheDefaults extends CacheSelection<KubeObject> {
  /** Replaces the operator's `namespaces`. Does not apply to cluster-scoped kinds. */
  namespaces?: CacheNamespaces<KubeObject>
}

/** Options of `operator()`. */
export interface OperatorOptions {
  /** The name of the field manager, the Lease and the User-Agent. */
  name: string
  /**
   * The log, instead of standard output: `console`, or a logger of LogTape or pino; see {@link Log}. Its own level
   * applies, not `KUBELOOP_LOG`.
   */
  log?: Log
  /** Let only one replica work at a time. Default: false. */
  leaderElection?: boolean | LeaderElectionOptions
  /**
   * Lets all replicas work at the same time, each on a share of the keys: by `buckets`, or as a shard of a `ring` of
   * kubernetes-controller-sharding, for which the kinds of the controllers are distributed, and what they own. With it,
   * `leaderElection` is an object with only `namespace`, `duration`, `renewDeadline`, `retryPeriod` of the Leases, and
   * `identity`, the replica's name. Off under `kubeloop dev` and in worlds of one replica. Default: none.
   *
   * @example
   * ```ts
   * import { operator } from 'kubeloop'
   * import { ConfigMap, Secret } from 'kubeloop/kinds'
   * const app = operator({ name: 'greeter', sharding: { ring: 'greeter', unsharded: [Secret] } })
   * app.controllerFor(ConfigMap).owns(Secret).reconcile(async () => {})
   * ```
   */
  sharding?: ShardingOptions
  /**
   * The watched namespaces, also in other clusters without `namespaces` of their own. Default, and when empty: all.
   *
   * @example
   * ```ts
   * import { operator } from 'kubeloop'
   * const app = operator({ name: 'greeter', namespaces: { labels: 'team=a' } })
   * ```
   */
  namespaces?: Namespaces
  /**
   * The cache options of all kinds in all clusters. Each option of `app.cache(Kind, …)` overrides the same one here.
   * Default: everything is kept.
   *
   * @example
   * ```ts
   * import { operator } from 'kubeloop'
   * const app = operator({
   *   name: 'greeter',
   *   cache: {
   *     strip: ({ metadata }) => void delete metadata.annotations,
   *     namespaces: { 'kube-system': { labels: 'ours' }, '*': {} },
   *   },
   * })
   * ```
   */
  cache?: CacheDefaults
  /**
   * What a start does with the CRDs of the operator's kinds. Default: `verify`; under `kubeloop dev` and in tests
   * `install`.
   *
   * `install`: every replica creates missing CRDs; with leader election, only the leader changes existing ones, before
   * its controllers start. A narrower schema is refused if a stored object would become invalid or lose fields; every
   * replica checks that before it is ready. With `{ mode: 'install', narrow: true }` it is installed, and a warning
   * names the objects.
   *
   * `verify`: the start fails with the differences unless the cluster's CRD has all that ours has. It may have further
   * versions, optional fields, columns and names, and other descriptions.
   */
  crds?: 'install' | 'verify' | 'ignore' | { readonly mode: 'install'; readonly narrow?: boolean }
  /**
   * The time limit of the first list of a kind; then the start fails. The `syncTimeout` of a controller overrides it
   * for the kinds that the controller watches. Default: 2 minutes.
   */
  syncTimeout?: Duration
  /** Defaults for the options of all controllers. */
  controllers?: ControllerDefaults
  /**
   * How long a stop waits for running reconciles and tasks. Their clients, and the `signal` of reconciles, are aborted
   * 2 s before its end, or a tenth of it if that is less. Default: 30 s.
   */
  grace?: Duration | 'forever'
  /**
   * The address of `/healthz` and `/readyz`, with `?verbose`, and each check by its name below. Default: not served.
   */
  health?: Address
  /** The address of `/metrics`, with controller-runtime's names; needs prom-client. Default: not served. */
  metrics?: Address | MetricsOptions
  /**
   * Makes OpenTelemetry spans by the tracer that is registered with `@opentelemetry/api`: one for each reconcile, and
   * one for each request that it sends. Needs that package. Default: false.
   */
  tracing?: boolean
  /** The address of `/debug/pprof/`, whose clients can read this process's memory. Default: not served. */
  profiling?: Address
  /**
   * The server of webhooks. It runs on every replica if the operator has an admission or a conversion, or if this is
   * given, and starts before the caches, as their lists may need a conversion.
   */
  webhooks?: WebhookOptions
}

/** The metrics of an operator, and how they are served. */
export interface MetricsOptions {
  /** Default: not served. */
  readonly address?: Address
  /** A registry of prom-client, which may have your own metrics. Default: one of the operator's. */
  readonly registry?: PrometheusRegistry
  /**
   * Serves over TLS, at least 1.2. `true`: with a certificate that lives as long as the process, which no client can
   * verify. `certs`: a folder with `tls.crt` and `tls.key`, as cert-manager writes them; they are read again when they
   * change. Default: plain HTTP.
   */
  readonly tls?: boolean | { readonly certs: string }
  /**
   * Serves only clients with a bearer token whose user may `get` the non-resource URL `/metrics` (other paths for
   * handlers beside the metrics), by a TokenReview and a SubjectAccessReview of the operator's own client. The answers
   * are kept: 1 minute for a token, 5 minutes for a right, 30 s for a missing one. Needs `tls`. Default: false.
   *
   * @see https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources
   */
  readonly auth?: boolean
}

/**
 * The server of webhooks, its certificate, and how the API server reaches it.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#contacting-the-webhook
 */
export interface WebhookOptions {
  /** Default: 9443. 0 is any free port. */
  port?: number
  /** The interface to listen on. Default: all, or 127.0.0.1 if the API server calls a URL of 127.0.0.1. */
  host?: string
  /**
   * The certificate. A folder: `tls.crt` and `tls.key` in it, as cert-manager writes them; they are read again when
   * they change. `{ secret }`: made by kubeloop, see {@link SelfMadeOptions}. Default: the folder
   * `k8s-webhook-server/serving-certs` in the folder for temporary files, as in controller-runtime.
   */
  certs?: string | SelfMadeOptions
  /** A file with the CAs of client certificates in PEM: then admission reviews need one. Default: none is needed. */
  clientCa?: string
  /**
   * The Service through which the API server reaches this process. Default, in a pod: the operator's name, in its
   * namespace, port 443.
   */
  service?: string | { readonly name: string; readonly namespace?: string; readonly port?: number }
  /**
   * The URL through which the API server reaches this process, as `https://host:port`, instead of a Service. Default,
   * outside of a pod: `https://127.0.0.1` and the port.
   */
  url?: string
  /**
   * How long the webhooks are served after a stop has begun, at most half of `grace`: readiness fails at once, and the
   * API server calls this replica until the Service leaves it out. Default: `5s` in a pod, otherwise 0.
   */
  shutdownDelay?: Duration
}

/** A certificate that kubeloop makes with a CA of its own, keeps in a Secret for all replicas, and renews. */
export interface SelfMadeOptions {
  /** The name of the Secret. */
  readonly secret: string
  /** Default: the operator's. */
  readonly namespace?: string
  /** How long a new certificate is valid: 1 hour to 24,000 hours. Default: one year. Its CA is valid for ten. */
  readonly duration?: Duration
  /**
   * How long before its end it is renewed: at least 5 minutes, and one to nine tenths of its duration. Default: a
   * third of it.
   */
  readonly renewBefore?: Duration
  /** The algorithm and size of new keys. Default: `ECDSA-256`. */
  readonly algorithm?: 'ECDSA-256' | 'ECDSA-384' | 'RSA-2048' | 'RSA-4096'
  /**
   * The Secret with the CA that issues, in `tls.crt` and `tls.key` as cert-manager writes them: others make and renew
   * it, and a new one is trusted before it issues. It may be in a namespace that the operator's users cannot read.
   * Default: kubeloop makes a CA, and keeps its key beside the certificate.
   */
  readonly ca?: {
    /** The name of the Secret. */
    readonly secret: string
    /** Default: that of the certificate. */
    readonly namespace?: string
  }
}

/** Runs beside the controllers until the signal is aborted. */
export type Task = (context: WorkContext) => Promise<void>

/** Options of `app.add`. */
export interface TaskOptions {
  /** Run on every replica, not only on the leader, and without a fence. Default: false. */
  readonly everyReplica?: boolean
  /**
   * Start it again when it throws: after 1 s, doubled each time, up to 5 m. False: a throw ends the operator. Default:
   * true.
   */
  readonly restart?: boolean
}

/** Options of `app.schedule`. */
export interface ScheduleOptions {
  /** The IANA time zone of the expression, such as `Europe/Berlin`. Default: UTC. */
  readonly timeZone?: string
}
