/** Lists that are sets or maps must not state an item twice. */
import { isObject, type Json } from '../json.ts'
import type { Schema } from '../schema/schema.ts'
import { type Cause, fault } from '../http/status.ts'

export function listFaults(schema: Schema, value: Json, path: string): Cause[] {
  if (Array.isArray(value)) {
    return [
      ...itemFaults(schema, value, path),
      ...value.flatMap((item, i) => (schema.items ? listFaults(schema.items, item, `${path}[${i}]`) : [])),
    ]
  }
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([name, child]) => {
    const property = schema.properties?.[name] ?? (isObject(
        schema.additionalProperties as Json,
      )
      ? schema.additionalProperties as Schema
      : undefined)
    return property && child !== undefined ? listFaults(property, child, path ? `${path}.${name}` : name) : []
  })
}

function itemFaults(schema: Schema, list: readonly Json[], path: string): Cause[] {
  const type = schema['x-kubernetes-list-type']
  if (type !== 'set' && type !== 'map') return []
  const seen = new Set<string>()
  const faults: Cause[] = []
  for (const [index, item] of list.entries()) {
    const named = type === 'set' ? item : keysOf(schema, item)
    const id = JSON.stringify(named)
    if (seen.has(id)) faults.push(fault.duplicate(`${path}[${index}]`, named))
    seen.add(id)
  }
  return faults
}

function keysOf(schema: Schema, item: Json): Json {
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  return isObject(item)
    ? Object.fromEntries(keys.filter((key) => item[key] !== undefined).map((key) => [key, item[key]!]))
    : item
}
