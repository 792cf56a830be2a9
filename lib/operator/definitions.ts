/** Decides when an operator's CRDs and webhook configurations are written or verified, and by which replica. */
import { messageOf } from '../core/errors.ts'
import type { Fence } from '../core/fence.ts'
import type { Runnable } from '../core/runnable.ts'
import { untilAborted } from '../async/abort.ts'
import type { Clock } from '../async/clock.ts'
import { Latch } from '../async/latch.ts'
import { type Log, safeLog } from '../observe/log.ts'
import { type Api, clusterSuffix } from '../client/api.ts'
import { isInPod } from '../runtime/os/env.ts'
import type { Manager } from '../manager/manager.ts'
import { type Clusters, logOf } from './clusters.ts'
import type { OtherCluster } from './context.ts'
import { refuseUnchecked } from '../crds/checks.ts'
import type { Dependencies } from '../crds/definition.ts'
import { createCrds, installCrds } from '../crds/install.ts'
import { verifyCrds } from '../crds/verify.ts'
import type { OperatorOptions } from './options.ts'
import { crdModeOf, type OperatorDescription } from './description.ts'
import { isOptional, kindsElsewhere, ownKinds, watchedResources } from './used_kinds.ts'
import { untilDone } from './optional.ts'
import type { OperatorWebhooks } from './webhooks/setup.ts'

export interface DefinitionSetup {
  readonly description: OperatorDescription
  readonly clusters: Clusters
  readonly clock: Clock
  readonly log: Log
  readonly random?: (() => number) | undefined
  readonly options: { readonly crds?: OperatorOptions['crds']; readonly definitionLog?: Log }
  /** Whether there is leader election. Then only the leader changes existing definitions. */
  readonly elects: boolean
  readonly webhooks: OperatorWebhooks | undefined
}

/** The work on the definitions of an operator, or of what runs in one cluster of a group. */
export interface Definitions {
  /** Prepares the CRDs of a cluster before its caches start. */
  readonly prepare: InCluster
  /** A latch for each optional cluster whose leader's controllers wait for its definitions. */
  readonly latches: ReadonlyMap<OtherCluster, Latch>
  /** Returns the leader's installation in an optional cluster, which opens the latch. */
  lateInstallation(cluster: OtherCluster, latch: Latch, fence: Fence): Runnable
  /** Adds what the leader installs. */
  addInstallation(manager: Manager): void
  /** Returns the same for what runs in a cluster of a group. */
  of(description: OperatorDescription): Definitions
}

/** @throws TypeError for a kind of another cluster with refinements. */
export function definitionsOf(setup: DefinitionSetup): Definitions {
  refuseUnchecked(kindsElsewhere(setup.description))
  const latches = latchesOf(setup)
  return {
    prepare: preparationOf(setup),
    latches,
    lateInstallation: (cluster, latch, fence) => lateInstallation(setup, cluster, latch, fence),
    addInstallation: (manager) => addInstallation(setup, latches, manager),
    of: (description) => definitionsOf({ ...setup, description }),
  }
}

/** Works on the definitions of a cluster; undefined is the operator's own. */
type InCluster = (cluster: OtherCluster | undefined, signal: AbortSignal) => Promise<void>

function preparationOf(setup: DefinitionSetup): InCluster {
  const { mode } = modeOf(setup)
  const prepare = mode === 'verify'
    ? verifyCrds
    : mode === 'ignore'
    ? undefined
    : setup.elects
    ? createCrds
    : installCrds
  return async (cluster, signal) => {
    if (prepare) await prepareIn(prepare, setup, cluster, signal)
  }
}

function latchesOf(setup: DefinitionSetup): ReadonlyMap<OtherCluster, Latch> {
  const late = setup.elects && mayInstall(setup) ? setup.description.clusters.filter(isOptional) : []
  return new Map(late.map((cluster) => [cluster, new Latch()]))
}

/**
 * Adds what the leader installs: changes of CRDs, and the configurations of webhooks. The leader's work starts when the
 * CRDs are served; work in an optional cluster, when they are served there.
 */
