/**
 * Checks that a schema is structural: each value has a type, independent of logical branches.
 *
 * @see https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
 */
import { jsonEqual } from '../../core/equal.ts'
import { celEngine } from '../cel/load.ts'
import { isPlainPattern } from '../cel/patterns.ts'
import { isObject, type Json, type JsonObject } from '../model/json.ts'
import { type Cause, fault } from '../model/status.ts'

type Level = 'root' | 'item' | 'field'

/** Returns what keeps a schema from being structural, sorted. */
export function structuralFaults(schema: JsonObject, path: string): Cause[] {
  const faults = [...levelFaults(schema, path, 'root'), ...branchFields(schema, schema, path, path)]
  const text = ({ field, message }: Cause): string => `${field}: ${message}`
  return faults.toSorted((a, b) => (text(a) < text(b) ? -1 : 1))
}

function levelFaults(schema: JsonObject, path: string, level: Level): Cause[] {
  const faults: Cause[] = []
  const { type, items, properties, additionalProperties } = schema
  if (type === 'array' && items === undefined) faults.push(fault.required(`${path}.items`, 'must be specified'))
  if (isObject(items)) faults.push(...levelFaults(items, `${path}.items`, 'item'))
  for (const [name, property] of entriesOf(properties)) {
    faults.push(...levelFaults(property, `${path}.properties[${name}]`, 'field'))
  }
  if (additionalProperties !== undefined && level === 'root') {
    faults.push(fault.forbidden(`${path}.additionalProperties`, 'must not be used at the root'))
  }
  if (isObject(additionalProperties)) {
    faults.push(...levelFaults(additionalProperties, `${path}.additionalProperties`, 'field'))
  }
  return [
    ...faults,
    ...extensionFaults(schema, path),
    ...branchFaults(schema, path),
    ...typeFaults(schema, path, level),
    ...metadataFaults(schema, path, level),
  ]
}

function entriesOf(value: Json | undefined): [string, JsonObject][] {
  return isObject(value)
    ? Object.entries(value).filter((entry): entry is [string, JsonObject] => isObject(entry[1]))
    : []
}

const OPEN = 'x-kubernetes-preserve-unknown-fields'
const EITHER = 'x-kubernetes-int-or-string'
const EMBEDDED = 'x-kubernetes-embedded-resource'

function extensionFaults(schema: JsonObject, path: string): Cause[] {
  if (schema[EITHER] !== true) return []
  return [OPEN, EMBEDDED].filter((keyword) => schema[keyword] === true).map((keyword) =>
    fault.invalid(`${path}.${keyword}`, true, `must be false if ${EITHER} is true`)
  )
}

function typeFaults(schema: JsonObject, path: string, level: Level): Cause[] {
  const { type, properties, additionalProperties } = schema
  const isEmbedded = schema[EMBEDDED] === true
  const faults: Cause[] = []
  if (isEmbedded && type !== 'object') {
    const detail = `must be object if ${EMBEDDED} is true`
    faults.push(type ? fault.invalid(`${path}.type`, type, detail) : fault.required(`${path}.type`, detail))
  } else if (!type && schema[EITHER] !== true && schema[OPEN] !== true) {
    const place = { root: 'at the root', item: 'for specified array items', field: 'for specified object fields' }
    faults.push(fault.required(`${path}.type`, `must not be empty ${place[level]}`))
  }
  if (isEmbedded && additionalProperties !== undefined) {
    faults.push(fault.forbidden(`${path}.additionalProperties`, `must not be used if ${EMBEDDED} is set`))
  }
  if (level === 'root' && type && type !== 'object') {
    faults.push(fault.invalid(`${path}.type`, type, 'must be object at the root'))
  }
  if (isEmbedded && schema[OPEN] !== true && entriesOf(properties).length === 0) {
    faults.push(
      fault.required(`${path}.properties`, `must not be empty if ${EMBEDDED} is true without ${OPEN}`),
    )
  }
  return faults
}

/** The server defines apiVersion, kind and metadata; a schema may only restrict names. */
function metadataFaults(schema: JsonObject, path: string, level: Level): Cause[] {
  if (level !== 'root' && schema[EMBEDDED] !== true) return []
  const faults: Cause[] = []
  const properties = Object.fromEntries(entriesOf(schema['properties']))
  for (const [name, type] of [['kind', 'string'], ['apiVersion', 'string'], ['metadata', 'object']] as const) {
    const property = properties[name]
    if (property && property['type'] !== type) {
      faults.push(fault.invalid(`${path}.properties[${name}].type`, property['type'] ?? '', `must be ${type}`))
    }
  }
  const { metadata } = properties
  if (level !== 'root' || !metadata) return faults
  const { type: _type, default: _default, properties: fields, ...others } = metadata
  const isNamesOnly = entriesOf(fields).every(([name]) => name === 'name' || name === 'generateName')
  if (!isNamesOnly || Object.keys(others).length > 0) {
    const detail = 'must not specify anything other than name and generateName, but metadata is implicitly specified'
    faults.push(fault.forbidden(`${path}.properties[metadata]`, detail))
  }
  return faults
}

