/** Compares JSON values. `undefined` fields count as absent, as they are on the wire. */
import { isFields } from './clone.ts'

export function jsonEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false
    for (let at = 0; at < a.length; at++) if (!jsonEqual(a[at], b[at])) return false
    return true
  }
  if (!isFields(a) || !isFields(b)) return false
  const keys = Object.keys(a)
  for (const key of keys) if (!jsonEqual(a[key], own(b, key))) return false
  const others = Object.keys(b)
  // Most often both have the same keys in the same order.
  for (let at = 0; at < others.length; at++) {
    const key = others[at]!
    if (key !== keys[at] && b[key] !== undefined && own(a, key) === undefined) return false
  }
  return true
}

/**
 * Returns JSON with sorted keys, so that equal values have equal texts: for example, an item of a list has its `kind`
 * in another place than the response to a write.
 */
export function sortedJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(sortedJson).join()}]`
  let text = ''
  for (const key of Object.keys(value).sort()) {
    const field = (value as Record<string, unknown>)[key]
    if (field !== undefined) text += `${text && ','}${JSON.stringify(key)}:${sortedJson(field)}`
  }
  return `{${text}}`
}

/**
 * Returns the part of `value` at the fields of `mask`: recursive for objects; other values, lists included, are taken
 * whole. Two objects with equal projections agree on every field of the mask.
 */
export function project(value: unknown, mask: unknown): unknown {
  if (!isFields(mask) || !isFields(value)) return value
  // fromEntries defines properties: a ConfigMap may have a key "__proto__", which an assignment would lose.
  const keys = Object.keys(mask).filter((key) => mask[key] !== undefined)
  return Object.fromEntries(keys.map((key) => [key, project(own(value, key), mask[key])]))
}

function own(object: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined
}
