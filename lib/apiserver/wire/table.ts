/** Renders objects as Table and PartialObjectMetadata, for kubectl and metadata clients; the parts of columns. */
import type { ApiObject, JsonObject } from '../model/json.ts'
import { type Column, NAME_COLUMN } from '../model/columns.ts'

/** The columns of kinds without columns of their own. */
const PLAIN_COLUMNS: readonly Column[] = [
  NAME_COLUMN,
  { name: 'Created At', type: 'date', value: (object) => object.metadata.creationTimestamp ?? null },
]

export interface TableOptions {
  readonly version: string
  /** The content of each row's `object`: `None`, `Metadata` or `Object`. */
  readonly include: string
  readonly nowMs: number
  readonly definitions: boolean
}

/** What a table needs of a kind. */
interface TableKind {
  readonly columns: readonly Column[] | undefined
  readonly rowConditions?: (object: ApiObject) => JsonObject[]
}

/** Renders objects as a Table. `definitions: false` omits the column definitions, as in later events of a watch. */
export function tableOf(
  kind: TableKind,
  objects: readonly ApiObject[],
  metadata: JsonObject,
  options: TableOptions,
): JsonObject {
  const columns = kind.columns ?? PLAIN_COLUMNS
  return {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${options.version}`,
    metadata,
    columnDefinitions: options.definitions ? columns.map(definitionOf) : null,
    rows: objects.map((object) => rowOf(kind, object, options)),
  }
}

export function rowOf(kind: TableKind, object: ApiObject, options: TableOptions): JsonObject {
  const columns = kind.columns ?? PLAIN_COLUMNS
  const conditions = kind.rowConditions?.(object) ?? []
  return {
    cells: columns.map((column) => column.value(object, options.nowMs)),
    ...(conditions.length > 0 && { conditions }),
    object: included(object, options),
  }
}

function definitionOf(column: Column): JsonObject {
  return {
    name: column.name,
    type: column.type,
    format: column.format ?? '',
    description: column.description ?? '',
    priority: column.priority ?? 0,
  }
}

function included(object: ApiObject, { include, version }: TableOptions): JsonObject | null {
  if (include === 'None') return null
  return include === 'Object' ? object : metadataOf(object, version)
}

export function metadataOf(object: ApiObject, version: string): JsonObject {
  return { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}`, metadata: object.metadata }
}
