/** Validation of LimitRanges. */
import { type Cause, fault } from '../../model/status.ts'
import { type ApiObject, isObject, type Json, type JsonObject } from '../../model/json.ts'
import { qualified } from '../common/checks.ts'
import { list } from '../common/columns.ts'
import { amountOf, resourceNameProblems } from '../common/resources.ts'

const AMOUNTS = ['max', 'min', 'default', 'defaultRequest']

/** Pairs of amounts of which the first must not be greater, and what the message calls them. */
const ORDER: readonly (readonly [at: string, low: string, high: string, names: readonly [string, string]])[] = [
  ['min', 'min', 'max', ['min', 'max']],
  ['defaultRequest', 'min', 'defaultRequest', ['min', 'default request']],
  ['defaultRequest', 'defaultRequest', 'max', ['default request', 'max']],
  ['defaultRequest', 'defaultRequest', 'default', ['default request', 'default']],
  ['default', 'min', 'default', ['min', 'default']],
  ['default', 'default', 'max', ['default', 'max']],
]

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

function orderFaults(item: JsonObject, path: string): Cause[] {
  const resources = new Set(AMOUNTS.flatMap((field) => Object.keys(amountsOf(item, field))))
  return [...resources].sort().flatMap((each) =>
    ORDER.flatMap(([place, low, high, [lowName, highName]]) => {
      const [lower, upper] = [amountsOf(item, low)[each], amountsOf(item, high)[each]]
      if (lower === undefined || upper === undefined || amountOf(lower) <= amountOf(upper)) return []
      const detail = `${lowName} value ${String(lower)} is greater than ${highName} value ${String(upper)}`
      // The real server shows another amount in some of these messages.
      const shown = place === 'default' && low === 'min' ? lower : amountsOf(item, place)[each]
      return [fault.invalid(`${path}.${place}[${each}]`, shown, detail)]
    })
  )
}
