/** Lets synchronous requests wait for webhooks: a request that lacks an answer ends, and runs again with it. */
import { abortScope, untilAborted } from '../../async/abort.ts'
import { type Clock, turnBudgetOf } from '../../async/clock.ts'
import type { Log } from '../../observe/log.ts'
import type { WebhookClientConfig } from '../../core/resource.ts'
import type { ApiObject, JsonObject } from '../model/json.ts'
import { remembered } from '../model/remembered.ts'
import type { Call } from '../model/routes.ts'
import { StatusError } from '../model/status.ts'
import { Suspension } from '../model/suspension.ts'
import { messageOf } from '../../core/errors.ts'
import { CallError, type CallWebhook, clientUrl, responseText } from './call.ts'

interface Outcome {
  readonly value?: unknown
  readonly error?: unknown
  readonly warnings: readonly string[]
}

/** The answers of earlier phases for one state of an object. */
interface Steps {
  readonly version: string
  /** How often the phases have started. */
  readonly starts: number
  readonly phases: Map<string, Outcome>
}

/** A webhook that itself writes the object would otherwise be called forever. */
const MAX_STARTS = 10
const CHANGING = 'Operation cannot be fulfilled: the object was modified each time its webhooks were called; ' +
  'please apply your changes to the latest version and try again'

/**
 * The answers that one request has got so far.
 *
 * A request with a session stores nothing before its last answer, so it can run again. What it computes anew on each
 * run, such as a uid, is taken from the run whose object a webhook has seen.
 */
export class Session {
  /** Undefined for the session of a watch event. */
  readonly call: Call | undefined
  readonly signal: AbortSignal | undefined
  /** Set when the user is known to have the right: a request may delete that, and then go on. */
  isAdmitted = false
  readonly #steps = new Map<string, Steps>()
  readonly #done = new Map<string, unknown>()
  readonly #failures = new Map<string, unknown>()
  readonly #converted = new Map<ApiObject, Map<string, ApiObject>>()

  constructor(call: Call | undefined, signal: AbortSignal | undefined = call?.signal) {
    this.call = call
    this.signal = signal
  }

  /**
   * Returns the outcome of `work`, which is started once for a phase of the write of `subject` at `version`. If another
   * request changes the object meanwhile, its version differs, and all phases start again.
   */
  step<T>(subject: string, version: string, phase: string, work: (warnings: string[]) => Promise<T>): T {
    const { phases } = this.#stepsOf(subject, version)
    const outcome = phases.get(phase)
    if (!outcome) {
      throw new Suspension(async () => {
        const warnings: string[] = []
        try {
          phases.set(phase, { value: await work(warnings), warnings })
        } catch (error) {
          phases.set(phase, { error, warnings })
        }
      })
    }
    this.call?.warnings.push(...outcome.warnings)
    if ('error' in outcome) throw outcome.error
    return outcome.value as T
  }

  /** Returns the value of the first run that came here with the subject at this version. */
  keep<T>(subject: string, version: string, phase: string, value: T): T {
    const { phases } = this.#stepsOf(subject, version)
    if (!phases.has(phase)) phases.set(phase, { value, warnings: [] })
    return phases.get(phase)!.value as T
  }

