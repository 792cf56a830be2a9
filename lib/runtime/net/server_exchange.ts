/** Handles a server's requests, the same for HTTP and TLS, HTTP/1.1 and HTTP/2. */
import type { IncomingMessage, ServerResponse as Http1Response } from 'node:http'
import { LazyAbort } from '../../async/abort.ts'
import { nextTurn } from '../../async/clock.ts'
import { concatenate } from '../../core/bytes.ts'
import type { HttpBody } from '../../core/transport.ts'
import type { BodyLimits } from './body_limits.ts'

/** A request before its body is read. */
export interface RequestHead {
  readonly method: string
  /** Path and query. */
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Whether the client presented a certificate of the server's client CA. */
  readonly isTrusted: boolean
}

export interface ServerRequest extends RequestHead {
  readonly body: Uint8Array
  /** Aborted when the client disconnects or the server closes. */
  readonly signal: AbortSignal
}

export interface ServerResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Bytes are sent at once, with their length. */
  readonly body: Uint8Array | Omit<HttpBody, 'text'>
}

/** Why a request's body is not read completely. */
export type BodyRefusal = 'too large' | 'too slow' | 'too many'

export interface ExchangeOptions {
  /** The maximum size of a request body. */
  readonly maxBodyBytes: number
  /** Other limits of request bodies. Default: none. */
  readonly bodyLimits?: BodyLimits | undefined
  /** Returns a response for a request whose body must not be read. Default: all are read. */
  readonly refuse?: ((request: RequestHead) => ServerResponse | undefined) | undefined
  /** Responds to a request. If it rejects, the client gets an empty 500. */
  readonly handle: (request: ServerRequest) => Promise<ServerResponse>
  /** Returns the response to a request whose body is refused. It must not wait. */
  readonly refuseBody: (why: BodyRefusal, request: RequestHead) => ServerResponse
  /**
   * Calls `onLate`, which ends the request, when a client has taken nothing of a response for too long. Returns a
   * function that cancels the call. Default: no limit.
   */
  readonly beginSend?: ((onLate: () => void) => () => void) | undefined
  /** Called with what {@link ExchangeOptions.handle} rejected with, and with errors of response bodies. */
  readonly onError: (error: unknown) => void
}

/** The parts that are used are the same for HTTP/2. */
export type Incoming = IncomingMessage & { readonly stream?: Http2Stream | undefined }
export type Outgoing = Http1Response

interface Http2Stream {
  readonly session?: { readonly socket?: unknown } | undefined
  close(code: number): void
}

/** The open requests of a server. */
export interface Exchanges {
  begin(request: Incoming, response: Outgoing): void
  abort(): void
  /** Resolves when all requests that are open now have ended. */
  settled(): Promise<void>
}

interface Shared extends ExchangeOptions {
  readonly isTrusted: (request: Incoming) => boolean
}

/** @param isTrusted Tests whether the client presented a certificate that the server trusts. */
export function newExchanges(
  options: ExchangeOptions,
  isTrusted: (request: Incoming) => boolean = () => false,
): Exchanges {
  const shared: Shared = { ...options, isTrusted }
  const open = new Map<Exchange, Promise<void>>()
  return {
    begin(request, response) {
      const exchange = new Exchange(shared, request, response)
      const done = exchange.run()
      open.set(exchange, done)
      void done.then(() => open.delete(exchange))
    },
    abort() {
      options.bodyLimits?.close()
      for (const exchange of [...open.keys()]) exchange.abort(new Error('The server is closing'))
    },
    async settled() {
      await Promise.all(open.values())
    },
  }
}

const NO_BYTES = new Uint8Array()

/**
 * The maximum size of one write. An HTTP/2 session counts what its clients have not read, of all streams together; when
 * it is too much, the runtime refuses new streams.
 */
export const MAX_WRITE_BYTES: number = 64 * 1024

/** One request and its response. What most handlers do not read is made at the first read: headers and signal. */
class Exchange implements ServerRequest {
  readonly #shared: Shared
  readonly #request: Incoming
  readonly #response: Outgoing
  readonly #lazy = new LazyAbort()
  #headers: Record<string, string> | undefined
  /** Set when the client has disconnected or the server closes. */
  #end: { readonly reason: unknown } | undefined
  /** Set when the client has the whole response. */
  #isSent = false
  /** Ends the wait of {@link run}: for the body, the handler or the client. */
  #wake: (() => void) | undefined
  #held = 0
  body: Uint8Array = NO_BYTES

