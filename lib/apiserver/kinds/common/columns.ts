/** The parts of the columns of `kubectl get` for built-in kinds. */
import { age, type Column, NAME_COLUMN } from '../../model/columns.ts'
import { type ApiObject, at, isObject, type Json, type JsonObject, list, str } from '../../model/json.ts'
import { selectorText } from '../../model/selectors.ts'

type Value = Column['value']

export const NAME: Column = NAME_COLUMN

/** The name of a class; an annotation with the value `true` marks the default one. */
export function defaultMarked(...annotations: readonly string[]): Column {
  return {
    ...NAME,
    value: ({ metadata }) => {
      const isDefault = annotations.some((name) => metadata.annotations?.[name] === 'true')
      return isDefault ? `${metadata.name!} (default)` : metadata.name!
    },
  }
}

export const AGE: Column = {
  name: 'Age',
  type: 'string',
  value: (object, nowMs) => age(object.metadata.creationTimestamp ?? undefined, nowMs),
}

/** The column of kinds that have no printer on the real server. */
export const CREATED_AT: Column = {
  name: 'Created At',
  type: 'date',
  value: (object) => object.metadata.creationTimestamp ?? null,
}

/** A column of texts: of the field at a path (`spec.type`), or `none` if it is missing or empty. */
export function text(name: string, from: string | Value, none = ''): Column {
  return { name, type: 'string', value: typeof from === 'string' ? field(from, none) : from }
}

/** A column of integers: of the field at a path, or 0 if it is missing. */
export function count(name: string, from: string | Value): Column {
  return { name, type: 'integer', value: typeof from === 'string' ? field(from, 0) : from }
}

/** A column of booleans: of the field at a path, or `none` if it is missing. */
export function flag(name: string, path: string, none = false): Column {
  return { name, type: 'boolean', value: field(path, none) }
}

/** Returns a column that only `-o wide` shows. */
export function wide(column: Column): Column {
  return { ...column, priority: 1 }
}

function field(path: string, none: Json): Value {
  const names = path.split('.')
  return (object) => {
    const value = at(object, ...names)
    return value === undefined || value === null || value === '' ? none : value
  }
}

/** The columns of the containers of a pod template at a path, for `-o wide`. */
export function containerColumns(...path: readonly string[]): readonly Column[] {
  const join = (object: ApiObject, name: string): string =>
    list(object, ...path, 'spec', 'containers').map((each) => String(each[name] ?? '')).join(',')
  return [text('Containers', (object) => join(object, 'name')), text('Images', (object) => join(object, 'image'))]
}

/** The columns of the containers and the selector of a workload, for `-o wide`. */
export const WORKLOAD_COLUMNS: readonly Column[] = [
  ...containerColumns('spec', 'template'),
  text('Selector', (object) => selectorText(at(object, 'spec', 'selector')) || '<none>'),
].map(wide)

/** The columns of the replicas of a workload. */
export const REPLICA_COLUMNS: readonly Column[] = [
  NAME,
  count('Desired', 'spec.replicas'),
  count('Current', 'status.replicas'),
  count('Ready', 'status.readyReplicas'),
  AGE,
]

/** Formats a map of labels as `a=1,b=2`. */
export function labelsText(labels: Json | undefined): string {
  const keys = isObject(labels) ? Object.keys(labels).sort() : []
  return keys.map((key) => `${key}=${str(labels as JsonObject, key)}`).join(',') || '<none>'
}

/** Joins the first entries of a list, with the number of all others. */
export function firstOf(entries: readonly string[], max: number, separator = ','): string {
  const text = entries.slice(0, max).join(separator)
  return entries.length > max ? `${text} + ${entries.length - max} more...` : text
}

/** Returns whether a condition of this type is True. */
export function hasCondition(object: ApiObject, type: string): boolean {
  return list(object, 'status', 'conditions').some((each) => each['type'] === type && each['status'] === 'True')
}
