/** Validates, matches and formats LabelSelector objects. */
import { isObject, type Json, type JsonObject } from '../json.ts'
import { labelFaults } from '../storage/names.ts'
import { type Cause, fault } from '../http/status.ts'

const OPERATORS: readonly string[] = ['In', 'NotIn', 'Exists', 'DoesNotExist']

export function selectorFaults(selector: JsonObject, path: string): Cause[] {
  const labels = selector['matchLabels']
  const faults = labelFaults(isObject(labels) ? labels : undefined, `${path}.matchLabels`)
  for (const [index, requirement] of expressions(selector).entries()) {
    const at = `${path}.matchExpressions[${index}]`
    const { operator, values } = requirement
    const count = Array.isArray(values) ? values.length : 0
    if (!OPERATORS.includes(String(operator))) {
      faults.push(fault.invalid(`${at}.operator`, operator, 'not a valid selector operator'))
    } else if ((operator === 'In' || operator === 'NotIn') && count === 0) {
      faults.push(
        fault.required(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'"),
      )
    } else if ((operator === 'Exists' || operator === 'DoesNotExist') && count > 0) {
      faults.push(
        fault.forbidden(`${at}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
      )
    }
  }
  return faults
}

export function selectorMatches(selector: JsonObject, labels: Json | undefined): boolean {
  const all = isObject(labels) ? labels : {}
  const wanted = isObject(selector['matchLabels']) ? selector['matchLabels'] : {}
  return Object.entries(wanted).every(([key, value]) => all[key] === value) &&
    expressions(selector).every((each) => satisfies(each, all))
}

function expressions(selector: JsonObject): JsonObject[] {
  const list = selector['matchExpressions']
  return Array.isArray(list) ? list.filter(isObject) : []
}

function satisfies({ key, operator, values }: JsonObject, labels: JsonObject): boolean {
  const value = labels[String(key)]
  const isListed = Array.isArray(values) && value !== undefined && values.includes(value)
  switch (operator) {
    case 'In':
      return isListed
    case 'NotIn':
      return !isListed
    case 'Exists':
      return value !== undefined
    default:
      return value === undefined
  }
}

/** Formats a LabelSelector object as selector text. */
export function selectorText(selector: Json | undefined): string {
  if (!isObject(selector)) return ''
  const labels = isObject(selector['matchLabels']) ? selector['matchLabels'] : {}
  const terms = Object.keys(labels).sort().map((key) => `${key}=${String(labels[key])}`)
  for (const { key, operator, values } of expressions(selector)) {
    const list = Array.isArray(values) ? [...values].map(String).sort().join(',') : ''
    terms.push(requirementText(String(key), String(operator), list))
  }
  return terms.join(',')
}

function requirementText(key: string, operator: string, values: string): string {
  switch (operator) {
    case 'In':
      return `${key} in (${values})`
    case 'NotIn':
      return `${key} notin (${values})`
    case 'Exists':
      return key
    default:
      return `!${key}`
  }
}
