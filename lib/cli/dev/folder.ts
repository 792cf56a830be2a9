/** `.kubeloop`: what `kubeloop dev` leaves in a folder. One process at a time has it. */
import { guardProcesses, type ProcessGuard } from '../../runtime/os/child_process.ts'
import { readTextIfExists, writePrivate } from '../../runtime/os/files.ts'
import { ownPid, processExists } from '../../runtime/os/this_runtime.ts'
import { absolutePath, claimFolder, remove } from '../../runtime/os/user_files.ts'

export const FOLDER = '.kubeloop'

/** What is kept in such a folder. */
export const kubeconfigIn = (folder: string): string => `${folder}/kubeconfig`
export const stateIn = (folder: string): string => `${folder}/state.json`

export interface DevFolder {
  /** These processes end with this one, however it ends. */
  guard(pids: readonly number[]): void
  release(): Promise<void>
}

/** @throws Error when another process has it. */
export async function claimDevFolder(folder: string): Promise<DevFolder> {
  // Exists while a process has the folder. A folder, for making one succeeds once.
  const lock = `${folder}/running`
  if (!(await claimFolder(lock))) await takeOver(lock)
  await writePrivate(`${lock}/pid`, `${ownPid()}\n`)
  if ((await readTextIfExists(`${folder}/.gitignore`)) === undefined) await writePrivate(`${folder}/.gitignore`, '*\n')
  let guard: ProcessGuard | undefined
  return {
    guard(pids) {
      // It also gives the folder free when this process is killed.
      guard ??= guardProcesses(absolutePath(lock))
      guard.watch(pids)
    },
    async release() {
      await guard?.release()
      await remove(lock)
    },
  }
}

/** Takes the folder from a process that is no more. */
async function takeOver(lock: string): Promise<void> {
  const pid = Number(await readTextIfExists(`${lock}/pid`))
  if (pid && pid !== ownPid() && processExists(pid)) {
    throw new Error(
      `Cannot start: kubeloop dev runs in this folder already (process ${pid}); stop that one, or work in another folder`,
    )
  }
  await remove(lock)
  if (await claimFolder(lock)) return
  throw new Error(
    'Cannot start: another kubeloop dev has just started in this folder; stop that one, or work in another folder',
  )
}