  constructor(shared: Shared, request: Incoming, response: Outgoing) {
    this.#shared = shared
    this.#request = request
    this.#response = response
    const gone = (): void => {
      if (!this.#isSent) this.abort(new Error('The client has gone'))
    }
    response.on('finish', () => {
      // Over HTTP/2 it is also emitted when the client has gone.
      if (!response.writableEnded) return
      this.#isSent = true
      this.#wake?.()
    })
    response.on('close', gone)
    response.on('error', gone)
    request.on('error', gone)
  }

  get method(): string {
    return this.#request.method ?? 'GET'
  }

  get path(): string {
    return this.#request.url ?? '/'
  }

  get headers(): Readonly<Record<string, string>> {
    return (this.#headers ??= headersOf(this.#request))
  }

  get isTrusted(): boolean {
    return this.#shared.isTrusted(this.#request)
  }

  get signal(): AbortSignal {
    return this.#lazy.signal
  }

  /** Ends the exchange early. A client that has the whole response is not affected. */
  abort(reason: Error): void {
    if (!this.#lazy.abort(reason)) return
    this.#end = { reason }
    this.#wake?.()
  }

  /** Never rejects. */
  async run(): Promise<void> {
    try {
      await this.#answer()
    } catch (error) {
      this.#shared.onError(error)
      // Such as an invalid header. A body that fails later ends early.
      if (!this.#response.headersSent) this.#response.writeHead(500).end()
    } finally {
      this.#release()
    }
  }

  /** The bytes of the body do not count any more. */
  #release(): void {
    this.#shared.bodyLimits?.free(this.#held)
    this.#held = 0
  }

  async #answer(): Promise<void> {
    const refused = this.#shared.refuse?.(this)
    if (refused) return await this.#refuse(refused)
    const why = await this.#readBody()
    if (this.#end) return
    if (why) return await this.#refuse(this.#shared.refuseBody(why, this), why)
    let result: ServerResponse
    try {
      const handled = this.#shared.handle(this)
      const answered = await this.#unlessEnded(handled)
      if (!answered) {
        // A handler that ignores its signal delays nothing: its late response is cancelled.
        void handled.then(({ body }) => 'cancel' in body && body.cancel(), () => {})
        return
      }
      result = answered
    } catch (error) {
      if (this.#end) return
      this.#shared.onError(error)
      result = { status: 500, headers: {}, body: NO_BYTES }
    }
    await this.#send(result)
  }

  /** Reads the whole body. Resolves as soon as it is refused, read, or the exchange ends. */
  #readBody(): Promise<BodyRefusal | undefined> {
    const { maxBodyBytes, bodyLimits: limits } = this.#shared
    const request = this.#request
    return new Promise((resolve) => {
      if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes) return resolve('too large')
      let chunks: Uint8Array[] = []
      let size = 0
      let isDone = false
      const finish = (why?: BodyRefusal): void => {
        if (isDone) return
        isDone = true
        cancelTimeout?.()
        if (!why && !this.#end) this.body = concatenate(chunks, size)
        chunks = []
        resolve(why)
      }
      const cancelTimeout = limits?.begin(() => finish('too slow'))
      this.#wake = finish
      request.on('data', (chunk: Uint8Array) => {
        // The rest of a refused body is read and dropped: otherwise the client may miss the response.
        if (isDone) return
        size += chunk.byteLength
        if (size > maxBodyBytes) return finish('too large')
        if (limits && !limits.hold(chunk.byteLength)) return finish('too many')
        if (limits) this.#held += chunk.byteLength
        chunks.push(chunk)
      })
      request.on('end', () => finish())
    })
  }

  /** Resolves with the promise; to undefined if the exchange ends first. */
  #unlessEnded<T>(promise: Promise<T>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      this.#wake = () => this.#end && resolve(undefined)
      this.#wake()
      promise.then(resolve, reject)
    })
  }

