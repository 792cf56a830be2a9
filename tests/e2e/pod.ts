/** Runs a program as a pod sees its service account: with the folder that the kubelet mounts and keeps. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

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
  let output = ''
  const waiting = new Set<() => void>()
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
      for (const each of waiting) each()
    })
  }
  let running = true
  const ended = once(child, 'exit').then(([code]) => {
    running = false
    return code as number | null
  })
  return {
    // The program's own: each of the commands before it executes the next.
    pid: child.pid!,
    output: () => output,
    until: (pattern: RegExp) =>
      new Promise<void>((resolve) => {
        const evaluate = (): void => {
          if (!pattern.test(output)) return
          waiting.delete(evaluate)
          resolve()
        }
        waiting.add(evaluate)
        evaluate()
      }),
    isRunning: () => running,
    signal: (name: 'SIGTERM' | 'SIGSTOP' | 'SIGCONT' | 'SIGKILL') => void (running && process.kill(child.pid!, name)),
    ended,
  }
}
