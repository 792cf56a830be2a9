/** `.kubeloop`: what `kubeloop dev` leaves in a folder. One process at a time has it. */
import { guardProcesses, type ProcessGuard } from '../runtime/child_process.ts'
import { readTextIfExists, writePrivate } from '../runtime/files.ts'
import { ownPid, processExists } from '../runtime/this_runtime.ts'
import { absolutePath, claimFolder, remove } from '../runtime/user_files.ts'

export const FOLDER = '.kubeloop'
export const KUBECONFIG: string = `${FOLDER}/kubeconfig`
export const STATE: string = `${FOLDER}/state.json`

/** Exists while a process has the folder. A folder, for making one succeeds once. */
const LOCK = `${FOLDER}/running`

export interface DevFolder {
  /** These processes end with this one, however it ends. */
  guard(pids: readonly number[]): void
  release(): Promise<void>
}

/** @throws Error when another process has it. */
export async function claimDevFolder(): Promise<DevFolder> {
  if (!(await claimFolder(LOCK))) await takeOver()
  await writePrivate(`${LOCK}/pid`, `${ownPid()}\n`)
  if ((await readTextIfExists(`${FOLDER}/.gitignore`)) === undefined) await writePrivate(`${FOLDER}/.gitignore`, '*\n')
  let guard: ProcessGuard | undefined
  return {
    guard(pids) {
      // It also gives the folder free when this process is killed.
      guard ??= guardProcesses(absolutePath(LOCK))
      guard.watch(pids)
    },
    async release() {
      await guard?.release()
      await remove(LOCK)
    },
  }
}

/** Takes the folder from a process that is no more. */
async function takeOver(): Promise<void> {
  const pid = Number(await readTextIfExists(`${LOCK}/pid`))
  if (pid && pid !== ownPid() && processExists(pid)) {
    throw new Error(`Cannot start: kubeloop dev runs in this folder already (process ${pid}); stop that one, or work in another folder`)
  }
  await remove(LOCK)
  if (await claimFolder(LOCK)) return
  throw new Error('Cannot start: another kubeloop dev has just started in this folder; stop that one, or work in another folder')
}
