/** Tests how the process of an operator under `kubeloop dev` is stopped. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { FakeClock } from 'kubeloop/testing'
import { Latch } from '../../lib/async/latch.ts'
import { OperatorRunner } from '../../lib/cli/dev/operator_runner.ts'

test('a stop lasts as long as the process needs, and not until it would be killed', { timeout: 30_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kubeloop-runner-'))
  const [file, preload] = [join(folder, 'operator.mjs'), join(folder, 'preload.mjs')]
  writeFileSync(file, 'import { createServer } from "node:net"; createServer().listen(0, "127.0.0.1")')
  writeFileSync(preload, '')
  // Its time never passes, so any wait would last forever.
  const clock = new FakeClock()
  const started = new Latch<number>()
  const runner = new OperatorRunner({
    ...{ file, preload, title: 'operator.mjs', pretty: false, elect: false, passed: [], denoConfig: undefined },
    ...{ kubeconfig: '', authority: '127.0.0.1:1', webhookPort: 1, clock },
    runtime: { name: 'node', program: 'node', version: '22.0.0' },
    report: (event) => assert.fail(JSON.stringify(event)),
    onPids: ([pid]) => void (pid !== undefined && started.open(pid)),
    onOutputClosed: () => assert.fail(),
  })
  const stop = new AbortController()
  try {
    const running = runner.run(stop.signal)
    await Promise.race([started.opened, running])
    stop.abort()
    await running
    assert.equal(clock.pending, 0)
  } finally {
    runner.kill()
    rmSync(folder, { recursive: true })
  }
})
