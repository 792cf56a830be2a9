/** Builds the columns of `kubectl get` from JSON paths. Their types follow from the schema. */
import type { JsonSchema, PrinterColumn } from '../core/resource.ts'
import { schemaAt, stepsOf } from './paths.ts'

/**
 * A column of `kubectl get`.
 *
 * @see https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#additional-printer-columns
 */
export interface ColumnDefinition {
  /** A JSON path from the object's root, such as `.status.ready`. */
  readonly path: string
  /** Default: `date` for instants, otherwise that of the schema; `string` for what is not a scalar. */
  readonly type?: 'string' | 'integer' | 'number' | 'boolean' | 'date'
  /** A hint for clients, which kubectl ignores. Default: none. */
  readonly format?: 'int32' | 'int64' | 'float' | 'double' | 'byte' | 'date' | 'date-time' | 'password'
  /** 0, the default, is always shown; columns with higher numbers only by `kubectl get -o wide`. */
  readonly priority?: number
  /** Shown by some clients. Default: none. */
  readonly description?: string
}

const CREATED = '.metadata.creationTimestamp'

/** Returns the columns by heading. Appends the age, which a definition with columns of its own has not by default. */
export function printerColumns(
  columns: Readonly<Record<string, string | ColumnDefinition>>,
  root: JsonSchema,
  kind: string,
): readonly PrinterColumn[] {
  const stated = Object.entries(columns).map(([name, column]): PrinterColumn => {
    const { path, priority, ...rest } = typeof column === 'string' ? { path: column } : column
    const type = typeAt(path, root, `Cannot define resource "${kind}": column "${name}"`)
    // The server drops a priority of 0.
    return { name, type, jsonPath: path, ...rest, ...(priority && { priority }) }
  })
  if (stated.length === 0 || stated.some(({ jsonPath }) => jsonPath === CREATED)) return stated
  return [...stated, { name: 'Age', type: 'date', jsonPath: CREATED }]
}

function typeAt(path: string, root: JsonSchema, prefix: string): string {
  const steps = stepsOf(path)
  if (!steps) throw new TypeError(`${prefix} needs a JSON path such as ".spec.replicas", not "${path}"`)
  // Every object has metadata, and a CRD may not describe its fields.
  if (steps[0] === '.metadata' && steps.length > 1) return METADATA_TYPES[steps[1]!] ?? 'string'
  const found = schemaAt(steps, root)
  if ('schema' in found) return columnType(found.schema)
  throw new TypeError(`${prefix} shows "${path}", but the schema has no "${found.missing}"`)
}

const METADATA_TYPES: Readonly<Record<string, string>> = {
  '.creationTimestamp': 'date',
  '.deletionTimestamp': 'date',
  '.generation': 'integer',
}

function columnType(schema: JsonSchema): string {
  const type = schema['type']
  if (type === 'string' && schema['format'] === 'date-time') return 'date'
  return type === 'integer' || type === 'number' || type === 'boolean' ? type : 'string'
}
