/** Runs a program as a pod sees its service account: with the folder that the kubelet mounts and keeps. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { followed } from '../tools/followed.ts'

/** The files of a service account, or of another mounted folder. */
export type AccountFiles = Readonly<Record<string, string>>

/** A mounted folder, whose files are replaced all at once. */
export type AccountFolder = ReturnType<typeof accountFolder>

/** Creates a folder as the kubelet does: each file is a link into `..data`, which is a link to the folder of a round. */
export function accountFolder(files: AccountFiles) {
  const path = mkdtempSync(join(tmpdir(), 'kubeloop-account-'))
  let round = 0
  const replace = (next: AccountFiles): void => {
    const folder = `..round_${++round}`
    mkdirSync(join(path, folder))
    for (const [name, text] of Object.entries(next)) writeFileSync(join(path, folder, name), text)
    symlinkSync(folder, join(path, '..data_tmp'))
    renameSync(join(path, '..data_tmp'), join(path, '..data'))
    if (round > 1) rmSync(join(path, `..round_${round - 1}`), { recursive: true })
  }
  replace(files)
  for (const name of Object.keys(files)) symlinkSync(`..data/${name}`, join(path, name))
  return { path, replace, remove: () => rmSync(path, { recursive: true }) }
}

/** Mounts the folder $0 where service accounts are, in a mount namespace of this process alone, and runs the rest. */
const MOUNT = `set -e
run=$(readlink -f /var/run)
mount -t tmpfs tmpfs "$run"
mkdir -p "$run/secrets/kubernetes.io/serviceaccount"
mount --bind "$0" "$run/secrets/kubernetes.io/serviceaccount"
exec "$@"`

const UNSHARE = ['unshare', '--mount', 'sh', '-c', MOUNT]

/** Why no program can run with mounts of its own here; false if one can. */
export const noMounts: string | false = spawnSync(UNSHARE[0]!, [...UNSHARE.slice(1), tmpdir(), 'true']).status === 0
  ? false
  : 'this user cannot mount a service account in a namespace of its own (unshare --mount)'

/** Starts a program with the variables and the folder of a pod, and no others. */
export function startPod(
  command: readonly string[],
  { folder, host, port }: { readonly folder: AccountFolder; readonly host: string; readonly port: string },
) {
  const child: ChildProcess = spawn(UNSHARE[0]!, [...UNSHARE.slice(1), folder.path, ...command], {
    cwd: '/',
    env: { PATH: '/usr/bin:/bin', HOME: '/nonexistent', KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const { output, ended, isOver, kill, until } = followed(child)
  return {
    // The program's own: each of the commands before it executes the next.
    pid: child.pid!,
    output,
    until: (pattern: RegExp) => until(String(pattern), () => pattern.test(output()) || undefined),
    isRunning: () => !isOver(),
    signal: kill,
    ended,
  }
}
