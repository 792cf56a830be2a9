/** In which order a manager starts and stops what it runs: one row for each sort of runnable, with the reason. */

export type Phase = 'servers' | 'webhooks' | 'caches' | 'others' | 'leader'

interface Row {
  readonly phase: Phase
  /** Lower starts earlier. */
  readonly start: number
  /** Lower stops earlier. It is not the reverse of the start. */
  readonly stop: number
  readonly reason: string
}

export const PHASES: readonly Row[] = [
  { phase: 'servers', start: 1, stop: 5, reason: 'probes and metrics answer from the first moment to the last' },
  { phase: 'webhooks', start: 2, stop: 4, reason: "the API server may need our conversion webhook to answer the caches' own lists" },
  { phase: 'caches', start: 3, stop: 3, reason: 'everything below reads from them, and still does while it drains' },
  { phase: 'others', start: 4, stop: 1, reason: 'needs no leadership, so nothing of the leader may depend on it' },
  { phase: 'leader', start: 5, stop: 2, reason: 'begins with the lease; the lease is given back only when all of these have ended' },
]

export const START_ORDER: readonly Phase[] = PHASES.toSorted((a, b) => a.start - b.start).map(({ phase }) => phase)
export const STOP_ORDER: readonly Phase[] = PHASES.toSorted((a, b) => a.stop - b.stop).map(({ phase }) => phase)
