/** Leases: what leader election lives on. */
import { at, type JsonObject } from '../json.ts'
import type { Rules } from '../kinds.ts'
import { type Cause, fault } from '../http/status.ts'

export const LEASE_RULES: Readonly<Record<string, Partial<Rules>>> = {
  'leases.coordination.k8s.io': {
    createOnUpdate: true,
    unconditionalUpdate: false,
    validate(lease): Cause[] {
      const faults: Cause[] = []
      const spec = (lease['spec'] ?? {}) as JsonObject
      const { leaseDurationSeconds, leaseTransitions } = spec
      if (typeof leaseDurationSeconds === 'number' && leaseDurationSeconds <= 0) {
        faults.push(fault.invalid('spec.leaseDurationSeconds', leaseDurationSeconds, 'must be greater than 0'))
      }
      if (typeof leaseTransitions === 'number' && leaseTransitions < 0) {
        faults.push(fault.invalid('spec.leaseTransitions', leaseTransitions, 'must be greater than or equal to 0'))
      }
      if (at(spec, 'preferredHolder') && !at(spec, 'strategy')) {
        faults.push(
          fault.forbidden('spec.preferredHolder', 'may not be specified without `spec.strategy`'),
        )
      }
      return faults
    },
  },
}
