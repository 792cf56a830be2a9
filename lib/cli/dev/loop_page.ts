/**
 * Serves the page of `kubeloop dev --ui` on loopback, behind a token in its path. Pages get changes as server-sent
 * events; they pause, step and replay keys by requests that have the token in a header, too.
 */
import { Server } from 'kubeloop'
import type { Fetch } from 'kubeloop/parts'
import { isFields } from '../../core/clone.ts'
import { abortScope } from '../../async/abort.ts'
import type { Clock } from '../../async/clock.ts'
import { nodeCrypto } from '../../runtime/os/builtins.ts'
import { readText } from '../../runtime/os/files.ts'
import { pathOfUrl } from '../../runtime/os/user_files.ts'
import { LoopModel } from './loop_model.ts'
import type { LoopCommand } from './session.ts'

const EVERY_MS = 100
/** A comment is sent after this time without an event, so that a lost connection is noticed. */
const IDLE_MS = 15_000
const MAX_PAGES = 8
/** What a page may be behind. Then its connection ends: it opens another one, which begins with the whole state. */
const MAX_BEHIND_BYTES = 4 * 1024 * 1024
/** A command is a name and a key. */
const MAX_BODY_BYTES = 4096

/** The files of the page, beside this one in the sources, and beside the bundle in the package. */
const FILES: Readonly<Record<string, string>> = {
  'page.html': 'text/html; charset=utf-8',
  'page.css': 'text/css; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
}

const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const

export interface LoopPageOptions {
  readonly model: LoopModel
  readonly token: string
  readonly clock: Clock
  readonly read: (file: string) => Promise<string>
  readonly send: (command: LoopCommand) => void
}

export interface ServedLoop {
  readonly url: string
  readonly model: LoopModel
  close(): Promise<void>
}

/** Serves the page on a free port of 127.0.0.1. */
export async function serveLoop(
  { clock, send }: Pick<LoopPageOptions, 'clock' | 'send'>,
): Promise<ServedLoop> {
  const model = new LoopModel(() => clock.now())
  const token = nodeCrypto().randomBytes(24).toString('base64url')
  const read = (file: string): Promise<string> => readText(pathOfUrl(new URL(`./page/${file}`, import.meta.url).href))
  const page = loopPage({ model, token, clock, read, send })
  const server = new Server({ name: 'ui', fetch: page.fetch, maxBodyBytes: MAX_BODY_BYTES, maxConnections: 64 })
  const scope = abortScope()
  const running = server.start(scope.signal)
  await Promise.race([server.ready(scope.signal), running])
  return {
    url: `http://127.0.0.1:${server.port}/${token}/`,
    model,
    async close() {
      page.close()
      scope.abort()
      await running
    },
  }
}

export function loopPage(
  { model, token, clock, read, send }: LoopPageOptions,
): { readonly fetch: Fetch; close(): void } {
  const isToken = equalTo(token)
  const pages = pagesOf(model, clock)
  const fetch: Fetch = async (request) => {
    const { host, hostname, pathname, searchParams } = new URL(request.url)
    const answer = (status: number, body: string | null, type = 'text/plain; charset=utf-8'): Response =>
      new Response(body, { status, headers: { ...HEADERS, 'content-type': type } })
    // A page of another site may have a name that leads to this machine.
    if (hostname !== '127.0.0.1' && hostname !== 'localhost') return answer(403, 'The host is not this machine\n')
    const [, given = '', name, ...more] = pathname.split('/')
    const isPage = isToken(given) && name !== undefined && more.length === 0
    if (!isPage) return answer(404, 'There is no page here: open the link of kubeloop dev\n')
    const json = (value: unknown): Response =>
      value === undefined
        ? answer(404, 'It is not stored any more\n')
        : answer(200, JSON.stringify(value), 'application/json')
    if (name === 'command') {
      if (request.method !== 'POST') return answer(405, 'A command is a POST\n')
      const origin = request.headers.get('origin')
      const isOwn = origin === null || origin === `http://${host}`
      if (!isOwn || !isToken(request.headers.get('x-kubeloop-token') ?? '')) {
        return answer(403, 'The token is missing\n')
      }
      const command = commandOf(await request.text(), model)
      if (!command) return answer(400, 'The command is not known, or its controller does not run\n')
      model.command(command)
      send(command)
      return answer(204, null)
    }
    if (request.method !== 'GET') return answer(405, 'Only commands are not a GET\n')
    if (name === 'events') {
      const body = pages.open(request.signal)
      if (!body) return answer(503, `There are ${MAX_PAGES} open pages: close one\n`)
      return new Response(body, { headers: { ...HEADERS, 'content-type': 'text/event-stream' } })
    }
    if (name === 'object') return json(model.object(searchParams.get('id') ?? ''))
    if (name === 'change') return json(model.difference(Number(searchParams.get('id'))))
    const file = name || 'page.html'
    const type = Object.hasOwn(FILES, file) ? FILES[file] : undefined
    return type ? answer(200, await read(file), type) : answer(404, 'There is no such file\n')
  }
  return { fetch, close: pages.close }
}

