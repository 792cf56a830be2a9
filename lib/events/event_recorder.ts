/** Writes down what controllers tell about objects, as Events of events.k8s.io/v1, and delays nobody by it. */
import { ApiError } from '../core/errors.ts'
import type { AnyResource } from '../core/resource.ts'
import type { Runnable } from '../core/runnable.ts'
import { backoffMs } from '../async/backoff.ts'
import { type Clock, systemClock, within } from '../async/clock.ts'
import { type Log, safeLog } from '../observe/log.ts'
import type { Api } from '../client/api.ts'
import { cutInstance, type EventBody, eventOf, isControllerName, occurrence } from './event.ts'
import { DEFAULT_LIMITS, type EventLimits, EventState, type Job } from './event_state.ts'
import { DroppedEvents } from './dropped_events.ts'
import type { EventMeter } from './metrics.ts'
import type { EventOptions, EventType, Recorder, Regarding } from './recorder.ts'
import type { Moment } from './series.ts'
import { writeOutcome } from './write_outcome.ts'

/** Options of {@link EventRecorder}. */
export interface EventRecorderOptions {
  /** Neither bound to a run nor fenced: what happened is told also when the lease is lost. It needs the rights create and patch. */
  readonly api: Api
  /** Default: the real clock. */
  readonly clock?: Clock | undefined
  /** Default: none. One that throws stops nothing. */
  readonly log?: Log | undefined
  /** The reportingController, which `kubectl describe` shows as the source: a name such as `foo-operator`, or `example.dev/foo`. */
  readonly controller: string
  /** The reportingInstance: which process of it. Cut at 128 bytes. Default: the controller. */
  readonly instance?: string | undefined
  /** How long what is left is still sent after the stop. Default: 5 s. */
  readonly drainMs?: number | undefined
  readonly limits?: Partial<EventLimits> | undefined
  readonly meter?: EventMeter | undefined
  /** Default: Math.random. */
  readonly random?: (() => number) | undefined
}

const EVENT: AnyResource = {
  group: 'events.k8s.io',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  scope: 'Namespaced',
}

/** How many writes are under way at most; while they fail, one. */
const PARALLEL = 8

/** A request that takes longer has failed: the next one may find another server. */
const PATIENCE_MS = 10_000

/** Between failed writes, of whichever event. */
const BACKOFF = { baseMs: 1000, maxMs: 30_000, jitter: 0.25 }

/**
 * A {@link Recorder} with a loop of its own. What is told before the start waits; what is told after the end is dropped. It is
 * started before all that records, and stopped after.
 */
export class EventRecorder implements Runnable, Recorder {
  readonly name = 'event recorder'
  readonly role = 'recorder'
  readonly #options: EventRecorderOptions & { readonly clock: Clock; readonly log: Log; readonly instance: string }
  readonly #state: EventState
  readonly #losses: DroppedEvents
  readonly #active = new Set<Promise<void>>()
  #phase: 'new' | 'running' | 'ended' = 'new'
  #lastSerial = 0n
  /** Failed writes in a row, and until when nothing is sent after the last of them. */
  #failures = 0
  #pausedUntilMs = -Infinity
  /** Ends the rest of the loop, if it rests. */
  #wake: () => void = () => {}

  /** @throws TypeError when controller or instance can be none. */
  constructor(options: EventRecorderOptions) {
    checkController(options.controller)
    const { instance = options.controller, clock = systemClock } = options
    if (!instance) throw new TypeError(`Cannot record events as "${options.controller}": the instance is empty`)
    const limits = { ...DEFAULT_LIMITS, ...options.limits }
    const log = safeLog(options.log)
    this.#options = { ...options, clock, log, instance: cutInstance(instance) }
    this.#losses = new DroppedEvents({ log, meter: options.meter, limits })
    this.#state = new EventState(limits, (cause, count) => this.#losses.count(cause, count))
  }

  normal(about: Regarding, reason: string, note: string, options?: EventOptions): void {
    this.#record('Normal', about, reason, note, { ...options, controller: this.#options.controller })
  }

  warning(about: Regarding, reason: string, note: string, options?: EventOptions): void {
    this.#record('Warning', about, reason, note, { ...options, controller: this.#options.controller })
  }

  /** The same under another reportingController. @throws TypeError when that can be none. */
  as(controller: string): Recorder {
    checkController(controller)
    return {
      normal: (about, reason, note, options) => this.#record('Normal', about, reason, note, { ...options, controller }),
      warning: (about, reason, note, options) =>
        this.#record('Warning', about, reason, note, { ...options, controller }),
    }
  }

