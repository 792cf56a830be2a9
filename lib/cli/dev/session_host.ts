/** Our end of the sessions that operators open: how often one started, how long none ran, and who runs now. */
import type { HttpBody, HttpRequest, HttpResponse, Transport } from '../../core/transport.ts'
import { aborted, abortScope } from '../../async/abort.ts'
import type { Clock } from '../../async/clock.ts'
import { SESSION_PATH, type SessionAnswer, type SessionRequest } from './session.ts'

export interface SessionHostOptions {
  readonly clock: Clock
  /** The file that was saved, for which the operator's process was started, and when (as `clock.now()` counts). */
  changed(): { readonly file: string; readonly atMs: number } | undefined
  /** Called before a session is opened, which waits for it: the operator's clusters are there when it is answered. */
  prepare(request: SessionRequest): Promise<void>
  onStart(request: SessionRequest, start: number): void
}

/** An operator that was not started again after so long did not end for a restart. */
const LONGEST_RESTART_MS = 10_000

export class SessionHost {
  readonly #options: SessionHostOptions
  readonly #closing = new AbortController()
  #starts = 0
  /** When the last one ended; undefined while one runs. */
  #endedAt: number | undefined

  constructor(options: SessionHostOptions) {
    this.#options = options
  }

  /** How often an operator has started. */
  get starts(): number {
    return this.#starts
  }

  /** The same network, with sessions on it. */
  over(network: Transport): Transport {
    return (request) => (request.path === SESSION_PATH ? this.#open(request) : network(request))
  }

  /** Tells every operator that this is the end. */
  close(): void {
    this.#closing.abort()
  }

  async #open(request: HttpRequest): Promise<HttpResponse> {
    const { clock, prepare, onStart } = this.#options
    const asked = JSON.parse(textOf(request.body)) as SessionRequest
    await prepare(asked)
    const start = ++this.#starts
    const answer = start === 1 ? { start } : this.#restart(start)
    this.#endedAt = undefined
    onStart(asked, start)
    const body = new OpenBody(`${JSON.stringify(answer)}\n`, [this.#closing.signal, request.signal], () => {
      // The next one may have come before the end of this one was noticed.
      if (this.#starts === start) this.#endedAt = clock.now()
    })
    return { status: 200, headers: { 'content-type': 'application/json' }, body }
  }

  #restart(start: number): SessionAnswer {
    const { clock, changed: changedFile } = this.#options
    const now = clock.now()
    const endedAt = this.#endedAt ?? now
    const changed = changedFile()
    // An operator that had crashed did not wait for us, but for the change.
    const downMs = Math.max(0, now - Math.max(endedAt, changed?.atMs ?? 0))
    const why = changed?.file ?? 'a file that it imports'
    return downMs <= LONGEST_RESTART_MS ? { start, changed: why, downMs } : { start, changed: why }
  }
}

/** One line, then nothing until one of the signals ends it. */
class OpenBody implements HttpBody {
  readonly #line: string
  readonly #until: ReturnType<typeof abortScope>
  readonly #onEnd: () => void

  constructor(line: string, signals: readonly (AbortSignal | undefined)[], onEnd: () => void) {
    this.#line = line
    this.#until = abortScope(...signals)
    this.#onEnd = onEnd
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      yield new TextEncoder().encode(this.#line)
      await aborted(this.#until.signal)
    } finally {
      this.#until[Symbol.dispose]()
      this.#onEnd()
    }
  }

  async text(): Promise<string> {
    await aborted(this.#until.signal)
    return this.#line
  }

  cancel(): void {
    this.#until.abort()
  }
}

function textOf(body: HttpRequest['body']): string {
  return typeof body === 'string' ? body : new TextDecoder().decode(body)
}
