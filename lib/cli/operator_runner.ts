/** The operator's process: started with its runtime's watcher, started again when that has ended, stopped with us. */
import { abortScope } from '../async/abort.ts'
import { sleep, type Clock } from '../async/clock.ts'
import type { ProcessEnd } from '../runtime/child_process.ts'
import { killProcess } from '../runtime/this_runtime.ts'
import { spawnOperator, type OperatorProcess } from '../runtime/spawn_operator.ts'
import { folderOf } from '../runtime/files.ts'
import { folderChange, writtenBelow } from '../runtime/user_files.ts'
import type { DevEvent } from './events.ts'
import type { FoundRuntime } from './find_runtime.ts'
import { MissedChanges } from './missed_changes.ts'
import { isWatcherLine, launchArguments } from './runtimes.ts'

export interface OperatorRunnerOptions {
  readonly runtime: FoundRuntime
  readonly file: string
  /** The file as it is called in what is printed. */
  readonly title: string
  readonly pretty: boolean
  readonly elect: boolean
  readonly passed: readonly string[]
  readonly denoConfig: string | undefined
  readonly preload: string
  /** The path of the kubeconfig, from the root. */
  readonly kubeconfig: string
  /** `host:port` of the embedded API. */
  readonly authority: string
  readonly clock: Clock
  readonly say: (event: DevEvent) => void
  /** Hears of the processes that must not outlive this one. */
  readonly onPids: (pids: readonly number[]) => void
}

/** How long the operator and its watcher may take to stop. The operator gives itself less. */
const STOP_MS = 3000

export class OperatorRunner {
  readonly #options: OperatorRunnerOptions
  readonly #missed: MissedChanges
  #child: OperatorProcess | undefined
  #operatorPid: number | undefined

  constructor(options: OperatorRunnerOptions) {
    this.#options = options
    this.#missed = new MissedChanges({ clock: options.clock, look: () => writtenBelow(folderOf(options.file) || '.', mayBeRead) })
  }

  /** The operator's process is about to read its files: not before this has settled. */
  loading(): Promise<void> {
    return this.#missed.loading()
  }

  /** An operator has started, in this process, which is another one than its watcher on Node. */
  operatorIs(pid: number): void {
    this.#missed.watched()
    this.#operatorPid = pid
    this.#guard()
  }

  /** Runs the operator until the signal is aborted, then stops it. */
  async run(signal: AbortSignal): Promise<void> {
    const { runtime, title, file, say } = this.#options
    while (!signal.aborted) {
      const child = await this.#start()
      const end = await this.#end(child, signal)
      if (!end) {
        // Told to stop, or its watcher did not start it again: a late one ends with it, so that it does not start twice.
        await this.#stop(child)
        continue
      }
      // Ctrl-C may reach it before us.
      if (await this.#stopsSoon(signal)) return
      const how = end.signal ? `by ${end.signal}` : `with code ${end.code}`
      say({ kind: 'problem', message: `${runtime.name} ended ${how}; ${title} is started again when a file beside it changes` })
      await folderChange(folderOf(file) || '.', isIgnored, signal).catch((error: unknown) => {
        if (!signal.aborted) throw error
      })
    }
  }

  /** Ends what is left at once. */
  kill(): void {
    this.#child?.kill('SIGKILL')
    if (this.#operatorPid !== undefined && this.#child) killProcess(this.#operatorPid)
  }

  async #start(): Promise<OperatorProcess> {
    const { runtime, file, title, pretty, elect, passed, denoConfig, preload, kubeconfig, authority } = this.#options
    const child = await spawnOperator({
      command: runtime.program,
      args: launchArguments(runtime, { file, preload, server: authority, passed, denoConfig }),
      env: { KUBECONFIG: kubeconfig, KUBELOOP_DEV: pretty ? 'pretty' : 'json', KUBELOOP_ELECT: elect ? '1' : '', KUBELOOP_FILE: title },
      ...(pretty ? {} : { drop: isWatcherLine }),
    })
    this.#child = child
    this.#operatorPid = undefined
    this.#guard()
    return child
  }

  /** How it ended by itself; undefined when it must be ended. */
  async #end(child: OperatorProcess, signal: AbortSignal): Promise<ProcessEnd | undefined> {
    const waiting = abortScope(signal)
    try {
      return (await Promise.race([child.ended, this.#missed.next(waiting.signal)])) ?? undefined
    } catch (error) {
      if (signal.aborted) return undefined
      throw error
    } finally {
      waiting.abort()
      waiting[Symbol.dispose]()
    }
  }

  async #stop(child: OperatorProcess): Promise<void> {
    // From a terminal it has this signal already, and knows to count it once.
    child.kill('SIGINT')
    const waiting = abortScope()
    const late = sleep(this.#options.clock, STOP_MS, waiting.signal).then(() => this.kill(), () => {})
    await child.ended
    waiting.abort()
    await late
  }

  async #stopsSoon(signal: AbortSignal): Promise<boolean> {
    await sleep(this.#options.clock, 100, signal).catch(() => {}) // aborted: that is the answer
    return signal.aborted
  }

  #guard(): void {
    this.#options.onPids([this.#child?.pid, this.#operatorPid].filter((pid) => pid !== undefined))
  }
}

/** Files that may be modules of the operator, and folders with such. */
function mayBeRead(name: string, isFolder: boolean): boolean {
  return !isIgnored(name) && (isFolder || /\.([cm]?[jt]sx?|json|wasm)$/.test(name))
}

/** Changes that are no edit of a file. */
function isIgnored(name: string): boolean {
  return /(^|[\\/])(\.|node_modules([\\/]|$))|~$/.test(name)
}
