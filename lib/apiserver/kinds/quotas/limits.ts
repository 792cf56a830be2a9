/** Applies LimitRanges to pods and claims. */
import { type ApiObject, at, type JsonObject, list, str } from '../../model/json.ts'
import { child } from '../common/fill.ts'
import { type Amounts, amounts, nanosOf, podAmounts } from './amounts.ts'

const CONTAINERS = [['containers', 'container'], ['initContainers', 'init container']] as const

/** Sets the default requests and limits of a new pod's containers, in place, and notes them in an annotation. */
export function setLimitDefaults(pod: ApiObject, range: ApiObject): void {
  const items = list(range, 'spec', 'limits').filter(({ type }) => type === 'Container')
  const defaults = {
    requests: items.map((item) => amounts(item['defaultRequest'])),
    limits: items.map((item) => amounts(item['default'])),
  }
  const notes = CONTAINERS.flatMap(([field, what]) =>
    list(pod, 'spec', field).flatMap((container) =>
      (['requests', 'limits'] as const).flatMap((name) => {
        const given = amounts(at(container, 'resources', name))
        const all: Amounts = Object.assign({}, ...defaults[name], given)
        const added = Object.keys(all).filter((each) => given[each] === undefined).sort()
        if (added.length === 0) return []
        child(container, 'resources')[name] = all
        return [`${added.join(', ')} ${name.slice(0, -1)} for ${what} ${str(container, 'name')}`]
      })
    )
  )
  if (notes.length === 0) return
  const { annotations } = pod.metadata
  pod.metadata.annotations = {
    ...annotations,
    'kubernetes.io/limit-ranger': `LimitRanger plugin set: ${notes.join('; ')}`,
  }
}

/** Returns how a pod or a claim breaks a range. */
export function limitProblems({ kind, spec }: ApiObject, range: ApiObject): string[] {
  const containers = kind === 'Pod' ? CONTAINERS.flatMap(([field]) => list(spec, field)) : []
  return list(range, 'spec', 'limits').flatMap((item) => {
    if (item['type'] === 'Container') {
      return containers.flatMap(({ resources }) =>
        problems(item, amounts(at(resources, 'requests')), amounts(at(resources, 'limits')))
      )
    }
    if (item['type'] !== kind) return []
    if (kind !== 'Pod') return problems(item, amounts(at(spec, 'resources', 'requests')), {})
    return problems(item, podAmounts(spec as JsonObject, 'requests'), podAmounts(spec as JsonObject, 'limits'))
  })
}

function each(item: JsonObject, field: string, test: (name: string, limit: string) => string | undefined): string[] {
  return Object.entries(amounts(item[field])).flatMap(([name, limit]) => test(name, limit) ?? [])
}

function problems(item: JsonObject, requests: Amounts, limits: Amounts): string[] {
  const type = String(item['type'])
  // Claims have no limits.
  const [what, upper] = type === 'PersistentVolumeClaim' ? ['request', requests] : ['limit', limits]
  return [
    ...each(item, 'min', (name, limit) => tooLow(type, name, limit, requests, limits)),
    ...each(item, 'max', (name, limit) => {
      const start = `maximum ${name} usage per ${type} is ${limit}`
      if (upper[name] === undefined) return `${start}.  No ${what} is specified`
      if (nanosOf(upper[name]) > nanosOf(limit)) return `${start}, but ${what} is ${upper[name]}`
      return nanosOf(requests[name]) > nanosOf(limit) ? `${start}, but request is ${requests[name]}` : undefined
    }),
    ...each(item, 'maxLimitRequestRatio', (name, limit) => {
      const start = `${name} max limit to request ratio per ${type} is ${limit}`
      const [request, own] = [Number(nanosOf(requests[name])), Number(nanosOf(limits[name]))]
      if (request === 0) return `${start}, but no request is specified or request is 0`
      if (own === 0) return `${start}, but no limit is specified or limit is 0`
      const isHigher = own * 1e9 > Number(nanosOf(limit)) * request
      return isHigher ? `${start}, but provided ratio is ${(own / request).toFixed(6)}` : undefined
    }),
  ]
}

function tooLow(type: string, name: string, limit: string, requests: Amounts, limits: Amounts): string | undefined {
  const start = `minimum ${name} usage per ${type} is ${limit}`
  if (requests[name] === undefined) return `${start}.  No request is specified`
  if (nanosOf(requests[name]) < nanosOf(limit)) return `${start}, but request is ${requests[name]}`
  const isLow = limits[name] !== undefined && nanosOf(limits[name]) < nanosOf(limit)
  return isLow ? `${start}, but limit is ${limits[name]}` : undefined
}
