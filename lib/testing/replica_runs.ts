/** Tracks the reconciles of one replica: failing keys, and keys in an endless loop. */
import type { Log } from 'kubeloop'
import { parseKey } from '../core/objects.ts'
import { withFields } from '../observe/log.ts'
import { placeOfError } from '../observe/stack.ts'
import { foldFailures, logFailure } from '../controller/failures.ts'
import { type HotKeys, hotKeys } from '../controller/hot_keys.ts'
import type { ReconcileReport } from '../controller/controller.ts'
import type { FakeClock } from './fake_clock.ts'

/** A key whose last reconcile failed. */
export interface FailingKey {
  readonly controller: string
  readonly kind: string
  /** `namespace/name`, or `name` of a cluster-scoped object. */
  readonly key: string
  readonly error: unknown
  /** Where the error was thrown, as `file:line:column`: the innermost frame in a user's file. */
  readonly place: string | undefined
}

/** An error names a key with more reconciles than this since the last rest. */
const MAX_QUIET_RUNS = 50

/** Logs the failures of one replica as an operator does, and finds keys in an endless loop. */
export class ReplicaRuns {
  /** The keys whose last reconcile failed. */
  readonly failing: Map<string, FailingKey> = new Map()
  readonly #clock: FakeClock
  readonly #log: Log
  readonly #failures = foldFailures()
  #hot: HotKeys
  /** The number of reconciles of each key since the last rest. */
  readonly #counts = new Map<string, number>()
  /** The error message for a key that became hot since the last rest. */
  problem: string | undefined

  constructor(clock: FakeClock, log: Log) {
    this.#clock = clock
    this.#log = log
    this.#hot = hotKeys(clock)
  }

  ended(report: ReconcileReport): void {
    const { controller, kind, key, disposition } = report
    const id = `${controller} ${key}`
    const counted = `${kind} "${key}" by the controller "${controller}"`
    this.#counts.set(counted, (this.#counts.get(counted) ?? 0) + 1)
    logFailure(withFields(this.#log, { controller, kind, ...parseKey(key) }), this.#failures(id, report), report)
    this.failing.delete(id)
    if ('error' in disposition) {
      const { error } = disposition
      this.failing.set(id, { controller, kind, key, error, place: placeOfError(error) })
    }
    this.problem ??= this.#hot.ended(id, report)
  }

  /** The key with the maximum number of reconciles since the last rest, if there are many. */
  get busiest(): string | undefined {
    const [busiest] = [...this.#counts].sort(([, a], [, b]) => b - a)
    return busiest && busiest[1] > MAX_QUIET_RUNS ? `${busiest[0]} was reconciled ${busiest[1]} times` : undefined
  }

  /** Called when the world is at rest: resets the counts. */
  rest(): void {
    this.problem = undefined
    this.#counts.clear()
    this.#hot = hotKeys(this.#clock)
  }
}