/** Returns what sends events to the open pages. While there are any, each gets what changes. */
function pagesOf(model: LoopModel, clock: Clock) {
  const pages = new Set<ReadableStreamDefaultController<Uint8Array>>()
  let isTimed = false
  let lastMs = 0
  const end = (page: ReadableStreamDefaultController<Uint8Array>): void => {
    // A stream that was cancelled cannot be closed.
    if (!pages.delete(page) || page.desiredSize === null) return
    try {
      page.close()
    } catch {
      // cancelled meanwhile
    }
  }
  const sendNews = (): void => {
    const nowMs = clock.monotonic()
    const news = pages.size > 0 ? model.take() : undefined
    if (!news && nowMs - lastMs < IDLE_MS) return
    lastMs = nowMs
    const event = news ? eventOf(news) : new TextEncoder().encode(':\n\n')
    for (const each of pages) {
      if ((each.desiredSize ?? 0) <= 0) end(each)
      else each.enqueue(event)
    }
  }
  const tick = (): void => {
    sendNews()
    isTimed = pages.size > 0
    if (isTimed) clock.after(EVERY_MS, tick)
  }
  return {
    /** Returns the events for a page; undefined if there are too many pages. */
    open(signal: AbortSignal): ReadableStream<Uint8Array> | undefined {
      if (pages.size >= MAX_PAGES) return undefined
      // Those that are open get what this page has in its first event.
      sendNews()
      let own: ReadableStreamDefaultController<Uint8Array>
      signal.addEventListener('abort', () => end(own), { once: true })
      return new ReadableStream<Uint8Array>({
        start: (controller) => {
          own = controller
          pages.add(own)
          own.enqueue(eventOf(model.all()))
          if (!isTimed) clock.after(EVERY_MS, tick)
          isTimed = true
        },
        cancel: () => end(own),
      }, { highWaterMark: MAX_BEHIND_BYTES, size: (chunk) => chunk.byteLength })
    },
    close: () => pages.forEach(end),
  }
}

function eventOf(message: object): Uint8Array {
  return new TextEncoder().encode(`data: ${JSON.stringify(message)}\n\n`)
}

/** Returns a function that compares a text with a secret in a time that does not depend on where they differ. */
function equalTo(secret: string): (text: string) => boolean {
  const { createHash, timingSafeEqual } = nodeCrypto()
  const digest = (text: string): Uint8Array => createHash('sha256').update(text).digest()
  const expected = digest(secret)
  return (text) => timingSafeEqual(digest(text), expected)
}

/** Returns a command from its JSON; undefined if it is none, or names a controller without a queue. */
function commandOf(text: string, model: LoopModel): LoopCommand | undefined {
  let read: unknown
  try {
    read = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isFields(read)) return undefined
  const { action, controller, key } = read
  if (action !== 'pause' && action !== 'resume' && action !== 'step' && action !== 'replay') return undefined
  if (controller === undefined && key === undefined) return action === 'replay' ? undefined : { action }
  if (typeof controller !== 'string' || typeof key !== 'string' || key === '') return undefined
  return model.hasController(controller) ? { action, controller, key } : undefined
}
