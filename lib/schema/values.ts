/** Translates enums, literals, nullable schemas and Kubernetes' int-or-string. */
import { refuse } from './refusal.ts'
import { conjunction, RANGES } from './scalars.ts'
import type { JsonSchema } from '../core/resource.ts'
import type { Place } from './refusal.ts'

export function valuesSchema(values: Iterable<unknown>, place: Place): JsonSchema {
  const all = [...values]
  const present = all.filter((value) => value !== null)
  const types = new Set(present.map((value) => typeof value))
  const [type] = types
  if (present.length === 0) return refuse(place, all.length > 0 ? 'nothing but null' : 'a set of no values')
  if (types.size > 1) return refuse(place, `a set of values of several types (${[...types].join(', ')})`)
  if (type !== 'string' && type !== 'number' && type !== 'boolean') return refuse(place, `a literal ${String(type)}`)
  const name = type !== 'number' ? type : present.every(Number.isInteger) ? 'integer' : 'number'
  const schema: JsonSchema = name === 'boolean' && present.length === 2 ? { type: name } : { type: name, enum: present }
  return all.length > present.length ? nullable(schema) : schema
}

/**
 * Returns the schema with null allowed. For the server null equals no member of an enum, not even null, so an enum
 * becomes keywords that do not apply to null.
 */
export function nullable(schema: JsonSchema): JsonSchema {
  return { ...allowNull(schema), nullable: true }
}

function allowNull(schema: JsonSchema): JsonSchema {
  const { enum: values, ...rest } = schema as { readonly enum?: readonly unknown[] }
  const result: Record<string, unknown> = { ...rest }
  for (const junctor of ['anyOf', 'allOf']) {
    if (Array.isArray(result[junctor])) result[junctor] = (result[junctor] as readonly JsonSchema[]).map(allowNull)
  }
  return values ? conjunction(result, [conditionOf(values)]) : result
}

function conditionOf(values: readonly unknown[]): JsonSchema {
  if (typeof values[0] === 'string') {
    return { pattern: `^(?:${values.map((value) => escape(String(value))).join('|')})$` }
  }
  if (typeof values[0] === 'boolean') return { not: { enum: [!values[0]] } }
  return { anyOf: values.map((value) => ({ minimum: value, maximum: value })) }
}

function escape(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}

/** Returns int-or-string, the only union of types in a CRD, for an integer and a string; otherwise undefined. */
export function intOrString(schemas: readonly JsonSchema[], place: Place): JsonSchema | undefined {
  const types = schemas.map((schema) => schema['type'])
  if (schemas.length !== 2 || !types.includes('integer') || !types.includes('string')) return undefined
  const result: Record<string, unknown> = { 'x-kubernetes-int-or-string': true }
  for (
    const { type, format, ...conditions } of schemas as readonly { readonly type: string; readonly format?: string }[]
  ) {
    for (const [keyword, value] of Object.entries(conditions)) {
      // Limits apply only to numbers, lengths and patterns only to strings; other keywords would apply to both.
      if (!ONE_SIDED.test(keyword)) {
        return refuse(place, `an integer or a string with ${keyword}`, 'use x-kubernetes-validations')
      }
      result[keyword] = value
    }
    if (type === 'integer' && format === 'int32') Object.assign(result, { ...RANGES['int32'], ...result })
    else if (type === 'string' && format) {
      return refuse(place, `an integer or a string of format "${format}"`, 'use a pattern')
    }
  }
  return result
}

const ONE_SIDED = /^(?:exclusiveM|m)(?:in|ax)imum$|^m(?:in|ax)Length$|^multipleOf$|^pattern$/
