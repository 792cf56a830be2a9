/** The processes of a control plane: how they are started, waited for, restarted and ended. */
import { sleep, systemClock } from '../async/clock.ts'
import type { Log } from '../observe/log.ts'
import type { IssuedCertificate } from '../runtime/net/certificates.ts'
import { type ChildProcess, guardProcesses, startProcess } from '../runtime/os/child_process.ts'
import { createWorkspace, type Workspace } from '../runtime/os/workspace.ts'
import { prepare, type Program, type ProgramOptions } from './control_plane_programs.ts'

export interface ControlPlaneOptions extends ProgramOptions {
  /** How long each program may take to become ready. */
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

/** Starts all, or nothing: on failure what was started is ended and what was written is removed. */
export async function createControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  // Between finding a port free and listening on it somebody else may take it: that alone is worth another try.
  for (let left = 3;; left--) {
    const workspace = createWorkspace('kubeloop-envtest-')
    try {
      return await startAll(options, workspace)
    } catch (error) {
      workspace.remove()
      if (left === 0 || !(error instanceof Error) || !error.message.includes('address already in use')) throw error
      options.log.warn('A port was taken while the control plane started; trying others')
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
      throw new Error(`Cannot start ${program.name}: the control plane was stopped meanwhile`)
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
    // SIGKILL for all: the data is thrown away, and what etcd acknowledged is in the files that it keeps.
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

/** Asks until the program says yes, ends, or takes too long. The waiting is real: so is the program. */
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
