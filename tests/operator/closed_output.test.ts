/** An operator whose output is closed while it runs. The operator is a process of the runtime that runs this test. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { type Client, Cluster } from 'kubeloop'
import { ApiServer, serve } from 'kubeloop/apiserver'
import { ConfigMap } from 'kubeloop/kinds'
import { COMPILED } from '../tools/compiled.ts'
import { argumentsOf, writeKubeconfig } from './processes.ts'

interface Running {
  readonly client: Client
  /** Creates a config map; resolves when the operator has reconciled it. */
  work(name: string): Promise<void>
  /** Closes our end of standard output after its first log line. */
  closeOutput(): Promise<void>
  closeErrors(): void
  /** Resolves with the next line on standard error. */
  error(): Promise<string>
  stop(): Promise<number | null>
}

async function running(use: (operator: Running) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'kubeloop-closed-'))
  const server = new ApiServer()
  const served = await serve(server)
  const client = new Cluster({ name: 'test', transport: server.handle }).client
  const KUBECONFIG = join(folder, 'config')
  writeKubeconfig(KUBECONFIG, served)
  const env = { ...COMPILED, PATH: process.env['PATH'] ?? '', KUBECONFIG, KUBELOOP_LOG: 'debug' }
  const child = spawn(process.execPath, argumentsOf('marks.ts'), { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'exit').then(([code]) => code as number | null)
  const errors = createInterface({ input: child.stderr })[Symbol.asyncIterator]()
  const changes = await client.watch(ConfigMap, { namespace: 'default' })
  const seen = changes[Symbol.asyncIterator]()
  try {
    await use({
      client,
      async work(map) {
        await client.create(ConfigMap, { metadata: { namespace: 'default', name: map } })
        for (;;) {
          const next = await Promise.race([
            seen.next(),
            ended.then((code) => assert.fail(`the operator ended with ${code}`)),
          ])
          if (next.done) assert.fail('the watch ended')
          if (next.value.object?.metadata.name === `seen-${map}`) return
        }
      },
      async closeOutput() {
        await once(child.stdout, 'data')
        child.stdout.destroy()
      },
      closeErrors: () => void child.stderr.destroy(),
      error: async () => String((await errors.next()).value),
      async stop() {
        process.kill(child.pid!, 'SIGTERM')
        return await ended
      },
    })
  } finally {
    child.kill('SIGKILL')
    await ended
    await served.close()
    server.closeWatches()
    rmSync(folder, { recursive: true })
  }
}

test('an operator with a closed standard output continues, and logs to standard error', async () => {
  await running(async ({ work, closeOutput, error, stop }) => {
    await work('first')
    await closeOutput()
    await work('second')
    assert.equal(await error(), 'Cannot write to standard output (EPIPE): the log continues on standard error')
    const lines = [await error()]
    while (!lines.at(-1)!.includes('saw second')) lines.push(await error())
    await work('third')
    while (!lines.at(-1)!.includes('saw third')) lines.push(await error())
    for (const line of lines) assert.ok(line.startsWith('{'), line)
    assert.equal(await stop(), 0)
  })
})

test('an operator with a closed standard error, too, continues without a log', async () => {
  await running(async ({ work, closeOutput, closeErrors, stop }) => {
    await closeOutput()
    closeErrors()
    for (const name of ['first', 'second', 'third', 'fourth']) await work(name)
    assert.equal(await stop(), 0)
  })
})
