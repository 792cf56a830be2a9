/**
 * The part of a zod schema's inside that we read. zod and zod/mini build the same tree, and a union of the definitions
 * that can occur lets one switch cover it. Schemas are asked themselves and zod is never imported: a copy of mod.js works
 * beside whichever zod made the schemas, wherever that came from.
 */
import type { $ZodCheck, $ZodIssue, $ZodRegistry, $ZodType, $ZodTypes, JSONSchemaMeta } from 'zod/v4/core'

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

/** What `.describe()` and `.meta()` said of a schema; undefined for what is not a schema of a zod that we know. */
export function metaOf(schema: $ZodType | undefined): JSONSchemaMeta | undefined {
  const { __zod_globalRegistry: registry } = globalThis as {
    readonly __zod_globalRegistry?: $ZodRegistry<JSONSchemaMeta>
  }
  return schema?._zod && registry ? registry.get(schema) ?? {} : undefined
}

/** What zod finds wrong with a value. */
export function issuesOf(schema: $ZodType, value: unknown): readonly $ZodIssue[] {
  const result = schema['~standard'].validate(value)
  if ('then' in result) throw new TypeError('Cannot validate: the schema is asynchronous')
  return (result.issues ?? []) as readonly $ZodIssue[]
}
