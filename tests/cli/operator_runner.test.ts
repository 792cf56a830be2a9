/** Tests how the process of an operator under `kubeloop dev` is stopped. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { FakeClock } from 'kubeloop/testing'
import { nextTurn } from '../../lib/async/clock.ts'
import { OperatorRunner } from '../../lib/cli/dev/operator_runner.ts'
import { withFolder } from '../tools/folder.ts'

/** Runs a program that connects to `port` when it is ready, until it is to stop; then calls `stopping`. */
async function stopped(
  folder: string,
  program: string,
  stopping: (clock: FakeClock, runner: OperatorRunner) => Promise<void>,
): Promise<void> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const ready = new Promise((resolve) => server.once('connection', resolve))
  const [file, preload] = [join(folder, 'operator.mjs'), join(folder, 'preload.mjs')]
  const { port } = server.address() as AddressInfo
  writeFileSync(
    file,
    `import { connect } from 'node:net'\n${program}\nconnect(${port}, '127.0.0.1').on('error', () => {})`,
  )
  writeFileSync(preload, '')
  const clock = new FakeClock()
  const pids: number[] = []
  const runner = new OperatorRunner({
    options: { file, asServiceAccount: undefined, elect: false, passed: [] },
    ...{ preload, pretty: false, denoConfig: undefined },
    ...{ kubeconfig: '', authority: '127.0.0.1:1', webhookPort: 1, monitoringPort: 2, clock },
    runtime: { name: 'node', program: 'node', version: '22.0.0' },
    report: (event) => assert.fail(JSON.stringify(event)),
    onPids: (all) => pids.push(all.length),
    onOutputClosed: () => assert.fail(),
  })
  const stop = new AbortController()
  try {
    const running = runner.run(stop.signal)
    await Promise.race([ready, running])
    stop.abort()
    await stopping(clock, runner)
    await running
    assert.equal(clock.pending, 0)
    // What is started again has another process, whose operator has not started.
    const again = new AbortController()
    const connected = new Promise((resolve) => server.once('connection', resolve))
    const second = runner.run(again.signal)
    await Promise.race([connected, second])
    assert.equal(pids.at(-1), 1)
    runner.kill()
    again.abort()
    await second
  } finally {
    runner.kill()
    server.close()
  }
}

// Without an advance, the time never passes, so any wait would last forever.
test(
  'a stop lasts as long as the process needs, and not until it would be killed',
  { timeout: 30_000 },
  () => withFolder((folder) => stopped(folder, '', async () => {})),
)

test(
  'a process that does not stop is killed after 3 s',
  { timeout: 30_000 },
  () =>
    withFolder((folder) =>
      stopped(folder, `process.on('SIGINT', () => {})`, async (clock, runner) => {
        // The operator may run in a child of the started process.
        const operator = spawn('sleep', ['60'])
        const killed = once(operator, 'exit')
        runner.operatorIs(operator.pid!)
        await nextTurn()
        await clock.advance(2999)
        assert.equal(clock.pending, 1)
        await clock.advance(1)
        assert.deepEqual(await killed, [null, 'SIGKILL'])
      })
    ),
)
