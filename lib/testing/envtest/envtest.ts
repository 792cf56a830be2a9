/** Runs a real control plane for tests, as controller-runtime's envtest does. */
import { type Client, Cluster } from 'kubeloop'
import { sleep, systemClock } from '../../async/clock.ts'
import { kubeconfigOf } from '../../config/kubeconfig_text.ts'
import { messageOf } from '../../core/errors.ts'
import type { ClusterConfig } from '../../core/cluster_config.ts'
import { refuseUnknown, type ShapeOf } from '../../core/option_names.ts'
import { type Log, silentLog } from '../../observe/log.ts'
import { createAuthority } from '../../runtime/net/certificates.ts'
import { httpTransport } from '../../runtime/net/transport.ts'
import { type ChildProcess, guardProcesses, startProcess } from '../../runtime/os/child_process.ts'
import { env } from '../../runtime/os/env.ts'
import { createWorkspace, findExecutables, type Workspace } from '../../runtime/os/workspace.ts'
import {
  type ExtraArgs,
  prepare,
  type Prepared,
  type Program,
  type ProgramName,
  type ProgramOptions,
} from './control_plane_programs.ts'

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
  /** Logs the address when the control plane is ready, and with `debug` each program. Default: none. */
  readonly log?: Log
}

const SHAPE: ShapeOf<EnvtestOptions> = {
  assets: 0,
  extraArgs: 0,
  controllerManager: [true, false, []],
  dataDir: 0,
  startTimeoutMs: 0,
  log: 0,
}

/**
 * A running control plane: etcd, kube-apiserver and optionally kube-controller-manager, as child processes on loopback.
 *
 * RBAC is on. The ServiceAccount admission plugin is off, because without controllers nothing creates the accounts.
 */
export interface Envtest {
  /** A client of a cluster administrator. Its connections end with {@link Envtest.stop}. */
  readonly client: Client
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
 * Starts a control plane. Resolves when it is ready: the API server answers `/readyz` and has the namespace `default`,
 * and the controllers run.
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
  refuseUnknown('Cannot start a control plane: ', options, SHAPE)
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
  const { server, admin, token, ...running } = plane
  const addUser = async (name: string, groups: readonly string[] = []): Promise<ClusterConfig> => {
    const { cert, key } = await authority.issue({ commonName: name, organizations: groups, usage: 'client' })
    return { server, ca: authority.ca, cert, key }
  }
  const config: ClusterConfig = { server, ca: authority.ca, cert: admin.cert, key: admin.key }
  const connection = httpTransport(config, { userAgent: 'kubeloop envtest' })
  options.log?.info(`The control plane is ready: ${server}`)
  return {
    client: new Cluster({ name: 'envtest', transport: connection }).client,
    config,
    tokenConfig: { server, ca: authority.ca, token },
    kubectl: paths.kubectl,
    kubeconfig: (of = config) => kubeconfigText(of),
    addUser,
    ...running,
    stop() {
      connection.close()
      return running.stop()
    },
  }
}

/** The paths of executables. That of kube-controller-manager is known only if it runs. */
type Paths = ProgramOptions['paths'] & { readonly kubectl: string }

function findPrograms(assets: string | undefined, withControllerManager: boolean): Paths {
  const doing = 'Cannot start the control plane'
  if (!assets) {
    const what =
      'set it to a folder with etcd, kube-apiserver and kubectl (setup-envtest downloads them, or build them with Go)'
    throw new Error(`${doing}: KUBEBUILDER_ASSETS is not set; ${what}`)
  }
  const wanted = ['etcd', 'kube-apiserver', 'kubectl', ...(withControllerManager ? ['kube-controller-manager'] : [])]
  const { paths, missing } = executables(doing, assets, wanted)
  if (missing.length === 0) return paths as Paths
  const remedy = 'put the executables there or set KUBEBUILDER_ASSETS to another folder'
  throw new Error(`${doing}: "${assets}" has no ${missing.join(', ')}; ${remedy}`)
}

function executables(doing: string, assets: string, names: readonly string[]): ReturnType<typeof findExecutables> {
  try {
    return findExecutables(assets, names)
  } catch (error) {
    throw new Error(`${doing}: ${messageOf(error)}`, { cause: error })
  }
}

