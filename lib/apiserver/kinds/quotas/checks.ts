/** Validation of ResourceQuotas and LimitRanges. */
import { qualified } from '../../model/checks.ts'
import { type ApiObject, at, isObject, type Json, type JsonObject, list, objectAt } from '../../model/json.ts'
import { qualifiedNameProblems } from '../../model/names.ts'
import { type Cause, fault } from '../../model/status.ts'
import { amountOf, resourceNameProblems } from '../common/resources.ts'

const AMOUNTS = ['max', 'min', 'default', 'defaultRequest']

export function limitRangeFaults(range: ApiObject): Cause[] {
  const seen = new Set<Json | undefined>()
  return list(range, 'spec', 'limits').flatMap((item, index) => {
    const path = `spec.limits[${index}]`
    const { type } = item
    const isKnown = seen.has(type)
    seen.add(type)
    return [
      ...qualified(type ?? '', `${path}.type`, item),
      ...(isKnown ? [fault.duplicate(`${path}.type`, type)] : []),
      ...amountNameFaults(item, path),
      ...(type === 'Pod' ? podFaults(item, path) : []),
      ...orderFaults(item, path),
    ]
  })
}

function amountNameFaults(item: JsonObject, path: string): Cause[] {
  if (item['type'] !== 'Container' && item['type'] !== 'Pod') return []
  return AMOUNTS.flatMap((field) =>
    Object.keys(objectAt(item, field)).sort().flatMap((each) =>
      resourceNameProblems(each).map((problem) => fault.invalid(`${path}.${field}[${each}]`, each, problem))
    )
  )
}

function podFaults(item: JsonObject, path: string): Cause[] {
  const detail = "may not be specified when `type` is 'Pod'"
  return ['default', 'defaultRequest'].filter((field) => Object.keys(objectAt(item, field)).length > 0)
    .map((field) => fault.forbidden(`${path}.${field}`, detail))
}

/** The minimum is at most the default request, that at most the default, that at most the maximum. */
function orderFaults(item: JsonObject, path: string): Cause[] {
  const order = ['min', 'defaultRequest', 'default', 'max']
  return order.flatMap((low, index) =>
    order.slice(index + 1).flatMap((high) =>
      Object.entries(objectAt(item, low)).flatMap(([name, amount]) => {
        const upper = objectAt(item, high)[name]
        if (upper === undefined || amountOf(amount) <= amountOf(upper)) return []
        const place = low === 'min' && high !== 'max' ? high : low
        return [fault.invalid(`${path}.${place}[${name}]`, amount, `must not be greater than ${high}`)]
      })
    )
  )
}

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
export function quotaFaults(quota: ApiObject, ...path: readonly [string, string]): Cause[] {
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
