/** Adds the groups of clusters of an operator, and assembles what runs in each cluster. */
import type { ClusterConfig } from '../core/cluster_config.ts'
import type { Runnable } from '../core/runnable.ts'
import { abortScope } from '../async/abort.ts'
import type { Latch } from '../async/latch.ts'
import type { Controller } from '../controller/controller.ts'
import type { Source } from '../controller/source.ts'
import type { Manager } from '../manager/manager.ts'
import type { RandomPartEnvironment } from '../observe/environment.ts'
import type { Clusters } from './clusters.ts'
import { clientsOf, workOf } from './work.ts'
import type { ClusterChange, WorkContext } from './description/context.ts'
import type { Definitions } from './definitions.ts'
import {
  type ControllerDescription,
  type GroupDescription,
  memberCluster,
  memberOf,
  type OperatorDescription,
} from './description/description.ts'
import type { OperatorMeter } from './endpoints.ts'
import { addFleet, type Engaged } from './fleet.ts'
import { optionalCluster } from './description/optional.ts'

/** What a group needs of the operator; classes of mod.js are behind functions, as this file is loaded beside it. */
interface GroupSetup extends RandomPartEnvironment {
  readonly clusters: Clusters
  readonly manager: Manager
  /** The controllers by their names, while they run. */
  readonly named: Map<string, Controller>
  readonly definitions: Definitions | undefined
  readonly meter: OperatorMeter | undefined
  /** How long a removed cluster waits for its running reconciles. */
  readonly graceMs: number
  readonly controller: (
    description: ControllerDescription,
    own: Pick<Manager, 'fence' | 'abandon' | 'stopping'> & { readonly meter: OperatorMeter | undefined },
  ) => Controller
  /** Returns a controller that starts when the latch is open. */
  readonly waiting: (controller: Controller, latch: Latch | undefined) => Runnable
  readonly read: (
    name: string,
    open: (signal: AbortSignal) => AsyncIterable<ClusterChange>,
    change: (change: ClusterChange) => void,
  ) => Source
}

export function addGroups(description: OperatorDescription, setup: GroupSetup): void {
  const { clusters, read } = setup
  const work = (signal: AbortSignal): WorkContext => workOf(setup, clientsOf(clusters, undefined), { signal })
  for (const group of description.groups) {
    addFleet(group, {
      ...setup,
      engage: (name, config) => engage(description, setup, group, name, config),
      read: (change) => read(group.name, (signal) => group.provider(work(signal)), change),
    })
  }
}

function engage(
  description: OperatorDescription,
  { clusters, manager, named, definitions, meter, controller, waiting, ...setup }: GroupSetup,
  group: GroupDescription,
  name: string,
  config: ClusterConfig,
): Engaged {
  const member = memberCluster(group, name, config)
  if ([...clusters.others.keys()].some((known) => known.name === name)) {
    throw new TypeError('another one has its name')
  }
  const own = memberOf(description, group, member)
  const inMember = definitions?.of(own)
  const cluster = clusters.add(member, own, { config })
  const { fence } = manager
  const [stopping, abandon] = [abortScope(manager.stopping), abortScope(manager.abandon)]
  const removed = (): DOMException => new DOMException(`The cluster "${name}" was removed`, 'AbortError')
  const [controllers, ends]: [Controller[], (() => void)[]] = [[], []]
  const close = (): void => {
    for (const each of [stopping, abandon]) each[Symbol.dispose]()
    for (const each of controllers) named.delete(each.name)
    for (const end of ends) end()
    clusters.drop(member)
  }
  try {
    for (const cache of own.caches) cluster.cache.declare(cache.resource, cache.options)
    const measured = meter && recordingEnds(meter, ends)
    const shared = { fence, stopping: stopping.signal, abandon: abandon.signal, meter: measured }
    for (const each of own.controllers) controllers.push(controller(each, shared))
  } catch (error) {
    close()
    throw error
  }
  for (const each of controllers) named.set(each.name, each)
  const latch = inMember?.latches.get(member)
  const prepare = async (signal: AbortSignal): Promise<void> => await inMember?.prepare(member, signal)
  return {
    caches: optionalCluster(cluster, prepare, { ...setup, name }),
    recorder: cluster.recorder,
    controllers,
    leader: [
      ...controllers.filter(({ everyReplica }) => !everyReplica).map((each) => waiting(each, latch)),
      ...(latch ? [inMember!.lateInstallation(member, latch, fence)] : []),
    ],
    stop: () => stopping.abort(removed()),
    abandon: () => abandon.abort(removed()),
    close,
  }
}

/** Returns the meter, which adds what ends its metrics: a name may come again before its last work has ended. */
function recordingEnds(meter: OperatorMeter, ends: (() => void)[]): OperatorMeter {
  return {
    ...meter,
    controller(...of) {
      const metrics = meter.controller(...of)
      ends.push(() => metrics.remove())
      return metrics
    },
    queue(...of) {
      const metrics = meter.queue(...of)
      ends.push(() => metrics.end())
      return metrics
    },
  }
}
