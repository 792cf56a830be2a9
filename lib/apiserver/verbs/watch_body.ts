/** The response body of a watch: buffers lines until they are read, within bounds. */
import type { TurnBudget } from '../../async/clock.ts'
import { concatenate } from '../../core/bytes.ts'
import type { HttpBody } from '../../core/transport.ts'

/**
 * A slower reader is disconnected, as on the real server, and lists again. Watches of the same form share their lines,
 * so that many slow readers take as much memory as one.
 */
const MAX_UNREAD_LINES = 100_000
const MAX_UNREAD_BYTES = 128 * 1024 * 1024
/** The size from which a chunk gets no more lines. */
const CHUNK_BYTES = 256 * 1024

const encoder = new TextEncoder()

export class WatchBody implements HttpBody {
  /** The lines of the initial state, which are made when they are read; undefined after the last one. */
  #initial: Iterator<string | undefined, void> | undefined
  readonly #budget: TurnBudget
  /** The unread lines. */
  #lines: Uint8Array[] = []
  #unreadBytes = 0
  readonly endless: boolean
  readonly #cleanups: (() => void)[] = []
  #state: 'open' | 'ended' | 'failed' = 'open'
  #failure: unknown
  #wake: (() => void) | undefined

  constructor(budget: TurnBudget, endless = false) {
    this.#budget = budget
    this.endless = endless
  }

  get isOpen(): boolean {
    return this.#state === 'open'
  }

  /** Calls a function once, when the reader has cancelled or the writer has ended the body, or at once if it has. */
  onEnd(cleanup: () => void): void {
    if (this.isOpen) this.#cleanups.push(cleanup)
    else cleanup()
  }

  /** Fails when the signal is aborted: drops buffered lines and throws its reason to the reader. */
  failOn(signal: AbortSignal | undefined): void {
    if (!signal) return
    const fail = (): void => {
      this.#failure = signal.reason
      this.#drop()
      this.#close('failed')
    }
    signal.addEventListener('abort', fail, { once: true })
    this.onEnd(() => signal.removeEventListener('abort', fail))
  }

  /** Sets the first lines; undefined is none. They are made when they are read, and do not count for the limits. */
  startWith(lines: Iterator<string | undefined, void>): void {
    if (this.isOpen) this.#initial = lines
  }

  /** Adds a line, which must not be changed later. Ends the body without its unread lines if they are too many. */
  push(line: Uint8Array): void {
    if (!this.isOpen) return
    this.#lines.push(line)
    this.#unreadBytes += line.byteLength
    if (this.#lines.length > MAX_UNREAD_LINES || this.#unreadBytes > MAX_UNREAD_BYTES) this.cancel()
    else this.#wake?.()
  }

  /** Ends the body. Buffered lines can still be read. */
  end(): void {
    this.#close('ended')
  }

  cancel(): void {
    this.#drop()
    this.#close('ended')
  }

  async text(): Promise<string> {
    const decoder = new TextDecoder()
    let text = ''
    for await (const chunk of this) text += decoder.decode(chunk, { stream: true })
    return text + decoder.decode()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for (;;) {
        const initial = this.#initial && await this.#nextInitial()
        if (initial) yield initial
        else if (this.#lines.length > 0) yield this.#nextChunk()
        else if (this.#state === 'failed') throw this.#failure
        else if (this.#state === 'ended') return
        else await new Promise<void>((resolve) => (this.#wake = resolve))
      }
    } finally {
      this.cancel()
    }
  }

  /** Resolves with the next lines of the initial state; to undefined behind the last one. */
  async #nextInitial(): Promise<Uint8Array | undefined> {
    let text = ''
    while (this.#initial && text.length < CHUNK_BYTES) {
      const { done, value } = this.#initial.next()
      if (done) this.#initial = undefined
      else text += value ?? ''
      if (this.#budget.isSpent) await this.#budget.turn()
    }
    return text ? encoder.encode(text) : undefined
  }

  #nextChunk(): Uint8Array {
    let [count, size] = [0, 0]
    while (count < this.#lines.length && size < CHUNK_BYTES) size += this.#lines[count++]!.byteLength
    this.#unreadBytes -= size
    return concatenate(this.#lines.splice(0, count), size)
  }

  #drop(): void {
    this.#initial = undefined
    this.#lines = []
  }

  #close(state: 'ended' | 'failed'): void {
    if (!this.isOpen) return
    this.#state = state
    for (const cleanup of this.#cleanups) cleanup()
    this.#wake?.()
  }
}
