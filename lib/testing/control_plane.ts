/** Starts, restarts and ends the processes of a control plane. */
import { sleep, systemClock } from '../async/clock.ts'
import type { Log } from '../observe/log.ts'
import type { IssuedCertificate } from '../runtime/net/certificates.ts'
import { type ChildProcess, guardProcesses, startProcess } from '../runtime/os/child_process.ts'
import { createWorkspace, type Workspace } from '../runtime/os/workspace.ts'
import { prepare, type Program, type ProgramOptions } from './control_plane_programs.ts'

export interface ControlPlaneOptions extends ProgramOptions {
  /** The time for each program to become ready. */
  readonly startTimeoutMs: number
  readonly log: Log
}

export interface ControlPlane {
  readonly server: string
  readonly admin: IssuedCertificate
  readonly token: string
  killApiServer(): Promise<void>
  restartApiServer(): Promise<void>
  output(program: string, lines: number): string
  stop(): Promise<void>
}

/** Starts all programs. On a failure, ends them and removes their files. */
export async function createControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
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
  const { programs, server, admin, token } = await prepare(options, workspace)
  const guard = guardProcesses(workspace.folder)
  const running = new Map<string, ChildProcess>()
  let stopping: Promise<void> | undefined
  const guardRunning = (): void => guard.watch([...running.values()].map((child) => child.pid))

  const start = async (program: Program): Promise<void> => {
    const child = await startProcess({
      command: program.command,
      args: program.args,
      output: workspace.path(`${program.name}.log`),
    })
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
  const apiServer = programs.find((program) => program.name === 'kube-apiserver')
  if (!apiServer) throw new Error('Cannot run a control plane: it has no kube-apiserver')
  return {
    server,
    admin,
    token,
    killApiServer: () => kill(apiServer.name),
    async restartApiServer() {
      if (stopping) throw new Error('Cannot restart kube-apiserver: the control plane was stopped')
      await kill(apiServer.name)
      await start(apiServer)
    },
    output: (program, lines) => workspace.tail(`${program}.log`, lines),
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
