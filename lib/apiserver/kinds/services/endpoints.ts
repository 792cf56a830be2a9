/** The rules of Endpoints and EndpointSlices. */
import { type Cause, fault } from '../../model/status.ts'
import type { ApiObject, JsonObject } from '../../model/json.ts'
import type { Rules } from '../../model/kinds.ts'
import {
  checked,
  type Checks,
  fields,
  ifSet,
  ip,
  isIp,
  name,
  oneOf,
  portNumber,
  publicIp,
  required,
  unchanged,
} from '../common/checks.ts'
import { list, str } from '../common/columns.ts'
import { filling } from '../common/fill.ts'

const PROTOCOLS = oneOf('SCTP', 'TCP', 'UDP')

export const ENDPOINTS_RULES: Partial<Rules> = {
  createOnUpdate: true,
  defaults: filling({ 'subsets[].ports[].protocol': 'TCP' }),
  validate: (endpoints) =>
    list(endpoints, 'subsets').flatMap((subset, index) => subsetFaults(subset, `subsets[${index}]`)),
}

const ADDRESS: Checks = [['ip', ip, publicIp], ['nodeName', ifSet(name('subdomain'))]]

function subsetFaults(subset: JsonObject, path: string): Cause[] {
  const [ready, notReady] = [list(subset, 'addresses'), list(subset, 'notReadyAddresses')]
  const ports = list(subset, 'ports')
  // The real server reports a wrong address twice.
  const twice = (field: string): Cause[] =>
    list(subset, field).flatMap((address, index) =>
      isIp(str(address, 'ip'))
        ? []
        : [fault.invalid(`${path}.${field}[${index}].ip`, address['ip'], 'must be a valid IP address')]
    )
  return [
    ...(ready.length + notReady.length === 0
      ? [fault.required(path, 'must specify `addresses` or `notReadyAddresses`')]
      : []),
    ...['addresses', 'notReadyAddresses'].flatMap((field) => [
      ...checked(subset, [[`${field}[]`, fields(ADDRESS)]], path),
      ...twice(field),
    ]),
    ...ports.flatMap((port, index) => {
      const place = `${path}.ports[${index}]`
      return [
        ...(ports.length > 1 && !port['name'] ? [fault.required(`${place}.name`)] : []),
        ...checked(port, [
          ['name', ifSet(name('label'))],
          ['port', portNumber],
          ['protocol', required(), PROTOCOLS],
        ], place),
      ]
    }),
  ]
}

export const ENDPOINT_SLICE_RULES: Partial<Rules> = {
  generation: true,
  generationCountsLabels: true,
  defaults: filling({ 'ports[].name': '', 'ports[].protocol': 'TCP' }),
  validate: (slice, old) => [
    ...checked(slice, [['addressType', required(), oneOf('FQDN', 'IPv4', 'IPv6')]]),
    ...endpointsFaults(slice),
    ...portsFaults(slice),
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

function portsFaults(slice: ApiObject): Cause[] {
  const seen = new Set<string>()
  return list(slice, 'ports').flatMap((port, index) => {
    const path = `ports[${index}]`
    const own = str(port, 'name')
    const isKnown = seen.has(own)
    seen.add(own)
    return [
      ...checked(port, [['name', ifSet(name('label'))]], path),
      ...(isKnown ? [fault.duplicate(`${path}.name`, own)] : []),
      ...checked(port, [['protocol', required(), PROTOCOLS]], path),
    ]
  })
}
