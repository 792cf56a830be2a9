/**
 * Measures what a cache of many objects takes, with and without `compact`: `node tests/bench/compact.ts [objects]
 * [rounds]`. A child serves lists on loopback; two others, in turn, cache them and print the time and the processor time
 * of the sync, the heap and the resident memory after it, and the longest turn of the event loop.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import process from 'node:process'
import { Cluster, defineResource } from 'kubeloop'
import * as z from 'zod'
import { compactObjects } from '../../lib/cache/compact/compact_objects.ts'
import { nameOf, servedFoo } from './objects.ts'

const [role, count = '100000', url = ''] = process.argv.slice(2)
const FOO = defineResource({ group: 'bench.example.com', version: 'v1', kind: 'Foo', spec: z.looseObject({}) })

async function serve(objects: number): Promise<void> {
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url!, 'http://localhost')
    if (searchParams.has('watch')) {
      // As a server without streams.
      if (searchParams.get('sendInitialEvents') === 'true') response.statusCode = 422
      const status = {
        kind: 'Status',
        apiVersion: 'v1',
        code: 422,
        reason: 'Invalid',
        status: 'Failure',
        message: 'no',
      }
      return response.statusCode === 422 ? void response.end(JSON.stringify(status)) : response.flushHeaders()
    }
    const from = Number(searchParams.get('continue') ?? 0)
    const to = Math.min(from + Number(searchParams.get('limit') ?? objects), objects)
    const items: string[] = []
    for (let at = from; at < to; at++) items.push(JSON.stringify(servedFoo(at, String(1_000_000 + at), 1)))
    const more = to < objects ? `,"continue":"${to}"` : ''
    response.setHeader('content-type', 'application/json')
    response.end(
      `{"kind":"FooList","apiVersion":"bench.example.com/v1","metadata":{"resourceVersion":"9000000"${more}},"items":[${items.join()}]}`,
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  process.send!((server.address() as { port: number }).port)
}

async function subject(compact: boolean, objects: number, server: string): Promise<void> {
  const mib = (bytes: number): number => Math.round(bytes / 2 ** 20)
  const { cache } = new Cluster({ name: 'bench', config: { server } })
  const idle = process.memoryUsage()
  cache.declare(FOO, { ...(compact && { objects: compactObjects(undefined) }) })
  const stop = new AbortController()
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const [beganMs, beganCpu] = [performance.now(), process.cpuUsage()]
  const running = cache.start(stop.signal)
  await cache.ready(stop.signal)
  const { user, system } = process.cpuUsage(beganCpu)
  const [ms, peak] = [performance.now() - beganMs, process.resourceUsage().maxRSS]
  delay.disable()
  for (let round = 0; round < 4; round++) {
    ;(globalThis as { gc?: (options: object) => void }).gc?.({ type: 'major', flavor: 'last-resort' })
  }
  await new Promise((resolve) => setTimeout(resolve, 3000))
  const after = process.memoryUsage()
  const read = performance.now()
  for (let at = 0; at < 2000; at++) await cache.get(FOO, { namespace: 'default', name: nameOf((at * 7919) % objects) })
  const readUs = (performance.now() - read) / 2
  process.send!({
    ...{ 'sync ms': Math.round(ms), 'sync cpu ms': Math.round((user + system) / 1000) },
    ...{ 'heap MiB': mib(after.heapUsed - idle.heapUsed), 'outside MiB': mib(after.external - idle.external) },
    ...{ 'heap total': mib(after.heapTotal), idle: mib(idle.rss), 'idle heap total': mib(idle.heapTotal) },
    ...{ 'resident MiB': mib(after.rss - idle.rss), 'peak MiB': mib(peak * 1024) },
    ...{ 'longest turn ms': Math.round(delay.max / 1e6), 'read µs': Math.round(readUs) },
  })
  stop.abort()
  await running
}

async function child(args: readonly string[], flags: readonly string[] = []) {
  const started = spawn(process.execPath, [...flags, import.meta.filename, ...args], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const [message] = await once(started, 'message') as [unknown]
  return { started, message }
}

if (role === 'server') await serve(Number(count))
else if (role === 'compact' || role === 'whole') await subject(role === 'compact', Number(count), url)
else {
  const [objects, rounds] = [role ?? '100000', Number(process.argv[3] ?? 2)]
  const { started, message } = await child(['server', objects])
  for (let round = 0; round < rounds; round++) {
    for (const kind of process.argv[4]?.split(',') ?? ['whole', 'compact']) {
      const flags = ['--expose-gc', '--max-old-space-size=12000']
      const found = await child([kind, objects, `http://127.0.0.1:${String(message)}`], flags)
      console.log(kind, found.message)
      await once(found.started, 'exit')
    }
  }
  started.kill()
}
