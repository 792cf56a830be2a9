/** Our end of the sessions that operators open: how often one started, how long none ran, and who runs now. */
import type { HttpBody, HttpRequest, HttpResponse, Transport } from '../core/transport.ts'
import { aborted, abortScope } from '../async/abort.ts'
import type { Clock } from '../async/clock.ts'
import { LOADING_PATH } from './loading.ts'
import { SESSION_PATH, type SessionAnswer, type SessionRequest } from './dev_session.ts'

export interface SessionHostOptions {
  readonly clock: Clock
  /** What changed since then (as `clock.now()` counts), and when, if that is known. */
  changedSince(timeMs: number): Promise<{ readonly file: string; readonly atMs: number } | undefined>
  /** An operator's process is about to read its files: not before this has settled. */
  onLoading(): Promise<void>
  onStart(request: SessionRequest, start: number): void
}

/** When a watcher has not started the operator again after so long, it did not end for a restart. */
const LONGEST_RESTART_MS = 10_000

export class SessionHost {
  readonly #options: SessionHostOptions
  readonly #closing = new AbortController()
  #starts = 0
  /** When what runs was read, or was started where nothing is said of the reading. */
  #startedAt = 0
  #loadingSince: number | undefined
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
    return (request) => {
      if (request.path === SESSION_PATH) return this.#open(request)
      return request.path === LOADING_PATH ? this.#load() : network(request)
    }
  }

  /** Tells every operator that this is the end. */
  close(): void {
    this.#closing.abort()
  }

  async #load(): Promise<HttpResponse> {
    this.#loadingSince = this.#options.clock.now()
    await this.#options.onLoading()
    return { status: 204, headers: {}, body: NOTHING }
  }

  async #open(request: HttpRequest): Promise<HttpResponse> {
    const { clock, onStart } = this.#options
    const start = ++this.#starts
    const answer = start === 1 ? { start } : await this.#restart(start)
    this.#startedAt = this.#loadingSince ?? clock.now()
    this.#loadingSince = undefined
    this.#endedAt = undefined
    onStart(JSON.parse(textOf(request.body)) as SessionRequest, start)
    const body = new OpenBody(`${JSON.stringify(answer)}\n`, [this.#closing.signal, request.signal], () => {
      // The next one may have come before the end of this one was noticed.
      if (this.#starts === start) this.#endedAt = clock.now()
    })
    return { status: 200, headers: { 'content-type': 'application/json' }, body }
  }

  async #restart(start: number): Promise<SessionAnswer> {
    const { clock, changedSince } = this.#options
    const now = clock.now()
    const endedAt = this.#endedAt ?? now
    const changed = await changedSince(this.#startedAt)
    // An operator that had crashed did not wait for us, but for the change.
    const downMs = Math.max(0, now - Math.max(endedAt, changed?.atMs ?? 0))
    const why = changed?.file ?? 'a file that it imports'
    return downMs <= LONGEST_RESTART_MS ? { start, changed: why, downMs } : { start, changed: why }
  }
}

const NOTHING: HttpBody = {
  async *[Symbol.asyncIterator]() {},
  text: () => Promise.resolve(''),
  cancel() {},
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
