/** Tracks the work in a world, and waits until there is none. */
import type { Transport } from 'kubeloop'
import { formatMs } from '../../core/duration.ts'
import { firstOf } from '../../core/errors.ts'
import type { HttpRequest } from '../../core/transport.ts'
import { nextTurn, systemClock } from '../../async/clock.ts'
import type { Faults } from './faults.ts'
import type { ReplicaRuns } from './replica.ts'

/** The world waits for rest at least for so many turns of the event loop, also if they take long. */
export const MAX_TURNS = 20_000
/** The default real time that the world waits for rest. */
const REAL_TIMEOUT_MS = 5000
/** Files are read in real time: turns do not count until they are loaded, but for at most this time. */
const LOADING_MS = 30_000
/** The world is at rest after so many turns without work: promises pass work between parts within fewer turns. */
const QUIET_TURNS = 5
/** The same while a key is in work, for a delayed request or a timer: the work of another may pause for some turns. */
const DELAYED_TURNS = 100

/** The maximum number of keys and requests in an error. */
const MAX_NAMED = 5
/** An error names addresses with more requests than this since the last rest. */
const MAX_QUIET_REQUESTS = 50

export interface Watched {
  idle(): boolean
  /** Returns descriptions of its work, for an error. */
  busyWith(): readonly string[]
  /** Whether its work may be waiting for the clock. */
  waits?(): boolean
  /** Whether its work is the loading of files. */
  loads?(): boolean
}

export class Activity {
  readonly #faults: Faults
  /** Open requests, as `PUT /api/v1/…`. */
  readonly #requests = new Set<{ readonly what: string }>()
  /** The number of requests to each address since the last rest. */
  readonly #sent = new Map<string, number>()
  /** Counts all requests, to notice one that begins and ends between two turns. */
  #seen = 0
  /** The running parts, each with what is watched of it. */
  readonly #running = new Set<Watched[]>()
  /** The errors of parts, the oldest first. `reported`: a call of the test has rejected with it. */
  #failures: { readonly error: unknown; reported: boolean }[] = []
  #isStopping = false
  /** The error of a {@link rest} that did not come. */
  restless: Error | undefined
  readonly #runs: ReplicaRuns[] = []
  readonly #halt: () => void
  readonly #realTimeoutMs: number

  /** `halt` ends all parts: an endless loop would keep the test's process running. */
  constructor(faults: Faults, halt: () => void, realTimeoutMs: number = REAL_TIMEOUT_MS) {
    this.#faults = faults
    this.#halt = halt
    this.#realTimeoutMs = realTimeoutMs
  }

  get isRunning(): boolean {
    return this.#running.size > 0
  }

  /** Makes {@link rest} reject when one of these runs has an endless loop. */
  watchRuns(runs: ReplicaRuns): void {
    this.#runs.push(runs)
  }

  /** Runs a part, which may add what to watch. Returns a function that drops the part and its error. */
  run(part: (watch: (each: Watched) => void) => Promise<void>): () => void {
    const watched: Watched[] = []
    this.#running.add(watched)
    void part((each) => void watched.push(each)).catch((error: unknown) => {
      if (this.#running.has(watched)) this.fail(error)
    })
      // A part that has ended has no work, whatever remains in its queues.
      .finally(() => this.#running.delete(watched))
    return () => void this.#running.delete(watched)
  }

  fail(error: unknown): void {
    this.#failures.push({ error, reported: false })
  }

  /** Makes {@link rest} ignore queued keys and failures, which are reported at the end. */
  stop(): void {
    this.#isStopping = true
  }

  takeFailure(): unknown {
    return this.#failures.shift()?.error
  }

  /** Returns the errors that no call has rejected with, and marks them as reported. */
  takeUnreported(): unknown[] {
    const unreported = this.#failures.filter(({ reported }) => !reported)
    for (const failure of unreported) failure.reported = true
    return unreported.map(({ error }) => error)
  }

  /** Counts a request until its response arrives: the head of a watch, the whole of any other. */
  counting(inner: Transport): Transport {
    return async (request: HttpRequest) =>
      await this.during(`${request.method} ${request.path.split('?', 1)[0]}`, () => inner(request))
  }

  /** Counts a request, as `PUT /api/v1/…`, until `act` has answered it. */
  async during<T>(what: string, act: () => Promise<T>): Promise<T> {
    const sent = { what }
    this.#requests.add(sent)
    this.#sent.set(what, (this.#sent.get(what) ?? 0) + 1)
    this.#seen++
    try {
      return await act()
    } finally {
      this.#requests.delete(sent)
    }
  }

  /** Resolves when the world is at rest. Rejects with a part's error, or if the world does not come to rest. */
  async rest(): Promise<void> {
    let quiet = 0
    let isIdle = true
    const beganMs = systemClock.monotonic()
    let workedMs = beganMs
    for (let turns = 0; quiet < (isIdle ? QUIET_TURNS : DELAYED_TURNS); turns++) {
      const [failure] = this.#failures
      if (failure && !this.#isStopping) {
        failure.reported = true
        throw failure.error
      }
      const problem = this.#isStopping ? undefined : this.#runs.find((runs) => runs.problem !== undefined)?.problem
      if (problem !== undefined) {
        this.fail(new Error(`Cannot settle: ${problem}; the world has stopped the operator`))
        this.#halt()
        for (const runs of this.#runs) runs.rest()
        continue
      }
      if (turns > MAX_TURNS && (this.#isStopping || systemClock.monotonic() - workedMs > this.#realTimeoutMs)) {
        if (this.#isStopping) return
        throw this.restless = new Error(
          `Cannot settle: after ${
            formatMs(this.#realTimeoutMs)
          } of real time there is still work${this.#busyWith()}; does a reconcile change what causes it, or wait for something that never happens? Answer requests to a service with w.service(url, …), wait with the sleep of the context, or give real time with world(app, { realTimeout: '30s' })`,
        )
      }
      const seen = this.#seen
      await nextTurn()
      const parts = [...this.#running].flat()
      if (parts.some((each) => each.loads?.()) && systemClock.monotonic() - beganMs < LOADING_MS) {
        turns = 0
        workedMs = systemClock.monotonic()
      }
      const isStill = this.#requests.size === 0 && this.#seen === seen
      isIdle = isStill && (this.#isStopping || parts.every((each) => each.idle()))
      quiet = isIdle || (isStill && (this.#faults.delayed > 0 || parts.some((each) => each.waits?.()))) ? quiet + 1 : 0
    }
    for (const runs of this.#runs) runs.rest()
    this.#sent.clear()
  }

  /** Returns the reasons why there is no rest, for an error: keys in work, open requests, and what happens often. */
  #busyWith(): string {
    const parts = [...this.#running].flatMap((part) => part.flatMap((each) => (each.idle() ? [] : each.busyWith())))
    const open = [...this.#requests].map(({ what }) => `${what} has no response`)
    const keys = this.#runs.flatMap(({ busiest }) => busiest ?? [])
    const often = [...this.#sent].filter(([, count]) => count > MAX_QUIET_REQUESTS).sort(([, a], [, b]) => b - a)
      .map(([what, count]) => `${what} was sent ${count} times`)
    const all = [...new Set([...parts, ...open, ...keys, ...often])]
    return all.length === 0 ? '' : `: ${firstOf(all, MAX_NAMED).join(', ')}`
  }
}