  /** Answers before the body is read. The rest is dropped: a client that cannot send it may miss the response. */
  async #refuse({ status, headers, body }: ServerResponse, why?: BodyRefusal): Promise<void> {
    this.#release()
    const bytes = body instanceof Uint8Array ? body : await allOf(body)
    const { stream } = this.#request
    this.#request.resume()
    if (stream) {
      // Go's clients miss the response if the stream is reset.
      const cancel = this.#shared.bodyLimits?.begin(() => stream.close(NO_ERROR))
      if (cancel) this.#response.on('close', cancel)
      return await this.#send({ status, headers, body: bytes })
    }
    // On Deno a write that begins while more of the request is being read may never end.
    await nextTurn()
    if (this.#end) return
    const response = this.#response
    response.writeHead(status, { ...headers, 'content-length': String(bytes.byteLength), connection: 'close' })
    // With these bytes the client has the whole response. The end closes the connection, with the rest of the request.
    response.write(bytes)
    if (why !== 'too slow') await this.#untilRead()
    response.end()
    await this.#untilSent()
  }

  async #send({ status, headers, body }: ServerResponse): Promise<void> {
    if (this.#end) return 'cancel' in body ? body.cancel() : undefined
    const response = this.#response
    if (body instanceof Uint8Array) {
      response.writeHead(status, { ...headers, 'content-length': String(body.byteLength) })
      // The last part ends the response, so that a small one is a single write.
      const last = Math.max(0, body.byteLength - MAX_WRITE_BYTES)
      await this.#write(body.subarray(0, last))
      response.end(body.subarray(last))
    } else {
      response.writeHead(status, headers)
      await this.#stream(body)
    }
    await this.#untilSent()
  }

  async #untilSent(): Promise<void> {
    // Destroying the connection earlier would truncate the response.
    const cancel = this.#limitSend()
    while (!this.#isSent && !this.#end) await this.#woken()
    cancel?.()
  }

  /** Limits the time in which the client must take what is written. Returns a function that ends the limit. */
  #limitSend(): (() => void) | undefined {
    return this.#shared.beginSend?.(() => {
      const { stream, socket } = this.#request
      if (stream) stream.close(CANCEL)
      else socket.destroy()
      this.abort(new Error('The client does not read the response'))
    })
  }

  /** Resolves when the request over HTTP/1.1 is read, or the rest of it is too long or late, or the client has gone. */
  #untilRead(): Promise<void> {
    const { maxBodyBytes, bodyLimits } = this.#shared
    const request = this.#request
    if (request.readableEnded) return Promise.resolve()
    return new Promise((resolve) => {
      let size = 0
      const done = (): void => {
        cancel?.()
        resolve()
      }
      const cancel = bodyLimits?.begin(done)
      request.on('data', (chunk: Uint8Array) => {
        size += chunk.byteLength
        if (size > maxBodyBytes) done()
      })
      request.on('end', done)
      this.#wake = () => this.#end && done()
      this.#wake()
    })
  }

  /** Writes a body as fast as the client reads it. Ends it cleanly when the server closes. */
  async #stream(body: Omit<HttpBody, 'text'>): Promise<void> {
    const response = this.#response
    // The client of a watch waits for the head before the first event. HTTP/2 sends it without this call.
    if ('flushHeaders' in response) response.flushHeaders()
    try {
      const chunks = body[Symbol.asyncIterator]()
      for (;;) {
        const next = await this.#unlessEnded(chunks.next())
        if (!next || next.done) break
        await this.#write(next.value)
        if (this.#end) break
      }
    } catch (error) {
      if (!this.#end) throw error
    } finally {
      body.cancel()
      response.end()
    }
  }

  /** Writes bytes as fast as the client reads them. */
  async #write(bytes: Uint8Array): Promise<void> {
    const response = this.#response
    for (let at = 0; at < bytes.byteLength && !this.#end; at += MAX_WRITE_BYTES) {
      if (response.write(bytes.subarray(at, at + MAX_WRITE_BYTES))) continue
      const drained = new Promise<void>((resolve) => response.once('drain', resolve))
      const cancel = this.#limitSend()
      await this.#unlessEnded(drained)
      cancel?.()
    }
  }

  /** Resolves at the next event of the client or the server. */
  #woken(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve))
  }
}

/** NGHTTP2_NO_ERROR: the response is complete, and the rest of the request is not needed (RFC 9113, section 8.1). */
const NO_ERROR = 0
/** The response is not needed any more (RFC 9113, section 7). */
const CANCEL = 8

async function allOf(body: Omit<HttpBody, 'text'>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return concatenate(chunks, chunks.reduce((size, { byteLength }) => size + byteLength, 0))
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
