/** Accepts the sessions of operators, counts their starts and measures restarts. */
import { internals } from 'kubeloop/apiserver'
import type { HttpBody, HttpRequest, HttpResponse, Transport } from '../../core/transport.ts'
import { aborted, abortScope } from '../../async/abort.ts'
import type { Clock } from '../../async/clock.ts'
import { EventChannel } from '../../async/event_channel.ts'
import { Latch } from '../../async/latch.ts'
import { messageOf } from '../../core/errors.ts'
import type { RecordLine } from '../../testing/rights_recorder.ts'
import {
  type LoopBatch,
  type LoopCommand,
  type Notice,
  NOTICE_PATH,
  SESSION_PATH,
  type SessionRequest,
  type SessionResponse,
} from './session.ts'

export interface SessionHostOptions {
  readonly clock: Clock
  /** Returns the saved file that caused the last restart, and the time of the save by `clock.now()`. */
  changed(): { readonly file: string; readonly atMs: number } | undefined
  /** Awaited with the names of the operator's other clusters, when it starts and when a provider has added one. */
  onClusters?(names: readonly string[]): Promise<void>
  /** Called with each line of the record of rights. Default: they are dropped. */
  onRight?(line: RecordLine): void
  /** Called with what `onRight` throws: roles by the record would lack the right. */
  onProblem?(message: string): void
  /** Called with what the operator does, for the page of `--ui`. Default: it is dropped. */
  onLoop?: ((batch: LoopBatch) => void) | undefined
  /** Awaited before a session is accepted. Resolves with what the response says of its account, and of the page. */
  prepare(request: SessionRequest): Promise<Pick<SessionResponse, 'tokens' | 'refused' | 'paused'>>
  /** `installed` resolves when the operator's webhooks are installed, at once without any; after 10 s in any case. */
  onStart(request: SessionRequest, start: number, installed: Promise<void>): void
}

/** How long to wait for an operator to install its webhooks. Without them it has failed, or another replica leads. */
const INSTALL_TIMEOUT_MS = 10_000

/** A longer time between two operators is not the duration of a restart. */
const MAX_RESTART_MS = 10_000

export class SessionHost {
  readonly #options: SessionHostOptions
  readonly #closing = new AbortController()
  #starts = 0
  /** When the last operator ended; undefined while one runs. */
  #endedAt: number | undefined
  /** Opens when the webhooks of the running operator are installed. */
  #installed = new Latch()
  /** The names of the other clusters of the running operator. */
  #clusters = new Set<string>()
  /** The response to the last session. */
  #body: OpenBody | undefined

  constructor(options: SessionHostOptions) {
    this.#options = options
  }

  get starts(): number {
    return this.#starts
  }

  /** Wraps a transport to accept sessions as well. */
  over(network: Transport): Transport {
    return async (request) => {
      if (request.path === SESSION_PATH) return await this.#open(request)
      if (request.path !== NOTICE_PATH) return await network(request)
      const { installed, cluster, right, loop } = JSON.parse(textOf(request.body)) as Notice
      if (installed) this.#installed.open()
      if (cluster !== undefined) await this.#options.onClusters?.([...this.#clusters.add(cluster)])
      if (right) this.#record(right)
      if (loop) this.#options.onLoop?.(loop)
      return internals.answerJson(200, '', [])
    }
  }

  /** Sends a command to the operator, if one runs. */
  send(command: LoopCommand): void {
    this.#body?.send(`${JSON.stringify(command)}\n`)
  }

  /** Ends all sessions, so that the operators end. */
  close(): void {
    this.#closing.abort()
  }

  async #open(request: HttpRequest): Promise<HttpResponse> {
    const { clock, onClusters, prepare, onStart } = this.#options
    const session = JSON.parse(textOf(request.body)) as SessionRequest
    this.#clusters = new Set(session.clusters.map(({ name }) => name))
    await onClusters?.([...this.#clusters])
    const account = await prepare(session)
    const start = ++this.#starts
    const response = { start, ...(start > 1 && this.#restart()), ...account }
    this.#endedAt = undefined
    onStart(session, start, this.#untilInstalled(session))
    const signals = [this.#closing.signal, request.signal]
    const body = this.#body = new OpenBody(`${JSON.stringify(response)}\n`, signals, () => {
      // The next operator may start before the end of this one is noticed.
      if (this.#starts === start) this.#endedAt = clock.now()
    })
    return { status: 200, headers: { 'content-type': 'application/json' }, body }
  }

  #record(right: RecordLine): void {
    try {
      this.#options.onRight?.(right)
    } catch (error) {
      this.#options.onProblem?.(messageOf(error))
    }
  }

  #untilInstalled({ webhooks }: SessionRequest): Promise<void> {
    if (!webhooks) return Promise.resolve()
    const installed = this.#installed = new Latch()
    const cancel = this.#options.clock.after(INSTALL_TIMEOUT_MS, () => installed.open())
    return installed.opened.finally(cancel)
  }

  #restart(): Pick<SessionResponse, 'changed' | 'downMs'> {
    const now = this.#options.clock.now()
    const { file = 'a file that it imports', atMs = 0 } = this.#options.changed() ?? {}
    // After a crash, the restart waits for a save.
    const downMs = Math.max(0, now - Math.max(this.#endedAt ?? now, atMs))
    return { changed: file, ...(downMs <= MAX_RESTART_MS && { downMs }) }
  }
}

/** A body of a line, and of those that are sent later, that stays open until one of the signals is aborted. */
class OpenBody implements HttpBody {
  readonly #lines = new EventChannel<string>()
  readonly #until: ReturnType<typeof abortScope>
  readonly #onEnd: () => void

  constructor(line: string, signals: readonly (AbortSignal | undefined)[], onEnd: () => void) {
    this.#until = abortScope(...signals)
    this.#onEnd = onEnd
    this.send(line)
    void aborted(this.#until.signal).then(() => this.#lines.close())
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for await (const line of this.#lines) yield new TextEncoder().encode(line)
    } finally {
      this.#until[Symbol.dispose]()
      this.#lines.close()
      this.#onEnd()
    }
  }

  send(line: string): void {
    // Rejects only if the body has ended, and so has the operator that reads it.
    this.#lines.send(line).catch(() => {})
  }

  async text(): Promise<string> {
    let text = ''
    for await (const line of this.#lines) text += line
    return text
  }

  cancel(): void {
    this.#until.abort()
  }
}

function textOf(body: HttpRequest['body']): string {
  return typeof body === 'string' ? body : new TextDecoder().decode(body)
}
