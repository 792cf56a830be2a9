/** How a cluster is looked for, and what is found. */
import type { ClusterConfig } from '../core/cluster_config.ts'
import type { Log } from '../observe/log.ts'
import type { Environment } from './environment.ts'

/** Options of `loadConfig`. */
export interface LoadOptions {
  /** A kubeconfig file. Default: search for one. */
  readonly kubeconfig?: string | undefined
  /** The context to use. Default: the current one. A pod without a kubeconfig has no contexts. */
  readonly context?: string | undefined
  /** Default: the machine that this process runs on. */
  readonly environment?: Environment | undefined
  /** Default: no log. */
  readonly log?: Log | undefined
}

/** A cluster and its source. */
export interface LoadedCluster {
  readonly cluster: ClusterConfig
  readonly source: ConfigSource
}

/** Where a configuration was found. */
export type ConfigSource =
  | { readonly kind: 'kubeconfig'; readonly files: readonly string[]; readonly context: string }
  | { readonly kind: 'in-cluster' }

/** Describes the source of a cluster, for a log line. */
export function describeConfig({ source, cluster }: LoadedCluster): string {
  if (source.kind === 'kubeconfig') return `kubeconfig ${source.files.join(', ')}, context "${source.context}"`
  return `in-cluster service account${cluster.namespace === undefined ? '' : `, namespace "${cluster.namespace}"`}`
}
