/** The rules of ResourceQuotas and LimitRanges. */
import { type ApiObject, at, isObject, type Json, type JsonObject } from '../../model/json.ts'
import type { Rules } from '../../model/kinds.ts'
import { qualifiedNameProblems } from '../../model/names.ts'
import { type Cause, fault } from '../../model/status.ts'
import { unchanged } from '../common/checks.ts'
import { parentsOf } from '../common/fill.ts'
import { limitRangeFaults } from './checks.ts'

export const QUOTA_RULES: Partial<Rules> = {
  validate: (quota, old) => [
    ...quotaFaults(quota, 'spec', 'hard'),
    ...unchanged(quota, old, 'spec.scopes'),
  ],
  validateStatus: (quota) => [...quotaFaults(quota, 'status', 'hard'), ...quotaFaults(quota, 'status', 'used')],
}

export const LIMIT_RANGE_RULES: Partial<Rules> = {
  createOnUpdate: true,
  defaults(range) {
    for (const item of parentsOf(range, ['spec', 'limits[]'])) if (item['type'] === 'Container') limitDefaults(item)
  },
  validate: limitRangeFaults,
}

/** The default limit of a container is the maximum; its default request is the default limit, then the minimum. */
function limitDefaults(item: JsonObject): void {
  const [limit, request] = [{ ...map(item['max']), ...map(item['default']) }, map(item['defaultRequest'])]
  const requests = { ...map(item['min']), ...limit, ...request }
  if (Object.keys(limit).length > 0) item['default'] = limit
  if (Object.keys(requests).length > 0) item['defaultRequest'] = requests
}

const map = (value: Json | undefined): JsonObject => (isObject(value) ? value : {})

/** Resources of quotas with integer amounts. */
const COUNTED_RESOURCES =
  ('pods resourcequotas services replicationcontrollers secrets persistentvolumeclaims configmaps ' +
    'services.nodeports services.loadbalancers').split(' ')
const MEASURED_RESOURCES = ['cpu', 'memory', 'ephemeral-storage']

/** @see https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/core/helper/helpers.go standardQuotaResources */
const STANDARD_RESOURCES: ReadonlySet<string> = new Set([
  ...COUNTED_RESOURCES,
  ...MEASURED_RESOURCES,
  ...MEASURED_RESOURCES.flatMap((name) => [`requests.${name}`, `limits.${name}`]),
  'requests.storage',
])

/** Returns the faults of a ResourceQuota's resources and amounts. */
function quotaFaults(quota: ApiObject, ...path: readonly [string, string]): Cause[] {
  const amounts = at(quota, ...path)
  if (!isObject(amounts)) return []
  return Object.entries(amounts).sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([name, amount]) => {
    const place = `${path.join('.')}[${name}]`
    return [...quotaNameFaults(name, place), ...quotaValueFaults(name, String(amount), place)]
  })
}

function quotaNameFaults(name: string, path: string): Cause[] {
  const problems = qualifiedNameProblems(name)
  if (!name.includes('/') && !STANDARD_RESOURCES.has(name) && !/^(requests\.)?hugepages-/.test(name)) {
    // `storage` is a standard resource (of volumes), but not one for quota.
    if (problems.length === 0 && name !== 'storage') {
      problems.push('must be a standard resource type or fully qualified')
    }
    problems.push('must be a standard resource for quota')
  }
  return problems.map((problem) => fault.invalid(path, name, problem))
}

/** Returns the faults of an amount in canonical form. */
function quotaValueFaults(name: string, amount: string, path: string): Cause[] {
  const faults: Cause[] = []
  if (amount.startsWith('-')) faults.push(fault.invalid(path, amount, 'must be greater than or equal to 0'))
  const isWhole = !/[num]$|e-/.test(amount)
  if ((COUNTED_RESOURCES.includes(name) || isExtendedResource(name)) && !isWhole) {
    faults.push(fault.invalid(path, amount, 'must be an integer'))
  }
  return faults
}

/** Returns whether a resource is an extended one, such as `nvidia.com/gpu`: those have integer amounts. */
function isExtendedResource(name: string): boolean {
  return name.includes('/') && !name.includes('kubernetes.io/') && !name.startsWith('requests.')
}
