/** The kinds of resource.k8s.io/v1. Drivers of devices write them, so their fields are not checked. */
import { type ApiObject, at, type JsonObject } from '../../model/json.ts'
import { AGE, list, NAME, text } from '../common/columns.ts'
import { type GroupTable, groupTable, kind } from '../../model/kind_table.ts'
import type { Rules } from '../../model/kinds.ts'
import { fill, parentsOf } from '../common/fill.ts'

function claimState(claim: ApiObject): string {
  const isDeleted = !!claim.metadata.deletionTimestamp
  if (!at(claim, 'status', 'allocation')) return isDeleted ? 'deleted' : 'pending'
  const isReserved = list(claim, 'status', 'reservedFor').length > 0
  return [isDeleted && 'deleted', 'allocated', isReserved && 'reserved'].filter(Boolean).join(',')
}

/** Sets the defaults of the requests in a claim's spec, in place. */
function requestDefaults(object: JsonObject, path: readonly string[]): void {
  const places = [['requests[]', 'exactly'], ['requests[]', 'firstAvailable[]']]
  for (const request of places.flatMap((place) => parentsOf(object, [...path, 'devices', ...place]))) {
    fill(request, { allocationMode: 'ExactCount' })
    if (request['allocationMode'] === 'ExactCount' && !request['count']) request['count'] = 1
  }
}

const DEVICE_CLASS_RULES: Partial<Rules> = { generation: true }

const CLAIM_RULES: Partial<Rules> = { defaults: (claim) => requestDefaults(claim, ['spec']) }

const CLAIM_TEMPLATE_RULES: Partial<Rules> = { defaults: (claim) => requestDefaults(claim, ['spec', 'spec']) }

const SLICE_RULES: Partial<Rules> = {
  generation: true,
  fields: (slice) => ({
    'spec.nodeName': String(at(slice, 'spec', 'nodeName') ?? ''),
    'spec.driver': String(at(slice, 'spec', 'driver') ?? ''),
  }),
}

export const RESOURCE: GroupTable = groupTable('resource.k8s.io/v1', [
  kind('DeviceClass deviceclasses | Cluster', { columns: [NAME, AGE], rules: DEVICE_CLASS_RULES }),
  kind('ResourceClaim resourceclaims', {
    subresources: ['status'],
    columns: [NAME, text('State', claimState), AGE],
    rules: CLAIM_RULES,
  }),
  kind('ResourceClaimTemplate resourceclaimtemplates', { columns: [NAME, AGE], rules: CLAIM_TEMPLATE_RULES }),
  kind('ResourceSlice resourceslices | Cluster', {
    columns: [NAME, text('Node', 'spec.nodeName'), text('Driver', 'spec.driver'), text('Pool', 'spec.pool.name'), AGE],
    rules: SLICE_RULES,
  }),
])
