/** The kinds of apiregistration.k8s.io/v1. They are stored; requests are not forwarded by them. */
import { type ApiObject, at } from '../../model/json.ts'
import { AGE, list, NAME, str, text } from '../common/columns.ts'
import type { GroupTable } from '../../model/kind_table.ts'
import { API_SERVICE_RULES } from '../rules/api_services.ts'

function availability(service: ApiObject): string {
  const condition = list(service, 'status', 'conditions').find((each) => each['type'] === 'Available')
  if (!condition) return 'Unknown'
  return condition['status'] === 'True' ? 'True' : `${str(condition, 'status')} (${str(condition, 'reason')})`
}

export const APIREGISTRATION: GroupTable = {
  group: 'apiregistration.k8s.io',
  version: 'v1',
  definitions: 'apiregistration.v1',
  kinds: [
    {
      kind: 'APIService',
      plural: 'apiservices',
      scope: 'Cluster',
      categories: ['api-extensions'],
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
    },
  ],
}
