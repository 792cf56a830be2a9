/** Implements `operator()`: describes an operator without side effects, so that its file can also be imported. */
import type { ClusterConfig } from '../core/cluster_config.ts'
import type { KubeObject } from '../core/objects.ts'
import { groupResourceOf, type Resource } from '../core/resource.ts'
import { callerFrame } from '../observe/stack.ts'
import { isMainFile } from '../runtime/os/this_runtime.ts'
import { onIdleEnd } from '../runtime/os/signals.ts'
import type { CacheOptions } from '../cache/cache_options.ts'
import { builderOf, describeController } from './description/builder.ts'
import {
  CACHE_SHAPE,
  checkAdmission,
  checkCache,
  checkDefaults,
  checkDescription,
  checkLog,
  checkMetrics,
  checkName,
  checkNamespaces,
  checkShape,
  checkTask,
  CLUSTER_SHAPE,
  GROUP_SHAPE,
  OPERATOR_SHAPE,
  SCHEDULE_SHAPE,
  TASK_SHAPE,
} from './description/checks.ts'
import type {
  ClusterGroup,
  ClusterProvider,
  ControllerBuilder,
  ControllerOptions,
  OtherCluster,
  Parts,
} from './description/context.ts'
import { rethrowAt } from './description/places.ts'
import type {
  CacheDeclaration,
  Namespaces,
  OperatorOptions,
  ScheduleOptions,
  Task,
  TaskOptions,
} from './description/options.ts'
import {
  type ClusterDescription,
  type ControllerDescription,
  type GroupDescription,
  inCluster,
  type OperatorDescription,
  type TaskDescription,
} from './description/description.ts'
import { type Conversion, type ConvertibleKind, describeConversion } from '../schema/conversions.ts'
import type { Admission } from '../webhook/admission/admission.ts'
import type { AdmissionOptions } from '../webhook/admission/admission_options.ts'
import { describedReader } from './run/tool_hooks.ts'
import { startOperator, type StartOptions } from './run/start.ts'
import { runOperator } from './run/run.ts'

