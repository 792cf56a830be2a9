/**
 * Reads the body of a response, decompressed and with bounded buffering.
 *
 * Until it is iterated it is read without a limit, because a paused body would occupy its connection. When it is
 * iterated more slowly than the server sends, it is paused once about 1 MiB is buffered. (On Deno that does not slow
 * the server down.)
 */
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import type { HttpBody } from '../../core/transport.ts'
import { nodeZlib } from '../os/builtins.ts'

/** An answer after its head, by HTTP/1.1 or HTTP/2. */
export type Answer =
  & Readable
  & Pick<IncomingMessage, 'statusCode' | 'complete'>
  & { readonly headers: Readonly<Record<string, string | string[] | undefined>> }

/** The request whose answer it is. */
export interface BodyOwner {
  /** Converts the cause of a failure to the reader's error: the signal's reason, or a NetworkError. */
  explain(cause: unknown): unknown
  /** Ends the connection. */
  hangUp(): void
  /** Called for each part of the body that arrives, and when reading goes on after a pause. */
  onBytes(): void
  /** Called when the body is paused, because its reader is slower than the server. */
  onPause(): void
  /** Called once, when no more bytes can be received. */
  onEnd(): void
}

/** A cancelled body of at most this size is read to its end, because that is cheaper than a new connection. */
const MAX_DRAINED_BYTES = 64 * 1024

/** How much is buffered for a reader that iterates before the response is paused. */
const MAX_BUFFERED_BYTES = 1024 * 1024

const UTF8 = new TextDecoder()

/** Reads, and decompresses, a response as it arrives. With few closures: a process may have a thousand watches. */
export class AnswerBody implements HttpBody {
  readonly #answer: Answer
  readonly #owner: BodyOwner
  readonly #queue: ChunkQueue
  #ended = false

