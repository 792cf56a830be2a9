/** Makes the sources of a controller's keys from its description. */
import { formatKey, keyOf, type Keys, type KubeObject, type Named, type ObjectKey } from '../core/objects.ts'
import { type AnyResource, wholeOf } from '../core/resource.ts'
import { turnBudgetOf } from '../async/clock.ts'
import { RateLimitedLog } from '../observe/log.ts'
import type { Delta } from '../cache/store.ts'
import { type Call, isThenable } from '../controller/bounded_call.ts'
import { controllerKey, type KeyMapper, ownerKeys, ownKey } from '../controller/handlers.ts'
import { KindSource, type KindSourceOptions } from '../controller/kind_source.ts'
import { and, guardedPredicate, type Predicate } from '../controller/predicates.ts'
import type { Source } from '../controller/source.ts'
import { toMs } from '../core/duration.ts'
import { messageOf } from '../core/errors.ts'
import type { RandomPartEnvironment } from '../observe/environment.ts'
import type { Clusters } from './clusters.ts'
import { boundTo, type Clients, logOf, sleepOn } from './work.ts'
import type { ControllerOptions, MapContext, OtherCluster, WatchContext, WorkContext } from './description/context.ts'
import {
  type ControllerDescription,
  controllerTitle,
  homeOf,
  skipsGone,
  type SourceDescription,
} from './description/description.ts'
import { isOptional } from './description/used_kinds.ts'
import type { LoadedParts } from './loaded_parts.ts'

export interface SourceSetup extends RandomPartEnvironment {
  readonly clusters: Clusters
  readonly clients: Clients
  /** The controller's finalizer, if it has one. */
  readonly finalizer?: string | undefined
  readonly loaded: Pick<LoadedParts, 'finalizers' | 'namespaces' | 'otherSources'>
  /** The controller's predicate for the events of all kinds. */
  readonly eventFilter?: Predicate | undefined
}

/** Returns the source of the controller's own kind, then the others in the order of the description. */
export function sourcesOf(description: ControllerDescription, setup: SourceSetup): Source[] {
  const { resource, options, sources } = description
  const { finalizer } = setup
  const when = finalizer === undefined ? options.when : setup.loaded.finalizers!.ownChanges(options.when, finalizer)
  const own = kindSource(resource, options.cluster, { map: ownKey, own: true, when }, options.queue, setup)
  const all = sources.flatMap((source) => [source, ...wholeSource(source, options.cluster, setup)])
  return [own, ...all.map((source) => sourceOf(source, description, setup, when))]
}

/**
 * Returns one more source, of whole objects, for metadata that is watched beside a cache of whole objects. That cache
 * may be behind the metadata, so the run that an event of the metadata caused may have read an older object.
 */
function wholeSource(
  source: SourceDescription,
  own: OtherCluster | undefined,
  { clusters }: SourceSetup,
): SourceDescription[] {
  if ((source.kind !== 'owns' && source.kind !== 'watches') || !source.resource.only) return []
  const resource = wholeOf(source.resource)
  const { cache } = clusters.of(source.kind === 'owns' ? own : source.cluster)
  return cache.informersOf(resource) ? [{ ...source, resource, optional: true }] : []
}

