/** The hooks of `kubeloop dev` and `kubeloop crd` in an operator's process, set before its file is loaded. */
import type { ClusterConfig } from '../../core/cluster_config.ts'
import type { Log } from '../../observe/log.ts'
import type { ClosableTransport } from '../../runtime/net/transport.ts'
import type { OperatorDescription } from '../description/description.ts'
import type { StartOptions } from './start.ts'

/** All that differs under `kubeloop dev`, so that an operator that runs without it does not load it. */
export interface DevHook {
  /** Whether log lines are formatted for a person. */
  readonly pretty: boolean
  /** Called when an operator runs, which reports its own failures from then on. */
  operatorRuns(): void
  prepare(operator: DevOperator): Promise<DevStart>
  /** Ends the process after it reported its failure; the command restarts it when the file is saved. Never settles. */
  waitForChange(): Promise<never>
}

/** An operator before its start, and its cluster. */
export interface DevOperator {
  readonly description: OperatorDescription
  readonly cluster: ClusterConfig
  /** For the hook, which closes it. */
  readonly connection: ClosableTransport
  readonly log: Log
}

export interface DevStart {
  readonly options: StartOptions
  /** Writes the lines that are held back. */
  flush(): void
}

type DescribedReader = (description: OperatorDescription) => void

// By global symbols, as the process may have several copies of kubeloop.
const DEV = Symbol.for('kubeloop.dev')
const READER = Symbol.for('kubeloop.described')
const shared = globalThis as { [DEV]?: DevHook; [READER]?: DescribedReader }

export function setDevHook(hook: DevHook): void {
  shared[DEV] = hook
}

/** Returns the hook under `kubeloop dev`. */
export function devHook(): DevHook | undefined {
  return shared[DEV]
}

/** Calls `read` for every operator that is described from now on. */
export function readDescribed(read: DescribedReader): void {
  shared[READER] = read
}

export function describedReader(): DescribedReader | undefined {
  return shared[READER]
}
