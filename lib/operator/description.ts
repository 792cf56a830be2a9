/** An operator as data: what `operator()` gathers and each start assembles a manager from. */
import type { Duration } from '../core/duration.ts'
import type { Predicate } from '../controller/predicate.ts'
import type { KubeObject, ObjectKey } from '../core/objects.ts'
import type { AnyResource } from '../core/resource.ts'
import type { Log } from '../observe/log.ts'
import type { Client } from '../client/client.ts'
import type { CacheOptions } from '../cache/cache.ts'
import type { Result } from '../controller/result.ts'
import type { Context, ControllerOptions, MapContext } from './context.ts'

export interface LeaderElectionOptions {
  /** The Lease's name. Default: the operator's. */
  lease?: string
  /** The Lease's namespace. Default: the one this process runs in, or that of the kubeconfig's context. */
  namespace?: string
  /** How long others wait after the last renewal. Whole seconds. Default: 15 s. */
  duration?: Duration
  /** How long to try to renew before giving up. Default: 10 s. */
  renewDeadline?: Duration
  /** How long between tries. Default: 2 s. */
  retryPeriod?: Duration
}

export interface OperatorOptions {
  /** Who writes: field manager, Lease, User-Agent. */
  name: string
  /** Let one replica work at a time. Default: false. */
  leaderElection?: boolean | LeaderElectionOptions
  /** What is watched. Default: all namespaces. */
  namespaces?: string[]
  /** What to do about the CRDs of our kinds at start. Default: `verify`; under `kubeloop dev` and in tests `install`. */
  crds?: 'install' | 'verify' | 'ignore'
  /** How long to wait for running reconciles when told to stop. Default: 30 s. */
  grace?: Duration | 'forever'
}

/** Runs beside the controllers until the signal is aborted. */
export type Task = (context: { readonly client: Client; readonly log: Log; readonly signal: AbortSignal }) => Promise<void>

export interface WatchDescription {
  readonly resource: AnyResource
  readonly map: (object: KubeObject, context: MapContext) => Iterable<ObjectKey> | Promise<Iterable<ObjectKey>>
  readonly when: Predicate | undefined
}

export interface ControllerDescription {
  readonly resource: AnyResource
  readonly options: ControllerOptions<KubeObject>
  readonly owns: AnyResource[]
  readonly watches: WatchDescription[]
  /** Where in the user's file it was begun, for errors. */
  readonly declaredAt: string | undefined
  step: ((context: Context) => Promise<Result>) | undefined
}

export interface OperatorDescription {
  readonly options: OperatorOptions
  readonly controllers: ControllerDescription[]
  readonly caches: { readonly resource: AnyResource; readonly options: CacheOptions }[]
  readonly tasks: { readonly name: string; readonly task: Task; readonly everyReplica: boolean }[]
}

/** The name of a controller: given, or the kind in lower case. */
export function controllerName({ options, resource }: ControllerDescription): string {
  return options.name ?? resource.kind.toLowerCase()
}

/** Every kind that the operator watches. */
export function watchedResources(description: OperatorDescription): AnyResource[] {
  return [
    ...description.caches.map(({ resource }) => resource),
    ...description.controllers.flatMap(({ resource, owns, watches }) => [resource, ...owns, ...watches.map((watch) => watch.resource)]),
  ]
}

/** Throws an error that names what is missing, before anything is connected. */
export function checkDescription({ options, controllers, tasks }: OperatorDescription): void {
  const cannot = `Cannot start operator "${options.name}"`
  if (controllers.length === 0 && tasks.length === 0) throw new TypeError(`${cannot}: it has no controller and no task; call app.controllerFor(Kind).reconcile(…)`)
  const names = new Set<string>()
  for (const controller of controllers) {
    const name = controllerName(controller)
    const at = controller.declaredAt ? ` (${controller.declaredAt})` : ''
    if (!controller.step) throw new TypeError(`${cannot}: the controller for ${controller.resource.kind} has no reconcile; end it with .reconcile(…)${at}`)
    if (names.has(name)) throw new TypeError(`${cannot}: two controllers are called "${name}"; give one of them another name${at}`)
    names.add(name)
  }
}
