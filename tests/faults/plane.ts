/** A real control plane whose programs are suspended, killed and restored, behind a proxy that breaks connections. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { sleep, systemClock } from '../../lib/async/clock.ts'
import { guardProcesses } from '../../lib/runtime/os/child_process.ts'
import { probe } from '../../lib/runtime/net/loopback.ts'
import { type Envtest, startEnvtest } from '../../lib/testing/envtest/envtest.ts'
import { type BreakingProxy, breakingProxy } from '../cache/breaking_proxy.ts'
import { type Front, openFront } from './front.ts'

export type Signal = 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'

export interface Plane {
  readonly envtest: Envtest
  readonly proxy: BreakingProxy
  readonly front: Front
  /** The operators' kubeconfig, through the proxy; with another server if it is stated. */
  kubeconfig(server?: string): string
  /** The operators' secret. */
  readonly token: string
  /** Leads new connections to the API server directly, or through the front, and resets the open ones. */
  lead(to: 'server' | 'front'): void
  signal(program: 'etcd' | 'kube-apiserver', signal: Signal): void
  /** Starts etcd again with its data, after SIGKILL. */
  startEtcd(): Promise<void>
  /** Copies etcd's data. Returns a function that stops both programs, puts the copy back, and starts them. */
  copyData(): Promise<() => Promise<void>>
  close(): Promise<void>
}

export async function startPlane(): Promise<Plane> {
  const folder = mkdtempSync(join(tmpdir(), 'kubeloop-faults-'))
  const dataDir = join(folder, 'etcd')
  const envtest = await startEnvtest({ dataDir })
  const { config, tokenConfig } = envtest
  const port = Number(new URL(config.server).port)
  const front = await openFront(tokenConfig)
  const direct = { host: '127.0.0.1', port }
  const proxy = await breakingProxy(direct)
  const marks = { 'etcd': `--data-dir=${dataDir}`, 'kube-apiserver': `--secure-port=${port}` }
  const etcdCommand = commandOf(pidOf(marks.etcd))
  const guard = guardProcesses(folder)
  const plane: Plane = {
    envtest,
    proxy,
    front,
    token: String(tokenConfig.token),
    kubeconfig(server = `https://127.0.0.1:${proxy.port}`) {
      // Both CAs are trusted, so that only the row with another CA is refused.
      const ca = `${String(config.ca)}\n${front.ca}`
      return envtest.kubeconfig({ ...tokenConfig, server, ca }).replace(
        '"server":',
        '"tls-server-name": "localhost", "server":',
      )
    },
    lead(to) {
      proxy.target = to === 'front' ? { host: '127.0.0.1', port: front.port } : direct
      proxy.reset()
    },
    signal: (program, signal) => void process.kill(pidOf(marks[program]), signal),
    async startEtcd() {
      const [command = '', ...args] = etcdCommand
      const child = spawn(command, args, { stdio: 'ignore' })
      await once(child, 'spawn')
      guard.watch([child.pid!])
      const url = args.find((arg) => arg.startsWith('--listen-client-urls='))!.split('=')[1]!
      await until(`etcd is ready again`, () => probe(`${url}/readyz`, {}))
    },
    async copyData() {
      const copy = join(folder, 'copy')
      plane.signal('etcd', 'SIGSTOP')
      cpSync(dataDir, copy, { recursive: true })
      plane.signal('etcd', 'SIGCONT')
      return async () => {
        await envtest.killApiServer()
        plane.signal('etcd', 'SIGKILL')
        await until('etcd has ended', () => !isRunning(marks.etcd))
        rmSync(dataDir, { recursive: true })
        cpSync(copy, dataDir, { recursive: true })
        await plane.startEtcd()
        await envtest.restartApiServer()
      }
    },
    async close() {
      await Promise.all([proxy.close(), front.close()])
      if (isRunning(marks.etcd)) plane.signal('etcd', 'SIGKILL')
      await envtest.stop()
      await guard.release()
      rmSync(folder, { recursive: true, force: true })
    },
  }
  return plane
}

/** Resolves when the condition holds. Rejects after 30 s. Other programs notify of nothing. */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    if (await condition()) return
    await sleep(systemClock, 50)
  }
  throw new Error(`"${what}" did not come true within 30 s`)
}

function isRunning(argument: string): boolean {
  return pidsOf(argument).length > 0
}

function pidOf(argument: string): number {
  const [pid] = pidsOf(argument)
  if (pid === undefined) throw new Error(`No process has the argument ${argument}`)
  return pid
}

function pidsOf(argument: string): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(Number)
  return pids.filter((pid) => commandOf(pid).includes(argument))
}

function commandOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1)
  } catch {
    return [] // it has ended
  }
}
