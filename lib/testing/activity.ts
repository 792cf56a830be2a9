/** What is under way in a world, and when it has come to rest. */
import type { Transport } from 'kubeloop'
import type { HttpRequest } from '../core/transport.ts'
import { nextTurn } from '../async/clock.ts'
import type { Faults } from './faults.ts'
import type { ReplicaRuns } from './replica_runs.ts'

/** After so many turns of the event loop without rest something goes in circles. */
export const MAX_TURNS = 20_000
/** Work passes between parts by promises and turns; when nothing was seen for so many turns, there is none. */
const QUIET_TURNS = 5
/**
 * The same where a key is in work, which may be that of a delayed request: the work of another may pause for some
 * turns.
 */
const DELAYED_TURNS = 100

/** How many keys and requests an error names. */
const MAX_NAMED = 5
/** Requests to one address that are sent more often before the next rest are worth naming when there is none. */
const MAX_QUIET_REQUESTS = 50

/** Something that is under way at times. */
export interface Watched {
  idle(): boolean
  /** What it is busy with, in words. */
  busyWith(): readonly string[]
}

/** What is under way: requests, and parts that say that they are busy. */
export class Activity {
  readonly #faults: Faults
  /** The requests under way, as `PUT /api/v1/…`. */
  readonly #requests = new Set<{ readonly what: string }>()
  /** How many requests were sent to each address since the last rest. */
  readonly #sent = new Map<string, number>()
  /** Counts every request, so that work that begins and ends between two looks is seen. */
  #seen = 0
  /** What runs, each with what is watched of it. */
  readonly #running = new Set<Watched[]>()
  /** What parts ended with, the oldest first. `told`: a call of the test has rejected with it. */
  #failures: { readonly error: unknown; told: boolean }[] = []
  #isStopping = false
  readonly #runs: ReplicaRuns[] = []
  readonly #halt: () => void

  /** `halt` ends everything that runs: a loop that goes on would keep a test's process from ending. */
  constructor(faults: Faults, halt: () => void) {
    this.#faults = faults
    this.#halt = halt
  }

  get isRunning(): boolean {
    return this.#running.size > 0
  }

  /** From now on {@link rest} rejects for keys that never come to rest. */
  watchRuns(runs: ReplicaRuns): void {
    this.#runs.push(runs)
  }

  /**
   * Runs a part, which may name what is to be watched of it, and keeps the error that it ends with. Returns what drops
   * it: it counts no more, and neither does its error.
   */
  run(part: (watch: (each: Watched) => void) => Promise<void>): () => void {
    const watched: Watched[] = []
    this.#running.add(watched)
    void part((each) => void watched.push(each)).catch((error: unknown) => {
      if (this.#running.has(watched)) this.fail(error)
    })
      // What has ended waits for nothing, whatever is left in its queues.
      .finally(() => this.#running.delete(watched))
    return () => void this.#running.delete(watched)
  }

  fail(error: unknown): void {
    this.#failures.push({ error, told: false })
  }

  /** From now on only turns count: keys may be left, and failures are told at the end. */
  stop(): void {
    this.#isStopping = true
  }

  takeFailure(): unknown {
    return this.#failures.shift()?.error
  }

  /** The errors that no call has rejected with, now told. */
  untold(): unknown[] {
    const untold = this.#failures.filter(({ told }) => !told)
    for (const failure of untold) failure.told = true
    return untold.map(({ error }) => error)
  }

  /** A watch is under way until its head has come; others until their whole answer was read. */
  counting(inner: Transport): Transport {
    return async (request: HttpRequest) => {
      const what = `${request.method} ${request.path.split('?', 1)[0]}`
      const sent = { what }
      this.#requests.add(sent)
      this.#sent.set(what, (this.#sent.get(what) ?? 0) + 1)
      this.#seen++
      try {
        return await inner(request)
      } finally {
        this.#requests.delete(sent)
      }
    }
  }

  async rest(): Promise<void> {
    let quiet = 0
    let isIdle = true
    for (let turns = 0; quiet < (isIdle ? QUIET_TURNS : DELAYED_TURNS); turns++) {
      const [failure] = this.#failures
      if (failure && !this.#isStopping) {
        failure.told = true
        throw failure.error
      }
      const problem = this.#isStopping ? undefined : this.#runs.find((runs) => runs.problem !== undefined)?.problem
      if (problem !== undefined) {
        this.fail(new Error(`Cannot settle: ${problem}; the world has stopped the operator`))
        this.#halt()
        for (const runs of this.#runs) runs.rest()
        continue
      }
      if (turns > MAX_TURNS) {
        if (this.#isStopping) return
        throw new Error(
          `Cannot settle: after ${turns} turns of the event loop there is still work${this.#busyWith()}; does a reconcile change what causes it, or wait for something that never comes?`,
        )
      }
      const seen = this.#seen
      await nextTurn()
      isIdle = this.#isStopping || [...this.#running].every((part) => part.every((each) => each.idle()))
      quiet = this.#requests.size === 0 && this.#seen === seen && (isIdle || this.#faults.delayed > 0) ? quiet + 1 : 0
    }
    for (const runs of this.#runs) runs.rest()
    this.#sent.clear()
  }

  /** What keeps it from rest, for an error: keys in work, open requests, and what was done over and over. */
  #busyWith(): string {
    const parts = [...this.#running].flatMap((part) => part.flatMap((each) => (each.idle() ? [] : each.busyWith())))
    const open = [...this.#requests].map(({ what }) => `${what} has no answer`)
    const keys = this.#runs.flatMap(({ busiest }) => busiest ?? [])
    const often = [...this.#sent].filter(([, count]) => count > MAX_QUIET_REQUESTS).sort(([, a], [, b]) => b - a)
      .map(([what, count]) => `${what} was sent ${count} times`)
    const all = [...new Set([...parts, ...open, ...keys, ...often])]
    if (all.length === 0) return ''
    return `: ${all.slice(0, MAX_NAMED).join(', ')}${
      all.length > MAX_NAMED ? `, and ${all.length - MAX_NAMED} more` : ''
    }`
  }
}
