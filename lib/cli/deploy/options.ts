/** What the objects that run an operator depend on, besides its description. */
import { hasWebhooks, type OperatorDescription } from '../../operator/description/description.ts'

export interface DeployOptions {
  /** The container's image. Default: the operator's name. */
  readonly image?: string | undefined
  /** Where the operator runs. Default: `NAME-system`. */
  readonly namespace?: string | undefined
  /** Whether to print the namespace too. Default: false. */
  readonly createNamespace?: boolean
  /** More than one need leader election or shards. Default: {@link replicasOf}. */
  readonly replicas?: number | undefined
  /** Whether to print a ServiceMonitor of the Prometheus Operator. Default: false. */
  readonly serviceMonitor?: boolean
  /** The addresses from which the API server calls webhooks, as CIDR. Default: all. */
  readonly webhooksFrom?: readonly string[] | undefined
  /** The ports of servers that `app.extend` adds, for the NetworkPolicy. Default: none. */
  readonly ports?: readonly string[] | undefined
  /** Whether to print what cert-manager needs to keep the certificate of the webhooks. Default: false. */
  readonly certManager?: boolean
  /** The folders of a record of the operator's requests. Default: the rights follow from its description. */
  readonly record?: readonly string[]
}

/** Returns the number of replicas: without one that answers, requests fail that a webhook must see. */
export function replicasOf(description: OperatorDescription, { replicas }: DeployOptions): number {
  const { leaderElection, sharding } = description.options
  return replicas ?? (sharding ? 3 : hasWebhooks(description) && leaderElection ? 2 : 1)
}
