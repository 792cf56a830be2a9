/**
 * Reads the internals of zod schemas.
 *
 * zod and zod/mini build the same tree. zod is never imported at run time: a copy of mod.js works with any zod that
 * made the schemas.
 */
import type { JsonSchema } from '../core/resource.ts'
import type { $ZodCheck, $ZodIssue, $ZodRegistry, $ZodType, $ZodTypes, JSONSchemaMeta } from 'zod/v4/core'

/** A schema's definition, discriminated by its `type`. */
export type Definition = $ZodTypes['_zod']['def']

/** A check of a schema, such as `min_length`, with the fields of the known checks. */
export interface Check {
  readonly check: string
  readonly format?: string
  readonly pattern?: RegExp
  readonly value?: number | bigint | Date
  readonly inclusive?: boolean
  readonly minimum?: number
  readonly maximum?: number
  readonly length?: number
  /** Keywords for the schema of a CRD, of a check of `kubeloop/schema`. */
  readonly keywords?: Readonly<Record<string, unknown>>
  /** Throws, by `refuse`, if the API server would refuse these keywords in a schema. */
  verify?(schema: JsonSchema, refuse: (what: string, advice?: string) => never): void
}

export function definitionOf(schema: $ZodType): Definition {
  return schema._zod.def as Definition
}

/** Returns the checks of a schema. A format, such as `z.int32()`, is a schema and its own first check. */
export function checksOf(schema: $ZodType): readonly Check[] {
  const own: readonly unknown[] = schema._zod.traits.has('$ZodCheck') ? [schema] : []
  const added: readonly unknown[] = schema._zod.def.checks ?? []
  return [...own, ...added].map((check) => (check as $ZodCheck)._zod.def as unknown as Check)
}

/** Returns the metadata of `.describe()` and `.meta()`. Undefined if this is not a schema of a supported zod. */
export function metaOf(schema: $ZodType | undefined): JSONSchemaMeta | undefined {
  const { __zod_globalRegistry: registry } = globalThis as {
    readonly __zod_globalRegistry?: $ZodRegistry<JSONSchemaMeta>
  }
  return schema?._zod && registry ? registry.get(schema) ?? {} : undefined
}

export function issuesOf(schema: $ZodType, value: unknown): readonly $ZodIssue[] {
  const result = schema['~standard'].validate(value)
  if ('then' in result) throw new TypeError('Cannot validate: the schema is asynchronous')
  return (result.issues ?? []) as readonly $ZodIssue[]
}
