/**
 * What `kubeloop dev` puts into an operator's process before its file is read. All that differs there is behind this, so that
 * none of it is in an operator that runs without.
 */
import type { ClusterConfig } from '../core/cluster_config.ts'
import type { Log } from '../observe/log.ts'
import type { ClosableTransport } from '../runtime/net/transport.ts'
import type { OperatorDescription } from './description.ts'
import type { StartOptions } from './start.ts'

export interface DevHook {
  /** Whether lines are for a person. */
  readonly pretty: boolean
  /** Hears that there is an operator: from here on it says itself what ends it. */
  operatorRuns(): void
  prepare(operator: DevOperator): Promise<DevStart>
  /** Ends the process, which has said why; the command starts the file again when it is saved. Never settles. */
  waitForChange(): Promise<never>
}

/** An operator, and the cluster that it is about to work with. */
export interface DevOperator {
  readonly description: OperatorDescription
  readonly cluster: ClusterConfig
  /** For the hook, which closes it. */
  readonly connection: ClosableTransport
  readonly log: Log
}

export interface DevStart {
  readonly options: StartOptions
  /** Says what is held back, before something else is said. */
  flush(): void
}

const HOOK = Symbol.for('kubeloop.dev')
const shared = globalThis as { [HOOK]?: DevHook }

export function setDevHook(hook: DevHook): void {
  shared[HOOK] = hook
}

/** The hook under `kubeloop dev`, whatever copy of kubeloop it came from. */
export function devHook(): DevHook | undefined {
  return shared[HOOK]
}
