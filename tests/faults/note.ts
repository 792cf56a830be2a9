/** The kind of the faults' operator, and the times of its Lease. */
import { defineResource } from 'kubeloop'
import * as z from 'zod'

export const Note = defineResource({
  group: 'faults.example.dev',
  version: 'v1',
  kind: 'Note',
  spec: z.object({ n: z.int32() }),
  status: z.object({ seen: z.int32().optional() }),
})

/** A killed leader's Lease expires soon. */
export const [DURATION_MS, RENEW_DEADLINE_MS] = [5000, 4000]
