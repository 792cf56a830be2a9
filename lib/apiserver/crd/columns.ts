/** The table columns of a custom kind: its printer columns, or its age. */
import { humanDuration } from '../table/human_duration.ts'
import { type ApiObject, at, isObject, type Json, type JsonObject } from '../json.ts'
import { ageColumn, type Column, NAME_COLUMN } from '../table/columns.ts'

export function customColumns(version: JsonObject): readonly Column[] {
  const given = version['additionalPrinterColumns'] as JsonObject[] | undefined
  if (!given || given.length === 0) return [NAME_COLUMN, ageColumn()]
  return [NAME_COLUMN, ...given.map(columnOf)]
}

function columnOf(column: JsonObject): Column {
  const type = column['type'] as Column['type']
  const find = jsonPath(String(column['jsonPath']))
  return {
    name: String(column['name']),
    type,
    ...(column['format'] !== undefined && { format: String(column['format']) }),
    description: String(
      column['description'] ?? `Custom resource definition column (in JSONPath format): ${String(column['jsonPath'])}`,
    ),
    priority: Number(column['priority'] ?? 0),
    value: (object, nowMs) => cell(find(object), type, nowMs),
  }
}

function cell(values: readonly Json[], type: Column['type'], nowMs: number): Json {
  const [value] = values
  if (value === undefined) return null
  switch (type) {
    case 'string':
      return values.length > 1 ? values.map(textOf).join(',') : textOf(value)
    case 'integer':
      if (typeof value === 'string') return /^-?\d+$/.test(value) ? Number(value) : null
      return typeof value === 'number' ? Math.trunc(value) : null
    case 'number':
      return typeof value === 'number' ? value : null
    case 'boolean':
      return typeof value === 'boolean' ? value : null
    case 'date':
      return typeof value === 'string' ? ageText(value, nowMs) : '<invalid>'
  }
}

function ageText(text: string, nowMs: number): string {
  const timeMs = Date.parse(text)
  return Number.isNaN(timeMs) ? '<invalid>' : humanDuration(nowMs - timeMs)
}

function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

type Step = (values: readonly Json[]) => readonly Json[]

/** Compiles a simple JSONPath: fields, indexes, `[*]`, and filters of the form `[?(@.type=="Ready")]`. */
function jsonPath(path: string): (object: ApiObject) => readonly Json[] {
  const steps: Step[] = []
  let rest = path.replace(/^\{|\}$/g, '').replace(/^\$/, '')
  while (rest) {
    const match =
      /^\.((?:[^.[\\]|\\.)+)|^\[\?\(@\.([^=!<>]+)==["']([^"']*)["']\)\]|^\[(\*|-?\d+)\]|^\[['"]([^'"]+)['"]\]/.exec(
        rest,
      )
    if (!match) return () => []
    const [whole, name, filterPath, filterValue, index, quoted] = match
    if (name !== undefined || quoted !== undefined) {
      const key = (name ?? quoted!).replace(/\\(.)/g, '$1')
      steps.push((values) => values.flatMap((value) => nonNull(at(value, key))))
    } else if (filterPath !== undefined) {
      const keys = filterPath.split('.')
      steps.push(
        (values) =>
          values.flatMap(
            (value) => (Array.isArray(value) ? value.filter((item) => String(at(item, ...keys)) === filterValue) : []),
          ),
      )
    } else if (index === '*') {
      steps.push(
        (values) =>
          values.flatMap(
            (value) => (Array.isArray(value) ? value : isObject(value) ? Object.values(value).flatMap(nonNull) : []),
          ),
      )
    } else {
      steps.push((values) => values.flatMap((value) => (Array.isArray(value) ? nonNull(value.at(Number(index))) : [])))
    }
    rest = rest.slice(whole.length)
  }
  return (object) => steps.reduce<readonly Json[]>((values, step) => step(values), [object])
}

function nonNull(value: Json | undefined): Json[] {
  return value === undefined || value === null ? [] : [value]
}
