/** Renders objects as Table and PartialObjectMetadata, for kubectl and metadata clients. */
import type { ApiObject, JsonObject } from '../json.ts'
import type { Kind } from '../kinds.ts'
import type { AcceptedForm } from '../http/respond.ts'
import { type Column, PLAIN_COLUMNS } from './columns.ts'

const META_GROUP = 'meta.k8s.io'

/** Returns whether the server can render the form that an Accept clause requests. */
export function supportsForm({ as, group, version }: AcceptedForm): boolean {
  if (as !== 'Table' && as !== 'PartialObjectMetadata' && as !== 'PartialObjectMetadataList') return false
  return group === META_GROUP && (version === 'v1' || version === 'v1beta1')
}

export interface TableOptions {
  readonly version: string
  /** The content of each row's `object`: `None`, `Metadata` or `Object`. */
  readonly include: string
  readonly nowMs: number
  readonly definitions: boolean
}

/** Renders objects as a Table. `definitions: false` omits the column definitions, as in later events of a watch. */
export function tableOf(
  kind: Kind,
  objects: readonly ApiObject[],
  metadata: JsonObject,
  options: TableOptions,
): JsonObject {
  const columns = kind.columns ?? PLAIN_COLUMNS
  return {
    kind: 'Table',
    apiVersion: `${META_GROUP}/${options.version}`,
    metadata,
    columnDefinitions: options.definitions ? columns.map(definitionOf) : null,
    rows: objects.map((object) => ({
      cells: columns.map((column) => column.value(object, options.nowMs)),
      ...included(object, options.include, options.version),
    })),
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

function included(object: ApiObject, include: string, version: string): JsonObject {
  if (include === 'None') return {}
  return { object: include === 'Object' ? object : metadataOf(object, version) }
}

export function metadataOf(object: ApiObject, version: string): JsonObject {
  return { kind: 'PartialObjectMetadata', apiVersion: `${META_GROUP}/${version}`, metadata: object.metadata }
}
