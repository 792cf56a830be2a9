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

/** The reconciles of one replica: logged as an operator logs them, and watched for keys that never come to rest. */
export class ReplicaRuns {
  /** The keys whose last run failed. */
  readonly failing: Map<string, FailingKey> = new Map()
  readonly #clock: FakeClock
  readonly #log: Log
  readonly #telling = foldFailures()
  #hot: HotKeys
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
    logFailure(withFields(this.#log, { controller, kind, ...parseKey(key) }), this.#telling(id, report), report)
    this.failing.delete(id)
    if ('error' in disposition) {
      const { error } = disposition
      this.failing.set(id, { controller, kind, key, error, place: placeOfError(error) })
    }
    this.problem ??= this.#hot.ended(id, report)
  }

  /** All has come to rest, so no key is hot: they are counted anew. */
  rest(): void {
    this.problem = undefined
    this.#hot = hotKeys(this.#clock)
  }
}
