/** Checks the keywords of a schema that do not concern its structure: unsupported ones, and those of lists. */
import { isObject, type Json, type JsonObject } from '../model/json.ts'
import { type Cause, fault } from '../model/status.ts'

const TYPES: readonly string[] = ['array', 'boolean', 'integer', 'number', 'object', 'string']
const UNSUPPORTED = ['id', 'additionalItems', 'patternProperties', 'definitions', 'dependencies', '$ref']

/** Returns the faults of all levels of a schema, also of its logical branches. */
export function schemaFormFaults(schema: JsonObject, path: string): Cause[] {
  const { type, additionalProperties, properties } = schema
  const faults: Cause[] = []
  if (type && !TYPES.includes(String(type))) faults.push(fault.notSupported(`${path}.type`, type, TYPES))
  for (const keyword of UNSUPPORTED) {
    const value = schema[keyword]
    if (value !== undefined && value !== '') {
      faults.push(fault.forbidden(`${path}.${keyword}`, `${keyword} is not supported`))
    }
  }
  if (Array.isArray(schema['items'])) {
    faults.push(fault.forbidden(`${path}.items`, 'items must be a schema object and not an array'))
  }
  if (type === 'null') {
    faults.push(fault.forbidden(`${path}.type`, 'type cannot be set to null, use nullable as an alternative'))
  }
  if (schema['uniqueItems'] === true) {
    const detail = 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic'
    faults.push(fault.forbidden(`${path}.uniqueItems`, detail))
  }
  if (additionalProperties !== undefined && additionalProperties !== true && isObject(properties)) {
    if (Object.keys(properties).length > 0) {
      const detail = 'additionalProperties and properties are mutual exclusive'
      faults.push(fault.forbidden(`${path}.additionalProperties`, detail))
    }
  }
  return [
    ...faults,
    ...childrenOf(schema).flatMap(([name, child]) => schemaFormFaults(child, `${path}.${name}`)),
    ...extensionFaults(schema, path),
    ...listFaults(schema, path),
  ]
}

function childrenOf(schema: JsonObject): [string, JsonObject][] {
  const all: [string, Json | undefined][] = [
    ['additionalProperties', schema['additionalProperties']],
    ...Object.entries(isObject(schema['properties']) ? schema['properties'] : {}).map((
      [name, property],
    ): [string, Json | undefined] => [`properties[${name}]`, property]),
    ['not', schema['not']],
    ...['allOf', 'oneOf', 'anyOf'].flatMap((keyword) => {
      const list = schema[keyword]
      return Array.isArray(list) ? list.map((branch, index): [string, Json] => [`${keyword}[${index}]`, branch]) : []
    }),
    ['items', schema['items']],
  ]
  return all.filter((entry): entry is [string, JsonObject] => isObject(entry[1]))
}

function extensionFaults(schema: JsonObject, path: string): Cause[] {
  const { type } = schema
  const open = 'x-kubernetes-preserve-unknown-fields'
  const mapType = schema['x-kubernetes-map-type']
  const faults: Cause[] = []
  if (schema[open] === false) faults.push(fault.invalid(`${path}.${open}`, false, 'must be true or undefined'))
  if (mapType !== undefined && type !== 'object') {
    const detail = 'must be object if x-kubernetes-map-type is specified'
    faults.push(type ? fault.invalid(`${path}.type`, type, detail) : fault.required(`${path}.type`, detail))
  }
  if (mapType !== undefined && mapType !== 'atomic' && mapType !== 'granular') {
    faults.push(fault.notSupported(`${path}.x-kubernetes-map-type`, mapType, ['atomic', 'granular']))
  }
  return faults
}

