/** The rules of ResourceQuotas and LimitRanges. */
import { type ApiObject, at, isObject, type Json, type JsonObject } from '../../model/json.ts'
import type { Rules } from '../../model/kinds.ts'
import { qualifiedNameProblems } from '../../model/names.ts'
import { type Cause, fault } from '../../model/status.ts'
import { unchanged } from '../common/checks.ts'
import { list, size, str } from '../common/columns.ts'
import { parentsOf } from '../common/fill.ts'
import { limitRangeFaults } from './checks.ts'
import { SCOPES } from './usage.ts'

export const QUOTA_RULES: Partial<Rules> = {
  validate: (quota, old) => [
    ...quotaFaults(quota, 'spec', 'hard'),
    ...scopeFaults(quota),
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

const CONFLICTS = [['BestEffort', 'NotBestEffort'], ['Terminating', 'NotTerminating']]
const EXISTS_ONLY = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, " +
  'ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ' +
  'ResourceQuotaScopeCrossNamespacePodAffinity'

/** Returns the faults of the scopes in a quota's list, then the faults of its selector. */
function scopeFaults({ spec }: ApiObject): Cause[] {
  const [scopes, selector] = [at(spec, 'scopes') as string[] ?? [], list(spec, 'scopeSelector', 'matchExpressions')]
  const path = 'spec.scopeSelector.matchExpressions'
  const internal = selector.map(({ scopeName, operator, values }) => (
    { ScopeName: scopeName, Operator: operator, Values: values ?? null }
  ))
  const names = selector.map((each) => str(each, 'scopeName'))
  return [
    ...namesFaults(spec, scopes, 'spec.scopes', scopes, () => fault.invalid('spec.scopes', scopes, UNSUPPORTED)),
    ...namesFaults(
      spec,
      names,
      path,
      { MatchExpressions: internal },
      (name) => fault.invalid(`${path}.scopeName`, name, UNSUPPORTED),
    ),
    ...selector.flatMap((each) => selectorFaults(each, path)),
  ]
}

const UNSUPPORTED = 'unsupported scope'

function namesFaults(
  spec: Json | undefined,
  names: readonly string[],
  path: string,
  shown: unknown,
  unsupported: (name: string) => Cause,
): Cause[] {
  const resources = Object.keys(map(at(spec, 'hard'))).filter((name) => STANDARD_RESOURCES.has(name))
  const isWrong = (name: string, resource: string): boolean => SCOPES[name]?.resources.includes(resource) === false
  return [
    ...names.flatMap((name) => [
      ...(SCOPES[name] ? [] : [unsupported(name)]),
      ...resources.filter((each) => isWrong(name, each)).map(() =>
        fault.invalid(path, shown, `${UNSUPPORTED} applied to resource`)
      ),
    ]),
    ...CONFLICTS.filter((pair) => pair.every((name) => names.includes(name)))
      .map(() => fault.invalid(path, shown, 'conflicting scopes')),
  ]
}

function selectorFaults({ scopeName, operator, values }: JsonObject, path: string): Cause[] {
  const isSet = size(values) > 0
  const isPlain = scopeName !== 'PriorityClass' && scopeName !== 'VolumeAttributesClass' && SCOPES[String(scopeName)]
  const faults = isPlain && operator !== 'Exists' ? [fault.invalid(`${path}.operator`, operator, EXISTS_ONLY)] : []
  if (operator === 'In' || operator === 'NotIn') {
    const detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
    return isSet ? faults : [...faults, fault.required(`${path}.values`, detail)]
  }
  if (operator !== 'Exists' && operator !== 'DoesNotExist') {
    return [...faults, fault.invalid(`${path}.operator`, operator, 'not a valid selector operator')]
  }
  const detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
  return isSet ? [...faults, fault.invalid(`${path}.values`, values, detail)] : faults
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
