/** Servers of a manager, over real sockets. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import fc from 'fast-check'
import { nextTurn, systemClock } from '../../lib/async/clock.ts'
import { Latch } from '../../lib/async/latch.ts'
import { healthServer } from '../../lib/manager/servers/health.ts'
import { Manager } from '../../lib/manager/manager.ts'
import { metricsServer } from '../../lib/manager/servers/metrics_server.ts'
import { Server, type ServerOptions } from '../../lib/manager/servers/server.ts'
import { type Log, silentLog } from '../../lib/observe/log.ts'
import { profilingServer } from '../../lib/operator/endpoints.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { tries } from '../tools/fuzz.ts'
import { mutatedBytes, ODD_TEXTS } from '../tools/hostile.ts'
import { part, PLACES, recordingLog, watchOutcome } from './parts.ts'

const registry = { contentType: 'text/plain', metrics: () => Promise.resolve('a_total 1\n') }

function managing(log: Log = silentLog): { manager: Manager; stop: AbortController } {
  return { manager: new Manager({ clock: systemClock, log }), stop: new AbortController() }
}

const hello = (over: Partial<ServerOptions> = {}): Server =>
  new Server({ name: 'hello', fetch: () => new Response('hello'), ...over })

const text = async (port: number | undefined, path = '/'): Promise<string> =>
  await (await fetch(`http://127.0.0.1:${port}${path}`)).text()

/** Starts a server without a manager. */
async function listening(server: Server): Promise<{ stop: AbortController; end(): Promise<void> }> {
  const stop = new AbortController()
  const running = server.start(stop.signal)
  await server.ready(stop.signal)
  return {
    stop,
    async end() {
      stop.abort()
      await running
    },
  }
}

test('servers listen on loopback from the start of a manager to its end', async () => {
  const lines: string[] = []
  const { manager, stop } = managing()
  const server = hello({ log: recordingLog(lines) })
  const health = healthServer(Server)
  const metrics = metricsServer(Server, { registry })
  const profiling = profilingServer(Server)
  for (const each of [server, health, metrics, profiling]) manager.add(each)
  assert.equal(server.port, undefined)
  const running = manager.start(stop.signal)
  await manager.elected
  assert.deepEqual(lines, [`info Serving hello on 127.0.0.1:${server.port}`])
  assert.equal(await text(server.port), 'hello')
  assert.equal(await text(health.port, '/healthz'), 'ok')
  assert.equal(await text(health.port, '/readyz/ping'), 'ok')
  assert.equal(await text(metrics.port, '/metrics'), 'a_total 1\n')
  assert.match(await text(profiling.port, '/debug/pprof/'), /^profile\?seconds=30/)
  stop.abort()
  await running
  for (const { port } of [server, health, metrics, profiling]) await assert.rejects(text(port))
})

test('a port in use fails the start of the manager before anything else starts', async () => {
  const first = hello()
  const { end } = await listening(first)
  for (
    const make of [
      (address: number) => hello({ address }),
      (address: number) => healthServer(Server, { address }),
      (address: number) => metricsServer(Server, { address, registry }),
    ]
  ) {
    const told: string[] = []
    const { manager, stop: never } = managing()
    const second = make(first.port!)
    manager.add(second)
    for (const place of ['webhooks', 'caches', 'others', 'leader'] as const) {
      manager.add(Object.assign(part(place, told), PLACES[place]))
    }
    await assert.rejects(
      manager.start(never.signal),
      new RegExp(
        `^ConfigError: Cannot start the server "${second.name}": Cannot listen on 127.0.0.1:${first.port}: the address is in use`,
      ),
    )
    assert.deepEqual(told, [])
  }
  await end()
})

test('probes are answered during the stop of the rest', async () => {
  const { manager, stop } = managing()
  const health = healthServer(Server)
  const slow = Object.assign(part('slow', [], { lingers: true }), PLACES.leader)
  manager.add(health)
  manager.add(slow)
  const running = manager.start(stop.signal)
  await manager.elected
  stop.abort()
  assert.equal(await text(health.port, '/healthz'), 'ok')
  slow.end()
  await running
})

