/**
 * Measures what many watches of a real API server take over HTTP/1.1 and HTTP/2: `node tests/bench/watches.ts
 * [watches] [rounds]`. Needs `KUBEBUILDER_ASSETS`. Children that watch, one for each way in turn, print how long it took
 * to open all watches, the resident memory and the processor time, and the latency of 100 events that all of them get.
 */
import { execFile } from 'node:child_process'
import process from 'node:process'
import { promisify } from 'node:util'
import { httpTransport } from 'kubeloop'
import { startEnvtest } from 'kubeloop/testing'

const [count = '1000', rounds = '2', way, config = ''] = process.argv.slice(2)
const PATH = '/api/v1/namespaces/default/configmaps'
const EVENTS = 100

const mib = (bytes: number): string => (bytes / 2 ** 20).toFixed(1)
const at = (sorted: readonly number[], share: number): string => sorted[Math.floor(sorted.length * share)]!.toFixed(1)

/** Opens the watches, and measures events. */
async function subject(http2: boolean, watches: number): Promise<void> {
  const transport = httpTransport({ ...JSON.parse(config), http2 })
  const send = async (method: 'GET' | 'POST' | 'PUT', path: string, body?: object): Promise<string> => {
    const headers = { 'content-type': 'application/json' }
    return await (await transport({ method, path, headers, body: body && JSON.stringify(body) })).body.text()
  }
  const list = JSON.parse(await send('GET', `${PATH}?limit=1`)) as { metadata: { resourceVersion: string } }
  await send('GET', `${PATH}?watch=1&timeoutSeconds=1&resourceVersion=${list.metadata.resourceVersion}`)
  const idle = process.memoryUsage()
  const began = performance.now()
  const beganCpu = process.cpuUsage()
  let sentMs = 0
  const latencies: number[] = []
  let received = 0
  let onAll = (): void => {}
  const follow = async (body: AsyncIterable<Uint8Array>): Promise<void> => {
    for await (const _ of body) {
      latencies.push(performance.now() - sentMs)
      if (++received % watches === 0) onAll()
    }
  }
  const opening: Promise<void>[] = []
  for (let each = 0; each < watches; each++) {
    opening.push(
      transport({ method: 'GET', path: `${PATH}?watch=1&resourceVersion=${list.metadata.resourceVersion}` })
        .then(({ status, body }) => {
          if (status !== 200) throw new Error(`a watch got ${status}`)
          follow(body).catch(() => {})
        }),
    )
  }
  await Promise.all(opening)
  const openMs = performance.now() - began
  const openCpu = process.cpuUsage(beganCpu)
  ;(globalThis as { gc?: () => void }).gc?.()
  const open = process.memoryUsage()
  const eventCpu = process.cpuUsage()
  const name = `events-${process.pid}`
  for (let event = 0; event < EVENTS; event++) {
    const all = new Promise<void>((resolve) => (onAll = resolve))
    sentMs = performance.now()
    await send(event === 0 ? 'POST' : 'PUT', event === 0 ? PATH : `${PATH}/${name}`, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name },
      data: { event: String(event) },
    })
    await all
  }
  const { user, system } = process.cpuUsage(eventCpu)
  latencies.sort((a, b) => a - b)
  const ways = http2 ? 'HTTP/2  ' : 'HTTP/1.1'
  console.log(
    `${ways}  open ${openMs.toFixed(0)} ms, ${((openCpu.user + openCpu.system) / 1000).toFixed(0)} ms of CPU; ` +
      `resident +${mib(open.rss - idle.rss)} MiB; events p50 ${at(latencies, 0.5)}, p99 ${at(latencies, 0.99)} ms, ` +
      `${((user + system) / 1000 / EVENTS).toFixed(1)} ms of CPU each`,
  )
  transport.close()
}

async function main(): Promise<void> {
  const envtest = await startEnvtest()
  try {
    for (let round = 0; round < Number(rounds); round++) {
      for (const http2 of [false, true]) {
        const child = [...process.execArgv, import.meta.filename, count, rounds, String(http2)]
        const { stdout } = await promisify(execFile)(process.execPath, [
          ...(process.versions['deno'] ? ['run', '-A', '--v8-flags=--expose-gc'] : ['--expose-gc']),
          ...child,
          JSON.stringify(envtest.config),
        ])
        process.stdout.write(stdout)
      }
    }
  } finally {
    await envtest.stop()
  }
}

await (way === undefined ? main() : subject(way === 'true', Number(count)))
