/** The body of a watch: lines that are pushed as they happen and wait for the reader. No timers, only promises. */
import type { HttpBody } from '../core/transport.ts'

const encoder = new TextEncoder()

/** A reader so slow that this many lines wait is cut off, as the real server does; it will list again. */
const MOST_WAITING = 100_000

export class WatchBody implements HttpBody {
  readonly #lines: string[] = []
  readonly #onEnd: () => void
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

  push(line: string): void {
    if (this.#state !== 'open') return
    this.#lines.push(line)
    if (this.#lines.length > MOST_WAITING) this.end()
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
        if (this.#lines.length > 0) yield encoder.encode(this.#lines.splice(0).join(''))
        else if (this.#state === 'failed') throw this.#failure
        else if (this.#state === 'ended') return
        else await new Promise<void>((resolve) => (this.#wake = resolve))
      }
    } finally {
      this.cancel()
    }
  }

  #close(state: 'ended' | 'failed'): void {
    if (this.#state !== 'open') return
    this.#state = state
    this.#onEnd()
    this.#wake?.()
  }
}
