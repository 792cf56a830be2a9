/** What is under way in a world, and when it has come to rest. */
import type { Transport } from 'kubeloop'
import type { HttpRequest } from '../core/transport.ts'
import { nextTurn } from '../runtime/os/turn.ts'
import type { Faults } from './faults.ts'
import type { ReplicaRuns } from './replica_runs.ts'

/** After so many turns of the event loop without rest something goes in circles. */
export const MAX_TURNS = 20_000
/** Work passes between parts by promises and turns; when nothing was seen for so many turns, there is none. */
const QUIET_TURNS = 5
/** The same where a key is in work, which may be that of a delayed request: the work of another may pause for some turns. */
const DELAYED_TURNS = 100

/** What is under way: requests, and parts that say that they are busy. */
export class Activity {
  readonly #faults: Faults
  #requests = 0
  /** Counts every request, so that work that begins and ends between two looks is seen. */
  #seen = 0
  /** What runs, each with what says whether it is idle. */
  readonly #running = new Set<(() => boolean)[]>()
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

  /** Runs a part, which may name what says whether it is idle, and keeps the error that it ends with. */
  run(part: (watch: (idle: () => boolean) => void) => Promise<void>): void {
    const idle: (() => boolean)[] = []
    this.#running.add(idle)
    // What has ended waits for nothing, whatever is left in its queues.
    void part((each) => void idle.push(each)).catch((error: unknown) => this.fail(error)).finally(() =>
      this.#running.delete(idle)
    )
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
      this.#requests++
      this.#seen++
      try {
        return await inner(request)
      } finally {
        this.#requests--
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
          `Cannot settle: after ${turns} turns of the event loop there is still work; does a reconcile change what causes it, or wait for something that never comes?`,
        )
      }
      const seen = this.#seen
      await nextTurn()
      isIdle = this.#isStopping || [...this.#running].every((part) => part.every((idle) => idle()))
      quiet = this.#requests === 0 && this.#seen === seen && (isIdle || this.#faults.delayed > 0) ? quiet + 1 : 0
    }
    for (const runs of this.#runs) runs.rest()
  }
}
