/** The schema of the measured operator and of its floor: each bundles the parts of zod that it needs. */
import * as z from 'zod'

export const spec = z.object({
  deploymentName: z.string().min(1),
  replicas: z.int32().min(0).max(10).default(1),
  image: z.string().optional(),
  labels: z.record(z.string(), z.string()).optional(),
})
export const status = z.object({
  availableReplicas: z.int32().optional(),
  phase: z.enum(['Pending', 'Ready']).optional(),
})
