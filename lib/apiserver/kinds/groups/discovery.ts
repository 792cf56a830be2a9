/** The kinds of discovery.k8s.io/v1. */
import { type ApiObject, at } from '../../model/json.ts'
import { AGE, firstOf, list, NAME, text } from '../common/columns.ts'
import { type GroupTable, groupTable, kind } from '../../model/kind_table.ts'
import { ENDPOINT_SLICE_RULES } from '../services/endpoints.ts'

function portsText(slice: ApiObject): string {
  return firstOf(list(slice, 'ports').map((port) => String(port['port'] ?? port['name'] ?? '*')), 3) || '<unset>'
}

function addressesText(slice: ApiObject): string {
  const addresses = list(slice, 'endpoints').flatMap((endpoint) => {
    const given = at(endpoint, 'addresses')
    return Array.isArray(given) ? given.map(String) : []
  })
  return firstOf(addresses, 3) || '<unset>'
}

export const DISCOVERY: GroupTable = groupTable('discovery.k8s.io/v1', [
  kind('EndpointSlice endpointslices', {
    columns: [
      NAME,
      text('AddressType', 'addressType'),
      text('Ports', portsText),
      text('Endpoints', addressesText),
      AGE,
    ],
    rules: ENDPOINT_SLICE_RULES,
  }),
])
