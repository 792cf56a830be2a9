/** The result of `kubeloop plan`, which `--json` prints. */
import type { Action } from '../../testing/mirror/difference.ts'
import type { AskedPath, AskedRight } from '../../testing/rights_recorder.ts'

export interface Plan {
  readonly operator: string
  /** The objects that the operator would write, in the order of its first writes of them. */
  readonly changes: readonly PlannedChange[]
  /** What failed, or did not end. */
  readonly failed: readonly { readonly what: string; readonly error: string; readonly place?: string }[]
  /** What the cluster refused or lacks, and what else makes the result less exact. */
  readonly notes: readonly string[]
  /** What the operator asked for, each right once, with `--rights`. */
  readonly rights?: readonly (AskedRight | AskedPath)[]
  readonly counts: {
    readonly reconciles: number
    /** Objects that were read, and the requests for them. */
    readonly read: number
    readonly requests: number
    readonly dryRuns: number
    /** Events and Leases that were written. */
    readonly events: number
    /** Objects that were written, and are as before. */
    readonly unchanged: number
  }
}

export interface PlannedChange {
  /** The operator's name of the cluster; absent for its own. */
  readonly cluster?: string
  readonly action: Action
  readonly apiVersion: string
  readonly kind: string
  readonly namespace?: string
  readonly name: string
  /** The reconciles that wrote it. Empty: the operator's start, or a task. */
  readonly by: readonly { readonly controller: string; readonly key: string }[]
  /** Lines after `+ `, `- ` or two spaces. A create and a delete have all lines of the object. */
  readonly diff: readonly string[]
  /** What a deletion waits for. */
  readonly finalizers?: readonly string[]
  /** The objects that were read and have no owner but deleted ones, as `Kind namespace/name`. */
  readonly dependents?: readonly string[]
  readonly dryRun: DryRun
}

/** What the cluster says of the final state. `changed`: it would store something else. */
export type DryRun =
  | { readonly outcome: 'accepted' }
  | { readonly outcome: 'changed'; readonly diff: readonly string[] }
  | { readonly outcome: 'refused' | 'unchecked'; readonly message: string }