/** How a branch of a logical keyword must be empty. */
const NOT_IN_BRANCHES: readonly (readonly [keyword: string, state: 'empty' | 'undefined' | 'false'])[] = [
  ['type', 'empty'],
  ['default', 'undefined'],
  ['title', 'empty'],
  ['description', 'empty'],
  ['nullable', 'false'],
  [OPEN, 'false'],
  [EMBEDDED, 'false'],
  [EITHER, 'false'],
  ['x-kubernetes-list-map-keys', 'empty'],
  ['x-kubernetes-list-type', 'undefined'],
  ['x-kubernetes-map-type', 'undefined'],
  ['x-kubernetes-validations', 'empty'],
]

const INT_OR_STRING: Json = [{ type: 'integer' }, { type: 'string' }]

function isIntOrString(anyOf: Json | undefined): boolean {
  return anyOf !== undefined && jsonEqual(anyOf, INT_OR_STRING)
}

function branches(schema: JsonObject): [keyword: string, branch: JsonObject][] {
  const { not } = schema
  return [
    ...['anyOf', 'allOf', 'oneOf'].flatMap((keyword) => {
      const list = schema[keyword]
      return Array.isArray(list)
        ? list.flatMap((branch, index): [string, JsonObject][] =>
          isObject(branch) ? [[`${keyword}[${index}]`, branch]] : []
        )
        : []
    }),
    ...(isObject(not) ? [['not', not] as [string, JsonObject]] : []),
  ]
}

/** Checks the validations of a level. `isInFirst`: it is the first branch of allOf, which may be int-or-string. */
function branchFaults(schema: JsonObject, path: string, isInFirst = false, isBranch = false): Cause[] {
  const { allOf } = schema
  const isFirst = Array.isArray(allOf) && isObject(allOf[0]) && isIntOrString(allOf[0]['anyOf'])
  const skipAnyOf = isBranch ? isInFirst : isIntOrString(schema['anyOf'])
  return [
    ...branches(schema).filter(([keyword]) => !(skipAnyOf && keyword.startsWith('anyOf')))
      .flatMap(([keyword, branch]) =>
        nestedFaults(branch, `${path}.${keyword}`, !isBranch && isFirst && keyword === 'allOf[0]')
      ),
    ...patternFaults(schema, path),
  ]
}

function nestedFaults(branch: JsonObject, path: string, skipAnyOf: boolean): Cause[] {
  const faults = branchFaults(branch, path, skipAnyOf, true)
  const { items, properties, additionalProperties } = branch
  if (isObject(items)) faults.push(...nestedFaults(items, `${path}.items`, false))
  for (const [name, property] of entriesOf(properties)) {
    faults.push(...nestedFaults(property, `${path}.properties[${name}]`, false))
  }
  if (additionalProperties !== undefined) {
    faults.push(fault.forbidden(`${path}.additionalProperties`, 'must be undefined to be structural'))
  }
  for (const [keyword, state] of NOT_IN_BRANCHES) {
    const value = branch[keyword]
    const isSet = Array.isArray(value) ? value.length > 0 : value !== undefined && value !== '' && value !== false
    if (isSet) faults.push(fault.forbidden(`${path}.${keyword}`, `must be ${state} to be structural`))
  }
  if (isObject(properties) && properties['metadata'] !== undefined) {
    faults.push(fault.forbidden(`${path}.properties[metadata]`, 'must not be specified in a nested context'))
  }
  return faults
}

/** Returns a fault for each field of a branch that the schema itself does not have. */
function branchFields(schema: JsonObject, own: JsonObject, path: string, ownPath: string): Cause[] {
  return branches(schema).flatMap(([keyword, branch]) => fieldsOf(branch, own, ownPath, `${path}.${keyword}`))
}

function fieldsOf(branch: JsonObject, own: JsonObject, ownPath: string, path: string): Cause[] {
  const faults = branchFields(branch, own, path, ownPath)
  const known = Object.fromEntries(entriesOf(own['properties']))
  const missing = (field: string, at: string): Cause => fault.required(field, `because it is defined in ${at}`)
  const { items } = branch
  if (isObject(items)) {
    faults.push(
      ...(isObject(own['items'])
        ? fieldsOf(items, own['items'], `${ownPath}.items`, `${path}.items`)
        : [missing(`${ownPath}.items`, `${path}.items`)]),
    )
  }
  for (const [name, property] of entriesOf(branch['properties'])) {
    const at = `properties[${name}]`
    faults.push(
      ...(known[name]
        ? fieldsOf(property, known[name], `${ownPath}.${at}`, `${path}.${at}`)
        : [missing(`${ownPath}.${at}`, `${path}.${at}`)]),
    )
  }
  return faults
}

function patternFaults({ pattern }: JsonObject, path: string): Cause[] {
  if (typeof pattern !== 'string' || isPlainPattern(pattern)) return []
  const problem = celEngine().patternProblem(pattern)
  if (problem === undefined) return []
  return [fault.invalid(`${path}.pattern`, pattern, `must be a valid regular expression, but isn't: ${problem}`)]
}
