/** The controllers of workloads that a cluster has, for the embedded API: an operator of kubeloop's own words. */
import { type Clock, type Controller, type Log, type Operator, operator, type Parts, type Transport } from 'kubeloop'
import { silentLog } from '../../observe/log.ts'
import { addAccountTokens, addServiceAccounts } from './accounts.ts'
import { addCronJobs } from './cron_jobs.ts'
import { addDaemonSets } from './daemon_sets.ts'
import { addDeployments } from './deployments.ts'
import { addEndpointSlices } from './endpoint_slices.ts'
import { addJobs } from './jobs.ts'
import { PodScript } from './pod_script.ts'
import { type PodTimes, TIMES } from './pod_plan.ts'
import { addNode, addPods, podLogOf } from './pods.ts'
import { addReplicaSets } from './replica_sets.ts'
import { addStatefulSets } from './stateful_sets.ts'

export { podLogOf, PodScript, TIMES }

export interface WorkloadsOptions {
  readonly transport: Transport
  readonly clock: Clock
  /** Receives errors. */
  readonly log: Log
  readonly script: PodScript
  readonly times: PodTimes
  /** Returns the CA of the server, PEM, for the Secrets with tokens. Default: they have none. */
  readonly ca?: (() => string | undefined) | undefined
  /** Source of back-off jitter: returns numbers in [0, 1). Default: Math.random. */
  readonly random?: (() => number) | undefined
  /** Makes ids of runs. Default: crypto.randomUUID. */
  readonly uuid?: (() => string) | undefined
}

export class Workloads {
  readonly #options: WorkloadsOptions
  readonly #app: Operator = operator({ name: 'workloads', grace: '1s' })
  #parts: Parts | undefined
  #loaded = false

  constructor(options: WorkloadsOptions) {
    this.#options = options
    const { script, times } = options
    const app = this.#app
    addNode(app)
    addPods(app, script, times)
    addReplicaSets(app)
    addDeployments(app)
    addJobs(app)
    addStatefulSets(app)
    addDaemonSets(app)
    addServiceAccounts(app)
    addCronJobs(app)
    addEndpointSlices(app)
    addAccountTokens(app, options.ca ?? (() => undefined))
  }

  /** Whether its files are being loaded, in real time. */
  get loads(): boolean {
    return !this.#loaded
  }

  /** The controllers with keys that wait or are in work. Those that wait for a time do not count. */
  get busy(): readonly Controller[] {
    return [...this.#parts?.controllers.values() ?? []].filter(({ idle, isWaiting }) => !idle && !isWaiting)
  }

  /** Runs until the signal is aborted. */
  async start(signal: AbortSignal): Promise<void> {
    const { transport, clock, log, random, uuid } = this.#options
    await this.#app.start(signal, {
      transport,
      clock,
      log: { ...silentLog, error: log.error },
      ...(random && { random }),
      ...(uuid && { uuid }),
      instance: 'kubeloop',
      leaderElection: false,
      serves: false,
      onLoaded: () => void (this.#loaded = true),
      onAssembled: (parts) => void (this.#parts = parts),
    })
  }
}
