/** Accepts the sessions of operators, counts their starts and measures restarts. */
import type { HttpBody, HttpRequest, HttpResponse, Transport } from '../../core/transport.ts'
import { aborted, abortScope } from '../../async/abort.ts'
import type { Clock } from '../../async/clock.ts'
import { SESSION_PATH, type SessionRequest, type SessionResponse } from './session.ts'

export interface SessionHostOptions {
  readonly clock: Clock
  /** Returns the saved file that caused the last restart, and the time of the save by `clock.now()`. */
  changed(): { readonly file: string; readonly atMs: number } | undefined
  /** Awaited before a session is accepted, so that the operator's clusters are served then. */
  prepare(request: SessionRequest): Promise<void>
  onStart(request: SessionRequest, start: number): void
}

/** A longer time between two operators is not the duration of a restart. */
const MAX_RESTART_MS = 10_000

export class SessionHost {
  readonly #options: SessionHostOptions
  readonly #closing = new AbortController()
  #starts = 0
  /** When the last operator ended; undefined while one runs. */
  #endedAt: number | undefined

  constructor(options: SessionHostOptions) {
    this.#options = options
  }

  /** The number of starts of the operator. */
  get starts(): number {
    return this.#starts
  }

  /** Wraps a transport to accept sessions as well. */
  over(network: Transport): Transport {
    return (request) => (request.path === SESSION_PATH ? this.#open(request) : network(request))
  }

  /** Ends all sessions, so that the operators end. */
  close(): void {
    this.#closing.abort()
  }

  async #open(request: HttpRequest): Promise<HttpResponse> {
    const { clock, prepare, onStart } = this.#options
    const session = JSON.parse(textOf(request.body)) as SessionRequest
    await prepare(session)
    const start = ++this.#starts
    const response = start === 1 ? { start } : this.#restart(start)
    this.#endedAt = undefined
    onStart(session, start)
    const body = new OpenBody(`${JSON.stringify(response)}\n`, [this.#closing.signal, request.signal], () => {
      // The next operator may start before the end of this one is noticed.
      if (this.#starts === start) this.#endedAt = clock.now()
    })
    return { status: 200, headers: { 'content-type': 'application/json' }, body }
  }

  #restart(start: number): SessionResponse {
    const { clock, changed: changedFile } = this.#options
    const now = clock.now()
    const endedAt = this.#endedAt ?? now
    const changed = changedFile()
    // After a crash, the restart waits for a save.
    const downMs = Math.max(0, now - Math.max(endedAt, changed?.atMs ?? 0))
    const why = changed?.file ?? 'a file that it imports'
    return downMs <= MAX_RESTART_MS ? { start, changed: why, downMs } : { start, changed: why }
  }
}

/** A body of one line that stays open until one of the signals is aborted. */
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
