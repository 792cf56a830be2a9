/**
 * The operator: an inert description. Importing a file that makes one connects to nothing; each start assembles its
 * own manager, so that one file can be run, tested, listed and embedded.
 */
import type { ClusterConfig } from '../core/cluster_config.ts'
import { isDomainName } from '../core/names.ts'
import type { KubeObject } from '../core/objects.ts'
import { groupResourceOf, type Resource } from '../core/resource.ts'
import { callerFrame } from '../observe/stack.ts'
import type { CacheOptions } from '../cache/cache_options.ts'
import { builderOf, describeController } from './builder.ts'
import type { ControllerBuilder, ControllerOptions, OtherCluster } from './context.ts'
import {
  type CacheDeclaration,
  type CacheDescription,
  checkCache,
  checkCacheDefaults,
  checkDescription,
  checkShape,
  type ClusterDescription,
  type OperatorDescription,
  type OperatorOptions,
  type Task,
} from './description.ts'
import { noteDescribed } from './described.ts'
import { CACHE_SHAPE, CLUSTER_SHAPE, CONTROLLER_SHAPE, OPERATOR_SHAPE, TASK_SHAPE } from './option_shapes.ts'
import { checkLog } from './own_log.ts'
import type { Parts } from './parts.ts'
import { startOperator, type StartOptions } from './start.ts'
import { runOperator } from './run.ts'

/** An operator: a description that does nothing until it is run. */
export interface Operator {
  /** Begins a controller for a kind; `reconcile` or `reconcileKey` ends it. */
  controllerFor<T extends KubeObject>(
    // deno-lint-ignore no-explicit-any -- reconciling does not depend on what is written
    resource: Resource<T, any>,
    options?: ControllerOptions<NoInfer<T>>,
  ): ControllerBuilder<T, Operator>
  /**
   * What of a kind is kept, for all controllers; makes reads of it cached. Objects that are not selected do not exist for such
   * reads; a namespace that is not watched is read from the server. Each option goes before that of the operator's `cache`.
   *
   * @throws TypeError if the options contradict each other, or those of an earlier declaration of the same kind.
   */
  // deno-lint-ignore no-explicit-any -- as above
  cache<T extends KubeObject>(resource: Resource<T, any>, options?: CacheDeclaration<T>): Operator
  /** Runs beside the controllers; on the leader only, unless `everyReplica`. */
  add(name: string, task: Task, options?: { everyReplica?: boolean }): Operator
  /**
   * Names another cluster to work with, in `controllerFor`, `watches`, `cache`, `clientOf` and `eventsOf`. The lease, and with it
   * the fence around all writes, stays in the operator's own. `namespaces` are those that are watched there: the operator's own
   * by default, all of them for `[]`.
   *
   * The start waits for it, and fails without it. With `optional`, the operator starts without it where it is down, refuses us, lacks
   * a kind or is not configured yet (`config` rejects; it is called again then), and logs so; controllers whose own kind lives there begin as soon as it is
   * there, and everything else works meanwhile. Readiness does not depend on it, and `syncTimeout` does not count there.
   *
   * @example
   * ```ts
   * import { loadConfig, operator } from 'kubeloop'
   * const app = operator({ name: 'config-sync' })
   * const west = app.cluster('west', async () => (await loadConfig({ context: 'west' })).cluster, { optional: true })
   * ```
   */
  cluster(
    name: string,
    config: ClusterConfig | (() => ClusterConfig | Promise<ClusterConfig>),
    options?: { namespaces?: string[]; optional?: boolean },
  ): OtherCluster
  /**
   * Called at each start with its parts, before anything of it begins: for servers, health checks, handlers beside the
   * metrics, controllers and runnables of one's own. What it adds to the manager is stopped with it.
   */
  extend(extension: (parts: Parts) => void | Promise<void>): Operator
  /**
   * For processes: signals, logging, one line and an exit code instead of a rejection. Never rejects.
   * With `import.meta`, does nothing when the file was imported rather than run. `--kubeconfig FILE` and `--context NAME` on the
   * command line go before `KUBECONFIG`, except under `kubeloop dev`, which has a cluster of its own.
   */
  run(module?: ImportMeta): Promise<void>
  /** For embedding: settles when all it began has ended; rejects with what ended it. Only `cluster` is for everyday use. */
  start(signal: AbortSignal, options?: StartOptions): Promise<void>
  /** What was described, for tools. */
  readonly description: OperatorDescription
}

