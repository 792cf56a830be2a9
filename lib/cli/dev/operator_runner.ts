/** Runs the operator's process, and restarts it when one of its files is saved. */
import { abortScope } from '../../async/abort.ts'
import { type Clock, isInTime, pause } from '../../async/clock.ts'
import { absolutePath } from '../../runtime/os/user_files.ts'
import { killProcess } from '../../runtime/os/this_runtime.ts'
import { type ChildProcess, spawnInherited } from '../../runtime/os/child_process.ts'
import { shortPath } from '../../runtime/os/source_place.ts'
import type { DevOptions } from './options.ts'
import { DEV, type DevSettings, OUTPUT_CLOSED, REPORTED } from './session.ts'
import type { DevEvent } from '../api/events.ts'
import { type FoundRuntime, launchArguments } from '../runtimes.ts'
import { repeat, type Saved, type SavedFiles, savedFilesOf } from './saved_files.ts'

export interface OperatorRunnerOptions extends Pick<DevSettings, 'pretty' | 'webhookPort' | 'monitoringPort'> {
  readonly runtime: FoundRuntime
  readonly options: Pick<DevOptions, 'file' | 'asServiceAccount' | 'elect' | 'passed'>
  readonly denoConfig: string | undefined
  readonly preload: string
  readonly kubeconfig: string
  /** `host:port` of the embedded API. */
  readonly authority: string
  readonly clock: Clock
  readonly report: (event: DevEvent) => void
  /** Called with the processes that must end with this one. */
  readonly onPids: (pids: readonly number[]) => void
  /** Called when the operator has found standard output closed. */
  readonly onOutputClosed: () => void
}

/** How long the operator may take to stop. Its own limit is shorter. */
const STOP_MS = 3000

export class OperatorRunner {
  readonly #options: OperatorRunnerOptions
  readonly #file: string
  readonly #saved: SavedFiles
  #child: ChildProcess | undefined
  #operatorPid: number | undefined
  #changed: Saved | undefined

  constructor(options: OperatorRunnerOptions) {
    this.#options = options
    this.#file = absolutePath(options.options.file)
    this.#saved = savedFilesOf(this.#file, options.clock, () => !!this.#child && this.#operatorPid === undefined)
  }

  /** The saved file that caused the last restart; undefined before the first one. */
  get changed(): { readonly file: string; readonly atMs: number } | undefined {
    if (!this.#changed) return undefined
    const { files: [first = ''], atMs } = this.#changed
    return { file: first === this.#file ? this.#options.options.file : shortPath(first), atMs }
  }

  /** Called when an operator has started, with its process. */
  operatorIs(pid: number): void {
    this.#operatorPid = pid
    this.#guard()
  }

  /** Runs the operator until the signal is aborted, then stops it. */
  run(signal: AbortSignal): Promise<void> {
    return repeat(async () => {
      await this.#saved.begin()
      const scope = abortScope(signal)
      const saved = this.#saved.next(scope.signal)
      try {
        await this.#runOnce(saved, signal)
        this.#changed = await saved
      } finally {
        scope.abort()
        scope[Symbol.dispose]()
      }
    }, signal)
  }

  /** Runs one process until it ends. Stops it when a file is saved. */
  async #runOnce(saved: Promise<Saved>, signal: AbortSignal): Promise<void> {
    const { runtime, options: { file }, report, onOutputClosed } = this.#options
    const child = await this.#start()
    const end = await Promise.race([child.ended, saved.then(() => undefined, () => undefined)])
    if (!end) return await this.#stop(child)
    this.#child = undefined
    if (end.code === OUTPUT_CLOSED) return onOutputClosed()
    // Ctrl-C may reach the operator before this process.
    await pause(this.#options.clock, 100, signal)
    if (signal.aborted) return
    // A file that does not run has reported that, and an operator that has run only its error.
    if (end.code === REPORTED && this.#operatorPid === undefined) return
    const how = end.signal ? `by ${end.signal}` : `with code ${end.code}`
    const what = end.code === REPORTED ? 'The operator has ended' : `${runtime.name} ended ${how}`
    report({ kind: 'problem', message: `${what}; ${file} restarts when it or a file that it imports is saved` })
  }

  kill(): void {
    if (!this.#child) return
    // By its id: on Deno, a second kill() of a child does nothing.
    for (const pid of new Set([this.#child.pid, this.#operatorPid])) if (pid !== undefined) killProcess(pid)
  }

  async #start(): Promise<ChildProcess> {
    const { runtime, options, pretty, kubeconfig, authority, webhookPort, monitoringPort } = this.#options
    const { file, asServiceAccount: as, elect, passed } = options
    const settings: DevSettings = { pretty, file, as, elects: elect, webhookPort, monitoringPort }
    const env = { KUBECONFIG: kubeconfig, [DEV]: JSON.stringify(settings) }
    const args = launchArguments(runtime, {
      ...this.#options,
      ...{ file: this.#file, passed },
      server: authority,
      webhooks: `127.0.0.1:${webhookPort}`,
      monitoring: `127.0.0.1:${monitoringPort}`,
      variables: Object.keys(env),
    })
    const child = await spawnInherited({ command: runtime.program, args, env })
    this.#child = child
    this.#operatorPid = undefined
    this.#guard()
    return child
  }

  async #stop(child: ChildProcess): Promise<void> {
    // From a terminal, the operator has this signal already, and counts it once.
    child.kill('SIGINT')
    if (!await isInTime(this.#options.clock, STOP_MS, child.ended)) this.kill()
    await child.ended
    this.#child = undefined
  }

  #guard(): void {
    this.#options.onPids([this.#child?.pid, this.#operatorPid].filter((pid) => pid !== undefined))
  }
}