function addInstallation(
  setup: DefinitionSetup,
  late: ReadonlyMap<OtherCluster, Latch>,
  manager: Manager,
): void {
  const { description, clusters, elects, webhooks } = setup
  const api = clusters.main.api.fenced(manager.fence)
  if (!mayInstall(setup)) {
    if (webhooks?.isServed) manager.add(keeping(webhooks, api, undefined))
    return
  }
  if (!elects && !webhooks) return
  const underLease = webhooks?.installUnderLease
  const installed = new Latch()
  const install: InCluster = (cluster, signal) => prepareIn(installCrds, setup, cluster, signal, manager.fence)
  manager.add({
    name: 'definitions',
    role: 'preparation',
    async start(signal) {
      // Without leader election, they were installed before the caches started.
      for (const cluster of elects ? [undefined, ...description.clusters] : []) {
        if (!isOptional(cluster)) await install(cluster, signal)
      }
      if (underLease) return await underLease(() => installed.open(), signal)
      await webhooks?.install(api, signal)
      installed.open()
    },
    ready: (signal) => untilAborted(installed.opened, signal),
  })
  // Without leader election, releases beside each other would undo each other's versions.
  if (webhooks?.isServed) {
    manager.add(keeping(webhooks, api, elects ? (signal) => install(undefined, signal) : undefined))
  }
  for (const [cluster, latch] of late) manager.add(lateInstallation(setup, cluster, latch, manager.fence))
}

function lateInstallation(setup: DefinitionSetup, cluster: OtherCluster, latch: Latch, fence: Fence): Runnable {
  const { clock, log, random } = setup
  const { name } = cluster
  return {
    name: `definitions in ${name}`,
    async start(signal) {
      const report = (reason: string): void =>
        log.warn(`The controllers of the cluster "${name}" wait for its definitions: ${reason}`)
      const install = (signal: AbortSignal): Promise<void> => prepareIn(installCrds, setup, cluster, signal, fence)
      await untilDone(install, report, { name, clock, log, random }, signal)
      latch.open()
    },
  }
}

function keeping(
  webhooks: OperatorWebhooks,
  api: Api,
  reinstall: ((signal: AbortSignal) => Promise<void>) | undefined,
): Runnable {
  return { name: 'webhook configurations', start: (signal) => webhooks.keepInstalled(api, reinstall, signal) }
}

function mayInstall(setup: DefinitionSetup): boolean {
  return modeOf(setup).mode === 'install'
}

function modeOf(
  { description, options: { crds = description.options.crds } }: DefinitionSetup,
): ReturnType<typeof crdModeOf> {
  return crdModeOf({ crds })
}

/** Calls a function for the definitions of a cluster. Errors name a cluster other than the operator's own. */
async function prepareIn(
  prepare: typeof installCrds,
  setup: DefinitionSetup,
  cluster: OtherCluster | undefined,
  signal: AbortSignal,
  fence?: Fence,
): Promise<void> {
  const kinds = ownKinds(setup.description, cluster)
  if (kinds.length === 0 && (cluster || setup.webhooks)) return
  try {
    await prepare(kinds, await dependenciesOf(setup, cluster, fence, signal), signal)
  } catch (error) {
    const text = messageOf(error)
    const where = clusterSuffix({ cluster: cluster?.name }).trimStart()
    // Errors of requests name the cluster already, as do the log lines of an optional cluster.
    if (!cluster || isOptional(cluster) || signal.aborted || text.includes(where)) throw error
    throw new Error(text.includes(HERE) ? text.replace(HERE, where) : `${text} (${where})`, { cause: error })
  }
}

/** The place in errors about a definition, which the name of a cluster replaces. */
const HERE = 'in this cluster'

async function dependenciesOf(
  setup: DefinitionSetup,
  cluster: OtherCluster | undefined,
  fence: Fence | undefined,
  signal: AbortSignal,
): Promise<Dependencies> {
  const { description, clusters, clock, options, webhooks } = setup
  const { api } = clusters.of(cluster)
  return {
    api: fence ? api.fenced(fence) : api,
    clock,
    log: logOf(safeLog(options.definitionLog ?? setup.log), cluster),
    fieldManager: description.options.name,
    narrow: modeOf(setup).narrow,
    optional: isOptional(cluster),
    watched: watchedResources(description, cluster),
    // Webhooks are called by the operator's own cluster alone.
    ...(!cluster && {
      conversions: description.conversions,
      conversion: await webhooks?.conversion(signal),
      mergeCas: webhooks?.mergeCas,
      serviceNamespace: webhooks?.serviceNamespace,
      leftovers: {
        namespace: webhooks?.serviceNamespace ?? (isInPod() ? clusters.main.config?.namespace || 'default' : undefined),
        hasWebhooks: webhooks !== undefined,
      },
    }),
  }
}
