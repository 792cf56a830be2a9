/** What the objects that run an operator depend on, besides its description. */
import type { OperatorDescription } from '../../operator/description.ts'

export interface DeployOptions {
  /** The container's image. Default: the operator's name. */
  readonly image?: string | undefined
  /** Where the operator runs. Default: `NAME-system`. */
  readonly namespace?: string | undefined
  /** Whether to print the namespace too. Default: false. */
  readonly createNamespace?: boolean
  /** Default: 1. More need leader election. */
  readonly replicas?: number | undefined
  /** Whether to print a ServiceMonitor of the Prometheus Operator. Default: false. */
  readonly serviceMonitor?: boolean
  /** Whether to make all objects that another number of replicas or a ServiceMonitor would need. Default: false. */
  readonly chart?: boolean
  /** The folder of a record of the operator's requests. Default: the rights follow from its description. */
  readonly record?: string | undefined
}

/** Returns the namespace in which an operator runs. */
export function namespaceOf({ options: { name } }: OperatorDescription, { namespace }: DeployOptions): string {
  return namespace ?? `${name}-system`
}