/** Leaves out credentials that are functions; without credentials, the user is anonymous. */
export function kubeconfigText(config: ClusterConfig): string {
  const encoded = (text: unknown): string | undefined => typeof text === 'string' ? btoa(text) : undefined
  const user = {
    'client-certificate-data': encoded(config.cert),
    'client-key-data': encoded(config.key),
    token: typeof config.token === 'string' ? config.token : undefined,
  }
  const cluster = { server: config.server, 'certificate-authority-data': encoded(config.ca) }
  return kubeconfigOf({ name: 'envtest', user }, [{ name: 'envtest', cluster }])
}

interface ControlPlaneOptions extends ProgramOptions {
  /** The time for each program to become ready. */
  readonly startTimeoutMs: number
  readonly log: Log
}

type ControlPlane =
  & Pick<Prepared, 'server' | 'admin' | 'token'>
  & Pick<Envtest, 'killApiServer' | 'restartApiServer' | 'output' | 'stop'>

/** Starts all programs. On a failure, ends them and removes their files. */
async function createControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  // Another process may take a port after it was found free: only this failure is retried.
  for (let left = 3;; left--) {
    const workspace = createWorkspace('kubeloop-envtest-')
    try {
      return await startAll(options, workspace)
    } catch (error) {
      workspace.remove()
      if (left === 0 || !(error instanceof Error) || !error.message.includes('address already in use')) throw error
      options.log.warn('A port was in use when the control plane started; retrying with others')
    }
  }
}

async function startAll(options: ControlPlaneOptions, workspace: Workspace): Promise<ControlPlane> {
  const { startTimeoutMs, log } = options
  const { programs, ...credentials } = await prepare(options, workspace)
  const guard = guardProcesses(workspace.folder)
  const running = new Map<string, ChildProcess>()
  let stopping: Promise<void> | undefined
  const guardRunning = (): void => guard.watch([...running.values()].map((child) => child.pid))

  const start = async (program: Program): Promise<void> => {
    const child = await startProcess({ ...program, output: workspace.path(`${program.name}.log`) })
    if (stopping) {
      child.kill('SIGKILL')
      throw new Error(`Cannot start ${program.name}: the control plane was stopped`)
    }
    running.set(program.name, child)
    guardRunning()
    await untilReady(program, child, workspace, startTimeoutMs)
    log.debug(`${program.name} is ready`, { pid: child.pid })
  }
  const kill = async (name: string): Promise<void> => {
    const child = running.get(name)
    child?.kill('SIGKILL')
    await child?.ended
    running.delete(name)
    guardRunning()
  }
  const stop = (): Promise<void> => (stopping ??= (async () => {
    // SIGKILL is safe: data is temporary, and kept data has all that etcd acknowledged.
    for (const program of [...programs].reverse()) await kill(program.name)
    await guard.release()
    workspace.remove()
  })())

  try {
    for (const program of programs) await start(program)
  } catch (error) {
    await stop()
    throw error
  }
  const apiServer = programs.find((program) => program.name === 'kube-apiserver')!
  return {
    ...credentials,
    killApiServer: () => kill(apiServer.name),
    async restartApiServer() {
      if (stopping) throw new Error('Cannot restart kube-apiserver: the control plane was stopped')
      await kill(apiServer.name)
      await start(apiServer)
    },
    output: (program, lines = 50) => workspace.tail(`${program}.log`, lines),
    stop,
  }
}

/** Polls until the program is ready. Throws if it ends or takes too long. Uses real time, as the program does. */
async function untilReady(
  program: Program,
  child: ChildProcess,
  workspace: Workspace,
  timeoutMs: number,
): Promise<void> {
  let ended: string | undefined
  void child.ended.then(({ code, signal }) => (ended = `it ended with ${signal ?? `code ${code}`}`))
  const deadline = systemClock.monotonic() + timeoutMs
  while (!await program.ready()) {
    const wrong = ended ??
      (systemClock.monotonic() > deadline ? `it was not ready after ${timeoutMs / 1000} s` : undefined)
    if (wrong) {
      throw new Error(
        `Cannot start ${program.name}: ${wrong}; its last output:\n${workspace.tail(`${program.name}.log`, 20)}`,
      )
    }
    await sleep(systemClock, PROBE_INTERVAL_MS)
  }
}

const PROBE_INTERVAL_MS = 50
