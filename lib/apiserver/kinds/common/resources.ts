/** Validation of amounts of resources: requests and limits of containers, and limits of a namespace. */
import { type Cause, fault } from '../../model/status.ts'
import { isObject, type Json, type JsonObject } from '../../model/json.ts'
import { nanosOf } from '../../model/quantities.ts'
import { qualifiedNameProblems } from '../../model/names.ts'

/** Returns a quantity in canonical form as a number; rounding does not matter for comparisons in practice. */
export function amountOf(text: Json | undefined): number {
  return Number(nanosOf(String(text ?? '0')) ?? 0n) / 1e9
}

const STANDARD = ['cpu', 'memory', 'ephemeral-storage']

/** Returns the problems of the name of a container's resource. */
export function resourceNameProblems(name: string): string[] {
  const problems = qualifiedNameProblems(name)
  if (problems.length > 0 || name.includes('/') || STANDARD.includes(name) || name.startsWith('hugepages-')) {
    return problems
  }
  return ['must be a standard resource type or fully qualified', 'must be a standard resource for containers']
}

/** An extended resource, such as `nvidia.com/gpu`, has integer amounts. */
const isExtended = (name: string): boolean => name.includes('/') && !name.includes('kubernetes.io/')

/** Returns the faults of a container's requests and limits. */
export function resourceFaults(resources: Json | undefined, path: string): Cause[] {
  if (!isObject(resources)) return []
  const limits = isObject(resources['limits']) ? resources['limits'] : {}
  const requests = isObject(resources['requests']) ? resources['requests'] : {}
  return [
    ...amountsFaults(limits, `${path}.limits`),
    ...amountsFaults(requests, `${path}.requests`),
    ...Object.keys(requests).filter((name) =>
      limits[name] !== undefined && amountOf(requests[name]) > amountOf(limits[name])
    ).map((name) =>
      fault.invalid(
        `${path}.requests`,
        requests[name],
        `must be less than or equal to ${name} limit of ${String(limits[name])}`,
      )
    ),
  ]
}

function amountsFaults(amounts: JsonObject, path: string): Cause[] {
  return Object.keys(amounts).sort().flatMap((name) => {
    const place = `${path}[${name}]`
    const amount = amounts[name]
    const faults = resourceNameProblems(name).map((problem) => fault.invalid(place, name, problem))
    if (amountOf(amount) < 0) faults.push(fault.invalid(place, amount, 'must be greater than or equal to 0'))
    if (isExtended(name) && !Number.isInteger(amountOf(amount))) {
      faults.push(fault.invalid(place, amount, 'must be an integer'))
    }
    return faults
  })
}
