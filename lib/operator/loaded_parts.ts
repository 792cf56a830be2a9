/** Loads the parts that few operators need, from files beside mod.js. */
import { fileMissing } from '../core/errors.ts'
import { loadPart } from '../core/optional_parts.ts'
import { type CacheOptions, labelsOf } from '../cache/cache_options.ts'
import type { Tracing } from '../observe/tracing.ts'
import type { OperatorOptions } from './description/options.ts'
import { allControllers, crdModeOf, hasWebhooks, type OperatorDescription } from './description/description.ts'
import { kindsElsewhere, ownKinds } from './description/used_kinds.ts'
import type { BucketParts } from './sharding/buckets.ts'
import type { ShardParts } from './sharding/shard.ts'
import type { OperatorMeter } from './endpoints.ts'

/** Each is undefined if the operator does not need it. */
export interface LoadedParts {
  readonly webhooks: typeof import('./webhooks/open.ts') | undefined
  readonly definitions: typeof import('./definitions.ts') | undefined
  readonly endpoints: typeof import('./endpoints.ts') | undefined
  readonly otherSources: typeof import('./other_sources.ts') | undefined
  readonly finalizers: typeof import('../controller/finalizer.ts') | undefined
  readonly otherClusters: typeof import('./other_clusters.ts') | undefined
  readonly tasks: typeof import('./tasks.ts') | undefined
  readonly schedules: typeof import('./schedules.ts') | undefined
  readonly namespaces: typeof import('./namespaces.ts') | undefined
  /** What is assembled: the description, with the selectors of a shard, and the maps of compact caches. */
  readonly described: OperatorDescription
  /** Adds a check of writes, or buckets. Undefined without the option `sharding`. */
  readonly shard?: Partial<ShardParts & BucketParts> | undefined
}

/**
 * `serves`: whether health, metrics and profiling are served. `start`: names a shard.
 *
 * @throws ConfigError if a file beside mod.js is missing.
 */
export async function loadParts(
  description: OperatorDescription,
  serves: boolean,
  start: Parameters<typeof import('./sharding/shard.ts').shardOf>[2] & {
    readonly leaderElection?: boolean | undefined
    readonly freeze?: boolean | undefined
  },
): Promise<LoadedParts> {
  const { options: { health, metrics, profiling, leaderElection, sharding }, clusters, groups, tasks } = description
  const selects = selectsNamespaces(description)
  const elects = start.leaderElection ?? (leaderElection || sharding || hasWebhooks(description))
  const isServing = serves && [health, metrics, profiling].some((each) => each !== undefined)
  const controllers = allControllers(description)
  const sources = controllers.flatMap((controller) => controller.sources)
  const { compact, sharded, ...loaded } = await allOf({
    webhooks: hasWebhooks(description)
      ? loadPart('webhooks', () => import('./webhooks/open.ts'), 'serve webhooks', 'webhook_server.js')
      : undefined,
    // Without kinds, an operator may have lost its last admission.
    definitions: hasWebhooks(description) || definesKinds(description) ||
        crdModeOf(description.options).mode === 'install'
      ? import('./definitions.ts').catch(fileMissing('verify or install definitions', 'crds.js'))
      : undefined,
    endpoints: isServing
      ? import('./endpoints.ts').catch(fileMissing('serve health, metrics or profiles', 'endpoints.js'))
      : undefined,
    otherSources: sources.some(({ kind }) => kind === 'from' || kind === 'every') || groups.length > 0
      ? import('./other_sources.ts').catch(fileMissing('read streams', 'streams.js'))
      : undefined,
    finalizers: controllers.some((each) => each.finalize)
      ? import('../controller/finalizer.ts').catch(fileMissing('finalize objects', 'finalizer.js'))
      : undefined,
    otherClusters: clusters.length + groups.length > 0
      ? import('./other_clusters.ts').catch(fileMissing('use other clusters', 'fleet.js'))
      : undefined,
    tasks: tasks.length > 0 ? import('./tasks.ts').catch(fileMissing('run tasks', 'tasks.js')) : undefined,
    schedules: tasks.some(({ schedule }) => schedule)
      ? loadPart('schedules', () => import('./schedules.ts'), 'schedule', 'cron.js')
      : undefined,
    namespaces: selects
      ? import('./namespaces.ts').catch(fileMissing('select Namespaces', 'namespaces.js'))
      : undefined,
    compact: description.caches.some(({ options }) => options.compact)
      ? loadPart(
        'compact',
        () => import('../cache/compact/compact_caches.ts'),
        'cache with compact',
        'compact_cache.js',
      )
      : undefined,
    sharded: sharding !== undefined && start.leaderElection !== false
      ? loadPart('sharding', () => import('./sharding/sharding_parts.ts'), 'shard', 'shards.js')
      : undefined,
    // Informers and electors load these, and must not wait for a file then.
    takingOver: selects || elects
      ? import('../cache/catch_up.ts').catch(fileMissing('take over', 'catch_up.js'))
      : undefined,
    lease: elects ? import('../leader/follower.ts').catch(fileMissing('use a lease', 'follower.js')) : undefined,
  })
  const ring = sharding?.buckets === undefined ? sharded?.shardOf(description, loaded, start) : undefined
  const shard = ring ?? sharded?.bucketsOf(description, start)
  const described = shard?.sharded ?? description
  return {
    ...{ ...loaded, shard, finalizers: ring?.finalizers ?? loaded.finalizers },
    described: compact?.withCompactCaches(described, start.freeze) ?? described,
  }
}

/** Resolves with what each promise resolves with, by its name. */
async function allOf<T extends object>(promises: T): Promise<{ [Name in keyof T]: Awaited<T[Name]> }> {
  const named = Object.entries(promises).map(async ([name, promise]) => [name, await promise])
  return Object.fromEntries(await Promise.all(named)) as { [Name in keyof T]: Awaited<T[Name]> }
}

function selectsNamespaces({ options, caches, clusters, groups }: OperatorDescription): boolean {
  const all = [options, options.cache, ...caches.map((each) => each.options), ...clusters, ...groups]
  return all.some((each) => labelsOf(each?.namespaces as CacheOptions['namespaces']) !== undefined)
}

function definesKinds(description: OperatorDescription): boolean {
  return ownKinds(description).length + kindsElsewhere(description).length > 0
}

/** @throws ConfigError if the file beside mod.js, or @opentelemetry/api, is missing. */
export async function loadTracing({ tracing }: OperatorOptions): Promise<Tracing | undefined> {
  if (!tracing) return undefined
  const { openTracing } = await loadPart('tracing', () => import('../observe/tracing.ts'), 'trace', 'spans.js')
  return await openTracing()
}

/**
 * Returns undefined if metrics are off; then neither the metrics nor prom-client are loaded.
 *
 * @throws ConfigError if either cannot be loaded.
 */
export async function loadMeter({ metrics }: OperatorOptions): Promise<OperatorMeter | undefined> {
  if (metrics === undefined) return undefined
  const { prometheusMeter } = await loadPart(
    'metrics',
    () => import('../manager/metrics.ts'),
    'serve metrics',
    'metrics.js',
  )
  return await prometheusMeter(typeof metrics === 'object' ? metrics.registry : undefined)
}
