/** One request and its answer on a server, the same over plain HTTP, over TLS, and over HTTP/1.1 and HTTP/2. */
import type { IncomingMessage, ServerResponse as Http1Response } from 'node:http'
import { untilAborted } from '../../async/abort.ts'
import type { HttpBody } from '../../core/transport.ts'

/** A request whose body is there. */
export interface ServerRequest {
  readonly method: string
  /** Path and query. */
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** Aborted when the client has gone or the server closes. */
  readonly signal: AbortSignal
}

export interface ServerResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Omit<HttpBody, 'text'>
}

export interface ExchangeOptions {
  /** The longest body that is read. */
  readonly maxBodyBytes: number
  /** Answers a request. A rejection is answered with a bare 500. */
  readonly handle: (request: ServerRequest) => Promise<ServerResponse>
  /** Answers, before its body is read, a request with a body that is too long. */
  readonly refuseTooLarge: () => ServerResponse
  /** Hears of what {@link ExchangeOptions.handle} rejected with, and of bodies that broke off. */
  readonly onError: (error: unknown) => void
}

/** What is used of them is the same over HTTP/2. */
export type Incoming = IncomingMessage
export type Outgoing = Http1Response

/** The requests that a server has begun to answer. */
export interface Exchanges {
  begin(request: Incoming, response: Outgoing): void
  abort(): void
  /** Settles when all that are open now have been answered, or broken off. */
  settled(): Promise<void>
}

export function newExchanges(options: ExchangeOptions): Exchanges {
  const open = new Map<Promise<void>, AbortController>()
  return {
    begin(request, response) {
      const controller = new AbortController()
      let isAnswered = false
      response.on('finish', () => (isAnswered = true))
      // A client that goes away takes its request with it. One that has its answer goes, too, and that is no abort.
      const gone = (): void => {
        if (!isAnswered) controller.abort(new Error('The client has gone'))
      }
      response.on('close', gone)
      response.on('error', gone)
      request.on('error', gone)
      const done = answer(options, request, response, controller.signal)
        .catch(options.onError)
        .finally(() => void open.delete(done))
      open.set(done, controller)
    },
    abort() {
      for (const controller of [...open.values()]) controller.abort(new Error('The server is closing'))
    },
    async settled() {
      await Promise.all(open.keys())
    },
  }
}

async function answer(
  options: ExchangeOptions,
  request: Incoming,
  response: Outgoing,
  signal: AbortSignal,
): Promise<void> {
  const body = await readBody(request, options.maxBodyBytes, signal)
  if (signal.aborted) return
  if (body === 'too large') {
    await send(response, options.refuseTooLarge(), signal, { connection: request.httpVersionMajor < 2 })
    return
  }
  let result: ServerResponse
  try {
    const handled = options.handle({
      method: request.method ?? 'GET',
      path: request.url ?? '/',
      headers: headersOf(request),
      body,
      signal,
    })
    // A handler that is deaf to its signal holds nothing up; what it answers then is given up.
    void handled.then((late) => signal.aborted && late.body.cancel(), () => {})
    result = await untilAborted(handled, signal)
  } catch (error) {
    if (signal.aborted) return
    options.onError(error)
    response.statusCode = 500
    response.end()
    return
  }
  await send(response, result, signal, { connection: false })
}

function headersOf(request: Incoming): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(request.headers)) {
    if (value === undefined) continue
    const text = Array.isArray(value) ? value.join(', ') : String(value)
    if (name === ':authority') headers['host'] = text
    else if (!name.startsWith(':')) headers[name] = text
  }
  return headers
}

/** The whole body; `too large` as soon as it is known to be. */
function readBody(request: Incoming, max: number, signal: AbortSignal): Promise<Uint8Array | 'too large'> {
  return new Promise((resolve) => {
    if (Number(request.headers['content-length'] ?? 0) > max) return resolve('too large')
    const chunks: Uint8Array[] = []
    let size = 0
    const finish = (result: Uint8Array | 'too large'): void => {
      signal.removeEventListener('abort', onAbort)
      resolve(result)
    }
    const onAbort = (): void => finish(new Uint8Array())
    signal.addEventListener('abort', onAbort, { once: true })
    request.on('data', (chunk: Uint8Array) => {
      size += chunk.byteLength
      if (size > max) finish('too large')
      else chunks.push(chunk)
    })
    request.on('end', () => finish(concatenate(chunks, size)))
  })
}

function concatenate(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const whole = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.byteLength
  }
  return whole
}

/** Writes an answer, no faster than the client reads it. Ends it cleanly when the server closes. */
async function send(
  response: Outgoing,
  result: ServerResponse,
  signal: AbortSignal,
  end: { connection: boolean },
): Promise<void> {
  response.writeHead(result.status, { ...result.headers, ...(end.connection && { connection: 'close' }) })
  // The head of a watch goes out before its first event: a client waits for it. HTTP/2 sends it by itself.
  if ('flushHeaders' in response) response.flushHeaders()
  try {
    const chunks = result.body[Symbol.asyncIterator]()
    for (;;) {
      const { done, value } = await untilAborted(chunks.next(), signal)
      if (done || signal.aborted) break
      if (!response.write(value)) await occurs(response, 'drain', signal)
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    result.body.cancel()
    response.end()
  }
  // A connection that is destroyed before that would cut the answer off.
  await occurs(response, 'finish', signal)
}

/** Settles with the event, and at the latest when the signal is aborted. */
function occurs(response: Outgoing, event: 'drain' | 'finish', signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      response.off(event, finish)
      signal.removeEventListener('abort', finish)
      resolve()
    }
    response.on(event, finish)
    signal.addEventListener('abort', finish, { once: true })
    if (signal.aborted || (event === 'finish' && response.writableFinished)) finish()
  })
}
