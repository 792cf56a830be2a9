/** Writes Events of events.k8s.io/v1 in the background. */
import { ApiError, messageOf } from '../core/errors.ts'
import type { AnyResource } from '../core/resource.ts'
import type { Runnable } from '../core/runnable.ts'
import { backoffMs } from '../async/backoff.ts'
import { within } from '../async/clock.ts'
import { environmentOf, type RandomPartEnvironment, type RandomPartOptions } from '../observe/environment.ts'
import { RateLimitedLog } from '../observe/log.ts'
import type { Api } from '../client/api.ts'
import {
  cutInstance,
  type EventBody,
  eventOf,
  type EventOptions,
  type EventType,
  isControllerName,
  type Occurrence,
  occurrence,
  type Regarding,
} from './event.ts'
import { DroppedEvents, writeOutcome } from './dropped_events.ts'
import { DEFAULT_LIMITS, type EventLimits, EventState, type Job } from './event_state.ts'
import type { EventMeter } from './metrics.ts'
import type { Moment } from './series.ts'

/**
 * Records Events about objects, in the background: calls return at once and never throw. One that the API server would
 * refuse every time, by its reason, its action or its object, is logged with its place and counted as dropped.
 *
 * Equal calls (type, reason, action, note, object) within six minutes of each other become one Event with a count;
 * another note makes another Event. For one object and reason, 25 different Events are allowed at once, and one more
 * every 5 minutes.
 */
export interface Recorder {
  /**
   * Records a normal event. `reason` is a word for programs, such as `ScaledUp`; `note` is a sentence for people, cut
   * at 1024 bytes. Both are visible to all users with the right to read events.
   */
  normal(about: Regarding, reason: string, note: string, options?: EventOptions): void
  /** Records a warning; see {@link normal}. */
  warning(about: Regarding, reason: string, note: string, options?: EventOptions): void
}

/**
 * The arguments of a method of {@link Recorder}.
 *
 * @internal
 */
type Call = Parameters<Recorder['normal']>

/** Options of {@link EventRecorder}. */
export interface EventRecorderOptions extends RandomPartOptions {
  /**
   * Neither bound to a run nor fenced, so that events are written after the lease is lost. It needs the rights create
   * and patch.
   */
  readonly api: Api
  /**
   * The reportingController, which `kubectl describe` shows as the source: a name such as `foo-operator` or
   * `example.dev/foo`.
   */
  readonly controller: string
  /** The reportingInstance: the name of the process, cut at 128 bytes. Default: the controller. */
  readonly instance?: string | undefined
  /** How long waiting events are still written after the stop, in milliseconds. Default: 5000. */
  readonly drainMs?: number | undefined
  readonly limits?: Partial<EventLimits> | undefined
  readonly meter?: EventMeter | undefined
}

const EVENT: AnyResource = {
  group: 'events.k8s.io',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  scope: 'Namespaced',
}

/** The max number of concurrent writes; while writes fail, it is one. */
const MAX_CONCURRENT = 8

/** The timeout of a request: the next one may reach another server. */
const TIMEOUT_MS = 10_000

/** The back-off after a failed write, for all events together. */
const BACKOFF = { baseMs: 1000, maxMs: 30_000, jitter: 0.25 }
/** The max honoured Retry-After: a proxy's may be of hours, and meanwhile events would be dropped. */
const MAX_RETRY_AFTER_MS = 300_000

/**
 * A {@link Recorder} with its own loop. Events that are recorded before the start wait; events after the end are
 * dropped. It is started before the runnables that record events, and stopped after them.
 */
export class EventRecorder implements Runnable, Recorder {
  readonly name = 'event recorder'
  readonly role = 'recorder'
  readonly #options: EventRecorderOptions & RandomPartEnvironment & { readonly instance: string }
  readonly #state: EventState
  readonly #dropped: DroppedEvents
  readonly #invalidLog: RateLimitedLog
  readonly #active = new Set<Promise<void>>()
  #phase: 'new' | 'running' | 'ended' = 'new'
  #lastSerial = 0n
  /** Failed writes in a row. */
  #failures = 0
  /** The end of the back-off. */
  #pausedUntilMs = -Infinity
  #wake: () => void = () => {}

  /** @throws TypeError if the controller is not a qualified name, or the instance is empty. */
  constructor(options: EventRecorderOptions) {
    checkController(options.controller)
    const { instance = options.controller } = options
    if (!instance) throw new TypeError(`Cannot record events as "${options.controller}": the instance is empty`)
    const limits = { ...DEFAULT_LIMITS, ...options.limits }
    const environment = environmentOf(options)
    const { clock, log } = environment
    this.#options = { ...options, ...environment, instance: cutInstance(instance) }
    this.#invalidLog = new RateLimitedLog(clock, log)
    this.#dropped = new DroppedEvents({ log, meter: options.meter, limits })
    this.#state = new EventState(limits, (cause, count) => this.#dropped.count(cause, count))
  }

  normal(...call: Call): void {
    this.#record('Normal', this.#options.controller, ...call)
  }

  warning(...call: Call): void {
    this.#record('Warning', this.#options.controller, ...call)
  }

  /**
   * Returns a recorder with another reportingController.
   *
   * @throws TypeError if it is not a qualified name.
   */
  as(controller: string): Recorder {
    checkController(controller)
    return {
      normal: (...call) => this.#record('Normal', controller, ...call),
      warning: (...call) => this.#record('Warning', controller, ...call),
    }
  }

