/**
 * Measures API servers under the same load: the embedded one on each runtime, each in its own process, and the real
 * one. Each server runs from its first round to the end, so that it is warm.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { startEnvtest } from '../../lib/testing/envtest/envtest.ts'

export interface ApiProcess {
  readonly clusterFile: string
  readonly pids: readonly number[]
}

export function openApiServers() {
  const folder = mkdtempSync(join(tmpdir(), 'kubeloop-bench-'))
  const children: ChildProcess[] = []
  const closers: (() => Promise<void>)[] = []
  let files = 0
  const write = (cluster: string): string => {
    const path = join(folder, `${files++}.json`)
    writeFileSync(path, cluster, { mode: 0o600 })
    return path
  }
  return {
    /** Starts a server of the embedded API. Returns a file with `{ server, token, ca }` and its processes. */
    async embedded([file = '', ...args]: readonly string[]) {
      const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'] })
      children.push(child)
      const cluster = await new Promise<string>((resolve, reject) => {
        let printed = ''
        child.stdout.on('data', (chunk: Buffer) => {
          printed += chunk.toString()
          if (printed.endsWith('\n')) resolve(printed)
        })
        child.on('error', reject)
        child.on('close', (code) => reject(new Error(`Cannot start ${file} ${args.join(' ')}: it ended with ${code}`)))
      })
      return { clusterFile: write(cluster), pids: [child.pid!] }
    },
    /** Starts the real one. Undefined if KUBEBUILDER_ASSETS is not set. */
    async real() {
      if (!process.env['KUBEBUILDER_ASSETS']) return undefined
      const envtest = await startEnvtest()
      closers.push(() => envtest.stop())
      const { server, token, ca } = envtest.tokenConfig
      return {
        clusterFile: write(JSON.stringify({ server, token, ca })),
        pids: childrenNamed('etcd', 'kube-apiserver'),
      }
    },
    async close() {
      for (const child of children) child.kill()
      for (const close of closers) await close()
      rmSync(folder, { recursive: true })
    },
  }
}

function childrenNamed(...names: readonly string[]): number[] {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(Number).filter((pid) => {
    try {
      const [, name = '', rest = ''] = /^\d+ \((.*)\) (.*)$/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8').trim()) ??
        []
      return names.includes(name) && Number(rest.split(' ')[1]) === process.pid
    } catch {
      return false
    }
  })
}
