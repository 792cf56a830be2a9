/** The rules of device classes, claims and slices. Drivers of devices write them, so their fields are not checked. */
import { at, type JsonObject } from '../../model/json.ts'
import type { Rules } from '../../model/kinds.ts'
import { fill, parentsOf } from '../common/fill.ts'

/** Sets the defaults of the requests in a claim's spec, in place. */
function requestDefaults(object: JsonObject, path: readonly string[]): void {
  const places = [['requests[]', 'exactly'], ['requests[]', 'firstAvailable[]']]
  for (const request of places.flatMap((place) => parentsOf(object, [...path, 'devices', ...place]))) {
    fill(request, { allocationMode: 'ExactCount' })
    if (request['allocationMode'] === 'ExactCount' && !request['count']) request['count'] = 1
  }
}

export const DEVICE_CLASS_RULES: Partial<Rules> = { generation: true }

export const CLAIM_RULES: Partial<Rules> = { defaults: (claim) => requestDefaults(claim, ['spec']) }

export const CLAIM_TEMPLATE_RULES: Partial<Rules> = { defaults: (claim) => requestDefaults(claim, ['spec', 'spec']) }

export const SLICE_RULES: Partial<Rules> = {
  generation: true,
  fields: (slice) => ({
    'spec.nodeName': String(at(slice, 'spec', 'nodeName') ?? ''),
    'spec.driver': String(at(slice, 'spec', 'driver') ?? ''),
  }),
}
