/** The columns of `kubectl get`: each a JSON path, whose type follows from the schema. */
import type { CustomResourceVersion, JsonSchema } from '../core/resource.ts'

type Column = NonNullable<CustomResourceVersion['additionalPrinterColumns']>[number]

const CREATED = '.metadata.creationTimestamp'

/**
 * The columns of a definition, by their headings. The age comes last unless it is among them: a CRD that states columns
 * loses the one that it has by default.
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

function typeAt(path: string, root: JsonSchema, refused: string): string {
  const steps = path.match(STEP)
  if (!steps || steps.join('') !== path) {
    throw new TypeError(`${refused} needs a JSON path such as ".spec.replicas", not "${path}"`)
  }
  // What every object has, and no CRD may describe.
  if (steps[0] === '.metadata' && steps.length > 1) return METADATA_TYPES[steps[1]!] ?? 'string'
  let schema: JsonSchema | undefined = root
  for (const [i, step] of steps.entries()) {
    schema = schemaBelow(schema!, step)
    if (schema) continue
    throw new TypeError(`${refused} shows "${path}", but the schema has no "${steps.slice(0, i + 1).join('')}"`)
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

/** What is there by the schema. Below what it leaves open, anything may be. */
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