/** A domain name, no longer than the name of an event's source may be. */
function isName(text: string): boolean {
  return text.length <= 63 && isDomainName(text)
}

/**
 * Describes an operator.
 *
 * @example
 * ```ts
 * import { operator } from 'kubeloop'
 * import { ConfigMap } from 'kubeloop/kinds'
 *
 * const app = operator({ name: 'greeter' })
 * app.controllerFor(ConfigMap).reconcile(async (map, { log }) => log.info('hello {name}', { name: map.metadata.name }))
 * export default app
 * await app.run(import.meta)
 * ```
 */
export function operator(options: OperatorOptions): Operator {
  checkShape(
    `Cannot describe operator "${(options as Partial<OperatorOptions> | undefined)?.name}"`,
    options,
    OPERATOR_SHAPE,
  )
  if (!isName(options.name ?? '')) {
    throw new TypeError(
      `Cannot describe an operator called "${options.name}": the name must be at most 63 lower-case letters, digits and dashes, as it names a Lease`,
    )
  }
  checkCacheDefaults(options, callerFrame())
  checkLog(options)
  const description: OperatorDescription = {
    options,
    controllers: [],
    caches: [],
    tasks: [],
    clusters: [],
    extensions: [],
  }
  const used = noteDescribed(description)
  const app: Operator = {
    get description() {
      used()
      return description
    },
    controllerFor(resource, controllerOptions = {}) {
      checkShape(`Cannot control ${resource.kind}`, controllerOptions, CONTROLLER_SHAPE)
      const controller = describeController(resource, controllerOptions as ControllerOptions<KubeObject>)
      description.controllers.push(controller)
      return builderOf(controller, app)
    },
    cache(resource, cacheOptions = {}) {
      checkShape(`Cannot cache ${groupResourceOf(resource)}`, cacheOptions, CACHE_SHAPE)
      const { cluster, optional, ...kept } = cacheOptions
      const declared: CacheDescription = {
        resource,
        options: kept as unknown as CacheOptions,
        cluster,
        optional,
        declaredAt: callerFrame(),
      }
      checkCache(description, declared)
      description.caches.push(declared)
      return app
    },
    add(name, task, taskOptions = {}) {
      checkShape(`Cannot add "${name}"`, taskOptions, TASK_SHAPE)
      const { everyReplica = false } = taskOptions
      description.tasks.push({ name, task, everyReplica })
      return app
    },
    cluster(name, config, clusterOptions = {}) {
      checkShape(`Cannot name the cluster "${name}"`, clusterOptions, CLUSTER_SHAPE)
      const { namespaces, optional } = clusterOptions
      if (!isName(name)) {
        throw new TypeError(`Cannot name a cluster "${name}": the name must be lower-case letters, digits and dashes`)
      }
      if (description.clusters.some((known) => known.name === name)) {
        throw new TypeError(`Cannot name two clusters "${name}"`)
      }
      const cluster: ClusterDescription = { name, config, namespaces, optional }
      description.clusters.push(cluster)
      return cluster
    },
    extend(extension) {
      description.extensions.push(extension)
      return app
    },
    async start(signal, startOptions = {}) {
      used()
      checkDescription(description)
      await startOperator(description, signal, startOptions)
    },
    run(module) {
      used()
      return runOperator(description, module)
    },
  }
  return app
}
