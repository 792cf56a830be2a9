/** The parts of columns, which tables of kinds are made of. */
import type { ApiObject, Json } from './json.ts'

/** A column of a table. */
export interface Column {
  readonly name: string
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date'
  readonly format?: string
  readonly description?: string
  /** 0 is always shown; higher values only with `-o wide`. */
  readonly priority?: number
  readonly value: (object: ApiObject, nowMs: number) => Json
}

export const NAME_COLUMN: Column = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description:
    'Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client ' +
    'to request the generation of an appropriate name automatically. ' +
    'Name is primarily intended for creation idempotence and configuration ' +
    'definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names',
  value: (object) => object.metadata.name ?? '',
}

/** Returns the Age column of custom kinds, of type `date`; in built-in kinds it is of type `string`. */
export function ageColumn(): Column {
  return {
    name: 'Age',
    type: 'date',
    description: 'CreationTimestamp is a timestamp representing the server time when this object was created.',
    value: (object, nowMs) => age(object.metadata.creationTimestamp ?? undefined, nowMs),
  }
}

/** Formats the age of an object. */
export function age(instant: string | undefined, nowMs: number): string {
  return instant ? humanDuration(nowMs - Date.parse(instant)) : '<unknown>'
}

/** Formats an age as kubectl does: `12s`, `3m20s`, `2d4h`. */
export function humanDuration(ms: number): string {
  const seconds = Math.floor(ms / 1000)
  if (seconds < -1) return '<invalid>'
  if (seconds < 0) return '0s'
  if (seconds < 120) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 10) return twoUnits(minutes, 'm', seconds % 60, 's')
  if (minutes < 180) return `${minutes}m`
  const hours = Math.floor(minutes / 60)
  if (hours < 8) return twoUnits(hours, 'h', minutes % 60, 'm')
  if (hours < 48) return `${hours}h`
  const days = Math.floor(hours / 24)
  if (hours < 192) return twoUnits(days, 'd', hours % 24, 'h')
  if (hours < 24 * 365 * 2) return `${days}d`
  const years = Math.floor(days / 365)
  if (hours < 24 * 365 * 8) return twoUnits(years, 'y', days % 365, 'd')
  return `${years}y`
}

function twoUnits(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`
}
