/** In which order a manager starts and stops what it runs: one row for each step, with the reason; and which step is whose. */
import type { Runnable } from '../core/runnable.ts'

/** The groups of runnables. */
export type Phase = 'servers' | 'webhooks' | 'recorder' | 'caches' | 'others' | 'warmup' | 'preparation' | 'leader'

/** What is started and stopped in order: the groups, and the election between them. */
export type Step = Phase | 'election'

interface Row {
  readonly step: Step
  /** Lower starts earlier. */
  readonly start: number
  /** Lower stops earlier. It is not the reverse of the start. What has 0 is told at once and stops beside the others. */
  readonly stop: number
}

/** Each row with its reason. */
export const STEPS: readonly Row[] = [
  // Probes and metrics answer from first to last; a port in use ends the start at once.
  { step: 'servers', start: 1, stop: 5 },
  // The API server may need our conversion webhook to answer the caches' own lists.
  { step: 'webhooks', start: 2, stop: 4 },
  // Takes what the others tell while they drain, and sends the rest when they have ended.
  { step: 'recorder', start: 3, stop: 7 },
  // Everything below reads from them, and still does while it drains.
  { step: 'caches', start: 4, stop: 3 },
  // Needs no leadership, so nothing of the leader may depend on it.
  { step: 'others', start: 5, stop: 1 },
  // Fills what the leader will need; no start waits for it, and after a stop nobody needs it.
  { step: 'warmup', start: 6, stop: 0 },
  // Begins when all is ready to lead; the lease is renewed while anybody works in its name.
  { step: 'election', start: 7, stop: 6 },
  // What the leader's work builds on: begins with the lease, and nothing else of the leader before
  // it is ready. A stop in its middle leaves nothing to prepare for.
  { step: 'preparation', start: 8, stop: 0 },
  // Begins with the lease; the lease is given back only when all of these have ended.
  { step: 'leader', start: 9, stop: 2 },
]

export const START_ORDER: readonly Step[] = STEPS.toSorted((a, b) => a.start - b.start).map(({ step }) => step)
export const STOP_ORDER: readonly Step[] = STEPS.filter(({ stop }) => stop > 0).toSorted((a, b) => a.stop - b.stop).map(
  ({ step }) => step,
)

/**
 * The group of a runnable: what has a role has its group; work is the leader's unless it says that it is not. Only a server
 * may have a role and be the leader's.
 *
 * @throws TypeError for a cache, webhook or recorder of the leader's: those serve what runs on every replica; and for a
 * preparation of every replica, as it writes in the name of the lease.
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