test('a throwing handler is answered with 500 without the reason, and logged at a limited rate', async () => {
  const lines: string[] = []
  const server = hello({ log: recordingLog(lines), fetch: () => Promise.reject(new Error('the password is 1234')) })
  const { end } = await listening(server)
  const response = await fetch(`http://127.0.0.1:${server.port}/`)
  assert.deepEqual([response.status, await response.text()], [500, ''])
  assert.deepEqual(lines.slice(1), ['error The server "hello" could not answer a request: the password is 1234'])
  for (let count = 1; count < 10; count++) await (await fetch(`http://127.0.0.1:${server.port}/`)).text()
  assert.equal(lines.length, 6)
  await end()
})

test('a request that does not end is aborted after the shutdown timeout', async () => {
  let begun = (_: AbortSignal): void => {}
  const asked = new Promise<AbortSignal>((resolve) => (begun = resolve))
  const server = hello({ shutdownTimeoutMs: 50, fetch: ({ signal }) => (begun(signal), new Promise(() => {})) })
  const { end } = await listening(server)
  const open = text(server.port).catch((error: unknown) => error)
  const signal = await asked
  await end()
  assert.equal(signal.aborted, true)
  assert.ok((await open) instanceof Error)
})

test("by default a request has 10 s after the stop, by the server's clock", async () => {
  const asked = new Latch<AbortSignal>()
  const timed = new Latch<number>()
  const clock = new class extends FakeClock {
    override after(ms: number, fire: () => void): () => void {
      // The other timer is of the request's body.
      if (ms !== 30_000) timed.open(ms)
      return super.after(ms, fire)
    }
  }()
  const server = hello({ clock, fetch: ({ signal }) => (asked.open(signal), new Promise(() => {})) })
  const { stop, end } = await listening(server)
  const open = text(server.port).catch((error: unknown) => error)
  const signal = await asked.opened
  stop.abort()
  assert.equal(await timed.opened, 10_000)
  await clock.advance(9999)
  assert.equal(signal.aborted, false)
  await clock.advance(1)
  await end()
  assert.equal(signal.aborted, true)
  await open
})

test('a body that is too long is refused before the handler is called', async () => {
  const lengths: number[] = []
  const server = hello({
    maxBodyBytes: 10,
    fetch: async (request) => (lengths.push((await request.arrayBuffer()).byteLength), new Response('')),
  })
  const { end } = await listening(server)
  const codes: number[] = []
  for (const size of [10, 11]) {
    const response = await fetch(`http://127.0.0.1:${server.port}/`, { method: 'POST', body: 'x'.repeat(size) })
    await response.text()
    codes.push(response.status)
  }
  assert.deepEqual([codes, lengths], [[200, 413], [10]])
  await end()
})

test('probes, metrics and profiles take no body; metrics with a handler do', async () => {
  const handling = metricsServer(Server, { registry })
  handling.handle('/own', async (request) => new Response(await request.text()))
  for (
    const [server, path, status] of [
      [healthServer(Server), '/healthz', 413],
      [metricsServer(Server, { registry }), '/metrics', 413],
      [profilingServer(Server), '/debug/pprof/', 413],
      [handling, '/own', 200],
    ] as const
  ) {
    const { end } = await listening(server)
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { method: 'POST', body: 'x' })
    await response.text()
    assert.equal(response.status, status, server.name)
    await end()
  }
})

test('of more than 512 connections the oldest are closed', async () => {
  const server = hello()
  const { end } = await listening(server)
  const closed: number[] = []
  const three = new Latch<void>()
  const clients: Socket[] = []
  for (let at = 0; at < 515; at++) {
    const client = connect(server.port!, '127.0.0.1')
    client.on('error', () => {})
    client.on('close', () => closed.push(at) === 3 && three.open())
    clients.push(client)
    // Bun accepts a connection with its first byte.
    client.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
    await once(client, 'data')
  }
  await three.opened
  assert.deepEqual(closed, [0, 1, 2])
  assert.equal(await text(server.port), 'hello')
  for (const client of clients) client.destroy()
  await end()
})

