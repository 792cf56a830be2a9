/** Runs a real control plane for tests, as controller-runtime's envtest does. */
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
  /** Additional flags by program. They override the default ones. */
  readonly extraArgs?: ExtraArgs
  /**
   * Runs kube-controller-manager (garbage collector, namespaces, deployments, …), or only the named controllers.
   * Default: false.
   */
  readonly controllerManager?: boolean | readonly string[]
  /**
   * The folder for etcd's data, which is kept when the control plane stops. Default: a temporary one. Credentials are
   * always new.
   */
  readonly dataDir?: string
  /** The time for each program to become ready, in milliseconds. Default: 60,000. */
  readonly startTimeoutMs?: number
  readonly log?: Log
}

/**
 * A running control plane: etcd, kube-apiserver and optionally kube-controller-manager, as child processes on loopback.
 *
 * RBAC is on. The ServiceAccount admission plugin is off, because without controllers nothing creates the accounts.
 */
export interface Envtest {
  /** A cluster administrator (`system:masters`), with a client certificate. */
  readonly config: ClusterConfig
  /** The same administrator, with a bearer token. */
  readonly tokenConfig: ClusterConfig
  /** The path of kubectl. */
  readonly kubectl: string
  /** Returns a kubeconfig as JSON, which is also YAML. It contains keys. Default: the administrator's. */
  kubeconfig(config?: ClusterConfig): string
  /** Creates a user with a client certificate. The user has the rights that RBAC gives the name and the groups. */
  addUser(name: string, groups?: readonly string[]): Promise<ClusterConfig>
  /** Kills the API server (SIGKILL), which resets open connections. Resolves when it has ended. */
  killApiServer(): Promise<void>
  /** Restarts the API server with the same port, data and credentials. Resolves when it is ready. */
  restartApiServer(): Promise<void>
  /** Returns the last lines of a program's output, for a test's error message. Default: 50 lines. */
  output(program: ProgramName, lines?: number): string
  /** Ends all programs and removes temporary files. Can be called twice. */
  stop(): Promise<void>
}

/**
 * Starts a control plane. Resolves when it is ready.
 *
 * @throws Error if a program is missing, ends or is not ready in time; then the message has its last output.
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
      'set it to a folder with etcd, kube-apiserver and kubectl (setup-envtest downloads them, or build them with Go)'
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

/**
 * Returns a kubeconfig as JSON. Credentials that are functions are left out; without credentials, the user is
 * anonymous.
 */
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
