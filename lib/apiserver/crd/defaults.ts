/** Checks the defaults that the schema of a custom kind states. */
import { celEngine, hasRules } from '../cel/load.ts'
import type { RuleSchema } from '../cel/schema.ts'
import type { Json } from '../model/json.ts'
import type { Schema } from '../model/schema.ts'
import { type Cause, fault } from '../model/status.ts'
import { prune } from '../schema/prune.ts'
import { validateValue } from './validate.ts'

/** Returns the faults of a schema's defaults: each must be valid by its own schema, without unknown fields. */
export function defaultFaults(schema: Schema, path: string): Cause[] {
  const { default: given, items, properties = {} } = schema
  return [
    ...(given === undefined ? [] : valueFaults(schema, given, `${path}.default`)),
    ...(items ? defaultFaults(items, `${path}.items`) : []),
    ...Object.entries(properties).flatMap(([name, property]) => defaultFaults(property, `${path}.properties[${name}]`)),
  ]
}

function valueFaults(schema: Schema, value: Json, path: string): Cause[] {
  const { unknown } = prune({ properties: { value: schema } }, { value })
  const faults = unknown.length === 0 ? [] : [fault.invalid(path, value, 'must not have unknown fields')]
  const within = (field: string): string => {
    const inner = field === '<nil>' ? '' : field
    return inner === '' || inner.startsWith('[') ? path + inner : `${path}.${inner}`
  }
  faults.push(
    ...validateValue(withFormatsAsTypes(schema), value, '').map((cause) => ({ ...cause, field: within(cause.field) })),
  )
  if (faults.length > 0 || !hasRules(schema)) return faults
  return [...celEngine().defaultFaults(schema as RuleSchema, value, path)]
}

/**
 * Returns the schema as the validator of defaults reads it: of a condition, which has no type, it takes the format of a
 * number for one that no value has.
 */
function withFormatsAsTypes(schema: Schema): Schema {
  return JSON.parse(JSON.stringify(schema), (_key, value: Schema | null) => {
    const { format, type, 'x-kubernetes-int-or-string': isEither } = value ?? {}
    return format && NUMBERS.includes(format) && !type && !isEither ? { ...value, type: format } : value
  }) as Schema
}

const NUMBERS: readonly string[] = ['int32', 'int64', 'float', 'double']
