/** Builds the columns of `kubectl get` from JSON paths. Their types follow from the schema. */
import type { CustomResourceVersion, JsonSchema } from '../core/resource.ts'

type Column = NonNullable<CustomResourceVersion['additionalPrinterColumns']>[number]

const CREATED = '.metadata.creationTimestamp'

/**
 * Returns the columns of a definition, by heading. Appends the age if it is missing: a CRD with columns of its own has
 * no default age column.
 */
export function printerColumns(
  columns: Readonly<Record<string, string>>,
  root: JsonSchema,
  kind: string,
): readonly Column[] {
  const stated = Object.entries(columns).map(([name, jsonPath]): Column => {
    return { name, type: typeAt(jsonPath, root, `Cannot define resource "${kind}": column "${name}"`), jsonPath }
  })
  if (stated.length === 0 || stated.some(({ jsonPath }) => jsonPath === CREATED)) return stated
  return [...stated, { name: 'Age', type: 'date', jsonPath: CREATED }]
}

function typeAt(path: string, root: JsonSchema, prefix: string): string {
  const steps = path.match(STEP)
  if (!steps || steps.join('') !== path) {
    throw new TypeError(`${prefix} needs a JSON path such as ".spec.replicas", not "${path}"`)
  }
  // Every object has metadata, and a CRD may not describe its fields.
  if (steps[0] === '.metadata' && steps.length > 1) return METADATA_TYPES[steps[1]!] ?? 'string'
  let schema: JsonSchema | undefined = root
  for (const [i, step] of steps.entries()) {
    schema = schemaBelow(schema!, step)
    if (schema) continue
    throw new TypeError(`${prefix} shows "${path}", but the schema has no "${steps.slice(0, i + 1).join('')}"`)
  }
  return columnType(schema!)
}

const METADATA_TYPES: Readonly<Record<string, string>> = {
  '.creationTimestamp': 'date',
  '.deletionTimestamp': 'date',
  '.generation': 'integer',
}

/** `.name`, `['name']`, `[0]`, `[*]`, a slice or a filter. Dots within a name are escaped. */
const STEP = /\.(?:[^.[\]\\]|\\.)+|\[(?:'[^']*'|"[^"]*"|[-\d:]+|\*|\?\([^]*?\))\]/g

/** Returns the schema of a step, or undefined if there is none. An open schema allows any step. */
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

function columnType(schema: JsonSchema): string {
  const type = schema['type']
  if (type === 'string' && schema['format'] === 'date-time') return 'date'
  return type === 'integer' || type === 'number' || type === 'boolean' ? type : 'string'
}
