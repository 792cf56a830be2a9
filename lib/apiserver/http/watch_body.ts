/** The response body of a watch: buffers pushed lines for the reader. */
import type { HttpBody } from '../../core/transport.ts'

const encoder = new TextEncoder()

/** Maximum number of buffered lines. A slower reader is disconnected, as on the real server, and lists again. */
const MAX_BUFFERED_LINES = 100_000
/** Maximum number of lines per chunk of a long backlog. */
const MAX_CHUNK_LINES = 1000

export class WatchBody implements HttpBody {
  readonly #lines: string[] = []
  readonly #onEnd: () => void
  #max = MAX_BUFFERED_LINES
  #state: 'open' | 'ended' | 'failed' = 'open'
  #failure: unknown
  #wake: (() => void) | undefined

  /** `onEnd` is called once, when the reader has cancelled or the writer has ended the body. */
  constructor(onEnd: () => void) {
    this.#onEnd = onEnd
  }

  get isOpen(): boolean {
    return this.#state === 'open'
  }

  /** Adds a line of the initial state, which does not count against the limit: no reader could have read it yet. */
  pushInitial(line: string): void {
    this.#max++
    this.push(line)
  }

  push(line: string): void {
    if (this.#state !== 'open') return
    this.#lines.push(line)
    if (this.#lines.length > this.#max) this.end()
    this.#wake?.()
  }

  /** Ends the body. Buffered lines can still be read. */
  end(): void {
    this.#close('ended')
  }

  /** Called when the reader's signal is aborted: drops buffered lines and throws the reason to the reader. */
  fail(reason: unknown): void {
    if (this.#state !== 'open') return
    this.#failure = reason
    this.#lines.length = 0
    this.#close('failed')
  }

  cancel(): void {
    this.#lines.length = 0
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
        if (this.#lines.length > 0) yield encoder.encode(this.#nextChunk())
        else if (this.#state === 'failed') throw this.#failure
        else if (this.#state === 'ended') return
        else await new Promise<void>((resolve) => (this.#wake = resolve))
      }
    } finally {
      this.cancel()
    }
  }

  /** Returns the buffered lines, or only the first 1000 of a long backlog, which bounds the chunk size. */
  #nextChunk(): string {
    const count = this.#lines.length > 2 * MAX_CHUNK_LINES ? MAX_CHUNK_LINES : this.#lines.length
    return this.#lines.splice(0, count).join('')
  }

  #close(state: 'ended' | 'failed'): void {
    if (this.#state !== 'open') return
    this.#state = state
    this.#onEnd()
    this.#wake?.()
  }
}
