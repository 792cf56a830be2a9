/** Renders a Scale as a Table. */
import { type ApiObject, at, type Json, type JsonObject } from '../model/json.ts'
import { ageColumn, type Column, NAME_COLUMN } from '../model/columns.ts'
import { tableOf, type TableOptions } from '../wire/table.ts'

const BUILTIN: readonly Column[] = [
  { ...NAME_COLUMN, format: '' },
  ...countColumns(
    'replicas is the desired number of instances for the scaled object.',
    'replicas is the actual number of observed instances of the scaled object.',
  ),
  { ...ageColumn(), type: 'string' },
]

/** The columns of custom kinds differ in types and descriptions. */
const CUSTOM: readonly Column[] = [
  NAME_COLUMN,
  ...countColumns('Number of desired replicas', 'Number of actual replicas'),
  ageColumn(),
]

function countColumns(desired: string, available: string): readonly Column[] {
  return ([['Desired', 'spec', desired], ['Available', 'status', available]] as const).map((
    [name, part, description],
  ) => ({ name, type: 'integer', description, value: (scaled) => (at(scaled, part, 'replicas') ?? 0) as Json }))
}

export function scaleTable(scaled: JsonObject, isCustom: boolean, options: TableOptions): JsonObject {
  const object = scaled as unknown as ApiObject
  const metadata = { resourceVersion: object.metadata.resourceVersion }
  return tableOf({ columns: isCustom ? CUSTOM : BUILTIN }, [object], metadata, options)
}
