/** Validates the fields of a custom object that /scale reads. */
import { type Cause, fault } from '../model/status.ts'
import { type ApiObject, at, isObject, type Json } from '../model/json.ts'
import { jsonType } from '../model/go_text.ts'
import type { ScalePaths } from '../model/kinds.ts'

const MAX_INT32 = 2 ** 31 - 1

/** Returns the faults of the replicas and the selector. A write to /status checks only those of the status. */
export function scaleFaults(scale: ScalePaths, object: ApiObject, subresource: string): Cause[] {
  const faults = subresource === 'status' ? [] : replicasFaults(object, scale.specReplicas)
  faults.push(...replicasFaults(object, scale.statusReplicas))
  if (scale.selector) {
    const problem = accessProblem(object, scale.selector, 'string')
    if (problem) faults.push(fault.invalid(dotted(scale.selector), '', problem))
  }
  return faults
}

function replicasFaults(object: ApiObject, path: readonly string[]): Cause[] {
  const problem = accessProblem(object, path, 'integer')
  if (problem) return [fault.invalid(dotted(path), 0, problem)]
  const replicas = at(object, ...path)
  if (typeof replicas !== 'number') return []
  if (replicas < 0) return [fault.invalid(dotted(path), replicas, 'should be a non-negative integer')]
  if (replicas <= MAX_INT32) return []
  return [fault.invalid(dotted(path), replicas, `should be less than or equal to ${MAX_INT32}`)]
}

function dotted(path: readonly string[]): string {
  return `.${path.join('.')}`
}

/** Returns why a nested field cannot be read; undefined if it is missing or has the type. */
function accessProblem(object: ApiObject, path: readonly string[], type: 'integer' | 'string'): string | undefined {
  let current: Json | undefined = object
  for (const name of path) {
    if (!isObject(current)) return 'accessor error: a field above it is no object'
    current = current[name]
    if (current === undefined) return undefined
  }
  const hasType = type === 'integer' ? Number.isInteger(current) : typeof current === 'string'
  return hasType ? undefined : `accessor error: it is of the type ${jsonType(current)}, expected ${type}`
}
