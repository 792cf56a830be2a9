/** Counts what objects take of ResourceQuotas. */
import { type ApiObject, at, isObject, type JsonObject, list, num, str } from '../../model/json.ts'
import type { Kind } from '../../model/kinds.ts'
import { type Amounts, amounts, plus, podAmounts } from './amounts.ts'

/** What a quota calls the kinds that it counts without a `count/`, beside pods. */
const COUNTED = 'configmaps persistentvolumeclaims replicationcontrollers resourcequotas secrets services'.split(' ')

/** Returns what an object takes, by the names of a quota's resources. */
export function usageOf({ group, plural }: Kind, object: ApiObject): Amounts {
  const usage = { [`count/${plural}${group && `.${group}`}`]: '1' }
  if (group !== '') return usage
  const spec = object['spec'] as JsonObject
  if (plural === 'pods') {
    if (['Failed', 'Succeeded'].includes(str(object, 'status', 'phase'))) return usage
    const requests = plus(podAmounts(spec, 'requests'), amounts(spec['overhead']))
    return { ...usage, pods: '1', ...computeOf(requests, podAmounts(spec, 'limits')) }
  }
  if (!COUNTED.includes(plural)) return usage
  const own = { ...usage, [plural]: '1' }
  if (plural === 'services') return { ...own, ...serviceUsage(spec) }
  const storage = at(spec, 'resources', 'requests', 'storage')
  return plural === 'persistentvolumeclaims' && storage ? { ...own, 'requests.storage': String(storage) } : own
}

/** Returns requests and limits by the names of a quota's resources. */
function computeOf(requests: Amounts, limits: Amounts): Amounts {
  return Object.fromEntries([
    ...Object.entries(requests).flatMap(([name, amount]) =>
      name.includes('/') ? [[`requests.${name}`, amount]] : [[name, amount], [`requests.${name}`, amount]]
    ),
    ...Object.entries(limits).map(([name, amount]) => [`limits.${name}`, amount]),
  ])
}

function serviceUsage(spec: JsonObject): Amounts {
  const { type, allocateLoadBalancerNodePorts: allocates } = spec
  const ports = list(spec, 'ports').filter(({ nodePort }) => allocates !== false || nodePort)
  const isBalanced = type === 'LoadBalancer'
  return {
    'services.loadbalancers': isBalanced ? '1' : '0',
    'services.nodeports': String(isBalanced || type === 'NodePort' ? ports.length : 0),
  }
}

const COMPUTE = ['cpu', 'memory'].flatMap((name) => [name, `requests.${name}`, `limits.${name}`])

/** Returns why a pod cannot be counted: its containers must have what a quota limits. */
export function missingProblem({ spec }: ApiObject, hard: readonly string[]): string | undefined {
  if (isObject(at(spec, 'resources'))) return undefined
  const containers = [...list(spec, 'containers'), ...list(spec, 'initContainers')]
  const missing = hard.filter((name) => COMPUTE.includes(name)).sort().flatMap((name) => {
    const names = containers.filter(({ resources }) =>
      computeOf(amounts(at(resources, 'requests')), amounts(at(resources, 'limits')))[name] === undefined
    ).map((container) => str(container, 'name'))
    return names.length > 0 ? [`${name} for: ${names.sort().join(',')}`] : []
  })
  return missing.length > 0 ? `must specify ${missing.join('; ')}` : undefined
}

const isTerminating = ({ spec }: ApiObject): boolean => num(spec, 'activeDeadlineSeconds') > 0
const isBestEffort = (pod: ApiObject): boolean => str(pod, 'status', 'qosClass') === 'BestEffort'

/** The scopes of a quota, which are all about pods. A quota with another one counts nothing. */
const SCOPES: Readonly<Record<string, (pod: ApiObject) => boolean>> = {
  Terminating: isTerminating,
  NotTerminating: (pod) => !isTerminating(pod),
  BestEffort: isBestEffort,
  NotBestEffort: (pod) => !isBestEffort(pod),
}

/** Returns whether an object is in all scopes of a quota. One with a scope selector counts nothing. */
export function isInScopes({ spec }: ApiObject, { group, plural }: Kind, object: ApiObject): boolean {
  const names = at(spec, 'scopes') ?? []
  return !at(spec, 'scopeSelector') &&
    (names as string[]).every((name) => group === '' && plural === 'pods' && SCOPES[name]?.(object) === true)
}
