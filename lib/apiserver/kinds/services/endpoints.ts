/** The rules of Endpoints and EndpointSlices. */
import type { Cause } from '../../model/status.ts'
import type { ApiObject } from '../../model/json.ts'
import type { Rules } from '../../model/kinds.ts'
import { checked, fields, ifSet, ip, name, oneOf, portNumber, publicIp, required, unchanged } from '../common/checks.ts'
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
    ...endpointsFaults(slice),
    ...checked(slice, [['ports[].name', ifSet(name('label'))], ['ports[].protocol', required(), PROTOCOLS]]),
    ...unchanged(slice, old, 'addressType'),
  ],
}

function endpointsFaults(slice: ApiObject): Cause[] {
  const isAddressed = slice['addressType'] === 'IPv4' || slice['addressType'] === 'IPv6'
  return checked(slice, [[
    'endpoints[]',
    fields([
      ['addresses', required('must contain at least 1 address')],
      ...(isAddressed ? [['addresses[]', ip, publicIp] as const] : []),
      ['hostname', ifSet(name('label'))],
    ]),
  ]])
}