  /**
   * Sends until the signal is aborted, and then what is left, for a bounded time. Does not reject for events that could not be
   * written: they are counted and logged.
   */
  async start(signal: AbortSignal): Promise<void> {
    if (this.#phase !== 'new') throw new Error('Cannot start the event recorder: it was started before')
    this.#phase = 'running'
    const { clock, drainMs = 5000 } = this.#options
    const cutoff = new AbortController()
    let cancelCutoff = (): void => {}
    const stop = (): void => {
      this.#state.flush(clock.monotonic())
      // The pauses were made for the long run; now there is little time.
      this.#pausedUntilMs = -Infinity
      this.#failures = 0
      cancelCutoff = clock.after(drainMs, () => {
        cutoff.abort(new DOMException('The event recorder has no more time', 'AbortError'))
        this.#wake()
      })
      this.#wake()
    }
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
    try {
      await this.#run(signal, cutoff.signal)
    } finally {
      signal.removeEventListener('abort', stop)
      cancelCutoff()
      this.#phase = 'ended'
      this.#state.abandon()
      this.#losses.sum()
    }
  }

  /** The loop: sends what may be sent, and rests until there may be more. */
  async #run(signal: AbortSignal, cutoff: AbortSignal): Promise<void> {
    for (;;) {
      const nowMs = this.#options.clock.monotonic()
      this.#state.sweep(nowMs)
      while (
        !cutoff.aborted && nowMs >= this.#pausedUntilMs && this.#active.size < (this.#failures > 0 ? 1 : PARALLEL)
      ) {
        const job = this.#state.take(nowMs)
        if (!job) break
        const sent: Promise<void> = this.#send(job, cutoff).finally(() => {
          this.#active.delete(sent)
          this.#wake()
        })
        this.#active.add(sent)
      }
      if (this.#state.idle) this.#losses.calm()
      if (this.#active.size === 0 && (cutoff.aborted || (signal.aborted && this.#state.idle))) return
      await this.#rest(Math.min(this.#state.sweepMs, nowMs < this.#pausedUntilMs ? this.#pausedUntilMs : Infinity))
    }
  }

  /** Rests until it is woken, or until that time. */
  #rest(untilMs: number): Promise<void> {
    const { clock } = this.#options
    return new Promise((resolve) => {
      const cancel = untilMs < Infinity
        ? clock.after(Math.max(0, untilMs - clock.monotonic()), () => this.#wake())
        : undefined
      this.#wake = () => {
        this.#wake = () => {}
        cancel?.()
        resolve()
      }
    })
  }

  /** Sends one write and takes its answer. Never rejects. */
  async #send(job: Job, cutoff: AbortSignal): Promise<void> {
    const { clock } = this.#options
    try {
      await this.#request(job, cutoff)
      this.#failures = 0
      this.#pausedUntilMs = -Infinity
      this.#state.settle(job, 'written', 'failed', clock.monotonic())
    } catch (error) {
      const verdict = writeOutcome(error, job.write.kind)
      const nowMs = clock.monotonic()
      if (verdict.answer === 'unsent' || verdict.answer === 'unknown') this.#pause(error, nowMs)
      else this.#failures = 0
      if (verdict.cause === 'forbidden') this.#state.deny(job.write.kind, job.write.namespace, nowMs)
      const lost = this.#state.settle(job, verdict.answer, verdict.cause, nowMs)
      // What was cut off counts with all that is left.
      if (!cutoff.aborted) this.#losses.failed(job, error, verdict, lost)
    }
  }

  /** Lets the server be. Those that fail together are one failure. */
  #pause(error: unknown, nowMs: number): void {
    const { random = Math.random } = this.#options
    const asked = error instanceof ApiError ? error.retryAfterMs ?? 0 : 0
    const ms = nowMs < this.#pausedUntilMs ? 0 : backoffMs(this.#failures++, BACKOFF, random)
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, nowMs + Math.max(ms, asked))
  }

  async #request({ write: { kind, namespace, name, body } }: Job, cutoff: AbortSignal): Promise<void> {
    const { api, clock } = this.#options
    const late = (): Error => new DOMException('The server has not answered in time', 'TimeoutError')
    await within(clock, PATIENCE_MS, late, async (signal) => {
      if (kind === 'create') await api.create({ resource: EVENT, namespace }, body, {}, signal)
      else await api.patch({ resource: EVENT, namespace, name }, 'merge', body, {}, signal)
    }, cutoff)
  }

  #record(
    type: EventType,
    about: Regarding,
    reason: string,
    note: string,
    options: EventOptions & { controller: string },
  ): void {
    const what = occurrence(type, about, reason, note, options)
    if (this.#phase === 'ended') return this.#losses.late(what)
    const { clock, instance } = this.#options
    const now: Moment = { wallMs: clock.now(), monotonicMs: clock.monotonic() }
    const make = (): EventBody => eventOf(what, { instance, wallMs: now.wallMs, serial: this.#serial(now.wallMs) })
    if (this.#state.record(what, make, now) === 'exhausted') this.#losses.exhausted(what)
    this.#wake()
  }

  /** Nanoseconds since 1970, of which we know the milliseconds; the rest tells replicas apart, and no two of ours are equal. */
  #serial(wallMs: number): bigint {
    const { random = Math.random } = this.#options
    const serial = BigInt(Math.trunc(wallMs)) * 1_000_000n + BigInt(Math.floor(random() * 1_000_000))
    this.#lastSerial = serial > this.#lastSerial ? serial : this.#lastSerial + 1n
    return this.#lastSerial
  }
}

function checkController(name: string): void {
  if (!isControllerName(name)) {
    throw new TypeError(
      `Cannot record events as "${name}": that is no qualified name such as "foo" or "example.dev/foo"`,
    )
  }
}
