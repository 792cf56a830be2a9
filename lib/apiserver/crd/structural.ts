/**
 * Checks that a schema is structural: each value has a type, independent of logical branches.
 *
 * @see https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
 */
import { isObject, type Json, type JsonObject } from '../json.ts'
import { type Cause, fault } from '../http/status.ts'

export function structuralFaults(schema: JsonObject, path: string): Cause[] {
  const faults: Cause[] = []
  if (schema['type'] !== 'object') {
    faults.push(
      schema['type'] === undefined
        ? fault.required(`${path}.type`, 'must not be empty at the root')
        : fault.invalid(`${path}.type`, schema['type'], 'must be object at the root'),
    )
  }
  return [...levelFaults(schema, path, true), ...faults]
}

const TYPES: readonly string[] = ['object', 'array', 'string', 'integer', 'number', 'boolean']

function levelFaults(schema: JsonObject, path: string, isRoot: boolean): Cause[] {
  const faults: Cause[] = []
  const { type } = schema
  const isIntOrString = schema['x-kubernetes-int-or-string'] === true
  const isOpen = schema['x-kubernetes-preserve-unknown-fields'] === true
  if (!isRoot && type === undefined && !isIntOrString && !isOpen) {
    faults.push(
      fault.required(`${path}.type`, 'must not be empty for specified object fields'),
    )
  }
  if (type !== undefined && !TYPES.includes(String(type))) faults.push(fault.notSupported(`${path}.type`, type, TYPES))
  if (isIntOrString && type !== undefined) {
    faults.push(
      fault.invalid(`${path}.type`, type, 'must be empty if x-kubernetes-int-or-string is true'),
    )
  }
  if (schema['uniqueItems'] === true) {
    faults.push(
      fault.forbidden(
        `${path}.uniqueItems`,
        'uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
      ),
    )
  }
  if (schema['$ref'] !== undefined) faults.push(fault.forbidden(`${path}.$ref`, '$ref is not supported'))
  if (
    isObject(schema['properties']) && schema['additionalProperties'] !== undefined &&
    schema['additionalProperties'] !== false
  ) {
    faults.push(
      fault.forbidden(`${path}.additionalProperties`, 'additionalProperties and properties are mutual exclusive'),
    )
  }
  if (schema['additionalProperties'] === false) {
    faults.push(
      fault.forbidden(`${path}.additionalProperties`, 'additionalProperties cannot be set to false'),
    )
  }
  if (type === 'array' && schema['items'] === undefined) {
    faults.push(fault.required(`${path}.items`, 'must be specified'))
  }
  faults.push(...listTypeFaults(schema, path), ...patternFaults(schema, path))
  return [...faults, ...childFaults(schema, path)]
}

function listTypeFaults(schema: JsonObject, path: string): Cause[] {
  const type = schema['x-kubernetes-list-type']
  const keys = schema['x-kubernetes-list-map-keys']
  const faults: Cause[] = []
  if (type !== undefined && schema['type'] !== 'array') {
    faults.push(
      fault.invalid(`${path}.type`, schema['type'] ?? '', 'must be array if x-kubernetes-list-type is specified'),
    )
  }
  if (type !== undefined && !['atomic', 'set', 'map'].includes(String(type))) {
    faults.push(
      fault.notSupported(`${path}.x-kubernetes-list-type`, type, ['atomic', 'map', 'set']),
    )
  }
  if (type === 'map' && (!Array.isArray(keys) || keys.length === 0)) {
    faults.push(
      fault.required(`${path}.x-kubernetes-list-map-keys`, 'must not be empty if x-kubernetes-list-type is map'),
    )
  }
  if (type !== 'map' && Array.isArray(keys)) {
    faults.push(
      fault.invalid(
        `${path}.x-kubernetes-list-type`,
        type ?? '',
        'must be map if x-kubernetes-list-map-keys is non-empty',
      ),
    )
  }
  if (type === 'map' && Array.isArray(keys) && isObject(schema['items'])) {
    const items = schema['items']
    const properties = isObject(items['properties']) ? items['properties'] : {}
    const required = Array.isArray(items['required']) ? items['required'] : []
    for (const [index, key] of keys.map(String).entries()) {
      const property = properties[key]
      if (property === undefined) {
        faults.push(
          fault.invalid(
            `${path}.x-kubernetes-list-map-keys[${index}]`,
            key,
            'entries must all be names of item properties',
          ),
        )
      } else if (!required.includes(key) && !(isObject(property) && property['default'] !== undefined)) {
        faults.push(
          fault.required(
            `${path}.items.properties[${key}].default`,
            'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
          ),
        )
      }
    }
  }
  return faults
}

function patternFaults(schema: JsonObject, path: string): Cause[] {
  const { pattern } = schema
  if (typeof pattern !== 'string') return []
  try {
    new RegExp(pattern, 'u')
    return []
  } catch {
    // The exception adds nothing to the message, which contains the pattern.
    return [fault.invalid(`${path}.pattern`, pattern, "must be a valid regular expression, but isn't")]
  }
}

function childFaults(schema: JsonObject, path: string): Cause[] {
  const faults: Cause[] = []
  const { properties, items, additionalProperties } = schema
  if (isObject(properties)) {
    for (const [name, property] of Object.entries(properties)) {
      faults.push(...below(property, `${path}.properties[${name}]`))
    }
  }
  if (items !== undefined) faults.push(...below(items, `${path}.items`))
  if (isObject(additionalProperties)) faults.push(...below(additionalProperties, `${path}.additionalProperties`))
  return faults
}

function below(schema: Json | undefined, path: string): Cause[] {
  return isObject(schema) ? levelFaults(schema, path, false) : []
}
