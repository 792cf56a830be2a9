/** The kinds of resource.k8s.io/v1, for devices. */
import { type ApiObject, at } from '../../model/json.ts'
import { AGE, list, NAME, text } from '../common/columns.ts'
import type { GroupTable } from '../../model/kind_table.ts'
import { CLAIM_RULES, CLAIM_TEMPLATE_RULES, DEVICE_CLASS_RULES, SLICE_RULES } from '../rules/devices.ts'

function claimState(claim: ApiObject): string {
  const isDeleted = !!claim.metadata.deletionTimestamp
  if (!at(claim, 'status', 'allocation')) return isDeleted ? 'deleted' : 'pending'
  const isReserved = list(claim, 'status', 'reservedFor').length > 0
  return [isDeleted && 'deleted', 'allocated', isReserved && 'reserved'].filter(Boolean).join(',')
}

export const RESOURCE: GroupTable = {
  group: 'resource.k8s.io',
  version: 'v1',
  definitions: 'resource.v1',
  kinds: [
    {
      kind: 'DeviceClass',
      plural: 'deviceclasses',
      scope: 'Cluster',
      columns: [NAME, AGE],
      rules: DEVICE_CLASS_RULES,
    },
    {
      kind: 'ResourceClaim',
      plural: 'resourceclaims',
      subresources: ['status'],
      columns: [NAME, text('State', claimState), AGE],
      rules: CLAIM_RULES,
    },
    {
      kind: 'ResourceClaimTemplate',
      plural: 'resourceclaimtemplates',
      columns: [NAME, AGE],
      rules: CLAIM_TEMPLATE_RULES,
    },
    {
      kind: 'ResourceSlice',
      plural: 'resourceslices',
      scope: 'Cluster',
      columns: [
        NAME,
        text('Node', 'spec.nodeName'),
        text('Driver', 'spec.driver'),
        text('Pool', 'spec.pool.name'),
        AGE,
      ],
      rules: SLICE_RULES,
    },
  ],
}
