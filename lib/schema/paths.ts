/** Finds the schema of a field by a JSON path, such as `.spec.replicas`. */
import type { JsonSchema } from '../core/resource.ts'

/** `.name`, `['name']`, `[0]`, `[*]`, a slice or a filter. Dots within a name are escaped. */
const STEP = /\.(?:[^.[\]\\]|\\.)+|\[(?:'[^']*'|"[^"]*"|[-\d:]+|\*|\?\([^]*?\))\]/g

/** Returns the steps of a path. Undefined if it is not one. */
export function stepsOf(path: string): readonly string[] | undefined {
  const steps = path.match(STEP)
  return steps?.join('') === path ? steps : undefined
}

/** Returns the schema at a path, or the part of the path that is missing. An open schema allows any step. */
export function schemaAt(
  steps: readonly string[],
  root: JsonSchema,
): { readonly schema: JsonSchema } | { readonly missing: string } {
  let schema: JsonSchema | undefined = root
  for (const [i, step] of steps.entries()) {
    schema = schemaBelow(schema, step)
    if (!schema) return { missing: steps.slice(0, i + 1).join('') }
  }
  return { schema }
}

function schemaBelow(schema: JsonSchema, step: string): JsonSchema | undefined {
  const name = /^\.([^]*)$|^\['([^]*)'\]$|^\["([^]*)"\]$/.exec(step)
  if (!name) return (schema['items'] ?? (isOpen(schema) ? {} : undefined)) as JsonSchema | undefined
  const field = (name[1]?.replace(/\\(.)/g, '$1') ?? name[2] ?? name[3])!
  const properties = (schema['properties'] ?? {}) as Readonly<Record<string, JsonSchema>>
  if (Object.hasOwn(properties, field)) return properties[field]
  return (schema['additionalProperties'] ?? (isOpen(schema) ? {} : undefined)) as JsonSchema | undefined
}

function isOpen(schema: JsonSchema): boolean {
  return schema['type'] === undefined || schema['x-kubernetes-preserve-unknown-fields'] === true
}