test('a server of the leader listens when the lease is won, others before', async () => {
  const clock = new FakeClock()
  const manager = new Manager({ clock, log: silentLog })
  const [everywhere, leaders] = [hello({ name: 'everywhere' }), hello({ name: 'leaders', everyReplica: false })]
  assert.deepEqual([everywhere.everyReplica, leaders.everyReplica], [true, false])
  const seen: unknown[] = []
  manager.add({
    name: 'other',
    everyReplica: true,
    start: async () => void seen.push(everywhere.port !== undefined, leaders.port),
  })
  for (const each of [everywhere, leaders]) manager.add(each)
  const stop = new AbortController()
  const running = manager.start(stop.signal)
  await manager.elected
  assert.deepEqual([seen, leaders.port !== undefined], [[true, undefined], true])
  stop.abort()
  await running
})

test('a stopped server leaves no timer', async () => {
  const clock = new FakeClock()
  const server = hello({ clock })
  const { end } = await listening(server)
  await text(server.port)
  await end()
  assert.equal(clock.pending, 0)
})

test('a server starts once, and ready rejects with the error of its start', async () => {
  const server = hello({ address: '[::1]:0', tls: { cert: 'none', key: 'none' } })
  const ready = watchOutcome(server.ready(new AbortController().signal))
  await assert.rejects(server.start(new AbortController().signal), /^Error: Cannot start the server "hello": /)
  await nextTurn()
  assert.match((ready.outcome as Error).message, /^Cannot start the server "hello": /)
  await assert.rejects(
    server.start(new AbortController().signal),
    /^Error: Cannot start the server "hello": it was started already$/,
  )
  assert.throws(() => hello({ address: 'nowhere' }), /^TypeError: Cannot listen on "nowhere"/)
})

/** Sends bytes over a connection of their own, and ends it after another request. Resolves with what comes. */
function sent(port: number, bytes: Uint8Array): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = ''
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(bytes)
      text(port).then(() => socket.end(), reject)
    })
    socket.on('data', (chunk: Uint8Array) => (received += new TextDecoder('latin1').decode(chunk)))
    // The server may reset a connection whose bytes it does not read.
    socket.on('error', () => {})
    socket.on('close', () => resolve(received))
  })
}

test('fuzz: any bytes are answered without a 500, the connection ends, and the server goes on', async () => {
  const lines: string[] = []
  const log = recordingLog(lines)
  const echo = hello({ log, maxBodyBytes: 100, fetch: async (request) => new Response(await request.text()) })
  const servers = [
    echo,
    healthServer(Server, { log }),
    metricsServer(Server, { registry, log }),
    profilingServer(Server),
  ]
  const running = await Promise.all(servers.map(listening))
  const statuses = new Set<string>()
  const most = (...usual: string[]): fc.Arbitrary<string> =>
    fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...usual) }, fc.constantFrom(...ODD_TEXTS))
  const request = fc.tuple(
    most('GET', 'POST', 'HEAD', 'OPTIONS', 'TRACE', 'TRACE', 'CONNECT', 'FOO'),
    most('/', '/healthz?exclude=a', '/metrics', '/debug/pprof/', '*', 'http://a/'),
    most('a', 'a:1', '[::1]', 'a/b', 'a@b', 'a:b'),
    most('Content-Length: 5\r\n\r\nhello', 'Content-Length: 500\r\n\r\n', '\r\n', 'Expect: 100-continue\r\n\r\n'),
  ).map(([method, target, host, rest]) =>
    new TextEncoder().encode(`${method} ${target} HTTP/1.1\r\nHost: ${host}\r\n${rest}`)
  )
  const inputs = fc.oneof({ weight: 4, arbitrary: request }, request.chain(mutatedBytes))
  try {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...servers), inputs, async (server, bytes) => {
        const answers = Array.from((await sent(server.port!, bytes)).matchAll(/^HTTP\/1\.1 \d+/gm), String)
        assert.ok(!answers.includes('HTTP/1.1 500'), answers.join())
        for (const each of answers) statuses.add(each)
        await text(server.port)
      }),
      { numRuns: tries(100, 'everywhere'), endOnFailure: true },
    )
  } finally {
    for (const { end } of running) await end()
  }
  assert.ok(statuses.size > 2, [...statuses].join())
  assert.deepEqual(lines.filter((line) => !line.startsWith('info ')), [])
})
