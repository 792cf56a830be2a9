/** Finds all permissions of Deno that an operator lacks, so that its first start names them in one message. */
import { SERVICE_ACCOUNT } from '../../config/in_cluster.ts'
import type { ClusterConfig } from '../../core/cluster_config.ts'
import { ConfigError } from '../../core/errors.ts'
import { parseAddress } from '../../manager/servers/address.ts'
import { connectionRights } from '../../runtime/net/address.ts'
import { flagsOfRights, hasRight, lacking, listeningRights, optionalEnv, type Right } from '../../runtime/os/env.ts'
import { splitPaths, temporaryFolder } from '../../runtime/os/files.ts'
import { CERTIFICATE_FOLDER, WEBHOOK_PORT } from '../../webhook/server/defaults.ts'
import { hasWebhooks, type OperatorDescription } from '../description/description.ts'
import { hostToListen, statedTarget } from '../webhooks/address.ts'
import type { ClusterFlags } from './flags.ts'

/**
 * Finds the operator's own cluster by `find`. Resolves with undefined if there is none and no flag names one: the start
 * fails then, after what it needs first.
 *
 * @throws ConfigError if permissions are missing that are known to be needed: those to find the cluster, and all that
 * follow from it and from the description.
 */
export async function findPermitted(
  description: OperatorDescription,
  flags: ClusterFlags,
  find: () => Promise<ClusterConfig>,
): Promise<ClusterConfig | undefined> {
  const own = ownRights(description)
  const finding = findingRights(flags)
  if (lacking(finding).length > 0) throw refused(description, [...finding, { name: 'net', host: UNKNOWN }, ...own])
  const config = await find().catch((error: unknown) => {
    const rights = error instanceof ConfigError && 'rights' in error ? error.rights as readonly Right[] : undefined
    if (rights) throw refused(description, [...rights, ...own])
    if (Object.keys(flags).length > 0) throw error
    return undefined
  })
  if (!config) return undefined
  const all = [...connectionRights(config), ...own]
  if (lacking(all).length > 0) throw refused(description, all)
  return config
}

/** Stands for the address of a cluster before its configuration may be read. */
const UNKNOWN = 'HOST:PORT'

/** The environment variables by which a cluster is found, in a pod or, with HOME, elsewhere. */
const FINDING = ['KUBECONFIG', 'KUBERNETES_SERVICE_HOST', 'KUBERNETES_SERVICE_PORT']
const FINDING_AT_HOME = [...FINDING, 'HOME']

/** What any operator reads besides. */
const SETTINGS = ['KUBELOOP_LOG', 'HTTPS_PROXY', 'NO_PROXY']

/** The flags of Deno for any operator in a pod. */
export const DENO_FLAGS_IN_POD: readonly string[] = [
  '--allow-net',
  `--allow-read=${SERVICE_ACCOUNT}`,
  `--allow-env=${[...FINDING, ...SETTINGS].join(',')}`,
  '--allow-sys=hostname',
]

/** Returns the flags of Deno for an operator on a machine with a kubeconfig, for a shell. */
export function denoFlagsOf(description: OperatorDescription): string {
  const names = [...FINDING_AT_HOME, ...SETTINGS]
  const flags = flagsOfRights([
    { name: 'net', host: UNKNOWN },
    ...['.', '$HOME/.kube/config'].map((path): Right => ({ name: 'read', path })),
    ...names.map((variable): Right => ({ name: 'env', variable })),
    ...ownRights(description),
  ])
  // A shell may take brackets for a pattern.
  return flags.replace(/--allow-net=\S*\[\S*/, "'$&'")
}

function refused({ options }: OperatorDescription, rights: readonly Right[]): ConfigError {
  const isUnknown = (right: Right): boolean => right.name === 'net' && right.host === UNKNOWN
  const missing = rights.filter((right) => !hasRight(isUnknown(right) ? { name: 'net' } : right))
  const hint = missing.some((right) => right.name === 'sys' && right.kind === 'hostname')
    ? ', or state leaderElection.identity instead of hostname'
    : ''
  return new ConfigError(
    `Cannot run operator "${options.name}": Deno needs ${flagsOfRights(missing)}${
      missing.some(isUnknown) ? ` (${UNKNOWN} of the cluster)` : ''
    }${hint}`,
  )
}

/** Returns what `loadConfig` reads before it knows the cluster. */
function findingRights({ kubeconfig }: ClusterFlags): Right[] {
  const listed = kubeconfig === undefined ? splitPaths(optionalEnv('KUBECONFIG') ?? '') : [kubeconfig]
  if (listed.length > 0) return listed.map((path) => ({ name: 'read', path }))
  const isPod = optionalEnv('KUBERNETES_SERVICE_HOST') !== undefined
  const names = isPod ? FINDING : FINDING_AT_HOME
  const path = isPod ? SERVICE_ACCOUNT : `${optionalEnv('HOME') ?? '$HOME'}/.kube/config`
  return [...names.map((variable): Right => ({ name: 'env', variable })), { name: 'read', path }]
}

/** Returns what follows from the description: names, servers, files of certificates, and other clusters. */
function ownRights(description: OperatorDescription): Right[] {
  const { name, leaderElection, health, metrics, profiling, webhooks = {} } = description.options
  const { address, tls } = typeof metrics === 'object' ? metrics : { address: metrics, tls: undefined }
  const served = hasWebhooks(description)
  const { certs = `${temporaryFolder()}/${CERTIFICATE_FOLDER}`, clientCa, port = WEBHOOK_PORT } = webhooks
  const files = [
    ...(served && typeof certs === 'string' ? [certs] : []),
    ...(served && clientCa !== undefined ? [clientCa] : []),
    ...(typeof tls === 'object' ? [tls.certs] : []),
  ]
  const addresses = [health, address, profiling].flatMap((each) => each === undefined ? [] : [parseAddress(each)])
  if (served) addresses.push({ host: hostToListen(webhooks, statedTarget(webhooks, name, '', 'stated')), port })
  return [
    ...files.map((path): Right => ({ name: 'read', path })),
    ...description.clusters.flatMap(({ config, optional }) =>
      optional || typeof config === 'function' ? [] : connectionRights(config)
    ),
    ...addresses.flatMap((each) => listeningRights(each.host, each.port)),
    ...(typeof leaderElection === 'object' && leaderElection.identity
      ? []
      : [{ name: 'sys', kind: 'hostname' } as const]),
  ]
}
