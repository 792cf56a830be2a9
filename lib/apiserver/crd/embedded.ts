/** Validates the identity of objects inside custom objects: `x-kubernetes-embedded-resource`. */
import { isObject, type Json, type JsonObject } from '../model/json.ts'
import { type Cause, fault } from '../model/status.ts'
import { nameProblems } from '../model/names.ts'
import type { Schema } from '../model/schema.ts'

const KIND_PREFIX = 'may have mixed case, but should otherwise match: '

/** Returns the faults of the embedded objects in a value: of their apiVersion and kind. Metadata is not checked. */
export function embeddedFaults(schema: Schema, value: Json, path: string): Cause[] {
  if (Array.isArray(value)) {
    const { items } = schema
    return items ? value.flatMap((item, at) => embeddedFaults(items, item, `${path}[${at}]`)) : []
  }
  if (!isObject(value)) return []
  const { properties = {}, additionalProperties } = schema
  const own = schema['x-kubernetes-embedded-resource'] ? identityFaults(value, path) : []
  const below = Object.entries(value).flatMap(([name, child]) => {
    const isNamed = Object.hasOwn(properties, name)
    const inner = isNamed ? properties[name] : isObject(additionalProperties as Json) ? additionalProperties : undefined
    const at = isNamed ? (path ? `${path}.${name}` : name) : `${path}[${name}]`
    return inner && child !== undefined ? embeddedFaults(inner as Schema, child, at) : []
  })
  return [...own, ...below]
}

function identityFaults({ apiVersion, kind }: JsonObject, path: string): Cause[] {
  const faults: Cause[] = []
  const invalid = (field: string, value: Json, detail: string): void =>
    void faults.push(fault.invalid(`${path}.${field}`, value, detail))
  if (apiVersion === undefined) faults.push(fault.required(`${path}.apiVersion`))
  else if (apiVersion === '') invalid('apiVersion', '', 'must not be empty')
  else if (typeof apiVersion === 'string' && apiVersion.split('/').length > 2) {
    invalid('apiVersion', apiVersion, `unexpected GroupVersion string: ${apiVersion}`)
  }
  if (kind === undefined) faults.push(fault.required(`${path}.kind`))
  else if (kind === '') invalid('kind', '', 'must not be empty')
  else if (typeof kind === 'string') {
    const problems = nameProblems(kind.toLowerCase(), 'label1035')
    if (problems.length > 0) invalid('kind', kind, KIND_PREFIX + problems.join(','))
  }
  return faults
}