/** An operator: a description that does nothing until it is run or started. */
export interface Operator {
  /** Begins the description of a controller; `reconcile` or `reconcileKey` completes it. */
  controllerFor<T extends KubeObject>(
    // deno-lint-ignore no-explicit-any -- the type of writes does not matter here
    resource: Resource<T, any>,
    options?: ControllerOptions<NoInfer<T>>,
  ): ControllerBuilder<T, Operator>
  /**
   * Declares which objects of a kind are cached, for all controllers, and makes its reads cached. Those reads do not
   * find objects that are not selected; namespaces that are not watched are read from the server. Each option overrides
   * that of the operator's `cache`.
   *
   * @throws TypeError if the options contradict each other, or those of an earlier declaration of the same kind.
   */
  // deno-lint-ignore no-explicit-any -- as above
  cache<T extends KubeObject>(resource: Resource<T, any>, options?: CacheDeclaration<T>): Operator
  /**
   * Declares functions that the API server calls before it stores objects of a kind: `default` changes an object,
   * `validate` finds problems. The operator serves them (see `webhooks`), on every replica. A kind may have several;
   * they are called in order, until one finds a problem.
   *
   * @throws TypeError if an option is invalid, or neither function is given.
   *
   * @example
   * ```ts
   * import { defineResource, operator } from 'kubeloop'
   * import * as z from 'zod'
   * const Site = defineResource({
   *   group: 'web.example.dev', version: 'v1', kind: 'Site',
   *   spec: z.object({ hosts: z.array(z.string()).default([]), issuer: z.optional(z.string()) }),
   * })
   * const app = operator({ name: 'sites' })
   * app.admission(Site, {
   *   default(site) {
   *     site.spec.issuer ??= 'letsencrypt'
   *   },
   *   validate: (site, { warn }) => {
   *     if (site.spec.hosts.length === 0) warn('this site has no host')
   *     return site.spec.hosts.includes('localhost') ? [{ field: 'spec.hosts', message: 'not a site: localhost' }] : []
   *   },
   * })
   * ```
   */
  admission<T extends KubeObject>(
    // deno-lint-ignore no-explicit-any -- as above
    resource: Resource<T, any>,
    hooks: Admission<NoInfer<T>>,
    options?: AdmissionOptions,
  ): Operator
  /**
   * Declares how objects of a version of a kind become those of the version that is stored, the hub, and back. All
   * other versions of the kind have such a declaration with the same hub. The operator serves the conversion (see
   * `webhooks`), on every replica.
   *
   * @throws TypeError if the two are not versions of one kind, or there is a conversion of `from` already.
   */
  convert<Old extends ConvertibleKind, Hub extends ConvertibleKind>(
    from: Old,
    hub: Hub,
    conversion: NoInfer<Conversion<Old, Hub>>,
  ): Operator
  /**
   * Adds a task that runs beside the controllers: only on the leader, unless `everyReplica`. A task that returns has
   * ended. One that throws is logged, counted, and started again with back-off; a {@link TerminalError} ends the
   * operator, and so does any error with `restart: false`.
   *
   * @throws TypeError if an option is invalid, or a task or a schedule has the same name.
   */
  add(name: string, task: Task, options?: TaskOptions): Operator
  /**
   * Adds a task that the leader runs at the times of a cron expression: five fields, or six with seconds first. A run
   * that throws is tried again with back-off, except after a {@link TerminalError}. Times during a run, or during its
   * tries, are skipped. With leader election, the times of the last runs are kept in an annotation of the Lease: times
   * that passed while no replica led are made up for by one run.
   *
   * @throws TypeError if the expression or the time zone is invalid, or a task or a schedule has the same name. An
   * expression that no date fits is refused at the start of the operator or of a world.
   *
   * @example
   * ```ts
   * import { operator } from 'kubeloop'
   * const app = operator({ name: 'reporter', leaderElection: true })
   * app.schedule('report', '0 2 * * *', { timeZone: 'Europe/Berlin' }, async ({ log }) => log.info('good night'))
   * ```
   */
  schedule(name: string, cron: string, task: Task): Operator
  schedule(name: string, cron: string, options: ScheduleOptions, task: Task): Operator
  /**
   * Adds another cluster, for `controllerFor`, `watches`, `cache`, `clientOf` and `eventsOf`. The Lease, which fences
   * the writes to all clusters, stays in the operator's own. `namespaces` are those watched there. Default: the
   * operator's; `[]` is all.
   *
   * A start fails without the cluster. With `optional`, the operator starts without it if it is down, refuses requests,
   * lacks a kind or has no configuration yet (`config` rejects, and is called again): that is logged, and the
   * controllers of kinds there start when it is available. Readiness does not depend on it, and `syncTimeout` does not
   * apply there.
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
    options?: { namespaces?: Namespaces; optional?: boolean },
  ): OtherCluster
  /**
   * Adds a group of clusters that `provider` adds and removes while the operator runs, for the `clusters` of a
   * controller and the `cluster` of a cache. Every replica reads the provider and watches its clusters. A cluster that
   * is down delays nothing else. When it is removed, its running reconciles may end within the operator's `grace`; its
   * watches, keys and connections end with them.
   *
   * @example
   * ```ts
   * import { type ClusterChange, EventChannel, operator } from 'kubeloop'
   * import { ConfigMap, Secret } from 'kubeloop/kinds'
   * const app = operator({ name: 'fleet' })
   * const changes = new EventChannel<ClusterChange>()
   * const members = app.clusters('members', () => changes)
   * app.cache(Secret, { namespaces: ['fleet'], labels: 'member' })
   * app.controllerFor(Secret, { name: 'members', everyReplica: true }).reconcileKey(async (key, { client }) => {
   *   const secret = await client.get(Secret, key)
   *   const text = (name: string) => atob(secret?.data?.[name] ?? '')
   *   const config = { server: text('server'), ca: text('ca'), token: text('token') }
   *   await changes.send(secret ? { add: key.name, config } : { remove: key.name })
   * })
   * app.controllerFor(ConfigMap, { clusters: members })
   *   .reconcile(async (map, { key: { cluster, name }, log }) => log.info('{name} in {cluster}', { name, cluster }))
   * ```
   */
  clusters(name: string, provider: ClusterProvider, options?: { namespaces?: Namespaces }): ClusterGroup
  /**
   * Adds a function that is called at each start with its parts, before any of them runs: for servers, health checks,
   * handlers beside the metrics, controllers and runnables. Runnables that it adds to the manager stop with it. A stop
   * does not wait for a pending call, and ignores its later failure.
   */
  extend(extension: (parts: Parts) => void | Promise<void>): Operator
  /**
   * Runs the operator as a process, with signals, logging and an exit code. Never rejects: a failure is logged. With
   * `import.meta`, it does nothing if the file was imported instead of run. `--kubeconfig FILE` and `--context NAME` on
   * the command line override `KUBECONFIG`, except under `kubeloop dev`, which has a cluster of its own.
   */
  run(module?: ImportMeta): Promise<void>
  /**
   * Runs the operator inside another program until the signal is aborted or it fails. Resolves when all has ended;
   * rejects with the failure. Of the options, only `cluster` is for everyday use.
   */
  start(signal: AbortSignal, options?: StartOptions): Promise<void>
  /** The description, for tools. */
  readonly description: OperatorDescription
}

function checkClusters({ clusters, groups }: OperatorDescription, name: string, namespaces?: Namespaces): void {
  checkName(name)
  checkNamespaces(name, namespaces)
  if ([...clusters, ...groups].some((known) => known.name === name)) {
    throw new TypeError(`Cannot name two clusters "${name}"`)
  }
}

