/** The body of a watch: lines that are pushed as they happen and wait for the reader. No timers, only promises. */
import type { HttpBody } from '../../core/transport.ts'

const encoder = new TextEncoder()

/** A reader so slow that this many lines wait is cut off, as the real server does; it will list again. */
const MAX_WAITING = 100_000
/** Lines in one chunk. */
const MAX_IN_CHUNK = 1000

export class WatchBody implements HttpBody {
  readonly #lines: string[] = []
  readonly #onEnd: () => void
  #max = MAX_WAITING
  #state: 'open' | 'ended' | 'failed' = 'open'
  #failure: unknown
  #wake: (() => void) | undefined

  /** `onEnd` is called once: when the reader has gone or the writer has ended. */
  constructor(onEnd: () => void) {
    this.#onEnd = onEnd
  }

  get isOpen(): boolean {
    return this.#state === 'open'
  }

  /** A line of what there is when the watch begins: nobody could have read it yet, so it does not count as waiting. */
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

  /** No more lines; those that wait are still read. */
  end(): void {
    this.#close('ended')
  }

  /** The reader's signal was aborted: he gets its reason at once. */
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
        if (this.#lines.length > 0) yield encoder.encode(this.#take())
        else if (this.#state === 'failed') throw this.#failure
        else if (this.#state === 'ended') return
        else await new Promise<void>((resolve) => (this.#wake = resolve))
      }
    } finally {
      this.cancel()
    }
  }

  /** What waits; of very much only a part, so that no chunk becomes as large as all there is. */
  #take(): string {
    const count = this.#lines.length > 2 * MAX_IN_CHUNK ? MAX_IN_CHUNK : this.#lines.length
    return this.#lines.splice(0, count).join('')
  }

  #close(state: 'ended' | 'failed'): void {
    if (this.#state !== 'open') return
    this.#state = state
    this.#onEnd()
    this.#wake?.()
  }
}