function listFaults(schema: JsonObject, path: string): Cause[] {
  const type = schema['x-kubernetes-list-type']
  const keys = schema['x-kubernetes-list-map-keys']
  const typePath = `${path}.x-kubernetes-list-type`
  const items = isObject(schema['items']) ? schema['items'] : undefined
  const faults: Cause[] = []
  if (type !== undefined && schema['type'] !== 'array') {
    const detail = 'must be array if x-kubernetes-list-type is specified'
    const given = schema['type']
    faults.push(given ? fault.invalid(`${path}.type`, given, detail) : fault.required(`${path}.type`, detail))
  } else if (type === 'set' && items) faults.push(...setItemFaults(items, `${path}.items`))
  if (type !== undefined && !['atomic', 'set', 'map'].includes(String(type))) {
    faults.push(fault.notSupported(typePath, type, ['atomic', 'set', 'map']))
  }
  if (Array.isArray(keys) && keys.length > 0 && type !== 'map') {
    const detail = 'must be map if x-kubernetes-list-map-keys is non-empty'
    faults.push(type === undefined ? fault.required(typePath, detail) : fault.invalid(typePath, type, detail))
  }
  if (type === 'map') faults.push(...mapListFaults(keys, items, path))
  if (type !== 'set' && type !== 'map') return faults
  if (items?.['nullable'] === true) {
    faults.push(
      fault.forbidden(`${path}.items.nullable`, `cannot be nullable when x-kubernetes-list-type is ${type}`),
    )
  }
  return type === 'map' ? [...faults, ...keyFaults(keys, items, path)] : faults
}

function setItemFaults(items: JsonObject, path: string): Cause[] {
  const listType = items['x-kubernetes-list-type']
  const detail = 'must be atomic as item of a list with x-kubernetes-list-type=set'
  if (items['type'] === 'array' && listType !== undefined && listType !== 'atomic') {
    return [fault.invalid(`${path}.x-kubernetes-list-type`, listType, detail)]
  }
  // The real server shows the list type here, too.
  if (items['type'] === 'object' && items['x-kubernetes-map-type'] !== 'atomic') {
    return [fault.invalid(`${path}.x-kubernetes-map-type`, listType ?? null, detail)]
  }
  return []
}

function mapListFaults(keys: Json | undefined, items: JsonObject | undefined, path: string): Cause[] {
  const keysPath = `${path}.x-kubernetes-list-map-keys`
  const list = Array.isArray(keys) ? keys.map(String) : []
  const faults: Cause[] = []
  if (list.length === 0) faults.push(fault.required(keysPath, 'must not be empty if x-kubernetes-list-type is map'))
  if (!items) {
    faults.push(fault.required(`${path}.items`, 'must have a schema if x-kubernetes-list-type is map'))
    return faults
  }
  const { type } = items
  if (type !== 'object') {
    const detail = "must be object if parent array's x-kubernetes-list-type is map"
    return [...faults, fault.invalid(`${path}.items.type`, type ?? '', detail)]
  }
  const properties = isObject(items['properties']) ? items['properties'] : {}
  for (const [index, key] of list.entries()) {
    const property = properties[key]
    if (!isObject(property)) {
      faults.push(fault.invalid(keysPath, list, 'entries must all be names of item properties'))
    } else if (property['type'] === 'array' || property['type'] === 'object') {
      const detail = "must be a scalar type if parent array's x-kubernetes-list-type is map"
      faults.push(fault.invalid(`${path}.items.properties[${key}].type`, type, detail))
    }
    if (list.indexOf(key) < index) {
      faults.push(fault.invalid(keysPath, list, 'must not contain duplicate entries'))
    }
  }
  return faults
}

function keyFaults(keys: Json | undefined, items: JsonObject | undefined, path: string): Cause[] {
  const properties = isObject(items?.['properties']) ? items['properties'] : {}
  const required = Array.isArray(items?.['required']) ? items['required'] : []
  return (Array.isArray(keys) ? keys.map(String) : []).flatMap((key) => {
    const property = properties[key]
    if (!isObject(property)) return []
    const at = `${path}.items.properties[${key}]`
    const detail = 'this property is in x-kubernetes-list-map-keys, so it'
    return [
      ...(!required.includes(key) && property['default'] === undefined
        ? [fault.required(`${at}.default`, `${detail} must have a default or be a required property`)]
        : []),
      ...(property['nullable'] === true ? [fault.forbidden(`${at}.nullable`, `${detail} cannot be nullable`)] : []),
    ]
  })
}