function addTask(description: OperatorDescription, task: TaskDescription): void {
  checkTask(description, task)
  description.tasks.push(task)
}

function groupIn({ groups }: OperatorDescription, group: ClusterGroup): GroupDescription {
  const found = groups.find((each) => each === group)
  if (found) return found
  throw new TypeError(`Cannot use the clusters "${group.name}": they are those of another operator`)
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
  checkOptions(options)
  const description = emptyDescription(options)
  const used = noteDescribed(description)
  const app: Operator = {
    get description() {
      used()
      return description
    },
    controllerFor(resource, controllerOptions) {
      const given = controllerOptions as ControllerOptions<KubeObject>
      return builderOf(addController(description, describeController(resource, given, options.controllers)), app)
    },
    cache(resource, given = {}) {
      checkShape(`Cannot cache ${groupResourceOf(resource)}`, given, CACHE_SHAPE)
      const { cluster, optional, ...kept } = given
      const cacheOptions = kept as unknown as CacheOptions
      const declared = { resource, options: cacheOptions, cluster, optional, declaredAt: callerFrame() }
      checkCache(description, declared)
      description.caches.push(declared)
      return app
    },
    admission(resource, given, admissionOptions = {}) {
      const hooks = given as unknown as Admission<KubeObject>
      const declared = { resource, hooks, options: admissionOptions, declaredAt: callerFrame() }
      checkAdmission(declared)
      description.admissions.push(declared)
      return app
    },
    convert(from, hub, conversion) {
      rethrowAt(callerFrame(), () => {
        description.conversions.push(describeConversion(from, hub, conversion as never, description.conversions))
      })
      return app
    },
    add(name, task, taskOptions = {}) {
      checkShape(`Cannot add "${name}"`, taskOptions, TASK_SHAPE)
      const { everyReplica = false, restart = true } = taskOptions
      addTask(description, { name, task, everyReplica, restart, schedule: undefined, declaredAt: callerFrame() })
      return app
    },
    schedule(name: string, cron: string, ...rest: readonly [Task] | readonly [ScheduleOptions, Task]) {
      const [scheduleOptions, task] = rest.length === 1 ? [{}, rest[0]] : rest
      checkShape(`Cannot schedule "${name}"`, scheduleOptions, SCHEDULE_SHAPE)
      const schedule = { cron, timeZone: scheduleOptions.timeZone ?? 'UTC' }
      addTask(description, { name, task, everyReplica: false, restart: true, schedule, declaredAt: callerFrame() })
      return app
    },
    cluster(name, config, clusterOptions = {}) {
      checkShape(`Cannot name the cluster "${name}"`, clusterOptions, CLUSTER_SHAPE)
      const { namespaces, optional } = clusterOptions
      checkClusters(description, name, namespaces)
      const cluster: ClusterDescription = { name, config, namespaces, optional }
      description.clusters.push(cluster)
      return cluster
    },
    clusters(name, provider, groupOptions = {}) {
      checkShape(`Cannot name the clusters "${name}"`, groupOptions, GROUP_SHAPE)
      checkClusters(description, name, groupOptions.namespaces)
      const group: GroupDescription = { name, provider, namespaces: groupOptions.namespaces, controllers: [] }
      description.groups.push(group)
      return group
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

function emptyDescription(options: OperatorOptions): OperatorDescription {
  return {
    options,
    controllers: [],
    caches: [],
    tasks: [],
    clusters: [],
    groups: [],
    extensions: [],
    admissions: [],
    conversions: [],
  }
}

function addController(
  description: OperatorDescription,
  controller: ControllerDescription,
): ControllerDescription {
  const { clusters = [] } = controller.options
  if ('provider' in clusters) groupIn(description, clusters).controllers.push(controller)
  else if (clusters.length === 0) description.controllers.push(controller)
  else description.controllers.push(...clusters.map((cluster) => inCluster(controller, cluster)))
  return controller
}

function checkOptions(options: OperatorOptions): void {
  const { name } = (options as OperatorOptions | undefined) ?? {}
  checkShape(`Cannot describe operator "${name}"`, options, OPERATOR_SHAPE)
  checkDefaults(options, callerFrame())
  checkMetrics(options, callerFrame())
  checkLog(options)
}

/**
 * Passes a new operator to a tool, if there is one. Call the result when the operator is used: an unused operator in
 * the process's main file was probably forgotten, so a line on standard error reports it when the process ends.
 */
function noteDescribed(description: OperatorDescription): () => void {
  describedReader()?.(description)
  const place = callerFrame()
  return onIdleEnd(() => {
    const file = place()?.replace(/:\d+:\d+$/, '')
    if (!file || /[._]test\.\w+$/.test(file) || !isMainFile(file)) return undefined
    return `Operator "${description.options.name}" was described and never started; is \`await app.run(import.meta)\` missing?`
  })
}
