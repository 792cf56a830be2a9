/** The rules of ResourceQuotas: valid resources and amounts. */
import { type ApiObject, at, isObject } from '../json.ts'
import type { Rules } from '../kinds.ts'
import { qualifiedNameProblems } from '../storage/names.ts'
import { type Cause, fault } from '../http/status.ts'

export const QUOTA_RULES: Partial<Rules> = {
  validate: (quota) => amountFaults(quota, 'spec', 'hard'),
  validateStatus: (quota) => [...amountFaults(quota, 'status', 'hard'), ...amountFaults(quota, 'status', 'used')],
}

/** Resources with integer amounts. */
const COUNTED = [
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'persistentvolumeclaims',
  'configmaps',
  'services.nodeports',
  'services.loadbalancers',
]
const MEASURED = ['cpu', 'memory', 'ephemeral-storage']

/** @see https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/core/helper/helpers.go standardQuotaResources */
const STANDARD: ReadonlySet<string> = new Set([
  ...COUNTED,
  ...MEASURED,
  ...MEASURED.flatMap((name) => [`requests.${name}`, `limits.${name}`]),
  'requests.storage',
])

function amountFaults(quota: ApiObject, ...path: readonly [string, string]): Cause[] {
  const amounts = at(quota, ...path)
  if (!isObject(amounts)) return []
  return Object.entries(amounts).sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([name, amount]) => {
    const place = `${path.join('.')}[${name}]`
    return [...nameFaults(name, place), ...valueFaults(name, String(amount), place)]
  })
}

function nameFaults(name: string, path: string): Cause[] {
  const problems = qualifiedNameProblems(name)
  if (!name.includes('/') && !STANDARD.has(name) && !/^(requests\.)?hugepages-/.test(name)) {
    // `storage` is a standard resource (of volumes), but not one for quota.
    if (problems.length === 0 && name !== 'storage') {
      problems.push('must be a standard resource type or fully qualified')
    }
    problems.push('must be a standard resource for quota')
  }
  return problems.map((problem) => fault.invalid(path, name, problem))
}

/** Returns the faults of an amount in canonical form. */
function valueFaults(name: string, amount: string, path: string): Cause[] {
  const faults: Cause[] = []
  if (amount.startsWith('-')) faults.push(fault.invalid(path, amount, 'must be greater than or equal to 0'))
  const isWhole = !/[num]$|e-/.test(amount)
  if ((COUNTED.includes(name) || isExtended(name)) && !isWhole) {
    faults.push(fault.invalid(path, amount, 'must be an integer'))
  }
  return faults
}

/** Returns whether a resource is an extended one, such as `nvidia.com/gpu`: those have integer amounts. */
function isExtended(name: string): boolean {
  return name.includes('/') && !name.includes('kubernetes.io/') && !name.startsWith('requests.')
}
