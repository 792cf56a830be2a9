/** The rules of Endpoints and EndpointSlices. */
import { jsonEqual } from '../../../core/equal.ts'
import { type Cause, fault } from '../../model/status.ts'
import type { ApiObject } from '../../model/json.ts'
import type { Rules } from '../../model/kinds.ts'
import {
  type Check,
  checked,
  fields,
  ifSet,
  ip,
  name,
  oneOf,
  portNumber,
  publicIp,
  required,
  unchanged,
} from '../common/checks.ts'
import { filling } from '../common/fill.ts'

const PROTOCOLS = oneOf('SCTP', 'TCP', 'UDP')

export const ENDPOINTS_RULES: Partial<Rules> = {
  createOnUpdate: true,
  defaults: filling({ 'subsets[].ports[].protocol': 'TCP' }),
  validate: (endpoints) =>
    checked(endpoints, [['subsets[].addresses[].ip', ip, publicIp], ['subsets[].ports[].port', portNumber]]),
}

export const ENDPOINT_SLICE_RULES: Partial<Rules> = {
  generation: true,
  generationCountsLabels: true,
  defaults: filling({ 'ports[].name': '', 'ports[].protocol': 'TCP' }),
  validate: (slice, old) => [
    ...checked(slice, [['addressType', required(), oneOf('FQDN', 'IPv4', 'IPv6')]]),
    ...endpointsFaults(slice, old),
    ...checked(slice, [['ports[].name', ifSet(name('label'))], ['ports[].protocol', required(), PROTOCOLS]]),
    ...unchanged(slice, old, 'addressType'),
  ],
}

function endpointsFaults(slice: ApiObject, old: ApiObject | undefined): Cause[] {
  const { addressType } = slice
  const isKept = old !== undefined && jsonEqual(slice['endpoints'], old['endpoints'])
  const isAddressed = addressType === 'IPv4' || addressType === 'IPv6'
  const ofType: Check = (value, path) => {
    if (isKept || String(value).includes(':') === (addressType === 'IPv6')) return []
    // The real server names the list, and not the item.
    return [fault.invalid(path.replace(/\[\d+\]$/, ''), value, `must be an ${String(addressType)} address`)]
  }
  return checked(slice, [[
    'endpoints[]',
    fields([
      ['addresses', required('must contain at least 1 address')],
      ...(isAddressed ? [['addresses[]', ip, ofType, publicIp] as const] : []),
      ['hostname', ifSet(name('label'))],
    ]),
  ]])
}
