/** The order in which a manager starts and stops its groups, and the group of each runnable. */
import type { Runnable } from '../core/runnable.ts'

/** The groups of runnables. */
export type Phase = 'servers' | 'webhooks' | 'recorder' | 'caches' | 'others' | 'warmup' | 'preparation' | 'leader'

/** A step of a start or a stop: a group, or the election. */
export type Step = Phase | 'election'

interface Row {
  readonly step: Step
  /** Lower numbers start earlier. */
  readonly start: number
  /** Lower numbers stop earlier, which does not reverse the start. A group with 0 stops at once, beside the others. */
  readonly stop: number
}

/** One row per step, with the reason for its place. */
export const STEPS: readonly Row[] = [
  // Probes and metrics answer from start to end; a port in use fails the start at once.
  { step: 'servers', start: 1, stop: 6 },
  // The API server may need our conversion webhook to answer the caches' lists.
  { step: 'webhooks', start: 2, stop: 4 },
  // Accepts the Events of the others while they drain, and sends the rest after they have ended.
  { step: 'recorder', start: 3, stop: 7 },
  // All steps below read from the caches, also while they drain, and so do webhooks.
  { step: 'caches', start: 4, stop: 5 },
  // Runs on every replica, so nothing here depends on the leader's work.
  { step: 'others', start: 5, stop: 1 },
  // Fills the queues of the leader's work. No step waits for it at the start, and a stop makes it useless.
  { step: 'warmup', start: 6, stop: 0 },
  // Starts when all above is ready. The lease is renewed until the leader's work has ended; the next leader does not
  // wait for webhooks that drain.
  { step: 'election', start: 7, stop: 3 },
  // Starts with the lease; the leader's work starts when it is ready. A stop makes it useless.
  { step: 'preparation', start: 8, stop: 0 },
  // Starts with the lease, which is released only when all of these have ended.
  { step: 'leader', start: 9, stop: 2 },
]

export const START_ORDER: readonly Step[] = STEPS.toSorted((a, b) => a.start - b.start).map(({ step }) => step)
export const STOP_ORDER: readonly Step[] = STEPS.filter(({ stop }) => stop > 0).toSorted((a, b) => a.stop - b.stop).map(
  ({ step }) => step,
)

/**
 * Returns the group of a runnable: that of its role, else the leader's work or, with `everyReplica`, the others. Of
 * those with a role, only a server may run on the leader alone.
 *
 * @throws TypeError for a cache, webhook or recorder that runs only on the leader, as all replicas need them; and for a
 * preparation that runs on every replica, as it writes under the lease.
 */
export function classify({ name, role, everyReplica }: Pick<Runnable, 'name' | 'role' | 'everyReplica'>): Phase {
  if (role === undefined) return everyReplica === true ? 'others' : 'leader'
  if (role === 'server') return everyReplica === false ? 'leader' : 'servers'
  if (role === 'preparation') {
    if (everyReplica === true) {
      throw new TypeError(`Cannot add "${name}": a preparation runs on the leader only, and everyReplica is true`)
    }
    return role
  }
  if (everyReplica === false) {
    throw new TypeError(`Cannot add "${name}": a ${role} runs on every replica, and everyReplica is false`)
  }
  return PHASE_OF_ROLE[role]
}

const PHASE_OF_ROLE = { webhook: 'webhooks', cache: 'caches', recorder: 'recorder' } as const
