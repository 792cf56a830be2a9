/** Validation of LimitRanges. */
import { type Cause, fault } from '../../model/status.ts'
import { type ApiObject, isObject, type Json, type JsonObject } from '../../model/json.ts'
import { qualified } from '../common/checks.ts'
import { list } from '../common/columns.ts'
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

const amountsOf = (item: JsonObject, field: string): JsonObject => {
  const amounts = item[field]
  return isObject(amounts) ? amounts : {}
}

function amountNameFaults(item: JsonObject, path: string): Cause[] {
  if (item['type'] !== 'Container' && item['type'] !== 'Pod') return []
  return AMOUNTS.flatMap((field) =>
    Object.keys(amountsOf(item, field)).sort().flatMap((each) =>
      resourceNameProblems(each).map((problem) => fault.invalid(`${path}.${field}[${each}]`, each, problem))
    )
  )
}

function podFaults(item: JsonObject, path: string): Cause[] {
  const detail = "may not be specified when `type` is 'Pod'"
  return ['default', 'defaultRequest'].filter((field) => Object.keys(amountsOf(item, field)).length > 0)
    .map((field) => fault.forbidden(`${path}.${field}`, detail))
}

/** The minimum is at most the default request, that at most the default, that at most the maximum. */
function orderFaults(item: JsonObject, path: string): Cause[] {
  const order = ['min', 'defaultRequest', 'default', 'max']
  return order.flatMap((low, index) =>
    order.slice(index + 1).flatMap((high) =>
      Object.entries(amountsOf(item, low)).flatMap(([name, amount]) => {
        const upper = amountsOf(item, high)[name]
        if (upper === undefined || amountOf(amount) <= amountOf(upper)) return []
        const place = low === 'min' && high !== 'max' ? high : low
        return [fault.invalid(`${path}.${place}[${name}]`, amount, `must not be greater than ${high}`)]
      })
    )
  )
}
