/** The rules of device classes, claims and slices. */
import { jsonEqual } from '../../../core/equal.ts'
import { type Cause, fault } from '../../model/status.ts'
import { at, isObject, type JsonObject } from '../../model/json.ts'
import type { Rules } from '../../model/kinds.ts'
import { immutable } from '../../model/objects.ts'
import { checked, name, oneOf, present, required } from '../common/checks.ts'
import { list } from '../common/columns.ts'
import { fill, parentsOf } from '../common/fill.ts'

/** Sets the defaults of the requests in a claim's spec, in place. */
function requestDefaults(object: JsonObject, path: readonly string[]): void {
  const places = [['requests[]', 'exactly'], ['requests[]', 'firstAvailable[]']]
  for (const request of places.flatMap((place) => parentsOf(object, [...path, 'devices', ...place]))) {
    fill(request, { allocationMode: 'ExactCount' })
    if (request['allocationMode'] === 'ExactCount' && !request['count']) request['count'] = 1
  }
}

export const DEVICE_CLASS_RULES: Partial<Rules> = {
  generation: true,
  validate: (deviceClass) => checked(deviceClass, [['spec.selectors[].cel', present()]]),
}

export const CLAIM_RULES: Partial<Rules> = {
  defaults: (claim) => requestDefaults(claim, ['spec']),
  validate: (claim, old) => [
    ...list(claim, 'spec', 'devices', 'requests').flatMap((request, index) =>
      requestFaults(request, `spec.devices.requests[${index}]`)
    ),
    // The real server shows the spec as its internal type.
    ...(old && !jsonEqual(claim['spec'], old['spec']) ? [immutable('spec', claim['spec'])] : []),
  ],
}

function requestFaults(request: JsonObject, path: string): Cause[] {
  const isOne = isObject(request['exactly']) !== Array.isArray(request['firstAvailable'])
  return [
    ...checked(request, [['name', (value, place) => name('label')(value ?? '', place, request)]], path),
    ...(isOne ? [] : [fault.required(path, 'exactly one of `exactly` or `firstAvailable` is required')]),
    ...checked(request, [
      ['exactly.deviceClassName', required(), name('subdomain')],
      ['exactly.allocationMode', oneOf('All', 'ExactCount')],
    ], path),
  ]
}

export const CLAIM_TEMPLATE_RULES: Partial<Rules> = { defaults: (claim) => requestDefaults(claim, ['spec', 'spec']) }

export const SLICE_RULES: Partial<Rules> = {
  generation: true,
  fields: (slice) => ({
    'spec.nodeName': String(at(slice, 'spec', 'nodeName') ?? ''),
    'spec.driver': String(at(slice, 'spec', 'driver') ?? ''),
  }),
}
