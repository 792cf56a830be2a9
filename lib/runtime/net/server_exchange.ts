/** Handles a server's requests, the same for HTTP and TLS, HTTP/1.1 and HTTP/2. */
import type { IncomingMessage, ServerResponse as Http1Response } from 'node:http'
import { untilAborted } from '../../async/abort.ts'
import type { HttpBody } from '../../core/transport.ts'

/** A request with its whole body. */
export interface ServerRequest {
  readonly method: string
  /** Path and query. */
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** Aborted when the client disconnects or the server closes. */
  readonly signal: AbortSignal
}

export interface ServerResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Omit<HttpBody, 'text'>
}

export interface ExchangeOptions {
  /** The maximum size of a request body. */
  readonly maxBodyBytes: number
  /** Responds to a request. If it rejects, the client gets an empty 500. */
  readonly handle: (request: ServerRequest) => Promise<ServerResponse>
  /** Returns the response to a request whose body is too large. */
  readonly refuseTooLarge: () => ServerResponse
  /** Called with what {@link ExchangeOptions.handle} rejected with, and with errors of response bodies. */
  readonly onError: (error: unknown) => void
}

/** The parts that are used are the same for HTTP/2. */
export type Incoming = IncomingMessage
export type Outgoing = Http1Response

/** The open requests of a server. */
export interface Exchanges {
  begin(request: Incoming, response: Outgoing): void
  abort(): void
  /** Resolves when all requests that are open now have ended. */
  settled(): Promise<void>
}

export function newExchanges(options: ExchangeOptions): Exchanges {
  const open = new Map<Promise<void>, AbortController>()
  return {
    begin(request, response) {
      const controller = new AbortController()
      let isAnswered = false
      response.on('finish', () => (isAnswered = true))
      // A client that disconnects aborts its request, unless it has the whole response.
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
    // A handler that ignores its signal delays nothing: its late response is cancelled.
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

/** Reads the whole body. Resolves to `too large` as soon as that is known. */
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

/** Writes a response as fast as the client reads it. Ends it cleanly when the server closes. */
async function send(
  response: Outgoing,
  result: ServerResponse,
  signal: AbortSignal,
  end: { connection: boolean },
): Promise<void> {
  response.writeHead(result.status, { ...result.headers, ...(end.connection && { connection: 'close' }) })
  // The client of a watch waits for the head before the first event. HTTP/2 sends it without this call.
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
  // Destroying the connection earlier would truncate the response.
  await occurs(response, 'finish', signal)
}

/** Resolves on the event or on the signal's abort. */
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
