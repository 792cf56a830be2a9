import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Latch } from '../../lib/async/latch.ts'
import { profilingHandler } from '../../lib/manager/servers/profiling.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'

const ask = (
  handler: ReturnType<typeof profilingHandler>,
  path: string,
  signal: AbortSignal | null = null,
): Promise<Response> => Promise.resolve(handler(new Request(`http://localhost/debug/pprof/${path}`, { signal })))

/** A clock that reports its timers, as a profiler starts in real time. */
class AskedClock extends FakeClock {
  #asked = new Latch()

  override after(ms: number, fire: () => void): () => void {
    this.#asked.open()
    return super.after(ms, fire)
  }

  /** Resolves at the next timer, or at once if one was set since the last call. */
  async asked(): Promise<void> {
    await this.#asked.opened
    this.#asked = new Latch()
  }
}

test('a CPU profile is recorded for the requested time; one at a time', async () => {
  const clock = new AskedClock()
  const handler = profilingHandler({ clock })
  let response: Response | undefined
  const profile = ask(handler, 'profile?seconds=2').then((answer) => (response = answer))
  await clock.asked()
  assert.equal((await ask(handler, 'profile?seconds=1')).status, 409)
  await clock.advance(1999)
  assert.equal(response, undefined)
  await clock.advance(1)
  await profile
  assert.deepEqual([response!.status, response!.headers.get('content-disposition')], [
    200,
    'attachment; filename="kubeloop.cpuprofile"',
  ])
  const { nodes, startTime, endTime } = (await response!.json()) as {
    nodes: unknown[]
    startTime: number
    endTime: number
  }
  assert.ok(nodes.length > 0 && endTime >= startTime)
  assert.equal((await ask(handler, 'profile?seconds=0')).status, 400)
})

test('a profile ends when its client disconnects, and another may begin', async () => {
  const clock = new AskedClock()
  const handler = profilingHandler({ clock })
  const gone = new AbortController()
  const profile = ask(handler, 'profile', gone.signal)
  await clock.asked()
  gone.abort()
  await profile
  assert.equal(clock.pending, 0)
  const next = ask(handler, 'profile?seconds=1')
  await clock.asked()
  await clock.advance(1000)
  assert.equal((await next).status, 200)
})

test('a heap snapshot is streamed', async () => {
  const response = await ask(profilingHandler(), 'heap')
  assert.equal(response.status, 200)
  let size = 0, chunks = 0, head = ''
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    if (chunks++ === 0) head = new TextDecoder().decode(chunk.subarray(0, 20))
    size += chunk.byteLength
  }
  assert.match(head, /^\{"snapshot":/)
  assert.ok(size > 100_000)
})

test('invalid times and other paths are refused', async () => {
  const handler = profilingHandler()
  for (const seconds of ['0', '-1', 'x', '301', 'Infinity']) {
    assert.equal((await ask(handler, `profile?seconds=${seconds}`)).status, 400, seconds)
  }
  assert.equal((await ask(handler, 'trace')).status, 404)
  for (const path of ['', '/']) {
    assert.equal((await handler(new Request(`http://localhost/debug/pprof${path}`))).status, 200)
  }
})
