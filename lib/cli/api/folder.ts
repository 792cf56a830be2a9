/** Claims `.kubeloop`, the folder of a command's files, for one process at a time; keeps the API's state in a file. */
import type { Clock } from '../../async/clock.ts'
import { messageOf } from '../../core/errors.ts'
import { guardProcesses, type ProcessGuard } from '../../runtime/os/child_process.ts'
import { exists, folderOf, readTextIfExists } from '../../runtime/os/files.ts'
import { ownPid, processExists } from '../../runtime/os/this_runtime.ts'
import { absolutePath, claimFolder, remove, renameFile, writePrivate } from '../../runtime/os/user_files.ts'

export const FOLDER = '.kubeloop'

/** Return the paths in such a folder: of the kubeconfig, the API's state, the record of the operator's rights. */
export const kubeconfigIn = (folder: string): string => `${folder}/kubeconfig`
export const stateIn = (folder: string): string => `${folder}/state.json`
export const rightsIn = (folder: string): string => `${folder}/rights`

export interface DevFolder {
  /** Ends these processes when this one ends, also if it is killed. */
  guard(pids: readonly number[]): void
  release(): Promise<void>
}

/** @throws Error if another process uses the folder. */
export async function claimDevFolder(folder: string): Promise<DevFolder> {
  const lock = lockOf(stateIn(folder))
  await claim(lock, 'runs in this folder', 'use another folder')
  if ((await readTextIfExists(`${folder}/.gitignore`)) === undefined) await writePrivate(`${folder}/.gitignore`, '*\n')
  let guard: ProcessGuard | undefined
  return {
    guard(pids) {
      // The guard also removes the lock if this process is killed.
      guard ??= guardProcesses(absolutePath(lock))
      guard.watch(pids)
    },
    async release() {
      await guard?.release()
      await remove(lock)
    },
  }
}

/**
 * Claims a state file for this process: each save of one process would replace what another process has saved.
 * Resolves with a function that gives the file back.
 *
 * @throws Error if another process uses the file.
 */
export async function claimState(file: string): Promise<() => Promise<void>> {
  const lock = lockOf(file)
  await claim(lock, `keeps its state in ${file}`, 'name another file')
  return () => remove(lock)
}

/** Returns the lock of a state file. kubeloop dev has other files beside its own, so it locks the folder. */
function lockOf(file: string): string {
  const folder = folderOf(file)
  return file === stateIn(folder) ? `${folder}/running` : `${file}.running`
}

/** Creates the lock, which is a folder because only one process succeeds in creating one. */
async function claim(lock: string, does: string, remedy: string): Promise<void> {
  const isClaimed = (): Promise<boolean> => claimFolder(lock, 'pid', `${ownPid()}\n`)
  const refusal = (which: string): Error =>
    new Error(`Cannot start: kubeloop already ${does} (${which}); stop it, or ${remedy}`)
  if (await isClaimed()) return
  const pid = Number(await readTextIfExists(`${lock}/pid`))
  if (pid && pid !== ownPid() && processExists(pid)) throw refusal(`process ${pid}`)
  // That of a process that has ended, or of this one.
  await remove(lock)
  if (!(await isClaimed())) throw refusal('it has just started')
}

/** @throws Error if a file exists that kubeloop has not written, and would replace. */
export async function checkReplaceable(what: string, file: string, isOwn: (text: string) => boolean): Promise<void> {
  const text = await readTextIfExists(file)
  if (text === undefined || text.trim() === '' || isOwn(text)) return
  throw new Error(`Cannot write the ${what} to ${file}: it exists, and kubeloop did not write it; name another file`)
}

/** Returns the saved state, if there is one. Renames and reports a file that is not JSON, or that `check` refuses. */
export async function readState<T>(
  file: string,
  check: (value: unknown) => T,
  report: (problem: string) => void,
): Promise<T | undefined> {
  const text = await readTextIfExists(file)
  if (text === undefined) return undefined
  try {
    return check(JSON.parse(text))
  } catch (error) {
    let aside = `${file}.bad`
    for (let count = 2; await exists(aside); count++) aside = `${file}.bad${count}`
    await renameFile(file, aside)
    report(
      `Cannot use the state of the last run: ${messageOf(error)}; it is kept in ${aside}; this run starts without it`,
    )
    return undefined
  }
}

/** The delay from a change to its save. Changes in between are saved with it. */
const SAVE_AFTER_MS = 300
/** Of many objects, a save takes long: at most this part of the time is spent on it. */
const SAVING_PART = 0.05

interface StateOptions {
  readonly clock: Clock
  readonly save: () => unknown
  readonly onError: (error: unknown) => void
  /** Default: writes the file, all of it or none. */
  readonly write?: (file: string, text: string) => Promise<void>
}

/** Saves the API's state in a file, to restore it at the next start. */
export class StateFile {
  readonly #file: string
  readonly #options: StateOptions
  #cancel: (() => void) | undefined
  #dirty = false
  #tookMs = 0
  #writing: Promise<void> | undefined

  constructor(file: string, options: StateOptions) {
    this.#file = file
    this.#options = options
  }

  changed(): void {
    this.#dirty = true
    // On a slow disk, states would pile up in memory.
    if (this.#writing) return
    this.#cancel ??= this.#options.clock.after(Math.max(SAVE_AFTER_MS, this.#tookMs / SAVING_PART), () => {
      this.#cancel = undefined
      this.#write()
    })
  }

  /** Saves pending changes now, also those whose last save has failed. @throws Error if that fails again. */
  async close(): Promise<void> {
    await this.#writing
    this.#cancel?.()
    this.#cancel = undefined
    this.#write()
    await this.#writing
    if (this.#dirty) throw new Error(`The last changes are lost: ${this.#file} could not be written`)
  }

  #write(): void {
    if (!this.#dirty) return
    this.#dirty = false
    const { clock, save, onError, write = writePrivate } = this.#options
    const beganMs = clock.monotonic()
    const text = JSON.stringify(save())
    this.#tookMs = clock.monotonic() - beganMs
    this.#writing = write(this.#file, text).then(() => false, (error: unknown) => {
      onError(error)
      return true
    }).then((hasFailed) => {
      this.#writing = undefined
      if (this.#dirty) this.changed()
      this.#dirty ||= hasFailed
    })
  }
}
