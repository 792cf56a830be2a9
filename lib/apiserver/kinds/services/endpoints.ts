/** The rules of Endpoints and EndpointSlices. */
import type { Rules } from '../../model/kinds.ts'
import { filling } from '../common/fill.ts'
import {
  type Check,
  checked,
  ifSet,
  ip,
  must,
  name,
  oneOf,
  portNumber,
  publicIp,
  required,
  unchanged,
} from '../../model/checks.ts'
import type { ApiObject, Json } from '../../model/json.ts'

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
    ...checked(slice, [
      ['addressType', required(), oneOf('FQDN', 'IPv4', 'IPv6')],
      ['endpoints[].addresses', required('must contain at least 1 address'), ofType(old ?? slice)],
      ['endpoints[].hostname', ifSet(name('label'))],
      ['ports[].name', ifSet(name('label'))],
      ['ports[].protocol', required(), oneOf('SCTP', 'TCP', 'UDP')],
      ...(slice['addressType'] === 'FQDN' ? [] : [['endpoints[].addresses[]', ip, publicIp] as const]),
    ]),
    ...unchanged(slice, old, 'addressType'),
  ],
}

const ofType = ({ addressType: type }: ApiObject): Check =>
  must(
    (all) => type === 'FQDN' || (all as Json[]).every((each) => String(each).includes(':') === (type === 'IPv6')),
    `must be ${String(type)} addresses`,
  )
