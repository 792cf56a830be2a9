/** The kinds of coordination.k8s.io/v1. */
import { type ApiObject, isObject, type JsonObject } from '../../model/json.ts'
import { type Cause, fault } from '../../model/status.ts'
import { AGE, NAME, text } from '../common/columns.ts'
import { type GroupTable, groupTable, kind } from '../../model/kind_table.ts'

export const COORDINATION: GroupTable = groupTable('coordination.k8s.io/v1', [
  kind('Lease leases', {
    columns: [NAME, text('Holder', 'spec.holderIdentity'), AGE],
    rules: {
      createOnUpdate: true,
      unconditionalUpdate: false,
      prepareCreate: dropDisabled,
      prepareUpdate: dropDisabled,
      validate: leaseFaults,
    },
  }),
])

/** Removes the fields of coordinated leader election, which is off by default, in place. */
function dropDisabled(lease: ApiObject): void {
  const { spec } = lease
  if (isObject(spec)) { for (const field of ['strategy', 'preferredHolder']) delete spec[field] }
}

function leaseFaults(lease: ApiObject): Cause[] {
  const faults: Cause[] = []
  const spec = (lease['spec'] ?? {}) as JsonObject
  const { leaseDurationSeconds, leaseTransitions } = spec
  if (typeof leaseDurationSeconds === 'number' && leaseDurationSeconds <= 0) {
    faults.push(fault.invalid('spec.leaseDurationSeconds', leaseDurationSeconds, 'must be greater than 0'))
  }
  if (typeof leaseTransitions === 'number' && leaseTransitions < 0) {
    faults.push(fault.invalid('spec.leaseTransitions', leaseTransitions, 'must be greater than or equal to 0'))
  }
  return faults
}
