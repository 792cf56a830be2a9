/**
 * The part of a zod schema's inside that we read. zod and zod/mini build the same tree, and a union of the definitions
 * that can occur lets one switch cover it.
 */
import { globalRegistry } from 'zod/v4/core'
import type { $ZodCheck, $ZodType, $ZodTypes, JSONSchemaMeta } from 'zod/v4/core'

/** What a schema's definition says, by its `type`. */
export type Definition = $ZodTypes['_zod']['def']

/** One check of a schema, such as `min_length`, with the fields that the known ones have. */
export interface Check {
  readonly check: string
  readonly format?: string
  readonly pattern?: RegExp
  readonly value?: number | bigint | Date
  readonly inclusive?: boolean
  readonly minimum?: number
  readonly maximum?: number
  readonly length?: number
  readonly size?: number
}

export function definitionOf(schema: $ZodType): Definition {
  return schema._zod.def as Definition
}

/** The checks of a schema. A format, such as `z.int32()` or `z.email()`, is a schema and its own first check. */
export function checksOf(schema: $ZodType): readonly Check[] {
  const own: readonly unknown[] = schema._zod.traits.has('$ZodCheck') ? [schema] : []
  const added: readonly unknown[] = schema._zod.def.checks ?? []
  return [...own, ...added].map((check) => (check as $ZodCheck)._zod.def as unknown as Check)
}

/** What `.describe()` and `.meta()` said of a schema. */
export function metaOf(schema: $ZodType): JSONSchemaMeta {
  return globalRegistry.get(schema) ?? {}
}
