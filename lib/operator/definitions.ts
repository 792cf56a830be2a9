/** Decides when an operator's CRDs and webhook configurations are written or verified, and by which replica. */
import { clusterSuffix } from '../core/resource.ts'
import { messageOf } from '../core/errors.ts'
import type { Fence } from '../core/fence.ts'
import type { Runnable } from '../core/runnable.ts'
import { untilAborted } from '../async/abort.ts'
import { Latch } from '../async/latch.ts'
import { type Log, safeLog } from '../observe/log.ts'
import type { Api } from '../client/api.ts'
import { isInPod } from '../runtime/os/env.ts'
import type { Manager } from '../manager/manager.ts'
import type { RandomPartEnvironment } from '../observe/environment.ts'
import type { Clusters } from './clusters.ts'
import { logOf } from './work.ts'
import type { OtherCluster } from './description/context.ts'
import { refuseUnchecked } from '../crds/checks.ts'
import type { Dependencies } from '../crds/definition.ts'
import { createCrds, installCrds } from '../crds/install.ts'
import { verifyCrds } from '../crds/verify.ts'
import type { OperatorOptions } from './description/options.ts'
import { crdModeOf, type OperatorDescription } from './description/description.ts'
import { isOptional, kindsElsewhere, ownKinds, refuseUnadmitted, watchedResources } from './description/used_kinds.ts'
import { untilDone } from './description/optional.ts'
import type { OperatorWebhooks } from './webhooks/setup.ts'

// For tests on a real cluster: this module is a file of the package.
export { createCrds }

export interface DefinitionSetup extends RandomPartEnvironment {
  readonly description: OperatorDescription
  readonly clusters: Clusters
  readonly options: { readonly crds?: OperatorOptions['crds']; readonly definitionLog?: Log }
  /** Whether there is leader election. Then only the leader changes existing definitions. */
  readonly elects: boolean
  readonly webhooks: OperatorWebhooks | undefined
  /** `shard`: set if replicas share the objects. */
  readonly loaded: { readonly shard?: unknown }
}

/** Works on the definitions of a cluster; undefined is the operator's own. */
type InCluster = (cluster: OtherCluster | undefined, signal: AbortSignal) => Promise<void>

/** The work on the definitions of an operator, or of what runs in one cluster of a group. */
export class Definitions {
  /** A latch for each optional cluster whose leader's controllers wait for its definitions. */
  readonly latches: ReadonlyMap<OtherCluster, Latch>
  readonly #setup: DefinitionSetup
  readonly #mode: ReturnType<typeof crdModeOf>

  /** @throws TypeError for a kind with refinements that no admission checks, here or in another cluster. */
  constructor(setup: DefinitionSetup) {
    const { description, elects, options: { crds = description.options.crds } } = setup
    refuseUnadmitted(description)
    refuseUnchecked(kindsElsewhere(description))
    this.#setup = setup
    this.#mode = crdModeOf({ crds })
    const late = elects && this.#mayInstall ? description.clusters.filter(isOptional) : []
    this.latches = new Map(late.map((cluster) => [cluster, new Latch()]))
  }

