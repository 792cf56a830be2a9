/** The kinds of apiregistration.k8s.io/v1: stored, unchecked, and without effect on requests. */
import { type ApiObject, at } from '../../model/json.ts'
import { AGE, list, NAME, str, text } from '../common/columns.ts'
import { type GroupTable, groupTable, kind } from '../../model/kind_table.ts'
import type { Rules } from '../../model/kinds.ts'
import { fill } from '../common/fill.ts'

function availability(service: ApiObject): string {
  const condition = list(service, 'status', 'conditions').find((each) => each['type'] === 'Available')
  if (!condition) return 'Unknown'
  return condition['status'] === 'True' ? 'True' : `${str(condition, 'status')} (${str(condition, 'reason')})`
}

const API_SERVICE_RULES: Partial<Rules> = {
  unconditionalUpdate: false,
  nameRule: 'path',
  defaults: (service) => fill(service, { 'spec.service.port': 443 }),
}

export const APIREGISTRATION: GroupTable = groupTable('apiregistration.k8s.io/v1', [
  kind('APIService apiservices | Cluster api-extensions', {
    subresources: ['status'],
    columns: [
      NAME,
      text('Service', (service) => {
        const target = at(service, 'spec', 'service')
        return target ? `${str(target, 'namespace')}/${str(target, 'name')}` : 'Local'
      }),
      text('Available', availability),
      AGE,
    ],
    rules: API_SERVICE_RULES,
  }),
])
