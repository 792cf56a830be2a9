/** The rules of APIServices. */
import { type Cause, fault } from '../../model/status.ts'
import { type ApiObject, at } from '../../model/json.ts'
import type { Rules } from '../../model/kinds.ts'
import { nameProblems } from '../../model/names.ts'
import { str } from '../common/columns.ts'
import { fill } from '../common/fill.ts'

const MAX_GROUP_PRIORITY = 20000
const MAX_VERSION_PRIORITY = 1000

export const API_SERVICE_RULES: Partial<Rules> = {
  unconditionalUpdate: false,
  nameRule: 'path',
  defaults: (service) => fill(service, { 'spec.service.port': 443 }),
  validate: serviceFaults,
}

function serviceFaults(service: ApiObject): Cause[] {
  const [group, version] = [str(service, 'spec', 'group'), str(service, 'spec', 'version')]
  const { name = '' } = service.metadata
  const expected = `${version}.${group}`
  const faults: Cause[] = []
  if (name !== expected) {
    faults.push(
      fault.invalid('metadata.name', name, `must be \`spec.version+"."+spec.group\`: ${JSON.stringify(expected)}`),
    )
  }
  if (!group && version !== 'v1') {
    faults.push(fault.required('spec.group', 'only v1 may have an empty group and it better be legacy kube'))
  } else if (group) {
    faults.push(...nameProblems(group, 'subdomain').map((each) => fault.invalid('spec.group', group, each)))
  }
  faults.push(...nameProblems(version, 'label1035').map((each) => fault.invalid('spec.version', version, each)))
  return [
    ...faults,
    ...priorityFaults(service, 'groupPriorityMinimum', MAX_GROUP_PRIORITY),
    ...priorityFaults(service, 'versionPriority', MAX_VERSION_PRIORITY),
  ]
}

function priorityFaults(service: ApiObject, field: string, max: number): Cause[] {
  const value = Number(at(service, 'spec', field) ?? 0)
  return value > 0 && value <= max
    ? []
    : [fault.invalid(`spec.${field}`, value, `must be positive and less than ${max}`)]
}
