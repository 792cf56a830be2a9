/**
 * The real control plane for tests: etcd and kube-apiserver, and kube-controller-manager when its loops are
 * wanted, each a child process on loopback with certificates of its own. What controller-runtime calls envtest.
 */
import type { ClusterConfig } from '../core/cluster_config.ts'
import { type Log, silentLog } from '../observe/log.ts'
import { createAuthority } from '../runtime/net/certificates.ts'
import { env } from '../runtime/os/env.ts'
import { findExecutables } from '../runtime/os/workspace.ts'
import { createControlPlane } from './control_plane.ts'
import type { ControlPlanePaths, ExtraArgs, ProgramName } from './control_plane_programs.ts'

/** Options of {@link startEnvtest}. */
export interface EnvtestOptions {
  /** The folder with etcd, kube-apiserver, kubectl and kube-controller-manager. Default: `KUBEBUILDER_ASSETS`. */
  readonly assets?: string
  /** Further flags by program; a later flag wins over ours. */
  readonly extraArgs?: ExtraArgs
  /**
   * Run kube-controller-manager (garbage collector, namespaces, deployments, …), or only the controllers named.
   * Default: no.
   */
  readonly controllerManager?: boolean | readonly string[]
  /**
   * The folder for etcd's data, kept when the control plane stops. Default: a temporary one. Credentials are new each
   * time.
   */
  readonly dataDir?: string
  /** How long each program may take to become ready. Default: 60 s. */
  readonly startTimeoutMs?: number
  readonly log?: Log
}

/**
 * A control plane that runs. RBAC is on; the ServiceAccount admission plugin is off, for nobody may be there to make
 * the accounts.
 */
export interface Envtest {
  /** A cluster administrator (`system:masters`) by client certificate. */
  readonly config: ClusterConfig
  /** The same rights by bearer token. */
  readonly tokenConfig: ClusterConfig
  /** The path of kubectl. */
  readonly kubectl: string
  /** A kubeconfig for a cluster, the administrator's by default, as JSON, which is YAML as well. It holds keys. */
  kubeconfig(config?: ClusterConfig): string
  /** Another user, by client certificate. New users have the rights of their groups and those that RBAC gives them. */
  addUser(name: string, groups?: readonly string[]): Promise<ClusterConfig>
  /** Ends the API server as a crash does (SIGKILL): open connections are reset. Settles when it is gone. */
  killApiServer(): Promise<void>
  /** Starts the API server again, or anew: same port, same data, same credentials. Settles when it is ready. */
  restartApiServer(): Promise<void>
  /** The last lines that a program printed, for a test's error message. */
  output(program: ProgramName, lines?: number): string
  /** Ends all and removes what is temporary. Safe to call twice. */
  stop(): Promise<void>
}

/**
 * Starts a control plane; rejects with the end of the programs' output when it does not become ready.
 *
 * @example
 * ```ts
 * import { operator } from 'kubeloop'
 * import { startEnvtest } from 'kubeloop/testing'
 * const app = operator({ name: 'greeter' })
 * const envtest = await startEnvtest()
 * const stop = new AbortController()
 * try {
 *   const running = app.start(stop.signal, { cluster: envtest.config, crds: 'install' })
 *   stop.abort()
 *   await running
 * } finally {
 *   await envtest.stop()
 * }
 * ```
 */
export async function startEnvtest(options: EnvtestOptions = {}): Promise<Envtest> {
  const { controllerManager = false } = options
  const paths = findPrograms(options.assets ?? env('KUBEBUILDER_ASSETS'), controllerManager !== false)
  const authority = await createAuthority({ commonName: 'envtest-ca' })
  const plane = await createControlPlane({
    authority,
    paths,
    controllers: controllerManager === true ? ['*'] : controllerManager || [],
    dataDir: options.dataDir,
    extraArgs: options.extraArgs ?? {},
    startTimeoutMs: options.startTimeoutMs ?? 60_000,
    log: options.log ?? silentLog,
  })
  const { server } = plane
  const addUser = async (name: string, groups: readonly string[] = []): Promise<ClusterConfig> => {
    const { cert, key } = await authority.issue({ commonName: name, organizations: groups, usage: 'client' })
    return { server, ca: authority.ca, cert, key }
  }
  const config: ClusterConfig = { server, ca: authority.ca, cert: plane.admin.cert, key: plane.admin.key }
  return {
    config,
    tokenConfig: { server, ca: authority.ca, token: plane.token },
    kubectl: paths.kubectl,
    kubeconfig: (of = config) => kubeconfigText(of),
    addUser,
    killApiServer: plane.killApiServer,
    restartApiServer: plane.restartApiServer,
    output: (program, lines = 50) => plane.output(program, lines),
    stop: plane.stop,
  }
}

function findPrograms(
  assets: string | undefined,
  withControllerManager: boolean,
): ControlPlanePaths & { readonly kubectl: string } {
  const doing = 'Cannot start the control plane'
  if (!assets) {
    const what =
      'name the folder with etcd, kube-apiserver and kubectl in it (setup-envtest fetches them, or build them with Go)'
    throw new Error(`${doing}: KUBEBUILDER_ASSETS is not set; ${what}`)
  }
  const wanted = ['etcd', 'kube-apiserver', 'kubectl', ...(withControllerManager ? ['kube-controller-manager'] : [])]
  const { paths, missing } = findExecutables(assets, wanted)
  if (missing.length > 0) {
    throw new Error(
      `${doing}: "${assets}" has no ${
        missing.join(', ')
      }; put the executables there or set KUBEBUILDER_ASSETS to another folder`,
    )
  }
  return {
    etcd: paths['etcd'] ?? '',
    apiServer: paths['kube-apiserver'] ?? '',
    kubectl: paths['kubectl'] ?? '',
    controllerManager: paths['kube-controller-manager'] ?? '',
  }
}

/** A kubeconfig as JSON. Credentials that are functions cannot be written down; what has none is anonymous. */
export function kubeconfigText(config: ClusterConfig): string {
  const encoded = (text: unknown): string | undefined => typeof text === 'string' ? btoa(text) : undefined
  return JSON.stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'envtest',
      clusters: [{
        name: 'envtest',
        cluster: { server: config.server, 'certificate-authority-data': encoded(config.ca) },
      }],
      users: [{
        name: 'envtest',
        user: {
          'client-certificate-data': encoded(config.cert),
          'client-key-data': encoded(config.key),
          token: typeof config.token === 'string' ? config.token : undefined,
        },
      }],
      contexts: [{ name: 'envtest', context: { cluster: 'envtest', user: 'envtest' } }],
    },
    null,
    2,
  )
}