/** `when`: the predicate of the controller's own kind. */
function sourceOf(
  source: SourceDescription,
  description: ControllerDescription,
  setup: SourceSetup,
  when: Predicate | undefined,
): Source {
  const { resource, options } = description
  const { clock, loaded: { otherSources } } = setup
  const shared = { own: false, warms: skipsGone(description) }
  const home = homeOf(description)
  const context = { ...setup, home, cluster: options.cluster }
  const { name } = home ?? options.cluster ?? {}
  const isHere = (key: Named<ObjectKey>): boolean => {
    const { cluster } = key as { readonly cluster?: string }
    return cluster === undefined || cluster === name
  }
  const here = (keys: Iterable<Named<ObjectKey>>): Named<ObjectKey>[] => [...keys].filter(isHere)
  const keysHere = (keys: Keys<ObjectKey>): Keys<ObjectKey> => isThenable(keys) ? keys.then(here) : here(keys)
  switch (source.kind) {
    case 'owns': {
      const { optional, when, queue } = source
      const map = source.anyOwner ? ownerKeys(resource) : controllerKey(resource)
      return kindSource(source.resource, options.cluster, { ...shared, map, optional, when }, queue, setup)
    }
    case 'watches': {
      const { cluster, when, queue } = source
      const map: KeyMapper = (object, call, event) => keysHere(source.map(object, mapContext(context, call, event)))
      // A controller whose own kind is in an optional cluster starts with that cluster, so there the source is not
      // optional.
      const optional = source.optional || (isOptional(cluster) && cluster !== options.cluster)
      const parts = { ...shared, map, optional, when, cluster: cluster?.name }
      return kindSource(source.resource, cluster, parts, queue, setup)
    }
    default:
      return otherSources!.otherSource(source, {
        ...setup,
        title: controllerTitle(description),
        isHere,
        keysHere,
        context: (call) => mapContext(context, call),
        informers: () => setup.clusters.of(options.cluster).cache.informersOf(resource)!,
        // As for the objects of a first list.
        passes: guardedPredicate(and(...[when, setup.eventFilter].filter((each) => each !== undefined)), setup),
        budget: turnBudgetOf(clock),
      })
  }
}

/** Returns the source of a kind in a cluster. A mistake in the user's `queue` must not stop the events. */
function kindSource(
  resource: AnyResource,
  cluster: OtherCluster | undefined,
  parts: Omit<KindSourceOptions, 'informers'>,
  queue: ControllerOptions<KubeObject>['queue'],
  { clusters, clock, loaded, log: common }: SourceSetup,
): Source {
  const log = logOf(common, cluster)
  const limitedLog = new RateLimitedLog(clock, log)
  const guarded: KindSourceOptions['queue'] = queue && ((event) => {
    try {
      const { priority, after, rateLimited } = queue(event.object, event) ?? {}
      if (priority !== undefined && !Number.isFinite(priority)) throw new RangeError(`its priority is ${priority}`)
      return { priority, afterMs: after === undefined ? after : toMs(after), rateLimited }
    } catch (error) {
      const what = `Cannot use what queue returned for ${event.object.kind} "${formatKey(keyOf(event.object))}"`
      limitedLog.error(`${what}: ${messageOf(error)}`, { error })
      return undefined
    }
  })
  const { cache } = clusters.of(cluster)
  cache.declare(resource)
  const open = (namespace?: string): Source =>
    new KindSource({ ...parts, informers: cache.informersOf(resource, namespace)!, queue: guarded, clock, log })
  const namespaces = cache.namespacesOf(resource)
  return namespaces ? loaded.namespaces!.sourceIn(namespaces, { ...parts, resource, open }) : open()
}

interface MapSetup extends SourceSetup {
  readonly home: OtherCluster | undefined
  readonly cluster: OtherCluster | undefined
}

/** Makes the signal and the client only when they are read, as most map functions need neither. */
function mapContext(setup: MapSetup, call: Call): MapContext
function mapContext(setup: MapSetup, call: Call, event: Delta): WatchContext<KubeObject>
function mapContext({ clusters, clients, clock, log, home, cluster }: MapSetup, call: Call, event?: Delta): MapContext {
  let bound: Pick<WorkContext, 'client' | 'clientOf'> | undefined
  const own = (): NonNullable<typeof bound> => (bound ??= boundTo(clients, call, home))
  return {
    ...(event && { event }),
    cluster,
    log,
    clock,
    ownNamespace: clusters.ownNamespace,
    sleep: sleepOn(clock, call),
    get signal() {
      return call.signal
    },
    get client() {
      return own().client
    },
    clientOf: (cluster) => own().clientOf(cluster),
  }
}
