/** Claims `.kubeloop`, the folder of `kubeloop dev`'s files, for one process at a time. */
import { guardProcesses, type ProcessGuard } from '../../runtime/os/child_process.ts'
import { readTextIfExists, writePrivate } from '../../runtime/os/files.ts'
import { ownPid, processExists } from '../../runtime/os/this_runtime.ts'
import { absolutePath, claimFolder, remove } from '../../runtime/os/user_files.ts'

export const FOLDER = '.kubeloop'

/** Returns the path of the kubeconfig in such a folder. */
export const kubeconfigIn = (folder: string): string => `${folder}/kubeconfig`
/** Returns the path of the API's state in such a folder. */
export const stateIn = (folder: string): string => `${folder}/state.json`

export interface DevFolder {
  /** Ends these processes when this one ends, also if it is killed. */
  guard(pids: readonly number[]): void
  release(): Promise<void>
}

/** @throws Error if another process uses the folder. */
export async function claimDevFolder(folder: string): Promise<DevFolder> {
  // Exists while a process uses the folder. It is a folder because only one process succeeds in creating one.
  const lock = `${folder}/running`
  if (!(await claimFolder(lock))) await takeOver(lock)
  await writePrivate(`${lock}/pid`, `${ownPid()}\n`)
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

/** Takes over the lock of a process that has ended. */
async function takeOver(lock: string): Promise<void> {
  const pid = Number(await readTextIfExists(`${lock}/pid`))
  if (pid && pid !== ownPid() && processExists(pid)) {
    throw new Error(
      `Cannot start: kubeloop dev already runs in this folder (process ${pid}); stop it, or use another folder`,
    )
  }
  await remove(lock)
  if (await claimFolder(lock)) return
  throw new Error(
    'Cannot start: another kubeloop dev has just started in this folder; stop it, or use another folder',
  )
}
