/** Makes the sources of a controller's keys from its description. */
import { keyOf, type KubeObject, type ObjectKey } from '../core/objects.ts'
import { type Clock, turnBudgetOf } from '../async/clock.ts'
import type { Log } from '../observe/log.ts'
import type { Cache } from '../cache/cache.ts'
import type { Delta } from '../cache/store.ts'
import type { Call } from '../controller/bounded_call.ts'
import { ownChanges } from '../controller/finalizer.ts'
import { controllerKey, type KeyMapper, ownerKeys, ownKey } from '../controller/handlers.ts'
import { KindSource } from '../controller/kind_source.ts'
import { and, guardedPredicate, type Predicate } from '../controller/predicates.ts'
import type { Source } from '../controller/source.ts'
import { StreamSource } from '../controller/stream_source.ts'
import { TickerSource } from '../controller/ticker_source.ts'
import { formatMs } from '../core/duration.ts'
import { boundTo, type Clients, type Clusters, logOf } from './clusters.ts'
import type { MapContext, OtherCluster, WatchContext, WorkContext } from './context.ts'
import { type ControllerDescription, controllerName, isOptional, type SourceDescription } from './description.ts'

export interface SourceSetup {
  readonly clusters: Clusters
  readonly clients: Clients
  /** The controller's finalizer, if it has one. */
  readonly finalizer?: string | undefined
  /** The controller's predicate for the events of all kinds. */
  readonly eventFilter?: Predicate | undefined
  readonly clock: Clock
  readonly log: Log
  readonly random?: (() => number) | undefined
}

/** Returns the source of the controller's own kind, then the others in the order of the description. */
export function sourcesOf(description: ControllerDescription, setup: SourceSetup): Source[] {
  const { resource, options } = description
  const { clusters, finalizer, clock, log } = setup
  const informers = clusters.of(options.cluster).cache.declare(resource)
  const when = finalizer === undefined ? options.when : ownChanges(options.when, finalizer)
  const own = new KindSource({ informers, map: ownKey, own: true, when, clock, log: logOf(log, options.cluster) })
  return [own, ...description.sources.map((source) => sourceOf(source, description, setup, when))]
}

/** `when`: the predicate of the controller's own kind. */
function sourceOf(
  source: SourceDescription,
  description: ControllerDescription,
  setup: SourceSetup,
  when: Predicate | undefined,
): Source {
  const { resource, options } = description
  const { clusters, clock, log, random } = setup
  const cacheOf = (cluster: OtherCluster | undefined): Cache => clusters.of(cluster).cache
  switch (source.kind) {
    case 'owns': {
      const map = source.anyOwner ? ownerKeys(resource) : controllerKey(resource)
      const informers = cacheOf(options.cluster).declare(source.resource)
      return new KindSource({
        informers,
        map,
        own: false,
        optional: source.optional,
        when: source.when,
        clock,
        log: logOf(log, options.cluster),
      })
    }
    case 'watches': {
      const map: KeyMapper = (object, call, event) => source.map(object, mapContext(setup, call, event))
      const informers = cacheOf(source.cluster).declare(source.resource)
      // A controller whose own kind is in an optional cluster starts with that cluster, so there the source is not
      // optional.
      const optional = source.optional || (isOptional(source.cluster) && source.cluster !== options.cluster)
      return new KindSource({
        informers,
        map,
        own: false,
        optional,
        cluster: source.cluster?.name,
        when: source.when,
        clock,
        log: logOf(log, source.cluster),
      })
    }
    case 'from':
      return new StreamSource({
        name: source.name,
        open: (signal) => source.open(mapContext(setup, { signal })),
        clock,
        log,
        random,
      })
    case 'every': {
      const everything = async ({ signal }: Call): Promise<Iterable<ObjectKey>> => {
        const budget = turnBudgetOf(clock)
        const found: ObjectKey[] = []
        for (const object of await setup.clients(options.cluster).bound({ signal }).list(resource)) {
          if (passes({ kind: 'added', object, initial: true })) found.push(keyOf(object))
          if (budget.isSpent) await budget.turn()
        }
        return found
      }
      const { keys } = source
      // As for the objects of a first list.
      const passes = guardedPredicate(and(...[when, setup.eventFilter].filter((each) => each !== undefined)), setup)
      const name = `${controllerName(description)} every ${formatMs(source.ms)}`
      return new TickerSource({
        name,
        everyMs: source.ms,
        keys: keys ? (call) => keys(mapContext(setup, call)) : everything,
        clock,
        log,
      })
    }
  }
}

/** Makes the signal and the client only when they are read, as most map functions need neither. */
function mapContext(setup: SourceSetup, call: Call): MapContext
function mapContext(setup: SourceSetup, call: Call, event: Delta): WatchContext<KubeObject>
function mapContext({ clients, clock, log }: SourceSetup, call: Call, event?: Delta): MapContext {
  let bound: Pick<WorkContext, 'client' | 'clientOf'> | undefined
  const own = (): NonNullable<typeof bound> => (bound ??= boundTo(clients, call))
  return {
    ...(event && { event }),
    log,
    clock,
    get signal() {
      return call.signal
    },
    get client() {
      return own().client
    },
    clientOf: (cluster) => own().clientOf(cluster),
  }
}
