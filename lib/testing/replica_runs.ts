/** The reconciles of one replica in a world: which keys fail, and which never come to rest. */
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
  /** Where the error was thrown, as `file:line:column`: the innermost frame in a file of the user's. */
  readonly place: string | undefined
}

/** A key that is reconciled more often before the next rest is worth naming when there is none. */
const MAX_QUIET_RUNS = 50

/** The reconciles of one replica: logged as an operator logs them, and watched for keys that never come to rest. */
export class ReplicaRuns {
  /** The keys whose last run failed. */
  readonly failing: Map<string, FailingKey> = new Map()
  readonly #clock: FakeClock
  readonly #log: Log
  readonly #telling = foldFailures()
  #hot: HotKeys
  /** How often each key was reconciled since the last rest. */
  readonly #counts = new Map<string, number>()
  /** What is wrong with a key that became hot since the last rest. */
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
    logFailure(withFields(this.#log, { controller, kind, ...parseKey(key) }), this.#telling(id, report), report)
    this.failing.delete(id)
    if ('error' in disposition) {
      const { error } = disposition
      this.failing.set(id, { controller, kind, key, error, place: placeOfError(error) })
    }
    this.problem ??= this.#hot.ended(id, report)
  }

  /** The key that was reconciled most often since the last rest, if that is more often than once in a while. */
  get busiest(): string | undefined {
    const [busiest] = [...this.#counts].sort(([, a], [, b]) => b - a)
    return busiest && busiest[1] > MAX_QUIET_RUNS ? `${busiest[0]} was reconciled ${busiest[1]} times` : undefined
  }

  /** All has come to rest, so no key is hot: they are counted anew. */
  rest(): void {
    this.problem = undefined
    this.#counts.clear()
    this.#hot = hotKeys(this.#clock)
  }
}