  constructor(answer: Answer, gzip: boolean, owner: BodyOwner) {
    this.#answer = answer
    this.#owner = owner
    const queue = this.#queue = new ChunkQueue((isFull) => {
      if (isFull) owner.onPause()
      else owner.onBytes()
      void (isFull ? answer.pause() : answer.resume())
    })
    const gunzip = gzip ? nodeZlib().createGunzip() : undefined
    gunzip?.on('data', (chunk: Uint8Array) => queue.push(chunk))
    gunzip?.on('end', () => this.#end())
    gunzip?.on('error', (error) => this.fail(error))
    answer.on('data', (chunk: Uint8Array) => {
      // Before the chunk, which may pause the body.
      owner.onBytes()
      if (gunzip) gunzip.write(chunk)
      else queue.push(chunk)
    })
    answer.on('error', (error) => this.fail(error))
    answer.on('close', () => this.#checkWhole())
    answer.on('end', () => {
      if (!this.#checkWhole()) return
      if (gunzip) gunzip.end()
      else this.#end()
    })
  }

  /** Ends it with an error, also from outside, for an abort. */
  fail(cause: unknown): void {
    if (this.#ended) return
    this.#ended = true
    this.#queue.fail(this.#owner.explain(cause))
    this.#owner.onEnd()
    this.#owner.hangUp()
  }

  cancel(): void {
    this.#queue.discard()
    if (this.#ended || isSmall(this.#answer)) return
    this.#ended = true
    this.#owner.onEnd()
    this.#owner.hangUp()
  }

  async text(): Promise<string> {
    const chunks = await this.#queue.takeAll()
    return UTF8.decode(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    this.#queue.take()
    return new Chunks(this, this.#queue)
  }

  #end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#queue.end()
    this.#owner.onEnd()
  }

  /**
   * Fails the body if it was cut off. Returns whether it is whole.
   *
   * Safety: half a list must never pass for a whole one. All three runtimes report a truncated body as an error; should
   * one end it instead, `complete` is false.
   */
  #checkWhole(): boolean {
    const { complete } = this.#answer
    if (!complete) this.fail(new Error('the connection was closed'))
    return complete
  }
}

/** Reads a body part by part. */
class Chunks implements AsyncIterator<Uint8Array> {
  readonly #body: AnswerBody
  readonly #queue: ChunkQueue

  constructor(body: AnswerBody, queue: ChunkQueue) {
    this.#body = body
    this.#queue = queue
  }

  next(): Promise<IteratorResult<Uint8Array, undefined>> {
    return this.#queue.next()
  }

  return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#body.cancel()
    return Promise.resolve(DONE)
  }
}

function isSmall(answer: Answer): boolean {
  const length = answer.headers['content-length']
  return length !== undefined && Number(length) <= MAX_DRAINED_BYTES
}

interface Waiter {
  resolve(result: IteratorResult<Uint8Array, undefined>): void
  reject(error: unknown): void
}

/** Buffers chunks between one writer, which never waits, and one reader. */
class ChunkQueue {
  #chunks: Uint8Array[] = []
  #head = 0
  #state: 'open' | 'ended' | 'failed' | 'discarded' = 'open'
  #error: unknown
  #taken = false
  /** Set while the reader waits for a chunk; then there are no chunks. */
  #waiting: Waiter | undefined
  /** Set while the reader waits for the end. */
  #onOver: (() => void) | undefined
  #bytes = 0
  #isIterated = false
  #isFull = false
  /** Called with true when too much is buffered, and with false when the buffer is empty again. */
  readonly #flow: (isFull: boolean) => void

  constructor(flow: (isFull: boolean) => void) {
    this.#flow = flow
  }

  push(chunk: Uint8Array): void {
    if (this.#state !== 'open') return
    if (this.#waiting) return this.#wake().resolve({ done: false, value: chunk })
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    if (this.#isIterated && !this.#isFull && this.#bytes > MAX_BUFFERED_BYTES) this.#flow(this.#isFull = true)
  }

  end(): void {
    if (this.#state === 'open') this.#state = 'ended'
    if (this.#waiting) this.#wake().resolve(DONE)
    this.#onOver?.()
  }

  fail(error: unknown): void {
    if (this.#state !== 'open') return
    this.#state = 'failed'
    this.#error = error
    if (this.#waiting) this.#wake().reject(error)
    this.#onOver?.()
  }

  /** Drops unread chunks, and ends the reader. */
  discard(): void {
    this.#state = 'discarded'
    this.#chunks = []
    this.#head = 0
    if (this.#waiting) this.#wake().resolve(DONE)
    this.#onOver?.()
  }

  /** The chunks are read one by one, by `next`. */
  take(): void {
    this.#claim()
    this.#isIterated = true
  }

  /** Resolves to all chunks after the last one has arrived: a single wait, however many there are. */
  async takeAll(): Promise<readonly Uint8Array[]> {
    this.#claim()
    if (this.#state === 'open') await new Promise<void>((resolve) => (this.#onOver = resolve))
    if (this.#state === 'failed') throw this.#error
    const chunks = this.#chunks
    this.#chunks = []
    return chunks
  }

  #claim(): void {
    if (this.#taken) {
      throw new TypeError('Cannot read a response body: it was read before; keep its text, or send the request again')
    }
    this.#taken = true
  }

  next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const chunk = this.#chunks[this.#head]
    if (chunk) {
      if (++this.#head === this.#chunks.length) {
        this.#chunks = []
        this.#head = this.#bytes = 0
        if (this.#isFull) this.#flow(this.#isFull = false)
      }
      return Promise.resolve({ done: false, value: chunk })
    }
    if (this.#state === 'failed') return Promise.reject(this.#error)
    if (this.#state !== 'open') return Promise.resolve(DONE)
    return new Promise((resolve, reject) => (this.#waiting = { resolve, reject }))
  }

  #wake(): Waiter {
    const waiting = this.#waiting!
    this.#waiting = undefined
    return waiting
  }
}

const DONE: IteratorResult<Uint8Array, undefined> = { done: true, value: undefined }
