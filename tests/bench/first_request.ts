/** Measures the time from a program's start to its first request, and its memory by then. */
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rssMib } from './processes.ts'
import { serveTls } from './tls_server.ts'

export type FirstRequests = Awaited<ReturnType<typeof openFirstRequests>>

/**
 * `serviceAccount`: the folder that the programs use as their service account; it is created. Memory is read from /proc
 * (Linux).
 */
export async function openFirstRequests(serviceAccount: string) {
  let came = (): void => {}
  const { port, ca, close } = await serveTls(() => came())
  mkdirSync(serviceAccount, { recursive: true })
  const files = { token: 'bench', 'ca.crt': ca, namespace: 'default' }
  for (const [file, text] of Object.entries(files)) writeFileSync(join(serviceAccount, file), text)
  const { PATH, HOME } = process.env
  const env = { PATH, HOME, KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: String(port) }
  return {
    measure: ([program = '', ...args]: readonly string[]) =>
      new Promise<{ readonly ms: number; readonly mib: number }>((resolve, reject) => {
        let printed = ''
        let measured: { ms: number; mib: number } | undefined
        const began = performance.now()
        const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
        came = () => {
          if (measured) return
          measured = { ms: performance.now() - began, mib: rssMib(child.pid!) }
          child.kill('SIGKILL')
        }
        for (const stream of [child.stdout, child.stderr]) {
          stream.on('data', (chunk: Buffer) => (printed += chunk.toString()))
        }
        child.on('error', reject)
        child.on('close', (code) => {
          if (measured) {
            resolve(measured)
          } else {reject(
              new Error(
                `Cannot measure ${program} ${
                  args.join(' ')
                }: it ended with ${code} before its first request\n${printed}`,
              ),
            )}
        })
      }),
    close,
  }
}
