/**
 * Sends prepared watch lines as fast as the socket accepts them, so that only the reader is measured.
 *
 * - A watch of `…/v1/foos` begins with all objects, and `POST /feed/N` sends N changes on the last such watch, one
 *   object after the other. Each change has the next generation, counted over all objects from
 *   {@link FIRST_GENERATION}, and the same number as resourceVersion.
 * - A watch of any other kind begins empty, and has a bookmark once a minute, as kube-apiserver does; those of several
 *   watches are spread over the minute.
 */
import type { ServerResponse } from 'node:http'
import { FIRST_GENERATION } from './feed_numbers.ts'
import { servedFoo } from './objects.ts'
import { serveTls } from './tls_server.ts'

/** The number of lines in one write: about a quarter of a megabyte. */
const LINES_AT_ONCE = 128
const BOOKMARK_EVERY_MS = 60_000
/** Spreads the bookmarks of watches over a minute, in hundredths. */
const STAGGER = 100

export async function openFeed(objects: number) {
  const added = block('ADDED', objects)
  const modified = block('MODIFIED', objects)
  const timers = new Set<NodeJS.Timeout>()
  let watches = 0
  let current: ServerResponse | undefined
  let next = 0
  const { port, ca, close } = await serveTls((request, response) => {
    const fed = /^\/feed\/(\d+)$/.exec(request.url ?? '')
    if (fed && current) {
      response.end('{}')
      const from = next
      next += Number(fed[1])
      send(current, modified, from, next).catch((error: unknown) => current?.destroy(error as Error))
    } else if (/\/v1\/foos\?/.test(request.url ?? '')) {
      response.writeHead(200, { 'content-type': 'application/json' })
      current = response
      next = objects
      send(response, added, 0, objects)
        .then(() => response.write(bookmark('Foo', FIRST_GENERATION + objects - 1, true)))
        .catch((error: unknown) => response.destroy(error as Error))
    } else if (/[?&]watch=/.test(request.url ?? '')) {
      beginQuietWatch(response)
    } else {
      response.writeHead(404).end('{}')
    }
  })
  return {
    server: `https://127.0.0.1:${port}`,
    ca,
    async close() {
      for (const timer of timers) clearTimeout(timer)
      await close()
    },
  }

  function beginQuietWatch(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'application/json' })
    let version = FIRST_GENERATION
    response.write(bookmark('ConfigMap', version, true))
    const later = (ms: number): void => {
      const timer = setTimeout(() => {
        timers.delete(timer)
        response.write(bookmark('ConfigMap', ++version, false))
        later(BOOKMARK_EVERY_MS)
      }, ms)
      timers.add(timer)
      response.once('close', () => {
        clearTimeout(timer)
        timers.delete(timer)
      })
    }
    later((watches++ % STAGGER) * BOOKMARK_EVERY_MS / STAGGER)
  }
}

/** The lines of all objects, and the positions of the changing numbers in each. */
type Block = ReturnType<typeof block>

function block(type: string, objects: number) {
  const starts: number[] = [], numbers: number[][] = [], lines: Buffer[] = []
  let at = 0
  for (let i = 0; i < objects; i++) {
    const line = Buffer.from(
      `${JSON.stringify({ type, object: servedFoo(i, String(FIRST_GENERATION + i), FIRST_GENERATION + i) })}\n`,
    )
    const digits = String(FIRST_GENERATION + i)
    const first = line.indexOf(digits)
    starts.push(at)
    numbers.push([first, line.indexOf(digits, first + 1)])
    lines.push(line)
    at += line.length
  }
  starts.push(at)
  return { bytes: Buffer.concat(lines), starts, numbers }
}

/** Sends the changes from one number to another, each line with its number. */
async function send(
  response: ServerResponse,
  { bytes, starts, numbers }: Block,
  from: number,
  to: number,
): Promise<void> {
  const objects = numbers.length
  for (let change = from; change < to;) {
    const first = change % objects
    const count = Math.min(LINES_AT_ONCE, objects - first, to - change)
    const chunk = Buffer.from(bytes.subarray(starts[first], starts[first + count]))
    for (let i = first; i < first + count; i++, change++) {
      const digits = String(FIRST_GENERATION + change)
      for (const offset of numbers[i]!) chunk.write(digits, starts[i]! - starts[first]! + offset, 'latin1')
    }
    if (response.destroyed) return
    if (!response.write(chunk)) await drained(response)
  }
}

/** Resolves when more can be written, or the reader has disconnected. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      response.off('drain', end).off('close', end)
      resolve()
    }
    response.on('drain', end).on('close', end)
  })
}

function bookmark(kind: string, version: number, ends: boolean): string {
  const annotations = ends ? { 'k8s.io/initial-events-end': 'true' } : undefined
  const apiVersion = kind === 'Foo' ? 'bench.example.com/v1' : 'v1'
  const metadata = { resourceVersion: String(version), creationTimestamp: null, annotations }
  return `${JSON.stringify({ type: 'BOOKMARK', object: { kind, apiVersion, metadata } })}\n`
}