  /**
   * Writes events until the signal is aborted, and then the waiting ones for at most {@link
   * EventRecorderOptions.drainMs}. It does not reject for events that could not be written: they are counted and
   * logged.
   */
  async start(signal: AbortSignal): Promise<void> {
    if (this.#phase !== 'new') throw new Error('Cannot start the event recorder: it was started before')
    this.#phase = 'running'
    const { clock, drainMs = 5000 } = this.#options
    const cutoff = new AbortController()
    let cancelCutoff = (): void => {}
    const stop = (): void => {
      this.#state.flush(clock.monotonic())
      // The back-off ends, as the time is short now.
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
      cancelCutoff()
      this.#phase = 'ended'
      this.#state.abandon()
      this.#dropped.logTotal()
    }
  }

  /** Sends the writes that are ready, then sleeps until there may be more. */
  async #run(signal: AbortSignal, cutoff: AbortSignal): Promise<void> {
    for (;;) {
      const nowMs = this.#options.clock.monotonic()
      this.#state.sweep(nowMs)
      while (
        !cutoff.aborted && nowMs >= this.#pausedUntilMs && this.#active.size < (this.#failures > 0 ? 1 : MAX_CONCURRENT)
      ) {
        const job = this.#state.take(nowMs)
        if (!job) break
        const sent: Promise<void> = this.#send(job, cutoff).finally(() => {
          this.#active.delete(sent)
          this.#wake()
        })
        this.#active.add(sent)
      }
      if (this.#state.idle) this.#dropped.reset()
      if (this.#active.size === 0 && (cutoff.aborted || (signal.aborted && this.#state.idle))) return
      await this.#sleep(Math.min(this.#state.sweepMs, nowMs < this.#pausedUntilMs ? this.#pausedUntilMs : Infinity))
    }
  }

  /** Resolves when the loop is woken, or at that time. */
  #sleep(untilMs: number): Promise<void> {
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

  /** Sends one write and handles its answer. Never rejects. */
  async #send(job: Job, cutoff: AbortSignal): Promise<void> {
    const { clock } = this.#options
    try {
      await this.#request(job, cutoff)
      this.#failures = 0
      this.#pausedUntilMs = -Infinity
      this.#state.settle(job, 'written', 'failed', clock.monotonic())
    } catch (error) {
      const outcome = writeOutcome(error, job.write.kind)
      const nowMs = clock.monotonic()
      if (outcome.answer === 'unsent' || outcome.answer === 'unknown') this.#pause(error, nowMs)
      else this.#failures = 0
      if (outcome.cause === 'forbidden') this.#state.deny(job.write.kind, job.write.namespace, nowMs)
      const lost = this.#state.settle(job, outcome.answer, outcome.cause, nowMs)
      // After the cutoff the event is counted with all others that are left.
      if (!cutoff.aborted) this.#dropped.failed(job, error, outcome, lost)
    }
  }

  /** Starts the back-off. Writes that fail together count as one failure. */
  #pause(error: unknown, nowMs: number): void {
    const { random } = this.#options
    const retryAfterMs = error instanceof ApiError ? Math.min(error.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS) : 0
    const ms = nowMs < this.#pausedUntilMs ? 0 : backoffMs(this.#failures++, BACKOFF, random)
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, nowMs + Math.max(ms, retryAfterMs))
  }

  async #request({ write: { kind, namespace, name, body } }: Job, cutoff: AbortSignal): Promise<void> {
    const { api, clock } = this.#options
    const timeout = (): Error =>
      new DOMException(`The server did not answer within ${TIMEOUT_MS / 1000} s`, 'TimeoutError')
    await within(clock, TIMEOUT_MS, timeout, async (signal) => {
      if (kind === 'create') await api.create({ resource: EVENT, namespace }, body, {}, signal)
      else await api.patch({ resource: EVENT, namespace, name }, 'merge', body, {}, signal)
    }, cutoff)
  }

  #record(type: EventType, controller: string, ...[about, reason, note, options]: Call): void {
    let what: Occurrence
    try {
      what = occurrence(type, about, reason, note, { ...options, controller })
    } catch (error) {
      // A mistake in a message about the work must not fail the work.
      this.#dropped.count('refused', 1)
      this.#invalidLog.error(messageOf(error), { error })
      return
    }
    if (this.#phase === 'ended') return this.#dropped.late(what)
    const { clock, instance } = this.#options
    const now: Moment = { wallMs: clock.now(), monotonicMs: clock.monotonic() }
    const make = (): EventBody => eventOf(what, { instance, wallMs: now.wallMs, serial: this.#serial(now.wallMs) })
    if (this.#state.record(what, make, now) === 'exhausted') this.#dropped.exhausted(what)
    this.#wake()
  }

  /**
   * Returns nanoseconds since 1970. The part below milliseconds is random, to differ between replicas. Never repeats.
   */
  #serial(wallMs: number): bigint {
    const { random } = this.#options
    const serial = BigInt(Math.trunc(wallMs)) * 1_000_000n + BigInt(Math.floor(random() * 1_000_000))
    this.#lastSerial = serial > this.#lastSerial ? serial : this.#lastSerial + 1n
    return this.#lastSerial
  }
}

function checkController(name: string): void {
  if (!isControllerName(name)) {
    throw new TypeError(`Cannot record events as "${name}": use a qualified name such as "foo" or "example.dev/foo"`)
  }
}
