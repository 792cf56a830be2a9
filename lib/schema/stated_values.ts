/** Adds defaults and examples to a schema, and refuses those that do not fit it. */
import { jsonEqual } from '../core/equal.ts'
import type { JsonSchema } from '../core/resource.ts'
import { type Place, refuse } from './refusal.ts'
import { prunedField } from './schema_changes.ts'
import { type Definition, issuesOf } from './zod_tree.ts'
import type { $ZodType } from 'zod/v4/core'

/** Returns the schema with a default that the server accepts and keeps. */
export function withDefault(schema: JsonSchema, value: unknown, place: Place): JsonSchema {
  // Go reads JSON null here as no default, so the server drops it.
  if (value === null) refuse(place, 'given the default null', 'use .nullish(), and read undefined as null')
  const unknown = prunedField(value, schema, place.path)
  if (unknown) {
    refuse(place, `given a default with the field ${unknown}, which its schema does not have`, 'leave it out')
  }
  return { ...schema, default: value }
}

/** Returns the value that the server fills in. Refuses one that varies, as the server stores it. */
export function defaultOf(def: Extract<Definition, { type: 'default' | 'prefault' }>, place: Place): unknown {
  const value: unknown = def.defaultValue
  const text = JSON.stringify(value) as string | undefined
  const wire: unknown = text === undefined ? undefined : JSON.parse(text)
  if (text === undefined || !jsonEqual(wire, value)) return refuse(place, 'given a default that is not JSON')
  if (!jsonEqual(wire, def.defaultValue)) {
    return refuse(place, 'given a default that changes from call to call', 'set it when reconciling')
  }
  checkFit('default', def.innerType, value, place)
  return wire
}

export function checkFit(what: string, schema: $ZodType, value: unknown, place: Place): void {
  const [issue] = issuesOf(schema, value)
  if (!issue) return
  throw new TypeError(
    `Cannot define resource "${place.kind}": the ${what} of ${place.path} does not fit its own schema: ${issue.message}`,
  )
}