  #stepsOf(subject: string, version: string): Steps {
    let steps = this.#steps.get(subject)
    if (steps?.version !== version) {
      const starts = (steps?.starts ?? 0) + 1
      if (starts > MAX_STARTS) throw new StatusError(409, 'Conflict', CHANGING)
      this.#steps.set(subject, steps = { version, starts, phases: new Map() })
    }
    return steps
  }

  /** Returns the result of `fn`, which runs to its end only once; a run that it suspends does not count. */
  once<T>(key: string, fn: () => T): T {
    if (!this.#done.has(key)) this.#done.set(key, fn())
    return this.#done.get(key) as T
  }

  converted(object: ApiObject, apiVersion: string): ApiObject | undefined {
    return this.#converted.get(object)?.get(apiVersion)
  }

  /** Returns the error of the last conversion to a version. */
  failure(apiVersion: string): unknown {
    return this.#failures.get(apiVersion)
  }

  addFailure(apiVersion: string, error: unknown): void {
    this.#failures.set(apiVersion, error)
  }

  addConverted(object: ApiObject, apiVersion: string, result: ApiObject): void {
    remembered(this.#converted, object, () => new Map<string, ApiObject>()).set(apiVersion, result)
  }
}

interface WebhooksOptions {
  readonly clock: Clock
  readonly log: Log
  readonly random: () => number
  readonly callWebhook: CallWebhook
}

/** Runs requests with their sessions, and calls webhooks. */
export class Webhooks {
  readonly log: Log
  readonly clock: Clock
  readonly random: () => number
  readonly #callWebhook: CallWebhook
  #current: Session | undefined

  constructor({ clock, log, random, callWebhook }: WebhooksOptions) {
    this.clock = clock
    this.log = log
    this.random = random
    this.#callWebhook = callWebhook
  }

  /** The session of the running request. Undefined while the server itself writes, which calls no webhooks. */
  get current(): Session | undefined {
    return this.#current
  }

  within<T>(session: Session | undefined, fn: () => T): T {
    const before = this.#current
    this.#current = session
    try {
      return fn()
    } finally {
      this.#current = before
    }
  }

  /** Runs `attempt`, again after each answer that it waits for. Without webhooks, it runs once and synchronously. */
  run<T>(session: Session, attempt: () => T): T | Promise<T> {
    try {
      return this.within(session, attempt)
    } catch (error) {
      if (error instanceof Suspension) return this.#resume(session, attempt, error)
      throw error
    }
  }

  async #resume<T>(session: Session, attempt: () => T, first: Suspension): Promise<T> {
    for (let suspension = first;;) {
      await untilAborted(suspension.work(), session.signal)
      try {
        return this.within(session, attempt)
      } catch (error) {
        if (!(error instanceof Suspension)) throw error
        suspension = error
      }
    }
  }

  /** Returns the result of `fn` from the session's first run; without a session, calls it. */
  once<T>(key: string, fn: () => T): T {
    return this.#current ? this.#current.once(key, fn) : fn()
  }

  /**
   * Calls `fn` with each item until it returns `stop`. Returns the number of items before. When the time of this turn
   * is spent the request waits, others run, and it goes on behind the last item: `items` must still be the same.
   */
  eachInTurns<T>(key: string, items: readonly T[], fn: (item: T) => 'stop' | undefined): number {
    const progress = this.once(key, () => ({ at: 0, isDone: false }))
    const budget = turnBudgetOf(this.clock)
    while (!progress.isDone && progress.at < items.length) {
      if (fn(items[progress.at]!) === 'stop') progress.isDone = true
      else progress.at++
      if (this.#current && budget.isSpent) throw new Suspension(() => budget.turn())
    }
    return progress.at
  }

  /** Sends a review. Returns the answer as JSON. Rejects with a CallError in the words of a real API server. */
  async post(
    client: WebhookClientConfig,
    review: JsonObject,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<JsonObject> {
    const scope = abortScope(signal)
    const cancel = this.clock.after(timeoutMs, () => scope.abort(TIMED_OUT))
    try {
      const calling = Promise.resolve().then(() =>
        this.#callWebhook(client, JSON.stringify(review), { timeoutMs, signal: scope.signal })
      )
      const { status, body } = await untilAborted(calling, scope.signal)
      return responseText(status, body)
    } catch (error) {
      signal?.throwIfAborted()
      if (error instanceof CallError) throw error
      const words = error === TIMED_OUT ? 'context deadline exceeded' : messageOf(error)
      throw new CallError(`Post ${JSON.stringify(clientUrl(client, timeoutMs))}: ${words}`, { cause: error })
    } finally {
      cancel()
      scope[Symbol.dispose]()
    }
  }
}

const TIMED_OUT = new DOMException('The webhook did not answer in time', 'TimeoutError')