  /** Returns the same for what runs in a cluster of a group. */
  of(description: OperatorDescription): Definitions {
    return new Definitions({ ...this.#setup, description })
  }

  /** Prepares the CRDs of a cluster before its caches start. */
  async prepare(cluster: OtherCluster | undefined, signal: AbortSignal): Promise<void> {
    const { mode } = this.#mode
    if (mode === 'ignore') return
    const prepare = mode === 'verify' ? verifyCrds : this.#setup.elects ? createCrds : installCrds
    await this.#prepareIn(prepare, cluster, signal)
  }

  /**
   * Adds what the leader installs: changes of CRDs, and the configurations of webhooks. The leader's work starts when
   * the CRDs are served; work in an optional cluster, when they are served there.
   */
  addInstallation(manager: Manager): void {
    const { description, clusters, elects, webhooks } = this.#setup
    const api = clusters.main.api.fenced(manager.fence)
    if (!this.#mayInstall) {
      if (webhooks?.isServed) manager.add(keeping(webhooks, api, undefined))
      return
    }
    if (!elects && !webhooks) return
    const underLease = webhooks?.installUnderLease
    const installed = new Latch()
    const install: InCluster = (cluster, signal) => this.#prepareIn(installCrds, cluster, signal, manager.fence)
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
    for (const [cluster, latch] of this.latches) manager.add(this.lateInstallation(cluster, latch, manager.fence))
  }

  /** Returns the leader's installation in an optional cluster, which opens the latch. */
  lateInstallation(cluster: OtherCluster, latch: Latch, fence: Fence): Runnable {
    const { name } = cluster
    const report = (reason: string): void =>
      this.#setup.log.warn(`The controllers of the cluster "${name}" wait for its definitions: ${reason}`)
    const install = (signal: AbortSignal): Promise<void> => this.#prepareIn(installCrds, cluster, signal, fence)
    const start = async (signal: AbortSignal): Promise<void> => {
      await untilDone(install, report, { ...this.#setup, name }, signal)
      latch.open()
    }
    return { name: `definitions in ${name}`, start }
  }

  get #mayInstall(): boolean {
    return this.#mode.mode === 'install'
  }

  /** Calls a function for the definitions of a cluster. Errors name a cluster other than the operator's own. */
  async #prepareIn(
    prepare: typeof installCrds,
    cluster: OtherCluster | undefined,
    signal: AbortSignal,
    fence?: Fence,
  ): Promise<void> {
    const { description, webhooks } = this.#setup
    const kinds = ownKinds(description, cluster)
    if (kinds.length === 0 && (cluster || webhooks)) return
    try {
      await prepare(kinds, await this.#dependencies(cluster, fence, signal), signal)
    } catch (error) {
      const text = messageOf(error)
      const where = clusterSuffix({ cluster: cluster?.name }).trimStart()
      // Errors of requests name the cluster already, as do the log lines of an optional cluster.
      if (!cluster || isOptional(cluster) || signal.aborted || text.includes(where)) throw error
      throw new Error(text.includes(HERE) ? text.replace(HERE, where) : `${text} (${where})`, { cause: error })
    }
  }

  async #dependencies(
    cluster: OtherCluster | undefined,
    fence: Fence | undefined,
    signal: AbortSignal,
  ): Promise<Dependencies> {
    const { description, clusters, clock, log, options, webhooks, loaded } = this.#setup
    const { api, config } = clusters.of(cluster)
    return {
      api: fence ? api.fenced(fence) : api,
      clock,
      log: logOf(safeLog(options.definitionLog ?? log), cluster),
      fieldManager: description.options.name,
      narrow: this.#mode.narrow,
      // One replica alone, as in a plan, also meets the definitions of the other ones.
      shared: loaded.shard !== undefined || (description.options.sharding !== undefined && options.crds === undefined),
      optional: isOptional(cluster),
      watched: watchedResources(description, cluster),
      // Webhooks are called by the operator's own cluster alone.
      ...(!cluster && {
        conversions: description.conversions,
        conversion: await webhooks?.conversion(signal),
        mergeCas: webhooks?.mergeCas,
        serviceNamespace: webhooks?.serviceNamespace,
        leftovers: {
          namespace: webhooks?.serviceNamespace ?? (isInPod() ? config?.namespace || 'default' : undefined),
          hasWebhooks: webhooks !== undefined,
        },
      }),
    }
  }
}

function keeping(
  webhooks: OperatorWebhooks,
  api: Api,
  reinstall: ((signal: AbortSignal) => Promise<void>) | undefined,
): Runnable {
  return { name: 'webhook configurations', start: (signal) => webhooks.keepInstalled(api, reinstall, signal) }
}

/** The place in errors about a definition, which the name of a cluster replaces. */
const HERE = 'in this cluster'
