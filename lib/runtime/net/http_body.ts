/**
 * The body of an answer. It is read as fast as it comes until it is iterated: a body that is paused would hold its connection. A
 * reader that iterates more slowly than the server sends has at most about a megabyte before it; then the answer is paused. (On Deno
 * that does not slow the server down.)
 */
import type { IncomingMessage } from 'node:http'
import type { HttpBody } from '../../core/transport.ts'
import { builtins } from '../os/builtins.ts'

/** What a body needs to know of its request. */
export interface BodyOptions {
  /** Whether it is compressed. */
  readonly gzip: boolean
  /** Turns what broke the body off into what its reader gets: the signal's reason, or a NetworkError. */
  readonly explain: (cause: unknown) => unknown
  /** Ends the connection. */
  readonly hangUp: () => void
  /** Called once, when no more bytes can come. */
  readonly onEnd: () => void
}

/** A body that can also be broken off from outside, as an abort does. */
export interface OpenBody extends HttpBody {
  fail(cause: unknown): void
}

/** A rest that is known to be this small is let through when it is given up: that costs less than a new connection. */
const DRAINED_BYTES = 64 * 1024

/** How much may wait for a reader that iterates before the answer is paused. */
const MAX_WAITING_BYTES = 1024 * 1024

const UTF8 = new TextDecoder()

/** Reads the answer into memory as it comes, decompressing it if it is compressed. */
export function openBody(answer: IncomingMessage, options: BodyOptions): OpenBody {
  const queue = new ChunkQueue((isFull) => void (isFull ? answer.pause() : answer.resume()))
  let ended = false

  function end(): void {
    if (ended) return
    ended = true
    queue.end()
    options.onEnd()
  }
  function fail(cause: unknown): void {
    if (ended) return
    ended = true
    queue.fail(options.explain(cause))
    options.onEnd()
    options.hangUp()
  }

  // All three runtimes report a body that is cut off by an error. Should one ever end it instead, half a list must not pass
  // for a whole one: `complete` is false then.
  const onWhole = (
    finish: () => void,
  ): void => (answer.complete ? finish() : fail(new Error('the connection was closed')))
  answer.on('error', fail)
  answer.on('close', () => onWhole(() => {}))
  if (options.gzip) {
    const gunzip = builtins.zlib().createGunzip()
    gunzip.on('data', (chunk: Uint8Array) => queue.push(chunk))
    gunzip.on('end', end)
    gunzip.on('error', fail)
    answer.on('data', (chunk: Uint8Array) => gunzip.write(chunk))
    answer.on('end', () => onWhole(() => gunzip.end()))
  } else {
    answer.on('data', (chunk: Uint8Array) => queue.push(chunk))
    answer.on('end', () => onWhole(end))
  }

  return {
    fail,
    cancel() {
      queue.discard()
      if (ended || isSmall(answer)) return
      ended = true
      options.onEnd()
      options.hangUp()
    },
    async text() {
      const chunks = await queue.takeAll()
      return UTF8.decode(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))
    },
    [Symbol.asyncIterator]() {
      const chunks = queue.take()
      return {
        next: () => chunks.next(),
        return: () => {
          this.cancel()
          return Promise.resolve({ done: true, value: undefined })
        },
      }
    },
  }
}

function isSmall(answer: IncomingMessage): boolean {
  const length = answer.headers['content-length']
  return length !== undefined && Number(length) <= DRAINED_BYTES
}

interface Waiter {
  resolve(result: IteratorResult<Uint8Array, undefined>): void
  reject(error: unknown): void
}

/** Chunks between one writer, who never waits, and one reader, who does. */
class ChunkQueue {
  #chunks: Uint8Array[] = []
  #head = 0
  #state: 'open' | 'ended' | 'failed' | 'discarded' = 'open'
  #error: unknown
  #taken = false
  /** Set while the reader waits; then there are no chunks. */
  #waiting: Waiter | undefined
  /** Set while the reader waits for all. */
  #onOver: (() => void) | undefined
  #bytes = 0
  #isIterated = false
  #isFull = false
  /** Called with true when too much waits, and with false when nothing does any more. */
  readonly #flow: (isFull: boolean) => void

  constructor(flow: (isFull: boolean) => void) {
    this.#flow = flow
  }

  push(chunk: Uint8Array): void {
    if (this.#state !== 'open') return
    if (this.#waiting) return this.#wake().resolve({ done: false, value: chunk })
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    if (this.#isIterated && !this.#isFull && this.#bytes > MAX_WAITING_BYTES) this.#flow(this.#isFull = true)
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

  /** Forgets what has not been read; the reader, if there is one, is done. */
  discard(): void {
    this.#state = 'discarded'
    this.#chunks = []
    this.#head = 0
    if (this.#waiting) this.#wake().resolve(DONE)
    this.#onOver?.()
  }

  take(): { next(): Promise<IteratorResult<Uint8Array, undefined>> } {
    this.#claim()
    this.#isIterated = true
    return { next: () => this.#next() }
  }

  /** All of them, once the last has come: one wait, however many there are. */
  async takeAll(): Promise<readonly Uint8Array[]> {
    this.#claim()
    if (this.#state === 'open') await new Promise<void>((resolve) => (this.#onOver = resolve))
    if (this.#state === 'failed') throw this.#error
    const chunks = this.#chunks
    this.#chunks = []
    return chunks
  }

  #claim(): void {
    if (this.#taken) throw new TypeError('Cannot read a body twice: keep its text, or send the request again')
    this.#taken = true
  }

  #next(): Promise<IteratorResult<Uint8Array, undefined>> {
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
