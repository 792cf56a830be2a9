/** Runs operators of one runtime on an embedded API server that sends them events, and measures their process. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { ApiServer, serve } from 'kubeloop/apiserver'
import { Cluster } from '../../mod.ts'
import { nextTurn } from '../../lib/async/clock.ts'
import { ConfigMap, Namespace, Secret } from '../../lib/kinds/mod.ts'
import { commandLine, type Runtime } from '../faults/lane.ts'
import type { Sample } from './trend.ts'

const OBJECTS = 200
/** How far the writes may be ahead of what the operator has seen, and how many are made at once. */
const [AHEAD, AT_ONCE] = [5000, 100]
/** The watches are ended each time, and each fourth time the history is dropped: 410. */
const WATCHES_END_EACH = 20_000
const MIN_CYCLES = 3
const PROGRAM = fileURLToPath(new URL('./files/soaking.ts', import.meta.url))

export interface Wanted {
  readonly events: number
  readonly reconciles: number
}

export async function soak(runtime: Runtime, wanted: Wanted, onSample = (_: Sample): void => {}): Promise<Sample[]> {
  const folder = mkdtempSync(join(tmpdir(), 'kubeloop-soak-'))
  const api = new ApiServer()
  const served = await serve(api)
  const { client } = new Cluster({ name: 'soak', transport: api.handle })
  for (const name of ['soak', 'passing']) await client.create(Namespace, { metadata: { name } })
  for (let i = 0; i < OBJECTS; i++) await client.create(ConfigMap, { metadata: { namespace: 'soak', name: `o-${i}` } })
  for (const kind of [ConfigMap, Secret] as const) {
    await client.create(kind as typeof ConfigMap, { metadata: { namespace: 'passing', name: 'one' } })
  }
  const path = join(folder, 'cluster')
  writeFileSync(path, JSON.stringify({ server: served.url, ca: served.ca, token: served.token }), { mode: 0o600 })
  const [command = '', ...args] = commandLine(runtime, PROGRAM, {
    runtimeArgs: { node: ['--expose-gc'], deno: ['--v8-flags=--expose-gc'] },
  })
  const child = spawn(command, [...args, path], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'exit') as Promise<[number | null, string | null]>
  const samples: Sample[] = []
  let seen = { events: 0, reconciles: 0 }
  let isOver = false
  let wake = (): void => {}
  const news = (): Promise<void> => new Promise((resolve) => (wake = resolve))
  createInterface({ input: child.stdout }).on('line', (line) => {
    const each = JSON.parse(line) as typeof seen & Partial<Sample>
    seen = each
    if (each.heap !== undefined) {
      samples.push(each as Sample)
      onSample(each as Sample)
    }
    wake()
  })
  void ended.then(() => {
    isOver = true
    wake()
  })
  try {
    let written = 0
    while (!isOver && !isEnough(samples.at(-1), wanted)) {
      // The next sample comes sooner without more events.
      if (seen.events >= wanted.events && seen.reconciles >= wanted.reconciles) {
        await news()
        continue
      }
      // Changes of one object that came while no watch was open are one event, so more are written than seen.
      if (written - seen.events > AHEAD) {
        await news()
        written = seen.events
      }
      for (let i = 0; i < AT_ONCE; i++, written++) {
        const body = JSON.stringify({ data: { n: String(written) } })
        const path = `/api/v1/namespaces/soak/configmaps/o-${written % OBJECTS}`
        const headers = { 'content-type': 'application/merge-patch+json' }
        const { status, body: answer } = await api.handle({ method: 'PATCH', path, headers, body })
        if (status !== 200) throw new Error(await answer.text())
        answer.cancel()
      }
      if (written % WATCHES_END_EACH < AT_ONCE) {
        if (written % (4 * WATCHES_END_EACH) < AT_ONCE) api.compact()
        api.closeWatches()
      }
      await nextTurn()
    }
    child.stdin.end()
    const [code, signal] = await ended
    if (code !== 0) throw new Error(`The process of ${runtime} has ended with ${code ?? signal}`)
    return samples
  } finally {
    child.kill('SIGKILL')
    await ended
    await served.close()
    rmSync(folder, { recursive: true })
  }
}

/** Whether a sample has what was asked for, and a few cycles of the operators beside. */
function isEnough(last: Sample | undefined, { events, reconciles }: Wanted): boolean {
  return last !== undefined && last.events >= events && last.reconciles >= reconciles && last.cycles >= MIN_CYCLES
}
